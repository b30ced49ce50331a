#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of examples/story, compiled, against its class in PyTorch in double precision with the same weights.

    story_twin.py FOLDER --prompts N
    story_twin.py FOLDER --say TEXT --tokens N

Scores of held-out text, and what it goes on with after N prompts: the program has a cache, the twin computes all again for
every token. `--say` prints what the twin goes on with.
"""
import argparse
import os
import subprocess
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "../../examples/story")
sys.path[:0] = [HERE, EXAMPLE]
import safetensors_file
import text
import train
from compiled_model import Model
from measured import measured

# Relative L2 of scores: four layers of f32.
BOUND = 1e-5
# Of two scores that may change places.
NEAR = 1e-3
LIMIT = 24


def twin(weights):
    model = train.Story().double().eval()
    tensors = {name: torch.from_numpy(array.copy()) for name, array in weights.items()}
    model.load_state_dict(tensors)
    return model


def told(model, prompts, count):
    """The likeliest tokens behind prompts of one length, and by how much each was ahead."""
    ids, ahead = torch.from_numpy(prompts.astype(np.int64)), []
    for _ in range(count):
        best = model(ids)[:, -1].topk(2)
        ahead.append(best.values[:, 0] - best.values[:, 1])
        ids = torch.cat([ids, best.indices[:, :1]], 1)
    return ids[:, prompts.shape[1]:].numpy(), torch.stack(ahead, 1).numpy()


def check_scores(compiled, model, tokens, rng):
    worst = 0
    for length in (1, 7, 64, 201):
        ids = np.stack([tokens[start : start + length] for start in rng.integers(0, len(tokens) - length, 2)])
        got, wanted = compiled.run("scores", [ids])[0], model(torch.from_numpy(ids.astype(np.int64))).numpy()
        worst = max(worst, np.linalg.norm(got - wanted) / np.linalg.norm(wanted))
        compiled.truncate(0)
    assert worst <= BOUND, f"scores have a relative L2 of {worst:.2e}, bound {BOUND:.0e}"
    measured("scores", worst)
    print(f"scores: relative L2 {worst:.1e}")


def check_prompts(compiled, model, tokens, rng, count, batch):
    made = 0
    while made < count:
        length, rows = int(rng.integers(1, 40)), min(batch, count - made)
        prompts = np.stack([tokens[start : start + length] for start in rng.integers(0, len(tokens) - length, rows)])
        numbers = compiled.generation("tell", limit=LIMIT, temperature=0)
        got = compiled.run("tell", [prompts], generation=numbers)[0][:, :LIMIT]
        wanted, ahead = told(model, prompts, LIMIT)
        for row in np.flatnonzero((got != wanted).any(1)):
            first = int((got[row] != wanted[row]).argmax())
            assert ahead[row, first] < NEAR, f"prompt {prompts[row]}: {got[row]}, expected {wanted[row]}"
        made += rows
    print(f"{made} prompts, {batch} at once: the same tokens")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--prompts", type=int, default=14)
    parser.add_argument("--say")
    parser.add_argument("--tokens", type=int, default=20)
    arguments, flags = parser.parse_known_args()
    os.makedirs(arguments.folder, exist_ok=True)
    model = twin(safetensors_file.read(f"{EXAMPLE}/story.safetensors"))
    vocabulary = text.Vocabulary.read(f"{EXAMPLE}/tokenizer.json")
    with torch.no_grad():
        if arguments.say:
            said, _ = told(model, np.array([vocabulary.tokens(arguments.say)]), arguments.tokens)
            print(vocabulary.text(said[0]))
            return
        with open(f"{EXAMPLE}/held_out.txt") as file:
            held = file.read()
        tokens, rng = np.array(vocabulary.tokens(held), np.int32), np.random.default_rng(1)
        library = f"{arguments.folder}/story.so"
        subprocess.run(["attn", "compile", f"{EXAMPLE}/story.attn", "--emit=shared", "-o", library, *flags], check=True,
                       stderr=subprocess.DEVNULL)
        for threads, batch in (1, 1), (2, 7):
            compiled = Model(library, "attn_model_story", f"{EXAMPLE}/story.safetensors", threads)
            check_scores(compiled, model, tokens, rng)
            check_prompts(compiled, model, tokens, rng, arguments.prompts // 2, batch)


if __name__ == "__main__":
    main()
