#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Thousands of stacks of a program of all kinds of frames: each as libunwind has it.

usage: real_stacks.py COMPARE-STACKS STACKS SUBJECT
"""
import subprocess
import sys

compare, stacks, subject = sys.argv[1:4]
with subprocess.Popen([subject, "mixed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
    assert running.stdout.readline() == b"ready\n"
    done = subprocess.run([compare, str(running.pid), stacks, "60", "99"])
    assert running.poll() is None, "the subject ended by itself"
    running.stdin.close()
sys.exit(done.returncode)
