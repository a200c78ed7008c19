#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The HTML report: nothing from outside, sound markup, and in a browser no error and no overflow."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tails"))
import page_checks  # noqa: E402
import truth  # noqa: E402
from page_checks import browser  # noqa: E402

STORIES = HERE.parent / "report" / "stories"
STORE = HERE.parent / "report" / "store.yaml"
HOSTILE = "<script>alert(1)</script>&\"'"
MS = 1000000
SECTIONS = {
    "normal": ("verdict", "time", "percentiles", "stages", "tails", "locks", "queues", "flame",
               "slowest", "run"),
    "contended-lock": ("verdict", "time", "percentiles", "stages", "tails", "locks", "queues",
                       "flame", "slowest", "run"),
    "slow-ops": ("verdict", "time", "percentiles", "stages", "tails", "locks", "queues", "flame",
                 "slowest", "run"),
}


def slow_ops():
    """Of one placement group every tenth op waits for its lock, every 100 ms the journal is slow
    for a while."""
    story = truth.Story(11)
    for op in story.ops:
        stages = story.plain(op)
        if op["group"] == 5 and story.draw.random() < 0.1:
            stages["lock"] += 9 * MS
        if op["start"] // MS % 100 < 12:
            stages["journal"] += 2 * MS
        story.write(op, **stages)
    return story.text()


def report(directory, *words):
    return subprocess.run([os.environ["OPTRAIL"], "report", *words], cwd=directory, check=True,
                          capture_output=True, text=True).stdout


class Html(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        cls.pages = {}
        (cls.directory / "slow-ops.txt").write_text(slow_ops())
        for story in SECTIONS:
            text = cls.directory / f"{story}.txt"
            subprocess.run([os.environ["MAKE_TRACE"],
                            text if text.exists() else STORIES / f"{story}.txt",
                            cls.directory / story], check=True)
            cls.pages[story] = cls.page(story)

    @classmethod
    def page(cls, story, path=STORE):
        file = cls.directory / f"{story}-{path.stem}.html"
        report(cls.directory, "--path", path, "--format", "html", "-o", file, story)
        return file

    def read(self, story, page=None):
        return page_checks.read(self, page or self.pages[story], SECTIONS[story])

    def test_the_page(self):
        for story in self.pages:
            self.read(story)

    def test_the_heat_map_has_every_op(self):
        ops = json.loads(report(self.directory, "--path", STORE, "--format", "json", "normal"))
        self.assertEqual(self.read("normal").cells, ops["counts"]["ops"])

    def test_a_profile_gives_the_same_page(self):
        for story in ("normal", "slow-ops"):
            report(self.directory, "--path", STORE, "--save", "p", "-o", "text", story)
            report(self.directory, "--format", "html", "-o", "p.html", "p")
            self.assertEqual((self.directory / "p.html").read_text(),
                             self.pages[story].read_text())

    def test_slow_ops_are_explained(self):
        """What --tails says stands on the page too: word for word."""
        said = report(self.directory, "--path", STORE, "--tails", "slow-ops")
        words = " ".join(said.split("\ntails\n")[1].split())
        texts = self.read("slow-ops").texts
        sentences = [one for one in texts if re.match("write: (the slowest|two pop)|Latency rises",
                                                      one)]
        self.assertEqual(len(sentences), 3)
        for sentence in sentences:
            self.assertIn(" ".join(sentence.split()), words)
        self.assertIn("group 5", texts)
        self.assertNotIn("group 5", self.read("normal").texts)

    def test_names_of_others(self):
        text = re.sub(r"(?m)^store: .*$", lambda _: "store: " + json.dumps(HOSTILE),
                      STORE.read_text())
        self.assertNotEqual(text, STORE.read_text())
        (self.directory / "path.yaml").write_text(text)
        page = self.page("normal", self.directory / "path.yaml")
        self.read("normal", page)
        self.assertNotIn("<script>alert", page.read_text())
        self.assertIn("&lt;script&gt;alert(1)", page.read_text())

    @unittest.skipUnless(browser.program(), "no Chromium on this machine")
    def test_in_a_browser(self):
        screen = browser.Browser()
        self.addCleanup(screen.close)
        for story, page in self.pages.items():
            page_checks.look(self, screen, page, SECTIONS[story])


if __name__ == "__main__":
    unittest.main()
