#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input: each gets one clear line and the right exit status, and what can be kept is kept.

The tools are found through the environment: OPTRAIL, MAKE_TRACE, PLUGINS.
"""
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
OPTRAIL = os.environ["OPTRAIL"]
MAKE_TRACE = os.environ["MAKE_TRACE"]
PLUGINS = os.environ["PLUGINS"]
STORE = HERE / "store.yaml"

# A write of 1,001 us, 15 events; the thread 4711 is to be found again in the bytes of the stream.
WRITE = """
  +1us   op.start            70/71 {key} 2 1
  +50us  messenger.recv_end  70/71 {key} 4096
  +0us   opqueue.enqueue     70/71 {key} 3
  +100us opqueue.dequeue     70/72 {key} 3
  +20us  pg.lock_request     70/72 {key} 9
  +600us pg.lock_acquired    70/72 {key} 9
  +30us  osd.prepared        70/72 {key}
  +0us   filestore.sequence  70/72 {key} {sequence} sequence
  +0us   journal.submit      70/72 {sequence} 4096
  +0us   osd.leave           70/72 {key}
  +20us  journal.write_begin 70/73 {sequence}
  +130us journal.write_end   70/73 {sequence}
  +0us   reply.enqueue       70/73 {key}
  +50us  op.finish           70/4711 {key} 4096 0
  +0us   op.end              70/74 {key}
