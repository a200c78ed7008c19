#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stale.py WATCH_LOCKS STALE_LOCKS: a stack is the same stack whatever lies between its frames: once
it is known which words are return addresses, what calls that are over have left there makes no other
stacks of it; and two ways to a lock stay two."""
import sys

import captured

captured.need_root()
said, got = captured.run(sys.argv[1], sys.argv[2], [])
lock = int(said[0].split()[1])
waits = [wait for wait in got.waits if wait["lock"] == lock]
ways = [next((name for name in ("go_one_way", "go_another_way") if name in
              got.stacks.get(wait["stack"], ("", ""))[1]), "") for wait in waits]
print(f"{len(waits)} waits, {got.counts['stacks']} stacks, {got.counts['snapshots']} snapshots, "
      f"{ways.count('')} waits without")
assert len(waits) == 400, len(waits)
wrong = [at for at, way in enumerate(ways)
         if way and way != ("go_another_way" if at % 2 else "go_one_way")]
assert not wrong, f"taken for the other way: {wrong}"
assert ways.count("") < 40
# the first ones are met before the first is unwound, which takes a look of the loader's
assert got.counts["stacks"] < 200, "each litter makes a stack"
assert len({got.stacks[wait["stack"]][1] for wait in waits if wait["stack"] in got.stacks}) == 2
