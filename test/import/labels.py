#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scores of classes that a folder names are printed as the five most probable ones, of `attn run` and of a program that holds them; NumPy computes
the same words from the scores. What a detector has found is printed with its labels and edges.

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
from vit_twin import write_safetensors


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


SPEC = """attn 1
model Detect {
  dim N = 40, K = 4, A = 4
  dyn B <= 3
  param shift: [K]
  entry detect(scores: f32[B, N, K], places: f32[B, N, A]) -> logits: [B, N, K], boxes: [B, N, A] {
    return scores + shift, places * 1
  }
}
"""


SCORES = """attn 1
model Judge {{
  dim K = {count}
  dyn B <= 8
  param shift: [K]
  entry judge(x: f32[B, K]) -> scores: [B, K] = x + shift
}}
"""

# What a config says, and what its scores are printed as.
IDENTITY, SIGMOID = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"
PROBLEMS = [(4, {}, "softmax"), (4, dict(problem_type=None), "softmax"), (4, dict(problem_type="single_label_classification"), "softmax"),
            (6, dict(problem_type="multi_label_classification"), "sigmoid"), (3, dict(problem_type="regression"), "none"),
            (1, {}, "sigmoid"), (1, dict(problem_type="regression"), "none"), (1, dict(problem_type="single_label_classification"), "sigmoid"),
            (1, dict(sentence_transformers=dict(version="4.1", activation_fn=IDENTITY)), "none"),
            (1, dict(sbert_ce_default_activation_function=SIGMOID, problem_type="regression"), "sigmoid"),
            (3, dict(sentence_transformers=dict(activation_fn=IDENTITY)), "softmax")]


def printed(row, names, function):
    best = np.argsort(-row, kind="stable")[:5]
    if function == "none":
        return ", ".join(f"{names[i]} {row[i]:.6g}" for i in best)
    chances = 1 / (1 + np.exp(-row)) if function == "sigmoid" else np.exp(row - row.max()) / np.exp(row - row.max()).sum()
    return ", ".join(f"{names[i]} {100 * chances[i]:.1f} %" for i in best)


def check_problems(folder):
    """Scores of each kind of problem, of `attn run` and, of one of each, of a program that holds them."""
    rng, compiled = np.random.default_rng(9), set()
    for number, (count, says, function) in enumerate(PROBLEMS):
        own, names = os.path.join(folder, str(number)), [f"label {i}" for i in range(count)]
        os.makedirs(own)
        # The names may come before what is said of them, or behind it.
        config = [("id2label", {str(i): name for i, name in enumerate(names)}), *says.items()]
        rng.shuffle(config)
        json.dump(dict(config), open(f"{own}/config.json", "w"))
        shift, x = (rng.standard_normal(shape).astype(np.float32) for shape in (count, (3, count)))
        write_safetensors(f"{own}/model.safetensors", {"shift": shift})
        open(f"{own}/spec.attn", "w").write(SCORES.format(count=count))
        np.save(f"{own}/x.npy", 2 * x)
        wanted = [f"  row {n}: {printed(row.astype(np.float64), names, function)}" for n, row in enumerate(2 * x + shift)]
        commands = [["attn", "run", "-O0", f"{own}/spec.attn", "--weights", own]]
        if function not in compiled:
            call(["attn", "compile", f"{own}/spec.attn", "--weights", own, "--embed-weights", "-O0", "-o", f"{own}/program"])
            commands.append([f"{own}/program"])
        compiled.add(function)
        for command in commands:
            said = subprocess.run([*command, "--input", f"x={own}/x.npy"], check=True, capture_output=True, text=True).stdout.splitlines()
            assert said[1:] == wanted, f"{says}: {said}\n--- but NumPy:\n{wanted}"
    print(len(PROBLEMS), "problems")


def check_objects(folder):
    """Scores of three classes and of none, as DETR gives them, and boxes."""
    names, rng = ["cat", "dog", "remote"], np.random.default_rng(4)
    os.makedirs(folder)
    inputs = {"scores": 2 * rng.standard_normal((2, 40, 4)).astype(np.float32), "places": rng.random((2, 40, 4), np.float32)}
    shift = np.array([0, 0.5, 0, 1], np.float32)
    write_safetensors(os.path.join(folder, "model.safetensors"), {"shift": shift})
    json.dump(dict(id2label={str(i): name for i, name in enumerate(names)}), open(os.path.join(folder, "config.json"), "w"))
    open(os.path.join(folder, "spec.attn"), "w").write(SPEC)
    command = ["attn", "run", os.path.join(folder, "spec.attn"), "-O0", "--weights", folder]
    for name, value in inputs.items():
        np.save(os.path.join(folder, name + ".npy"), value)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    logits = (inputs["scores"] + shift).astype(np.float64)
    chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    wanted = []
    for b in range(2):
        for chance, (x, y, w, h) in zip(chances[b], inputs["places"][b].astype(np.float64)):
            if chance[:3].max() > 0.5:
                edges = " ".join(f"{edge:.3f}" for edge in (x - w / 2, y - h / 2, x + w / 2, y + h / 2))
                wanted.append(f"  picture {b}: {names[chance[:3].argmax()]} {100 * chance.max():.1f} %; {edges}")
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert said[1:] == wanted and 10 < len(wanted) < 70, f"{said}\n--- but NumPy:\n{wanted}"
    said = subprocess.run([*command, f"--output=boxes={folder}/boxes.npy"], check=True, capture_output=True, text=True).stdout
    assert said.startswith("logits f32[2, 40, 4]"), said
    print(f"{len(wanted)} objects")


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
    check_problems(os.path.join(folder, "problems"))
    check_objects(os.path.join(folder, "objects"))


if __name__ == "__main__":
    main()
