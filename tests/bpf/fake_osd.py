#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The functions that a probe map names, one PROBED() line each, for fake_osd.cc.

usage: fake_osd.py MAP > fake_osd_functions.inc
"""
import re
import sys

with open(sys.argv[1]) as file:
    symbols = re.findall(r'^ +symbol: \[?"?([\w.]+)', file.read(), re.M)
symbols = list(dict.fromkeys(symbols))
assert len(symbols) > 30, "the map is not understood"
for number, symbol in enumerate(symbols):
    print(f'PROBED({number}, "{symbol}")')
