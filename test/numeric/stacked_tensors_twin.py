#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stacks of several tensors against NumPy in double precision: two streams, a state of each layer, what layers gave, causal
convolutions whose first rows are those of the call before, and rows at places that are computed of numbers."""
import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measured import measured
from twins import compare, normal
from windows_twin import between

BOUND = 1e-5  # relative L2


def mapped(x, weights, name):
    return x @ weights[f"{name}.weight"].astype(np.float64).T


def streams(rng):
    """Two tensors that both change, of layers that take turns, beside one that stays."""
    B, Q, D, P, L = (between(rng, 1, most) for most in (3, 6, 20, 5, 7))
    x, box, memory = normal(rng, B, Q, D), normal(rng, B, Q, P), normal(rng, B, D)
    w, y, z = {}, x.astype(np.float64), box.astype(np.float64)
    for n in range(L):
        w |= {f"layers.{n}.a.weight": normal(rng, D, D, scale=D ** -0.5), f"layers.{n}.b.weight": normal(rng, P, D, scale=D ** -0.5)}
        y = np.tanh(y + mapped(y, w, f"layers.{n}.a") * (1 + n % 2) + memory[:, None])
        z = z + mapped(y, w, f"layers.{n}.b")
    spec = f"""attn 1
model Case {{
  dim D = {D}, P = {P}, L = {L}
  dyn B <= 4, Q <= 8
  stack layers: L of Layer(more = n % 2)
  block Layer(x: [B, Q, D], box: [B, Q, P], memory: [B, D]; more) -> [B, Q, D], [B, Q, P] {{
    linear a: D -> D
    linear b: D -> P
    let y = tanh(x + a(x) * (1 + more) + memory)
    return y, box + b(y)
  }}
  entry run(x: [B, Q, D], box: [B, Q, P], memory: [B, D]) -> y: [B, Q, D], moved: [B, Q, P] = layers(x, box, memory)
}}
"""
    return spec, w, {"x": x, "box": box, "memory": memory}, {"y": y, "moved": z}


def states(rng):
    """A causal convolution in each layer, whose first rows are the last ones of the call before."""
    B, T, C, L = (between(rng, 1, most) for most in (3, 9, 20, 5))
    K = between(rng, 2, 5)
    x, past = normal(rng, B, T, C), normal(rng, L, B, K - 1, C)
    w, y, kept = {}, x.astype(np.float64), []
    for n in range(L):
        w[f"layers.{n}.conv.weight"] = normal(rng, C, K)
        taps = w[f"layers.{n}.conv.weight"].astype(np.float64)
        rows = np.concatenate([past[n].astype(np.float64), y], 1)
        kept.append(rows[:, T:])
        y = y + np.tanh(sum(rows[:, k:k + T] * taps[:, k] for k in range(K)))
    alone = np.concatenate([np.zeros((B, K - 1, C)), x], 1)
    alone = sum(alone[:, k:k + T] * w["layers.0.conv.weight"].astype(np.float64)[:, k] for k in range(K))
    spec = f"""attn 1
model Case {{
  dim C = {C}, L = {L}, K = {K}, J = K - 1
  dyn B <= 4, T <= 9
  dim TJ = T + J
  stack layers: L of Layer
  linear first: K -> _ along C = "layers.0.conv"
  block Layer(x: [B, T, C], past: [B, J, C]) -> [B, T, C], [B, J, C] {{
    linear conv: K -> _ along C
    let all = pack(TJ, past, x)
    return x + tanh(conv(windows(all, TJ = T as K))), slice(all, TJ from T to TJ as J)
  }}
  entry run(x: [B, T, C], past: [L, B, J, C]) -> y: [B, T, C], kept: [L, B, J, C], alone: [B, T, C] {{
    let y, rows = layers(x, past)
    return y, rows, first(windows(x, T as K, pad = (J, 0)))
  }}
}}
"""
    return spec, w, {"x": x, "past": past}, {"y": y, "kept": np.stack(kept), "alone": alone}


def kept(rng):
    """What each layer gave, of which a head reads two; the last layer of all is a state and a result."""
    B, D, L = between(rng, 1, 4), between(rng, 1, 20), between(rng, 2, 6)
    x, w = normal(rng, B, D), {}
    y, all_ = x.astype(np.float64), []
    for n in range(L):
        w[f"layers.{n}.a.weight"] = normal(rng, D, D, scale=D ** -0.5)
        y = y + np.tanh(mapped(y, w, f"layers.{n}.a"))
        all_.append(y)
    first, last = 0, L - 1
    spec = f"""attn 1
