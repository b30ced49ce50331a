#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processors of pictures by their classes: files with random keys, some left out, are read by `attn import`, and pictures of random sizes become the
tensors that Pillow and NumPy make of them in the order of the published classes. So are timm's, with their own order. What has no one size, or
is not read, is an error that names the key.

usage: processors.py FOLDER"""
import json
import math
import os
import subprocess
import sys

import numpy as np
from PIL import Image

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make import FAMILIES, make
from program import run

HALF, CLIP = ([0.5] * 3, [0.5] * 3), ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])
# What a class takes where the file says nothing: size, whether one number is a square, the middle, the filter of Pillow, means and deviations.
CLASSES = {"ViT": (dict(height=224, width=224), True, None, 2, HALF), "DeiT": (dict(height=256, width=256), True, 224, 3, HALF),
           "Beit": (dict(height=256, width=256), True, 224, 3, HALF), "CLIP": (dict(shortest_edge=224), False, 224, 3, CLIP),
           "Siglip": (dict(height=224, width=224), None, None, 3, HALF), "Bit": (dict(shortest_edge=224), False, 224, 3, CLIP),
           "ConvNext": (dict(shortest_edge=384), False, None, 3, HALF)}
OF_FAMILY = {"vit": "ViT", "deit": "DeiT", "dinov2": "Bit"}


def draw(rng, family):
    """A random file: its class, or the family's, and keys that are there by chance."""
    name = str(rng.choice(list(CLASSES))) if rng.random() < 0.7 else None
    _, square, crop, *_ = CLASSES[name or OF_FAMILY[family]]
    own, side = {}, 8 * int(rng.integers(2, 6))
    if name:
        own[str(rng.choice(["image_processor_type", "feature_extractor_type"]))] = name + str(rng.choice(["ImageProcessor", "FeatureExtractor"]))
    length = side + int(rng.choice([0, 0, 3, 7, 16]))
    crops = crop is not None and rng.random() < 0.8
    if crop is not None and (not crops or rng.random() < 0.5):
        own["do_center_crop"] = crops
    if crops:
        own["crop_size"] = side if rng.random() < 0.5 else dict(height=side, width=side)
        length -= int(rng.choice([0, 0, 5, 12])) if length > 20 else 0
    elif name != "ConvNext":
        length = side
    forms = [dict(height=length, width=length)] * 2 + [[length, length]]
    if square is not None and (square or crops):
        forms += [length] * 2
    if not square and crops:
        forms += [dict(shortest_edge=length)] * 2
    own["size"] = dict(shortest_edge=side) if name == "ConvNext" else forms[rng.integers(len(forms))]
    if name == "ConvNext" and rng.random() < 0.5:
        own["crop_pct"] = float(rng.choice([0.9, 0.7, 1.0]))
    for key, value in [("resample", int(rng.integers(0, 6))), ("do_rescale", bool(rng.random() < 0.7)), ("do_normalize", bool(rng.random() < 0.7)),
                       ("rescale_factor", float(rng.choice([1 / 255, 1 / 127.5]))), ("image_mean", rng.random(3).round(3).tolist()),
                       ("image_std", (0.1 + rng.random(3)).round(3).tolist()), ("do_resize", True)]:
        if rng.random() < 0.4:
            own[key] = value
    return own, CLASSES[name or OF_FAMILY[family]], name


def middle(pixels, height, width, top=None, left=None):
    """The middle of a picture, black where it has none. In Hugging Face's order a border's odd row comes first."""
    top = math.floor((pixels.shape[0] - height) / 2) if top is None else top
    left = math.floor((pixels.shape[1] - width) / 2) if left is None else left
    made = np.zeros((height, width, 3), pixels.dtype)
    ys, xs = np.arange(height) + top, np.arange(width) + left
    y, x = (ys >= 0) & (ys < pixels.shape[0]), (xs >= 0) & (xs < pixels.shape[1])
    made[np.ix_(y, x)] = pixels[np.ix_(ys[y], xs[x])]
    return made


def resized(picture, size, filter_of):
    """To (height, width), or with the shorter side of a length."""
    if isinstance(size, int):
        width, height = picture.size
        other = int(size * max(width, height) / min(width, height))
        size = (other, size) if width <= height else (size, other)
    return np.asarray(picture.resize((size[1], size[0]), filter_of))


