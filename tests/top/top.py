#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The live screen of `optrail attach --top` in a real terminal (tmux), on a ministore under load.

usage: top.py OPTRAIL MINISTORE_DIRECTORY CASE
"""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

OPTRAIL, os.environ["MINISTORE_PROGRAMS"] = map(os.path.abspath, sys.argv[1:3])
CASE = sys.argv[3]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("ministore", "bpf")]

import ministore  # noqa: E402
import tracing  # noqa: E402


class Stage:
    """A ministore under a mixed load for as long as the test lasts."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="optrail-top-")
        self.daemon = ministore.Daemon(self.directory, "--data", f"{self.directory}/data")
        self.load = subprocess.Popen(
            [os.path.join(os.environ["MINISTORE_PROGRAMS"], "ministore-load"), "mixed", "600",
             "--port", str(self.daemon.port), "--depth", "4", "--objects", "64", "--prefill"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.daemon.process.pid
        tracing.wait_for("ops", lambda: self.answered() > 100)

    def answered(self):
        return sum(op["count"] for op in self.daemon.stats()["ops"].values())

    def close(self):
        # the daemon must have lived through it all, unharmed
        assert self.daemon.alive(), self.daemon.messages()
        # where the terminal went away, optrail has yet to end
        tracing.wait_for("the probes to go", lambda: tracing.changed_code(self.pid) == 0)
        before = self.answered()
        tracing.wait_for("more ops", lambda: self.answered() > before)
        self.load.kill()
        self.load.wait()
        status, _ = self.daemon.stop()
        assert status == 0, status
        self.daemon.close()
        shutil.rmtree(self.directory)

    def abandon(self):
        self.load.kill()
        self.daemon.process.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


class Terminal:
    """A shell in a tmux of its own, which nobody else's settings touch."""

    def __init__(self, columns=80, lines=24, locale="C.UTF-8"):
        self.directory = tempfile.mkdtemp(prefix="optrail-tmux-")
        self.tmux = ["tmux", "-S", f"{self.directory}/socket", "-f", "/dev/null"]
        environment = {"PATH": os.environ["PATH"], "HOME": self.directory, "LANG": locale,
                       "LC_ALL": locale, "SHELL": "/bin/sh"}
        environment |= {name: os.environ[name] for name in os.environ
                        if name.startswith(("ASAN_", "LSAN_", "UBSAN_", "OPTRAIL_"))}
        subprocess.run([*self.tmux, "-u", "new-session", "-d", "-x", str(columns), "-y",
                        str(lines), "env", "PS1=ready$ ", "sh", "-i"],
                       check=True, env=environment, cwd=self.directory)
        self.await_text(r"ready\$")

    def call(self, *words):
        return subprocess.run([*self.tmux, *words], check=True, capture_output=True,
                              text=True).stdout

    def keys(self, *keys):
        self.call("send-keys", *keys)

    def type(self, text):
        self.keys("-l", text)
        self.keys("Enter")

    def page(self):
        return self.call("capture-pane", "-p")

    def ask(self, name):
        return self.call("display-message", "-p", f"#{{{name}}}").strip()

    def await_text(self, pattern):
        found = []

        def look():
            found[:] = [self.page()]
            return re.search(pattern, found[0])
        try:
            tracing.wait_for(f"{pattern!r} on the terminal", look, 20)
        except AssertionError:
            raise AssertionError(f"{pattern!r} is not in\n{found[0]}") from None
        return found[0]

    def start_top(self, stage, *options, settings="before"):
        """Starts the live screen, and remembers the terminal's settings before."""
        self.type(f"stty -g >{settings}; {OPTRAIL} attach -p {stage.pid} --top "
                  f"{' '.join(options)}; echo ended=$?")
        page = self.await_text(r"write [1-9][\d,.]*/s")
        assert self.ask("alternate_on") == "1" and self.ask("cursor_flag") == "0"
        return page

    def check_restored(self):
        """The screen of before, the cursor, echo and all settings are back."""
        assert self.ask("alternate_on") == "0" and self.ask("cursor_flag") == "1"
        self.type("stty -g >after; cmp before after && echo the same settings")
        self.await_text(r"(^|\n|\$ )the same settings")

    def top_pid(self, stage):
        done = subprocess.run(["pgrep", "-f", f"attach -p {stage.pid} --top"], check=True,
                              capture_output=True, text=True)
        pids = [int(word) for word in done.stdout.split()
                if os.readlink(f"/proc/{word}/exe") == os.path.realpath(OPTRAIL)]
        # it has children of its own; the one that the shell started is meant
        own = [pid for pid in pids if parent_of(pid) not in pids]
        assert len(own) == 1, pids
        return own[0]

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], check=False)
        shutil.rmtree(self.directory)


def with_both(act, **terminal):
    stage, screen = Stage(), None
    try:
        screen = Terminal(**terminal)
        act(stage, screen)
        screen.close()
        stage.close()
    except BaseException:
        if screen:
            with contextlib.suppress(Exception):
                print(screen.page())
            screen.close()
        stage.abandon()
        raise


