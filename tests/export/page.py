#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The HTML report: nothing from outside, sound markup, and in a browser no error and no overflow.

$SCREENSHOTS, if it is set, names a directory that gets pictures of the page.
"""
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "flame"))
import browser  # noqa: E402

STORIES = HERE.parent / "report" / "stories"
EMPTY = {"meta", "link", "br", "rect", "circle", "path", "polyline"}
HOSTILE = "<script>alert(1)</script>&\"'"
SECTIONS = ("verdict", "time", "percentiles", "stages", "locks", "flame", "slowest", "run")


class Reader(html.parser.HTMLParser):
    """Every element ends where it must; what refers to something, and ids."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.targets, self.cells, self.names = [], [], [], 0, []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.names.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.targets += [attributes[key] for key in ("src", "href") if key in attributes]
        if tag == "rect" and attributes.get("class") == "heat":
            self.cells += int(attributes["data-tip"].split(" op")[0].replace(",", ""))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> ends something else"


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
        for story in ("normal", "contended-lock"):
            subprocess.run([os.environ["MAKE_TRACE"], STORIES / f"{story}.txt",
                            cls.directory / story], check=True)
            cls.pages[story] = cls.page(story)

    @classmethod
    def page(cls, story, path=HERE.parent / "report" / "store.yaml"):
        file = cls.directory / f"{story}-{path.stem}.html"
        report(cls.directory, "--path", path, "--format", "html", "-o", file, story)
        return file

    def read(self, page):
        reader = Reader()
        reader.feed(page.read_text())
        self.assertEqual(reader.open, [])
        self.assertEqual(len(reader.ids), len(set(reader.ids)), "an id twice")
        return reader

    def test_the_page(self):
        for page in self.pages.values():
            reader = self.read(page)
            for target in reader.targets:
                self.assertRegex(target, "^(#|data:)", "needs something from outside")
            self.assertEqual([one for one in reader.ids if one in SECTIONS], list(SECTIONS))
            for landmark in ("header", "nav", "main", "footer", "h1"):
                self.assertEqual(reader.names.count(landmark), 1, landmark)

    def test_the_heat_map_has_every_op(self):
        ops = json.loads(report(self.directory, "--path", HERE.parent / "report" / "store.yaml",
                                "--format", "json", "normal"))["counts"]["ops"]
        self.assertEqual(self.read(self.pages["normal"]).cells, ops)

    def test_a_profile_gives_the_same_page(self):
        words = ("--path", HERE.parent / "report" / "store.yaml")
        report(self.directory, *words, "--save", "p", "-o", "text", "normal")
        report(self.directory, "--format", "html", "-o", "p.html", "p")
        self.assertEqual((self.directory / "p.html").read_text(),
                         self.pages["normal"].read_text())

    def test_names_of_others(self):
        path = (HERE.parent / "report" / "store.yaml").read_text()
        text = re.sub(r"(?m)^store: .*$", lambda _: "store: " + json.dumps(HOSTILE), path)
        self.assertNotEqual(text, path)
        (self.directory / "path.yaml").write_text(text)
        page = self.page("normal", self.directory / "path.yaml")
        self.read(page)
        self.assertNotIn("<script>alert", page.read_text())
        self.assertIn("&lt;script&gt;alert(1)", page.read_text())

    @unittest.skipUnless(browser.program(), "no Chromium on this machine")
    def test_in_a_browser(self):
        screen = browser.Browser()
        self.addCleanup(screen.close)
        for story, page in self.pages.items():
            for width in (400, 1280):
                screen.resize(width, 900)
                screen.open(page)
                wide = screen.run("document.documentElement.scrollWidth - innerWidth")
                self.assertLessEqual(wide, 0, f"{story} is too wide for {width}")
                outside = screen.run("""[...document.querySelectorAll("main *")].filter((one) =>
                    !one.closest(".plot, .scroll") &&
                    one.getBoundingClientRect().right > innerWidth + 0.5).map((one) => one.outerHTML
                    .slice(0, 80))""")
                self.assertEqual(outside, [], "sticks out")
                if os.environ.get("SCREENSHOTS"):
                    screen.screenshot(f"{os.environ['SCREENSHOTS']}/{story}-{width}.png")
        paper = "getComputedStyle(document.body).backgroundColor"
        light = screen.run(paper)
        screen.run("document.getElementById('theme').click()")
        self.assertNotEqual(screen.run(paper), light)
        self.assertEqual(screen.run("document.getElementById('theme').ariaPressed"), "true")
        self.assertEqual(screen.run("document.querySelectorAll('nav a').length"), len(SECTIONS))
        self.assertEqual(screen.errors, [])


if __name__ == "__main__":
    unittest.main()
