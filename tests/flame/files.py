#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of stacks in, every format out: what goes in comes out, and what cannot be used is said."""
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import zlib

OPTRAIL = os.environ["OPTRAIL"]
STACKS = "a;b;c 10\na;b 5\na;d;c 20\nx 3\n"

PERF = """\
# ========
# captured on: a machine
# ========
#
two words  12/13    [001] 100.000001:     250000 cpu-clock:pppH: 
\tffffffff821cc962 do_syscall_64+0x71 ([kernel.kallsyms])
\t    7f0012345678 ns::f(int, std::vector<int>) const+0x1f (/usr/lib/libx.so (deleted))
\t    7f0012345679 ns::g (inlined)
\t            acec [unknown] (/usr/bin/tool)
\t               0 [unknown] ([unknown])

tp_osd_tp 14/15    [000] 100.500000:     250000 cpu-clock:pppH: 
\t    7f0012345678 ns::{lambda(int)#1}::operator()(int)+0x1f (/usr/lib/libx.so)
  x.cc:12
\t    7f0012345679 main+0x0 (/usr/bin/tool)

tp_osd_tp 14/15    [000] 101.000000:          1 context-switches: 
\t    7f0012345678 schedule+0x1f ([kernel.kallsyms])

tp_osd_tp 14/15    [000] 101.500000:     250000 cpu-clock:pppH: 

"""


