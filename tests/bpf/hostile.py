#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes that look like daemons and lay traps: root that lists or attaches neither waits for them
nor is misled.

usage: hostile.py OPTRAIL MINISTORE CASE
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import tracing

OPTRAIL, MINISTORE, CASE = sys.argv[1:4]
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 60  # a run that hangs must not take as long as the whole test may
ID = str(1_000_000_000 + os.getpid())  # others may run at the same time


class Impostor:
    """A shell by the name of ceph-osd, with a daemon's arguments."""

    def __init__(self, directory, *arguments, prefix=()):
        os.makedirs(directory, exist_ok=True)
        self.program = shutil.copy("/bin/bash", f"{directory}/ceph-osd")
        script = f"{directory}/script"
        with open(script, "w") as file:
            file.write("echo ready; read -r _")
        self.process = subprocess.Popen(
            [*prefix, self.program, script, "--id", ID, *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def stop(self):
        self.process.communicate("\n", timeout=PATIENCE)


def listed(pid, user=None):
    done = subprocess.run([OPTRAIL, "list", "--format", "json"], check=True, capture_output=True,
                          text=True, timeout=PATIENCE, user=user, group=user,
                          extra_groups=[] if user else None, cwd="/")
    return [row for row in json.loads(done.stdout) if row["pid"] == pid]


def attach(*arguments, user=None):
    return subprocess.run([OPTRAIL, "attach", "-d", "0.2", *arguments], capture_output=True,
                          text=True, timeout=PATIENCE, user=user, group=user,
                          extra_groups=[] if user else None, cwd="/")


def store_with(directory, make):
    """The object store that is seen when DATA/type is what make() makes of it."""
    data = tempfile.mkdtemp(dir=directory)
    make(f"{data}/type")
    impostor = Impostor(f"{data}/bin", "--osd-data", data)
    rows = listed(impostor.pid)
    impostor.stop()
    assert len(rows) == 1 and rows[0]["kind"] == "ceph-osd" and rows[0]["id"] == ID, rows
    return rows[0]["store"]


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def sparse(path):
    write(path, "memstore\n")
    os.truncate(path, 8 << 30)


def case_files():
    """What is no small regular file is not opened: neither for the store nor for the settings."""
    with tempfile.TemporaryDirectory(prefix="optrail-hostile-") as directory:
        os.mkfifo(f"{directory}/fifo")
        assert store_with(directory, lambda path: write(path, "memstore\n")) == "memstore"
        assert store_with(directory, lambda path: os.symlink("real", path) or
                          write(os.path.dirname(path) + "/real", "bluestore\n")) == "bluestore"
        for trap in (os.mkfifo, os.mkdir, sparse,
                     lambda path: os.symlink(f"{directory}/fifo", path),
                     lambda path: os.symlink("/proc/kmsg", path),
                     lambda path: os.symlink("/proc/self/exe", path),
                     lambda path: os.symlink("/dev/zero", path),
                     lambda path: os.symlink(path, path)):
            assert store_with(directory, trap) == ""

        # the settings file: one that is good, and a FIFO
        os.makedirs(f"{directory}/data-{ID}")
        write(f"{directory}/data-{ID}/type", "filestore\n")
        write(f"{directory}/conf", f"[osd]\nosd data = {directory}/data-$id\n")
        for conf, store in (("conf", "filestore"), ("fifo", "")):
            impostor = Impostor(f"{directory}/bin", "-c", f"{directory}/{conf}")
            rows = listed(impostor.pid)
            assert len(rows) == 1 and rows[0]["store"] == store, rows
            done = attach("--osd", ID)
            assert done.returncode == 1 and f"pid {impostor.pid} cannot be traced" in done.stderr, \
                done.stderr
            impostor.stop()

        links_below_its_root(directory)


def links_below_its_root(directory):
    """Below a root of its own a daemon's link leads to that root, not to ours."""
    root = f"{directory}/root"
    write(f"{directory}/outside", "outside\n")
    for file in re.findall(r"(/\S+) \(0x", subprocess.run(
            ["ldd", "/bin/bash"], check=True, capture_output=True, text=True).stdout):
        os.makedirs(root + os.path.dirname(file), exist_ok=True)
        shutil.copy(file, root + file)
    os.makedirs(root + directory)
    os.makedirs(f"{root}/data")
    shutil.copy("/bin/bash", f"{root}/ceph-osd")
    write(f"{root}/script", "echo ready; read -r _")
    os.symlink(f"{directory}/outside", f"{root}/data/type")
    for inside in ("", "inside\n"):
        if inside:
            write(f"{root}{directory}/outside", inside)
        process = subprocess.Popen(["chroot", root, "/ceph-osd", "/script", "--id", ID,
                                    "--osd-data", "/data"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        rows = listed(process.pid)
        process.communicate("\n", timeout=PATIENCE)
        assert len(rows) == 1 and rows[0]["store"] == inside.strip(), rows


def case_names():
    """Only the end of a path says that the file was deleted; who may not look is told so."""
    with tempfile.TemporaryDirectory(prefix="optrail-hostile-") as directory:
        os.chmod(directory, 0o755)
        impostor = Impostor(f"{directory}/old (deleted)/bin", "--osd-data", directory)
        rows = listed(impostor.pid)
        assert len(rows) == 1 and rows[0]["kind"] == "ceph-osd", rows
        os.unlink(impostor.program)
        rows = listed(impostor.pid)
        assert len(rows) == 1 and rows[0]["kind"] == "ceph-osd", rows

        readable = subprocess.run([OPTRAIL, "--version"], user=65534, group=65534, extra_groups=[],
                                  cwd="/", capture_output=True).returncode == 0
        if readable:
            rows = listed(impostor.pid, 65534)
            assert len(rows) == 1 and rows[0]["id"] == ID and not rows[0]["traceable"], rows
            done = attach("--osd", ID, user=65534)
            assert done.returncode == 1 and "run as root" in done.stderr, done.stderr
        # root without its rights is not told to be root
        done = subprocess.run(["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace",
                               OPTRAIL, "attach", "--osd", ID], capture_output=True, text=True,
                              timeout=PATIENCE)
        impostor.stop()
        other = Impostor(f"{directory}/bin", prefix=["setpriv", "--reuid=65534", "--clear-groups"])
        denied = subprocess.run(["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace",
                                 OPTRAIL, "attach", "-p", str(other.pid)], capture_output=True,
                                text=True, timeout=PATIENCE)
        other.stop()
        for run in (done, denied):
            assert run.returncode == 1 and "run as root" not in run.stderr, run.stderr
        assert "missing CAP_SYS_PTRACE" in denied.stderr, denied.stderr


def notes_of(program):
    """Where the descriptors of the USDT notes lie in the file."""
    start, = struct.unpack_from("<Q", program, 0x28)
    count, names = struct.unpack_from("<HH", program, 0x3c)
    strings, = struct.unpack_from("<Q", program, start + 64 * names + 24)
    for i in range(count):
        name, = struct.unpack_from("<I", program, start + 64 * i)
        at = strings + name
        if program[at:at + 14] == b".note.stapsdt\0":
            offset, size = struct.unpack_from("<QQ", program, start + 64 * i + 24)
            break
    at = offset
    while at < offset + size:
        owner, content, _ = struct.unpack_from("<III", program, at)
        yield at + 12 + (owner + 3) // 4 * 4
        at += 12 + (owner + 3) // 4 * 4 + (content + 3) // 4 * 4


def point_of(program, note):
    name = program.index(b"\0", note + 24) + 1
    return program[name:program.index(b"\0", name)].decode()


def case_semaphores():
    """A semaphore that the kernel cannot raise costs that one probe, which is named."""
    with open(MINISTORE, "rb") as file:
        program = bytearray(file.read())
    notes = {point_of(program, note): note for note in notes_of(program)}
    # two that no op needs, made useless in two ways
    odd, code = [name for name in sorted(notes) if name.startswith("op_tracker_")][:2] or \
        sorted(notes)[:2]
    semaphore, = struct.unpack_from("<Q", program, notes[odd] + 16)
    struct.pack_into("<Q", program, notes[odd] + 16, semaphore + 1)
    site, = struct.unpack_from("<Q", program, notes[code])
    struct.pack_into("<Q", program, notes[code] + 16, site + site % 2)
    with tempfile.TemporaryDirectory(prefix="optrail-hostile-") as directory:
        with open(f"{directory}/ministore", "wb") as file:
            file.write(program)
        os.chmod(f"{directory}/ministore", 0o755)
        os.mkdir(f"{directory}/data")
        daemon = subprocess.Popen([f"{directory}/ministore", "--data", f"{directory}/data",
                                   "--store", "memstore"], stdout=subprocess.PIPE, text=True)
        port = daemon.stdout.readline().rsplit(":", 1)[-1].strip()
        tracer = tracing.Tracer([OPTRAIL, "attach", "-p", str(daemon.pid), "--format", "json"],
                                " probes by ")
        said = tracer.said()
        subprocess.run([f"{HERE}/ministore_client.py", port, "20", "10"], check=True,
                       capture_output=True)
        status, output = tracer.finish()
        daemon.terminate()
        daemon.wait(PATIENCE)
        daemon.stdout.close()
    assert status == 0, said
    assert f"{len(notes) - 2} probes by " in said, said
    assert said.count("its semaphore has an odd address") == 1, said
    assert said.count("its semaphore lies in no writable data") == 1, said
    assert said.split("left out: ")[1].count(" (") == 2, said
    counts = {op["type"]: op["count"] for op in json.loads(output)["ops"]}
    assert sum(counts.values()) == 30, counts


def case_boundaries():
    """A note that points into the middle of an instruction, at a byte that would pass for a whole
    one: no breakpoint is put there."""
    with open(MINISTORE, "rb") as file:
        program = bytearray(file.read())
    notes = {point_of(program, note): note for note in notes_of(program)}
    name = [name for name in sorted(notes) if name.startswith("op_tracker_")][0] \
        if any(name.startswith("op_tracker_") for name in notes) else sorted(notes)[0]
    site, = struct.unpack_from("<Q", program, notes[name])
    pair = b"\x90\x0f\x1f\x44\x00\x00"
    assert program[site:site + 6] == pair, "the code does not lie where its address says"
    program[site + 5] = 0x90  # still a nop of five bytes, whose last one looks like a nop of one
    struct.pack_into("<Q", program, notes[name], site + 5)
    with tempfile.TemporaryDirectory(prefix="optrail-hostile-") as directory:
        with open(f"{directory}/ministore", "wb") as file:
            file.write(program)
        os.chmod(f"{directory}/ministore", 0o755)
        daemon = subprocess.Popen([f"{directory}/ministore", "--data", directory, "--store",
                                   "memstore"], stdout=subprocess.PIPE, text=True)
        daemon.stdout.readline()
        tracer = tracing.Tracer([OPTRAIL, "attach", "-p", str(daemon.pid)], " probes by ")
        said, changed = tracer.said(), tracing.changed_places(daemon.pid)
        status, _ = tracer.finish()
        daemon.terminate()
        daemon.wait(PATIENCE)
        daemon.stdout.close()
    assert status == 0 and f"{len(notes) - 1} probes by " in said, said
    assert said.count("its site is in the middle of an instruction") == 1, said
    assert changed and site + 5 not in changed, changed


tracing.need_tracing()
globals()[f"case_{CASE}"]()
print(f"{CASE}: as it should be")
