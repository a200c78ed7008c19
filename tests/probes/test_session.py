#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_session.py WITH_SESSION: a session daemon of our own hands on the command's exit status,
passes on its end, and leaves no process and no file behind, however it ends."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def daemons():
    """pid -> LTTNG_HOME of every LTTng daemon that runs for one of our temporary directories."""
    found = {}
    for status in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(status, "rb") as file:
                variables = dict(pair.split(b"=", 1) for pair in file.read().split(b"\0")
                                 if b"=" in pair)
            with open(os.path.join(os.path.dirname(status), "comm"), encoding="ascii") as file:
                name = file.read()
        except OSError:
            continue
        if name.startswith("lttng-") and b"LTTNG_HOME" in variables:
            found[int(status.split("/")[2])] = variables[b"LTTNG_HOME"].decode()
    return found


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def main(with_session):
    if not shutil.which("lttng-sessiond"):
        print("lttng-sessiond is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
        outputs = iter(os.path.join(directory, str(number)) for number in range(100))

        def run(*command, **options):
            return subprocess.run([with_session, "--output", next(outputs), "--", *command],
                                  text=True, capture_output=True, **options)

        home = run("sh", "-c", "echo $LTTNG_HOME; ls /run/lttng; exit 7")
        assert home.returncode == 7, home
        path = home.stdout.splitlines()[0]
        assert path and not os.path.exists(path), f"{path} was left behind"
        assert path not in daemons().values(), "a daemon was left behind"

        assert run("/nonexistent/command").returncode == 127
        assert run("sh", "-c", "kill -9 $$").returncode == 128 + 9
        assert subprocess.run([with_session], capture_output=True).returncode == 2
        without = run("true", env={"PATH": "/nonexistent"})
        assert without.returncode == 1 and "apt-get install lttng-tools" in without.stderr, without

        # a signal to the wrapper ends the command, and only then the session
        marker = os.path.join(directory, "home")
        command = ["sh", "-c", f"echo $$ $LTTNG_HOME >{marker}.new; mv {marker}.new {marker}; "
                   "exec sleep 300"]
        for end, status in ((signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -9)):
            with subprocess.Popen([with_session, "--output", next(outputs), "--", *command]) as job:
                wait_for(lambda: os.path.exists(marker))
                with open(marker, encoding="ascii") as file:
                    command_pid, path = file.read().split()
                os.remove(marker)
                assert path in daemons().values(), "no daemon of its own ran"
                job.send_signal(end)
                assert job.wait(60) == status, job.returncode
            wait_for(lambda: path not in daemons().values())
            if end == signal.SIGKILL:
                os.kill(int(command_pid), signal.SIGKILL)  # nobody else could end it
            wait_for(lambda: not os.path.exists(f"/proc/{command_pid}"))
            shutil.rmtree(path, ignore_errors=True)
    print("every end was clean")


if __name__ == "__main__":
    main(*sys.argv[1:])
