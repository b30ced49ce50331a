# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies a program and changes the build id in it, as if it had been built from other sources.

usage: rebuild.py PROGRAM COPY
"""
import os
import re
import sys

program, copy = sys.argv[1:]
with open(program, "rb") as file:
    content = file.read()
# The head of the note: sizes of the name and of the id, its kind, the name.
notes = [match for match in re.finditer(rb"\x04\0\0\0(?:\x08|\x10|\x14)\0\0\0\x03\0\0\0GNU\0", content)]
assert len(notes) == 1, f"{len(notes)} build ids in {program}"
at = notes[0].end()
with open(copy, "wb") as file:
    file.write(content[:at] + bytes([0xFF ^ content[at]]) + content[at + 1 :])
os.chmod(copy, 0o755)
