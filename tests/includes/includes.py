#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""includes.py [--self-test]: data flows one way, and nobody includes upwards.

Reads the #include lines of all C sources and checks them against one table. A folder that is not in
the table fails: write down where it belongs.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Whose headers a folder may include, besides its own and those of base.
ALLOWED = {
    "base": [],
    "tracepoints": [],
    "probes": ["tracepoints"],
    "preload": ["probes", "tracepoints"],
    "stacks": [],
    "bpf/fold": ["tracepoints"],
    "bpf": ["bpf/fold", "probes", "stacks", "tracepoints"],
    "bpf/lock": ["bpf", "bpf/fold", "stacks", "tracepoints"],
    "bpf/sample": ["bpf", "bpf/lock", "stacks", "tracepoints"],
    "analyzers/profile": [],
    "analyzers/read": ["stacks", "tracepoints"],
    "analyzers/model": ["tracepoints"],
    "analyzers/trail": ["analyzers/read", "tracepoints"],
    "analyzers/report": [],
    "analyzers/scale": ["analyzers/report"],
    "analyzers/compare": ["bpf/fold", "analyzers/fold", "analyzers/trail", "analyzers/model",
                          "analyzers/report", "tracepoints"],
    "analyzers/import": ["analyzers/report"],
    "analyzers/locks": ["analyzers/profile", "analyzers/read", "tracepoints"],
    "analyzers/fold": ["bpf/fold", "analyzers/profile", "analyzers/locks", "analyzers/trail", "analyzers/model", "analyzers/report",
                       "tracepoints"],
    "analyzers/flame": ["analyzers/profile", "analyzers/read", "analyzers/trail", "analyzers/locks", "analyzers/model",
                        "analyzers/fold", "analyzers/report", "bpf/fold", "tracepoints"],
    "analyzers/render": ["analyzers/report"],
    "analyzers/analysis": ["analyzers/profile", "analyzers/read", "analyzers/locks", "analyzers/trail", "analyzers/model",
                           "analyzers/fold", "analyzers/report", "tracepoints"],
    "analyzers/plugin": ["analyzers/analysis", "analyzers/read", "analyzers/trail",
                         "analyzers/model", "analyzers/fold", "analyzers/report",
                         "analyzers/render", "tracepoints"],
    "record": ["bpf", "bpf/lock", "stacks", "tracepoints"],
    "daemon_patches": [],
    # everything but the tests
    "cli": ["daemon_patches", "tracepoints", "probes", "stacks", "bpf", "bpf/lock", "bpf/sample", "record", "bench", "analyzers/read", "analyzers/model",
            "analyzers/trail", "analyzers/profile", "analyzers/report", "analyzers/fold", "analyzers/flame", "analyzers/render", "analyzers/scale", "analyzers/import", "analyzers/compare",
            "analyzers/analysis"],
}
# Daemons see the probe header and nothing else of ours: not even base.
DAEMONS = {"examples": ["optrail/probe.h"]}
# Nobody depends on these, so they may use whatever there is. None may be used by the folders above.
FREE = ["bench", "tests"]
NEVER_INCLUDED = ["cli", "examples", "tests"]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def folder_of(path):
    """The row of the table that a file (relative to the root) belongs to; None: no row."""
    text = path.as_posix()
    rows = [*ALLOWED, *DAEMONS, *FREE]
    found = [row for row in rows if text.startswith(row + "/")]
    return max(found, key=len) if found else None


