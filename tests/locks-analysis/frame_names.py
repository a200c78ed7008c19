#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""frame_names.py OPTRAIL MAKE-TRACE PROGRAM: frames that a trace tells as a place in a file get the
file's names when the trace is read, if the file here is the one that was told, and only then."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from locks_story import told

PROGRAM = sys.argv[3]
MUTEX = 1 << 32


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True)
    return re.search(r"Build ID: ([0-9a-f]+)", notes.stdout)[1]


def place_of(path, function):
    """An address within the function, as the file says."""
    symbols = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    return int(re.search(rf"^([0-9a-f]+) . {function}$", symbols, re.M)[1], 16) + 1


def look(files, frames):
    """The report on one wait with this stack, of a process that told of these files."""
    lines = [f'1.{number} module.define 70/72 - "{text}" 4096' for number, text in enumerate(files)]
    lines += [f'2.0 stack.define 70/72 7 "{";".join(frames)}" {len(frames)}',
              f"2.5 lock.waited 70/72 0x5000 9000000 {MUTEX | 7}"]
    report, text, _ = told("\n".join(lines) + "\n", "--all-locks")
    stack = report["locks"][0]["sites"][0]["frames"].split(";")
    return stack, report["counts"]["other"], text


def check_named(shop, identity):
    main = f"shop+{place_of(shop, 'main'):#x}"
    stack, counts, _ = look([f"{identity} {shop}"], [main, "shop+0xffffffffffffffff", main,
                                                     "other+0x10", "known", "shop+0x", "+0x1"])
    assert stack[0] == stack[2] == "main", stack
    assert stack[1].startswith("shop+0x") and stack[3:] == ["other+0x10", "known", "shop+0x",
                                                            "+0x1"], stack
    assert (counts["frames_to_name"], counts["frames_named"]) == (3, 2), counts


def check_refused(shop, identity):
    """Wrong names are worse than none."""
    main = f"shop+{place_of(shop, 'main'):#x}"
    changed = ("0" if identity[0] != "0" else "1") + identity[1:]
    fifo = f"{os.path.dirname(shop)}/fifo/shop"
    os.mkdir(os.path.dirname(fifo))
    os.mkfifo(fifo)
    for files, count, words in (
            ([f"{changed} {shop}"], "frames_of_other_builds", "another build is here"),
            ([f"{identity} {shop}.gone/shop"], "frames_of_missing_files", "not here"),
            ([f"{identity} {fifo}"], "frames_of_missing_files", "not here"),
            ([f"{identity} {shop}", f"{changed} {shop}"], "frames_of_several_files",
             "the same name")):
        stack, counts, text = look(files, [main])
        assert stack == [main], stack
        assert counts[count] == 1 and counts["frames_named"] == 0, counts
        told_words = " ".join(text.split())
        assert "1 frame of call stacks has no name" in told_words and words in told_words, text


def check_hostile(shop, identity):
    """What is no build-id and absolute path tells of no file."""
    main = f"shop+{place_of(shop, 'main'):#x}"
    for text in ("", " ", identity, f"{identity} ", f"{identity} shop", f"x{identity} {shop}",
                 f"{identity[1:]} {shop}", f"{'00' * 70} {shop}", f" {shop}"):
        stack, counts, _ = look([text], [main])
        assert stack == [main] and "frames_to_name" not in counts, (text, stack, counts)
    stack, counts, _ = look([f"00 /dev/zero", f"00 {'/' * 3000}", f"00 /{'a' * 3000}"],
                            ["zero+0x10", "+0x10", main])
    assert stack == ["zero+0x10", "+0x10", main], stack


def main():
    with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
        shop = os.path.join(directory, "shop")
        shutil.copyfile(PROGRAM, shop)
        identity = build_id(shop)
        check_named(shop, identity)
        check_refused(shop, identity)
        check_hostile(shop, identity)


if __name__ == "__main__":
    sys.exit(main())
