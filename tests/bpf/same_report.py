# SPDX-License-Identifier: MIT
"""Two reports of one run: what the kernel folded by itself, and what was folded from its events."""

import json

SHARES = ("share", "tail_share", "largest_share", "unattributed_share", "unattributed_tail_share")


def different(kernel, user, where=""):
    """Where the two values differ, as lines; shares may differ by rounding."""
    if isinstance(kernel, dict) and isinstance(user, dict):
        if kernel.keys() != user.keys():
            return [f"{where}: keys {sorted(kernel)} and {sorted(user)}"]
        return [line for key in kernel for line in different(kernel[key], user[key],
                                                             f"{where}.{key}")]
    if isinstance(kernel, list) and isinstance(user, list):
        if len(kernel) != len(user):
            return [f"{where}: {len(kernel)} rows and {len(user)}"]
        return [line for i, pair in enumerate(zip(kernel, user))
                for line in different(*pair, f"{where}[{i}]")]
    if where.rsplit(".", 1)[-1] in SHARES and abs(kernel - user) < 1e-6:
        return []
    return [] if kernel == user else [f"{where}: {kernel} in the kernel, {user} in user space"]


TRIES = 5


def run(trace):
    """Traces by `trace`, which returns what fold_both printed, until no event came up so late that
    user space had to move it in time: only then can it be right. Checks that the two reports are
    the same, and returns the kernel's."""
    for _ in range(TRIES):
        both = json.loads(trace())
        if both["moved"] == 0:
            check(both)
            return both["kernel"]
        print(f"{both['moved']} events were late: once more")
    raise AssertionError(f"events were late in each of {TRIES} runs")


def check(both):
    """The two reports are the same, and are of something."""
    # not the verdicts: what stands behind a queue is seen in the events only
    kernel, user = both["kernel"], both["user"]
    lines = [line for key in ("counts", "peers", "ops", "clients", "exemplars")
             for line in different(kernel[key], user[key], key)]
    assert not lines, "\n".join(lines[:20])
    assert kernel["counts"]["ops"] > 0 and kernel["ops"] and kernel["exemplars"], kernel["counts"]
    for op in kernel["ops"]:
        parts = sum(stage["total_ns"] for stage in op["stages"]) + op["unattributed_ns"]
        assert parts == op["total_ns"], (op["type"], parts, op["total_ns"])
