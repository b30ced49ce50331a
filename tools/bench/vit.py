# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vision transformers as their artifacts describe them: sizes, random weights, operations."""
import json
import math
import re
import struct
from dataclasses import dataclass

import numpy as np

from failure import BAD_INPUT, Failure


@dataclass
class Vit:
    """Sizes, under the names that the specs in examples/ have for them."""

    name: str
    symbol: str
    D: int  # width
    H: int  # heads
    L: int  # layers
    F: int  # width of the feed-forward part
    K: int  # classes
    C: int  # channels
    P: int  # height of a patch
    Q: int  # width of a patch
    Y: int  # patches from top to bottom
    X: int  # patches from left to right

    @property
    def tokens(self):
        return 1 + self.Y * self.X

    @property
    def head_dim(self):
        return self.D // self.H

    @property
    def input_shape(self):
        return (1, self.C, self.Y * self.P, self.X * self.Q)

    @property
    def output_shape(self):
        return (1, self.K)

    def flop(self):
        """Operations of one picture: two per multiply-add of the linears and of attention."""
        N, D, F = self.tokens, self.D, self.F
        layer = N * D * 3 * D + 2 * N * N * D + N * D * D + 2 * N * D * F
        return 2 * (self.Y * self.X * self.C * self.P * self.Q * D + self.L * layer + D * self.K)


def read_description(description):
    """The sizes in what `attn inspect --json` prints of an artifact."""
    name = description["name"]
    parameters = {pattern(item["name"]): item for item in description["parameters"]}

    def parameter(wanted):
        if wanted not in parameters:
            raise Failure(BAD_INPUT, f"{name} has no parameter `{wanted}`: only vision transformers with the tensor "
                          "names of those in examples/vit/ can be written as ONNX")
        return parameters[wanted]

    # [D, C, P, Q]
    patch = parameter("patch_embed.proj.weight")["shape"]
    if len(patch) != 4:
        raise Failure(BAD_INPUT, f"{name}: `patch_embed.proj.weight` has {len(patch)} axes, expected [D, C, P, Q]")
    width, channels, *patch = patch
    hidden = parameter("blocks.{n}.mlp.fc1.weight")
    image = [axis["size"] for axis in description["entries"][0]["inputs"][0]["axes"]]
    heads = next((dim["size"] for dim in description["dims"] if dim["name"] == "H"), None)
    if heads is None or width % heads:
        raise Failure(BAD_INPUT, f"{name}: expected a dim `H`, the number of heads, that divides the width {width}")
    return Vit(name=name, symbol=description["symbol"], D=width, H=heads, L=hidden["layers"], F=hidden["shape"][0],
               K=parameter("head.bias")["shape"][0], C=channels, P=patch[0], Q=patch[1],
               Y=image[2] // patch[0], X=image[3] // patch[1])


def pattern(name):
    """A parameter's name with its layer written as `{n}`."""
    return re.sub(r"\{\w+\}", "{n}", name)


def random_weights(description, seed):
    """A tensor for every parameter, as the checkpoint names them. Matrices are N(0, 1/fan-in), so that activations
    keep their size through the layers; the scales of norms are around 1."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for parameter in description["parameters"]:
        name, shape = pattern(parameter["name"]), parameter["shape"]
        scale, mean = 0.05, 0
        if name in ("cls_token", "pos_embed"):
            scale = 0.5
        elif len(shape) > 1:
            scale = math.prod(shape[1:]) ** -0.5
        elif name.endswith("weight"):
            scale, mean = 0.1, 1
        layers = range(parameter["layers"]) if parameter["layers"] else [None]
        for layer in layers:
            values = rng.standard_normal(shape, np.float32) * np.float32(scale) + np.float32(mean)
            tensors[name if layer is None else name.replace("{n}", str(layer))] = values
    return tensors


def write_safetensors(path, tensors):
    """8 bytes of header length, JSON, data."""
    header, offset = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            values.tofile(file)
