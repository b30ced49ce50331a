# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds what `attn verify --each-tap` says of the models of nan_layers.py against where the NaN was put: FOLDER SEED..."""
import re
import subprocess
import sys

here, folder = sys.argv[0].rsplit("/", 1)[0], sys.argv[1]
for seed in sys.argv[2:]:
    first = subprocess.run(["/usr/bin/python3", f"{here}/nan_layers.py", folder, seed], capture_output=True, text=True, check=True).stdout.strip()
    done = subprocess.run(["attn", "verify", f"{folder}/nan.attn", "--weights", f"{folder}/nan.safetensors", "--each-tap"], capture_output=True, text=True)
    said = re.search(r"in the order of computing: `([^`]*)` of", done.stdout)
    assert said and said[1] == first, (seed, first, done.stdout)
    lines = [line.split() for line in done.stdout.splitlines() if "B = 3" in line and "max abs" in line]
    names = [line[4] for line in lines]
    assert names == [f"layers.{n}.{tap}" for n in range(4) for tap in "pr"] + ["y"], names
    begun = False
    for text in done.stdout.splitlines():
        if "B = 3" not in text or "max abs" not in text:
            continue
        begun |= text.split()[4] == first
        assert ("NaN" in text) == begun, (first, text)
    # The last layers have nothing but NaN: that proves nothing.
    assert done.returncode == (3 if "nothing left to compare" in done.stdout else 0), (done.returncode, done.stdout)
