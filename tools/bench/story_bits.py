#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bits that examples/story needs for a byte of its held_out.txt, in each precision: each token is foretold from 128 to 255 before it.

    tools/bench/story_bits.py [PRECISION...]

Exit codes: 0 measured, 1 wrong input, 2 usage, 4 something is missing here.
"""
import os
import subprocess
import tempfile

import numpy as np

import commandline
from engines import ROOT
from failure import ENVIRONMENT, Failure

PRECISIONS = ("f32", "bf16", "int8", "int8_groups", "int4")
STORY = os.path.join(ROOT, "examples", "story")
BATCH, WINDOW = 8, 256


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.returncode, done.stderr.strip())
    return done.stdout


def windows(tokens):
    """Windows of tokens that overlap by a half, in batches, the last one filled up with its last window."""
    starts = range(0, len(tokens) - WINDOW + 1, WINDOW // 2)
    rows = np.stack([tokens[start:start + WINDOW] for start in starts]).astype(np.int32)
    return [rows[first:first + BATCH] for first in range(0, len(rows), BATCH)]


def nats(program, folder, batches):
    """The sum over the tokens of each window's second half."""
    total = 0.0
    for ids in batches:
        np.save(os.path.join(folder, "ids.npy"), ids)
        run(program, "--weights", os.path.join(STORY, "story.safetensors"), "--entry", "scores", "--input", f"ids={folder}/ids.npy", "--output",
            f"scores={folder}/scores.npy")
        scores = np.load(os.path.join(folder, "scores.npy"))[:, WINDOW // 2 - 1:-1].astype(np.float64)
        wanted = ids[:, WINDOW // 2:, None].astype(np.int64)
        most = scores.max(-1, keepdims=True)
        logarithm = most[..., 0] + np.log(np.exp(scores - most).sum(-1))
        total += (logarithm - np.take_along_axis(scores, wanted, 2)[..., 0]).sum()
    return total


def main():
    arguments = commandline.parser(__doc__, rounds=1)
    arguments.add_argument("precisions", nargs="*", default=PRECISIONS, metavar="PRECISION", help="f32, bf16, f16, int8, int8_groups, int4")
    options = arguments.parse_args()
    commandline.check_product(options)
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(STORY, "held_out.txt")
        listed = run(options.product, "tokenize", os.path.join(STORY, "tokenizer.json"), "--file", text, "--ids")
        tokens = np.array([int(word) for word in listed.split()], np.int32)
        batches = windows(tokens)
        # The first half of the first window is foretold by nothing here; its share of the bytes is left out.
        size = os.path.getsize(text) * sum(len(ids) for ids in batches) * (WINDOW // 2) / len(tokens)
        print("| precision | bits a byte |\n| --- | ---: |")
        for precision in options.precisions:
            program = os.path.join(folder, precision)
            run(options.product, "compile", os.path.join(STORY, "story.attn"), f"--precision={precision}", "-o", program)
            print(f"| {precision} | {nats(program, folder, batches) / np.log(2) / size:.4f} |", flush=True)


if __name__ == "__main__":
    commandline.run(main)
