#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures as published processors make them: the shorter edge is resized, or both, by Pillow, and the middle is cut out, as torchvision and Hugging
Face's `center_crop` do. Every pixel is within one level of what Pillow and slices of NumPy give; and the line of a spec is read of a folder's
preprocessor_config.json, or of timm's `pretrained_cfg`.

usage: pictures.py FOLDER"""
import json
import os
import subprocess
import sys

import numpy as np
from PIL import Image

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make import FAMILIES, make
from program import call, run

FILTERS = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
# Height and width of the tensor, what is resized to, the filter, and height and width of pictures.
CASES = [((20, 20), (31,), "bicubic", (37, 90)), ((20, 20), (20,), "bilinear", (90, 37)), ((21, 17), (24,), "bicubic", (24, 24)),
         ((20, 20), (25, 25), "bilinear", (13, 70)), ((17, 24), (30, 25), "nearest", (61, 45)), ((16, 24), None, "bicubic", (33, 31)),
         ((33, 33), (33,), "bicubic", (11, 12))]


def published(picture, size, resized, name):
    """The pixels [C, H, W] of a processor."""
    height, width = size
    if resized is None:
        whole = (width, height)
    elif len(resized) == 2:
        whole = (resized[1], resized[0])
    else:
        short, long = sorted(picture.size)
        other = int(resized[0] * long / short)
        whole = (resized[0], other) if picture.size[0] <= picture.size[1] else (other, resized[0])
    pixels = np.asarray(picture.resize(whole, FILTERS[name]))
    top, left = (pixels.shape[0] - height) // 2, (pixels.shape[1] - width) // 2
    return pixels[top:top + height, left:left + width].transpose(2, 0, 1)


def check_pixels(folder):
    rng = np.random.default_rng(2)
    for number, (size, resized, name, shape) in enumerate(CASES):
        source = "" if resized is None else " from " + " x ".join(map(str, resized))
        spec, file = os.path.join(folder, f"{number}.attn"), os.path.join(folder, f"{number}.png")
        with open(spec, "w") as out:
            out.write(f"attn 1\nmodel See {{\n  dim C = 3, Y = {size[0]}, X = {size[1]}\n  dyn B <= 2\n"
                      f"  image input {size[0]} x {size[1]}{source} {name} mean 0.25 std 0.5\n"
                      "  entry see(image: f32[B, C, Y, X]) -> [B, C, Y, X] = image + 0\n}\n")
        call(["attn", "fmt", "--check", spec])
        picture = Image.fromarray(rng.integers(0, 256, (*shape, 3), dtype=np.uint8))
        picture.save(file)
        got, = run(["attn", "run", spec, "--input", f"image={file}"], folder, {}, ["see"])
        wanted = published(picture, size, resized, name)
        levels = (got[0].astype(np.float64) * 0.5 + 0.25) * 255
        most = np.abs(levels - wanted).max()
        print(f"{shape[0]} x {shape[1]} to {size[0]} x {size[1]}{source}, {name}: at most {most:.4f} levels")
        assert most <= 1, most


def check_lines(folder):
    for family, processor, wanted in [
            ("dinov2", dict(do_center_crop=True, crop_size=dict(height=40, width=40), size=dict(shortest_edge=48), resample=3), "40 x 40 from 48 bicubic"),
            ("dinov2", dict(do_center_crop=True, crop_size=40, size=48, resample=2), "40 x 40 from 48 bilinear"),
            ("vit", dict(do_center_crop=True, crop_size=dict(height=32, width=32), size=dict(height=36, width=40), resample=3),
             "32 x 32 from 36 x 40 bicubic"),
            ("vit", dict(do_center_crop=False, size=dict(height=32, width=32), resample=2), "32 x 32 bilinear"),
            ("detr", dict(size=dict(shortest_edge=80, longest_edge=133), resample=2), "80 x 106 bilinear"),
            ("detr", dict(size=96, max_size=100, resample=3), "96 x 100 bicubic"), ("detr", dict(size=dict(height=64, width=96)), "64 x 96 bilinear")]:
        path = os.path.join(folder, family)
        make(family, path, seed=1)
        json.dump(dict(do_normalize=False, **processor), open(os.path.join(path, "preprocessor_config.json"), "w"))
        check_line(path, wanted)
    path = os.path.join(folder, "timm")
    family = next(name for name, (config, *_) in FAMILIES.items() if "architecture" in config)
    config, _ = make(family, path, seed=1)
    config["pretrained_cfg"].update(crop_pct=0.9, interpolation="bicubic")
    json.dump(config, open(os.path.join(path, "config.json"), "w"))
    check_line(path, "32 x 32 from 35 round bicubic")


def check_line(path, wanted):
    spec = subprocess.run(["attn", "import", path], check=True, capture_output=True, text=True).stdout
    assert f"  image input {wanted}" in spec, spec


def main():
    folder, = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    check_lines(folder)
    check_pixels(folder)


if __name__ == "__main__":
    main()