def processed(picture, own, defaults, name):
    size, square, crop, resample, (mean, deviation) = defaults
    said, crop_size = own.get("size", size), own.get("crop_size", crop)
    if isinstance(said, int):
        said = dict(height=said, width=said) if square else dict(shortest_edge=said)
    elif isinstance(said, list):
        said = dict(height=said[0], width=said[1])
    filter_of, side = own.get("resample", resample), said.get("shortest_edge")
    if name == "ConvNext" and side < 384:
        pixels = middle(resized(picture, int(side / own.get("crop_pct", 224 / 256)), filter_of), side, side)
    else:
        pixels = resized(picture, side or (said["height"], said["width"]), filter_of)
    if own.get("do_center_crop", crop is not None):
        crop_size = crop_size if isinstance(crop_size, dict) else dict(height=crop_size, width=crop_size)
        pixels = middle(pixels, crop_size["height"], crop_size["width"])
    values = pixels.astype(np.float64)
    if own.get("do_rescale", True):
        values *= own.get("rescale_factor", 1 / 255)
    if own.get("do_normalize", True):
        values = (values - own.get("image_mean", mean)) / own.get("image_std", deviation)
    return values.transpose(2, 0, 1)


def draw_timm(rng, side):
    own = dict(input_size=[3, side, side], mean=rng.random(3).round(3).tolist(), std=(0.1 + rng.random(3)).round(3).tolist())
    for key, value in [("crop_pct", float(rng.choice([1.0, 0.9, 0.875, 0.61]))), ("crop_mode", str(rng.choice(["center", "squash"]))),
                       ("interpolation", str(rng.choice(["bicubic", "bilinear", "nearest", "lanczos"])))]:
        if rng.random() < 0.7:
            own[key] = value
    return own


def processed_timm(picture, own, side):
    """torchvision takes the middle from half of the rest on, rounded to the nearest, halves to even."""
    length, mode = math.floor(side / own.get("crop_pct", 0.875)), own.get("crop_mode", "center")
    filter_of = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3}[own.get("interpolation", "bicubic")]
    pixels = resized(picture, length if mode == "center" else (length, length), filter_of)
    top, left = (round((have - side) / 2) for have in pixels.shape[:2])
    values = middle(pixels, side, side, top, left) / 255.0
    return ((values - own["mean"]) / own["std"]).transpose(2, 0, 1)


def line_of(folder, file, content):
    with open(os.path.join(folder, file), "w") as out:
        json.dump(content, out)
    done = subprocess.run(["attn", "import", folder], capture_output=True, text=True)
    assert done.returncode == 0, f"{content}: {done.stderr}"
    line = done.stdout[done.stdout.index("image input"):].split("//")[0]
    return " ".join(line.split())


def compare(folder, rng, line, wanted_of, case):
    """Three pictures as a spec with this line takes them."""
    side = int(line.split()[2])
    with open(f"{folder}/see.attn", "w") as out:
        out.write(f"attn 1\nmodel See {{\n  dim C = 3, Y = {side}, X = {side}\n  dyn B <= 3\n  {line}\n"
                  "  entry see(image: f32[B, C, Y, X]) -> [B, C, Y, X] = image + 0\n}\n")
    command, wanted = ["attn", "run", "-O0", f"{folder}/see.attn"], []
    for number in range(3):
        picture = Image.fromarray(rng.integers(0, 256, (*rng.integers(9, 80, 2), 3), dtype=np.uint8))
        picture.save(f"{folder}/{number}.png")
        command += ["--input", f"image={folder}/{number}.png"]
        wanted.append(wanted_of(picture))
    got, = run(command, folder, {}, ["see"])
    wanted = np.stack(wanted)
    apart = np.abs(got - wanted).max() / (np.abs(wanted).max() + 1e-9)
    assert got.shape == wanted.shape and apart < 1e-4, f"{case}: `{line}` {apart}"


