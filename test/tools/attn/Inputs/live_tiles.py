# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations under masks, by what `attn explain` says of tiles, by `attn bench`, and pair by pair. Usage: live_tiles.py FOLDER SEED"""
import json
import random
import re
import subprocess
import sys

folder, draw = sys.argv[1], random.Random(int(sys.argv[2]))
print("seed", sys.argv[2])
MASKS = {
    "causal": lambda i, j: j <= i,
    "causal and window(70, 0)": lambda i, j: j <= i and i - j <= 70,
    "causal and (window(40, 0) or j < 4)": lambda i, j: j <= i and (i - j <= 40 or j < 4),
    "round": lambda i, j: (i - j + 512) % 512 < 60,
}
SPEC = """attn 1
use std.masks
model M {{
  dim H = 2, E = 16
  dyn B <= 3, T <= 900
  mask round(i, j) = (i - j + 512) % 512 < 60
  entry run(q: [B, T, H, E], k: [B, T, H, E], v: [B, T, H, E]) -> [B, T, H, E] {{
    return attend q over k, v along T as S {{ score scaled_dot mask {mask} }}
  }}
}}
"""


def attn(*words):
    return subprocess.run(["attn", *words], capture_output=True, text=True, check=True).stdout


for mask, is_live in MASKS.items():
    batch, length = draw.randrange(1, 4), draw.randrange(200, 500)
    path = f"{folder}/live.attn"
    open(path, "w").write(SPEC.format(mask=mask))
    sizes = [f"--set-size=B={batch}", f"--set-size=T={length}"]
    said = attn("explain", path, *sizes)
    rows, columns, empty, full, tested = map(int, re.search(r"of (\d+) x (\d+) tiles (\d+) are empty, (\d+) full, (\d+) tested", said).groups())
    number, unit = re.search(r"tested; ([\d.]+) ([kMG])FLOP", said).groups()
    assert f"at B = {batch}, T = {length}" in said, said
    # Blocks of queries begin at vectors of 16, divided evenly; tiles of keys follow each other.
    vectors, starts = -(-length // 16), []
    for block in range(rows):
        starts.append(vectors * block // rows * 16)
    starts.append(length)
    width = int(re.search(r"weights waiting for those of (\d+) keys", said)[1] if "waiting" in said else re.search(r"live strips of (\d+) keys", said)[1])
    assert -(-length // width) == columns, (length, width, columns)
    counts, pairs = [0, 0, 0], 0
    for begin, end in zip(starts, starts[1:]):
        for key in range(0, length, width):
            last = min(key + width, length)
            live = [is_live(i, j) for i in range(begin, end) for j in range(key, last)]
            counts[0 if not any(live) else 1 if all(live) else 2] += 1
            pairs += (end - begin) * (last - key) * any(live)
    assert counts[0] == empty and counts[1] == full, (mask, length, counts, empty, full, tested)
    flop = batch * 2 * pairs * 2 * (16 + 16)
    assert abs(float(number) * {"k": 1e3, "M": 1e6, "G": 1e9}[unit] / flop - 1) < 0.01, (number, unit, flop)
    benched = json.loads(attn("bench", path, *sizes, "--repeat", "1", "--profile", "--json"))
    (kernel,) = [own for own in benched["kernels"] if "attention" in own["kernel"]]
    assert kernel["flop_counts"] == benched["flop_counts"] == "live tiles" and abs(kernel["flop"] / flop - 1) < 1e-9, (kernel, flop)
    assert benched["flop"] == kernel["flop"], benched

# What an artifact does not know is said.
attn("compile", f"{folder}/live.attn", "--emit=shared", "-o", f"{folder}/live.so", "-O0")
text = attn("bench", f"{folder}/live.so", *sizes, "--repeat", "1", "--profile")
assert "operations under masks are counted as if dense" in text and text.count(", as if dense\n") == 1, text
