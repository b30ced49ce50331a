#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures of experts against torch in double precision: each row is computed by each of its experts by itself."""
import argparse
import os
import sys

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measured import measured
from twins import compare, normal
from windows_twin import between, exact

# Relative L2: a few products in f32. Where weights are rounded, routers are kept from choosing by less than that.
BOUNDS = {"f32": 1e-5, "bf16": 2e-2, "int8": 5e-2, "int4": 3e-1}


def sizes(rng):
    """B, T, D, F, X experts, A of them for each row."""
    X = between(rng, 2, 9)
    return between(rng, 1, 3), between(rng, 1, 9), 4 * between(rng, 1, 12), between(rng, 1, 70), X, between(rng, 1, min(X, 4))


def apart(rng, x, X, D):
    """Weights of a router; rows of `x` are drawn until no rounding changes what they choose: their scores are apart."""
    w = normal(rng, X, D, scale=3 * D ** -0.5)
    for row in x.reshape(-1, D):
        while np.diff(np.sort(w.astype(np.float64) @ row)).min() < 0.1:
            row[...] = normal(rng, D)
    return w


def gated(x, w, at):
    """Mixtral's expert."""
    names = [exact(w[f"{at}.{name}.weight"]) for name in ("w1", "w3", "w2")]
    return (F.silu(x @ names[0].T) * (x @ names[1].T)) @ names[2].T


def experts(rng, w, at, X, D, F_):
    for n in range(X):
        w |= {f"{at}.{n}.w1.weight": normal(rng, F_, D, scale=D ** -0.5), f"{at}.{n}.w3.weight": normal(rng, F_, D, scale=D ** -0.5),
              f"{at}.{n}.w2.weight": normal(rng, D, F_, scale=F_ ** -0.5)}


def routed(x, places, weights, expert):
    """expert(n, row) of each choice of each row, weighted."""
    rows = [sum(weights[at][a] * expert(int(places[at][a]), x[at]) for a in range(places.shape[-1])) for at in np.ndindex(x.shape[:-1])]
    return torch.stack(rows).reshape(*x.shape[:-1], -1)


EXPERT = """
  block Expert(x: [D]) -> [D] {
    linear w1, w3: D -> F
    linear w2: F -> D
    return w2(silu(w1(x)) * w3(x))
  }"""


def mixtral(rng):
    """A softmax over all experts, of which the largest are made to sum to 1 (Jiang et al. 2024); an expert for all rows beside them."""
    B, T, D, F_, X, A = sizes(rng)
    x, w = normal(rng, B, T, D), {}
    w["gate.weight"] = apart(rng, x, X, D)
    experts(rng, w, "experts", X, D, F_)
    w |= {name.replace("experts.0", "shared"): value + 0 for name, value in w.items() if name.startswith("experts.0")}
    given = exact(x)
    values, places = (given @ exact(w["gate.weight"]).T).softmax(-1).topk(A)
    y = routed(given, places, values / values.sum(-1, keepdim=True), lambda n, row: gated(row, w, f"experts.{n}"))
    y = y + gated(given, w, "shared")
    spec = f"""attn 1
model Case {{
  dim D = {D}, F = {F_}, X = {X}, A = {A}
  dyn B <= 4, T <= 9
  linear gate: D -> X
  stack experts: X of Expert
  part shared: Expert{EXPERT}
  entry run(x: [B, T, D]) -> y: [B, T, D] {{
    let values, places = topk(X, softmax(X, gate(x)), A)
    return route(experts, x, places, values / sum(A, values)) + shared(x)
  }}
}}
"""
    return spec, w, {"x": x}, {"y": y.numpy()}


def gpt_oss(rng):
    """A softmax over the chosen alone, gates that are bounded, maps with biases; the rows of one axis."""
    B, T, D, F_, X, A = sizes(rng)
    x, w = normal(rng, T, D), {}
    w |= {"router.weight": apart(rng, x, X, D), "router.bias": np.zeros(X, np.float32)}
    for n in range(X):
        w |= {f"experts.{n}.{name}.weight": normal(rng, F_, D, scale=D ** -0.5) for name in ("gate", "up")}
        w |= {f"experts.{n}.{name}.bias": normal(rng, F_) for name in ("gate", "up")}
        w |= {f"experts.{n}.down.weight": normal(rng, D, F_, scale=F_ ** -0.5), f"experts.{n}.down.bias": normal(rng, D)}

    def expert(n, row):
        apply = lambda name, v: v @ exact(w[f"experts.{n}.{name}.weight"]).T + exact(w[f"experts.{n}.{name}.bias"])
        gate, up = apply("gate", row).clamp(max=1.5), apply("up", row).clamp(-1.5, 1.5)
        return apply("down", (up + 1) * gate * torch.sigmoid(1.702 * gate))

    given = exact(x)
    values, places = (given @ exact(w["router.weight"]).T).topk(A)
    y = routed(given, places, values.softmax(-1), expert)
    spec = f"""attn 1
model Case {{
  dim D = {D}, F = {F_}, X = {X}, A = {A}
  dyn T <= 9
  linear router: D -> X bias
  stack experts: X of Expert
  block Expert[N](x: [N, D]) -> [N, D] {{
    linear gate, up: D -> F bias
    linear down: F -> D bias
    let g = min(gate(x), 1.5)
    return down((clamp(up(x), -1.5, 1.5) + 1) * g * sigmoid(1.702 * g))
  }}
  entry run(x: [T, D]) -> y: [T, D] {{
    let values, places = topk(X, router(x), A)
    return route(experts, x, places, softmax(A, values))
  }}
}}
"""
    return spec, w, {"x": x}, {"y": y.numpy()}


