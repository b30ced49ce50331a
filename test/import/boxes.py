#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a detector has found is drawn into its pictures, by `attn run` and by a compiled program: NumPy finds the pixels of each frame where the
boxes say, also where the model sees only the middle of a picture, and all others as they were. What cannot be drawn is refused before it runs.

usage: boxes.py FOLDER"""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
from program import call
from vit_twin import write_safetensors

SPEC = """attn 1
model Detect {{
  dim N = 4, K = 4, A = 4, C = 3, Y = 24, X = 32
  dyn B <= 3
  param shift: [K]
  image input 24 x 32{resize} bilinear mean 0.5 std 0.5
  entry detect(image: f32[B, C, Y, X], scores: f32[B, N, K], places: f32[B, N, A]) -> logits: [B, N, K], boxes: [B, N, A] {{
    return scores + shift, places + 0 * mean(C, Y, X, image)
  }}
}}
"""
NAMES = ["cat", "dog", "r\u00e9mote"]
COLOURS = [(255, 99, 92), (92, 200, 255), (255, 190, 70)]
# Centre, width, height of each query: well inside, over two edges of the picture, of nothing, flat.
PLACES = np.array([[0.4, 0.55, 0.3, 0.4], [0.95, 0.9, 0.3, 0.4], [0.5, 0.5, 0.5, 0.5], [0.2, 0.3, 0.2, 0]], np.float32)
CLASSES = np.array([[0, 2, 3, 1], [1, 3, 3, 0]])


def write_folder(folder, resize):
    rng = np.random.default_rng(8)
    os.makedirs(folder)
    open(os.path.join(folder, "spec.attn"), "w").write(SPEC.format(resize=resize))
    write_safetensors(os.path.join(folder, "model.safetensors"), {"shift": np.zeros(4, np.float32)})
    json.dump(dict(id2label=dict(enumerate(NAMES))), open(os.path.join(folder, "config.json"), "w"))
    scores = np.where(np.arange(4) == CLASSES[..., None], 5, rng.random((2, 4, 4))).astype(np.float32)
    np.save(os.path.join(folder, "scores.npy"), scores)
    np.save(os.path.join(folder, "places.npy"), np.stack([PLACES, PLACES[:, [1, 0, 3, 2]]]))
    pictures = rng.integers(0, 90, (300, 500, 3), np.uint8), rng.integers(0, 90, (900, 460), np.uint8)
    for n, pixels in enumerate(pictures):
        Image.fromarray(pixels).save(os.path.join(folder, f"{n}.png"))


def seen(width, height, resize):
    """The part of a picture that the model sees: left, top, width, height."""
    if not resize:
        return 0, 0, width, height
    small = (36, 36 * height // width) if width <= height else (36 * width // height, 36)
    across, down = width / small[0], height / small[1]
    return (small[0] - 32) // 2 * across, (small[1] - 24) // 2 * down, 32 * across, 24 * down


def check_picture(folder, n, file, resize):
    before = np.asarray(Image.open(os.path.join(folder, f"{n}.png")).convert("RGB")).astype(int)
    after = np.asarray(Image.open(file)).astype(int)
    height, width = before.shape[:2]
    left, top, across, down = seen(width, height, resize)
    thick, checked = max(2, min(width, height) // 200), 0
    kept = np.ones((height, width), bool)
    for label, (x, y, w, h) in zip(CLASSES[n], np.load(os.path.join(folder, "places.npy"))[n].astype(float)):
        if label == 3 or h == 0 or w == 0:
            continue
        x0, x1 = (int(np.floor(np.clip(left + across * edge, 0, width) + 0.5)) for edge in (x - w / 2, x + w / 2))
        y0, y1 = (int(np.floor(np.clip(top + down * edge, 0, height) + 0.5)) for edge in (y - h / 2, y + h / 2))
        frame = np.zeros((height, width), bool)
        frame[y0:y1, x0:x1] = True
        frame[y0 + thick:y1 - thick, x0 + thick:x1 - thick] = False
        # A plate with the label: above, else below, else inside; it may cover a part of the frame.
        scale = max(1.5, min(width, height) / 300)
        plate = int(np.ceil(7 * scale) + 2 * np.ceil(2 * scale) + np.ceil(2 * scale))
        start = y0 - plate if y0 >= plate else y1 if y1 + plate <= height else y0 + thick
        kept &= ~frame
        kept[start:start + plate] = False
        frame[start:start + plate] = False
        assert (after[frame] == COLOURS[label]).all(), (n, NAMES[label])
        inked = after[start:start + plate, min(x0, width - 70) + 3:min(x0, width - 70) + 40]
        assert (inked == COLOURS[label]).all(-1).mean() > 0.4 and (inked.sum(-1) < 60).mean() > 0.05, "no label"
        checked += frame.sum()
    assert (after[kept] == before[kept]).all() and kept.mean() > 0.5
    return checked


def check(folder, resize):
    write_folder(folder, resize)
    program, checked = os.path.join(folder, "program"), 0
    given = [word for name in ("scores", "places") for word in ("--input", f"{name}={folder}/{name}.npy")]
    given += ["--input", f"image={folder}/0.png", "--input", f"image={folder}/1.png"]
    call(["attn", "compile", f"{folder}/spec.attn", "--weights", folder, "--embed-weights", "-O0", "-o", program])
    for command in (["attn", "run", f"{folder}/spec.attn", "--weights", folder, "-O0"], [program]):
        files = [f"{folder}/drawn{n}.png" for n in range(2)]
        said = subprocess.run([*command, *given, "--draw", files[0], "--draw", files[1]], check=True, capture_output=True, text=True).stdout
        assert len(said.splitlines()) == 6, said
        checked += sum(check_picture(folder, n, file, resize) for n, file in enumerate(files))
        for file in files:
            os.remove(file)
    return program, given, checked


def check_wrong(folder, program, given):
    plain = [program, *given]
    cases = [([*plain, "--draw", f"{folder}/no/x.png", "--draw", f"{folder}/y.png"], 4, f"cannot write `{folder}/no/x.png`"),
             ([*plain, "--draw", f"{folder}/y.png"], 2, "`--draw` is given 1 times, for 2 pictures"),
             ([*plain, "--draw", f"{folder}/y.jpg"], 2, "y.jpg`: expected FILE.png"),
             ([*plain, "--draw", f"{folder}/y.png", "--bench"], 2, "`--draw` has no effect with `--bench`"),
             ([program, *given[:4], "--input", "image=random", "--draw", f"{folder}/y.png"], 2, "`--draw`: no input is a picture")]
    shutil.copy(f"{folder}/model.safetensors", f"{folder}/alone.safetensors")
    cases.append(([*plain, "--weights", f"{folder}/alone.safetensors", "--draw", f"{folder}/y.png"], 2, "entry `detect` finds no objects"))
    for command, code, message in cases:
        said = subprocess.run(command, capture_output=True, text=True)
        assert said.returncode == code and message in said.stderr, (command, said)
    assert not [name for name in os.listdir(folder) if name.startswith(("x", "y"))], os.listdir(folder)


def check_linked(folder, program):
    """Only a program that may draw has a font."""
    other = os.path.join(folder, "other")
    spec = open(os.path.join(folder, "spec.attn")).read().replace("boxes: [", "corners: [")
    open(other + ".attn", "w").write(spec)
    call(["attn", "compile", other + ".attn", "-O0", "-o", other])
    assert b"glyphOf" in open(program, "rb").read() and b"glyphOf" not in open(other, "rb").read()


def main():
    folder = sys.argv[1]
    shutil.rmtree(folder, ignore_errors=True)
    _, _, cut = check(os.path.join(folder, "cut"), " from 36")
    program, given, whole = check(os.path.join(folder, "whole"), "")
    check_wrong(os.path.join(folder, "whole"), program, given)
    check_linked(os.path.join(folder, "whole"), program)
    print(f"{cut + whole} pixels of frames")


if __name__ == "__main__":
    main()