model Case {{
  dim D = {D}, L = {L}
  dyn B <= 4
  stack layers: L of Layer
  block Layer(x: [B, D]) -> [B, D], [B, D] {{
    linear a: D -> D
    let y = x + tanh(a(x))
    return y, y
  }}
  entry run(x: [B, D]) -> all: [L, B, D], sum: [B, D] {{
    let y, all = layers(x)
    return all, pick(all, L at {first}) + pick(all, L at {last}) * y
  }}
}}
"""
    return spec, w, {"x": x}, {"all": np.stack(all_), "sum": all_[first] + all_[last] * y}


def places(rng):
    """Rows at places that numbers say: towards zero, and of what is none or beyond all places."""
    B, N, D, Q = (between(rng, 1, most) for most in (3, 40, 9, 30))
    x, at = normal(rng, B, N, D), (rng.standard_normal((B, Q)) * N).astype(np.float32)
    special = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, -0.9, 0.9, 2147483520.0], np.float32)
    at.flat[:min(at.size, special.size)] = special[:min(at.size, special.size)]
    whole = np.clip(np.trunc(np.nan_to_num(at.astype(np.float64), nan=0, posinf=2147483520, neginf=-2147483648)), -2147483648, 2147483520)
    index = np.clip(whole, 0, N - 1).astype(int)
    spec = f"""attn 1
model Case {{
  dim N = {N}, D = {D}
  dyn B <= 4, Q <= 40
  entry run(x: [B, N, D], at: [B, Q]) -> rows: [B, Q, D], whole: i32[B, Q] {{
    return pick(x, N at min(max(int(at), 0), N - 1)), int(at)
  }}
}}
"""
    return spec, {}, {"x": x, "at": at}, {"rows": np.take_along_axis(x, index[:, :, None], 1), "whole": whole}


def uneven(rng):
    """Layers of which some have another width under the same name, or a map that others lack: any of them, those that take turns, or the
    first ones; in a stack of stacks, too."""
    B, D, L, S = between(rng, 1, 4), between(rng, 1, 20), between(rng, 2, 9), between(rng, 1, 3)
    P, Q = between(rng, 1, 9), between(rng, 10, 20)
    period, first = between(rng, 2, 4), between(rng, 1, L)
    which = [rng.random(L) < 0.5, np.arange(L) % period == period - 1, np.arange(L) < first][between(rng, 0, 2)]
    condition = " or ".join(f"n == {n}" for n in range(L) if which[n]) or "n < 0"
    x, w = normal(rng, B, D), {}
    y = x.astype(np.float64)
    for s in range(S):
        for n in range(L):
            p, width = f"stages.{s}.layers.{n}.", P if which[n] else Q
            w |= {p + "mlp.up.weight": normal(rng, width, D, scale=D ** -0.5), p + "mlp.down.weight": normal(rng, D, width, scale=width ** -0.5)}
            y = y + mapped(np.tanh(mapped(y, w, p + "mlp.up")), w, p + "mlp.down")
            if which[n]:
                w[p + "more.weight"] = normal(rng, D, D, scale=D ** -0.5)
                y = y + np.tanh(mapped(y, w, p + "more"))
    spec = f"""attn 1
model Case {{
  dim D = {D}, P = {P}, Q = {Q}, L = {L}, S = {S}
  dyn B <= 4
  stack stages: S of Stage
  block Stage(x: [B, D]) -> [B, D] {{
    stack layers: L of Layer(isWide = {condition})
    return layers(x)
  }}
  block Mlp[W](x: [B, D]) -> [B, D] {{
    linear up: D -> W
    linear down: W -> D
    return down(tanh(up(x)))
  }}
  block Layer(x: [B, D]; isWide = true) -> [B, D] {{
    part mlp: Mlp[W: P] if isWide
    part mlp: Mlp[W: Q] if not isWide
    linear more: D -> D if isWide
    let y = x + mlp(x)
    return if isWide then y + tanh(more(y)) else y
  }}
  entry run(x: [B, D]) -> y: [B, D] = stages(x)
}}
"""
    return spec, w, {"x": x}, {"y": y}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--target", default="native")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    print(f"seed {options.seed}")
    flags = [f"--target={options.target}"] + ([f"--threads={options.threads}"] if options.threads else [])
    for number in range(options.rounds):
        for index, kind in enumerate([streams, states, kept, places, uneven]):
            rng = np.random.default_rng([options.seed, number, index])
            error = compare(options.folder, *kind(rng), BOUND, flags)
            measured(kind.__name__, error)
            print(f"{kind.__name__}: {error:.1e}")


if __name__ == "__main__":
    main()