def chosen(rng):
    """Places that are given: an expert may come twice in a row, many come in none; another width, norms, axes in other orders."""
    B, T, D, F_, X, A = sizes(rng)
    X = 2 * X
    x, w, given = normal(rng, D, T, B), {}, rng.choice([np.int32, np.int64])
    places = rng.integers(0, between(rng, 1, X), (B, A, T)).astype(given)
    weights = normal(rng, T, A, B)
    for n in range(X):
        w |= {f"experts.{n}.norm.weight": normal(rng, D), f"experts.{n}.map.weight": normal(rng, F_, D, scale=D ** -0.5)}

    def expert(n, row):
        row = row / (row.pow(2).mean() + 1e-5).sqrt() * exact(w[f"experts.{n}.norm.weight"])
        return F.relu(row @ exact(w[f"experts.{n}.map.weight"]).T) ** 2

    ordered = exact(x).permute(1, 2, 0)
    y = routed(ordered, places.transpose(2, 0, 1), exact(weights).permute(0, 2, 1), expert)
    word = {np.int32: "i32", np.int64: "i64"}[given]
    spec = f"""attn 1
model Case {{
  dim D = {D}, F = {F_}, X = {X}, A = {A}
  dyn B <= 4, T <= 9
  stack experts: X of Expert
  block Expert(x: [D]) -> [F] {{
    rmsnorm norm: D eps 1e-5
    linear map: D -> F
    return relu(map(norm(x))) ** 2
  }}
  entry run(x: [D, T, B], places: {word}[B, A, T], weights: [T, A, B]) -> y: [T, B, F] = route(experts, x, places, weights)
}}
"""
    return spec, w, {"x": x, "places": places, "weights": weights}, {"y": y.numpy()}


def layers(rng):
    """Experts of the layers of a stack, each itself a stack, whose last row alone is read."""
    B, T, D, F_, X, A = sizes(rng)
    x, w, L = normal(rng, B, T, D), {}, between(rng, 1, 3)
    y = exact(x)
    for i in range(L):
        for n in range(X):
            w |= {f"layers.{i}.mlp.experts.{n}.maps.{m}.map.weight": normal(rng, D, D, scale=D ** -0.5) for m in range(2)}
    # Scores are positions and numbers of layers: no rounding changes what they choose.
    order = np.array([[[(t * 3 + i + n) * 5 % 11 for n in range(X)] for t in range(T)] for i in range(L)], np.float32)
    order += np.arange(X, dtype=np.float32)[::-1] / 32
    w |= {f"layers.{i}.order": np.ascontiguousarray(np.pad(order[i], ((0, 9 - T), (0, 0)))) for i in range(L)}
    for i in range(L):
        values, places = exact(order[i]).expand(B, T, X).topk(A)

        def expert(n, row, i=i):
            for m in range(2):
                row = row + torch.tanh(row @ exact(w[f"layers.{i}.mlp.experts.{n}.maps.{m}.map.weight"]).T)
            return row

        y = y + routed(y, places, values.softmax(-1), expert)
    spec = f"""attn 1
model Case {{
  dim D = {D}, X = {X}, A = {A}, L = {L}, N = 9, M = {T}
  dyn B <= 4
  stack layers: L of Layer
  block Layer(x: [B, M, D]) -> [B, M, D] {{
    param order: [N, X]
    part mlp: Mixture
    return x + mlp(x, repeat(slice(order, N from 0 to M), B))
  }}
  block Mixture(x: [B, M, D], scores: [M, X, B]) -> [B, M, D] {{
    stack experts: X of Expert
    let values, places = topk(X, scores, A)
    return route(experts, x, places, softmax(A, values))
  }}
  block Expert(x: [D]) -> [D] {{
    stack maps: 2 of Map
    return maps(x)
  }}
  block Map(x: [D]) -> [D] {{
    linear map: D -> D
    return x + tanh(map(x))
  }}
  entry run(x: [B, M, D]) -> y: [B, M, D], last: [B, D] {{
    let y = layers(x)
    return y, last(M, layers(x))
  }}
}}
"""
    return spec, w, {"x": x}, {"y": y.numpy(), "last": y[:, -1].numpy()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--precision", default="f32")
    options, flags = parser.parse_known_args()
    os.makedirs(options.folder, exist_ok=True)
    print(f"seed {options.seed}")
    if options.precision != "f32":
        flags.append(f"--precision={options.precision}")
    for number in range(options.rounds):
        for index, kind in enumerate([mixtral, gpt_oss, chosen, layers]):
            rng = np.random.default_rng([options.seed, number, index])
            error = compare(options.folder, *kind(rng), BOUNDS[options.precision], flags)
            measured(f"{kind.__name__} {options.precision}", error)
            print(f"{kind.__name__}: {error:.1e}")


if __name__ == "__main__":
    main()
