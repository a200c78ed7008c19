# SPDX-License-Identifier: MIT
"""What holds for every page that optrail makes.

$SCREENSHOTS, if it is set, names a directory that gets pictures of the pages.
"""
import html.parser
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "flame"))
import browser  # noqa: E402

EMPTY = {"meta", "link", "br", "rect", "circle", "path", "polyline"}
WIDTHS = (390, 1440)
LARGEST = 2 * 1000 * 1000


class Reader(html.parser.HTMLParser):
    """Every element ends where it must; what refers to something, and ids."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.targets, self.cells, self.names = [], [], [], 0, []
        self.unnamed, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.names.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.targets += [attributes[key] for key in ("src", "href") if key in attributes]
        if tag == "rect" and attributes.get("class") == "heat":
            self.cells += int(attributes["data-tip"].split(" op")[0].replace(",", ""))
        # a picture says what it is, or stands where others say it
        if tag in ("svg", "iframe") and not (attributes.get("aria-label") or
                                             attributes.get("title")):
            hidden = any(one.get("aria-hidden") == "true" for _, one in self.open)
            self.unnamed += [] if hidden else [tag]
        if tag == "th" and "scope" not in attributes:
            self.unnamed.append(tag)
        if tag not in EMPTY:
            self.open.append((tag, attributes))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop()[0] == tag, f"</{tag}> ends something else"

    def handle_data(self, data):
        if self.open and self.open[-1][0] not in ("script", "style"):
            self.texts.append(data)


def read(test, page, sections):
    """The page, after a look at its markup: it needs nothing else and has these sections."""
    reader = Reader()
    text = page.read_text()
    reader.feed(text)
    test.assertEqual(reader.open, [])
    test.assertEqual(reader.unnamed, [], "does not say what it is")
    test.assertEqual(len(reader.ids), len(set(reader.ids)), "an id twice")
    for target in reader.targets:
        test.assertRegex(target, "^(#|data:)", "needs something from outside")
    test.assertEqual([one for one in reader.ids if one in sections], list(sections))
    for landmark in ("header", "nav", "main", "footer", "h1"):
        test.assertEqual(reader.names.count(landmark), 1, landmark)
    test.assertLess(len(text.encode()), LARGEST)
    return reader


def look(test, screen, page, sections):
    """In a browser, narrow and wide: nothing sticks out, the links are there, dark is dark."""
    for width in WIDTHS:
        screen.resize(width, 900)
        screen.open(page)
        wide = screen.run("document.documentElement.scrollWidth - innerWidth")
        test.assertLessEqual(wide, 0, f"{page.name} is too wide for {width}")
        outside = screen.run("""[...document.querySelectorAll("main *")].filter((one) =>
            !one.closest(".plot, .scroll") &&
            one.getBoundingClientRect().right > innerWidth + 0.5).map((one) => one.outerHTML
            .slice(0, 80))""")
        test.assertEqual(outside, [], "sticks out")
        cut = screen.run("""[...document.querySelectorAll(".plot text")].filter((one) => {
            const text = one.getBoundingClientRect();
            const plot = one.closest("svg").getBoundingClientRect();
            return text.left < plot.left - 0.5 || text.right > plot.right + 0.5; })
            .map((one) => one.textContent)""")
        test.assertEqual(cut, [], "a text of a plot is cut off")
        if os.environ.get("SCREENSHOTS"):
            screen.screenshot(f"{os.environ['SCREENSHOTS']}/{page.stem}-{width}.png")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = screen.run(paper)
    screen.run("document.getElementById('theme').click()")
    test.assertNotEqual(screen.run(paper), light)
    test.assertEqual(screen.run("document.getElementById('theme').ariaPressed"), "true")
    test.assertEqual(screen.run("document.querySelectorAll('nav a').length"), len(sections))
    test.assertEqual(screen.errors, [])
