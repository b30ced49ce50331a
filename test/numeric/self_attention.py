# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the intermediates of examples/self-attention with the printed worked example.

usage: self_attention.py unscaled|scaled TAPS.safetensors
"""
import sys

import numpy as np

from measured import measured
from safetensors_file import read

K = [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
Q = [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
V = [[1, 2, 3], [2, 8, 0], [2, 6, 3]]
products = np.array([[2, 4, 4], [4, 16, 12], [4, 12, 10]])
softmax = [[6.337894e-02, 4.683105e-01, 4.683105e-01], [6.033665e-06, 9.820079e-01, 1.798610e-02],
           [2.953872e-04, 8.805369e-01, 1.191677e-01]]
exponentials = np.exp(products / np.sqrt(3))
tables = {
    "unscaled": {
        "K": K, "Q": Q, "V": V, "scores": products, "weights": softmax,
        "out": [[1.936621, 6.683105, 1.595068], [1.999994, 7.963992, 0.053976], [1.999705, 7.759892, 0.358389]],
    },
    "scaled": {
        "K": K, "Q": Q, "V": V, "scores": products / np.sqrt(3),
        "weights": exponentials / exponentials.sum(1, keepdims=True),
        "out": [[1.863874, 6.319371, 1.704189], [1.999110, 7.814124, 0.273472], [1.992555, 7.479636, 0.735877]],
    },
}

expected, got = tables[sys.argv[1]], read(sys.argv[2])
assert sorted(got) == sorted(expected), f"{sorted(got)} instead of {sorted(expected)}"
for name, table in expected.items():
    error = np.abs(got[name] - np.array(table)).max()
    assert error <= 1e-5, f"{name} differs by {error}:\n{got[name]}"
    measured(name, error)
    print(f"{name} as printed, to {error:.1e}")
