#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""golden.py OPTRAIL MAKE-TRACE STORY [--update]: a story becomes a trace, its report is compared.

STORY.txt is the fixture (see tests/README.md); a comment `# with: OTHER.txt` in it adds a second
trace. STORY.expect holds what `optrail report` prints, its errors and its exit status; STORY.json,
if it is there, the report as JSON. --update writes them: look at the difference before it is
committed.
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile


def run(optrail, make_trace, story, directory):
    """The text of one story's .expect and of its .json."""
    fixtures = [story]
    for name in re.findall(r"^# with: (\S+)$", story.read_text(), re.M):
        fixtures.append(story.parent / name)
    traces = []
    for fixture in fixtures:
        trace = directory / fixture.stem
        subprocess.run([make_trace, fixture, trace], check=True)
        traces.append(trace.name)
    path = story.parent.parent / "store.yaml"
    command = [optrail, "report", "--path", path, "--json", "report.json", *traces]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    text = done.stdout + done.stderr + f"[exit {done.returncode}]\n"
    json = directory / "report.json"
    return text, json.read_text() if json.exists() else ""


def compare(file, got, update):
    """Prints the difference to the file; False if there is one."""
    if update:
        file.write_text(got)
        return True
    expected = file.read_text()
    difference = list(difflib.unified_diff(expected.splitlines(True), got.splitlines(True),
                                           str(file), "what came out"))
    sys.stdout.writelines(difference)
    return not difference


def main():
    optrail, make_trace, story = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    update = sys.argv[4:] == ["--update"]
    with tempfile.TemporaryDirectory() as directory:
        text, json = run(optrail, make_trace, story, pathlib.Path(directory))
    fine = compare(story.with_suffix(".expect"), text, update)
    if story.with_suffix(".json").exists():
        fine = compare(story.with_suffix(".json"), json, update) and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
