#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The decoder layers of std.language that keep keys and values, T5's, BART's and Whisper's, against those of layers_twin.py in double
precision, which compute all that was written again: scores however a sequence is cut into calls, and the tokens of a greedy loop.

    cached_layers_twin.py FOLDER [--seed N] [--rounds N] [flags of attn compile]
"""
import argparse
import os
import subprocess

import numpy as np
import torch
from torch import nn

from compiled_model import Model
from encoder_decoder_twin import LIMIT, written
from layers_twin import Bart, Sizes, Stack, T5Stack, causal
from measured import measured
from twins import double, draw, normal, relative_l2, tensors_of
from vit_twin import write_safetensors

BOUND = 1e-5  # relative L2 of scores: at most three layers in f32
NEAR = 1e-4  # two scores that may change places in f32
V, CAPACITY, MOST = 23, 160, 12


class Whole(nn.Module):
    """Layers between embeddings and scores, without caches."""

    def __init__(self, sizes, decoder):
        super().__init__()
        self.tokens, self.places = nn.Embedding(V, sizes.D), nn.Embedding(CAPACITY, sizes.D)
        self.decoder, self.out = decoder, nn.Linear(sizes.D, V)

    def forward(self, tokens, memory, n):
        """Scores of all positions."""
        shown = (torch.arange(memory.shape[1]) < n[:, None])[:, None, None]
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.out(self.decoder(x, causal(x.shape[1]), memory, shown))


def spec_of(sizes, parameters, layers, more):
    """`layers`: what the stack is of, and its name in the checkpoint."""
    known = ", ".join(f"{name} = {getattr(sizes, name)}" for name in "DHFL")
    return f"""attn 1
use std.language
model Cached {{
  dim {known}, V = {V}, P = {CAPACITY}
  dyn B <= 8, N <= {MOST}
  cache own capacity P, cross capacity {MOST}
  embedding tokens: V -> D
  embedding places: P -> D
  stack layers: L of {layers}
{parameters}  linear out: D -> V bias
  mask shown(b, j) with input n: i32[B] = j < n[b]
  forward[T](token: i32[B, T], memory: [B, N, D], n: i32[B], own: cache, cross: cache) -> [B, T, V] {{
    let x = tokens(token) + places(positions(T))
    return out(layers(x, memory, own, cross, memory_allowed = shown{more}))
  }}
  entry scores = forward
  entry prefill = forward[T: 1] last T
  entry decode = forward[T: 1] without memory last T
  entry write = unfold(prefill, decode, token = token, limit = {LIMIT}, stop = 0)
}}
"""


def t5(sizes, gated):
    block = f'T5CachedDecoderLayer[H: H, E: E, F: F](gated = {str(gated).lower()}) = "decoder.side.block.{{n}}"'
    return T5Stack(sizes, True, gated), spec_of(sizes, f'  dim E = {sizes.E}, R = 32\n  param relative: [R, H] = "decoder.relative"\n', block, ", added = t5_before")


def bart(sizes, first, key_bias):
    options = f"norm_first = {str(first).lower()}, key_bias = {str(key_bias).lower()}"
    block = f'BartCachedDecoderLayer[H: H, F: F]({options}) = "decoder.layers.{{n}}"'
    return Stack("layers", [Bart(sizes, True, first, key_bias) for _ in range(sizes.L)]), spec_of(sizes, "", block, "")


KINDS = {"t5": lambda sizes: t5(sizes, sizes.L % 2 == 0), "bart": lambda sizes: bart(sizes, False, True),
         "whisper": lambda sizes: bart(sizes, True, False)}


def check_scores(compiled, model, memory, n, rng):
    """A sequence as long as T5's furthest distances, in calls of these lengths; one position by what lacks the memory."""
    tokens = rng.integers(1, V, (len(memory), CAPACITY)).astype(np.int32)
    wanted, worst = model(torch.tensor(tokens), double(memory), torch.tensor(n)).numpy(), 0
    for cuts in ([CAPACITY], [140, 1, 1, 17, 1], [1, 1, 1, 40, 1, 100, 16]):
        compiled.truncate(0, 0)
        compiled.truncate(0, 1)
        begin = 0
        for call, rows in enumerate(cuts):
            part = np.ascontiguousarray(tokens[:, begin:begin + rows])
            (got,) = compiled.run("decode", [part, n]) if rows == 1 and call else compiled.run("scores", [part, memory, n])
            error = relative_l2(got.reshape(len(memory), rows, V), wanted[:, begin:begin + rows])
            assert error <= BOUND, f"call {call} of {cuts}: relative L2 {error:.1e}"
            worst, begin = max(worst, error), begin + rows
    return worst


def check_tokens(compiled, model, memory, n):
    """How many tokens are the same: a row is compared up to a choice that is close."""
    tokens, count = compiled.run("write", [np.ones((len(memory), 1), np.int32), memory, n])[:2]
    same = 0
    for row, (wanted, is_close) in enumerate(written(model, memory.astype(np.float64), n, NEAR)):
        got = tokens[row, :count[row]].tolist()
        assert got[:len(wanted)] == wanted if is_close else got == wanted, f"row {row}: {got}, expected {wanted}"
        same += len(wanted)
    return same


def check(name, folder, rng, flags):
    sizes = Sizes(rng)
    decoder, spec = KINDS[name](sizes)
    model = draw(rng, Whole(sizes, decoder), gain=2.0)
    path = f"{folder}/{name}.{len(os.listdir(folder))}"  # of its own: a library that is loaded would be found instead
    write_safetensors(f"{path}.safetensors", tensors_of(model))
    with open(f"{path}.attn", "w") as file:
        file.write(spec)
    subprocess.run(["attn", "compile", f"{path}.attn", "--emit=shared", "-o", f"{path}.so", *flags], check=True, stderr=subprocess.DEVNULL)
    compiled = Model(os.path.abspath(f"{path}.so"), "attn_model_cached", f"{path}.safetensors", 2)
    memory = normal(rng, 3, int(rng.integers(1, MOST + 1)), sizes.D)
    n = rng.integers(1, memory.shape[1] + 1, 3).astype(np.int32)
    with torch.no_grad():
        error = check_scores(compiled, model.double(), memory, n, rng)
        same = check_tokens(compiled, model, memory, n)
    measured(name, error)
    return error, same


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    arguments, flags = parser.parse_known_args()
    os.makedirs(arguments.folder, exist_ok=True)
    for name in KINDS:
        for number in range(arguments.rounds):
            print(f"{name}, seed {arguments.seed}, round {number}", flush=True)
            error, same = check(name, arguments.folder, np.random.default_rng([arguments.seed, number]), flags)
            print(f"{name}: relative L2 {error:.1e}, {same} equal tokens", flush=True)


if __name__ == "__main__":
    main()
