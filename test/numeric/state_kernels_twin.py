#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrences that are one kernel against NumPy in double precision: matrices and vectors as states, sums, means and maxima along
an axis, tensors that are the same in all steps, in both directions, of random sizes with tails."""
import argparse
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measured import measured
from twins import compare, normal
from windows_twin import between

BOUND = 1e-5  # relative L2: up to 40 steps, each of sums of at most 150 products, of states that decay
HEAD = "attn 1\nmodel Case {{\n  dim {dims}\n  dyn B <= 4, T <= 40\n"


def spec_of(dims, cell, inputs, states, outputs, given, reverse):
    """A model that scans `cell`: its state `s` is given, or zeros, and given back."""
    names = [text.split(":")[0] for text in inputs]
    taken = [text for text in inputs] + ([f"s: {states}"] if given else [])
    with_steps = lambda text: text.replace("[B", "[B, T", 1)
    body = f"scan step over ({', '.join(names)}) along T{' reverse' if reverse else ''} from {'s' if given else 'zeros'}"
    return (HEAD.format(dims=dims) + cell + "  part step: Step\n"
            + f"  entry run({', '.join(map(with_steps, inputs))}{f', s: {states}' if given else ''}) -> y: {with_steps(outputs)}, last: {states} {{\n"
            + f"    let y, last = {body}\n    return y, last\n  }}\n}}\n")


def scanned(step, arrays, s, reverse):
    """What steps give, and the last state, of arrays [B, T, ...] in double precision."""
    T = arrays[0].shape[1]
    ys = [None] * T
    for t in (reversed(range(T)) if reverse else range(T)):
        ys[t], s = step(*(array[:, t].astype(np.float64) for array in arrays), s)
    return (np.stack(ys, 1) if T else None), s


def delta(rng, B, T, reverse, given):
    """The gated delta rule, with heads of keys that several heads of values share."""
    G, R, E, F = (between(rng, 1, most) for most in (3, 3, 150, 150))
    F += F == E
    q, k = (normal(rng, B, T, G, E, scale=E ** -0.5) for _ in range(2))
    v, decay, beta = normal(rng, B, T, G, R, F), -np.abs(normal(rng, B, T, G, R)), np.abs(normal(rng, B, T, G, R)).clip(0, 1)
    s = normal(rng, B, G, R, E, F)
    cell = """  cell Step(q: [B, G, E], k: [B, G, E], v: [B, G, R, F], decay: [B, G, R], beta: [B, G, R], s: [B, G, R, E, F]) -> [B, G, R, F], s {
    let kept = s * exp(decay)
    let next = kept + repeat(repeat(k, F), R) * ((v - sum(E, kept * k)) * beta)
    return sum(E, next * q), next
  }
"""

    def step(q, k, v, decay, beta, s):
        kept = s * np.exp(decay)[..., None, None]
        error = (v - np.einsum("bgref,bge->bgrf", kept, k)) * beta[..., None]
        s = kept + k[:, :, None, :, None] * error[..., None, :]
        return np.einsum("bgref,bge->bgrf", s, q), s

    spec = spec_of(f"G = {G}, R = {R}, E = {E}, F = {F}", cell, ["q: [B, G, E]", "k: [B, G, E]", "v: [B, G, R, F]", "decay: [B, G, R]", "beta: [B, G, R]"],
                   "[B, G, R, E, F]", "[B, G, R, F]", given, reverse)
    return spec, dict(q=q, k=k, v=v, decay=decay.astype(np.float32), beta=beta.astype(np.float32)), s, step


def duality(rng, B, T, reverse, given):
    """Mamba 2's, whose reduced axis is the last of the state."""
    H, P, N = between(rng, 1, 4), between(rng, 1, 80), between(rng, 1, 90)
    N += N == P
    x, dt, b, c = normal(rng, B, T, H, P), np.abs(normal(rng, B, T, H)), normal(rng, B, T, N), normal(rng, B, T, N, scale=N ** -0.5)
    s = normal(rng, B, H, P, N)
    cell = """  cell Step(x: [B, H, P], dt: [B, H], b: [B, N], c: [B, N], s: [B, H, P, N]) -> [B, H, P], s {
    let next = s * exp(-dt) + repeat(x * dt, N) * b
    return sum(N, next * c) + x * max(N, b * 0.1), next
  }
"""

    def step(x, dt, b, c, s):
        s = s * np.exp(-dt)[..., None, None] + (x * dt[..., None])[..., None] * b[:, None, None]
        return np.einsum("bhpn,bn->bhp", s, c) + x * (b * 0.1).max(-1)[:, None, None], s

    spec = spec_of(f"H = {H}, P = {P}, N = {N}", cell, ["x: [B, H, P]", "dt: [B, H]", "b: [B, N]", "c: [B, N]"], "[B, H, P, N]", "[B, H, P]", given, reverse)
    return spec, dict(x=x, dt=dt.astype(np.float32), b=b, c=c), s, step


