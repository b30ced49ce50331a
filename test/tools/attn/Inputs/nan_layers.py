# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stack of layers with NaN in one row of one layer's weights, drawn by a seed: FOLDER SEED. Prints the value that has it first."""
import json
import random
import sys

import numpy as np

folder, seed = sys.argv[1], int(sys.argv[2])
draw, layers, width = random.Random(seed), 4, 8
layer, first = draw.randrange(layers), draw.choice(["a", "b"])
numbers, tensors = np.random.default_rng(seed), {}
for n in range(layers):
    for name in "ab":
        weight = numbers.normal(0, width**-0.5, (width, width)).astype(np.float32)
        if (n, name) == (layer, first):
            weight[draw.randrange(width)] = np.nan
        tensors[f"layers.{n}.{name}.weight"] = weight
header, data = {}, b""
for name, value in tensors.items():
    header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + value.nbytes]}
    data += value.tobytes()
text = json.dumps(header).encode()
open(f"{folder}/nan.safetensors", "wb").write(len(text).to_bytes(8, "little") + text + data)
open(f"{folder}/nan.attn", "w").write("""attn 1
model M {
  dim D = 8, L = 4
  dyn B <= 4
  stack layers: L of Layer
  block Layer(x: [B, D]) -> [B, D] {
    linear a, b: D -> D
    let p = a(x)
    let r = b(tanh(p))
    return x + r
  }
  entry run(x: [B, D]) -> y: [B, D] {
    return layers(x)
  }
}
""")
print(f"layers.{layer}.{'p' if first == 'a' else 'r'}")
