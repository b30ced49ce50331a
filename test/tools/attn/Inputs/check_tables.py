# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the lines of `attn explain --memory` against its JSON. Usage: check_tables.py FOLDER with memory.txt and gpt2.json"""
import json
import os
import re
import sys

with open(os.path.join(sys.argv[1], "gpt2.json")) as file:
    frames = {frame["function"]: frame for frame in json.load(file)["targets"][0]["memory"]}
with open(os.path.join(sys.argv[1], "memory.txt")) as file:
    lines = file.read().splitlines()[1:]
UNITS = {"MB": 1e6, "kB": 1e3, "B": 1}
shown, function = {}, ""
for line in lines:
    size, unit, rest = re.match(r" +([\d.]+) ([MkB]+)  (.*)", line).groups()
    if re.match(r"  {0,3} *[\d.]+ [MkB]+  [A-Za-z.0-9]+$", line) and rest in frames:
        function = rest
        shown[function] = []
        assert abs(float(size) * UNITS[unit] / frames[function]["bytes"] - 1) < 0.01, line
    else:
        shown[function].append(float(size) * UNITS[unit])
assert set(shown) == {name for name, frame in frames.items() if frame["bytes"]}
for function, sizes in shown.items():
    buffers = sum(buffer["bytes"] for buffer in frames[function]["buffers"])
    assert abs(sum(sizes) / buffers - 1) < 0.01, function
    assert len(sizes) <= 9 and sizes[:8] == sorted(sizes[:8], reverse=True), function
