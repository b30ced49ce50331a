# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes GGUF files, and reads their blocks as ggml's definitions say, in float32 and in no hurry."""
import struct

import numpy as np

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10


def halves(raw):
    return np.frombuffer(raw.tobytes(), np.float16).astype(np.float32).reshape(-1, 1)


def nibbles(q):
    """[blocks, n] bytes: the low halves of all, then the high halves."""
    return np.concatenate([q & 15, q >> 4], 1).astype(np.int64)


def bits(h):
    """[blocks, 4] bytes: their 32 bits, the lowest first."""
    return np.unpackbits(h, axis=1, bitorder="little").astype(np.int64)


def f32(x):
    with np.errstate(over="ignore"):  # of MXFP4's largest scales
        return np.asarray(x, np.float32)


def groups(b):
    """Scales and minima of eight groups, packed into 12 bytes: six bits each."""
    s = b.astype(np.int64)
    low, high = s[:, :4], s[:, 4:8]
    scales = np.concatenate([low & 63, (s[:, 8:] & 15) | (low >> 6) << 4], 1)
    minima = np.concatenate([high & 63, (s[:, 8:] >> 4) | (high >> 6) << 4], 1)
    return scales, minima


def k_codes(q):
    """[blocks, 128] bytes: each 32 of them hold two groups of 32, low halves first."""
    q = q.reshape(len(q), 4, 32)
    return np.stack([q & 15, q >> 4], 2).reshape(len(q), 8, 32).astype(np.int64)


def k_values(b, codes):
    scales, minima = groups(b[:, 4:16])
    d, m = f32(halves(b[:, :2]) * f32(scales)), f32(halves(b[:, 2:4]) * f32(minima))
    return f32(f32(d[..., None] * f32(codes)) - m[..., None]).reshape(len(b), 256)


def q5_k(b):
    fifth = np.unpackbits(b[:, 16:48, None], axis=2, bitorder="little").transpose(0, 2, 1).astype(np.int64)
    return k_values(b, k_codes(b[:, 48:]) + 16 * fifth)


def q6_k(b):
    low = b[:, :128].reshape(-1, 2, 64).astype(np.int64)
    four = np.concatenate([low & 15, low >> 4], 2)
    high = b[:, 128:192].reshape(-1, 2, 32).astype(np.int64)
    two = np.concatenate([high >> s & 3 for s in (0, 2, 4, 6)], 2)
    codes = (four | two << 4).reshape(-1, 16, 16) - 32
    scales = f32(halves(b[:, 208:]) * f32(b[:, 192:208].view(np.int8)))
    return f32(scales[..., None] * f32(codes)).reshape(-1, 256)


def mxfp4(b):
    codes = f32([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])[nibbles(b[:, 1:])]
    scale = np.where(b[:, :1] == 255, np.nan, np.ldexp(1.0, b[:, :1].astype(int) - 127))
    return f32(scale * codes)


def two_bits(q):
    """[blocks, 32 * n] bytes: each 32 of them hold 128 codes, low bits first."""
    q = q.reshape(len(q), -1, 1, 32)
    return (q >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3).reshape(len(q), -1).astype(np.int64)


def each(scales, count):
    return np.repeat(scales, count, axis=1)


def q2_k(b):
    d, m, s = halves(b[:, 80:82]), halves(b[:, 82:84]), b[:, :16]
    return f32(f32(each(f32(d * f32(s & 15)), 16) * f32(two_bits(b[:, 16:80]))) - each(f32(m * f32(s >> 4)), 16))


def q3_k(b):
    third = np.unpackbits(b[:, :32, None], axis=2, bitorder="little").transpose(0, 2, 1).reshape(-1, 256).astype(np.int64)
    low = np.concatenate([b[:, 96:104] & 15, b[:, 96:104] >> 4], 1).astype(np.int64)
    high = np.concatenate([b[:, 104:108] >> s & 3 for s in (0, 2, 4, 6)], 1).astype(np.int64)
    steps = f32(halves(b[:, 108:]) * f32((low | high << 4) - 32))
    return f32(each(steps, 16) * f32(two_bits(b[:, 32:96]) - np.where(third == 1, 0, 4)))


UNEVEN = f32([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])


def iq4_xs(b):
    high = b[:, 2:4].copy().view("<u2").astype(np.int64)
    low = np.stack([b[:, 4:8] & 15, b[:, 4:8] >> 4], 2).reshape(len(b), 8).astype(np.int64)
    scales = f32(halves(b[:, :2]) * f32((low | (high >> 2 * np.arange(8) & 3) << 4) - 32))
    codes = np.concatenate([nibbles(b[:, 8 + 16 * j:24 + 16 * j]) for j in range(8)], 1)
    return f32(each(scales, 32) * UNEVEN[codes])


