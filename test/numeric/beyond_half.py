#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights with one large number at a random place, in each precision: what f16 would have to hold and cannot is an error that names the tensor and
the number; what it can, or need not, is computed as in f32. Infinities and NaN of the file stay what they are.

usage: beyond_half.py FOLDER"""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import run, write_weights

SPEC = """attn 1
model Big {
  dim V = 11, D = 40, F = 33
  dyn B <= 8
  embedding table: V -> D
  linear up: D -> F
  entry look(ids: i32[B]) -> [B, D] = table(ids)
  entry raise(x: f32[B, D]) -> [B, F] = up(x)
}
"""
# Precision, tensor, number, whether f16 has to hold it and cannot.
CASES = [("f16", "up.weight", 65519, False), ("f16", "up.weight", 65520, True), ("f16", "up.weight", -1e5, True), ("f16", "table.weight", 9e4, True),
         ("f16", "table.weight", -65519, False), ("bf16", "up.weight", 1e30, False), ("bf16", "table.weight", 1e30, False),
         ("f32", "up.weight", 1e30, False), ("int8", "table.weight", 9e4, True), ("int8", "up.weight", 1e9, False),
         ("int8_groups", "up.weight", 1e6, False), ("int8_groups", "up.weight", -1e7, True), ("int4", "up.weight", 1e5, False),
         ("int4", "up.weight", 1e8, True), ("int4", "table.weight", -7e4, True), ("f16", "up.weight", np.inf, False),
         ("f16", "table.weight", -np.inf, False), ("int4", "up.weight", np.nan, False), ("int8_groups", "up.weight", np.inf, False),
         ("f16", "up.weight", np.nan, False)]


def main():
    folder, = sys.argv[1:]
    rng = np.random.default_rng(8)
    clean = {"table.weight": rng.standard_normal((11, 40)), "up.weight": rng.standard_normal((33, 40))}
    programs = {}
    refused = 0
    os.makedirs(folder)
    spec = f"{folder}/big.attn"
    open(spec, "w").write(SPEC)
    ids, x = np.arange(8, dtype=np.int32), rng.standard_normal((8, 40)).astype(np.float32)
    for precision, tensor, number, isBeyond in CASES:
        weights = {name: value.copy() for name, value in clean.items()}
        place = tuple(int(rng.integers(size)) for size in weights[tensor].shape)
        weights[tensor][place] = number
        file = write_weights(folder, weights)
        if precision not in programs:
            programs[precision] = f"{folder}/{precision}"
            subprocess.run(["attn", "compile", spec, f"--precision={precision}", "-O0", "-o", programs[precision]], check=True, capture_output=True)
        entry, given = ("look", {"ids": ids}) if tensor == "table.weight" else ("raise", {"x": x})
        command = [programs[precision], "--entry", entry, "--weights", file]
        case = f"{precision}, {number} in {tensor}"
        if not isBeyond:
            got, = run(command, folder, given, [entry])
            value = weights[tensor].astype(np.float32)
            wanted = value[ids] if entry == "look" else x @ value.T
            same = np.isfinite(wanted) == np.isfinite(got)
            assert same.all() or not np.isfinite(number), case
            bound = {"f32": 1e-6, "bf16": 1e-2, "f16": 1e-3, "int8": 1e-2, "int8_groups": 1e-2, "int4": 0.1}[precision]
            if np.isfinite(number):
                assert np.abs(got - wanted).max() <= bound * np.abs(wanted).max(), case
            else:
                assert not np.isfinite(got).all() or (entry == "look" and place[0] >= 8), case
            continue
        refused += 1
        done = subprocess.run([*command, "--input", f"{'ids' if entry == 'look' else 'x'}=random"], capture_output=True, text=True)
        says = f"error[W0106]: the tensor `{tensor}` has a number as large as {abs(number):.6g}, and f16, in which it is kept, ends at 65504"
        assert done.returncode == 1 and says in done.stderr and "bf16" in done.stderr, f"{case}: {done.returncode}, {done.stdout}{done.stderr}"
        if refused > 3:
            continue
        embedded = ["attn", "compile", spec, f"--precision={precision}", "-O0", "--weights", file, "--embed-weights", "-o", f"{folder}/embedded"]
        done = subprocess.run(embedded, capture_output=True, text=True)
        assert done.returncode == 1 and says in done.stderr and not os.path.exists(f"{folder}/embedded"), f"{case}: {done.stderr}"
    print(f"{refused} numbers are beyond f16, {len(CASES) - refused} are not")


if __name__ == "__main__":
    main()