def case_screen():
    """80x24: daemon, types with rates, stages with bars, slowest ops, losses, keys; it moves on."""
    def act(stage, screen):
        screen.start_top(stage)
        page = screen.await_text(r"slowest ops\n +[\d.]+ [mµ]?s +(write|read)  client \d+ tid \d+")
        lines = page.splitlines()
        assert lines[0].startswith(f"ministore, filestore, pid {stage.pid}"), lines[0]
        assert re.search(r"\d:\d\d:\d\d$", lines[0]), lines[0]
        assert re.match(r"\[(write|read) [\d,.]+/s\] +(read|write) [\d,.]+/s", lines[1]), lines[1]
        assert re.search(r"p50 .* p99 .* max .* mean +[▁▂▃▄▅▆▇█]+", lines[2]), lines[2]
        assert re.match(r"stage +kind +share +p50 +p99 +trend", lines[3]), lines[3]
        assert re.search(r"\njournal.write +io +[\d.]+ % [█▏▎▍▌▋▊▉]+ +[\d.]+ [µm]s", page) or \
            re.search(r"\nfilestore.read +io ", page), page
        assert re.search(r"\nunattributed +[\d.]+ %", page), page
        assert "q quit" in lines[-1] and len(lines) == 24, lines
        shares = [float(share) for share in re.findall(r" ([\d.]+) % ", page)]
        assert 99 < sum(shares) < 101, (shares, page)
        clock = lines[0].split()[-1]
        tracing.wait_for("the next second", lambda: screen.page().split("\n")[0].split()[-1] > clock)
    with_both(act)


def case_keys():
    """Tab changes the type, s the order, a the span, p stops, ? helps, w writes."""
    def act(stage, screen):
        screen.start_top(stage)
        page = screen.await_text(r"write [1-9].*read [1-9]|read [1-9].*write [1-9]")
        first = re.search(r"\[(\w+) ", page)[1]
        other = {"write": "read", "read": "write"}[first]
        screen.keys("Tab")
        screen.await_text(rf"\[{other} ")
        screen.keys("Left")
        screen.await_text(rf"\[{first} ")
        screen.keys("Right")
        screen.await_text(rf"\[{other} ")
        screen.keys("BTab")
        screen.await_text(rf"\[{first} ")
        screen.keys("s")
        page = screen.await_text("sort: share")
        shares = [float(share) for share in re.findall(r"\n\w+\.\w+ +\w+ +([\d.]+) %", page)]
        assert len(shares) > 3 and shares == sorted(shares, reverse=True), shares
        screen.keys("s")
        screen.await_text("sort: p99")
        screen.keys("s")
        screen.await_text("sort: path")
        screen.keys("a")
        screen.await_text("a whole run")
        screen.keys("p")
        page = screen.await_text("PAUSED")
        stage_now = stage.answered()
        tracing.wait_for("more ops", lambda: stage.answered() > stage_now + 500)
        assert screen.page() == page
        screen.keys("Space")
        tracing.wait_for("it goes on", lambda: "PAUSED" not in screen.page())
        screen.keys("?")
        screen.await_text("the next or previous op type")
        screen.keys("?")
        screen.await_text("unattributed")
        screen.keys("w")
        screen.await_text(r"written: optrail-\S+\.txt, optrail-\S+\.json")
        (file,) = glob.glob(f"{screen.directory}/optrail-*.json")
        with open(file, encoding="utf-8") as report:
            report = json.load(report)
        assert report["source"]["pid"] == stage.pid and report["counts"]["ops"] > 0, report
        (file,) = glob.glob(f"{screen.directory}/optrail-*.txt")
        with open(file, encoding="utf-8") as report:
            assert report.read().startswith("ministore, filestore, pid")
        screen.keys("x", "q")
        screen.await_text("ended=0")
        screen.check_restored()
    with_both(act)


def case_resize():
    """The page follows the terminal's size at once."""
    def act(stage, screen):
        screen.start_top(stage)
        screen.call("resize-window", "-x", "132", "-y", "40")
        page = screen.await_text(r"q quit[^\n]*\n?$")
        tracing.wait_for("40 lines", lambda: "q quit" in screen.page().split("\n")[39])
        page = screen.page()
        assert len(page.split("\n")[0]) > 120, page.split("\n")[0]
        screen.call("resize-window", "-x", "60", "-y", "12")
        page = screen.await_text(r"\n\d+ smaller +[\d.]+ %")
        assert "Tab type" in page.split("\n")[11], page
        screen.keys("q")
        screen.await_text("ended=0")
        screen.check_restored()
    with_both(act)


def case_small():
    """A terminal of a few characters is told so, and nothing breaks."""
    def act(stage, screen):
        screen.start_top(stage)
        screen.call("resize-window", "-x", "30", "-y", "5")
        screen.await_text("30x5 is too small")
        screen.call("resize-window", "-x", "80", "-y", "24")
        screen.await_text(r"write [\d,.]+/s")
        screen.keys("q")
        screen.await_text("ended=0")
    with_both(act)


