#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of examples/pronounce, compiled, against their classes in PyTorch in double precision with the same weights.

    pronounce_twin.py FOLDER lstm|transformer --words N

Words that the training has not seen, in batches of several lengths: the same phonemes, the same alignments. What they are
wrong in is printed.
"""
import argparse
import os
import subprocess
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "../../examples/pronounce")
sys.path[:0] = [HERE, EXAMPLE]
import safetensors_file
import train
import words
from compiled_model import Model
from measured import measured

# Of an alignment, which adds up to 1: 30 steps of f32 through gates that damp what is rounded.
BOUND = 1e-4
# Of two scores that may change places.
NEAR = 1e-3


def lstm_steps(model, source):
    """For each step the scores and the alignment; is sent the token that was chosen."""
    memory, state = model.read(source)
    token = 1
    while True:
        scores, state, weights = model.write(torch.tensor([[token]]), memory, state)
        token = yield scores[0, -1], weights[0, -1]


def transformer_steps(model, source):
    """As above; all that was written is computed again in each step."""
    memory = model.transformer.encoder(model.embed(model.letters, source))
    tokens = [1]
    while True:
        given = torch.tensor([tokens])
        x, later = model.embed(model.phonemes, given), torch.ones(len(tokens), len(tokens)).triu(1).bool()
        *layers, last = model.transformer.decoder.layers
        for layer in layers:
            x = layer(x, memory, tgt_mask=later)
        own = last.norm1(x)
        y = x + last.self_attn(own, own, own, attn_mask=later, need_weights=False)[0]
        _, weights = last.multihead_attn(last.norm2(y), memory, memory)
        tokens.append((yield model.write(given, memory)[0, -1], weights[0, -1]))


def said_alone(model, word):
    """The tokens of one word, their alignment, and by how much each token was ahead."""
    steps = (lstm_steps if isinstance(model, train.Lstm) else transformer_steps)(model, torch.tensor([words.letters(word)]))
    tokens, alignment, ahead = [], [], []
    scores, weights = next(steps)
    while len(tokens) < train.LIMIT:
        best = scores.topk(2)
        ahead.append((best.values[0] - best.values[1]).item())
        if best.indices[0] == 0:
            break
        tokens.append(best.indices[0].item())
        alignment.append(weights.numpy())
        scores, weights = steps.send(tokens[-1])
    return tokens, alignment, ahead


def compare(batch, outputs, model):
    """The tokens of a batch of words."""
    tokens, count, weights = outputs
    for row, word in enumerate(batch):
        wanted, alignment, ahead = said_alone(model, word)
        got = tokens[row, : count[row]].tolist()
        same = next((n for n, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        if got != wanted:
            assert ahead[same] < NEAR, f"{word}: {got}, expected {wanted}"
        assert (tokens[row, count[row]:] == -1).all()
        for step in range(same):
            own = weights[step, row]
            error = abs(own[: len(word)] - alignment[step]).max()
            measured(type(model).__name__.lower(), error)
            assert error < BOUND and not own[len(word):].any(), f"{word}: alignment {step} differs by {error:.1e}"
        yield got


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("model", choices=["lstm", "transformer"])
    parser.add_argument("--words", type=int, default=10000)
    arguments, flags = parser.parse_known_args()
    os.makedirs(arguments.folder, exist_ok=True)
    name = f"{EXAMPLE}/pronounce_{arguments.model}"
    library = f"{arguments.folder}/{arguments.model}.so"
    subprocess.run(["attn", "compile", name + ".attn", "--emit=shared", "-o", library, *flags], check=True, stderr=subprocess.DEVNULL)
    model = (train.Lstm if arguments.model == "lstm" else train.Transformer)().double().eval()
    model.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in safetensors_file.read(name + ".safetensors").items()})
    compiled = Model(library, train.SYMBOLS[arguments.model], name + ".safetensors")

    found = words.read_sample(f"{EXAMPLE}/held_out.txt")
    spelt, rng, said = list(found)[: arguments.words], np.random.default_rng(1), []
    with torch.no_grad():
        while len(said) < len(spelt):
            batch = spelt[len(said) : len(said) + int(rng.choice([1, 7, 32]))]
            n = np.array([len(word) for word in batch], np.int32)
            padded = np.zeros((len(batch), n.max()), np.int32)
            for row, word in enumerate(batch):
                padded[row, : len(word)] = words.letters(word)
            said += compare(batch, compiled.run("pronounce", [padded, n]), model)
    print(words.report(said, [found[word] for word in spelt]))


if __name__ == "__main__":
    main()
