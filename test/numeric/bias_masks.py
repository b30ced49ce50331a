#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Biases of -inf, written in many ways, against NumPy in double precision; and which of them become masks.
usage: bias_masks.py FOLDER [FLAG...]"""
import json
import subprocess
import sys

import numpy as np

from program import Program, optimised

INF = np.inf
T, H, E = 100, 2, 8
I, J = np.arange(T)[:, None], np.arange(T)[None, :]
HEAD = np.arange(H)[:, None, None]
LATE = np.where(J > I, -INF, 0.0)
WINDOW = (I - 10 <= J) & (J <= I)
SCATTERED = (I * 7 + J * 13) % 5 == 0

# name, declarations, lines of the attention, the bias in NumPy, whether it becomes a mask
CASES = [
    ("late", "bias late(i, j) = if j > i then -inf else 0", "bias late", LATE, True),
    ("early", "bias early(i, j) = if j <= i then 0 else -inf", "bias early", LATE, True),
    ("sloped", "bias sloped(h, i, j) = (if j > i then -inf else 0) - 0.1 * (h + 1) * abs(i - j)", "bias sloped",
     LATE - 0.1 * (HEAD + 1) * np.abs(I - J), True),
    ("nested", "bias nested(i, j) = if i < 40 then (if j > 30 then -inf else 0.5) else if j < 60 then 0.25 else -inf",
     "bias nested", np.where(I < 40, np.where(J > 30, -INF, 0.5), np.where(J < 60, 0.25, -INF)), True),
    ("nobody", "bias nobody(i) = if i < 50 then -inf else 1", "bias nobody", np.where(I < 50, -INF, 1) + 0.0 * J, True),
    ("windowed", "bias windowed(i, j) = if window(10, 0) then 0 else -inf", "bias windowed", np.where(WINDOW, 0, -INF), True),
    ("logged", "bias logged(i, j) = log(if j <= i then 1 else 0)", "bias logged", LATE, True),
    ("least", "bias least(i, j) = min(if j > i then -inf else 1, 2)", "bias least", LATE + 1, True),
    ("by_head", "bias by_head(h, i, j) = if h == 0 then late else 0", "bias by_head",
     np.where(HEAD == 0, LATE, 0), True),
    ("both", "", "bias late  mask window(20, 20)", np.where(np.abs(I - J) <= 20, LATE, -INF), True),
    ("scattered", "bias scattered(i, j) = if (i * 7 + j * 13) % 5 == 0 then 0 else -inf", "bias scattered",
     np.where(SCATTERED, 0, -INF), False),
    ("capped", "", "bias late  cap 3", LATE, False),
    ("sigmoids", "", "bias late  weight sigmoid", LATE, True),
    ("relus", "", "bias late  weight relu", LATE, True),
    ("hardest", "", "bias late  weight hardmax", LATE, True),
    ("sinking", "", "bias nobody  weight softmax(sink = 0.5)", np.where(I < 50, -INF, 1) + 0.0 * J, True),
]


def spec():
    entries = "".join(f"""
  entry run_{name}(q: [B, T, H, E], k: [B, T, H, E], v: [B, T, H, E]) -> [B, T, H, E] {{
    return attend q over k, v along T as S {{ {lines} }}
  }}""" for name, _, lines, _, _ in CASES)
    declarations = "".join(f"\n  {text}" for _, text, _, _, _ in CASES if text)
    return f"""attn 1
model M {{
  dim T = {T}, H = {H}, E = {E}
  dyn B <= 2, N <= 128
  dim M = N{declarations}{entries}
  entry run_dynamic(q: [B, N, H, E], k: [B, N, H, E], v: [B, N, H, E]) -> [B, N, H, E], [B, N, H], [B, N, H, M] {{
    return attend q over k, v along N as M {{ bias late  return out, lse, weights }}
  }}
}}
"""


def expected(name, lines, bias, q, k, v):
    scores = np.einsum("bihe,bjhe->bhij", q, k) / np.sqrt(E) + bias
    sink = None
    if "cap" in lines:
        scores = 3 * np.tanh(scores / 3)
    if "sigmoid" in lines:
        weights = 1 / (1 + np.exp(-scores))
    elif "relu" in lines:
        weights = np.maximum(scores, 0)
    elif "hardmax" in lines:
        weights = (np.arange(scores.shape[-1]) == scores.argmax(-1)[..., None]) * 1.0
    else:
        top = np.maximum(scores.max(-1, keepdims=True), -1e30)
        weights = np.exp(scores - top)
        total = weights.sum(-1, keepdims=True)
        if "sink" in lines:
            total = total + np.exp(0.5 - top)
        weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return np.einsum("bhij,bjhe->bihe", weights, v), weights, scores


def relative(a, b):
    assert a.shape == b.shape, (a.shape, b.shape)
    assert np.array_equal(np.isfinite(a), np.isfinite(b))
    fine = np.isfinite(b)
    return np.linalg.norm((a - b)[fine]) / max(np.linalg.norm(b[fine]), 1e-30)


def main():
    folder, flags = sys.argv[1], sys.argv[2:]
    program = Program(folder, spec(), {}, optimised(flags))
    rng = np.random.default_rng(7)
    q, k, v = (rng.standard_normal((2, T, H, E)).astype(np.float32) for _ in range(3))
    inputs = dict(q=q, k=k, v=v)
    double = [x.astype(np.float64) for x in (q, k, v)]
    worst = 0
    for name, _, lines, bias, _ in CASES:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            right = expected(name, lines, bias, *double)[0]
        [got] = program.run(f"run_{name}", inputs, 1)
        error = relative(got, right)
        assert error < 2e-6, (name, error)
        worst = max(worst, error)
    n = 77
    short = {name: x[:, :n] for name, x in inputs.items()}
    out, weights, scores = expected("late", "", LATE[:n, :n], *(x[:, :n] for x in double))
    lse = np.log(np.exp(scores).sum(-1))
    for got, right in zip(program.run("run_dynamic", short, 3), (out, lse.transpose(0, 2, 1), weights.transpose(0, 2, 1, 3))):
        assert relative(got, right) < 2e-6
    said = subprocess.run(["attn", "explain", f"{folder}/spec.attn", "--json"], capture_output=True, text=True, check=True).stdout
    kernels = json.loads(said)["targets"][0]["kernels"]
    for name, _, _, _, becomes in CASES:
        [kernel] = [kernel for kernel in kernels if kernel["function"].startswith(f"run_{name}.") and kernel["facts"]["kind"] == "attention"]
        assert ("where not -inf" in kernel["text"]) == becomes, kernel
        assert ("N0103" in [reason["code"] for reason in kernel["reasons"]]) == (not becomes), kernel
    print(f"{len(CASES) + 1} biases, worst {worst:.1e}")


main()