def case_ascii():
    """Without a UTF-8 locale there is ASCII alone."""
    def act(stage, screen):
        screen.start_top(stage)
        page = screen.await_text("slowest ops")
        assert page.isascii(), page
        assert re.search(r" % [#|]+ ", page) and " us" in page, page
    with_both(act, locale="C")


def case_quit():
    """q ends the tracing, gives the terminal back, and the report follows."""
    def act(stage, screen):
        screen.start_top(stage, "-o", "report.txt")
        screen.keys("q")
        page = screen.await_text("ended=0")
        assert "PAUSED" not in page and "Tab type" not in page, page
        screen.check_restored()
        with open(f"{screen.directory}/report.txt", encoding="utf-8") as report:
            text = report.read()
        assert "write " in text and "events, " in text, text
    with_both(act)


def case_terminated():
    """SIGINT and SIGTERM report and restore; a second one, SIGHUP, SIGQUIT and a crash restore."""
    def act(stage, screen):
        for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, 0),
                               (signal.SIGQUIT, None), (signal.SIGSEGV, None),
                               (signal.SIGABRT, None)):
            screen.start_top(stage, "-o", "report.txt")
            os.kill(screen.top_pid(stage), number)
            page = screen.await_text(r"ended=\d+")
            ended = int(re.search(r"ended=(\d+)", page)[1])
            assert ended == 0 if status == 0 else ended != 0, (number, ended)
            screen.check_restored()
            screen.type("clear")
            tracing.wait_for("a clear page", lambda: "ended" not in screen.page())
        screen.start_top(stage)
        screen.keys("C-c")
        screen.await_text("ended=0")
        screen.check_restored()
    with_both(act)


def case_stopped():
    """Ctrl-Z gives the shell its terminal; fg brings the page back."""
    def act(stage, screen):
        screen.start_top(stage)
        screen.keys("C-z")
        screen.await_text(r"Stopped|ready\$ $")
        tracing.wait_for("the shell's screen", lambda: screen.ask("alternate_on") == "0")
        screen.check_restored()
        screen.type("fg")
        screen.await_text(r"\[(write|read) ")
        tracing.wait_for("the page", lambda: screen.ask("alternate_on") == "1")
        screen.keys("?")
        screen.await_text("the next or previous op type")
        screen.keys("q")
        tracing.wait_for("the end", lambda: screen.ask("alternate_on") == "0")
        screen.check_restored()
    with_both(act)


def run_top(stage, *options, **keywords):
    return subprocess.run([OPTRAIL, "attach", "-p", str(stage.pid), "--top", *options],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, **keywords)


def case_plain():
    """Where it is no terminal: plain lines, a block an interval, then the report."""
    stage = Stage()
    done = run_top(stage, "-d", "2.2", "--interval", "0.5", "-o", f"{stage.directory}/report.json",
                   "--format", "json")
    assert done.returncode == 0, done.stderr
    assert "\033" not in done.stdout and "\r" not in done.stdout, done.stdout
    clocks = re.findall(r"^(\d\d:\d\d:\d\d) write [\d,.]+/s  .*p50 .* p99 .* max ", done.stdout,
                        re.M)
    assert 2 <= len(clocks) <= 5, done.stdout
    losses = re.findall(r"^  so far: .+", done.stdout, re.M)
    assert len(losses) == len(clocks), done.stdout
    assert re.search(r"^  slowest +[\d.]+ .s  (write|read)  client \d+ tid \d+  \S+ [\d.]+ .+ \(",
                     done.stdout, re.M), done.stdout
    with open(f"{stage.directory}/report.json", encoding="utf-8") as report:
        assert json.load(report)["counts"]["ops"] > 0
    stage.close()


def case_pipe_breaks():
    """A full disk behind the plain lines ends it with a message; nothing is left behind."""
    stage = Stage()
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([OPTRAIL, "attach", "-p", str(stage.pid), "--top", "--interval",
                               "0.2"], stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1, done
    assert "No space left on device" in done.stderr, done.stderr
    stage.close()


def case_wrong_use():
    """Options that do not go together."""
    stage = Stage()
    for options, words in ((["--format", "json", "--top"], "-o FILE"),
                           (["--interval", "2"], "--top")):
        done = subprocess.run([OPTRAIL, "attach", "-p", str(stage.pid), *options],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and words in done.stderr, done
    stage.close()


def needs_terminal():
    return CASE not in ("plain", "pipe_breaks", "wrong_use")


if os.geteuid() != 0:
    ministore.skip("tracing needs root")
if needs_terminal() and not shutil.which("tmux"):
    ministore.skip("tmux is not installed")
if needs_terminal() and not shutil.which("pgrep"):
    ministore.skip("pgrep is not installed")
globals()[f"case_{CASE}"]()
