#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the command answers: help, manual pages, wrong use, exit statuses."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

OPTRAIL = os.environ["OPTRAIL"]
MAN = pathlib.Path(os.environ["MAN"])


def run(*words, **keywords):
    return subprocess.run([OPTRAIL, *words], capture_output=True, text=True, **keywords)


def verbs():
    return re.findall(r"^  ([a-z]+) ", run("--help").stdout, re.M)


class CommandLine(unittest.TestCase):
    def assert_wrong_use(self, done, *words):
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)

    def test_without_words_it_tells_how_it_is_used(self):
        self.assert_wrong_use(run(), "usage: optrail VERB")

    def test_help_lists_the_verbs(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for verb in ("report", "paths", "points", "help"):
            self.assertIn(verb, verbs())

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^optrail \d+\.\d+\.\d+\n$")

    def test_every_verb_has_help_that_fits_80_columns(self):
        for verb in verbs():
            done = run(verb, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""), verb)
            self.assertTrue(done.stdout.startswith(f"usage: optrail {verb}"))
            self.assertEqual(done.stdout, run("help", verb).stdout)
            for line in done.stdout.splitlines():
                if not line.startswith("  optrail"):
                    self.assertLessEqual(len(line), 80, line)

    def test_a_mistyped_verb_gets_a_suggestion(self):
        self.assert_wrong_use(run("reprot"), "do you mean 'report'?")
        self.assert_wrong_use(run("pionts"), "do you mean 'points'?")
        self.assert_wrong_use(run("xyzzy"), "there is no verb 'xyzzy'", "--help")

    def test_a_mistyped_option_gets_a_suggestion(self):
        self.assert_wrong_use(run("report", "--fromat", "json", "t"), "do you mean --format?",
                              "see `optrail report --help`")
        self.assert_wrong_use(run("report", "-z"), "no option -z")

    def test_what_is_missing_is_said(self):
        self.assert_wrong_use(run("report"), "report needs TRACE|PROFILE...")
        self.assert_wrong_use(run("report", "t", "--format"), "--format needs a value")
        self.assert_wrong_use(run("points", "x"), "takes no arguments")

    def test_the_example_of_the_manual_of_paths_is_sound(self):
        manual = pathlib.Path(__file__).parents[2] / "docs" / "paths.md"
        example = re.search(r"^```yaml\n(.*?)^```$", manual.read_text(), re.M | re.S).group(1)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(example)
            file.flush()
            self.assertEqual(run("paths", file.name).stderr, "")

    def test_where_a_report_goes_is_checked_first(self):
        self.assertEqual(run("report", "-o", "/nowhere/x", "t").stderr,
                         "optrail: /nowhere/x: cannot be written: No such file or directory\n")
        self.assertIn("is a directory", run("report", "--json", "/tmp", "t").stderr)
        self.assert_wrong_use(run("report", "-o", "x", "--json", "x", "t"), "the same file: x")

    def test_a_format_that_is_not_there(self):
        self.assert_wrong_use(run("points", "--format", "xml"), "'xml'", "text or json")
        self.assertIn("text, locks, json", run("report", "--format", "xml", "t").stderr)

    def test_a_full_disk_behind_standard_output(self):
        for words in (["--help"], ["points"], ["points", "--format", "json"], ["paths"],
                      ["help", "--man"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([OPTRAIL, *words], stdout=full, stderr=subprocess.PIPE,
                                      text=True)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("No space left on device", done.stderr)

    def test_points_are_the_catalogue(self):
        points = json.loads(run("points", "--format", "json").stdout)
        names = [point["name"] for point in points]
        self.assertEqual(len(set(names)), len(names))
        self.assertIn("opqueue.enqueue", names)
        table = run("points").stdout
        self.assertLessEqual(max(map(len, table.splitlines())), 100)
        table_in_one_line = " ".join(table.split())
        for point in points:
            self.assertIn(point["name"], table)
            self.assertIn(" ".join(point["text"].split()), table_in_one_line)
            self.assertEqual(point["identifier"], point["name"].replace(".", "_"))
            # pid, tid and key are fields of every event: an argument of that name would be a second
            self.assertFalse({point["arg0"], point["arg1"]} & {"pid", "tid", "key"}, point)

    def test_installed_paths_are_sound(self):
        listed = run("paths")
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        files = [line.split("  ")[-1] for line in listed.stdout.splitlines()]
        self.assertGreater(len(files), 0)
        for file in files:
            self.assertEqual(run("paths", file).returncode, 0)

    def test_a_path_file_that_is_not_there(self):
        done = run("paths", "/nowhere.yaml")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere.yaml", done.stderr)

    def test_nothing_that_is_printed_does_something_to_the_terminal(self):
        for hostile in ("rep\x1b[31mrt", "rep\u009b31mrt", "rep\u202ert", "rep\nrt"):
            done = run(hostile)
            self.assert_wrong_use(done, "there is no verb 'rep")
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertRegex(done.stderr[:-1], r"^[ -~]+$")

    def test_path_files_are_printed_without_what_does_something_to_the_terminal(self):
        manual = pathlib.Path(__file__).parents[2] / "docs" / "paths.md"
        example = re.search(r"^```yaml\n(.*?)^```$", manual.read_text(), re.M | re.S).group(1)
        hostile = re.sub(r"^(\w+): .*$", r'\1: "a\\e[31mb\\u009b2Jc\\u202e"', example, count=1,
                         flags=re.M)
        self.assertNotEqual(hostile, example)
        with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
            file = pathlib.Path(directory) / "a\x1b[31m.yaml"
            file.write_text(hostile)
            done = run("paths", file)
        # refused, or shown escaped: never raw
        self.assertRegex(done.stdout + done.stderr, r"^[ -~\n]+$")
        self.assertIn("[31m", done.stdout + done.stderr)

    def test_a_closed_standard_file_is_no_other_file(self):
        # of `paths`, the first file that is opened is the path file, for reading: without standard
        # output its number would be that of standard output, and what is printed would be lost
        for closed, status in ((">&-", 1), ("<&-", 0), ("<&- >&- 2>&-", 1), ("2>&-", 0)):
            done = subprocess.run(["sh", "-c", f'exec "$0" points {closed}', OPTRAIL],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, status, (closed, done))
        with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
            # a report's file is opened for writing, and must not get a message
            file = pathlib.Path(directory) / "report"
            done = subprocess.run(["sh", "-c", 'exec "$0" report -o "$1" /nowhere <&- >&- 2>&-',
                                   OPTRAIL, file], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertFalse(file.exists())

    def test_manual_pages_have_what_the_help_has(self):
        for verb in verbs():
            page = (MAN / f"optrail-{verb}.1").read_text()
            for section in (".TH OPTRAIL", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION",
                            ".SH OPTIONS", ".SH SIGNALS", ".SH EXIT STATUS"):
                self.assertIn(section, page)
            self.assertIn(f".TH OPTRAIL\\-{verb.upper()} 1 ", page)
            for option in re.findall(r"--([a-z-]+)", run(verb, "--help").stdout):
                self.assertIn("\\-\\-" + option.replace("-", "\\-"), page, verb)
        self.assertIn("optrail\\-report", (MAN / "optrail.1").read_text())


if __name__ == "__main__":
    unittest.main()
