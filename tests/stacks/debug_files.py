#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where names come from when the program has none: the debug file of its build, where the process
sees it, or a debuginfod server, which nobody waits for.

usage: debug_files.py NAME-STACK SUBJECT-STATIC own_root|other_build|server|hanging_server
"""
import http.server
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

NAME_STACK, SUBJECT, CASE = sys.argv[1:4]


def skip(reason):
    print(reason)
    sys.exit(77)


def run(*words):
    subprocess.run(words, check=True)


def build_id(file):
    notes = subprocess.run(["readelf", "-n", file], check=True, capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def strip(directory):
    """A subject without names, and its debug file beside it."""
    program, debug = f"{directory}/subject", f"{directory}/subject.debug"
    run("objcopy", "--only-keep-debug", SUBJECT, debug)
    run("objcopy", "--strip-all", SUBJECT, program)
    return program, debug


class Subject:
    """The stripped subject, running; in a root of its own when that is wanted."""

    def __init__(self, program, root=None):
        words = ["chroot", root, "/" + os.path.relpath(program, root)] if root else [program]
        self.process = subprocess.Popen([*words, "known"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def __enter__(self):
        assert self.process.stdout.readline() == b"ready\n"
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def stack(self, *arguments, **environment):
        done = subprocess.run([NAME_STACK, str(self.process.pid), "known_bottom", *arguments],
                              capture_output=True, text=True, env={**os.environ, **environment})
        if done.returncode == 77:
            skip(done.stdout)
        assert done.returncode == 0, done
        text, times = done.stdout.splitlines()
        print(text[:200], times, sep="\n")
        return text, [float(number) for number in re.findall(r"([\d.]+) s", times)]


def place(debug, root, of_build):
    directory = f"{root}/usr/lib/debug/.build-id/{of_build[:2]}"
    os.makedirs(directory)
    shutil.copy(debug, f"{directory}/{of_build[2:]}.debug")


def case_own_root(directory):
    """A container: its program and debug file are where only it sees them."""
    if os.geteuid() != 0:
        skip("only root may change the root directory")
    program, debug = strip(directory)
    place(debug, directory, build_id(program))
    with Subject(program, directory) as subject:
        assert subject.stack()[0].count(";descend") == 100


def case_other_build(directory):
    """A debug file that says it is of another build is not believed."""
    if os.geteuid() != 0:
        skip("only root may change the root directory")
    program, debug = strip(directory)
    with open(debug, "rb") as file:
        content = file.read()
    identity = bytes.fromhex(build_id(program))
    assert content.count(identity) == 1
    with open(debug, "wb") as file:
        file.write(content.replace(identity, identity[::-1]))
    place(debug, directory, build_id(program))
    with Subject(program, directory) as subject:
        text, _ = subject.stack()
        assert "descend" not in text
        parts = text.split(";")
        assert len(parts) > 100 and all(re.fullmatch(r"subject\+0x[0-9a-f]+", part)
                                        for part in parts), text
        # the same function a hundred times
        assert max(parts.count(part) for part in set(parts)) >= 99


def servers(url, directory):
    return {"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": f"{directory}/cache",
            "DEBUGINFOD_TIMEOUT": "60"}


def case_server(directory):
    program, debug = strip(directory)
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            with open(debug, "rb") as file:
                content = file.read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with Subject(program) as subject:
        text, _ = subject.stack("debuginfod", "20",
                                **servers(f"http://127.0.0.1:{server.server_port}", directory))
    server.shutdown()
    assert text.count(";descend") == 100, text
    assert asked == [f"/buildid/{build_id(program)}/debuginfo"], asked


def case_hanging_server(directory):
    """It takes the question and says nothing: names stay away, and nobody waits."""
    program, _ = strip(directory)
    with socket.create_server(("127.0.0.1", 0)) as listening, Subject(program) as subject:
        port = listening.getsockname()[1]
        text, (longest, closing) = subject.stack(
            "debuginfod", "2", **servers(f"http://127.0.0.1:{port}", directory))
    assert "descend" not in text and text.startswith("subject+0x"), text
    assert longest < 1 and closing < 1, (longest, closing)


with tempfile.TemporaryDirectory(prefix="optrail-stacks-") as scratch:
    globals()[f"case_{CASE}"](scratch)
