# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks addr2line for the line of each instruction of a function: 98 of 100 have one, 9 of 10 that of a place. Usage: lines_of_code.py FILE FUNCTION PLACE"""
import re
import subprocess
import sys

path, function, place = sys.argv[1:]
code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", path], capture_output=True, text=True, check=True).stdout
addresses = re.findall(r"^\s+([0-9a-f]+):\t", code, re.MULTILINE)
assert len(addresses) > 100, len(addresses)
lines = subprocess.run(["addr2line", "-e", path], input="\n".join(addresses), capture_output=True, text=True, check=True).stdout.splitlines()
assert len(lines) == len(addresses)
known = [line for line in lines if re.search(r":[1-9][0-9]*( |$)", line)]
of_place = [line for line in known if re.search(re.escape(place) + r"( |$)", line)]
print(f"{len(addresses)} instructions, {len(known)} with lines, {len(of_place)} of {place}")
assert len(known) >= 0.98 * len(addresses) and len(of_place) >= 0.9 * len(known)
