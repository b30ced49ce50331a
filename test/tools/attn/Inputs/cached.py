# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command and says what it did with the folder of compiled specs.

usage: cached.py FOLDER COMMAND...

Sets the times of access of all entries of FOLDER back, runs COMMAND, and prints `miss` where an entry is new or was replaced, `hit`
where one was read, else `none`. Exits as COMMAND does.
"""
import os
import pathlib
import subprocess
import sys


def entries(folder):
    return {path.name: path.lstat() for path in folder.glob("llvmcache-*")} if folder.is_dir() else {}


folder = pathlib.Path(sys.argv[1])
for name, info in entries(folder).items():
    os.utime(folder / name, ns=(0, info.st_mtime_ns), follow_symlinks=False)
before = entries(folder)
code = subprocess.run(sys.argv[2:], env=dict(os.environ, ATTN_CACHE_DIR=str(folder), ATTN_CACHE_SIZE="1g")).returncode
after = entries(folder)
if any(name not in before or before[name].st_ino != info.st_ino for name, info in after.items()):
    print("miss")
else:
    print("hit" if any(info.st_atime_ns for info in after.values()) else "none")
sys.exit(code)
