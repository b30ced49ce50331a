#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent sequence to sequence of std.seq2seq against torch.nn in double precision, for every cell, score and way to use the context.

    seq2seq_twin.py FOLDER --seed N [--all]

An encoder of torch.nn reads sources of several lengths, a decoder of torch.nn's cells writes tokens until the stop token. The
compiled program does all of that in one call: its tokens are the same, and the weights of its steps lie beside each other.
"""
import argparse
import itertools
import os

import numpy as np
import torch
from torch import nn

from measured import measured
from twins import Wrong, compare, draw, tensors_of

BOUND = 1e-5  # relative L2 of all weights of attention
LIMIT, STOP, BEGIN = 7, 0, 1
KINDS = ["RNN", "GRU", "LSTM"]
SCORES = ["dot", "scaled_dot", "cosine", "general", "reduced_rank", "additive"]
ALL = list(itertools.product(KINDS, SCORES, [False, True]))


class Attention(nn.Module):
    """The score is written out of its formula; its parameters have the spec's names."""

    def __init__(self, kind, U, M, R):
        super().__init__()
        self.kind = kind
        if kind == "general":
            self.W = nn.Linear(U, M, bias=False)
        elif kind in ("reduced_rank", "additive"):
            self.U_q = nn.Linear(U, R, bias=False)
            key = nn.Linear(M, R, bias=False)
            setattr(self, "V_k" if kind == "reduced_rank" else "W_k", key)
        if kind == "additive":
            self.v = nn.Parameter(torch.zeros(R))

    def scores(self, state, memory):
        """[S] of a state [U] and a memory [S, M]."""
        if self.kind == "general":
            return memory @ self.W(state)
        if self.kind == "reduced_rank":
            return self.V_k(memory) @ self.U_q(state)
        if self.kind == "additive":
            return torch.tanh(self.W_k(memory) + self.U_q(state)) @ self.v
        if self.kind == "cosine":
            return nn.functional.cosine_similarity(memory, state[None], dim=1)
        return memory @ state / (len(state) ** 0.5 if self.kind == "scaled_dot" else 1)


class Seq2Seq(nn.Module):
    def __init__(self, kind, score, added, K, V, I, U, M, R):
        super().__init__()
        self.kind, self.added = kind, added
        self.source, self.target = nn.Embedding(K, I), nn.Embedding(V, I)
        self.encoder = getattr(nn, kind)(I, M, batch_first=True)
        self.to_h = nn.Linear(M, U)
        if kind == "LSTM":
            self.to_c = nn.Linear(M, U)
        self.decoder = nn.ModuleDict({"step": getattr(nn, kind)(I, U), "attention": Attention(score, U, M, R)})
        self.out = nn.Linear(U if added else U + M, V)

    def forward(self, source):
        """Tokens and weights [n, S] of one source [S], and by how much each token was ahead."""
        memory, last = self.encoder(self.source(source)[None])
        memory = memory[0]
        h, c = last if self.kind == "LSTM" else (last, None)
        state = torch.tanh(self.to_h(h[:, 0]))
        state = (state, torch.tanh(self.to_c(c[:, 0]))) if self.kind == "LSTM" else state
        token, tokens, weights, ahead = BEGIN, [], [], []
        for _ in range(LIMIT):
            y, state = self.decoder["step"](self.target(torch.tensor([token])), state)
            own = torch.softmax(self.decoder["attention"].scores(y[0], memory), 0)
            context = own @ memory
            scores = self.out(y[0] + context if self.added else torch.cat([y[0], context]))
            weights.append(own)
            best = scores.topk(2).values
            ahead.append((best[0] - best[1]).item())
            token = int(scores.argmax())
            if token == STOP:
                break
            tokens.append(token)
        return tokens, torch.stack(weights), min(ahead)


