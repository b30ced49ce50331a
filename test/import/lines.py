#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures are written down by a small TrOCR with random weights, by `attn run`, by a program, and by NumPy in double precision,
which chooses the most likely token each time. All print the same lines.

usage: lines.py FOLDER"""
import json
import os
import subprocess
import sys

import numpy as np
from PIL import Image

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make import make
from picture_models import trocr
from program import call

SPECIAL, END, MOST = ["<s>", "<pad>", "</s>"], 2, 31
LETTERS = [chr(0x120), *map(chr, range(0x21, 0x7E))]  # a space, and 93 others, as byte-level vocabularies write them


def write_tokenizer(folder):
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *LETTERS])}
    added = [dict(id=i, content=token, special=True, single_word=False, lstrip=False, rstrip=False, normalized=False) for i, token in enumerate(SPECIAL)]
    byte_level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)
    with open(os.path.join(folder, "tokenizer.json"), "w") as file:
        json.dump(dict(version="1.0", added_tokens=added, normalizer=None, pre_tokenizer=byte_level, post_processor=None, decoder=byte_level,
                       model=dict(type="BPE", vocab=vocabulary, merges=[])), file)


def written(config, weights, image):
    """The tokens that are most likely, each behind those before."""
    tokens = [END]
    while len(tokens) <= MOST:
        scores = trocr(config, weights, np.array([tokens]), image)["scores"][0, -1]
        tokens.append(int(scores.argmax()))
        if tokens[-1] == END:
            break
    return [token for token in tokens if token >= len(SPECIAL)]


def main():
    folder, = sys.argv[1:]
    config, weights = make("trocr", folder, seed=5)
    weights = {name: value.astype(np.float64) for name, value in weights.items()}
    spec, program, files, lines = os.path.join(folder, "spec.attn"), os.path.join(folder, "program"), [], []
    call(["attn", "import", folder, "-o", spec])
    rng = np.random.default_rng(3)
    for n in range(2):
        pixels = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        files.append(f"--input=image={folder}/{n}.png")
        Image.fromarray(pixels).save(f"{folder}/{n}.png")
        image = (pixels / 255 - 0.5) / np.array([0.5, 0.4, 0.3])
        lines.append("".join(LETTERS[token - len(SPECIAL)] for token in written(config, weights, image.transpose(2, 0, 1)[None])))
    wanted = [line.replace(LETTERS[0], " ").removeprefix(" ") for line in lines]
    assert wanted[0] != wanted[1] and all(wanted), wanted
    write_tokenizer(folder)
    call(["attn", "compile", spec, "-O0", "-o", program])
    for command in (["attn", "run", spec, "-O0"], [program, f"--weights={folder}"]):
        said = subprocess.run([*command, *files], check=True, capture_output=True, text=True).stdout
        assert said.splitlines() == wanted, f"{command}: {said}\n--- but NumPy:\n{wanted}"
    # As lines of a file.
    with open(f"{folder}/lines.jsonl", "w") as file:
        file.writelines(json.dumps({"image": f"{folder}/{name}.png"}) + "\n" for name in ("0", "none", "1"))
    said = subprocess.run([program, f"--weights={folder}", "--lines", f"{folder}/lines.jsonl", "--output", "-"], capture_output=True, text=True)
    rows = [json.loads(row) for row in said.stdout.splitlines()]
    assert said.returncode == 1 and [row.get("text") for row in rows] == [wanted[0], None, wanted[1]] and "none.png" in rows[1]["error"], said
    # Without a tokenizer, tokens are what there is to print.
    command = [program, f"--weights={folder}/model.safetensors", *files]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said.startswith(f"tokens i32[2, {MOST}]"), said
    missing = subprocess.run([*command, f"--tokenizer={folder}/none.json"], capture_output=True, text=True)
    assert missing.returncode == 4 and "none.json" in missing.stderr, (missing.returncode, missing.stderr)
    print("\n".join(wanted))


if __name__ == "__main__":
    main()
