# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized tensors as AutoGPTQ, AutoAWQ, transformers' fp8 and GPT-OSS write them: made from codes that are drawn, so that nothing here decodes."""
import json
import os
import struct

import numpy as np

NAMES = {"float32": "F32", "float16": "F16", "int32": "I32", "uint8": "U8"}


def write_shards(folder, tensors, shards=1):
    """`tensors`: {name: array, or (dtype, array of bytes)}, dealt to the shards in turn, so that codes and their scales are apart."""
    mapping, files = {}, [f"model-{n + 1:05}-of-{shards:05}.safetensors" for n in range(shards)]
    for n, file in enumerate(files if shards > 1 else ["model.safetensors"]):
        header, offset, own = {}, 0, dict(list(tensors.items())[n::shards])
        for name, value in own.items():
            dtype, value = value if isinstance(value, tuple) else (NAMES[str(value.dtype)], value)
            header[name] = {"dtype": dtype, "shape": value.shape, "data_offsets": [offset, offset + value.nbytes]}
            offset += value.nbytes
            mapping[name] = file
        text = json.dumps(header).encode()
        with open(os.path.join(folder, file), "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            for value in own.values():
                out.write((value[1] if isinstance(value, tuple) else value).tobytes())
    if shards > 1:
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as out:
            json.dump({"metadata": {}, "weight_map": mapping}, out)


def words(codes, bits):
    """Codes along the last axis, without holes, the lowest bits of a word first."""
    stream = (codes[..., None] >> np.arange(bits) & 1).reshape(*codes.shape[:-1], -1, 32)
    return (stream.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(-1).astype(np.uint32).view(np.int32)


def scales(rng, shape, spread):
    return (rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape) * spread).astype(np.float16)


def gptq(rng, shape, bits=4, group=32, order=False, zeros="less one", spread=1.0):
    out, size = shape
    count, middle = size // group, 1 << (bits - 1)
    q = rng.integers(0, 1 << bits, shape)
    s = scales(rng, (count, out), spread / middle)
    stored = {"less one": rng.integers(0, 1 << bits, (count, out)), "kept": rng.integers(0, 1 << bits, (count, out)),
              "middle": np.full((count, out), middle), "middle less one": np.full((count, out), middle - 1)}[zeros]
    z = stored + (zeros.endswith("less one"))
    g = rng.permutation(np.arange(size) // group) if order else np.arange(size) // group
    value = (q - z[g].T) * s[g].T.astype(np.float64)
    parts = {".qweight": np.ascontiguousarray(words(q, bits).T), ".qzeros": words(stored, bits), ".scales": s}
    if order:
        parts[".g_idx"] = g.astype(np.int32)
    return ".weight", parts, value.astype(np.float32)


def awq(rng, shape, group=32, spread=1.0):
    out, size = shape
    q, z = rng.integers(0, 16, (size, out)), rng.integers(0, 16, (size // group, out))
    s = scales(rng, (size // group, out), spread / 8)

    def pack(codes):
        packed = np.zeros((len(codes), out // 8), np.uint32)
        for place, column in enumerate([0, 2, 4, 6, 1, 3, 5, 7]):
            packed |= (codes[:, column::8] << (4 * place)).astype(np.uint32)
        return packed.view(np.int32)

    g = np.arange(size) // group
    value = ((q - z[g]) * s[g].astype(np.float64)).T
    return ".weight", {".qweight": pack(q), ".qzeros": pack(z), ".scales": s}, value.astype(np.float32)


def floats(exponents, mantissas, infinities=False):
    """What each code of a small float is, by the definition: (-1)^s 2^(e - bias) 1.m, 2^(1 - bias) 0.m where e is 0."""
    code, bias = np.arange(1 << (1 + exponents + mantissas)), (1 << (exponents - 1)) - 1
    m, e, s = code & ((1 << mantissas) - 1), code >> mantissas & ((1 << exponents) - 1), code >> (exponents + mantissas)
    part = m / (1 << mantissas)
    value = np.where(e == 0, np.ldexp(part, 1 - bias), np.ldexp(1 + part, e - bias))
    last = e == (1 << exponents) - 1
    if infinities:
        value = np.where(last, np.where(m == 0, np.inf, np.nan), value)
    elif bias > 1:
        value = np.where(last & (m == (1 << mantissas) - 1), np.nan, value)
    return np.where(s == 1, -value, value)


E4M3, E5M2, E2M1 = floats(4, 3), floats(5, 2, infinities=True), floats(2, 1)


def fp8(rng, shape, kind="E4M3", blocks="blocks", suffix="_scale_inv", spread=None):
    table = {"E4M3": E4M3, "E5M2": E5M2}[kind]
    code = rng.integers(0, 256, shape).astype(np.uint8)
    if spread:  # numbers alone, and small ones
        code = rng.choice(np.flatnonzero(np.abs(table) <= 4), shape).astype(np.uint8)
    parts = {".weight": ("F8_" + kind, code)}
    value = table[code]
    size = {"blocks": tuple(-(-n // 128) for n in shape), "rows": (shape[0], 1), "vector": (shape[0],), "one": (), "list": (1,), "none": None}[blocks]
    if size is not None:
        s = (rng.uniform(0.5, 1.5, size) * (spread or 1.0)).astype(np.float32)
        parts[".weight" + suffix] = np.asarray(s)
        whole = np.asarray(s).reshape(-1, 1) if blocks in ("rows", "vector") else np.asarray(s)
        if blocks == "blocks":
            whole = np.repeat(np.repeat(s, 128, 0), 128, 1)[:shape[0], :shape[1]]
        with np.errstate(invalid="ignore"):
            value = value * whole.astype(np.float64)
    with np.errstate(over="ignore"):
        return ".weight", parts, value.astype(np.float32)


def mxfp4(rng, shape, spread=None):
    """Pairs of codes in a byte, the first in its low half; all powers of two, NaN among them."""
    code = rng.integers(0, 16, shape)
    count = int(np.prod(shape)) // 32
    e = np.full(count, 127 + int(np.log2(spread / 3))) if spread else rng.permutation(np.arange(count) % 256)
    with np.errstate(over="ignore", invalid="ignore"):
        s = np.where(e == 255, np.nan, np.ldexp(1.0, e - 127)).reshape(*shape[:-1], -1, 1)
        value = (E2M1[code].reshape(*shape[:-1], -1, 32) * s).reshape(shape).astype(np.float32)
    pairs = (code[..., 0::2] | code[..., 1::2] << 4).astype(np.uint8).reshape(*shape[:-1], -1, 16)
    return ".weight", {".weight_blocks": pairs, ".weight_scales": e.astype(np.uint8).reshape(*shape[:-1], -1)}, value
