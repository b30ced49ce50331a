# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what the worked example computes with, beside this file: self_attention.safetensors (the three matrices, stored
as [in, out]) and x.npy (the three tokens). Needs NumPy only."""
import json
import os
import struct

import numpy as np

tokens = [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]
matrices = {
    "key.weight": [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
    "query.weight": [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
    "value.weight": [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]],
}

folder = os.path.dirname(os.path.abspath(__file__))
np.save(os.path.join(folder, "x.npy"), np.array(tokens, np.float32))

header, data = {}, b""
for name, rows in matrices.items():
    array = np.array(rows, "<f4")
    header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
    data += array.tobytes()
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(os.path.join(folder, "self_attention.safetensors"), "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
