#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The SVG in a real browser: click, search, keyboard, widths, dark mode, paper; and no error.

$SCREENSHOTS, if it is set, names a directory that gets pictures of what was tested.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

import browser

OPTRAIL = os.environ["OPTRAIL"]

# write is 60 % of all; fsync stands within write and within itself: 30 of 100 samples are in it
STACKS = """\
osd;main;write;fsync;wait 20
osd;main;write;fsync;retry;fsync 10
osd;main;write;std::vector<int>::push_back 30
osd;main;read <script>alert(1)</script> & "quoted";]]></text> 15
osd;main;read <script>alert(1)</script> & "quoted";\x1b[31mred\xff\xfe 5
osd;main;\u00fcber;\u65e5\u672c\u8a9e 10
osd;idle 10
"""

# What the page shows, from its own elements: frames by their full names.
HELPERS = r"""
const shown = () => Array.from(document.querySelectorAll("svg.f"))
  .filter((one) => one.style.display !== "none");
const nameOf = (one) => one.querySelector("title").textContent.split("\n")[0];
const find = (name) => shown().find((one) => nameOf(one) === name);
const box = (name) => { const at = find(name).querySelector("rect").getBoundingClientRect();
  return {x: at.x, y: at.y, width: at.width, height: at.height}; };
/* Everything that can be seen: what is too wide for the window, or its label for its frame. */
const overflowing = () => {
  const wide = window.innerWidth, bad = [];
  for (const one of shown()) {
    const frame = one.querySelector("rect").getBoundingClientRect();
    const text = one.querySelector("text"), label = text.getBoundingClientRect();
    if (frame.left < -0.5 || frame.right > wide + 0.5) bad.push(nameOf(one));
    if (text.textContent && label.right > frame.right + 0.5) bad.push("label " + nameOf(one));
  }
  for (const one of document.querySelectorAll("#head text, #notes text, #bar > *")) {
    const at = one.getBoundingClientRect();
    if (at.width && (at.left < -0.5 || at.right > wide + 0.5)) bad.push(one.id || one.textContent);
  }
  if (document.scrollingElement.scrollWidth > wide) bad.push("the page");
  return bad;
};
"""

# Resolves when the page has drawn a frame since.
FRAME_DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def middle(box):
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