WRONG = [("vit", dict(do_resize=False), "`do_resize` is `false`, expected true"),
         ("vit", dict(size=dict(shortest_edge=32)), "`size` is `{\"shortest_edge\":32}`, expected `height` and `width` of a square"),
         ("vit", dict(size=dict(height=32, width=40)), "expected `height` and `width` of a square"),
         ("vit", dict(size=32, image_processor_type="BlipImageProcessor"), "`image_processor_type` is `\"BlipImageProcessor\"`, expected one of ViT"),
         ("vit", dict(size=32, resample=6), "`resample` is `6`, expected 0 (nearest), 1 (lanczos)"),
         ("dinov2", dict(size=32, crop_size=dict(height=32, width=40)), "`crop_size` is `{\"height\":32,\"width\":40}`, expected `height`"),
         ("dinov2", dict(size=dict(shortest_edge=32, longest_edge=64), crop_size=32), "expected no `longest_edge`"),
         ("dinov2", dict(size=32, do_center_crop=False), "`size` is `32`, expected `height` and `width` of a square"),
         ("dinov2", dict(size=dict(shortest_edge=25), crop_size=32, image_processor_type="BitImageProcessorFast"), "expected at least `crop_size`"),
         ("vit", dict(size=dict(largest_edge=32)), "`size` is `{\"largest_edge\":32}`, expected a number up to 65536"),
         ("timm-vit", dict(crop_mode="border"), "`crop_mode` is `\"border\"`, expected `center` or `squash`"),
         ("timm-vit", dict(crop_pct=1.5), "`crop_pct` is `1.5`, expected more than 0, and up to 1"),
         ("timm-vit", dict(interpolation="random"), "`interpolation` is `\"random\"`"),
         ("timm-vit", dict(input_size=[3, 64, 64]), "`input_size` is `[3,64,64]`, expected [3, 32, 32], as the tensors say"),
         ("sam", dict(size=dict(longest_edge=64), pad_size=dict(height=40, width=40)), "expected `longest_edge`, 40 as `image_size` says"),
         ("sam", dict(size=dict(longest_edge=40), pad_size=40, do_pad=False), "expected 40 x 40, which `do_pad` makes")]


def check_wrong(folder):
    made = {}
    for family, content, wanted in WRONG:
        own = os.path.join(folder, "wrong-" + family)
        if family not in made:
            made[family] = make(family, own, seed=1)[0]
        if family.startswith("timm"):
            content = {**made[family], "pretrained_cfg": {**made[family]["pretrained_cfg"], **content}}
        with open(os.path.join(own, "config.json" if family.startswith("timm") else "preprocessor_config.json"), "w") as out:
            json.dump(content, out)
        done = subprocess.run(["attn", "import", own], capture_output=True, text=True)
        assert done.returncode == 1 and wanted in done.stderr and not done.stdout, f"{content}: {done.returncode}, {done.stderr}"
    print(f"{len(WRONG)} mistakes")


def check_sam(folder, rng):
    """The longer side has the whole length, zeros of the tensor lie behind and below."""
    make("sam", folder, seed=1)
    line = line_of(folder, "preprocessor_config.json", FAMILIES["sam"][2]["preprocessor_config.json"])

    def wanted(picture):
        scale = 40 / max(picture.size)
        width, height = (int(length * scale + 0.5) for length in picture.size)
        made = np.zeros((3, 40, 40))
        values = resized(picture, (height, width), 2) / 255.0
        made[:, :height, :width] = ((values - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(2, 0, 1)
        return made

    compare(folder, rng, line, wanted, "sam")


def main():
    folder, = sys.argv[1:]
    rng = np.random.default_rng(6)
    for family in OF_FAMILY:
        make(family, os.path.join(folder, family), seed=1)
    count = 90 if os.environ.get("ATTN_FULL_TESTS") == "1" else 24
    for _ in range(count):
        family = str(rng.choice(list(OF_FAMILY)))
        own, defaults, name = draw(rng, family)
        line = line_of(os.path.join(folder, family), "preprocessor_config.json", own)
        compare(folder, rng, line, lambda picture: processed(picture, own, defaults, name or OF_FAMILY[family]), f"{family}, {own}")
    config = make("timm-vit", os.path.join(folder, "timm"), seed=1)[0]
    for _ in range(count // 3):
        own = draw_timm(rng, 32)
        line = line_of(os.path.join(folder, "timm"), "config.json", {**config, "pretrained_cfg": own})
        compare(folder, rng, line, lambda picture: processed_timm(picture, own, 32), f"timm, {own}")
    check_sam(os.path.join(folder, "sam"), rng)
    print(f"{count} files of classes, {count // 3} of timm's as Pillow and NumPy make them")
    check_wrong(folder)


if __name__ == "__main__":
    main()
