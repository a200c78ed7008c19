#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail record --lttng`: sessions, snapshots, relay daemons, and what goes wrong with them.

Runs in a mount namespace of its own in which /run/lttng is empty, so that the machine's session
daemon is neither needed nor disturbed.

usage: record_lttng.py OPTRAIL MINISTORE CASE
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import recording
from recording import READS, WRITES, Ministore, ops, tracing

OPTRAIL, MINISTORE, CASE = sys.argv[1:4]
BOTH = {"write": WRITES, "read": READS}


def enter_namespace():
    """Begins anew where /run/lttng is empty."""
    if os.geteuid() != 0:
        tracing.skip("a mount namespace of its own needs root")
    if not shutil.which("lttng-sessiond"):
        tracing.skip("lttng-tools are not installed")
    if os.environ.get("OPTRAIL_TEST_NAMESPACE"):
        return
    os.makedirs("/run/lttng", exist_ok=True)
    script = 'mount -t tmpfs -o mode=0755 none /run/lttng && exec "$@"'
    probe = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", "true"],
                           capture_output=True, text=True)
    if probe.returncode:
        tracing.skip(f"no mount namespace: {probe.stderr.strip()}")
    os.environ["OPTRAIL_TEST_NAMESPACE"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable,
                          *sys.argv])


