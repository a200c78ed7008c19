#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a traced program may do, and what may be wrong with it: exceptions, children, another program
in its place, ten thousand threads, symbols that lie, somebody else's probes. It lives, and what was
not seen is counted.

usage: faults.py OPTRAIL FAKE_OSD FOREIGN_PROBE CASE
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

import tracing

OPTRAIL, FAKE, FOREIGN = (os.path.abspath(program) for program in sys.argv[1:4])
CASE = sys.argv[4]
HERE = os.path.dirname(os.path.abspath(__file__))
ID = f"fake-{os.getpid()}"


class Fake:
    """A program that looks like a ceph-osd and does as it is told."""

    def __init__(self, program=FAKE):
        self.data = tempfile.TemporaryDirectory(prefix="optrail-faults-")
        with open(f"{self.data.name}/type", "w") as file:
            file.write("memstore\n")
        self.process = subprocess.Popen([program, "--id", ID, "--osd-data", self.data.name],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        status = self.process.wait(60)
        self.data.cleanup()
        assert status == 0, f"the traced program ended with {status}"

    def order(self, words):
        self.process.stdin.write(words + "\n")
        return self.process.stdout.readline().strip()

    def read(self, count):
        assert self.order(f"read {count}") == str(count), "the traced program is gone"


def attach(fake, *options, environment=None):
    return tracing.Tracer([OPTRAIL, "attach", "-p", str(fake.pid), "--format", "json", *options],
                          " probes by ", environment)


def ended(tracer, number=2):
    status, output = tracer.finish(number)
    assert status == 0, status
    return json.loads(output)


def reads(report):
    return sum(op["count"] for op in report["ops"] if op["type"] == "read")


def gone(*pids):
    for pid in pids:
        tracing.wait_for("the probes to go", lambda: tracing.changed_code(pid) == 0)


def case_exceptions():
    """An exception through each probed function, and one through all of them at once: each is
    caught where it was caught before, and every frame on its way is left in order."""
    with Fake() as fake:
        untouched = fake.order("throw 1000")
        functions = int(untouched.split()[0])
        assert untouched == f"{functions} functions, {(functions + 1) * 1000} caught, " \
                            f"{2 * functions * 1000} frames", untouched
        addresses = set()
        for options in ([], ["--detail", "deep"], ["--detail", "deep", "--fold", "user"]):
            tracer = attach(fake, *options)
            assert "left out" not in tracer.said(), tracer.said()
            probes = int(re.search(r"(\d+) probes by ", tracer.said())[1])
            changed = tracing.changed_places(fake.pid)
            assert len(changed) == probes, (len(changed), probes)
            addresses |= changed
            assert fake.order("throw 1000") == untouched
            fake.read(10)
            hits = ended(tracer)["counts"]["other"]["probe_hits"]
            # each function is called twice a round
            assert hits >= probes * 2000, (hits, probes)
            print(f"{untouched} through {probes} probes")
        assert len(addresses) == functions, (len(addresses), functions)
        gone(fake.pid)


def case_forks():
    """Children have the breakpoints in their memory, too: they run over them unharmed, are not
    counted, and when the tracer goes they are taken out of them as well."""
    with Fake() as fake:
        for options in ([], ["--follow"]):
            tracer = attach(fake, *options)
            fake.read(10)
            assert fake.order("fork 50") == "0"
            resident = int(fake.order("stay"))
            assert fake.order("child 20") == "20"
            fake.read(5)
            assert reads(ended(tracer)) == 15
            gone(fake.pid, resident)
            assert fake.order("child 20") == "20"
            # a child that is there before the tracer
            tracer = attach(fake, *options)
            assert fake.order("child 20") == "20"
            fake.read(7)
            assert reads(ended(tracer)) == 7
            gone(fake.pid, resident)
            assert fake.order("leave") == "0"


def case_exec():
    """It becomes another program, or the same one once more: the old one has ended."""
    with Fake() as fake:
        tracer = attach(fake)
        fake.read(10)
        assert fake.order("exec") == "ready"
        fake.read(20)
        tracing.wait_for("optrail to end", tracer.ended)
        assert "has ended" in tracer.said(), tracer.said()
        report = ended(tracer, None)
        assert reads(report) == 10
        assert any("ended while it was traced" in note for note in report["notes"])
        assert tracing.changed_code(fake.pid) == 0


def case_follow():
    """... and with --follow it is probed again under its old number."""
    with Fake() as fake:
        tracer = attach(fake, "--follow")
        for restart in (1, 2):
            fake.read(10)
            assert fake.order("exec") == "ready"
            tracing.wait_for("it to be probed again",
                             lambda: tracer.said().count(" probes by ") == 1 + restart)
        fake.read(10)
        report = ended(tracer)
        assert reads(report) == 30, report["ops"]
        assert any("restarted 2 times" in note for note in report["notes"]), report["notes"]
        gone(fake.pid)


def case_threads():
    """Ten thousand threads in the middle of an op each: what there is no room for is counted."""
    crowd = 10000
    with Fake() as fake:
        assert fake.order(f"threads {crowd}") == str(crowd)
        for options in ([], ["--fold", "user"]):
            tracer = attach(fake, *options)
            assert fake.order(f"threads {crowd}") == str(crowd)
            fake.read(10)
            report = ended(tracer)
            counts = report["counts"]
            given_up = sum(counts["incomplete"].values())
            room = counts["other"].get("starts_without_room", 0)
            print(f"{reads(report)} counted, {counts['incomplete']}, {counts['other']}")
            assert reads(report) + given_up + room == crowd + 10, counts
            assert counts["lost_events"] == 0, counts
            assert reads(report) >= 8000, counts
        gone(fake.pid)


def case_clock():
    """The wall clock is set, the daemon's alone, forward and back: its stamps are not believed, and
    that is counted; and then everybody's, as it happens: they are believed once more."""
    with Fake() as fake:
        for options in ([], ["--fold", "user"]):
            tracer = attach(fake, *options)
            fake.read(50)
            for step in (3600, -3600, 2000000000, -1700000000):
                fake.order(f"clock {step}")
                fake.read(100)
            fake.order("clock 0")
            fake.read(50)
            report = ended(tracer)
            counts = report["counts"]["other"]
            assert reads(report) == 500 and report["counts"]["lost_events"] == 0, report["counts"]
            assert counts["refused_stamps"] + counts["unset_stamps"] == 3 * 400, counts
            assert report["ops"][0]["latency_ns"]["max"] < 60e9, report["ops"][0]["latency_ns"]


class Program:
    """A copy of the fake's executable whose symbols one may change."""

    SYMBOL = struct.Struct("<IBBHQQ")

    def __init__(self, directory):
        self.path = f"{directory}/ceph-osd"
        with open(FAKE, "rb") as file:
            self.bytes = bytearray(file.read())
        start, = struct.unpack_from("<Q", self.bytes, 0x28)
        count, = struct.unpack_from("<H", self.bytes, 0x3c)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, start + 64 * i)
                         for i in range(count)]

    def symbols(self, name=None):
        """Where each symbol (of this name) lies in the file, and what it says."""
        for section in self.sections:
            if section[1] not in (2, 11):  # SHT_SYMTAB, SHT_DYNSYM
                continue
            strings = self.sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                symbol = self.SYMBOL.unpack_from(self.bytes, at)
                if name is None or self.name_is(strings + symbol[0], name):
                    yield at, symbol

    def name_is(self, at, name):
        return self.bytes[at:at + len(name) + 1] == name.encode() + b"\0"

    def change(self, of, **fields):
        """Changes `value`, `size`, `type`, `name` (another symbol's) of the symbol."""
        found = list(self.symbols(of))
        assert found, of
        for at, (text, info, other, section, value, size) in found:
            if "name" in fields:
                text = self.name_in(at, fields["name"])
            if "type" in fields:
                info = info & 0xf0 | fields["type"]
            self.SYMBOL.pack_into(self.bytes, at, text, info, other, section,
                                  fields.get("value", value), fields.get("size", size))

    def name_in(self, at, name):
        """The number of another symbol's name, in the table of the symbol at `at`."""
        for other, symbol in self.symbols(name):
            if abs(other - at) < 1 << 20 and self.table_of(other) == self.table_of(at):
                return symbol[0]
        raise AssertionError(name)

    def table_of(self, at):
        return [i for i, section in enumerate(self.sections)
                if section[1] in (2, 11) and section[4] <= at < section[4] + section[5]]

    def place(self, address):
        """Where in the file it lies."""
        start, = struct.unpack_from("<Q", self.bytes, 0x20)
        count, = struct.unpack_from("<H", self.bytes, 0x38)
        for i in range(count):
            kind, _, offset, begin, _, size, *_ = struct.unpack_from("<IIQQQQQQ", self.bytes,
                                                                     start + 56 * i)
            if kind == 1 and begin <= address < begin + size:  # PT_LOAD
                return offset + address - begin
        raise AssertionError(hex(address))

    def value(self, name):
        return next(iter(self.symbols(name)))[1][4]

    def write(self):
        with open(self.path, "wb") as file:
            file.write(self.bytes)
        os.chmod(self.path, 0o755)
        return self.path


