# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the code of an object with that of an assembly file, byte by byte. An object is linked with the runtime, which
may put no-operations behind the code up to the next function's alignment.

usage: same_code.py OBJECT ASSEMBLY FOLDER
"""
import pathlib
import subprocess
import sys

object_file, assembly, folder = map(pathlib.Path, sys.argv[1:])


def code_of(file, name):
    subprocess.run(["llvm-objcopy", "-O", "binary", "--only-section=.text", file, folder / name], check=True)
    return (folder / name).read_bytes()


assembled = folder / "assembled.o"
subprocess.run(["llvm-mc", "-filetype=obj", "-triple=x86_64-unknown-linux-gnu", assembly, "-o", assembled], check=True)
own, other = code_of(object_file, "object.bin"), code_of(assembled, "assembled.bin")
if len(other) < 10000 or own[: len(other)] != other or len(own) - len(other) >= 16:
    sys.exit(f"{object_file} and {assembly} are other code")
print("the same code")
