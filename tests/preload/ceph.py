# SPDX-License-Identifier: MIT
"""ceph.py LIBRARY CLUSTER WITH_SESSION OPTRAIL: a real ceph-osd with the library before libc serves, ends
as it should, and its waits have stacks that lead to their threads' starts, and names."""
import collections
import glob
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile

sys.path += [str(pathlib.Path(__file__).parent.parent / name) for name in ("ceph", "bpf")]
import ceph_cluster  # noqa: E402

LIBRARY, CLUSTER, WITH_SESSION, OPTRAIL = sys.argv[1:5]
DEFINED = re.compile(r'stack_define: .* key = (0x[0-9A-F]+), frames = "([^"]*)", depth = (\d+)')
WAITED = re.compile(r"lock_waited: .* wait_ns = (\d+), kind_stack = (\d+)")
# where glibc starts threads, and programs
STARTS = ("libc.so.6+",)
CONDVAR = 10


def serve(directory):
    """Within the session: a cluster, some load; its OSD is told to end, and does."""
    os.environ["OPTRAIL_LOCK_STATS"] = f"{directory}/counts"
    with ceph_cluster.Cluster("memstore", "osd_fast_shutdown=false", preload=LIBRARY) as cluster:
        ops = cluster.bench("write")
        osd = os.pidfd_open(cluster.pid)
        signal.pidfd_send_signal(osd, signal.SIGTERM)
        ended = select.select([osd], [], [], 60)[0]
        with open(f"{cluster.directory}/log/osd.0.err", encoding="utf-8", errors="replace") as file:
            messages = file.read()
    print(json.dumps({"ops": ops, "ended": bool(ended), "messages": messages}))


def main():
    ceph_cluster.need_ceph()
    with tempfile.TemporaryDirectory(prefix="optrail-test-", dir="/var/tmp") as directory:
        trace = f"{directory}/trace"
        done = subprocess.run([WITH_SESSION, "--output", trace, "--", sys.executable, __file__,
                               LIBRARY, CLUSTER, WITH_SESSION, OPTRAIL, directory], capture_output=True,
                              text=True)
        if "not installed" in done.stderr:
            print(done.stderr.strip())
            return 77
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout.splitlines()[-1])
        read = subprocess.run(["babeltrace2", trace], capture_output=True, text=True)
        assert read.returncode == 0, read.stderr
        report = json.loads(subprocess.run([OPTRAIL, "locks", "--format", "json", trace], check=True,
                                           capture_output=True, text=True).stdout)
        counts = []
        for path in glob.glob(f"{directory}/counts.*"):
            with open(path, encoding="utf-8") as file:
                counts.append(json.load(file))
    assert told["ops"] > 100 and told["ended"], told
    assert "Caught signal" not in told["messages"], told["messages"]
    stacks = {int(key, 16): frames.split(";")
              for key, frames, _ in DEFINED.findall(read.stdout)}
    total, complete, kinds = 0, 0, collections.Counter()
    for ns, kind_stack in WAITED.findall(read.stdout):
        ns, kind, stack = int(ns), int(kind_stack) >> 32, int(kind_stack) & 0xffffffff
        kinds["condvar" if kind == CONDVAR else "lock"] += 1
        if kind == CONDVAR:
            continue
        total += ns
        complete += ns * (stack in stacks and stacks[stack][-1].startswith(STARTS))
    print(f"{told['ops']} ops, {dict(kinds)}, {100 * complete / total:.1f} % of the waiting for locks "
          f"has a stack to its thread's start; {max(counts, key=lambda one: one['waits'])}")
    assert kinds["lock"] > 20 and complete > 0.95 * total
    named, told_frames = (report["counts"]["other"][count]
                          for count in ("frames_named", "frames_to_name"))
    locks = sorted(report["locks"], key=lambda lock: -lock["wait_total_ns"])
    print(f"{named} of {told_frames} frames have names; {[lock['name'] for lock in locks[:6]]}")
    assert named > 0.8 * told_frames, report["counts"]["other"]
    return 0


if __name__ == "__main__":
    sys.exit(serve(sys.argv[5]) if len(sys.argv) > 5 else main())
