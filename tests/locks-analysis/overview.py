#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""overview.py OPTRAIL MAKE-TRACE: `optrail locks` begins with a line a lock and tells more only of
those that matter; one lock is one row, whatever is known of the stacks that wait for it."""
import re
import sys

from locks_story import told

MUTEX, INTERNAL = 1 << 32, 11 << 32
FIRST, SMALL, INNER = 0x5000, 0x6000, 0x7000


def story():
    """Of the first lock every second wait has no stack; of a small one there is a single wait."""
    lines = ['1.0 stack.define 70/72 7 "__lll_lock_wait;take_when_free;wait_queue_pop;main" 4',
             f'1.0 stack.define 70/72 8 "__lll_lock_wait;{"a_long_name::" * 20}work;main" 3']
    for number in range(100):
        stack = 7 if number % 2 else 0
        lines.append(f"{1.1 + number / 100:.3f} lock.waited 70/72 {FIRST:#x} 9000000 {MUTEX | stack}")
    lines += [f"3.0 lock.waited 70/73 {SMALL:#x} 5000 {MUTEX | 8}",
              f"3.1 lock.waited 70/73 {INNER:#x} 100000000 {INTERNAL}"]
    return "\n".join(lines) + "\n"


def main():
    report, text, whole = told(story(), "--all-locks")
    print(whole)
    first, *others = report["locks"]
    assert first["waits"] == 100 and first["wait_total_ns"] == 900_000_000, first
    assert first["name"] == "mutex in wait_queue_pop", first["name"]
    assert [site["waits"] for site in first["sites"]] == [50], first["sites"]
    assert len(others) == 2, report["locks"]
    lines = text.splitlines()
    heading = next(i for i, line in enumerate(lines) if line.startswith("locks, by the time"))
    assert lines[heading + 1].split()[:5] == ["mutex", "in", "wait_queue_pop", "100", "900"], lines
    assert "and 1 lock with less than 1 % of it each, 5.00 µs together: --all-locks" in text, text
    assert "a_long_name" not in text and "1 wait, 5.00 µs" in whole, whole
    assert "inside a condition variable, 1 wait, 100 ms" in text, text
    assert max(map(len, whole.splitlines())) <= 100, whole
    for form in (text, whole):
        assert not re.search(r"(?<!\d)1 waits", form), form


if __name__ == "__main__":
    sys.exit(main())