def symbol_of(point):
    with open(f"{HERE}/../../probes/maps/ceph-osd/16.2.15.yaml") as file:
        return re.search(rf"- point: {point}\n(?: .*\n)*? +symbol: (\w+)", file.read())[1]


def lie(changes):
    """Attaches to a program that was changed: `changes` has, for each of some points, what is done
    to its symbol, and why it is left out then (None: it is not). All others are there, and the
    program lives."""
    with tempfile.TemporaryDirectory(prefix="optrail-lies-") as directory:
        program = Program(directory)
        for point, change, _ in changes:
            change(program, symbol_of(point))
        with Fake(program.write()) as fake:
            tracer = attach(fake, "--detail", "deep")
            left_out = re.findall(r"([a-z_.]+) \((.*?)\)", tracer.said().partition("left out:")[2])
            expected = [(point, why) for point, _, why in changes if why]
            assert sorted(left_out) == sorted(expected), (left_out, expected)
            fake.read(100)
            assert "caught" in fake.order("throw 10")
            assert reads(ended(tracer)) == 100
            gone(fake.pid)


def case_lies():
    """Symbols that are not true: what they name is not probed, and it is said why."""
    function, ifunc = 2, 10

    def moved(by):
        return lambda program, symbol: program.change(symbol, value=program.value(symbol) + by)

    # in the function, at instructions and in the middle of some; and in front of it
    inside = "its symbol does not begin a function"
    lie([("osd.class_call", moved(1), inside), ("parked.cache_full", moved(2), inside),
         ("parked.missing", moved(5), inside), ("parked.blocked", moved(9), inside),
         ("tier.proxy_read", moved(-1), inside)])

    def put(address):
        return lambda program, symbol: program.change(symbol, value=address)

    nowhere = "the program has no such function"
    lie([("osd.class_call", put(0xfffffffffffffff0), nowhere), ("parked.cache_full", put(1 << 40), nowhere),
         ("parked.missing", put(8), nowhere),
         ("parked.blocked", lambda program, symbol: program.change(
             symbol, value=program.value("some_data")), nowhere)])

    def also(of, **fields):
        return lambda program, symbol: program.change(of, name=symbol, **fields)

    def sized(size):
        return lambda program, symbol: program.change(symbol, size=size)

    lie([("osd.class_call", lambda program, symbol: program.change(symbol, type=ifunc),
          "it is chosen when the program starts: the symbol is of what chooses"),
         ("parked.cache_full", also("another_function"), "the program has several functions of that pattern"),
         # data does not count beside code
         ("parked.missing", also("some_data", type=function), None),
         ("parked.blocked", sized(0), None), ("parked.degraded", sized(1), None),
         ("tier.proxy_read", sized(1 << 20), None), ("tier.proxy_write", sized((1 << 64) - 1), None)])