def varint(data, at):
    value, shift = 0, 0
    while True:
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """The fields of a protobuf message, as (number, value); decoded independently of the encoder."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, key
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length
        yield key >> 3, value


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def read_pprof(data):
    """Types, and stacks (the innermost first) with their values."""
    profile = list(fields(gzip.decompress(data)))
    strings = [value.decode() for number, value in profile if number == 6]
    assert strings[0] == ""
    functions = {f[1]: strings[f[2]] for f in
                 (dict(fields(value)) for number, value in profile if number == 5)}
    places = {}
    for number, value in profile:
        if number == 4:
            place = dict(fields(value))
            places[place[1]] = functions[dict(fields(place[4]))[1]]
    types = [tuple(strings[one] for one in (t[1], t[2])) for t in
             (dict(fields(value)) for number, value in profile if number == 1)]
    samples = {}
    for number, value in profile:
        if number == 2:
            sample = dict(fields(value))
            stack = tuple(places[one] for one in packed(sample[1]))
            assert stack not in samples
            samples[stack] = packed(sample[2])
    return types, samples


class Files(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.home = pathlib.Path(self.directory.name)

    def file(self, content, name="stacks.txt"):
        path = self.home / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def flame(self, *arguments, status=0, **options):
        done = subprocess.run([OPTRAIL, "flame", *map(str, arguments)], capture_output=True,
                              **options)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.said = done.stderr.decode()
        return done.stdout

    def collapsed(self, content, *options, status=0):
        out = self.flame("--format", "collapsed", *options, self.file(content), status=status)
        return dict(line.rsplit(" ", 1) for line in out.decode("utf-8", "replace").splitlines())

    def test_collapsed_stacks_come_out_as_they_went_in(self):
        out = self.flame("--format", "collapsed", self.file(STACKS)).decode()
        self.assertEqual(sorted(out.splitlines()), sorted(STACKS.splitlines()))
        again = self.flame("--format", "collapsed", "-", input=out.encode()).decode()
        self.assertEqual(again, out)
        self.assertEqual(self.flame("--format", "collapsed",
                                    self.file(gzip.compress(STACKS.encode()))).decode(), out)

    def test_several_files_add_up(self):
        one, two = self.file(STACKS, "1"), self.file("a;b;c 7\r\na;b;c 1.5\n", "2")
        out = self.flame("--format", "collapsed", one, two).decode()
        self.assertIn("a;b;c 19\n", out)
        self.assertIn("1 number with a fraction was rounded", self.said)

    def test_what_cannot_be_used_is_said_with_its_line(self):
        got = self.collapsed("a;b 5\nnonsense\n\na;b 99999999999999999999\nc 18446744073709551615\n"
                             ";;a 2\n" + "x" * (1 << 20) + "y 5\n 7\n", status=1)
        self.assertEqual(got, {"a;b": "5", "[unknown];[unknown];a": "2"})
        for words in ("5 lines could not be used", "line 2 (no number at its end)", "4 (no number at its end, or one below 0 or beyond 2^64)",
                      "5 (the sum of all would be beyond 2^64)", "7 (longer than 1 MiB)"):
            self.assertIn(words, self.said)
        data = gzip.compress(("a;b 5\n" * 100000).encode())
        self.flame("--format", "collapsed", self.file(data[:len(data) // 2]), status=1)
        self.assertIn("compressed data are damaged or break off", self.said)

    def test_before_a_damage_of_compressed_data_all_whole_lines_are_read(self):
        lines = [f"main;f{number} {number * 1000003 % 9973}\n" for number in range(1, 20001)]
        data = bytearray(gzip.compress("".join(lines).encode()))
        whole = len(data) // 2
        # what is inflated of the first half, and there the last line that is whole
        text = zlib.decompressobj(31).decompress(bytes(data[:whole])).decode()
        expected = {line.rsplit(" ", 1)[0]: line.rsplit(" ", 1)[1].strip()
                    for line in lines[:text.count("\n")]}
        self.assertEqual(self.collapsed(bytes(data[:whole]), status=1), expected)
        self.assertIn(f"the compressed data are damaged or break off behind line {len(expected)}\n",
                      self.said)
        # members in a row, of which the second one is damaged: the first is there
        for second in (data[:40], data[:10] + b"\xff" * 30):
            self.assertEqual(self.collapsed(gzip.compress(b"a;b 5\n") + bytes(second), status=1)
                             .get("a;b"), "5")
        self.assertEqual(self.collapsed(gzip.compress(b"a;b 5\n") + gzip.compress(b"a;b 7\n")),
                         {"a;b": "12"})
        # so little of it that there is no line
        for length in (3, 12):
            self.flame(self.file(bytes(data[:length])), status=1)
            self.assertIn("damaged or break off before the first line", self.said)

    def test_one_odd_line_does_not_make_it_another_kind(self):
        self.assertEqual(self.collapsed("m;a 10\nm;b 5\n\t7\n", status=1), {"m;a": "10", "m;b": "5"})
        self.assertIn("1 line could not be used: line 3 (no stack before the number)", self.said)
        self.assertEqual(self.collapsed("m;a 10\n\n" + PERF)["two words;[unknown];[tool];"
                                                                     "ns::g;ns::f;do_syscall_64"], "1")

    def test_a_profile_has_no_stacks(self):
        profile = b"optrail-profile 1\nrun a 10\nrun b 20\n"
        for content in (profile, gzip.compress(profile)):
            for options in ([], ["--input", "perf"], ["--input", "collapsed"]):
                self.flame(*options, self.file(content), status=1)
                self.assertIn("is a saved profile", self.said)
                self.assertIn("needs the trace", self.said)

    def test_names_of_events_do_not_move_the_cursor(self):
        self.flame("--input", "perf", self.file(PERF.replace("cpu-clock", "cpu\033[31m")))
        self.assertIn("\\x1b[31m", self.said)
        self.assertNotIn("\033", self.said)

    def test_what_is_no_text_is_not_read_to_its_end(self):
        for form in ("collapsed", "perf"):
            for device in ("/dev/zero", "/dev/urandom"):
                self.flame("--input", form, device, status=1, timeout=60)
                self.assertIn("it is no text, and the rest was not read", self.said)

    def test_perf_script_is_understood(self):
        got = self.collapsed(PERF)
        self.assertEqual(got, {
            "two words;[unknown];[tool];ns::g;ns::f;do_syscall_64": "1",
            "tp_osd_tp;main;ns::{lambda#1}::operator()": "1",
            "tp_osd_tp;[not known]": "1"})
        self.assertIn("1 of other events are left out", self.said)
        self.assertIn("1 sample has no stack", self.said)
        self.assertEqual(self.collapsed(PERF, "--event", "context-switches"),
                         {"tp_osd_tp;schedule": "1"})
        self.assertEqual(self.collapsed(PERF, "--weight", "time", "--thread", "two*", "--by", "none"),
                         {"[unknown];[tool];ns::g;ns::f;do_syscall_64": "250000"})
        self.assertEqual(self.collapsed(PERF, "--from", "0.4", "--to", "0.6"),
                         {"tp_osd_tp;main;ns::{lambda#1}::operator()": "1"})
        # an event that only one of the files has; collapsed stacks have none
        both = self.file(PERF, "1"), self.file(PERF.replace("context-switches", "cycles"), "2")
        self.flame("--format", "collapsed", "--event", "context-switches", *both)
        self.assertIn("2: none of its 4 samples is of the event that --event chooses", self.said)
        self.flame("--event", "cycles", both[0], self.file(STACKS), status=2)
        self.assertIn("does not tell what --event needs", self.said)

    def test_perf_script_with_other_fields(self):
        for text, expected in (
                ("comm 12 \n\t  7f0012345678 f\n\t  7f0012345679 main\n\n", "comm;main;f"),
                ("\t    7f0012345678 f\n\t    7f0012345679 main\n\n", "[not known];main;f"),
                ("  a comm  12/13  1.5:  1 cycles:  7f0012345678 f+0x1 (/x)\n", "a comm;f"),
                ("  a comm 12 7f0012345678 f\n", "a comm;f"),
                ("  a comm 12  1.5:  101 cycles:  7f0012345678 f+0x1 (/x)\n  f.c:28\n", "a comm;f"),
                ("comm 12 1.5: \n\tf (/x)\n\tmain (/x)\n\n", "comm;main;f")):
            self.assertEqual(self.collapsed(text), {expected: "1"}, text)

    def test_damage_in_perf_script_is_said(self):
        got = self.collapsed("c 1 1.5: cycles: \n\t7f0012345678 f (/x)\n\n\t7f0012345678 lost (/x)\n"
                             "c 1 1.6: cycles: \n\t7f0012345678 f (/x)\n", status=1)
        self.assertEqual(got, {"c;f": "2"})
        self.assertIn("1 line could not be used: line 4 (a frame without a sample)", self.said)

    def test_every_format_has_the_same_totals(self):
        file = self.file(STACKS + "ünï;\"q\\uote\";tab\there 4\n")
        stacks = {tuple(line.rsplit(" ", 1)[0].split(";")): int(line.rsplit(" ", 1)[1])
                  for line in file.read_text().splitlines()}
        scope = json.loads(self.flame("--format", "speedscope", file))
        self.assertEqual(scope["$schema"], "https://www.speedscope.app/file-format-schema.json")
        names = [frame["name"] for frame in scope["shared"]["frames"]]
        profile, = scope["profiles"]
        self.assertEqual((profile["type"], profile["unit"]), ("sampled", "none"))
        self.assertEqual({tuple(names[one] for one in stack): weight for stack, weight in
                          zip(profile["samples"], profile["weights"], strict=True)}, stacks)
        self.assertEqual(profile["endValue"] - profile["startValue"], sum(stacks.values()))
        types, samples = read_pprof(self.flame("--format", "pprof", file))
        self.assertEqual(types, [("samples", "count")])
        self.assertEqual({stack[::-1]: values[0] for stack, values in samples.items()}, stacks)
        if shutil.which("protoc"):
            data = gzip.decompress(self.flame("--format", "pprof", file))
            subprocess.run(["protoc", "--decode_raw"], input=data, check=True,
                           stdout=subprocess.DEVNULL)
        svg = self.flame("--format", "svg", file).decode()
        self.assertIn(f"all\n100.00 %, {sum(stacks.values())} samples", svg)

    def test_a_comparison_has_both_sides(self):
        before, after = self.file("a 10\nb 10\n", "before"), self.file("a 30\nc 10\n", "after")
        out = self.flame("--diff", "--format", "collapsed", before, after).decode()
        self.assertEqual(sorted(out.splitlines()), ["a 10 30", "b 10 0", "c 0 10"])
        self.assertEqual(self.flame("--format", "collapsed", self.file(out)).decode(), out)
        types, samples = read_pprof(self.flame("--diff", "--format", "pprof", before, after))
        self.assertEqual([one[0] for one in types], ["samples_before", "samples_after"])
        self.assertEqual(samples[("a",)], [10, 30])
        scope = json.loads(self.flame("--diff", "--format", "speedscope", before, after))
        self.assertEqual([one["endValue"] for one in scope["profiles"]], [20, 40])
        # a name that ends with a number is no second column
        self.assertEqual(self.collapsed("a;new 16 5\nb 1\n"), {"a;new 16": "5", "b": "1"})
        # what is a comparison already is no side of another one, unless it is said to be none
        two = self.file("a;b 3 4\n", "two")
        for arguments in (["--diff", before, two], ["--diff", two, after], [before, two]):
            self.flame(*arguments, status=2)
            self.assertIn("two numbers in each line: it is a comparison already", self.said)
        out = self.flame("--diff", "--input", "collapsed", "--format", "collapsed", before, two)
        self.assertIn("a;b 3 0 4\n", out.decode())

    def test_the_file_name_tells_the_format(self):
        file = self.file(STACKS)
        for name, begin in (("x.svg", b"<?xml"), ("x.folded", b"a;"), ("x.pb.gz", b"\x1f\x8b"),
                            ("x.speedscope.json", b'{"$schema"')):
            self.flame("-o", self.home / name, file)
            self.assertTrue((self.home / name).read_bytes().startswith(begin), name)

    def test_wrong_use_and_failures(self):
        file = self.file(STACKS)
        for arguments, status, words in (
                (["--op", "write", file], 2, "does not tell what --op needs"),
                (["--kind", "lock", file], 2, "--kind"),
                (["--kind", "nothing", file], 2, "there is no kind"),
                (["--from", "1", file], 2, "--from"),
                (["--by", "pool", file], 2, "--by pool"),
                (["--by", "colour", file], 2, "colour"),
                (["--tail", "0", file], 2, "--tail"),
                (["--diff", file], 2, "two inputs"),
                (["--format", "png", file], 2, "png"),
                (["--format", "perfetto", file], 2, "needs a trace"),
                ([file, self.home], 2, "not both"),
                ([self.home / "missing"], 1, "missing"),
                (["-o", self.home / "no" / "x.svg", file], 1, "cannot be written"),
                (["-o", "/dev/full", file], 1, "/dev/full"),
                ([self.file("", "empty")], 1, "is empty"),
                ([self.file("just words\n", "words")], 1, "neither"),
                (["--diff", file, self.file("a 0\n", "zero")], 1, "nothing to compare")):
            self.flame(*arguments, status=status)
            self.assertIn(words, self.said, arguments)


if __name__ == "__main__":
    unittest.main()