"""
EVENTS = 15


class Damage(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="optrail-test-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.temporary = self.directory / "tmp"
        self.temporary.mkdir()

    def trace(self, name, writes, key="0x100", start="1.0"):
        """A trace of so many writes, one after the other."""
        fixture = self.directory / (name + ".txt")
        fixture.write_text(f"{start} wbthrottle.sync_begin 70/75 1 1\nrepeat {writes}"
                           + WRITE.format(key=key, sequence=500) + "end\n")
        subprocess.run([MAKE_TRACE, fixture, self.directory / name], check=True)
        return self.directory / name

    def report(self, *traces, path=STORE, options=(), **keywords):
        """Runs `optrail report`; checks that nothing is left in TMPDIR."""
        environment = {**os.environ, "TMPDIR": str(self.temporary), **keywords.pop("env", {})}
        done = subprocess.run([OPTRAIL, "report", "--path", path, *options, *traces],
                              capture_output=True, text=True, cwd=self.directory, env=environment,
                              **keywords)
        self.assertEqual(list(self.temporary.iterdir()), [], "left behind in TMPDIR")
        return done

    def json(self, *traces, status=0, **keywords):
        done = self.report(*traces, options=["--format", "json"], **keywords)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout), done.stderr

    def assert_refused(self, done, *words, status=1):
        """One line that says these words, the status, and no report."""
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    @staticmethod
    def without_leak_check():
        return {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}

    def babeltrace2(self, *words):
        """Runs babeltrace2 with our plugin, which needs the sanitizers' runtime when it is built so;
        the leaks of a program that is not ours are its own affair."""
        environment = dict(os.environ)
        if os.environ.get("SANITIZED"):
            runtimes = [subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True,
                                       text=True, check=True).stdout.strip()
                        for name in ("libasan.so", "libubsan.so")]
            environment["LD_PRELOAD"] = " ".join(runtimes)
            environment.update(self.without_leak_check())
        return subprocess.run(["babeltrace2", "--plugin-path", PLUGINS, *words],
                              cwd=self.directory, capture_output=True, text=True, env=environment)

    # what is no trace

    def test_no_such_directory(self):
        self.assert_refused(self.report("nowhere"), "nowhere", "No such file")

    def test_a_file_in_place_of_a_directory(self):
        self.assert_refused(self.report(STORE), "store.yaml", "is a file")

    def test_a_directory_without_a_trace(self):
        (self.directory / "bare").mkdir()
        self.assert_refused(self.report("bare"), "bare", "holds no trace")

    def test_a_trace_without_streams(self):
        trace = self.trace("t", 1)
        (trace / "stream").unlink()
        self.assert_refused(self.report("t"), "t: holds no events")

    def test_an_empty_stream_file(self):
        trace = self.trace("t", 1)
        os.truncate(trace / "stream", 0)
        self.assert_refused(self.report("t"), "t: holds no events")

    def test_a_trace_of_other_providers(self):
        trace = self.trace("t", 1)
        self.change_metadata(trace, "optrail:", "another:")
        self.assert_refused(self.report("t"), f"none of its {EVENTS + 1} events is optrail's",
                            "enable-event")

    def test_only_points_that_are_not_in_the_catalogue(self):
        trace = self.trace("t", 1)
        self.change_metadata(trace, '"optrail:', '"optrail:x')
        self.assert_refused(self.report("t"), "another version")

    def test_some_points_that_are_not_in_the_catalogue(self):
        trace = self.trace("t", 10)
        self.change_metadata(trace, "optrail:pg_lock_request", "optrail:pg_lock_wanted")
        report, _ = self.json("t")
        self.assertEqual(report["counts"]["other"]["unknown_events"], 10)
        self.assertEqual(report["counts"]["ops"], 10)

    def test_events_without_their_fields(self):
        trace = self.trace("t", 1)
        self.change_metadata(trace, "} _pid;", "} _process;")
        self.assert_refused(self.report("t"), "lack the fields")

    def change_metadata(self, trace, old, new):
        text = (trace / "metadata").read_text()
        self.assertIn(old, text)
        (trace / "metadata").write_text(text.replace(old, new))

    # what is damaged

    def test_a_stream_that_is_cut_off(self):
        # wherever it is cut, all events before the cut count, and none that is made up
        trace = self.trace("t", 1000)
        whole = (trace / "stream").read_bytes()
        full, _ = self.json("t")
        self.assertEqual(full["counts"]["events"], EVENTS * 1000 + 1)
        before = 0
        for size in (len(whole) // 3, len(whole) // 2, len(whole) // 2 + 1, len(whole) - 1):
            (trace / "stream").write_bytes(whole[:size])
            # babeltrace2 2.0.4 forgets the event that it was reading when the file ended
            report, error = self.json("t", status=1, env=self.without_leak_check())
            self.assertEqual(error, f"optrail: t/stream: is cut off at byte {size}: read up to "
                             "there\n")
            self.assertIn("cut off", report["notes"][-1] + report["notes"][0])
            # every event has 52 bytes here, beside a packet header in 4,096 of them
            expected = size / 52
            self.assertAlmostEqual(report["counts"]["events"], expected, delta=12)
            self.assertGreaterEqual(report["counts"]["events"], before)
            self.assertEqual(report["counts"]["other"]["malformed_events"], 0)
            # a write is finished with its last event but one; one more event came before all
            finished = (report["counts"]["events"] - 1 + 1) // EVENTS
            self.assertEqual(report["counts"]["ops"], finished)
            before = report["counts"]["events"]

    def test_a_stream_that_is_cut_off_before_its_first_event(self):
        trace = self.trace("t", 10)
        os.truncate(trace / "stream", 60)
        self.assert_refused(self.report("t"), "t/stream: is no CTF stream, or is cut off")

    def test_garbage_in_place_of_a_stream(self):
        trace = self.trace("t", 10)
        (trace / "stream").write_bytes(bytes(range(256)) * 100)
        self.assert_refused(self.report("t"), "t/stream: is no CTF stream")

    def test_garbage_beside_a_good_stream(self):
        trace = self.trace("t", 10)
        (trace / "other").write_bytes(bytes(range(256)) * 100)
        report, error = self.json("t", status=1)
        self.assertEqual(report["counts"]["ops"], 10)
        self.assertIn("t/other: is no CTF stream", error)

    def test_one_bad_trace_among_good_ones(self):
        self.trace("a", 10, key="0x100")
        self.trace("b", 10, key="0x200")
        bad = self.trace("c", 10)
        (bad / "metadata").write_text("")
        report, error = self.json("a", "b", "c", status=1)
        self.assertEqual(report["counts"]["events"], 2 * (EVENTS * 10 + 1))
        self.assertIn("c/metadata: is empty", error)

    def test_metadata_that_is_cut_off(self):
        trace = self.trace("t", 10)
        os.truncate(trace / "metadata", 3000)
        # babeltrace2's parser forgets what it was at
        self.assert_refused(self.report("t", env=self.without_leak_check()), "t/metadata",
                            "cut off")

    def test_damage_in_the_middle_of_a_stream(self):
        # the event class of the 500th finish becomes one that does not exist
        trace = self.trace("t", 1000)
        data = bytearray((trace / "stream").read_bytes())
        at = -1
        for _ in range(500):
            at = data.index(struct.pack("<I", 4711), at + 1)
        data[at - 24:at - 16] = b"\xff" * 8
        (trace / "stream").write_bytes(data)
        report, error = self.json("t", status=1)
        self.assertEqual(report["counts"]["ops"], 499)
        # the last event before it is the reply: behind 499 whole writes and 951 us
        self.assertIn("t: breaks off behind 1.500450000 s: what follows is damaged", error)

    def test_damage_in_one_stream_leaves_the_others_whole(self):
        self.trace("good", 1000, key="0x100")
        bad = self.trace("bad", 1000, key="0x200")
        data = bytearray((bad / "stream").read_bytes())
        at = data.index(struct.pack("<I", 4711))
        data[at - 24:at - 16] = b"\xff" * 8
        (bad / "stream").write_bytes(data)
        report, _ = self.json("good", "bad", status=1)
        # 13 events of the bad one, and its first, come before its first finish
        self.assertEqual(report["counts"]["events"], EVENTS * 1000 + 1 + 14)

    def test_a_clock_that_goes_back(self):
        # the 500th finish happens 0.3 s before it should
        trace = self.trace("t", 1000)
        data = bytearray((trace / "stream").read_bytes())
        at = -1
        for _ in range(500):
            at = data.index(struct.pack("<I", 4711), at + 1)
        stamp, = struct.unpack_from("<Q", data, at - 16)
        struct.pack_into("<Q", data, at - 16, stamp - 300_000_000)
        (trace / "stream").write_bytes(data)
        report, error = self.json("t")
        self.assertEqual(error, "")
        self.assertEqual(report["counts"]["events"], EVENTS * 1000 + 1)
        self.assertEqual(report["counts"]["other"]["late_events"], 1)
        self.assertTrue(any("a clock goes back behind 1.500450000 s" in note
                            for note in report["notes"]), report["notes"])

    def test_traces_of_two_boots_do_not_mix(self):
        self.trace("here", 10)
        there = self.trace("there", 10)
        text = (there / "metadata").read_text()
        at = text.index('uuid = "', text.index("clock {")) + len('uuid = "')
        (there / "metadata").write_text(text[:at] + "00000000" + text[at + 8:])
        report, error = self.json("here", "there", status=1)
        self.assertEqual(report["counts"]["ops"], 10)
        self.assertIn("there: ", error)
        self.assertIn("its clock has nothing in common", error)

    # what else can go wrong

    def test_bad_path_files(self):
        self.trace("t", 1)
        for change, line, words in (
                (("from: op.start,", "from: op.strt,"), 27, "op.strt"),
                (("from: op.start, to: messenger.recv_end", "from: messenger.recv_end, to: op.start"),
                 27, "ends before it starts"),
                (("{name: osd.prepare,", "{name: osd.prepare, within: pg.lock,"), 31, "circle")):
            text = STORE.read_text()
            self.assertIn(change[0], text)
            path = self.directory / "bad.yaml"
            path.write_text(text.replace(*change))
            done = self.report("t", path=path)
            self.assert_refused(done, "bad.yaml:", words)

    def test_hostile_names_do_not_reach_the_terminal(self):
        self.trace("t", 10)
        path = self.directory / "hostile.yaml"
        path.write_text(STORE.read_text().replace("{name: messenger.recv,",
                                                  '{name: "\\e[31mred\\a\\u202e",'))
        done = self.report("t", path=path)
        # refused by the reader of path files, or shown escaped: never raw
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertNotIn("\u202e", done.stdout + done.stderr)
        self.assertIn("\\x1b[31mred", done.stdout + done.stderr)

    def test_a_full_disk(self):
        self.trace("t", 10)
        for options in (["-o", "/dev/full"], ["--json", "/dev/full"]):
            done = self.report("t", options=options)
            self.assertEqual(done.returncode, 1)
            self.assertIn("/dev/full", done.stderr)
            self.assertIn("No space left", done.stderr)
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([OPTRAIL, "report", self.directory / "t"], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)

    def test_no_room_to_mend_a_trace(self):
        trace = self.trace("t", 10)
        os.truncate(trace / "stream", 3000)
        done = self.report("t", env={"TMPDIR": "/proc/nowhere"})
        self.assert_refused(done, "TMPDIR")

    def test_plugins_of_others_are_not_loaded(self):
        self.trace("t", 10)
        (self.directory / "plugins").mkdir()
        (self.directory / "plugins" / "babeltrace-plugin-ctf.so").write_text("no plugin")
        report, _ = self.json("t", env={"BABELTRACE_PLUGIN_PATH": str(self.directory / "plugins")})
        self.assertEqual(report["counts"]["ops"], 10)

    def test_an_interrupt_reports_what_there_is(self):
        trace = self.trace("t", 100_000)
        process = subprocess.Popen([OPTRAIL, "report", "--path", STORE, "--format", "json", trace],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # reading has begun when the stream is mapped, by the child that reads
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and not any(
                str(trace / "stream") in pathlib.Path(f"/proc/{child}/maps").read_text()
                for child in children.read_text().split()):
            pass
        process.send_signal(signal.SIGINT)
        out, error = process.communicate()
        self.assertEqual(process.returncode, 0, error)
        self.assertEqual(error, "")
        events = json.loads(out)["counts"]["events"]
        self.assertLess(events, EVENTS * 100_000)

    # what brings babeltrace2 2.0.4 down

    def assert_one_line(self, error):
        """Of ours; a sanitizer build keeps what babeltrace2 says before."""
        if os.environ.get("SANITIZED"):
            error = error[error.rindex("optrail: "):]
        self.assertTrue(error.startswith("optrail: "), error)
        self.assertEqual(error.count("\n"), 1, error)

    def test_metadata_with_a_field_twice(self):
        # babeltrace2 asserts that there is none
        trace = self.trace("t", 10)
        self.change_metadata(trace, "} _tid;", "} _pid;")
        done = self.report("t", env=self.without_leak_check())
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assert_one_line(done.stderr)
        self.assertIn("t: is damaged (babeltrace2 aborts)", done.stderr)
        # and the traces beside it are read whole
        self.trace("sound", 100)
        for traces in (("sound", "t"), ("t", "sound")):
            report, error = self.json(*traces, status=1, env=self.without_leak_check())
            self.assertEqual(report["counts"]["events"], EVENTS * 100 + 1)
            self.assert_one_line(error)
            self.assertIn("t: is damaged (babeltrace2 aborts)", error)

    def test_a_cut_stream_merged_with_a_sound_one(self):
        # babeltrace2 sets its error with the messages before the cut already; whoever asks another
        # stream for messages then, is ended
        self.trace("sound", 1000, key="0x100")
        cut = self.trace("cut", 1000, key="0x200")
        size = 5000
        os.truncate(cut / "stream", size)
        for traces in (("cut", "sound"), ("sound", "cut")):
            report, error = self.json(*traces, status=1, env=self.without_leak_check())
            self.assertEqual(error, f"optrail: cut/stream: is cut off at byte {size}: read up to "
                             "there\n")
            self.assertAlmostEqual(report["counts"]["events"], EVENTS * 1000 + 1 + size / 52,
                                   delta=12)

    def test_a_cut_stream_of_a_single_packet(self):
        # its layout shows in nothing but the metadata
        trace = self.trace("t", 100)
        whole = (trace / "stream").stat().st_size
        os.truncate(trace / "stream", whole // 2)
        report, error = self.json("t", status=1, env=self.without_leak_check())
        self.assertEqual(error, f"optrail: t/stream: is cut off at byte {whole // 2}: read up to "
                         "there\n")
        self.assertAlmostEqual(report["counts"]["events"], EVENTS * 100 / 2, delta=12)
        # 50 writes of a millisecond each
        self.assertLess(report["source"]["seconds"], 0.06)

    def test_a_packet_of_an_absurd_size(self):
        trace = self.trace("t", 100)
        data = bytearray((trace / "stream").read_bytes())
        struct.pack_into("<Q", data, 36, 1 << 60)
        (trace / "stream").write_bytes(data)
        self.assert_refused(self.report("t"), "t/stream: is no CTF stream")

    def test_a_relative_tmpdir(self):
        trace = self.trace("t", 100)
        os.truncate(trace / "stream", 30000)
        report, _ = self.json("t", status=1,
                              env={**self.without_leak_check(), "TMPDIR": "tmp"})
        self.assertGreater(report["counts"]["events"], 500)

    def test_babeltrace2_prints_the_same(self):
        self.trace("t", 100)
        for name in ("text", "json"):
            ours = self.report("t", options=["--format", name])
            theirs = self.babeltrace2("t", "-c", "sink.optrail.report", "-p",
                                      f'format="{name}",path="{STORE}"')
            self.assertEqual(theirs.returncode, 0, theirs.stderr)
            self.assertEqual(theirs.stdout, ours.stdout)

    def test_the_plugin_refuses_what_it_does_not_know(self):
        self.trace("t", 1)
        done = self.babeltrace2("t", "-c", "sink.optrail.report", "-p", 'formt="json"')
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("has no parameter formt", done.stderr)


if __name__ == "__main__":
    unittest.main()
