#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stacks in the blocks of stacks against NumPy in double precision: names of tensors with two numbers and three, parameters that
some of the stacks share, statics of either number, and caches with keys and values of each pair of layers."""
import argparse
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compiled_model import Model
from measured import measured
from program import write_weights
from twins import Wrong, compare, normal, relative_l2
from windows_twin import between

BOUND = 1e-5  # relative L2: up to thirty maps with residuals


def exact(weights, name):
    return weights[name].astype(np.float64)


def rms(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight


def silu(x):
    return x / (1 + np.exp(-x))


def stages(rng):
    """Stages of blocks, with statics of both numbers, a parameter of each stage, and one that its blocks share; the first row."""
    B, T, D, F, L, M = (between(rng, 1, most) for most in (3, 7, 20, 50, 4, 4))
    x, w = normal(rng, B, T, D), {}
    y = x.astype(np.float64)
    for i in range(L):
        w |= {f"stages.{i}.scale": normal(rng, D) * 0.2 + np.float32(1), f"stages.{i}.gate.weight": normal(rng, D, D, scale=D ** -0.5)}
        for j in range(M):
            at = f"stages.{i}.blocks.{j}"
            w |= {f"{at}.norm.weight": normal(rng, D), f"{at}.up.weight": normal(rng, F, D, scale=D ** -0.5),
                  f"{at}.up.bias": normal(rng, F), f"{at}.down.weight": normal(rng, D, F, scale=F ** -0.5)}
            n = rms(y, exact(w, f"{at}.norm.weight"))
            hidden = n @ exact(w, f"{at}.up.weight").T + exact(w, f"{at}.up.bias")
            hidden = silu(hidden) if (i + j) % 2 else np.maximum(hidden, 0)
            y = y + (hidden @ exact(w, f"{at}.down.weight").T + n @ exact(w, f"stages.{i}.gate.weight").T) * (0.5 if j == 1 else 1)
        y = y * exact(w, f"stages.{i}.scale")
    spec = f"""attn 1
model Case {{
  dim D = {D}, F = {F}, L = {L}, M = {M}
  dyn B <= 4, T <= 9
  stack stages: L of Stage(odd = n % 2)
  block Stage(x: [B, T, D]; odd) -> [B, T, D] {{
    param scale: [D]
    stack blocks: M of Block(bend = (n + odd) % 2 == 1, part = if n == 1 then 0.5 else 1)
    return blocks(x) * scale
  }}
  block Block(x: [B, T, D]; bend, part) -> [B, T, D] {{
    rmsnorm norm: D eps 1e-6
    linear up: D -> F bias
    linear down: F -> D
    linear gate: D -> D = "{{stages}}.gate.{{weight|bias}}"
    let n = norm(x)
    let h = if bend then silu(up(n)) else relu(up(n))
    return x + (down(h) + gate(n)) * part
  }}
  entry run(x: [B, T, D]) -> y: [B, T, D], head: [B, D] {{
    let y = stages(x)
    return y, first(T, stages(x))
  }}
}}
"""
    return spec, w, {"x": x}, {"y": y, "head": y[:, 0]}


def shared(rng):
    """Three stacks in each other, of which one may have layers that are all the same: it has no number in names."""
    B, D, *counts = (between(rng, 1, most) for most in (4, 30, 3, 3, 3))
    which = int(rng.integers(0, 4))
    x, w = normal(rng, B, D), {}
    y = x.astype(np.float64)
    for numbers in np.ndindex(*counts):
        own = ["same" if place == which else f"{word}{n}" for place, (word, n) in enumerate(zip("abc", numbers))]
        name = "net." + ".".join(own) + ".map.weight"
        if name not in w:
            w[name] = normal(rng, D, D, scale=D ** -0.5)
        y = y + np.tanh(y @ exact(w, name).T)
    of = ["shared " if place == which else "" for place in range(3)]
    path = ["same" if place == which else word + "{n}" for place, word in enumerate("abc")]
    spec = f"""attn 1
