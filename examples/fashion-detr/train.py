#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the small detector of fashion_detr.attn to find and name Fashion-MNIST's pictures on canvases.

    python3 train.py --minutes 20 --out fashion_detr.safetensors | tee train.log

As DETR (Carion et al. 2020): each box on the canvas belongs to the query that it costs least to give it, and all decoder
layers learn. A query begins with a place of its own on a grid. Needs Debian's python3-torch, python3-scipy, python3-pil and
dataset-fashion-mnist.
"""
import math
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import canvases
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../training"))
import trainer

MEAN, STD, GRID, NOTHING = 0.286, 0.353, 12, 10


def sines(places, width):
    """Sines and cosines of the row in the first half, of the column in the second: places [N, 2] (y, x) in 0 to 1"""
    c = torch.arange(width // 2)
    angle = 2 * math.pi * places[:, :, None] / 20 ** ((c - c % 2) / (width // 2))
    return torch.where(c % 2 == 0, angle.sin(), angle.cos()).flatten(1)


def grid(n):
    line = (torch.arange(n) + 0.5) / n
    return torch.stack(torch.meshgrid(line, line, indexing="ij"), -1).view(-1, 2)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, query, key, value):
        split = lambda y: y.view(len(y), y.shape[1], self.heads, -1).transpose(1, 2)
        q, k, v = split(self.q(query)), split(self.k(key)), split(self.v(value))
        y = (q * q.shape[-1] ** -0.5 @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.out(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """Of the encoder, or with `crosses` of the decoder. The norm is in front."""

    def __init__(self, width, heads, hidden, crosses):
        super().__init__()
        self.norm1, self.norm2, self.self_attn = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads)
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
        if crosses:
            self.norm_cross, self.cross_attn = nn.LayerNorm(width), Attention(width, heads)

    def forward(self, x, place, memory=None, memory_place=None):
        n = self.norm1(x)
        x = x + self.self_attn(n + place, n + place, n)
        if memory is not None:
            x = x + self.cross_attn(self.norm_cross(x) + place, memory + memory_place, memory)
        return x + self.fc2(F.relu(self.fc1(self.norm2(x))))


class FashionDetr(nn.Module):
    def __init__(self, width=64, heads=4, hidden=128, read=1, written=3, queries=4):
        super().__init__()
        self.backbone = nn.ModuleDict({"conv1": nn.Conv2d(1, 16, 5, 2, 2), "conv2": nn.Conv2d(16, 32, 3, 2, 1),
                                       "conv3": nn.Conv2d(32, width, 3, 2, 1)})
        self.input_norm, self.memory_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.encoder = nn.ModuleList(Layer(width, heads, hidden, False) for _ in range(read))
        self.decoder = nn.ModuleList(Layer(width, heads, hidden, True) for _ in range(written))
        places = grid(queries)
        self.query = nn.Parameter(torch.zeros(queries**2, width))
        self.query_place = nn.Parameter(sines(places, width))
        size = torch.full_like(places, 0.3)
        self.reference = nn.Parameter(torch.logit(torch.cat([places.flip(1), size], 1)))
        self.classes, self.box1, self.box2 = nn.Linear(width, 11), nn.Linear(width, width), nn.Linear(width, 4)
        self.register_buffer("places", sines(grid(GRID), width), persistent=False)
        for name, p in self.named_parameters():
            if "attn" in name and (name.endswith("q.weight") or name.endswith("k.weight")):
                nn.init.eye_(p)  # so that a query looks at its place at first
        nn.init.zeros_(self.box2.weight)
        nn.init.zeros_(self.box2.bias)

    def forward(self, image):
        """Scores of classes and boxes, of each decoder layer: [layers, B, Q, 11] and [layers, B, Q, 4]"""
        x = image
        for conv in self.backbone.values():
            x = F.relu(conv(x))
        memory = self.input_norm(x.flatten(2).transpose(1, 2))
        for layer in self.encoder:
            memory = layer(memory, self.places)
        memory, x, found = self.memory_norm(memory), self.query.expand(len(image), -1, -1), []
        for layer in self.decoder:
            x = layer(x, self.query_place, memory, self.places)
            n = self.norm(x)
            found.append((self.classes(n), torch.sigmoid(self.box2(F.relu(self.box1(n))) + self.reference)))
        return tuple(torch.stack(part) for part in zip(*found))


def corners(box):
    return torch.cat([box[..., :2] - box[..., 2:] / 2, box[..., :2] + box[..., 2:] / 2], -1)


def generalised_overlap(a, b):
    """GIoU of boxes (Rezatofighi et al. 2019): what is shared of both, less what of their hull is neither's."""
    a, b = corners(a), corners(b)
    area = lambda low, high: (high - low).clamp(min=0).prod(-1)
    shared = area(torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:]))
    both = area(a[..., :2], a[..., 2:]) + area(b[..., :2], b[..., 2:]) - shared
    hull = area(torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:]))
    return shared / both - (hull - both) / hull


