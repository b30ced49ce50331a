# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the loops of `attn explain --json` against the operations of kernels, and against themselves. Usage: check_loops.py EXAMPLES FOLDER"""
import json
import os
import subprocess
import sys

examples, folder = sys.argv[1:]
MASKED = """attn 1
use std.masks
model M {
  dim H = 2, E = 16
  dyn B <= 3, T <= 900
  entry run(q: [B, T, H, E], k: [B, T, H, E], v: [B, T, H, E]) -> [B, T, H, E] {
    return attend q over k, v along T as S { score scaled_dot mask causal and window(70, 0) }
  }
  entry all(q: [B, T, H, E], k: [B, T, H, E], v: [B, T, H, E], live: bool[B, T]) -> [B, T, H, E] {
    return attend q over k, v along T as S { score scaled_dot mask live[b, j] }
  }
}
"""


def kernels_of(path, *options):
    run = subprocess.run(["attn", "explain", path, *options, "--json"], capture_output=True, text=True, check=True)
    return {kernel["function"]: kernel for target in json.loads(run.stdout)["targets"] for kernel in target["kernels"]}


def check(boxes, runs):
    """A body runs all turns each time, and operations add up. What is alike beside each other is one box."""
    for box in boxes:
        if box.get("trips") is not None and box["runs"] is not None:
            assert box["runs"] % box["trips"] == 0, box
        if "body" in box:
            known = [inner.get("flop", 0) for inner in box["body"]]
            if None not in known and box.get("flop") is not None:
                assert box["loop"] == "case" or box["flop"] == sum(known), box
            check(box["body"], box["runs"])


def share(kernel):
    """What loops say of what the kernel takes."""
    check(kernel["loops"], 1)
    return sum(box.get("flop", 0) for box in kernel["loops"]) / kernel["flop"]


def tiles(boxes):
    for box in boxes:
        yield from tiles(box["body"]) if "body" in box else [box]


gpt2 = os.path.join(examples, "language", "gpt2.attn")
for level in "x86-64-v3", "x86-64-v4", "avx512bf16", "neon":
    kernels = kernels_of(gpt2, f"--target={level}", "--set-size=B=2", "--set-size=T=64", "--set-size=kv=128")
    assert all(kernel["loops"] for kernel in kernels.values()), level
    for kernel in kernels.values():
        if kernel["facts"]["kind"] in ("linear", "attention"):
            assert 0.98 < share(kernel) < 1.1, (level, kernel["function"], share(kernel))
        else:
            check(kernel["loops"], 1)
for precision in "bf16", "int8", "int4":
    for level in "x86-64-v3", "amx":
        for kernel in kernels_of(gpt2, f"--target={level}", f"--precision={precision}", "--set-size=B=4", "--set-size=T=64").values():
            if kernel["facts"]["kind"] == "linear" and kernel["facts"]["rows"] >= 64:  # tile registers hold 16
                assert 0.95 < share(kernel) < 1.1, (level, precision, kernel["function"], share(kernel))

path = os.path.join(folder, "masked.attn")
with open(path, "w") as file:
    file.write(MASKED)
masked = kernels_of(path, "--target=x86-64-v3")
# Those of a mask that is judged when compiling are the live tiles; what is not is counted as if all were live.
assert masked["run.run"]["flop_counts"] == "live tiles" and 1 <= share(masked["run.run"]) < 1.1, share(masked["run.run"])
assert masked["all.all"]["flop_counts"] == "as if dense" and 1 <= share(masked["all.all"]) < 1.1, share(masked["all.all"])
assert {tile["part"] for tile in tiles(masked["run.run"]["loops"])} == {"score", "weight", "values"}
assert any(tile["text"].startswith("tail: ") for tile in tiles(masked["run.run"]["loops"]))

# Turns that are no longer those of the bounds: of one row there is one.
small = kernels_of(gpt2, "--target=x86-64-v3", "--set-size=B=1")
assert "4 rows x 16 columns x 768" not in {tile["text"] for tile in tiles(small["Gpt2Layer.1.mlp.c_fc.2"]["loops"])}
size = len(subprocess.run(["attn", "explain", gpt2, "--json"], capture_output=True, check=True).stdout)
assert size < 150_000, size
