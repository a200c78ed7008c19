#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""notes.py FILE CATALOGUE: the USDT notes of an ELF file, as readelf shows them, are those of the
catalogue: provider, name, arguments, a semaphore in .probes, and the two nops at each location."""
import re
import subprocess
import sys

SITE = bytes.fromhex("900f1f440000")


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, text=True,
                          capture_output=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def sections(file):
    """name -> (address, offset, size)"""
    pattern = re.compile(r"\[\s*\d+\]\s+(\S+)\s+\S+\s+([0-9a-f]+)\s+([0-9a-f]+)\s+([0-9a-f]+)")
    return {match[1]: tuple(int(match[i], 16) for i in (2, 3, 4))
            for match in pattern.finditer(readelf("-S", file))}


def main(file, catalogue):
    names = ["_".join(row) for row in
             re.findall(r"^OPTRAIL_POINT\((\w+), (\w+),", open(catalogue).read(), re.M)]
    notes = re.findall(r"Provider: (\S+)\s+Name: (\S+)\s+Location: 0x([0-9a-f]+), Base: "
                       r"0x([0-9a-f]+), Semaphore: 0x([0-9a-f]+)\s+Arguments: (.*)",
                       readelf("-n", file))
    found = sections(file)
    probes, base = found[".probes"], found[".stapsdt.base"]
    content = open(file, "rb").read()
    semaphores = set()
    assert sorted(note[1] for note in notes) == sorted(names), "other points than the catalogue's"
    for provider, name, location, note_base, semaphore, arguments in notes:
        location, semaphore = int(location, 16), int(semaphore, 16)
        assert provider == "optrail", name
        assert arguments.strip() == "8@%rdi 8@%rsi 8@%rdx", (name, arguments)
        assert int(note_base, 16) == base[0], name
        assert probes[0] <= semaphore <= probes[0] + probes[2] - 2, (name, "semaphore outside")
        semaphores.add(semaphore)
        in_file = [location - address + offset for address, offset, size in found.values()
                   if address and address <= location < address + size]
        assert len(in_file) == 1, (name, "location in no section")
        assert content[in_file[0]:in_file[0] + 6] == SITE, (name, "other code at its location")
    assert len(semaphores) == len(names), "points that share a semaphore"


if __name__ == "__main__":
    main(*sys.argv[1:])
