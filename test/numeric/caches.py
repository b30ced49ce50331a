#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder with a cache against NumPy in double precision, which sees the whole sequence at once: however the sequence is cut into
calls, each gives the logits of its positions. Then what a cache does when it is full, cut, or used with another batch."""
import argparse
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compiled_model import Model, ModelError
from measured import measured
from vit_twin import write_safetensors

D, H, G, E, V, CAPACITY, L, F = 24, 4, 2, 6, 37, 50, 2, 40


def random_weights(rng):
    weights = {"wte.weight": (V, D), "wpe.weight": (CAPACITY, D), "norm.weight": (D,), "norm.bias": (D,), "lm_head.weight": (V, D)}
    for n in range(L):
        own = {"norm1.weight": (D,), "norm1.bias": (D,), "norm2.weight": (D,), "norm2.bias": (D,), "q_proj.weight": (H * E, D),
               "k_proj.weight": (G * E, D), "v_proj.weight": (G * E, D), "o_proj.weight": (D, H * E), "o_proj.bias": (D,),
               "fc1.weight": (F, D), "fc1.bias": (F,), "fc2.weight": (D, F), "fc2.bias": (D,)}
        weights.update({f"h.{n}.{name}": shape for name, shape in own.items()})
    return {name: rng.standard_normal(shape).astype(np.float32) * (0.5 if len(shape) > 1 else 1) for name, shape in weights.items()}


def norm(x, w, name):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * w[name + ".weight"] + w[name + ".bias"]


def gelu(x):
    from math import erf
    return 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def rotary(x):
    """x: [B, T, heads, E], pairs (p, p + E/2)."""
    angles = np.arange(x.shape[1])[:, None] * 10000.0 ** (-np.arange(E // 2) / (E // 2))
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    a, b = x[..., :E // 2], x[..., E // 2:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def logits(ids, weights):
    """[B, T, V] of a sequence from its first position on."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    length = ids.shape[1]
    x = w["wte.weight"][ids] + w["wpe.weight"][:length]
    i, j = np.arange(length)[:, None], np.arange(length)
    live = (j <= i) & (j >= i - 30)
    for n in range(L):
        own = {name[len(f"h.{n}."):]: value for name, value in w.items() if name.startswith(f"h.{n}.")}
        y = norm(x, own, "norm1")
        heads = lambda name, count: (y @ own[name + ".weight"].T).reshape(*y.shape[:2], count, E)
        q, k = rotary(heads("q_proj", H)), rotary(heads("k_proj", G))
        k, v = np.repeat(k, H // G, 2), np.repeat(heads("v_proj", G), H // G, 2)
        scores = np.where(live, np.einsum("bthe,bshe->bhts", q, k) / np.sqrt(E), -np.inf)
        weight = np.exp(scores - scores.max(-1, keepdims=True))
        weight /= weight.sum(-1, keepdims=True)
        attended = np.einsum("bhts,bshe->bthe", weight, v).reshape(*y.shape[:2], H * E)
        x = x + attended @ own["o_proj.weight"].T + own["o_proj.bias"]
        y = gelu(norm(x, own, "norm2") @ own["fc1.weight"].T + own["fc1.bias"])
        x = x + y @ own["fc2.weight"].T + own["fc2.bias"]
    return norm(x, w, "norm") @ w["lm_head.weight"].T


def random_cuts(rng, total):
    """Lengths that add up to `total`; 0 stands for one position by `decode`."""
    cuts = []
    while total:
        size = int(rng.choice([0, 1, 2, 3, 5, 7, 13, 16, 17, 31, 48]))
        if max(size, 1) <= total:
            cuts.append(size)
            total -= max(size, 1)
    return cuts


def feed(model, ids, cuts, begin=0):
    """The logits of every position, in calls of these lengths; `decode` gives those of one position without an axis."""
    parts, at = [], begin
    for cut in cuts:
        size = max(cut, 1)
        (part,) = model.run("prefill" if cut else "decode", [ids[:, at:at + size]])
        parts.append(part if cut else part[:, None])
        at += size
    return np.concatenate(parts, 1)


def worst(got, wanted):
    return np.sqrt(((got - wanted) ** 2).sum(-1) / (wanted ** 2).sum(-1)).max()


def check_cuts(model, rng, weights, rounds):
    largest = 0
    fixed = [[CAPACITY], [0] * CAPACITY, [17, 0, 0, 13, 1, 17]]
    for round_ in range(rounds):
        cuts = fixed[round_] if round_ < len(fixed) else random_cuts(rng, int(rng.integers(1, CAPACITY + 1)))
        ids = rng.integers(0, V, (int(rng.integers(1, 4)), sum(max(cut, 1) for cut in cuts)), dtype=np.int32)
        model.truncate(0)
        error = worst(feed(model, ids, cuts), logits(ids, weights))
        largest = max(largest, error)
        assert error <= 1e-5, f"cut {cuts}, batch {len(ids)}: relative L2 {error:.2e}"
        assert model.length() == ids.shape[1]
    measured("cuts", largest)
    print(f"{rounds} cuts: relative L2 at most {largest:.1e}")


def check_truncation(model, rng, weights):
    """A cache that is cut goes on from there."""
    ids = rng.integers(0, V, (2, 30), dtype=np.int32)
    model.truncate(0)
    feed(model, ids, [30])
    model.truncate(11)
    ids[:, 11:] = rng.integers(0, V, (2, 19))
    assert worst(feed(model, ids, [0, 18], 11), logits(ids, weights)[:, 11:]) <= 1e-5


def check_errors(model, rng, weights):
    """What is refused leaves the cache and the outputs as they were."""
    ids = rng.integers(0, V, (2, CAPACITY), dtype=np.int32)
    model.truncate(0)
    feed(model, ids, [45])

    def refused(entry, given, expected):
        try:
            model.run(entry, [given], [(len(given), V) if entry == "decode" else (*given.shape, V)], fill=7.0)
        except ModelError as error:
            assert expected in str(error), error
            assert (model.outputs[0] == 7).all()
        else:
            raise AssertionError(f"{entry} was not refused: {expected}")
        assert model.length() == 45

    refused("prefill", ids[:, :6], "error[R0207]: cache `kv` holds 45 of 50 positions, entry `prefill` would add 6")
    refused("decode", ids[:1, :1], "error[R0208]: cache `kv` was filled with `B` = 2, but it is 1 now")
    refused("decode", np.full((2, 1), V, np.int32), "error[R0206]")
    try:
        model.truncate(46)
        raise AssertionError("a cache was made longer")
    except ModelError as error:
        assert "46 positions, but the cache holds 45" in str(error), error
    assert worst(feed(model, ids, [5], 45), logits(ids, weights)[:, 45:]) <= 1e-5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--target", default="native")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    os.makedirs(options.folder, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    weights = random_weights(rng)
    write_safetensors(f"{options.folder}/decoder.safetensors", weights)
    spec = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decoder.attn")
    library = f"{options.folder}/decoder.{options.target}.so"
    subprocess.run(["attn", "compile", spec, "--emit=shared", f"--target={options.target}", "-o", library], check=True)
    model = Model(os.path.abspath(library), "attn_model_decoder", f"{options.folder}/decoder.safetensors", options.threads)
    check_cuts(model, rng, weights, options.rounds)
    check_truncation(model, rng, weights)
    check_errors(model, rng, weights)


if __name__ == "__main__":
    main()