class Svg(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def make(self, stacks, *options):
        file = pathlib.Path(self.directory.name) / "stacks.txt"
        file.write_bytes(stacks.encode() if isinstance(stacks, str) else stacks)
        svg = file.with_suffix(".svg")
        subprocess.run([OPTRAIL, "flame", "-o", svg, *options, file], check=True)
        return svg

    def load(self, stacks=STACKS, *options, width=1000, height=600):
        svg = self.make(stacks, *options)
        self.browser.resize(width, height)
        self.browser.errors.clear()
        self.browser.open(svg)
        self.browser.run(HELPERS + "undefined")
        return svg

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])
        if os.environ.get("SCREENSHOTS"):
            self.browser.screenshot(pathlib.Path(os.environ["SCREENSHOTS"]) / (self.id() + ".png"))

    def names(self):
        return self.browser.run("shown().map(nameOf)")

    def test_a_frame_is_as_wide_as_its_share(self):
        self.load(STACKS)
        for name, share in (("all", 1), ("main", 0.9), ("write", 0.6), ("fsync", 0.3),
                            ("retry", 0.1), ("idle", 0.1)):
            self.assertAlmostEqual(self.browser.run(f"box('{name}').width") / 1000, share, places=2)
        self.assertIn("write\n60.00 %, 60 samples",
                      self.browser.run("find('write').querySelector('title').textContent"))

    def test_a_click_zooms_and_reset_goes_back(self):
        self.load(STACKS)
        before = self.names()
        self.browser.click(*middle(self.browser.run("box('fsync')")))
        self.assertEqual(self.names(), ["all", "osd", "main", "write", "fsync", "wait", "retry",
                                        "fsync"])
        self.assertAlmostEqual(self.browser.run("box('fsync').width"), 1000, delta=1)
        self.assertAlmostEqual(self.browser.run("box('wait').width"), 2000 / 3, delta=1)
        self.browser.click(*middle(self.browser.run("box('write')")))  # what is around it zooms out
        self.assertAlmostEqual(self.browser.run("box('fsync').width"), 500, delta=1)
        self.browser.click(*middle(self.browser.run(
            "(() => { const at = document.getElementById('reset').getBoundingClientRect();"
            "return {x: at.x, y: at.y, width: at.width, height: at.height}; })()")))
        self.assertEqual(self.names(), before)
        self.assertAlmostEqual(self.browser.run("box('write').width"), 600, delta=1)

    def test_search_finds_and_sums_without_counting_twice(self):
        self.load(STACKS)
        self.browser.key("/", "/")
        self.browser.type("FSYNC")
        matched = "document.getElementById('matched').textContent"
        self.assertEqual(self.browser.run(matched), "matched: 30.00 % (30)")
        self.assertEqual(self.browser.run("document.querySelectorAll('.hit').length"), 2)
        self.browser.key("Escape")
        self.assertEqual(self.browser.run(matched), "")
        self.browser.key("/", "/")
        self.browser.type("nowhere")
        self.assertEqual(self.browser.run(matched), "nothing matches")

    def test_the_keyboard_goes_everywhere(self):
        self.load(STACKS)
        focused = "nameOf(document.activeElement)"
        self.browser.key("Home")
        for key, name in (("ArrowUp", "osd"), ("ArrowUp", "main"), ("ArrowRight", "idle"),
                          ("ArrowLeft", "main"), ("ArrowUp", "write"), ("ArrowDown", "main")):
            self.browser.key(key)
            self.assertEqual(self.browser.run(focused), name)
        self.browser.key("Enter")
        self.assertAlmostEqual(self.browser.run("box('main').width"), 1000, delta=1)
        self.assertIn("main  90.00 %, 90 samples",
                      self.browser.run("document.getElementById('details').textContent"))
        self.browser.key("Escape")
        self.assertAlmostEqual(self.browser.run("box('main').width"), 900, delta=1)

    def test_hover_tells_share_and_count(self):
        self.load(STACKS)
        self.browser.move(*middle(self.browser.run("box('retry')")))
        self.assertIn("retry  10.00 %, 10 samples",
                      self.browser.run("document.getElementById('details').textContent"))

    def test_names_are_only_text(self):
        svg = self.load(STACKS.encode() + b"osd;\xc0\xaf\x01;<image href='x' onerror='alert(2)'/> 1\n")
        self.assertIn('read <script>alert(1)</script> & "quoted"', self.names())
        self.assertIn("<image href='x' onerror='alert(2)'/>", self.names())
        self.assertIn("]]></text>", self.names())
        self.assertEqual(self.browser.run("document.querySelectorAll('script').length"), 1)
        self.assertEqual(self.browser.run("document.querySelectorAll('image').length"), 0)
        xml.dom.minidom.parse(str(svg))

    def test_nothing_overflows_at_any_width(self):
        deep = ";".join(f"namespace_{i}::a_function_with_a_long_name" for i in range(120))
        stacks = STACKS + deep + " 40\n" + "".join(f"osd;many;f{i} 1\n" for i in range(300))
        for width in (400, 1600):
            self.load(stacks, "--title",
                      "a title that is much too long for a narrow window " * 3, width=width)
            self.assertEqual(self.browser.run("overflowing()"), [], width)
            self.browser.key("/", "/")
            self.browser.type("function")
            self.browser.run("find('write').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
            self.assertEqual(self.browser.run("overflowing()"), [], width)
        # a window that is made narrower
        self.browser.resize(500, 600)
        self.browser.run(FRAME_DRAWN)
        self.assertEqual(self.browser.run("overflowing()"), [])

    def test_a_tall_graph_begins_at_its_root_and_keeps_its_head(self):
        deep = ";".join(f"f{i}" for i in range(120))
        self.load(f"{deep} 1\n")
        self.assertLess(self.browser.run("box('all').y"), 600)
        self.assertGreaterEqual(self.browser.run("box('all').y"), 400)
        self.browser.run(FRAME_DRAWN)
        self.assertAlmostEqual(self.browser.run(
            "document.getElementById('search').getBoundingClientRect().y"), 41, delta=4)

    def test_inverted_begins_with_the_leaves(self):
        self.load(STACKS, "--inverted")
        self.assertLess(self.browser.run("box('all').y"), self.browser.run("box('fsync').y"))
        self.assertAlmostEqual(
            self.browser.run("box('std::vector<int>::push_back').width"), 300, delta=1)

    def test_a_comparison_shows_both_sides(self):
        self.load("main;old 50\nmain;same 50\n".replace("50\n", "50 0\n", 1).replace(
            "same 50", "same 50 100") + "main;new 0 100\n")
        self.assertAlmostEqual(self.browser.run("box('same').width"), 500, delta=1)
        self.assertIn("before 50.00 %, 50 samples\nafter 50.00 %, 100 samples\nchange +0.00 points",
                      self.browser.run("find('same').querySelector('title').textContent"))
        classes = {name: self.browser.run(f"find('{name}').classList[1]")
                   for name in ("old", "same", "new")}
        self.assertEqual(classes, {"old": "d0", "same": "d4", "new": "d8"})
        self.browser.key("/", "/")
        self.browser.type("new")
        self.assertEqual(self.browser.run("document.getElementById('matched').textContent"),
                         "matched: before 0.00 %, after 50.00 %")

    def test_dark_mode_and_paper(self):
        self.load(STACKS)
        paper = "getComputedStyle(document.getElementById('paper')).fill"
        light = self.browser.run(paper)
        self.browser.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark"}])
        dark = self.browser.run(paper)
        self.assertNotEqual(light, dark)
        if os.environ.get("SCREENSHOTS"):
            self.browser.screenshot(pathlib.Path(os.environ["SCREENSHOTS"]) / "dark.png")
        self.browser.call("Emulation.setEmulatedMedia", media="print", features=[])
        self.assertEqual(self.browser.run(paper), "rgb(255, 255, 255)")
        self.assertEqual(self.browser.run(
            "getComputedStyle(document.querySelector('foreignObject')).display"), "none")
        self.browser.call("Emulation.setEmulatedMedia", media="", features=[])

    def test_what_is_not_drawn_is_said(self):
        self.load("".join(f"main;f{i} {20000 if i < 10 else 1}\n" for i in range(30000)))
        self.assertLess(self.browser.run("shown().length"), 12001)
        notes = self.browser.run("document.getElementById('notes').textContent")
        self.assertIn("frames are too narrow to be drawn", notes)


if __name__ == "__main__":
    if browser.program() is None:
        print("no Chromium on this machine (package chromium-headless-shell)")
        sys.exit(77)
    unittest.main()
