# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the intermediates of examples/self-attention with the printed worked example.

usage: self_attention.py unscaled|scaled TAPS.safetensors
"""
import json
import struct
import sys

import numpy as np

K = [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
Q = [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
V = [[1, 2, 3], [2, 8, 0], [2, 6, 3]]
tables = {
    "unscaled": {
        "K": K, "Q": Q, "V": V,
        "out": [[1.936621, 6.683105, 1.595068], [1.999994, 7.963992, 0.053976], [1.999705, 7.759892, 0.358389]],
    },
    "scaled": {
        "K": K, "Q": Q, "V": V,
        "out": [[1.863874, 6.319371, 1.704189], [1.999110, 7.814124, 0.273472], [1.992555, 7.479636, 0.735877]],
    },
}


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32"
        tensors[name] = np.frombuffer(data[8 + length + begin:8 + length + end], "<f4").reshape(entry["shape"])
    return tensors


expected, got = tables[sys.argv[1]], read(sys.argv[2])
assert sorted(got) == sorted(expected), f"{sorted(got)} instead of {sorted(expected)}"
for name, table in expected.items():
    error = np.abs(got[name] - np.array(table)).max()
    assert error <= 1e-5, f"{name} differs by {error}:\n{got[name]}"
    print(f"{name} as printed, to {error:.1e}")