def tq1_0(b):
    """Five digits of base 3 in a byte, which is their fraction of 243, rounded up, of 256."""
    parts = []
    for first, last, digits in ((0, 32, 5), (32, 48, 5), (48, 52, 4)):
        q = b[:, first:last].astype(np.int64)
        parts += [(q * 3 ** n % 256) * 3 // 256 for n in range(digits)]
    return f32(f32(np.concatenate(parts, 1) - 1) * halves(b[:, 52:]))


# Number of the type, elements and bytes of a block, where its scales of 16 bits stand, and how it is read.
FORMATS = {
    "Q4_0": (2, 32, 18, (0,), lambda b: f32(halves(b[:, :2]) * f32(nibbles(b[:, 2:]) - 8))),
    "Q4_1": (3, 32, 20, (0, 2), lambda b: f32(f32(halves(b[:, :2]) * f32(nibbles(b[:, 4:]))) + halves(b[:, 2:4]))),
    "Q5_0": (6, 32, 22, (0,), lambda b: f32(halves(b[:, :2]) * f32((nibbles(b[:, 6:]) | bits(b[:, 2:6]) << 4) - 16))),
    "Q5_1": (7, 32, 24, (0, 2), lambda b: f32(f32(halves(b[:, :2]) * f32(nibbles(b[:, 8:]) | bits(b[:, 4:8]) << 4)) + halves(b[:, 2:4]))),
    "Q8_0": (8, 32, 34, (0,), lambda b: f32(halves(b[:, :2]) * f32(b[:, 2:].view(np.int8)))),
    "Q4_K": (12, 256, 144, (0, 2), lambda b: k_values(b, k_codes(b[:, 16:]))),
    "Q5_K": (13, 256, 176, (0, 2), q5_k),
    "Q6_K": (14, 256, 210, (208,), q6_k),
    "MXFP4": (39, 32, 17, (), mxfp4),
    "Q2_K": (10, 256, 84, (80, 82), q2_k),
    "Q3_K": (11, 256, 110, (108,), q3_k),
    "IQ4_NL": (20, 32, 18, (0,), lambda b: f32(halves(b[:, :2]) * UNEVEN[nibbles(b[:, 2:])])),
    "IQ4_XS": (23, 256, 136, (0,), iq4_xs),
    "TQ1_0": (34, 256, 54, (52,), tq1_0),
    "TQ2_0": (35, 256, 66, (64,), lambda b: f32(f32(two_bits(b[:, :64]) - 1) * halves(b[:, 64:]))),
}


def draw(rng, name, shape, spread=None):
    """Random blocks of a format, and what they are. Codes are any; scales are any finite ones, or such that elements are about `spread`."""
    _, elements, size, scales, read = FORMATS[name]
    b = rng.integers(0, 256, (int(np.prod(shape)) // elements, size), dtype=np.uint8)
    for at in scales:
        value = rng.standard_normal(len(b)).astype(np.float16)
        b[:, at:at + 2] = value.view(np.uint8).reshape(-1, 2)
    if not scales:
        b[:, 0] = rng.integers(100, 130, len(b)) if spread else rng.permutation(np.arange(len(b)) % 256)
    if spread:
        root = np.sqrt((read(b).astype(np.float64) ** 2).mean())
        for at in scales:
            value = (halves(b[:, at:at + 2]) * (spread / root)).astype(np.float16)
            b[:, at:at + 2] = value.view(np.uint8).reshape(-1, 2)
        if not scales:
            b[:, 0] = 127 + int(np.log2(spread / 3))
    return b.tobytes(), read(b).reshape(shape)


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value_bytes(value):
    """A value as a file has it; bytes are such already."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return struct.pack("<IB", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value)
    if isinstance(value, float):
        return struct.pack("<If", F32, value)
    if isinstance(value, str):
        return struct.pack("<I", STRING) + text(value)
    kind, pack = (STRING, text) if isinstance(value[0], str) else (F32, lambda x: struct.pack("<f", x)) if isinstance(value[0], float) else (
        I32, lambda x: struct.pack("<i", x))
    return struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(map(pack, value))


def write_gguf(path, values, tensors):
    """`tensors`: by name, an array of float32 or float16, or (format, shape, bytes)."""
    head, body, size = b"", [], 0
    for name, tensor in tensors.items():
        if isinstance(tensor, np.ndarray):
            number, shape, data = {np.dtype(np.float32): 0, np.dtype(np.float16): 1}[tensor.dtype], tensor.shape, tensor.tobytes()
        else:
            number, shape, data = FORMATS[tensor[0]][0], tensor[1], tensor[2]
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), number, size)
        body += [data, b"\0" * (-len(data) % 32)]
        size += len(data) + len(body[-1])
    start = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(text(k) + value_bytes(v) for k, v in values.items()) + head
    with open(path, "wb") as file:
        file.writelines([start, b"\0" * (-len(start) % 32), *body])
