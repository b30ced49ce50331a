# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors with NaN, infinities and outliers: what `attn check --values` says of them against NumPy. Usage: check_values.py FOLDER"""
import json
import re
import subprocess
import sys

import numpy as np

folder = sys.argv[1]
random = np.random.default_rng(5)
tensors = {"plain.weight": random.normal(0, 0.02, (64, 40)).astype(np.float32), "wide.weight": random.normal(3, 2, (1100, 1024)).astype(np.float32),
           "half.weight": random.normal(0, 1, (7, 9)).astype(np.float16)}
tensors["plain.weight"][5, 6] = 4
tensors["wide.weight"][1033, 17] = np.nan  # in the second piece that is read
tensors["wide.weight"][1090, 3] = -np.inf
header, data = {}, b""
for name, value in tensors.items():
    kind = {"float32": "F32", "float16": "F16"}[value.dtype.name]
    header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [len(data), len(data) + value.nbytes]}
    data += value.tobytes()
text = json.dumps(header).encode()
open(f"{folder}/m.safetensors", "wb").write(len(text).to_bytes(8, "little") + text + data)
open(f"{folder}/m.attn", "w").write("""attn 1
model M {
  dim A = 40, C = 64, D = 1024, F = 1100, G = 9, K = 7
  linear plain: A -> C
  linear wide: D -> F
  linear half: G -> K
  entry run(x: [A], y: [D], z: [G]) -> [C], [F], [K] {
    return plain(x), wide(y), half(z)
  }
}
""")
said = subprocess.run(["attn", "check", f"{folder}/m.attn", "--weights", f"{folder}/m.safetensors", "--values"], capture_output=True, text=True, check=True).stdout
lines = {line.split()[0].strip("`"): line for line in said.split("deviation\n")[1].splitlines()}
for name, value in tensors.items():
    finite = value[np.isfinite(value)].astype(float)
    numbers = [float(number) for number in lines[name].split()[1:5]]
    wanted = [finite.min(), finite.max(), finite.mean(), finite.std()]
    assert np.allclose(numbers, wanted, atol=6e-5), (name, numbers, wanted)
assert "outliers 4 at [5, 6]" in lines["plain.weight"], lines
assert "1 of 1126400 NaN  1 of 1126400 infinite, first at [1033, 17]" in lines["wide.weight"], lines
assert "outliers" not in lines["half.weight"] and "NaN" not in lines["half.weight"], lines
assert "1 tensor holds NaN or infinities, the first is `wide.weight`" in said or re.search("1 tensor holds .*wide.weight", said), said