class Foreign:
    """Somebody else's probes, at the entry and at the return of functions."""

    def __init__(self, fake, symbols):
        program = Program("/nonexistent")
        places = [str(program.place(program.value(symbol))) for symbol in symbols]
        self.process = subprocess.Popen([FOREIGN, str(fake.pid), FAKE, *places], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        said = self.process.stderr.readline()
        assert said == "ready\n", said

    def counted(self):
        output, errors = self.process.communicate("", timeout=60)
        assert self.process.returncode == 0, errors
        return [[int(word) for word in line.split()] for line in output.splitlines()]


def case_foreign():
    """Somebody else's probes at the same functions, at their entries and returns: both see what
    they would have seen alone, whoever comes and goes first."""
    symbols = ["_ZN9OpRequestC1EP7MessageP9OpTracker",
               "_ZN12PrimaryLogPG12log_op_statsERK9OpRequestmm"]
    with Fake() as fake:
        foreign = Foreign(fake, symbols)
        fake.read(10)
        tracer = attach(fake)
        fake.read(20)
        assert foreign.counted() == [[30, 30]] * len(symbols)
        fake.read(40)
        assert reads(ended(tracer)) == 60
        gone(fake.pid)

        tracer = attach(fake)
        fake.read(10)
        foreign = Foreign(fake, symbols)
        fake.read(20)
        assert reads(ended(tracer)) == 30
        tracing.wait_for("only the others' probes",
                         lambda: tracing.changed_code(fake.pid) == len(symbols))
        fake.read(40)
        assert foreign.counted() == [[60, 60]] * len(symbols)
        gone(fake.pid)


def case_lockdown():
    """A kernel that is locked down, or a container whose root is none outside, is named where the
    programs are refused."""
    orders = f"""mount --bind $1 /sys/kernel/security && cd $1 &&
        mkfifo orders && exec 9<>orders && {{ {FAKE} --id {ID} --osd-data $1 <orders & }} &&
        until grep -q ceph-osd /proc/$!/comm; do :; done
        {OPTRAIL} attach -p $! -d 0.1; status=$?; kill $!; exit $status"""
    for text, said in (("none integrity [confidentiality]", "is locked down"),
                       ("[none] integrity confidentiality", "root of a user namespace")):
        with tempfile.TemporaryDirectory(prefix="optrail-lockdown-") as directory:
            os.chmod(directory, 0o755)
            with open(f"{directory}/lockdown", "w") as file:
                file.write(text + "\n")
            done = subprocess.run(["unshare", "-U", "-r", "-m", "sh", "-c", orders, "sh", directory],
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if "unshare" in done.stderr:
                tracing.skip("namespaces cannot be made here")
            assert done.returncode == 1 and done.stderr.count("\n") == 1, done
            assert said in done.stderr, done.stderr


tracing.need_tracing()
globals()[f"case_{CASE}"]()
print(f"{CASE}: as it should be")
