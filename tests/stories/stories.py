# SPDX-License-Identifier: MIT
"""The stories of examples/stories: their pages are there, and what a page promises is what its commands give."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

STORIES = pathlib.Path(os.environ["STORIES"])
BUILD = os.environ["BUILD"]


def blocks(page):
    return re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def follow(page, seconds):
    return subprocess.run([STORIES / "follow", page, BUILD], capture_output=True, text=True, check=False,
                          env=dict(os.environ, seconds=str(seconds)))


class Stories(unittest.TestCase):
    def test_the_pages(self):
        listed = set(re.findall(r"\]\(([a-z-]+)\.md\)", (STORIES / "README.md").read_text(encoding="utf-8")))
        pages = {page.stem for page in STORIES.glob("*.md")} - {"README"}
        self.assertEqual(listed, pages)
        for page in pages:
            commands = blocks(STORIES / f"{page}.md")
            self.assertTrue(commands, page)
            done = subprocess.run(["bash", "-n"], input="".join(commands), capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)

    def test_verbs_and_options(self):
        """What the pages ask of the programs exists there."""
        helps = {}
        for page in STORIES.glob("*.md"):
            text = re.sub(r"\$\([^()]*\)|\\\n", " ", "".join(blocks(page)))
            for verb, options in re.findall(r"\boptrail ([a-z]+)([^|&\n>]*)", text):
                helps.setdefault(verb, subprocess.run([f"{BUILD}/bin/optrail", verb, "--help"],
                                                      capture_output=True, text=True, check=True).stdout)
                for option in re.findall(r"(?<=\s)--?[a-z][a-z-]*", options):
                    self.assertIn(option, helps[verb], f"{page.name}: optrail {verb}")

    def test_no_such_page(self):
        done = follow("no-such-story", 1)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("there is no story", done.stderr)

    def test_lfn_open(self):
        if os.geteuid() != 0:
            self.skipTest("tracing a daemon needs root")
        done = follow("lfn-open", 2)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"goes to the lock filestore\.index")
        self.assertRegex(done.stdout, r"held for: filestore\.lfn_open 100 %")
        rates = [int(rate) for rate in re.findall(r"^Average IOPS: +(\d+)$", done.stdout, re.M)]
        self.assertEqual(len(rates), 4, done.stdout)
        # one lock, held for 1 ms each time: no number of threads does more than 1,000 a second
        self.assertLess(max(rates[:3]), 1000)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("only a part: tracing a daemon needs root")
    program = unittest.main(exit=False, verbosity=0)
    failed = not program.result.wasSuccessful()
    sys.exit(1 if failed else 77 if program.result.skipped else 0)
