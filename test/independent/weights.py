# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints in the safetensors format, read and written, and bf16, which NumPy lacks."""
import json
import struct

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?"}


def to_bf16(array):
    """f32 -> the 16 bits of the nearest bf16, ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def rounded(array, dtype):
    """What is left of numbers that were kept as f32, f16 or bf16, in double precision."""
    with np.errstate(over="ignore"):
        if dtype == "bf16":
            return from_bf16(to_bf16(np.asarray(array, np.float32))).astype(np.float64)
        return np.asarray(array).astype(np.float16 if dtype == "f16" else np.float32).astype(np.float64)


def read_checkpoint(path):
    """name -> array, f32 in double precision: parameters are f32 whatever the checkpoint holds."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = np.frombuffer(data[8 + length + begin:8 + length + end], DTYPES[entry["dtype"]])
        raw = from_bf16(raw) if entry["dtype"] == "BF16" else raw.astype(np.float32)
        tensors[name] = raw.reshape(entry["shape"]).astype(np.float64)
    return tensors


def write_checkpoint(path, tensors):
    """`tensors` is name -> (dtype of the file, array of f32)."""
    header, blobs, place = {}, [], 0
    for name, (dtype, array) in tensors.items():
        kept = to_bf16(array) if dtype == "BF16" else np.asarray(array).astype(DTYPES[dtype])
        blob = kept.tobytes()
        header[name] = {"dtype": dtype, "shape": list(np.shape(array)), "data_offsets": [place, place + len(blob)]}
        place += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


class Checkpoint:
    """The tensors of a file."""

    def __init__(self, path):
        self.tensors, self.read = read_checkpoint(path), set()

    def get(self, name, shape):
        self.read.add(name)
        return self.tensors.get(name)


class Drawn:
    """Tensors that are drawn when they are asked for, each from the seed and its name. `made` is what to write."""

    def __init__(self, seed, dtypes=("F32",)):
        self.seed, self.dtypes, self.made, self.tensors = seed, dtypes, {}, {}

    def get(self, name, shape):
        if name not in self.tensors:
            rng = np.random.default_rng([self.seed, *name.encode()])
            values = rng.standard_normal(shape)
            if len(shape) >= 2:
                values /= np.sqrt(np.prod(shape[1:]))
            else:
                values = 0.1 * values + (1 if name.endswith("weight") else 0)
            dtype = self.dtypes[rng.integers(len(self.dtypes))]
            self.made[name] = dtype, values.astype(np.float32)
            self.tensors[name] = rounded(values.astype(np.float32), dtype.lower())
        return self.tensors[name]
