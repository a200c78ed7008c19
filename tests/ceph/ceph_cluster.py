# SPDX-License-Identifier: MIT
"""A cluster of one host, for tests: examples/ceph/cluster, and what one does with it."""
import glob
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

import tracing

CLUSTER = sys.argv[2]


def need_ceph():
    for program in ("ceph-osd", "ceph-mon", "ceph", "rados"):
        if not shutil.which(program):
            tracing.skip(f"{program} is not installed")


class Cluster:
    """A one-node cluster of its own, gone at the end."""

    def __init__(self, store, *options, osds=1, size=1, preload=None, where=None):
        self.directory = tempfile.mkdtemp(prefix="optrail-ceph-", dir=where)
        arguments = [word for option in options for word in ("--option", option)]
        if preload:
            arguments += ["--preload", preload]
        try:
            subprocess.run([CLUSTER, "start", "--store", store, "--dir", self.directory,
                            "--osds", str(osds), "--size", str(size), *arguments], check=True, stdout=subprocess.DEVNULL)
        except subprocess.CalledProcessError:
            self.stop()
            raise
        self.pids = [self.pid_of(f"osd.{number}") for number in range(osds)]
        self.pid = self.pids[0]
        self.environment = dict(os.environ, CEPH_CONF=f"{self.directory}/ceph.conf", CEPH_ARGS="")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        subprocess.run([CLUSTER, "stop", "--dir", self.directory], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def pid_of(self, name):
        with open(f"{self.directory}/run/{name}.pid") as file:
            return int(file.read())

    def ceph(self, *words):
        """Runs `ceph`, or `ceph daemon osd.N` with words that begin with its name."""
        if words[0].startswith("osd."):
            socket = f"{self.directory}/run/{words[0]}.{self.pid_of(words[0])}.asok"
            words = ("--admin-daemon", socket, *words[1:])
        return subprocess.run(["ceph", *words], check=True, capture_output=True, text=True,
                              env=self.environment).stdout

    def ask(self, prefix, **words):
        """What osd.0 answers to a command at its admin socket."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(glob.glob(f"{self.directory}/run/osd.0.*.asok")[0])
            connection.sendall(json.dumps(dict(words, prefix=prefix)).encode() + b"\0")
            with connection.makefile("rb") as answer:
                return json.loads(answer.read(*struct.unpack(">I", answer.read(4))))

    def set(self, **options):
        """Changes options of osd.0 while it runs."""
        for name, value in options.items():
            answer = self.ask("config set", var=name, val=[str(value)])
            assert "success" in answer, (name, value, answer)

    def rados(self, pool, *words):
        return subprocess.run(["rados", "-p", pool, *words], check=True, capture_output=True,
                              text=True, env=self.environment).stdout

    def bench(self, kind, seconds=2, pool="bench", depth=16):
        """Runs rados bench; returns how many ops it says that it made."""
        return self.timed_bench(kind, seconds, pool, depth)[0]

    def timed_bench(self, kind, seconds=2, pool="bench", depth=16):
        """Runs rados bench; returns its number of ops, and how long one took on average, in s."""
        command = ["rados", "-p", pool, "bench", str(seconds), kind, "-t", str(depth)]
        if kind == "write":
            command += ["-b", "4096", "--no-cleanup"]
        done = subprocess.run(command, check=True, capture_output=True, text=True,
                              env=self.environment)
        return (int(re.search(r"^Total (?:writes|reads) made: +(\d+)", done.stdout, re.M)[1]),
                float(re.search(r"^Average Latency\(s\): +([\d.]+)", done.stdout, re.M)[1]))

    def make_disk(self, megabytes):
        """Makes a block device, the image `disk`, in the pool bench, and fills it."""
        subprocess.run(["rbd", "create", "bench/disk", "--size", f"{megabytes}M", "--image-feature",
                        "layering"], check=True, capture_output=True, env=self.environment)
        self.fio("--rw=write", "--bs=1m", f"--size={megabytes}M")

    def fio(self, *options):
        """Runs fio on that image; returns how many reads and writes it says that it made."""
        done = subprocess.run(["fio", "--name=disk", "--ioengine=rbd", "--clientname=admin",
                               "--pool=bench", "--rbdname=disk", "--output-format=json", *options],
                              check=True, capture_output=True, text=True, env=self.environment)
        job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
        return job["read"]["total_ios"], job["write"]["total_ios"]

    def errors(self):
        """Lines of the OSD's log at error level: "time thread -1 text"."""
        with open(f"{self.directory}/log/osd.0.log", errors="replace") as file:
            lines = [re.match(r"\S+T\S+ [0-9a-f]+ +(-?\d+) (.*)", line) for line in file]
        lines = [line for line in lines if line]
        assert lines, "no line of the log was understood"
        return [line[2] for line in lines if int(line[1]) < 0]
