#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens, positions and dtypes of compiled models against NumPy in double precision.

Each case writes a spec with random sizes, weights and inputs, runs it and compares. The seed is printed with what differs.
"""
import argparse
import sys

import numpy as np

from measured import measured
from program import Failed, optimised, result_names, run, write_model


class Case:
    """A spec with its weights and inputs, and what its entry `run` must give."""

    def __init__(self, rng, spec, inputs, expected, weights=None, bound=2e-6):
        self.spec, self.inputs, self.weights = spec, inputs, weights or {}
        self.expected, self.bound, self.error = expected, bound, 0.0

    def run(self, folder, flags):
        names = result_names("run", len(self.expected))
        model = write_model(folder, "attn 1\nmodel Case {\n" + self.spec + "}\n", self.weights)
        try:
            given = run(["attn", "run", *model, *optimised(flags)], folder, self.inputs, names)
        except Failed as failed:
            return str(failed)
        for name, got, wanted in zip(names, given, self.expected):
            if got.shape != wanted.shape:
                return f"{name} is {got.shape}, expected {wanted.shape}"
            if wanted.dtype.kind in "ib" or wanted.dtype == np.float16:
                if got.dtype != wanted.dtype or not np.array_equal(got, wanted, equal_nan=wanted.dtype.kind == "f"):
                    return f"{name} differs: {got.dtype} {got.ravel()[:4]}, expected {wanted.dtype} {wanted.ravel()[:4]}"
                continue
            error = np.abs(got.astype(np.float64) - wanted).max() / np.abs(wanted).max()
            if not error <= self.bound:
                return f"{name} differs by {error:.2e} of its largest element, bound {self.bound:.0e}"
            self.error = max(self.error, error)
        return None


def odd(rng, low, high):
    return int(rng.integers(low, high))


def bfloat(x):
    """f32 rounded to bf16, to the nearest even."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def half_in_and_out(rng):
    B, D = odd(rng, 1, 40), odd(rng, 1, 150)
    x = (rng.standard_normal((B, D)) * 10.0 ** rng.integers(-9, 5, (B, D))).astype(np.float16)
    x.ravel()[:4] = [np.inf, -0.0, np.nan, 6e-8][: min(4, x.size)]
    y = x.astype(np.float32) * np.float32(1.7)
    spec = f"dim D = {D}\ndyn B <= 64\nentry run(x: f16[B, D]) -> f16[B, D] {{ return 1.7 * x }}\n"
    return Case(rng, spec, {"x": x}, [y.astype(np.float16)])


def bfloat_in_and_out(rng):
    B, D = odd(rng, 1, 40), odd(rng, 1, 150)
    x = bfloat(rng.standard_normal((B, D)))
    spec = f"dim D = {D}\ndyn B <= 64\nentry run(x: bf16[B, D], y: f32[D]) -> bf16[B, D] {{ return x + y }}\n"
    y = rng.standard_normal(D).astype(np.float32)
    case = Case(rng, spec, {"x": x, "y": y}, [bfloat(x + y).astype(np.float64)], bound=0)
    return case


def moved_integers(rng):
    B, T, N = odd(rng, 1, 6), odd(rng, 2, 40), odd(rng, 1, 9)
    a = rng.integers(-(2**31), 2**31, (B, T, N)).astype(np.int32)
    b = rng.integers(-(2**62), 2**62, (T, N)).astype(np.int64)
    c = rng.integers(0, 2, (B, N)).astype(bool)
    spec = f"""dim T = {T}, N = {N}
dyn B <= 9
entry run(a: i32[B, T, N], b: i64[T, N], c: bool[B, N]) -> i32[B, N], i64[N, T], bool[N, B], i32[T*N, B] {{
  return last(T, a), b, c, split(a, "b t n -> (t n) b")
}}
"""
    return Case(rng, spec, {"a": a, "b": b, "c": c}, [a[:, -1], b.T, c.T, a.reshape(B, T * N).T])