def matched(scores, boxes, classes, wanted):
    """The query of each box of a canvas."""
    from scipy.optimize import linear_sum_assignment  # only a training needs it

    cost = 5 * torch.cdist(boxes, wanted, p=1) - 2 * generalised_overlap(boxes[:, None], wanted) - 2 * scores.softmax(-1)[:, classes]
    rows, columns = linear_sum_assignment(cost.numpy())
    return rows[np.argsort(columns)]


def loss(model, batch):
    images, classes, boxes = batch
    all_scores, all_boxes = model(images)
    weights, total = torch.ones(11), 0
    weights[NOTHING] = 0.2
    of = torch.cat([torch.full((len(c),), n) for n, c in enumerate(classes)])
    wanted_classes, wanted_boxes = torch.cat(classes), torch.cat(boxes)
    for scores, found in zip(all_scores, all_boxes):
        with torch.no_grad():
            query = torch.from_numpy(np.concatenate([matched(*one) for one in zip(scores, found, classes, boxes)]))
        target = torch.full(scores.shape[:2], NOTHING)
        target[of, query] = wanted_classes
        own = found[of, query]
        total = total + F.cross_entropy(scores.transpose(1, 2), target, weights) + (
            5 * (own - wanted_boxes).abs().sum(-1) + 2 * (1 - generalised_overlap(own, wanted_boxes))).mean()
    return total / len(all_scores)


def normalised(canvas):
    return ((torch.from_numpy(canvas).float() / 255 - MEAN) / STD)[:, None]


def precision(model, test):
    found = []
    for k in range(0, len(test), 100):
        scores, boxes = model(normalised(np.stack([canvas for canvas, _, _ in test[k : k + 100]])))
        best = scores[-1].softmax(-1)[..., :NOTHING].max(-1)
        found += zip(best.indices.numpy(), best.values.numpy(), boxes[-1].numpy())
    ap = canvases.average_precision(found, [one[1:] for one in test])
    return f"average precision at 0.5 of {len(test)} canvases {ap:.1f}"


def main():
    arg = trainer.arguments(__doc__, "fashion_detr.safetensors", minutes=20.0, rate=1.5e-3, batch=32, canvases=4000)
    arg.add_argument("--data", default=canvases.DATA)
    opt = arg.parse_args()
    torch.manual_seed(opt.seed)
    images, labels = canvases.read("train", opt.data)
    test = canvases.test(1000, opt.data)

    def batches(epoch):
        rng = np.random.default_rng([opt.seed, epoch])
        for _ in range(opt.canvases // opt.batch):
            drawn = [canvases.draw(images, labels, rng) for _ in range(opt.batch)]
            yield (normalised(np.stack([d[0] for d in drawn])), [torch.from_numpy(d[1]) for d in drawn],
                   [torch.from_numpy(d[2]) for d in drawn])

    run = trainer.Trainer(FashionDetr(), opt, decay=1e-3)
    run.run(batches, loss, lambda model: precision(model, test[:200]), lambda model: precision(model, test))


if __name__ == "__main__":
    main()
