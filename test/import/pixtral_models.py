# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pixtral's encoder of pictures (Agrawal et al. 2024, "Pixtral 12B") as Mistral 3 has it, in NumPy with double precision: patches of a picture of any
shape, whose heads turn by row and column; squares of them are rows of a text, with a token behind each line."""
import math

import numpy as np
from PIL import Image

from numpy_layers import ACTIVATIONS, linear, softmax
from tower_models import NAMES, pixels_of, seen_shapes

NAMES["mistral3"] = ("model.language_model.", "model.vision_tower.", "model.multi_modal_projector.")


def rms(x, w, name, eps=1e-5):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w[name + ".weight"]


def turned(x, angles):
    """Halves of heads as pairs: x [heads, T, E], angles [T, E / 2]."""
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], -1)


def see(c, w, path):
    """The rows of a picture, and how many lines and columns of them there are."""
    v, p, m = c["vision_config"], *NAMES["mistral3"][1:]
    side, merged, heads = v["patch_size"], c["spatial_merge_size"], v["num_attention_heads"]
    picture, square, edge = Image.open(path).convert("RGB"), side * merged, c["picture"]["size"]["longest_edge"]
    ratio = max(picture.size) / edge
    size = [math.floor(length / ratio) if ratio > 1 else length for length in picture.size]
    pixels = pixels_of(picture.resize([math.ceil(length / square) * square for length in size], Image.BICUBIC), c["picture"])
    rows, columns = pixels.shape[1] // side, pixels.shape[2] // side
    patches = pixels.reshape(3, rows, side, columns, side).transpose(1, 3, 0, 2, 4).reshape(rows * columns, -1)
    y, x = (axis.reshape(-1, 1) for axis in np.mgrid[:rows, :columns])
    h = rms(patches @ w[p + "patch_conv.weight"].reshape(v["hidden_size"], -1).T, w, p + "ln_pre")
    features = v["hidden_size"] // heads
    speeds = 10000 ** (-np.arange(0, features, 2) / features)
    angles = np.concatenate([y * speeds[::2], x * speeds[1::2]], 1)
    for n in range(v["num_hidden_layers"]):
        b = f"{p}transformer.layers.{n}."
        z = rms(h, w, b + "attention_norm")
        q, k, value = (linear(z, w, f"{b}attention.{name}_proj").reshape(len(h), heads, -1).swapaxes(0, 1) for name in "qkv")
        scores = softmax(turned(q, angles) @ turned(k, angles).swapaxes(1, 2) / np.sqrt(features))
        h = h + linear((scores @ value).swapaxes(0, 1).reshape(len(h), -1), w, b + "attention.o_proj")
        z, f = rms(h, w, b + "ffn_norm"), b + "feed_forward."
        h = h + linear(ACTIVATIONS["silu"](linear(z, w, f + "gate_proj")) * linear(z, w, f + "up_proj"), w, f + "down_proj")
    h = rms(h, w, m + "norm", c["text_config"]["rms_norm_eps"])
    # A square by features, each of all its patches.
    lines, across = rows // merged, columns // merged
    h = h.reshape(lines, merged, across, merged, -1).transpose(0, 2, 4, 1, 3).reshape(lines * across, -1)
    h = linear(linear(h, w, m + "patch_merger.merging_layer"), w, m + "linear_1")
    return linear(ACTIVATIONS["gelu"](h), w, m + "linear_2"), (lines, across)


def told(seen):
    lines, across = seen[1]
    return "[IMG_BREAK]".join(["[IMG]" * across] * lines) + "[IMG_END]"


def pixtral_shapes(c):
    v, d, p, m = c["vision_config"], c["text_config"]["hidden_size"], *NAMES["mistral3"][1:]
    shapes = seen_shapes(c)  # of the language model
    width, wide, patch = v["hidden_size"], v["intermediate_size"], v["patch_size"]
    shapes |= {p + "patch_conv.weight": (width, 3, patch, patch), p + "ln_pre.weight": (width,)}
    for n in range(v["num_hidden_layers"]):
        b = f"{p}transformer.layers.{n}."
        shapes |= {f"{b}attention.{name}_proj.weight": (width, width) for name in "qkvo"}
        shapes |= {b + "attention_norm.weight": (width,), b + "ffn_norm.weight": (width,), b + "feed_forward.gate_proj.weight": (wide, width),
                   b + "feed_forward.up_proj.weight": (wide, width), b + "feed_forward.down_proj.weight": (width, wide)}
    return shapes | {m + "norm.weight": (width,), m + "patch_merger.merging_layer.weight": (width, width * c["spatial_merge_size"] ** 2),
                     m + "linear_1.weight": (d, width), m + "linear_2.weight": (d, d)}
