#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts ctest's results (JUnit files) into one line; exit status 1 unless all is well."""
import os
import sys
import xml.etree.ElementTree as ElementTree


def reason(case):
    """What a skipped test said last."""
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines()]
    lines = [line for line in lines if line]
    return lines[-1] if lines else "no reason given"


def main(files):
    passed, failed, skipped = 0, [], []
    for file in files:
        suite = os.path.basename(file).removesuffix(".xml")
        cases = list(ElementTree.parse(file).getroot().iter("testcase"))
        if not cases:
            failed.append(f"{suite}: no test ran")
        for case in cases:
            name = f"{suite}: {case.get('name')}"
            if case.find("skipped") is not None or case.get("status") == "disabled":
                skipped.append((name, reason(case)))
            elif case.get("status") == "run":
                passed += 1
            else:
                failed.append(name)
    print()
    for name in failed:
        print(f"failed   {name}")
    for name, why in skipped:
        print(f"skipped  {name}: {why}")
    must_run_all = os.environ.get("CI") == "true"
    if skipped and must_run_all:
        print("CI=true: a skipped test counts as a failure")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not passed or (skipped and must_run_all) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
