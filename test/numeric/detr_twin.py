#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DETR with ResNet-50 (Carion et al. 2020) of torch.nn against the compiled spec with the same random weights.

The twin counts rows and columns of a picture in its mask, as the paper's positions do, and leaves out keys by a padding mask.
"""
import argparse

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from measured import measured
from program import call, write_weights
from twins import compare_command, draw, normal, parameters_of, tensors_of

BOUND = 1e-4  # relative L2: 53 convolutions and 12 layers in f32


class FrozenBatchNorm(nn.Module):
    def __init__(self, features):
        super().__init__()
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.register_buffer(name, torch.zeros(features))

    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias)


class Bottleneck(nn.Module):
    def __init__(self, taken, middle, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(taken, middle, 1, bias=False), FrozenBatchNorm(middle)
        self.conv2, self.bn2 = nn.Conv2d(middle, middle, 3, stride, 1, bias=False), FrozenBatchNorm(middle)
        self.conv3, self.bn3 = nn.Conv2d(middle, 4 * middle, 1, bias=False), FrozenBatchNorm(4 * middle)
        self.downsample = None
        if taken != 4 * middle:
            self.downsample = nn.Sequential(nn.Conv2d(taken, 4 * middle, 1, stride, bias=False), FrozenBatchNorm(4 * middle))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + (self.downsample(x) if self.downsample else x))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), FrozenBatchNorm(64)
        taken = 64
        for stage, (middle, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
            layers = [Bottleneck(taken if n == 0 else 4 * middle, middle, 2 if n == 0 and stage > 1 else 1) for n in range(blocks)]
            setattr(self, f"layer{stage}", nn.Sequential(*layers))
            taken = 4 * middle

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(image))), 3, 2, 1)
        return self.layer4(self.layer3(self.layer2(self.layer1(x))))


def sines(mask, features):
    """[B, 2 * features, Y, X] of a mask that is true where the picture is not."""
    places = []
    for axis in (1, 2):
        at = (~mask).cumsum(axis).double()
        at = at / (at.narrow(axis, mask.shape[axis] - 1, 1) + 1e-6) * 2 * np.pi
        pair = torch.arange(features) // 2
        angle = at[..., None] / 10000 ** (2 * pair.double() / features)
        places.append(torch.stack((angle[..., 0::2].sin(), angle[..., 1::2].cos()), -1).flatten(-2))
    return torch.cat(places, -1)


class EncoderLayer(nn.TransformerEncoderLayer):
    def forward(self, x, places, padding):
        placed = x + places
        x = self.norm1(x + self.self_attn(placed, placed, x, key_padding_mask=padding)[0])
        return self.norm2(x + self.linear2(F.relu(self.linear1(x))))


class DecoderLayer(nn.TransformerDecoderLayer):
    def forward(self, x, queries, memory, places, padding):
        asked = x + queries
        x = self.norm1(x + self.self_attn(asked, asked, x)[0])
        x = self.norm2(x + self.multihead_attn(x + queries, memory + places, memory, key_padding_mask=padding)[0])
        return self.norm3(x + self.linear2(F.relu(self.linear1(x))))


class Detr(nn.Module):
    def __init__(self):
        super().__init__()
        layers = lambda kind: nn.ModuleList(kind(256, 8, 2048, batch_first=True) for _ in range(6))
        self.backbone = nn.ModuleList([nn.ModuleDict({"body": ResNet50()})])
        self.input_proj = nn.Conv2d(2048, 256, 1)
        self.transformer = nn.ModuleDict({"encoder": nn.ModuleDict({"layers": layers(EncoderLayer)}),
                                          "decoder": nn.ModuleDict({"layers": layers(DecoderLayer), "norm": nn.LayerNorm(256)})})
        self.query_embed = nn.Embedding(100, 256)
        self.class_embed = nn.Linear(256, 92)
        self.bbox_embed = nn.ModuleDict({"layers": nn.ModuleList(nn.Linear(256, n) for n in (256, 256, 4))})

    def forward(self, image, there):
        features = self.input_proj(self.backbone[0]["body"](image))
        mask = F.interpolate((~there)[None].float(), size=features.shape[-2:])[0].bool()
        places = sines(mask, 128).to(image.dtype).flatten(1, 2)
        memory, padding = features.flatten(2).transpose(1, 2), mask.flatten(1)
        for layer in self.transformer["encoder"]["layers"]:
            memory = layer(memory, places, padding)
        queries = self.query_embed.weight.expand(len(image), -1, -1)
        x = torch.zeros_like(queries)
        for layer in self.transformer["decoder"]["layers"]:
            x = layer(x, queries, memory, places, padding)
        y = x = self.transformer["decoder"]["norm"](x)
        for n, layer in enumerate(self.bbox_embed["layers"]):
            y = layer(F.relu(y) if n else y)
        return self.class_embed(x), y.sigmoid()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("spec")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, nargs=2, default=(64, 96))
    parser.add_argument("--dtype", default="float64")
    arguments, flags = parser.parse_known_args()
    rng, (height, width) = np.random.default_rng(arguments.seed), arguments.size
    kind = getattr(torch, arguments.dtype)
    detr = draw(rng, Detr())
    print(parameters_of(detr), "parameters")
    weights, program = write_weights(arguments.folder, tensors_of(detr)), f"{arguments.folder}/detr"
    call(["attn", "compile", arguments.spec, f"--set=H={height}", f"--set=W={width}", "-o", program, *flags])
    detr.to(kind)
    sizes = [(height, width), (height * 7 // 10, width * 7 // 10)]
    image = normal(rng, len(sizes), 3, height, width)
    there = np.zeros((len(sizes), height, width), bool)
    for n, (h, w) in enumerate(sizes):
        there[n, :h, :w] = True
    for entry, inputs in (("detect", {"image": image[:1]}), ("detect_bordered", {"image": image, "there": there})):
        with torch.no_grad():
            mask = torch.from_numpy(inputs.get("there", there[:1]))
            logits, boxes = detr(torch.from_numpy(inputs["image"]).to(kind), mask)
        wanted = {"logits": logits.numpy(), "boxes": boxes.numpy()}
        error = compare_command([program, "--weights", weights, "--entry", entry], arguments.folder, inputs, wanted, BOUND)
        measured(entry, error)
        print(f"{entry}: relative L2 {error:.1e}")


if __name__ == "__main__":
    main()