class SessionDaemon:
    """The machine's, as far as this namespace is one."""

    def __enter__(self):
        self.process = subprocess.Popen(["lttng-sessiond", "--no-kernel"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tracing.wait_for("the session daemon", lambda: lttng("list").returncode == 0)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)


class Relay:
    """A relay daemon on ports of its own."""

    def __init__(self, directory):
        self.directory = directory / "relay"
        self.directory.mkdir()
        sockets = [socket.socket() for _ in range(3)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in sockets]
        for one in sockets:
            one.close()
        self.url = f"net://127.0.0.1:{ports[0]}:{ports[1]}"
        self.command = ["lttng-relayd", "-o", self.directory]
        for option, port in zip("CDL", ports):
            self.command += [f"-{option}", f"tcp://127.0.0.1:{port}"]
        self.port = ports[0]
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        tracing.wait_for("the relay daemon", self.answers)
        return self

    def answers(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)


def lttng(*arguments):
    return subprocess.run(["lttng", *arguments], capture_output=True, text=True, timeout=60)


def record(*options):
    """A recording that has begun, with the one daemon that there is."""
    return tracing.Tracer([OPTRAIL, "record", "--lttng", *map(str, options)],
                          "LTTng session with 1 daemon,")


def finish(recorder, status=0, number=signal.SIGINT):
    """Ends it; what it said."""
    if number:
        recorder.process.send_signal(number)
    tracing.wait_for("optrail to end", recorder.ended)
    said = recorder.said()
    ended, _ = recorder.finish(None)
    assert ended == status, (ended, said)
    return said


def session_daemons():
    """Session daemons of this namespace."""
    mine = os.readlink("/proc/self/ns/mnt")
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                if file.read().startswith("lttng-sessiond") and \
                        os.readlink(f"/proc/{pid}/ns/mnt") == mine:
                    found.append(int(pid))
        except OSError:
            pass  # it has just ended
    return found


def case_own_daemon(directory):
    """No session daemon runs: optrail's own does it, and is gone afterwards."""
    with Ministore(MINISTORE, "--store", "memstore") as store:
        recorder = record("-o", directory / "trace", "--json", directory / "report.json")
        assert "by a session daemon of its own" in recorder.said()
        store.work()
        said = finish(recorder)
        assert "recorded, 0 events lost" in said, said
        read = recording.report(OPTRAIL, directory / "trace")
        assert ops(read) == BOTH and read["source"]["kind"] == "lttng", read
        assert (directory / "report.json").read_text().count('"latency_ns"') > 2
        assert not session_daemons()


def case_machines_daemon(directory):
    """A session daemon that runs is used, for two recordings at once, and left alone."""
    with SessionDaemon(), Ministore(MINISTORE, "--store", "memstore") as store:
        recorders = [record("-o", directory / name) for name in ("one", "two")]
        assert not any("of its own" in recorder.said() for recorder in recorders)
        store.work()
        for recorder in recorders:
            finish(recorder)
        for name in ("one", "two"):
            assert ops(recording.report(OPTRAIL, directory / name)) == BOTH
        listed = lttng("list")
        assert listed.returncode == 0 and "optrail" not in listed.stdout, listed.stdout


def case_name_taken(directory):
    """A session of that name is somebody's: it is not touched."""
    with SessionDaemon():
        assert lttng("create", "taken", f"--output={directory}/other").returncode == 0
        recording.refused(OPTRAIL, 1, "there is an LTTng session 'taken' already", "--lttng",
                          "--session", "taken", "-o", directory / "trace")
        assert "taken" in lttng("list").stdout


def case_snapshots(directory):
    """Nothing is written before the signal; what is written then has the ops."""
    with SessionDaemon(), Ministore(MINISTORE, "--store", "memstore") as store:
        recorder = record("-o", directory / "trace", "--snapshot", "5", "--snapshots", "1")
        store.work()
        assert not list((directory / "trace").rglob("metadata"))
        recorder.process.send_signal(signal.SIGUSR1)
        tracing.wait_for("the snapshot", lambda: "snapshot-1 (signal)" in recorder.said())
        said = finish(recorder)
        assert "1 more snapshot was asked for" in said, said
        read = recording.report(OPTRAIL, directory / "trace" / "snapshot-1")
        assert ops(read) == BOTH, read["ops"]


def case_slower(directory):
    """Only a snapshot with a slow op in it is kept."""
    with SessionDaemon(), Ministore(MINISTORE, "--store", "memstore") as store:
        recorder = record("-o", directory / "slow", "--snapshot", "0.2", "--slower-than", "1us",
                          "--snapshots", "1")
        tracing.wait_for("it", lambda: store.work() or "snapshot-1 (slow op)" in recorder.said())
        finish(recorder)
        assert recording.report(OPTRAIL, directory / "slow")["counts"]["ops"] > 0
        recorder = record("-o", directory / "none", "--snapshot", "0.2", "--slower-than", "60s")
        store.work()
        finish(recorder)
        assert not list((directory / "none").rglob("snapshot-*"))


def case_relay(directory):
    """To a relay daemon."""
    with Relay(directory) as relay, Ministore(MINISTORE, "--store", "memstore") as store:
        recorder = record("--url", relay.url)
        store.work()
        finish(recorder)
        read = recording.report(OPTRAIL, relay.directory)
        assert ops(read) == BOTH, read["ops"]


def case_relay_absent(directory):
    """No relay daemon there: one line, and nothing is left behind."""
    relay = Relay(directory)
    recording.refused(OPTRAIL, 1, "is lttng-relayd running there?", "--lttng", "--url", relay.url)
    assert not session_daemons()


def case_relay_goes(directory):
    """The relay daemon goes in the middle of it: optrail ends all the same, the daemon works on."""
    with Relay(directory) as relay, Ministore(MINISTORE, "--store", "memstore") as store:
        recorder = record("--url", relay.url)
        store.work()
        relay.process.kill()
        relay.process.wait()
        store.work()
        recorder.process.send_signal(signal.SIGINT)
        tracing.wait_for("optrail to end", recorder.ended, 120)
        said = recorder.said()
        status, _ = recorder.finish(None)
        assert status == 1 and "is the relay daemon gone?" in said, (status, said)
        store.work()
        assert not session_daemons()


def case_full_disk(directory):
    """The recording ends while what is in the buffers still finds room: all of it can be read."""
    small = directory / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", small], check=True)
    try:
        with SessionDaemon(), Ministore(MINISTORE, "--store", "memstore") as store:
            recording.refused(OPTRAIL, 1, "are free on that disk", "--lttng", "-o",
                              small / "large")
            # buffers of 1 MiB
            recorder = record("-o", small / "trace", "--rate", "1")
            written = 0
            while not recorder.ended():
                store.work()
                written += WRITES + READS
            said = finish(recorder, status=1, number=None)
            assert "are free on that disk" in said, said
            read = recording.report(OPTRAIL, small / "trace")
            assert 1000 < read["counts"]["ops"] <= written, (read["counts"], written)
    finally:
        subprocess.run(["umount", small], check=True)


def case_no_rights(directory):
    """A user for whom no session daemon can be started: one line that says what to do."""
    place = directory / "place"
    place.mkdir()
    os.chmod(directory, 0o755)
    os.chmod(place, 0o777)
    if subprocess.run([OPTRAIL, "--version"], user=65534, group=65534, extra_groups=[], cwd="/",
                      capture_output=True).returncode:
        tracing.skip("the command cannot be run by other users where it lies")
    said = recording.refused(OPTRAIL, 1, "set LTTNG_HOME", "--lttng", "-o", place / "trace",
                             user=65534, group=65534, extra_groups=[], cwd="/",
                             env={**os.environ, "HOME": "/nonexistent"})
    assert said.count("\n") == 1, said


def case_destroyed(directory):
    """Somebody destroys the session: optrail notices, says so and ends."""
    with SessionDaemon(), Ministore(MINISTORE, "--store", "memstore") as store:
        recorder = record("-o", directory / "trace", "--session", "mine")
        store.work()
        assert lttng("destroy", "mine").returncode == 0
        said = finish(recorder, status=1, number=None)
        assert "the LTTng session is gone" in said, said
        assert ops(recording.report(OPTRAIL, directory / "trace")) == BOTH


def case_killed(directory):
    """SIGKILL: its session daemon goes with it, the trace can be read, the daemon works on."""
    with Ministore(MINISTORE, "--store", "memstore") as store:
        recorder = record("-o", directory / "trace")
        store.work()
        status, _ = recorder.finish(signal.SIGKILL)
        assert status == -signal.SIGKILL
        tracing.wait_for("its session daemon to end", lambda: not session_daemons())
        store.work()
        assert ops(recording.report(OPTRAIL, directory / "trace")) == BOTH


enter_namespace()
with tempfile.TemporaryDirectory(prefix="optrail-record-") as place:
    globals()[f"case_{CASE}"](pathlib.Path(place))
print(f"{CASE}: as it should be")
