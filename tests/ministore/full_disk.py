# SPDX-License-Identifier: MIT
"""A disk that is full: writes are refused with ENOSPC, reads go on, and nothing that was
acknowledged is lost."""

import contextlib
import os
import shlex
import subprocess
import tempfile

import ministore
from ministore import until

OBJECTS = 4096


def mount_small_disk(directory):
    """Mounts one; what was wrong, or nothing."""
    result = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24M", "ministore-test", directory],
                            capture_output=True, text=True, check=False)
    return result.stderr.strip() or ("" if result.returncode == 0 else "mount failed")


def why_no_small_disk():
    with tempfile.TemporaryDirectory(prefix="ministore-test-") as directory:
        reason = mount_small_disk(directory)
        if not reason:
            subprocess.run(["umount", "-l", directory], check=True)
        return reason


class FullDisk(ministore.Case):
    def setUp(self):
        super().setUp()
        self.disk = os.path.join(self.directory, "disk")
        os.mkdir(self.disk)
        self.assertEqual(mount_small_disk(self.disk), "")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)

    def start(self, *options, **keywords):
        return self.daemon("--data", os.path.join(self.disk, "data"), "--journal-size", "16M",
                           *options, **keywords)

    def fill(self):
        """Leaves no room on the disk."""
        with open(os.path.join(self.disk, "ballast"), "wb", buffering=0) as ballast:
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(bytes(4096))

    def make_room(self):
        os.unlink(os.path.join(self.disk, "ballast"))

    def check_refuses_and_recovers(self, daemon):
        record = ("--record", self.record(), "--objects", OBJECTS, "--quiet")
        load = self.load(daemon, "write", "--ops", 3 * OBJECTS, *record, status=1)
        totals = load.totals
        self.assertEqual(totals["errors"], {"ENOSPC": totals["failed"]})
        self.assertGreater(totals["failed"], 0)
        self.assertGreater(totals["writes"], 0)
        self.assertEqual(totals["lost"], 0)
        self.assertIn("No space left on device", load.output)
        self.load(daemon, "check", *record)
        return record

    def test_refused_early(self):
        daemon = self.start("--reserve", "2M")
        record = self.check_refuses_and_recovers(daemon)
        status, stats = daemon.stop()
        self.assertEqual(status, 0, daemon.messages())
        self.assertGreater(stats["ops"]["write"]["failed"], 0)
        self.load(self.start("--reserve", "2M"), "check", *record)

    def test_refused_by_the_file_system(self):
        for messenger in ("simple", "async"):
            daemon = self.start("--reserve", 0, "--messenger", messenger)
            record = self.check_refuses_and_recovers(daemon)
            self.assertEqual(daemon.stop()[0], 0, daemon.messages())
            daemon = self.start("--reserve", 0)
            self.load(daemon, "check", *record)
            daemon.stop()

    def test_room_again(self):
        daemon = self.start("--reserve", 0)
        self.fill()
        record = ("--record", self.record(), "--objects", 100, "--quiet")
        load = self.load(daemon, "write", "--ops", 100, *record, status=1)
        self.assertEqual(load.totals["failed"], 100)
        self.make_room()
        self.load(daemon, "write", "--ops", 300, *record)
        self.load(daemon, "check", *record)
        self.assertEqual(daemon.stop()[0], 0)

    def test_answered_before_it_was_applied(self):
        """--ack journaled has promised what then does not fit: it is applied when there is room,
        also by the next daemon."""
        daemon = self.start("--reserve", 0, "--ack", "journaled", "--queue-max-ops", 1000)
        self.fill()
        record = ("--record", self.record(), "--objects", 64, "--quiet")
        self.load(daemon, "write", "--ops", 64, "--depth", 1, *record)
        until(lambda: "trying again" in daemon.messages(), "the daemon says so")
        self.assertEqual(daemon.stop()[0], 0, daemon.messages())

        # still no room: it must not start, nor forget
        daemon = self.start("--reserve", 0, ready=False)
        self.assertEqual(daemon.wait(), 1)
        self.assertIn("make room on the disk", daemon.messages())

        self.make_room()
        daemon = self.start("--reserve", 0)
        self.assertGreater(daemon.stats()["journal_replayed"], 0)
        self.load(daemon, "check", *record)
        self.assertEqual(daemon.stop()[0], 0)

    def test_applied_once_there_is_room(self):
        daemon = self.start("--reserve", 0, "--ack", "journaled", "--queue-max-ops", 1000)
        self.fill()
        record = ("--record", self.record(), "--objects", 64, "--quiet")
        self.load(daemon, "write", "--ops", 64, "--depth", 1, *record)
        until(lambda: "trying again" in daemon.messages(), "the daemon says so")
        self.make_room()
        self.load(daemon, "check", *record)
        status, stats = daemon.stop()
        self.assertEqual((status, stats["ops"]["write"]["failed"]), (0, 0))
        self.assertEqual(self.start().stats()["journal_replayed"], 0)

    def test_no_room_for_the_journal(self):
        daemon = self.daemon("--data", os.path.join(self.disk, "other"), "--journal-size", "64M",
                             ready=False)
        self.assertEqual(daemon.wait(), 1)
        self.assertIn("choose a smaller --journal-size", daemon.messages())
        daemon = self.daemon("--data", os.path.join(self.disk, "other"), "--journal-size", "16M")
        self.assertEqual(daemon.stop()[0], 0)


class FileSizeLimit(ministore.Case):
    def test_a_file_that_may_not_grow(self):
        wrapper = os.path.join(self.directory, "limited")
        with open(wrapper, "w", encoding="ascii") as script:
            # in units of 1 KiB for bash: the journal fits, a large object does not
            script.write("#!/bin/bash\nulimit -f 20480\n"
                         f'exec {shlex.quote(ministore.PROGRAMS)}/ministore "$@"\n')
        os.chmod(wrapper, 0o755)
        daemon = self.filestore("--journal-size", "16M", program=wrapper)
        wire = self.wire(daemon)
        self.assertEqual(wire.ask(ministore.WRITE, 1, b"x", offset=30 << 20)[2], 27, "EFBIG")
        self.assertEqual(wire.ask(ministore.WRITE, 1, b"x", offset=10 << 20)[2], 0)
        self.assertEqual(daemon.stop()[0], 0)


if __name__ == "__main__":
    why_not = why_no_small_disk()
    if why_not:
        ministore.skip(f"no small disk can be mounted: {why_not}")
    ministore.main()