def embedding(rng):
    V, D, B, T = odd(rng, 1, 90), odd(rng, 1, 700), odd(rng, 1, 5), odd(rng, 1, 30)
    P = T + odd(rng, 0, 20)
    dtype = rng.choice([np.int32, np.int64])
    ids = rng.integers(0, V, (B, T)).astype(dtype)
    ids[0, 0] = V - 1
    wte, wpe = rng.standard_normal((V, D)), rng.standard_normal((P, D))
    word = "i32" if dtype == np.int32 else "i64"
    spec = f"""dim V = {V}, D = {D}, P = {P}
dyn B <= 8, T <= {P}
embedding wte: V -> D
embedding wpe: P -> D
linear head: D -> V = tied(wte)
entry run(ids: {word}[B, T]) -> [B, T, D], [B, T, V], i32[T] {{
  let x = wte(ids) + wpe(positions(T))
  return x, head(x), positions(T)
}}
"""
    wte, wpe = wte.astype(np.float32), wpe.astype(np.float32)
    x = wte.astype(float)[ids] + wpe.astype(float)[:T]
    return Case(rng, spec, {"ids": ids}, [x, x @ wte.astype(float).T, np.arange(T, dtype=np.int32)],
                {"wte.weight": wte, "wpe.weight": wpe}, bound=4e-6)


def embedding_in_stack(rng):
    """Every layer looks its own rows up; indices pass through the stack."""
    V, D, B, T, L = odd(rng, 2, 50), odd(rng, 1, 90), odd(rng, 1, 4), odd(rng, 1, 20), 3
    ids = rng.integers(0, V, (B, T)).astype(np.int64)
    x = rng.standard_normal((B, T, D)).astype(np.float32)
    tables = rng.standard_normal((L, V, D)).astype(np.float32)
    spec = f"""dim V = {V}, D = {D}, L = {L}, T = {T}
dyn B <= 8
stack layers: L of Layer
block Layer(x: [B, T, D], ids: i64[B, T]) -> [B, T, D] {{
  embedding rows: V -> D
  return x + rows(ids)
}}
entry run(x: [B, T, D], ids: i64[B, T]) -> [B, T, D] {{ return layers(x, ids) }}
"""
    weights = {f"layers.{n}.rows.weight": tables[n] for n in range(L)}
    return Case(rng, spec, {"x": x, "ids": ids}, [x + tables.astype(float)[:, ids].sum(0)], weights)


def sinusoid(T, D, exponent):
    t, c = np.arange(T)[:, None].astype(float), np.arange(D)[None, :]
    angle = t / 10000.0 ** exponent(c)
    return np.where(c % 2 == 0, np.sin(angle), np.cos(angle))


def sinusoidal(rng):
    """Vaswani et al.; the exponent of c itself, as notes have it; sines before cosines, as in tensor2tensor."""
    D, T, B = 2 * odd(rng, 1, 90), odd(rng, 1, 60), odd(rng, 1, 4)
    x = rng.standard_normal((B, T, D)).astype(np.float32)
    spec = f"""dim D = {D}, M = D / 2
dyn B <= 4, T <= {T + odd(rng, 0, 9)}
table paper[t: T, c: D] = if c % 2 == 0 then sin(t / 10000 ** (c / D)) else cos(t / 10000 ** ((c - 1) / D))
table plain[t: T, c: D] = if c % 2 == 0 then sin(t / 10000 ** (c / D)) else cos(t / 10000 ** (c / D))
table parts[t: T, c: D] = if c < M then sin(t * exp(-log(10000) * c / max(M - 1, 1))) else cos(t * exp(-log(10000) * (c - M) / max(M - 1, 1)))
entry run(x: [B, T, D]) -> [B, T, D], [B, T, D], [B, T, D] {{ return x + paper, plain + x, x * parts }}
"""
    paper = sinusoid(T, D, lambda c: (c - c % 2) / D)
    plain = sinusoid(T, D, lambda c: c / D)
    M = D // 2
    step = np.exp(-np.log(10000) * np.arange(M) / max(M - 1, 1))
    angle = np.arange(T)[:, None] * step
    parts = np.concatenate([np.sin(angle), np.cos(angle)], 1)
    return Case(rng, spec, {"x": x}, [x + paper, x + plain, x * parts])


def concatenated(rng):
    """The position beside the embedding."""
    V, D, W, T, B = odd(rng, 1, 50), odd(rng, 1, 60), odd(rng, 1, 20), odd(rng, 1, 30), odd(rng, 1, 4)
    if W == D:
        W += 1
    ids = rng.integers(0, V, (B, T)).astype(np.int32)
    wte = rng.standard_normal((V, D)).astype(np.float32)
    spec = f"""dim V = {V}, D = {D}, W = {W}, C = D + W
dyn B <= 4, T <= 40
embedding wte: V -> D
table pos[t: T, c: W] = cos(t * (c + 1) / W)
entry run(ids: i32[B, T]) -> [B, T, C] {{ return pack(C, wte(ids), pos) }}
"""
    pos = np.cos(np.arange(T)[:, None] * (np.arange(W) + 1) / W)
    both = np.concatenate([wte.astype(float)[ids], np.broadcast_to(pos, (B, T, W))], 2)
    return Case(rng, spec, {"ids": ids}, [both], {"wte.weight": wte})


