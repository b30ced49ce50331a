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

# Of an alignment, which adds up to 1: 30 steps of f32 through gates that damp what is rounded.
BOUND = 1e-4
# Of two scores that may change places.
NEAR = 1e-3


def said_alone(model, word):
    """The tokens of one word, their alignment where the model gives one, and by how much each token was ahead."""
    memory, state = model.read(torch.tensor([words.letters(word)]))
    tokens, alignment, ahead = [1], [], []
    while len(tokens) <= train.LIMIT:
        scores, state, weights = model.write(torch.tensor([tokens[-1:]]), memory, state)
        best = scores[0, -1].topk(2)
        ahead.append((best.values[0] - best.values[1]).item())
        alignment.append(weights[0, -1].numpy())
        tokens.append(best.indices[0].item())
        if tokens[-1] == 0:
            return tokens[1:-1], alignment, ahead
    return tokens[1:], alignment, ahead


def compare(batch, outputs, model):
    """The tokens of a batch of words."""
    tokens, count, *rest = outputs
    for row, word in enumerate(batch):
        wanted, alignment, ahead = said_alone(model, word)
        got = tokens[row, : count[row]].tolist()
        same = next((n for n, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        if got != wanted:
            assert ahead[same] < NEAR, f"{word}: {got}, expected {wanted}"
        assert (tokens[row, count[row]:] == -1).all()
        for step in range(same) if rest else ():
            own = rest[0][step, row]
            error = abs(own[: len(word)] - alignment[step]).max()
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
