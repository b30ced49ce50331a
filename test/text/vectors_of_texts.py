#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectors of texts by an imported sentence encoder: those of the same tokens in one padded batch, and cosines by NumPy.

usage: vectors_of_texts.py FOLDER, where FOLDER has the checkpoint of test/import/make.py's minilm, bge or modernbert-embed"""
import json
import subprocess
import sys

import numpy as np

LINES = ["the cat sat", "a cat sits on the mat", "prices rise", "the market is up!", "one", "cat cat cat cat cat cat"]


def run(*command, code=0, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == code, f"{command}: exit {done.returncode}\n{done.stderr}"
    return done.stdout if code == 0 else done.stderr


def main():
    folder, = sys.argv[1:]
    config = json.load(open(f"{folder}/config.json"))
    vocabulary = config["vocab_size"]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "a", "on", "mat", "prices", "is", "up", "!", "##s", "sit", "ris", "##e"]
    words += [f"word{i}" for i in range(vocabulary - len(words))]
    open(f"{folder}/vocab.txt", "w").write("\n".join(words) + "\n")
    open(f"{folder}/lines.txt", "w").write("\n".join(LINES) + "\r\n")
    spec, program, vectors = f"{folder}/spec.attn", f"{folder}/program", f"{folder}/vectors.npy"
    run("attn", "import", folder, "-o", spec)
    run("attn", "compile", "-O0", spec, "--weights", folder, "--embed-weights", "-o", program)
    run(program, "--embed", "--file", f"{folder}/lines.txt", "--output", f"embedding={vectors}")
    got = np.load(vectors)

    tokens = [[int(one) for one in run("attn", "tokenize", f"{folder}/vocab.txt", line, "--ids").split()] for line in LINES]
    longest = max(map(len, tokens))
    for name, array in (("ids", [row + [0] * (longest - len(row)) for row in tokens]), ("segments", np.zeros((len(LINES), longest))),
                        ("lengths", [len(row) for row in tokens])):
        np.save(f"{folder}/{name}.npy", np.array(array, np.int32))
    inputs = [option for name in ("ids", "segments", "lengths") if name != "segments" or "type_vocab_size" in config
              for option in ("--input", f"{name}={folder}/{name}.npy")]
    run(program, *inputs, "--output", f"embedding={folder}/batch.npy")
    wanted = np.load(f"{folder}/batch.npy")
    error = np.linalg.norm(got - wanted) / np.linalg.norm(wanted)
    assert got.shape == wanted.shape and error < 1e-6, f"{got.shape}: a relative L2 of {error:.1e}"
    one = f"{folder}/one.npy"
    run(program, "--embed", "--prompt", LINES[1], "--output", f"embedding={one}")
    assert (np.load(one)[0] == got[1]).all()

    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(got[::2].astype(float), got[1::2].astype(float))]
    said = [float(line) for line in run(program, "--pairs", "--file", "-", text="\n".join(LINES)).split()]
    assert np.abs(np.array(said) - cosines).max() < 6e-5, f"{said}, expected {cosines}"
    wrong = run(program, "--pairs", "--file", "-", text="a\nb\nc\n", code=1)
    assert "`-` has 3 lines, expected two for each pair" in wrong, wrong
    long = " ".join(["cat"] * 5000)
    wrong = run(program, "--embed", "--prompt", long, code=1)
    assert "R0215]: the text has 5002 tokens, but entry `embed` takes" in wrong, wrong
    most = int(wrong.split(" takes ")[1].split()[0])
    run(program, "--embed", "--prompt", long, "--truncate", "--output", f"embedding={one}")
    run(program, "--embed", "--prompt", " ".join(["cat"] * (most - 2)), "--output", f"embedding={folder}/cut.npy")
    assert (np.load(one) == np.load(f"{folder}/cut.npy")).all()
    print(f"{len(LINES)} lines: the vectors of a padded batch")


if __name__ == "__main__":
    main()