def packed_rows(rng):
    """A token before, between and behind rows whose number is known only when running."""
    T, B, D = odd(rng, 1, 50), odd(rng, 1, 5), odd(rng, 1, 60)
    x, y = (rng.standard_normal((B, T, D)).astype(np.float32) for _ in "xy")
    cls = rng.standard_normal((1, D)).astype(np.float32)
    spec = f"""dim D = {D}
dyn B <= 5, T <= {T + odd(rng, 0, 9)}
param cls: [1, D]
entry run(x: [B, T, D], y: [B, T, D]) -> [B, 1 + T, D], [B, 2*T + 2, D], [B, T + 1, D] {{
  let first = pack(1 + T, cls, tanh(x))
  return 2 * first, pack(2*T + 2, x, cls, y + x, cls), pack(T + 1, y, cls) + 1
}}
"""
    rows = lambda x: x.astype(float)
    one = np.broadcast_to(cls, (B, 1, D))
    wanted = [2 * np.concatenate([one, np.tanh(rows(x))], 1), np.concatenate([x, one, rows(x) + y, one], 1),
              np.concatenate([rows(y), one], 1) + 1]
    return Case(rng, spec, {"x": x, "y": y}, wanted, {"cls": cls})


def truncated(rng):
    """Sequences of any length, cut to N tokens or padded to them by a null token, which no query sees."""
    V, D, N, B = odd(rng, 3, 50), odd(rng, 1, 40), odd(rng, 2, 40), odd(rng, 1, 5)
    n = rng.integers(1, 2 * N, B).astype(np.int32)
    n[0] = 2 * N
    ids = rng.integers(1, V, (B, N)).astype(np.int32)
    ids[np.arange(N) >= n[:, None]] = 0
    wte = rng.standard_normal((V, D)).astype(np.float32)
    spec = f"""dim V = {V}, D = {D}, N = {N}
dyn B <= 5
embedding wte: V -> D
mask there(b, j) with input ids: i32[B, N] = ids[b, j] != 0
entry run(ids: i32[B, N]) -> [B, N, D] {{
  let x = wte(ids)
  return attend x over x, x along N as S {{ mask there }}
}}
"""
    x = wte.astype(float)[ids]
    s = np.where((ids != 0)[:, None], x @ x.swapaxes(1, 2) / np.sqrt(D), -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return Case(rng, spec, {"ids": ids}, [p / p.sum(-1, keepdims=True) @ x], {"wte.weight": wte}, bound=1e-5)


def two_dimensional(rng):
    Y, X, D, B = odd(rng, 2, 9), odd(rng, 2, 12), 4 * odd(rng, 1, 30), odd(rng, 1, 4)
    if Y == X:
        X += 1
    x = rng.standard_normal((B, Y, X, D)).astype(np.float32)
    rows, columns = rng.standard_normal((Y, D)).astype(np.float32), rng.standard_normal((X, D)).astype(np.float32)
    spec = f"""dim Y = {Y}, X = {X}, D = {D}, M = D / 2
dyn B <= 4
table pos[y: Y, x: X, c: D] = if c < M then (if c % 2 == 0 then sin(y / 100 ** (c / M)) else cos(y / 100 ** ((c - 1) / M)))
  else (if c % 2 == 0 then sin(x / 100 ** ((c - M) / M)) else cos(x / 100 ** ((c - M - 1) / M)))
embedding rows: Y -> D
embedding columns: X -> D
entry run(x: [B, Y, X, D]) -> [B, Y, X, D], [B, Y*X, D] {{
  return x + rows(positions(Y)) + columns(positions(X)), split(x, "b y x d -> b (y x) d") + split(pos, "y x d -> (y x) d")
}}
"""
    M = D // 2
    halves = lambda n: sinusoid(n, M, lambda c: (c - c % 2) / M * np.log(100) / np.log(10000))
    pos = np.concatenate([np.broadcast_to(halves(Y)[:, None], (Y, X, M)), np.broadcast_to(halves(X)[None], (Y, X, M))], 2)
    learnt = x.astype(float) + rows.astype(float)[:, None] + columns.astype(float)[None]
    return Case(rng, spec, {"x": x}, [learnt, (x + pos).reshape(B, Y * X, D)],
                {"rows.weight": rows, "columns.weight": columns})


def turned(x, frequencies, interleaved):
    """x: [B, T, H, E] with pairs turned."""
    return turned_by(x, np.arange(x.shape[1])[None, :, None, None] * frequencies, interleaved)


def turned_by(x, angle, interleaved):
    """x: [..., E] with pairs turned by angles [..., E/2]."""
    E = x.shape[-1]
    cos, sin, x = np.cos(angle), np.sin(angle), x.astype(float)
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., : E // 2], x[..., E // 2 :])
    a, b = a * cos - b * sin, b * cos + a * sin
    if not interleaved:
        return np.concatenate([a, b], -1)
    return np.stack([a, b], -1).reshape(x.shape)


def llama3(frequencies, factor, low, high, length):
    wave = 2 * np.pi / frequencies
    smooth = (length / wave - low) / (high - low)
    between = (1 - smooth) * frequencies / factor + smooth * frequencies
    return np.where(wave < length / high, frequencies, np.where(wave > length / low, frequencies / factor, between))


def remainders(rng):
    """a % b of f32 has the sign of b; quotients that are whole numbers are among them."""
    B, D = odd(rng, 1, 5), odd(rng, 2, 60)
    x = (rng.integers(-400, 400, (B, D)) / 8).astype(np.float32)
    y = (rng.integers(1, 30, (B, D)) / 4 * rng.choice([-1, 1], (B, D))).astype(np.float32)
    spec = f"""dim D = {D}
dyn B <= 5
entry run(x: [B, D], y: [B, D]) -> [B, D], [B, D], [B, D] {{ return x % 3, x % (0 - 1.25), x % y }}
"""
    return Case(rng, spec, {"x": x, "y": y}, [np.mod(x, 3.0), np.mod(x, -1.25), np.mod(x, y)], bound=1e-6)


def rotary(rng):
    B, T, H, E = odd(rng, 1, 4), odd(rng, 1, 70), odd(rng, 1, 5), 2 * odd(rng, 1, 50)
    interleaved, base = bool(rng.integers(2)), float(rng.choice([10000, 500000, 100]))
    x = rng.standard_normal((B, T, H, E)).astype(np.float32)
    plain = base ** (-2 * np.arange(E // 2) / E)
    scale = [8, 1, 4, int(rng.integers(20, 500))]
    style = "interleaved" if interleaved else "half"
    spec = f"""dim H = {H}, E = {E}
dyn B <= 4, T <= 80
entry run(x: [B, T, H, E]) -> [B, T, H, E], [B, T, H, E], [B, H, T, E] {{
  return rotary(x, T, {style}, base = {base:.0f}), rotary(x, T, {style}, base = {base:.0f}, factor = 8, low_freq_factor = 1, high_freq_factor = 4, original_length = {scale[3]}),
    rotary(split(x, "b t h e -> b h t e"), T, {style}, base = {base:.0f}, factor = 2)
}}
"""
    near = turned(x, plain / 2, interleaved).transpose(0, 2, 1, 3)
    return Case(rng, spec, {"x": x}, [turned(x, plain, interleaved), turned(x, llama3(plain, *scale), interleaved), near])


def rotary_by_angles(rng):
    """A part of the features, by angles of two axes, of a table and of positions that the caller gives."""
    B, Y, X, H = odd(rng, 1, 4), odd(rng, 1, 9), odd(rng, 1, 9), odd(rng, 1, 5)
    E, pairs = odd(rng, 2, 90), 0
    pairs = odd(rng, 1, E // 2 + 1)
    interleaved = bool(rng.integers(2))
    style = "interleaved" if interleaved else "half"
    x = rng.standard_normal((B, Y, X, H, E)).astype(np.float32)
    at = rng.integers(0, 50, (B, X)).astype(np.int32)
    spec = f"""dim H = {H}, E = {E}, Y = {Y}, X = {X}, P = {pairs}, F = 2 * P
dyn B <= 4
table grid[y: Y, x: X, p: P] = (if p % 2 == 0 then y else x) / 100 ** (floor(p / 2) / P)
table frequency[p: P] = 1 / 1000 ** (p / P)
entry run(x: [B, Y, X, H, E], at: i32[B, X]) -> [B, Y, X, H, E], [B, Y, X, H, E], [B, Y, X, H, E] {{
  let moved = repeat(float(at), P) * frequency
  return rotary(x, {style}, features = F, angles = grid), rotary(x, {style}, features = F, angles = moved),
    rotary(x, X, {style}, features = F, base = 100)
}}
"""
    p = np.arange(pairs)
    y_or_x = np.where(p % 2 == 0, np.arange(Y)[:, None, None], np.arange(X)[None, :, None])
    grid = y_or_x / 100.0 ** (p // 2 / pairs)
    moved = at[:, :, None] / 1000.0 ** (p / pairs)
    plain = np.arange(X)[:, None] * 100.0 ** (-p / pairs)

    def first(angles):
        return np.concatenate([turned_by(x[..., : 2 * pairs], angles, interleaved), x[..., 2 * pairs :]], -1)

    wanted = [first(grid[:, :, None]), first(moved[:, None, :, None]), first(plain[:, None])]
    return Case(rng, spec, {"x": x, "at": at}, wanted, bound=1e-5)


def rotary_attention(rng):
    """Positions where they are used: in a causal self-attention."""
    B, T, H, E = odd(rng, 1, 3), odd(rng, 1, 100), odd(rng, 1, 4), 2 * odd(rng, 1, 33)
    D = odd(rng, 8, 60)
    interleaved = bool(rng.integers(2))
    x = rng.standard_normal((B, T, D)).astype(np.float32)
    w = {n: (rng.standard_normal((H * E, D)) / np.sqrt(D)).astype(np.float32) for n in "qkv"}
    style = "interleaved" if interleaved else "half"
    spec = f"""dim D = {D}, H = {H}, E = {E}, T = {T}
dyn B <= 3
linear q, k, v: D -> H, E
entry run(x: [B, T, D]) -> [B, T, H, E] {{
  return attend rotary(q(x), T, {style}) over rotary(k(x), T, {style}), v(x) along T as S {{ mask causal }}
}}
"""
    q, k, v = (np.einsum("btd,hd->bth", x, w[n].astype(float)).reshape(B, T, H, E) for n in "qkv")
    frequencies = 10000.0 ** (-2 * np.arange(E // 2) / E)
    q, k = turned(q, frequencies, interleaved), turned(k, frequencies, interleaved)
    s = np.einsum("bqhe,bkhe->bhqk", q, k) / np.sqrt(E)
    s = np.where(np.tril(np.ones((T, T), bool)), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    y = np.einsum("bhqk,bkhe->bqhe", p, v)
    return Case(rng, spec, {"x": x}, [y], {f"{n}.weight": w[n] for n in "qkv"}, bound=1e-5)


def resized(rng):
    """Learnt positions at the places of another grid, against PyTorch."""
    import torch

    (Y0, X0), (Y, X), D, B = rng.integers(2, 17, 2), rng.integers(1, 25, 2), odd(rng, 1, 70), odd(rng, 1, 3)
    word = str(rng.choice(["bilinear", "bicubic"]))
    pos = rng.standard_normal((Y0, X0, D)).astype(np.float32)
    x = rng.standard_normal((B, Y * X, D)).astype(np.float32)
    spec = f"""dim Y0 = {Y0}, X0 = {X0}, Y = {Y}, X = {X}, D = {D}
dyn B <= 3
param pos: [Y0, X0, D]
entry run(x: [B, Y*X, D]) -> [B, Y*X, D] {{ return x + split(resize(pos, {word}, Y0 = Y, X0 = X), "y x d -> (y x) d") }}
"""
    grid = torch.from_numpy(pos.astype(float)).permute(2, 0, 1)[None]
    grid = torch.nn.functional.interpolate(grid, (int(Y), int(X)), mode=word, align_corners=False)[0].permute(1, 2, 0)
    return Case(rng, spec, {"x": x}, [x + grid.reshape(Y * X, D).numpy()], {"pos": pos}, bound=4e-6)


CASES = [half_in_and_out, bfloat_in_and_out, moved_integers, embedding, embedding_in_stack, sinusoidal, concatenated, packed_rows, truncated,
         two_dimensional, remainders, rotary, rotary_by_angles, rotary_attention, resized]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only")
    options, flags = parser.parse_known_args()
    failures = 0
    for round_ in range(options.rounds):
        for n, make in enumerate(CASES):
            if options.only and make.__name__ != options.only:
                continue
            rng = np.random.default_rng([options.seed, round_, n])
            with np.errstate(all="ignore"):
                case = make(rng)
                problem = case.run(options.folder, flags)
            measured(make.__name__, case.error)
            if problem:
                print(f"{make.__name__}, seed {options.seed}, round {round_}: {problem}")
                failures += 1
    print(f"{failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
