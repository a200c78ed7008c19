#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loading.py EMITTER PROVIDER OTHER_CATALOGUE OTHER_NAMES NO_PROVIDER LACKS_LIBRARY
SPEAKS_WHEN_LOADED: which provider is loaded, from where, and that a program runs as before when
none can be. It never prints."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile


def is_safe(directory):
    """Nobody but root and we can put a file there, or put another directory in its place."""
    while True:
        status = os.lstat(directory)
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022 or \
                not stat.S_ISDIR(status.st_mode):
            return False
        if directory == "/":
            return True
        directory = os.path.dirname(directory)


def main(emitter, provider, other_catalogue, other_names, no_provider, lacks_library,
         speaks_when_loaded):
    failures = []
    build = os.path.dirname(os.path.realpath(emitter))
    safe = int(is_safe(build))
    if not safe:
        print(f"{build} is writable by others: what is found there must be refused, no more is seen")

    def expect(started, what, program=emitter, **environment):
        clean = {name: value for name, value in os.environ.items() if name != "OPTRAIL_PROVIDER"}
        done = subprocess.run([program, "each"], text=True, capture_output=True, timeout=60,
                              env={**clean, **environment})
        first = done.stdout.splitlines()[0] if done.stdout else "nothing"
        if done.returncode != 0 or done.stderr or first != f"started {started}":
            failures.append(f"{what}: wanted started {started}, got {first}, exit status "
                            f"{done.returncode}, on standard error: {done.stderr!r}")

    with tempfile.TemporaryDirectory(prefix="optrail-test-", dir=build) as directory:
        def place(*path, what=provider, mode=0o755):
            file = os.path.join(directory, *path)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            shutil.copyfile(what, file)
            os.chmod(file, mode)
            return file

        text = os.path.join(directory, "text.so")
        with open(text, "w", encoding="ascii") as out:
            out.write("no library\n")

        expect(safe, "the build tree's own provider is found")
        expect(1, "the provider that is named", OPTRAIL_PROVIDER=provider)
        expect(safe, "an empty name is no name", OPTRAIL_PROVIDER="")
        expect(0, "switched off", OPTRAIL_PROVIDER="off")
        expect(0, "a file that is not there", OPTRAIL_PROVIDER="/nonexistent/provider.so")
        expect(0, "a directory", OPTRAIL_PROVIDER=directory)
        expect(0, "a file that is no library", OPTRAIL_PROVIDER=text)
        fifo = os.path.join(directory, "fifo.so")
        os.mkfifo(fifo)
        expect(0, "a FIFO, which nobody writes to", OPTRAIL_PROVIDER=fifo)
        expect(0, "a device", OPTRAIL_PROVIDER="/dev/zero")
        expect(0, "a library that is no provider", OPTRAIL_PROVIDER=no_provider)
        expect(0, "a provider with fewer points", OPTRAIL_PROVIDER=other_catalogue)
        expect(0, "a provider with other field names", OPTRAIL_PROVIDER=other_names)
        expect(0, "a machine without the provider's libraries (LTTng)",
               OPTRAIL_PROVIDER=place("elsewhere", "lacking.so", what=lacks_library))

        alone = place("alone", "deep", "down", "here", "bin", "daemon", what=emitter)
        expect(0, "no provider anywhere", program=alone)
        installed = place("prefix", "bin", "daemon", what=emitter)
        in_lib = place("prefix", "lib", "optrail", "optrail-provider.so")
        expect(safe, "../lib/optrail of an installed program", program=installed)
        lib = os.path.dirname(in_lib)
        for path, mode in ((in_lib, 0o757), (in_lib, 0o775), (lib, 0o757), (lib, 0o775),
                           (lib, 0o1777), (os.path.dirname(lib), 0o1777), (directory, 0o1777)):
            before = stat.S_IMODE(os.stat(path).st_mode)
            os.chmod(path, mode)
            expect(0, f"{path[len(directory):]} with mode {mode:o}", program=installed)
            os.chmod(path, before)
        if os.geteuid() == 0:
            for path in (in_lib, lib, os.path.dirname(lib)):
                os.chown(path, 65534, 65534)
                expect(0, f"{path[len(directory):]} of another user", program=installed)
                os.chown(path, 0, 0)
        expect(safe, "all as before", program=installed)
        for path in (in_lib, lib):
            os.rename(path, path + ".away")
            os.symlink(path + ".away", path)
            expect(0, f"{path[len(directory):]} a symbolic link", program=installed)
            os.unlink(path)
            os.rename(path + ".away", path)
        os.truncate(in_lib, 20000)
        expect(0, "a provider of which a part is there", program=installed)
        os.unlink(in_lib)
        os.mkfifo(in_lib)
        expect(0, "a FIFO in the provider's place", program=installed)
        os.unlink(in_lib)
        place("prefix", "lib", "optrail", "optrail-provider.so")
        expect(safe, "the loader's search path", program=alone, LD_LIBRARY_PATH=lib)
        os.chmod(lib, 0o777)
        expect(0, "the loader's search path, writable by others", program=alone,
               LD_LIBRARY_PATH=lib)
        os.chmod(lib, 0o755)

        if os.geteuid() == 0:  # a directory like /tmp: another user makes /tmp/lib/optrail
            like_tmp = os.path.join(directory, "like-tmp")
            tool = place("like-tmp", "tool", "bin", "daemon", what=emitter)
            os.chmod(like_tmp, 0o1777)
            theirs = place("like-tmp", "lib", "optrail", "optrail-provider.so",
                           what=speaks_when_loaded)
            for path in (theirs, os.path.dirname(theirs), os.path.join(like_tmp, "lib")):
                os.chown(path, 65534, 65534)
            expect(0, "another user's directory", program=tool)
            os.chown(theirs, 0, 0)
            expect(0, "a file of root in another user's directory", program=tool)
            os.unlink(theirs)
            os.symlink(speaks_when_loaded, theirs)
            expect(0, "a link to a file of root in another user's directory", program=tool)
        place("prefix", "bin", "optrail-provider.so", what=other_catalogue)
        expect(safe, "the one beside the program is of another version, the next one fits",
               program=installed)

    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
