#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""odd.py WATCH_LOCKS ODD_LOCKS: what happens at a lock beside waiting for it: what its owner does
meanwhile, owners that die, locks that vanish, code and stacks that are no file's and no thread's,
and the locks that are not the program's own."""
import sys

import captured

WATCH, PROGRAM = sys.argv[1:3]
captured.need_root()
MS = 1000000


def watch(case, *options):
    said, got = captured.run(WATCH, PROGRAM, [case], options)
    truth = {line.split()[0]: int(line.split()[1]) for line in said}
    waits = [wait for wait in got.waits if wait["lock"] == truth.get("lock")]
    return truth, waits, got


def the_wait(case, kind, *options):
    truth, waits, got = watch(case, *options)
    assert [wait["kind"] for wait in waits] == [kind], f"{case}: {waits}"
    if "owner" in truth:
        assert waits[0]["owner"] == truth["owner"], f"{case}: {waits[0]}, {truth}"
    return truth, waits[0], got


def mostly(wait, what):
    """The owner did this for the most of the wait, but for what a busy machine lets it wait for."""
    print(what, {name: wait[name] for name in ("ns", "running", "runnable", "disk", "asleep",
                                               "chain")})
    parts = {name: wait[name] for name in ("running", "runnable", "disk", "asleep", "chain")}
    assert sum(parts.values()) <= wait["ns"]
    wanted = sum(parts.values()) - parts["runnable"]
    assert parts[what] > 0.7 * wanted, f"{what}: {wait}"
    return parts


def what_owners_do():
    _, wait, _ = the_wait("running", "mutex")
    mostly(wait, "running")
    assert mostly(the_wait("asleep", "mutex")[1], "asleep")["asleep"] > 35 * MS
    assert mostly(the_wait("disk", "mutex")[1], "disk")["disk"] > 35 * MS
    truth, wait, _ = the_wait("chain", "mutex")
    assert mostly(wait, "chain")["chain"] > 35 * MS
    assert wait["chain_lock"] == truth["other"]


def owners_that_hand_over():
    """An owner that gave the lock to another waiter sleeps from then on: that is no business of the
    one who goes on waiting."""
    truth, waits, _ = watch("handed")
    assert len(waits) == 2, waits
    longer = max(waits, key=lambda wait: wait["ns"])
    print("handed", {name: longer[name] for name in ("ns", "running", "runnable", "asleep", "chain")})
    assert longer["owner"] == truth["owner"] and longer["ns"] > 75 * MS
    assert longer["asleep"] + longer["chain"] < 5 * MS, longer
    assert longer["running"] + longer["runnable"] > 35 * MS, longer


def owners_that_end():
    _, wait, _ = the_wait("robust", "mutex_shared")
    assert wait["flags"] & 2, "a robust mutex whose owner died, and that is not said"
    truth, waits, got = watch("gone")
    assert [wait["kind"] for wait in waits] == ["mutex"]
    assert waits[0]["flags"] & 4 and waits[0]["flags"] & 8, "an owner that is gone; not ended"
    assert waits[0]["owner"] == 0 and got.counts["owner_gone"] == 1
    assert got.counts["unfinished"] >= 1
    _, wait, _ = the_wait("timed", "mutex_timed")
    assert wait["flags"] & 1 and 19 * MS < wait["ns"], "a wait that gave up"
    the_wait("fork", "mutex")


def locks_that_vanish():
    _, waits, got = watch("freed", "-c", "1")
    assert {wait["kind"] for wait in waits} == {"mutex", "semaphore"}, waits
    assert got.counts["address_reused"] == 1


def foreign_code():
    _, wait, got = the_wait("jit", "unknown")
    assert got.counts["unmatched_sites"] >= 1
    end, text = got.stacks[wait["stack"]]
    print("jit:", end, text)
    assert end != "complete", "a stack cannot be complete through code without a file"
    _, wait, got = the_wait("signal", "mutex")
    end, text = got.stacks[wait["stack"]]
    print("signal:", end, text)
    assert "handle" in text


def others_locks():
    """Those of libc are named as such, with the function that asked."""
    for case, kind, functions in (
            ("allocator", "allocator", {"malloc", "free", "cfree", "__libc_malloc", "_int_malloc"}),
            ("stdio", "libc", {"fprintf", "__vfprintf_internal", "vfprintf"})):
        _, _, got = watch(case)
        waits = got.of(kind)
        total = sum(wait["ns"] for wait in got.waits if wait["kind"] in ("allocator", "libc"))
        part = sum(wait["ns"] for wait in waits) / max(total, 1)
        print(f"{case}: {len(waits)} waits, {100 * part:.1f} % of libc's own")
        assert len(waits) > 3 and part > 0.95
        strange = [wait for wait in waits if wait["stack"] and not functions & set(got.frames(wait))]
        assert len(strange) <= len(waits) / 10, [got.frames(wait) for wait in strange][:3]
    _, waits, _ = watch("once")
    assert len(waits) == 3 and all(wait["kind"] == "once" for wait in waits), waits


def idle_workers():
    """They are no contention: all are counted, a sample is told, which stands for the rest."""
    _, waits, got = watch("idle")
    idle = got.of("condvar_idle")
    print(f"{got.counts['condvar_idle']} idle waits, {len(idle)} told, for "
          f"{sum(wait['weight'] for wait in idle)}")
    assert got.counts["condvar_idle"] > 100 and len(idle) < got.counts["condvar_idle"] / 4
    _, waits, got = watch("idle", "-c", "1")
    assert len(got.of("condvar_idle")) > 0.9 * got.counts["condvar_idle"]
    assert len(waits) == len(got.of("condvar_idle")), "the address of the condition variable"
    _, _, got = watch("idle", "-c", "2")
    assert not got.of("condvar_idle")


for story in (what_owners_do, owners_that_hand_over, owners_that_end, locks_that_vanish,
              foreign_code, others_locks, idle_workers):
    story()
