#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs that are named by a link, or whose file has permissions of its own.

usage: links.py FOLDER, one to work in"""
import os
import subprocess
import sys

MESSY = "attn 1\nmodel  M { dim D=4\n entry e(x: f32[D]) -> [D] { return x+x } }\n"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stderr}"


def check(link, real, mode):
    """A link is one still, and the file that it leads to was written, with its permissions."""
    assert os.path.islink(link), f"{link} is no link any more"
    assert os.stat(real).st_mode & 0o777 == mode, f"{real} has the permissions {os.stat(real).st_mode:o}"


def main():
    folder, = map(os.path.abspath, sys.argv[1:])
    mask = os.umask(0)
    os.umask(mask)
    os.makedirs(f"{folder}/far")
    os.chdir(folder)
    # attn fmt: by a link to a link in another folder.
    open("far/real.attn", "w").write(MESSY)
    os.chmod("far/real.attn", 0o640)
    os.symlink("real.attn", "far/next.attn")
    os.symlink("far/next.attn", "link.attn")
    run("attn", "fmt", "link.attn")
    check("link.attn", "far/real.attn", 0o640)
    assert open("far/real.attn").read() != MESSY
    run("attn", "fmt", "--check", "far/real.attn")
    # What writes by the runtime, and by the driver: a file that is there, and one that is not yet.
    run("attn", "compile", "-O0", "link.attn", "--target=x86-64-v3", "-o", "program")
    assert os.stat("program").st_mode & 0o100
    commands = [("e.npy", ["./program", "--input", "x=random", "--output", "e={}"]),
                ("taps.safetensors", ["attn", "run", "-O0", "link.attn", "--input", "x=random", "--taps", "{}"]),
                ("e.h", ["attn", "compile", "link.attn", "--emit=header", "-o", "{}"])]
    for name, command in commands:
        os.symlink(f"far/{name}", name)
        for mode in (None, 0o604):
            if mode:
                os.chmod(f"far/{name}", mode)
            run(*[word.format(name) for word in command])
            check(name, f"far/{name}", mode or 0o666 & ~mask)
            assert os.path.getsize(f"far/{name}") > 0
    # A file that is replaced by a program can be run; its other permissions stay.
    os.chmod("far/e.h", 0o600)
    run("attn", "compile", "-O0", "link.attn", "--target=x86-64-v3", "-o", "far/e.h")
    assert os.stat("far/e.h").st_mode & 0o700 == 0o700
    # Names of open files are written in place: a rename would take them away.
    with open("out.npy", "wb") as out:
        run_to(out, "./program", "--input", "x=random", "--output", "e=/dev/stdout")
    with open("out.h", "wb") as out:
        run_to(out, "attn", "compile", "link.attn", "--emit=header", "-o", "/dev/fd/1")
    assert open("out.npy", "rb").read()[:6] == b"\x93NUMPY" and open("out.h").read().count("#endif") > 0
    assert os.path.islink("/dev/stdout")
    left = sorted(name for name in os.listdir(".") + os.listdir("far") if ".tmp" in name or ".part" in name)
    assert not left, left
    print("links stay, permissions stay")


def run_to(out, *command):
    done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stderr}"


if __name__ == "__main__":
    main()