def spec(kind, score, added, sizes):
    K, V, I, U, M, R = sizes
    states = "h: [B, U], c: [B, U]" if kind == "LSTM" else "h: [B, U]"
    ends, given = ("(a, b)", "tanh(to_h(a)), tanh(to_c(b))") if kind == "LSTM" else ("a", "tanh(to_h(a))")
    names, passed = ("y, hs, cs", "h, c") if kind == "LSTM" else ("y, hs", "h")
    kept = "hs, cs" if kind == "LSTM" else "hs"
    return f"""attn 1
use std.recurrent
use std.seq2seq
model Case {{
  dim K = {K}, V = {V}, I = {I}, U = {U}, M = {M}, R = {R}, X = {"U" if added else "U + M"}
  dyn B <= 8, S <= 12
  embedding source: K -> I
  embedding target: V -> I
  part encoder: {kind}Cell[U: M]
  linear {"to_h, to_c" if kind == "LSTM" else "to_h"}: M -> U bias
  mask inside(b, j) with input n: i32[B] = j < n[b]
  part decoder: Attending{kind}[U: U, X: X, R: R](scored = "{score}", added = {str(added).lower()})
  linear out: X -> V bias

  entry read(word: i32[B, S], n: i32[B]) -> {states}, memory: [B, S, M], n: i32[B] {{
    let memory, {ends} = scan encoder over source(word) along S from zeros lengths n
    return {given}, memory, n
  }}
  entry next(token: i32[B], {states}, memory: [B, S, M], n: i32[B]) -> scores: [B, V], {states}, alignment: [B, S] {{
    let {names}, weights = decoder(target(token), {passed}, memory, allowed = inside)
    return out(y), {kept}, weights
  }}
  entry speak = unfold(read, next, begin = {BEGIN}, stop = {STOP}, limit = {LIMIT})
}}
"""


def check(folder, seed, kind, score, added, flags):
    """Batches whose rows end at different steps; what each row has beyond its end is left out."""
    rng = np.random.default_rng([seed, *map(ord, kind + score), added])
    U = int(rng.integers(3, 40))
    M = U if added or score in SCORES[:3] else int(rng.integers(3, 40))
    sizes = [int(rng.integers(5, 20)), int(rng.integers(5, 12)), int(rng.integers(3, 20)), U, M, int(rng.integers(2, 20))]
    model = draw(rng, Seq2Seq(kind, score, added, *sizes).double(), gain=2.0)
    B, S = int(rng.integers(1, 8)), int(rng.integers(2, 12))
    n = rng.integers(1, S + 1, B).astype(np.int32)
    n[0] = S
    words = rng.integers(0, sizes[0], (B, S)).astype(np.int32)
    tokens, counts = np.full((B, LIMIT), -1, np.int32), np.zeros(B, np.int32)
    said = []
    with torch.no_grad():
        for b in range(B):
            own, weights, ahead = model(torch.from_numpy(words[b, : n[b]]))
            if ahead < 1e-4:
                return
            tokens[b, : len(own)], counts[b] = own, len(own)
            said.append(weights.numpy())
    # The loop ends with the last row; until then each step of a row that has ended gives something.
    steps = max(len(weights) for weights in said)
    alignment = np.zeros((LIMIT, B, S))
    for b, weights in enumerate(said):
        alignment[: len(weights), b, : n[b]] = weights

    def error(got, wanted):
        if wanted.dtype.kind == "i":
            return float(not np.array_equal(got, wanted))
        got = got.astype(np.float64)
        for b, weights in enumerate(said):
            got[len(weights) : steps, b] = 0
        return np.linalg.norm(got - wanted) / np.linalg.norm(wanted)

    wanted = {"tokens": tokens, "count": counts, "alignment": alignment}
    worst = compare(folder, spec(kind, score, added, sizes), tensors_of(model), {"word": words, "n": n}, wanted, BOUND,
                    ["--entry", "speak", *flags], measure=error)
    measured(kind, worst)
    measured(score, worst)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--all", action="store_true", help="every combination; else each score, with cells in turns")
    options, flags = parser.parse_known_args()
    os.makedirs(options.folder, exist_ok=True)
    some = [(KINDS[(n + options.seed) % 3], score, bool((n + options.seed) % 4 < 2)) for n, score in enumerate(SCORES)]
    for case in ALL if options.all else some:
        try:
            check(options.folder, options.seed, *case, flags)
        except Wrong as wrong:
            raise SystemExit(f"seed {options.seed}, {case}: {wrong}") from None


if __name__ == "__main__":
    main()
