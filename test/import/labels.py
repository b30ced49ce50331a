#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scores of classes that a folder names are printed as the five most probable ones, of `attn run` and of a program that holds them; NumPy computes
the same words from the scores.

usage: labels.py EXAMPLE FOLDER"""
import json
import os
import random
import shutil
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
from program import call


def words(scores, names):
    lines = []
    for n, row in enumerate(scores.astype(np.float64)):
        chances = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
        best = np.argsort(-row, kind="stable")[:5]
        lines.append(f"  row {n}: " + ", ".join(f"{names[i]} {100 * chances[i]:.1f} %" for i in best))
    return lines


def check(folder, picture, names):
    spec, program, scores = (os.path.join(folder, name) for name in ("spec.attn", "program", "scores.npy"))
    call(["attn", "import", folder, "-o", spec])
    call(["attn", "compile", spec, "--embed-weights", "-O0", "-o", program])
    call(["attn", "run", spec, "--input", f"image={picture}", "--output", f"scores={scores}"])
    wanted = words(np.load(scores), names)
    for command in (["attn", "run", spec], [program]):
        said = subprocess.run([*command, "--input", f"image={picture}"], check=True, capture_output=True, text=True).stdout.splitlines()
        assert said[1:] == wanted, f"{said}\n--- but NumPy:\n{wanted}"
    print(wanted[0])


def main():
    example, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(example, folder, ignore=lambda _, names: [name for name in names if not name.endswith((".json", ".safetensors", ".png"))])
    picture, file = os.path.join(folder, "boot.png"), os.path.join(folder, "config.json")
    config = json.load(open(file))
    names = config.pop("label_names")
    check(folder, picture, names)
    # As Hugging Face writes them, in any order, with what JSON escapes.
    names[9] = "b\u00f6\"ot"
    pairs = [(str(i), name) for i, name in enumerate(names)]
    random.Random(3).shuffle(pairs)
    json.dump({**config, "id2label": dict(pairs)}, open(file, "w"))
    check(folder, picture, names)
    # Labels that are not of all classes are none.
    json.dump({**config, "id2label": dict(pairs[1:])}, open(file, "w"))
    said = subprocess.run(["attn", "run", os.path.join(folder, "spec.attn"), "--input", f"image={picture}"], check=True, capture_output=True,
                          text=True).stdout
    assert "arg-max 9" in said, said


if __name__ == "__main__":
    main()
