#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`optrail diff --format html`: both runs on one page, with what the text form says of them."""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "profile"))
import fleet  # noqa: E402
import page_checks  # noqa: E402
from page_checks import browser  # noqa: E402

HOSTILE = "b <script>alert(1)<.profile"
SECTIONS = ("verdict", "changes", "percentiles", "time", "causes", "flame", "run")
OPS = 1500


class DiffPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="optrail-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        for seed, name, scale in ((10, "a", 1), (11, "a2", 1), (13, "b", 1.5), (14, "b2", 1.5)):
            fleet.make(os.environ["MAKE_TRACE"], cls.directory, name,
                       fleet.daemon(random.Random(seed), 0, OPS, scale=scale))
            subprocess.run([os.environ["OPTRAIL"], "report", "--path", fleet.STORE, "--save",
                            f"{name}.profile", "-o", "/dev/null", name], cwd=cls.directory,
                           check=True)
        (cls.directory / "b2.profile").rename(cls.directory / HOSTILE)
        cls.page = cls.directory / "diff.html"
        cls.diff("--format", "html", "-o", cls.page, "a.profile", "b.profile")

    @classmethod
    def diff(cls, *arguments, status=0):
        done = subprocess.run([os.environ["OPTRAIL"], "diff", *arguments], cwd=cls.directory,
                              capture_output=True, text=True)
        assert done.returncode == status, done
        return done

    def test_a_full_disk_leaves_what_was_there(self):
        small = self.directory / "small"
        small.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", small],
                          capture_output=True).returncode:
            self.skipTest("no file system of its own")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        old, link = small / "old", self.directory / "link"
        old.write_text("yesterday's\n")
        old.chmod(0o640)
        link.symlink_to(old)
        for words in (["diff", "--format", "html", "-o", old, "a.profile", "b.profile"],
                      ["diff", "--format", "html", "-o", link, "a.profile", "b.profile"],
                      ["report", "--format", "html", "-o", old, "a.profile"],
                      ["report", "--json", old, "a.profile"]):
            done = subprocess.run([os.environ["OPTRAIL"], *words], cwd=self.directory,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, (words, done.stderr))
            self.assertIn("No space left on device", done.stderr)
            self.assertEqual([file.name for file in small.iterdir()], ["old"])
            self.assertEqual(old.read_text(), "yesterday's\n")
        # what fits is written, with the rights that the file had, and through the link
        self.diff("-o", link, "a.profile", "b.profile")
        self.assertIn("write: slower by ", old.read_text())
        self.assertEqual((old.stat().st_mode & 0o777, link.is_symlink()), (0o640, True))

    def test_says_what_the_text_says(self):
        reader = page_checks.read(self, self.page, SECTIONS)
        told = json.loads(self.diff("--format", "json", "a.profile", "b.profile").stdout)
        words = " ".join(" ".join(reader.texts).split())
        for row in told["types"]:
            self.assertIn(row["text"], words)
        for warning in told["warnings"]:
            self.assertIn(warning, words)
        # what changed leads
        self.assertIn('<p class="lead">write: slower by ', self.page.read_text())
        text = self.diff("a.profile", "b.profile").stdout
        # the table has the text's figures, and no others: those that changed with a star
        figures = re.findall(r"[-+][\d.]+ %\*", text.split("\n\n", 1)[1])
        self.assertGreater(len(figures), 4)
        for figure in set(figures):
            self.assertIn(figure, reader.texts)
        self.assertEqual(sum("*" in one and "%" in one and len(one) < 12 for one in reader.texts),
                         len(figures) + sum(value["significant"] for row in told["types"]
                                            for name, value in row["rows"][0].items()
                                            if name in ("mean", "p50", "p90", "p99")))
        self.assertEqual(reader.cells, sum(row[f"ops_{side}"] for row in told["types"]
                                           for side in ("before", "after")))

    def test_several_runs_and_names_of_others(self):
        self.diff("--format", "html", "-o", "several.html", "--fail-if", "write.p99 < -50%",
                  "a.profile", "a2.profile", "vs", "b.profile", HOSTILE)
        page = self.directory / "several.html"
        reader = page_checks.read(self, page, SECTIONS)
        self.assertNotIn("<script>alert", page.read_text())
        self.assertTrue(any(HOSTILE in one for one in reader.texts))
        self.assertTrue(any("The first run of each side" in one for one in reader.texts))
        self.assertTrue(any(one.startswith("ok  write.p99 < -50%") for one in reader.texts))

    def test_where_it_goes(self):
        said = self.diff("-o", "text", "--json", "json", "a.profile", "b.profile")
        self.assertEqual(said.stdout, "")
        plain = self.diff("a.profile", "b.profile").stdout
        self.assertEqual((self.directory / "text").read_text(), plain)
        self.assertEqual(json.loads((self.directory / "json").read_text())["schema"],
                         "optrail.diff/1")
        for words in (("-o", "a.profile"), ("-o", "x", "--json", "x"), ("--format", "svg")):
            self.assertEqual(self.diff(*words, "a.profile", "b.profile", status=2).stdout, "")
        self.diff("-o", "no/such", "a.profile", "b.profile", status=1)
        full = self.diff("--format", "html", "-o", "/dev/full", "a.profile", "b.profile", status=1)
        self.assertIn("/dev/full: ", full.stderr)

    @unittest.skipUnless(browser.program(), "no Chromium on this machine")
    def test_in_a_browser(self):
        screen = browser.Browser()
        self.addCleanup(screen.close)
        page_checks.look(self, screen, self.page, SECTIONS)
        maps = """[...document.querySelectorAll("#time .pair > div")].map((one) =>
            Math.round(one.getBoundingClientRect().left))"""
        for width, beside in zip(page_checks.WIDTHS, (False, True)):
            screen.resize(width, 900)
            left, right = screen.run(maps)
            self.assertEqual(left < right, beside, f"beside each other at {width}")


if __name__ == "__main__":
    unittest.main()
