# SPDX-License-Identifier: MIT
"""What `optrail locks` says of a story: a text fixture, made into a trace."""
import json
import pathlib
import subprocess
import sys
import tempfile

OPTRAIL, MAKE_TRACE = sys.argv[1:3]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done
    return done.stdout


def told(story, *options, path=None):
    """The report of the story, and as text, and as text with each of the options. `path`: the text of
    a path file."""
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        (place / "story.txt").write_text(story)
        run(MAKE_TRACE, place / "story.txt", place / "trace")
        command = [OPTRAIL, "locks", place / "trace"]
        if path:
            (place / "path.yaml").write_text(path)
            command += ["--path", place / "path.yaml"]
        report = json.loads(run(*command, "--format", "json"))
        return report, run(*command), *(run(*command, option) for option in options)
