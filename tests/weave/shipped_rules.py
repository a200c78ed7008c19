#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules for Ceph that are shipped: their probes are in the catalogue, and woven into files of our
own with the names of three eras they compile as the years did, and are taken out again.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
SOURCE = HERE.parent.parent
RULES = SOURCE / "daemon_patches/rules/ceph"
CATALOGUE = (SOURCE / "tracepoints/optrail/events.def").read_text()
ROLES = {f"{component}_{action}": role for component, action, role in
         re.findall(r"^OPTRAIL_POINT\((\w+), (\w+), (\w+),", CATALOGUE, re.M)}
# what stands for an era: the trees laid over each other, its C++; and a way to name the shipped rules
ERAS = {"dumpling": (["old"], "gnu++98", []),
        "hammer": (["old", "hammer"], "gnu++98", ["--rules", "ceph"]),
        "pacific": (["pacific"], "gnu++17", ["--rules", RULES])}
# rules of 0.61, 0.80 and 9.1 alone, and of Ceph's own main function
NOWHERE = {"client_submit_read_op", "client_submit_write_op", "filestore_index_used",
           "filestore_index_used_firefly", "memstore_lock_sequencer", "replica_number_issue",
           "replica_send_issue", "reply_sent_async", "start_osd"}


def rules():
    """The rules' names, with their texts: the files are as plain as that."""
    for file in sorted(RULES.glob("*.yaml")):
        text = re.sub(r"^builds:.*", "", file.read_text(), flags=re.M | re.S)
        for rule in re.split(r"^- name: ", text, flags=re.M)[1:]:
            yield rule.split()[0], rule


def probes(rule):
    """The probe calls in a rule's text: their macro, and what stands in the brackets."""
    for call in re.finditer(r"\b(OPTRAIL(?:_TEXT)?)\(", rule):
        depth, arguments, begin = 1, [], call.end()
        for at in range(call.end(), len(rule)):
            depth += (rule[at] in "(") - (rule[at] in ")")
            if depth == 0 or (depth == 1 and rule[at] == ","):
                arguments.append(rule[begin:at].strip())
                begin = at + 1
            if depth == 0:
                break
        yield call.group(1), arguments


class ShippedRules(unittest.TestCase):
    def lay_out(self, trees):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        for tree in trees:
            shutil.copytree(HERE / "standin" / tree, directory.name, dirs_exist_ok=True)
        return pathlib.Path(directory.name)

    def weave(self, tree, *options):
        done = subprocess.run([os.environ["OPTRAIL"], "weave", *options, tree],
                              capture_output=True, text=True, check=False,
                              env=os.environ | {"OPTRAIL_RULES": str(RULES.parent)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def compile(self, tree, standard, without):
        """Compiles all files of the tree, strictly; `without`: also with the probes switched off."""
        def one(job):
            file, off = job
            command = [os.environ["CXX"], f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra",
                       "-Werror", *off, "-I", tree / "src", "-I", SOURCE / "probes/include",
                       "-I", SOURCE / "tracepoints", file]
            return subprocess.run(command, capture_output=True, text=True, check=False).stderr
        jobs = [(file, off) for file in sorted(tree.rglob("*.cc"))
                for off in ([[], ["-DOPTRAIL_NO_PROBES"]] if without else [[]])]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for said in pool.map(one, jobs):
                self.assertEqual(said, "")

    def test_each_probe_is_in_the_catalogue(self):
        count = 0
        for name, rule in rules():
            for macro, arguments in probes(rule):
                count += 1
                with self.subTest(rule=name, probe=arguments):
                    self.assertEqual(len(arguments), 4)
                    self.assertIn(arguments[0], ROLES)
                    role = ROLES[arguments[0]]
                    self.assertEqual(macro == "OPTRAIL_TEXT", role == "TEXT")
                    if role in ("LINK", "MOVE"):
                        self.assertRegex(arguments[3], "^OPTRAIL_KEY_[a-z_]+$")
        self.assertGreater(count, 100)

    def test_each_era_compiles_with_them_and_without(self):
        landed = set()
        for era, (trees, standard, named) in ERAS.items():
            with self.subTest(era=era):
                tree = self.lay_out(trees)
                before = {file: file.read_bytes() for file in tree.rglob("*") if file.is_file()}
                said = self.weave(tree, *named)
                landed |= set(re.findall(r"^(\w+): src/\S+:[\d ]+ in ", said, re.M))
                self.compile(tree, standard, without=era == "hammer")
                self.weave(tree, "--undo")
                self.assertEqual({file: file.read_bytes() for file in tree.rglob("*")
                                  if file.is_file()}, before)
        self.assertEqual({name for name, _ in rules()} - landed, NOWHERE)

    def test_rules_that_are_not_there_are_told(self):
        for name in ("nobody", "nobody/ceph", "nobody.yaml"):
            done = subprocess.run([os.environ["OPTRAIL"], "weave", "--rules", name, HERE],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{name}: cannot open", done.stderr)


if __name__ == "__main__":
    unittest.main()
