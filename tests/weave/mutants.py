#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whatever is done to a source file: the weaver does not crash, and a file is woven or as it was."""
import random
import unittest

from tree import STORE, Tree

PIECES = [b"{", b"}", b"(", b")", b"<", b">", b"::", b'"', b"'", b"/*", b"*/", b"//", b"\\\n",
          b"#if X\n", b"#else\n", b"#endif\n", b'R"x(', b"template <", b"namespace ", b"class ",
          b"operator", b"\0", b"\xff", b"\r", b"=", b":", b";", b"~"]


def mutant(source):
    """The source with a few bytes or tokens gone, doubled or put in, or cut off."""
    text = bytearray(source)
    for _ in range(source_random.randint(1, 4)):
        at, way = source_random.randrange(len(text) + 1), source_random.randrange(4)
        if way == 0:
            del text[at:at + source_random.randint(1, 30)]
        elif way == 1:
            text[at:at] = source_random.choice(PIECES)
        elif way == 2:
            text[at:at] = text[at:at + source_random.randint(1, 200)]
        elif source_random.random() < 0.2:
            del text[at:]
    return bytes(text)


source_random = random.Random(7)


class Mutants(unittest.TestCase):
    def test_mutants(self):
        tree = Tree()
        self.addCleanup(tree.directory.cleanup)
        woven = 0
        for number in range(200):
            text = mutant(STORE.encode())
            tree.write(text)
            with self.subTest(number):
                tree.weave(expect=None)
                after = tree.store.read_bytes()
                if after != text:
                    woven += 1
                    self.assertEqual(after.count(b" /* optrail:"), 10)
                    tree.weave("--undo")
                    self.assertEqual(tree.store.read_bytes(), text)
                self.assertEqual(tree.left_overs(), [])
        self.assertTrue(20 < woven < 180, woven)


if __name__ == "__main__":
    unittest.main()
