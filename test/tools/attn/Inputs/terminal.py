# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command whose stderr is a terminal, and shows what it wrote there.

usage: terminal.py TERM COMMAND...

Prints each text of the progress line, then how many lines a person sees in the end, and whether texts came at most ten times a second.
Exits as COMMAND does.
"""
import os
import pty
import re
import subprocess
import sys
import time

leader, follower = pty.openpty()
process = subprocess.Popen(sys.argv[2:], stderr=follower, stdout=subprocess.DEVNULL, env=dict(os.environ, TERM=sys.argv[1]))
os.close(follower)
written, begin = b"", time.monotonic()
while True:
    try:
        piece = os.read(leader, 1 << 16)
    except OSError:  # the last one that had it open has closed it
        break
    if not piece:
        break
    written += piece
code, seconds = process.wait(), time.monotonic() - begin
texts = written.decode().split("\r\033[K")
for text in texts[1:]:
    print(text.rstrip())
# What the code takes away is not seen any more: the last text of each line counts.
seen = [line.rsplit("\r\033[K", 1)[-1].strip("\r") for line in written.decode().split("\n")]
print("lines that stay:", sum(bool(line) for line in seen))
print("at most 10 a second:", len(re.findall(r" of \d+ ", written.decode())) <= 10 * seconds + 1)
sys.exit(code)
