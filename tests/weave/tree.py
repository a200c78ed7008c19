# SPDX-License-Identifier: MIT
"""A source tree of one file, and what `optrail weave` does to it."""
import json
import os
import pathlib
import subprocess
import tempfile

OPTRAIL = os.environ["OPTRAIL"]

SOURCES = pathlib.Path(__file__).parent / "sources"
STORE = (SOURCES / "store.cc").read_text()

RULES = [
    {"name": "put_number", "function": "outer::inner::Store::put", "signature": "(int key",
     "at": "entry", "probe": "PROBE(1, key)"},
    {"name": "put_exit", "function": "outer::inner::Store::put", "signature": "(int key",
     "at": "exit", "probe": "PROBE(2, key)"},
    {"name": "pushes", "function": "outer::inner::Store::put", "signature": "( int key )",
     "at": "before shard.keys.push_back", "probe": "PROBE(3, key)"},
    {"name": "pushed", "function": "outer::inner::Store::put", "signature": "( int key )",
     "at": "after shard.keys.push_back", "probe": "PROBE(4, key)"},
    {"name": "put_text", "function": "outer::inner::Store::put", "signature": "string",
     "at": "entry", "probe": "PROBE(5, times)"},
    {"name": "made", "function": "outer::inner::Store::Store", "at": "entry",
     "probe": "PROBE(6, limit)"},
    {"name": "get", "function": "outer::inner::Store::get", "at": "entry",
     "probe": "PROBE(7, 0)"},
    {"name": "shard_size", "function": "outer::inner::Store::Shard::size", "at": "entry",
     "probe": "PROBE(8, 0)"},
    {"name": "last", "function": "last", "at": "after oneline", "probe": "PROBE(9, kept)"},
]

HEADER = '''#include <stdio.h>
#define PROBE(number, value) printf("%d %d\\n", number, (int)(value))
'''


class Tree:
    """A directory with store.cc and the rules beside it."""

    def __init__(self, text=STORE):
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)
        self.store = self.path / "store.cc"
        self.write(text)
        (self.path / "probe.h").write_text(HEADER)

    def write(self, text):
        self.store.write_bytes(text if isinstance(text, bytes) else text.encode())

    def weave(self, *options, rules=None, expect=0):
        """Runs the command; JSON is YAML too. Returns its two outputs, joined."""
        rows = [{"files": ["gone.cc", "store.cc"], **rule} for rule in rules or RULES]
        (self.path / "rules.yaml").write_text(
            json.dumps({"include": "\"probe.h\"", "rules": rows}))
        done = subprocess.run([OPTRAIL, "weave", "--rules", self.path / "rules.yaml", *options,
                               self.path], capture_output=True, timeout=60)
        said = (done.stdout + done.stderr).decode(errors="replace")
        if expect is not None and done.returncode != expect:
            raise AssertionError(f"exit {done.returncode}: {said}")
        if done.returncode not in (0, 1):
            raise AssertionError(f"exit {done.returncode}: {said}")
        return said

    def left_overs(self):
        """Files that nobody asked for."""
        known = {"store.cc", "probe.h", "rules.yaml"}
        return [path.name for path in self.path.iterdir() if path.name not in known]
