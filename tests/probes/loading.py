#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loading.py EMITTER PROVIDER OTHER_CATALOGUE OTHER_NAMES NO_PROVIDER LACKS_LIBRARY: which provider
is loaded, from where, and that a program runs as before when none can be. It never prints."""
import os
import shutil
import subprocess
import sys
import tempfile


def main(emitter, provider, other_catalogue, other_names, no_provider, lacks_library):
    failures = []

    def expect(started, what, program=emitter, **environment):
        clean = {name: value for name, value in os.environ.items() if name != "OPTRAIL_PROVIDER"}
        done = subprocess.run([program, "each"], text=True, capture_output=True,
                              env={**clean, **environment})
        first = done.stdout.splitlines()[0] if done.stdout else "nothing"
        if done.returncode != 0 or done.stderr or first != f"started {started}":
            failures.append(f"{what}: wanted started {started}, got {first}, exit status "
                            f"{done.returncode}, on standard error: {done.stderr!r}")

    with tempfile.TemporaryDirectory(prefix="optrail-test-") as directory:
        def place(*path, what=provider, mode=0o755):
            file = os.path.join(directory, *path)
            os.makedirs(os.path.dirname(file), exist_ok=True)
            shutil.copyfile(what, file)
            os.chmod(file, mode)
            return file

        text = os.path.join(directory, "text.so")
        with open(text, "w", encoding="ascii") as out:
            out.write("no library\n")

        expect(1, "the build tree's own provider is found")
        expect(1, "the provider that is named", OPTRAIL_PROVIDER=provider)
        expect(1, "an empty name is no name", OPTRAIL_PROVIDER="")
        expect(0, "switched off", OPTRAIL_PROVIDER="off")
        expect(0, "a file that is not there", OPTRAIL_PROVIDER="/nonexistent/provider.so")
        expect(0, "a directory", OPTRAIL_PROVIDER=directory)
        expect(0, "a file that is no library", OPTRAIL_PROVIDER=text)
        expect(0, "a library that is no provider", OPTRAIL_PROVIDER=no_provider)
        expect(0, "a provider with fewer points", OPTRAIL_PROVIDER=other_catalogue)
        expect(0, "a provider with other field names", OPTRAIL_PROVIDER=other_names)
        expect(0, "a machine without the provider's libraries (LTTng)",
               OPTRAIL_PROVIDER=place("elsewhere", "lacking.so", what=lacks_library))

        alone = place("alone", "deep", "down", "here", "bin", "daemon", what=emitter)
        expect(0, "no provider anywhere", program=alone)
        installed = place("prefix", "bin", "daemon", what=emitter)
        in_lib = place("prefix", "lib", "optrail", "optrail-provider.so")
        expect(1, "../lib/optrail of an installed program", program=installed)
        os.chmod(in_lib, 0o777)
        expect(0, "a provider that anybody may overwrite", program=installed)
        os.chmod(in_lib, 0o755)
        if os.geteuid() == 0:
            os.chown(in_lib, 65534, 65534)
            expect(0, "a provider of another user", program=installed)
            os.chown(in_lib, 0, 0)
        place("prefix", "bin", "optrail-provider.so", what=other_catalogue)
        expect(1, "the one beside the program is of another version, the next one fits",
               program=installed)

    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