model Case {{
  dim D = {D}
  dyn B <= 4
  stack first: {counts[0]} of {of[0]}First = "net.{path[0]}"
  block First(x: [B, D]) -> [B, D] {{
    stack second: {counts[1]} of {of[1]}Second = "{path[1]}"
    return second(x)
  }}
  block Second(x: [B, D]) -> [B, D] {{
    stack third: {counts[2]} of {of[2]}Third = "{path[2]}"
    return third(x)
  }}
  block Third(x: [B, D]) -> [B, D] {{
    linear map: D -> D
    return x + tanh(map(x))
  }}
  entry run(x: [B, D]) -> y: [B, D] = first(x)
}}
"""
    return spec, w, {"x": x}, {"y": y}


DECODER = """attn 1
model Decoder {{
  dim D = {D}, E = {E}, L = {L}, M = {M}
  dyn B <= 4
  cache kv capacity 12
  stack groups: L of Group
  block Group[T](x: [B, T, D], kv: cache) -> [B, T, D] {{
    stack layers: M of {shared}Layer
    return layers(x, kv)
  }}
  block Layer[T](x: [B, T, D], kv: cache) -> [B, T, D] {{
    linear q, k, v: D -> E
    linear o: E -> D
    let keys, values = kv.push(k(x), v(x)) along T as S
    return x + o(attend q(x) over keys, values along S {{ score scaled_dot  mask causal }})
  }}
  forward[T](x: [B, T, D], kv: cache) -> [B, T, D] = groups(x, kv)
  entry prefill = forward
  entry decode = forward[T: 1]
}}
"""


def attended(x, w):
    """x: [B, T, D], causal."""
    q, k, v = (x @ exact(w, f"{name}.weight").T for name in "qkv")
    scores = np.where(np.tri(x.shape[1], dtype=bool), q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1]), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return x + weights / weights.sum(-1, keepdims=True) @ v @ exact(w, "o.weight").T


def cached(rng, folder, target, threads):
    """A sequence in calls, whose layers of each group keep keys and values of their own, if their weights are the same, too."""
    B, T, D, E, L, M = 2, 9, 12, 5, 3, 2
    is_shared = bool(rng.integers(0, 2))
    x, w = normal(rng, B, T, D), {}
    y = x.astype(np.float64)
    for i in range(L):
        for j in range(M):
            at = f"groups.{i}.layers" + ("" if is_shared else f".{j}")
            for name, shape in {"q": (E, D), "k": (E, D), "v": (E, D), "o": (D, E)}.items():
                if f"{at}.{name}.weight" not in w:
                    w[f"{at}.{name}.weight"] = normal(rng, *shape, scale=shape[1] ** -0.5)
            y = attended(y, {name[len(at) + 1:]: value for name, value in w.items() if name.startswith(at + ".")})
    name = f"{folder}/{'shared' if is_shared else 'own'}"  # a library is loaded once by its name
    with open(f"{name}.attn", "w") as file:
        file.write(DECODER.format(D=D, E=E, L=L, M=M, shared="shared " if is_shared else ""))
    library = os.path.abspath(f"{name}.so")
    subprocess.run(["attn", "compile", f"{name}.attn", "--emit=shared", f"--target={target}", "-o", library], check=True)
    model = Model(library, "attn_model_decoder", write_weights(folder, w), threads)
    parts = [model.run("prefill", [x[:, :5]])[0]] + [model.run("decode", [x[:, t:t + 1]])[0] for t in range(5, T)]
    error = relative_l2(np.concatenate(parts, 1), y)
    if not error <= BOUND:
        raise Wrong(f"an error of {error:.2e}, bound {BOUND:.0e}")
    return error


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
        for index, kind in enumerate([stages, shared, cached]):
            rng = np.random.default_rng([options.seed, number, index])
            error = (cached(rng, options.folder, options.target, options.threads) if kind is cached
                     else compare(options.folder, *kind(rng), BOUND, flags))
            measured(kind.__name__, error)
            print(f"{kind.__name__}: {error:.1e}")


if __name__ == "__main__":
    main()
