# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks that are added as the lowest float, as transformers writes them, against NumPy in double precision.

The lowest float is a number: a row in which every key has it is the mean of the values, as in PyTorch and ONNX Runtime; what is
beyond it in f32 is -inf, and a row of that alone is 0, as one without a live key. Usage: lowest_floats.py FOLDER SEED [OPTION...]
"""
import subprocess
import sys

import numpy as np

LOWEST = np.finfo(np.float32).min
folder, seed, options = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
random = np.random.default_rng(seed)
print("seed", seed)
BOUND = 2e-2 if any("bf16" in option for option in options) else 1e-5

SPEC = """attn 1
model Lowest {
  dim H = 2, E = 16
  dyn B <= 4, T <= 160, S <= 160
  param sink: [H]
  bias added(b, i, j) with input a: f32[B, T, S] = a[b, i.row, j.row]
  bias picked(b, i, j) with input a: f32[B, T, S] = if a[b, i.row, j.row] < 0 then -3.4028235e38 else 0.5
  entry plain(q: f32[B, T, H, E], k: f32[B, S, H, E], v: f32[B, S, H, E], a: f32[B, T, S]) -> o: f32[B, T, H, E] {
    return attend q over k, v along S { score scaled_dot bias added }
  }
  entry full(q: f32[B, T, H, E], k: f32[B, S, H, E], v: f32[B, S, H, E], a: f32[B, T, S]) -> o: f32[B, T, H, E], lse: f32[B, T, H], w: f32[B, T, H, S] {
    let o, l, w = attend q over k, v along S { score scaled_dot bias added return out, lse, weights }
    return o, l, w
  }
  entry sinks(q: f32[B, T, H, E], k: f32[B, S, H, E], v: f32[B, S, H, E], a: f32[B, T, S]) -> o: f32[B, T, H, E] {
    return attend q over k, v along S { score scaled_dot bias added weight softmax(sink = sink[h]) }
  }
  entry capped(q: f32[B, T, H, E], k: f32[B, S, H, E], v: f32[B, S, H, E], a: f32[B, T, S]) -> o: f32[B, T, H, E] {
    return attend q over k, v along S { score scaled_dot bias added cap 20 }
  }
  entry chosen(q: f32[B, T, H, E], k: f32[B, S, H, E], v: f32[B, S, H, E], a: f32[B, T, S]) -> o: f32[B, T, H, E] {
    return attend q over k, v along S { score scaled_dot bias picked mask causal }
  }
  entry step(q: f32[B, H, E], k: f32[B, S, H, E], v: f32[B, S, H, E], a: f32[B, T, S]) -> o: f32[B, H, E] {
    return attend q over k, v along S { score scaled_dot bias first_row }
  }
  entry sigmoids(q: f32[B, T, H, E], k: f32[B, S, H, E], v: f32[B, S, H, E], a: f32[B, T, S]) -> o: f32[B, T, H, E] {
    return attend q over k, v along S { score scaled_dot bias added weight sigmoid }
  }
}
"""
SPEC = SPEC.replace("  entry plain", "  bias first_row(b, j) with input a: f32[B, T, S] = a[b, 0, j.row]\n  entry plain", 1)


def mask_of(batch, queries, keys):
    """Kinds of rows: of keys that are dropped, all dropped, of sums beyond the lowest, near it, of -inf."""
    mask = np.where(random.random((batch, queries, keys)) < 0.4, LOWEST, 0).astype(np.float32)
    for row in mask.reshape(-1, keys):
        kind = random.integers(7)
        if kind == 1:
            row[:] = LOWEST
        elif kind == 2:
            row[:] = -np.inf
        elif kind == 3:
            row[:] = LOWEST
            row[random.integers(keys)] = np.float32(-2.5e38)  # which takes all the weight
        elif kind == 4:
            row[:] = -np.inf
            row[random.integers(keys)] = LOWEST
        elif kind == 5:
            row[:] = np.float32(-1e38)
    return mask


def softmax(scores, sink=None):
    largest = scores.max(-1, keepdims=True)
    if sink is not None:
        largest = np.maximum(largest, sink)
    largest = np.where(largest == -np.inf, 0, largest)
    weights = np.exp(scores - largest)
    total = weights.sum(-1, keepdims=True) + (0 if sink is None else np.exp(sink - largest))
    with np.errstate(divide="ignore"):
        return np.where(total > 0, weights / np.where(total > 0, total, 1), 0), (largest + np.log(total))[..., 0]


def expected(entry, q, k, v, a, sink):
    single = q.ndim == 3
    if single:
        q, a = q[:, None], a[:, :1]
    scores = np.einsum("bthe,bshe->bths", q.astype(float), k.astype(float)) / np.sqrt(q.shape[-1])
    added = a.astype(float)[:, :, None, :]
    if entry == "chosen":
        scores = scores + np.where(added < 0, float(LOWEST), 0.5)
        i, j = np.arange(q.shape[1])[:, None], np.arange(k.shape[1])
        scores = np.where((j <= i)[None, :, None, :], scores, -np.inf)
    else:
        with np.errstate(over="ignore"):
            scores = (scores + added).astype(np.float32).astype(float) if np.isfinite(added).all() else scores + added
    if entry == "capped":
        scores = 20 * np.tanh(scores / 20)
    if entry == "sigmoids":
        return [np.einsum("bths,bshe->bthe", 1 / (1 + np.exp(np.minimum(-scores, 700))), v)]
    weights, lse = softmax(scores, sink[None, None, :, None] if entry == "sinks" else None)
    out = np.einsum("bths,bshe->bthe", weights, v.astype(float))
    return [out[:, 0] if single else out] + ([lse, weights] if entry == "full" else [])


def write_safetensors(path, sink):
    import json
    header = json.dumps({"sink": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    header += b" " * (-len(header) % 8)
    open(path, "wb").write(len(header).to_bytes(8, "little") + header + sink.tobytes())


open(f"{folder}/lowest.attn", "w").write(SPEC)
subprocess.run(["attn", "compile", f"{folder}/lowest.attn", "--emit=shared", "-o", f"{folder}/lowest.so"] + options, check=True,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
sink = random.normal(size=2).astype(np.float32)
sink[1] = LOWEST if random.random() < 0.5 else sink[1]
write_safetensors(f"{folder}/sink.safetensors", sink)
worst = 0.0
for entry, outputs in [("plain", "o"), ("full", "o lse w"), ("sinks", "o"), ("capped", "o"), ("chosen", "o"), ("step", "o"), ("sigmoids", "o")]:
    for queries, keys in [(1, 1), (3, 7), (int(random.integers(40, 150)), int(random.integers(60, 160)))]:
        batch = int(random.integers(1, 4))
        if entry == "chosen":
            keys = queries
        shapes = {"q": (batch, 2, 16) if entry == "step" else (batch, queries, 2, 16), "k": (batch, keys, 2, 16), "v": (batch, keys, 2, 16)}
        given = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
        given["a"] = mask_of(batch, queries, keys)
        command = ["attn", "run", f"{folder}/lowest.so", "--entry", entry, "--weights", f"{folder}/sink.safetensors"]
        for name, value in given.items():
            np.save(f"{folder}/{name}.npy", value)
            command += ["--input", f"{name}={folder}/{name}.npy"]
        for name in outputs.split():
            command += ["--output", f"{name}={folder}/{name}.out.npy"]
        subprocess.run(command, check=True)
        wanted = expected(entry, *given.values(), sink.astype(float))
        for name, numbers in zip(outputs.split(), wanted):
            got = np.load(f"{folder}/{name}.out.npy").astype(float)
            finite = np.isfinite(numbers)
            assert (got[~finite] == numbers[~finite]).all(), (entry, name, queries, keys)
            scale = 1e38 if name == "lse" and np.abs(numbers[finite]).max(initial=0) > 1e30 else 1
            error = np.linalg.norm((got[finite] - numbers[finite]) / scale) / max(np.linalg.norm(numbers[finite] / scale), 1e-30)
            worst = max(worst, error)
            assert error < BOUND, (entry, name, queries, keys, error)
print(f"largest relative L2 error {worst:.1e}")