def vectors(rng, B, T, reverse, given):
    """A gated linear recurrence, element by element, with nothing that is combined."""
    D = between(rng, 1, 300)
    x, gate, s = normal(rng, B, T, D), normal(rng, B, T, D), normal(rng, B, D)
    cell = """  cell Step(x: [B, D], gate: [B, D], s: [B, D]) -> [B, D], s {
    let a = sigmoid(gate)
    let next = a * s + sqrt(1 - a * a) * x
    return next * x, next
  }
"""

    def step(x, gate, s):
        a = 1 / (1 + np.exp(-gate))
        s = a * s + np.sqrt(1 - a * a) * x
        return s * x, s

    return spec_of(f"D = {D}", cell, ["x: [B, D]", "gate: [B, D]"], "[B, D]", "[B, D]", given, reverse), dict(x=x, gate=gate), s, step


def readings(rng, B, T, reverse, given):
    """A memory that is read before and after it is written, whose norm is a mean; what it gives has all axes of the state."""
    E, F = between(rng, 2, 70), between(rng, 1, 70)
    F += F == E
    k, v, s = normal(rng, B, T, E, scale=E ** -0.5), normal(rng, B, T, F), normal(rng, B, E, F)
    cell = """  cell Step(k: [B, E], v: [B, F], s: [B, E, F]) -> [B, E, F], s {
    let size = sqrt(mean(E, s * s) + 0.1)
    let next = 0.7 * s / size + repeat(k, F) * (v - sum(E, s * k) - min(E, s))
    return next * k + sum(E, next * k) * size, next
  }
"""

    def step(k, v, s):
        size = np.sqrt((s * s).mean(1) + 0.1)
        write = v - np.einsum("bef,be->bf", s, k) - s.min(1)
        s = 0.7 * s / size[:, None] + k[:, :, None] * write[:, None]
        return s * k[:, :, None] + (np.einsum("bef,be->bf", s, k) * size)[:, None], s

    return spec_of(f"E = {E}, F = {F}", cell, ["k: [B, E]", "v: [B, F]"], "[B, E, F]", "[B, E, F]", given, reverse), dict(k=k, v=v), s, step


def require_kernel(folder, spec):
    """Nothing is tested where the steps are a loop over kernels."""
    path = os.path.join(folder, "kernel.attn")
    with open(path, "w") as file:
        file.write(spec)
    stage = subprocess.run(["attn", "compile", path, "--emit=memory"], capture_output=True, text=True, check=True).stdout
    if stage.count("attn.scan_kernel") != 1:
        raise SystemExit("the recurrence is not one kernel")


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
        for index, kind in enumerate([delta, duality, vectors, readings]):
            rng = np.random.default_rng([options.seed, number, index])
            B, T, reverse, given = between(rng, 1, 4), between(rng, 1, 40), rng.random() < 0.4, rng.random() < 0.6
            spec, inputs, s, step = kind(rng, B, T, reverse, given)
            require_kernel(options.folder, spec)
            first = s.astype(np.float64) if given else np.zeros_like(s, np.float64)
            y, last = scanned(step, list(inputs.values()), first, reverse)
            if given:
                inputs["s"] = s
            error = compare(options.folder, spec, {}, inputs, {"y": y, "last": last}, BOUND, flags)
            measured(kind.__name__, error)
            print(f"{kind.__name__}: {error:.1e}")


if __name__ == "__main__":
    main()
