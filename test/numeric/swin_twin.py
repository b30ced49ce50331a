#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swin-T (Liu et al. 2021) in torch, in double precision, against the compiled spec with the same random weights.

The twin rolls and cuts pictures as the paper says: windows by unfolding, masks by numbering the regions of the picture.
"""
import argparse
import os
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measured import measured
from vit_twin import write_safetensors

WIDTHS, HEADS, DEPTHS, WINDOW, CLASSES = (96, 192, 384, 768), (3, 6, 12, 24), (2, 2, 6, 2), 7, 1000
BOUND = 1e-4


def shapes():
    made = {"patch_embed.proj.weight": (96, 3, 4, 4), "patch_embed.proj.bias": (96,), "patch_embed.norm.weight": (96,),
            "patch_embed.norm.bias": (96,), "norm.weight": (768,), "norm.bias": (768,), "head.weight": (CLASSES, 768), "head.bias": (CLASSES,)}
    for stage, (d, h, depth) in enumerate(zip(WIDTHS, HEADS, DEPTHS)):
        for n in range(depth):
            own = {"norm1.weight": (d,), "norm1.bias": (d,), "norm2.weight": (d,), "norm2.bias": (d,), "attn.qkv.weight": (3 * d, d),
                   "attn.qkv.bias": (3 * d,), "attn.proj.weight": (d, d), "attn.proj.bias": (d,),
                   "attn.relative_position_bias_table": ((2 * WINDOW - 1) ** 2, h), "mlp.fc1.weight": (4 * d, d), "mlp.fc1.bias": (4 * d,),
                   "mlp.fc2.weight": (d, 4 * d), "mlp.fc2.bias": (d,)}
            made |= {f"layers.{stage}.blocks.{n}.{name}": shape for name, shape in own.items()}
        if stage < 3:
            made |= {f"layers.{stage}.downsample.norm.weight": (4 * d,), f"layers.{stage}.downsample.norm.bias": (4 * d,),
                     f"layers.{stage}.downsample.reduction.weight": (2 * d, 4 * d)}
    return made


def norm(x, w, name):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], 1e-5)


def windows(x):
    """[B, Y, X, D] to [B, windows, 49, D]."""
    b, y, x_, d = x.shape
    return x.unfold(1, WINDOW, WINDOW).unfold(2, WINDOW, WINDOW).permute(0, 1, 2, 4, 5, 3).reshape(b, -1, WINDOW ** 2, d)


def attention(x, w, name, heads, mask):
    b, g, n, d = x.shape
    q, k, v = F.linear(x, w[name + ".qkv.weight"], w[name + ".qkv.bias"]).chunk(3, -1)
    q, k, v = (t.view(b, g, n, heads, d // heads).transpose(2, 3) for t in (q, k, v))
    place = torch.stack(torch.meshgrid(torch.arange(WINDOW), torch.arange(WINDOW), indexing="ij")).flatten(1)
    dy, dx = (place[:, :, None] - place[:, None]) + WINDOW - 1
    bias = w[name + ".relative_position_bias_table"][dy * (2 * WINDOW - 1) + dx].permute(2, 0, 1)
    score = q @ k.transpose(-1, -2) * (d // heads) ** -0.5 + bias
    if mask is not None:
        score = score.masked_fill(~mask[:, None], -torch.inf)
    y = (score.softmax(-1) @ v).transpose(2, 3).reshape(b, g, n, d)
    return F.linear(y, w[name + ".proj.weight"], w[name + ".proj.bias"])


def block(x, w, name, heads, shift):
    b, side, _, d = x.shape
    y = torch.roll(norm(x, w, name + ".norm1"), (-shift, -shift), (1, 2))
    mask = None
    if shift:
        # Numbers of what lies together in the picture, in the order of the rolled one.
        line = torch.zeros(side, dtype=torch.long)
        line[side - WINDOW:side - shift], line[side - shift:] = 1, 2
        region = windows((line[:, None] * 3 + line)[None, :, :, None].double())[0, :, :, 0]
        mask = region[:, :, None] == region[:, None]
    y = attention(windows(y), w, name + ".attn", heads, mask)
    g = side // WINDOW
    y = y.view(b, g, g, WINDOW, WINDOW, d).transpose(2, 3).reshape(b, side, side, d)
    x = x + torch.roll(y, (shift, shift), (1, 2))
    m = F.gelu(F.linear(norm(x, w, name + ".norm2"), w[name + ".mlp.fc1.weight"], w[name + ".mlp.fc1.bias"]))
    return x + F.linear(m, w[name + ".mlp.fc2.weight"], w[name + ".mlp.fc2.bias"])


def swin(image, w):
    x = F.conv2d(image, w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], 4).permute(0, 2, 3, 1)
    x = norm(x, w, "patch_embed.norm")
    for stage, (heads, depth) in enumerate(zip(HEADS, DEPTHS)):
        for n in range(depth):
            x = block(x, w, f"layers.{stage}.blocks.{n}", heads, 3 if n % 2 and stage < 3 else 0)
        if stage < 3:
            name = f"layers.{stage}.downsample"
            x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
            x = F.linear(norm(x, w, name + ".norm"), w[name + ".reduction.weight"])
    return F.linear(norm(x, w, "norm").mean((1, 2)), w["head.weight"], w["head.bias"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("spec")
    parser.add_argument("--seed", type=int, default=0)
    arguments, flags = parser.parse_known_args()
    os.makedirs(arguments.folder, exist_ok=True)
    rng = np.random.default_rng(arguments.seed)
    scale = lambda shape: 1 / np.sqrt(np.prod(shape[1:])) if len(shape) > 1 and shape[0] != 169 else 0.5
    weights = {name: (rng.standard_normal(shape) * scale(shape)).astype(np.float32) for name, shape in shapes().items()}
    print(sum(array.size for array in weights.values()), "parameters")
    write_safetensors(f"{arguments.folder}/swin.safetensors", weights)
    image = rng.standard_normal((2, 3, 224, 224)).astype(np.float32)
    np.save(f"{arguments.folder}/image.npy", image)
    subprocess.run(["attn", "run", arguments.spec, "--weights", f"{arguments.folder}/swin.safetensors", "--input",
                    f"image={arguments.folder}/image.npy", "--output", f"classify={arguments.folder}/y.npy", *flags], check=True)
    with torch.no_grad():
        wanted = swin(torch.from_numpy(image).double(), {k: torch.from_numpy(v).double() for k, v in weights.items()}).numpy()
    error = np.linalg.norm(np.load(f"{arguments.folder}/y.npy") - wanted) / np.linalg.norm(wanted)
    assert error <= BOUND, f"relative L2 {error:.2e}, bound {BOUND:.0e}"
    measured("swin_t", error)
    print(f"relative L2 {error:.1e}")


if __name__ == "__main__":
    main()