def sources(root):
    """The C files under version control, or all of a tree that is not."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root,
                            capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else [
        path.relative_to(root).as_posix() for path in root.rglob("*")
        if not path.relative_to(root).parts[0].startswith((".", "build", "out"))]
    return [pathlib.Path(name) for name in names
            if name.endswith((".c", ".h", ".cc", ".inc", ".def")) and (root / name).is_file()]


def allowed(folder, target):
    """Whether a file of the folder may include a header of the target folder."""
    return target in (folder, "base") or folder in FREE or target in ALLOWED.get(folder, [])


def check(root):
    """Complaints about the tree, as sentences."""
    files = sources(root)
    headers = {}
    complaints = []
    for file in files:
        if file.suffix == ".h":
            headers.setdefault(file.name, []).append(file)
    for name, places in headers.items():
        own = [place for place in places if folder_of(place) not in DAEMONS]
        if len(own) > 1:
            complaints.append(f"{name} is there more than once: {', '.join(map(str, own))}")
    for file in files:
        folder = folder_of(file)
        if folder is None:
            complaints.append(f"{file}: lies in no folder of the table")
            continue
        for match in INCLUDE.finditer((root / file).read_text(errors="replace")):
            complaints += check_include(file, folder, match.group(1), match.group(2), headers)
    return complaints


def check_include(file, folder, quote, name, headers):
    """Complaints about one #include."""
    base = pathlib.PurePosixPath(name).name
    if folder in DAEMONS and quote == "<":
        ours = name.startswith("optrail/") and name not in DAEMONS[folder]
        return [f"{file}: a daemon includes <{name}>"] if ours else []
    if quote == "<" and not name.startswith("optrail/"):
        return []
    if ".." in name:
        return [f"{file}: includes \"{name}\" by a path: use the header's name"]
    if quote == '"' and file.with_name(base).name in [
            place.name for place in headers.get(base, []) if place.parent == file.parent]:
        return []  # the header beside it
    places = [place for place in headers.get(base, [])]
    if name == "optrail/events.def":
        places = [pathlib.Path("tracepoints/optrail/events.def")]
    targets = {folder_of(place) for place in places}
    if not targets:
        return []  # generated, or of the system
    if folder in DAEMONS:
        return [] if folder in targets else [f"{file}: a daemon includes \"{name}\""]
    if any(allowed(folder, target) for target in targets) and (
            folder in FREE or not targets & set(NEVER_INCLUDED) or folder in targets):
        return []
    return [f"{file}: {folder} must not include {name} of {', '.join(map(str, targets))}"]


def self_test():
    """Plants one violation after the other in a small tree: each must be found."""
    fine = {"base/err.h": "", "analyzers/trail/trail.h": '#include "reader.h"\n',
            "analyzers/read/reader.h": '#include "err.h"\n#include <stdio.h>\n',
            "analyzers/fold/fold.h": '#include "trail.h"\n', "cli/command.h": "",
            "probes/include/optrail/probe.h": "#include <optrail/events.def>\n",
            "tracepoints/optrail/events.def": "", "tests/trail/t.c": '#include "trail.h"\n',
            "examples/store/a.c": "#include <optrail/probe.h>\n#include \"store.h\"\n",
            "examples/store/store.h": ""}
    planted = [("analyzers/read/reader.c", '#include "trail.h"\n'),
               ("analyzers/trail/trail.c", '#  include "fold.h"\n'),
               ("analyzers/render/text.c", '#include "fold.h"\n'),
               ("base/err.c", '#include "reader.h"\n'),
               ("analyzers/fold/fold.c", '#include "command.h"\n'),
               ("examples/store/b.c", '#include "err.h"\n'),
               ("examples/store/c.c", "#include <optrail/events.def>\n"),
               ("analyzers/fold/other.c", '#include "../trail/trail.h"\n'),
               ("analyzers/render/err.h", ""),
               ("elsewhere/x.c", "")]
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for name, text in fine.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        complaints = check(root)
        if complaints:
            return ["a sound tree is complained of: " + complaints[0]]
        missed = []
        for name, text in planted:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
            if len(check(root)) != 1:
                missed.append(f"not found when planted, or not alone: {name}: {text.strip()}")
            (root / name).unlink()
        return missed


def main():
    complaints = self_test() if sys.argv[1:] == ["--self-test"] else check(ROOT)
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
