#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folder of a hybrid writes, token by token with its states and its cache, what NumPy chooses that reads the whole text each time; with beams,
whose states change places, too.

usage: hybrid_steps.py FOLDER FAMILY..."""
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
from decoders import decoder
from make import make
from parts import ONE_PART, one_part
from program import call, run

STEPS, PROMPT = 5, 7


def chances(config, weights, texts):
    model = one_part if config["model_type"] in ONE_PART else decoder
    scores = model(config, weights, texts)["scores"][:, -1]
    scores = scores - scores.max(-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(-1, keepdims=True))


def written(config, weights, prompt, beams):
    hypotheses = [(0.0, list(prompt))]
    for _ in range(STEPS):
        longer = [(total + float(own[token]), text + [int(token)])
                  for (total, text), own in zip(hypotheses, chances(config, weights, np.array([text for _, text in hypotheses])))
                  for token in np.argsort(-own)[:beams]]
        hypotheses = sorted(longer, key=lambda each: -each[0])[:beams]
    return hypotheses[0][1][len(prompt):]


def compare_steps(spec, path, config, weights, folder, beams):
    """What the spec writes with the weights at `path`, and what NumPy does."""
    with open(spec) as file:
        text = re.sub(r"stop = [\d ]+, ", "", file.read())
    changed = os.path.join(folder, "steps.attn")
    with open(changed, "w") as file:
        file.write(re.sub(r"limit = \d+", f"limit = {STEPS}, beams = {beams}", text))
    ids = np.random.default_rng(5).integers(5, config["vocab_size"], (3, PROMPT)).astype(np.int32)
    tokens, = run(["attn", "run", changed, "--entry", "generate", "--weights", path], folder, {"ids": ids}, ["tokens"])
    wanted = np.array([written(config, weights, row, beams) for row in ids])
    assert (tokens == wanted).all(), f"{beams} beams: {tokens.tolist()}, expected {wanted.tolist()}"


def check(family, folder):
    config, tensors = make(family, folder, 7)
    weights = {name: value.astype(np.float64) for name, value in tensors.items()}
    spec = os.path.join(folder, "spec.attn")
    call(["attn", "import", folder, "-o", spec])
    for beams in (1, 2):
        compare_steps(spec, folder, config, weights, folder, beams)
    print(f"{family}: each step chose what the whole text says")


def main():
    for family in sys.argv[2:]:
        check(family, os.path.join(sys.argv[1], family))


if __name__ == "__main__":
    main()
