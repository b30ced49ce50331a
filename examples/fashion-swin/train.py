#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the small Swin transformer of fashion_swin.attn on Fashion-MNIST, enlarged to 56 x 56.

    python3 train.py --minutes 20 --out fashion_swin.safetensors | tee train.log

The tensors carry the names of Microsoft's and timm's checkpoints. Needs Debian's python3-torch and dataset-fashion-mnist.
"""
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../training"))
import trainer
from trainer import read_idx

MEAN, STD, SIDE, WINDOW = 0.286, 0.353, 56, 7
SIZES = {"widths": (32, 96), "heads": (1, 3), "depths": (2, 2), "channels": 16}


def windows(x):
    """[B, Y, X, D] to [B * windows, WINDOW * WINDOW, D]"""
    b, y, x_, d = x.shape
    return x.view(b, y // WINDOW, WINDOW, x_ // WINDOW, WINDOW, d).transpose(2, 3).reshape(-1, WINDOW * WINDOW, d)


def joined(x, b, side):
    g = side // WINDOW
    return x.view(b, g, g, WINDOW, WINDOW, -1).transpose(2, 3).reshape(b, side, side, -1)


def half(x):
    """Products of bf16 go through oneDNN, several times as fast as those of f32; a running model multiplies in f32."""
    return x.bfloat16() if torch.is_grad_enabled() else x


class Linear(nn.Linear):
    def forward(self, x):
        return F.linear(half(x), half(self.weight)).float() + self.bias


class Attention(nn.Module):
    def __init__(self, width, heads, side, shift):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(width, 3 * width), Linear(width, width)
        self.relative_position_bias_table = nn.Parameter(torch.zeros((2 * WINDOW - 1) ** 2, heads))
        place = torch.stack(torch.meshgrid(torch.arange(WINDOW), torch.arange(WINDOW), indexing="ij")).flatten(1)
        dy, dx = place[:, :, None] - place[:, None] + WINDOW - 1
        self.index = dy * (2 * WINDOW - 1) + dx
        self.mask = None
        if shift:  # what the roll has brought together from afar does not see each other
            line = torch.zeros(side, dtype=torch.long)
            line[side - WINDOW : side - shift], line[side - shift :] = 1, 2
            region = windows((line[:, None] * 3 + line)[None, :, :, None])[:, :, 0]
            self.mask = torch.where(region[:, :, None] == region[:, None], 0.0, -100.0)[:, None]

    def forward(self, x):
        w, n, d = x.shape
        weight, bias = self.qkv.weight.chunk(3), self.qkv.bias.chunk(3)  # three products are faster than cutting one
        x = half(x)
        q, k, v = ((F.linear(x, half(w_)) + half(b)).view(w, n, self.heads, -1).transpose(1, 2) for w_, b in zip(weight, bias))
        table = self.relative_position_bias_table[self.index].permute(2, 0, 1)
        if self.mask is not None:
            table = (table + self.mask).repeat(w // len(self.mask), 1, 1, 1)
        s = ((q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)).float() + table
        return self.proj((half(s.softmax(-1)) @ v).transpose(1, 2).reshape(w, n, d))


class Block(nn.Module):
    def __init__(self, width, heads, hidden, side, shift):
        super().__init__()
        self.norm1, self.norm2, self.shift, self.side = nn.LayerNorm(width), nn.LayerNorm(width), shift, side
        self.attn = Attention(width, heads, side, shift)
        self.mlp = nn.ModuleDict({"fc1": Linear(width, hidden), "fc2": Linear(hidden, width)})

    def forward(self, x):
        y = self.norm1(x)
        if self.shift:
            y = y.roll((-self.shift, -self.shift), (1, 2))
        y = joined(self.attn(windows(y)), len(x), self.side)
        if self.shift:
            y = y.roll((self.shift, self.shift), (1, 2))
        x = x + y
        return x + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))


class Merging(nn.Module):
    def __init__(self, width, wider):
        super().__init__()
        self.norm, self.reduction = nn.LayerNorm(4 * width), nn.Linear(4 * width, wider, bias=False)

    def forward(self, x):
        b, y, x_, d = x.shape
        pieces = x.view(b, y // 2, 2, x_ // 2, 2, d).permute(0, 1, 3, 4, 2, 5).reshape(b, y // 2, x_ // 2, 4 * d)
        return self.reduction(self.norm(pieces))


class Stage(nn.Module):
    def __init__(self, width, heads, depth, side, wider=None):
        super().__init__()
        shifted = side > WINDOW
        self.blocks = nn.ModuleList(Block(width, heads, 2 * width, side, WINDOW // 2 if shifted and n % 2 else 0) for n in range(depth))
        if wider:
            self.downsample = Merging(width, wider)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.downsample(x) if hasattr(self, "downsample") else x


class FashionSwin(nn.Module):
    def __init__(self, widths, heads, depths, channels, classes=10):
        super().__init__()
        self.patch_embed = nn.ModuleDict({"conv": nn.Conv2d(1, channels, 5, 2, 2), "proj": nn.Conv2d(channels, widths[0], 3, 2, 1),
                                          "norm": nn.LayerNorm(widths[0])})
        side, last = SIDE // 4, len(widths) - 1
        self.layers = nn.ModuleList(Stage(w, h, n, side >> k, None if k == last else widths[k + 1])
                                    for k, (w, h, n) in enumerate(zip(widths, heads, depths)))
        self.norm, self.head = nn.LayerNorm(widths[-1]), nn.Linear(widths[-1], classes)
        for name, p in self.named_parameters():
            if p.ndim > 1 and "conv" not in name and "patch" not in name:
                nn.init.trunc_normal_(p, std=0.05 if "table" not in name else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, image):
        x = self.patch_embed["proj"](F.relu(self.patch_embed["conv"](image)))
        x = self.patch_embed["norm"](x.permute(0, 2, 3, 1))
        for stage in self.layers:
            x = stage(x)
        return self.head(self.norm(x).mean((1, 2)))


def enlarged(images):
    """As Pillow's bilinear filter does it: u8 [N, SIDE, SIDE]"""
    large = [F.interpolate(part[:, None].float(), (SIDE, SIDE), mode="bilinear").round().byte()[:, 0]
             for part in torch.from_numpy(images.copy()).split(5000)]
    return torch.cat(large)


def normalised(images):
    return (images.float() / 255 - MEAN) / STD


def augment(images, shift, mirrored):
    """A shift of up to `shift` pixels each way, the mirror image for the share `mirrored`: u8 [B, SIDE, SIDE]"""
    padded = F.pad(images, (shift,) * 4).unfold(1, SIDE, 1).unfold(2, SIDE, 1)
    dy, dx = torch.randint(2 * shift + 1, (2, len(images)))
    shifted = padded[torch.arange(len(images)), dy, dx]
    return torch.where(torch.rand(len(images), 1, 1) < mirrored, shifted.flip(2), shifted)


def main():
    arg = trainer.arguments(__doc__, "fashion_swin.safetensors", minutes=20.0, rate=2e-3, batch=128, shift=2, mirrored=0.0)
    arg.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    opt = arg.parse_args()
    torch.manual_seed(opt.seed)
    read = lambda name: read_idx(f"{opt.data}/{name}-ubyte.gz")
    labels, test_labels = (torch.from_numpy(read(f"{n}-labels-idx1").copy()).long() for n in ("train", "t10k"))
    images, test_images = (enlarged(read(f"{n}-images-idx3")[: 20000 if opt.time_steps else None]) for n in ("train", "t10k"))

    def batches(epoch):
        for index in torch.randperm(len(images)).split(opt.batch):
            yield normalised(augment(images[index], opt.shift, opt.mirrored))[:, None], labels[index]

    def loss(model, batch):
        return F.cross_entropy(model(batch[0]), batch[1], label_smoothing=0.05)

    def accuracy(model):
        right = sum((model(normalised(x)[:, None]).argmax(1) == y).sum().item()
                    for x, y in zip(test_images.split(500), test_labels.split(500)))
        return f"test accuracy {right / len(test_labels):.4f}"

    model = FashionSwin(**SIZES)
    trainer.Trainer(model, opt).run(batches, loss, accuracy)


if __name__ == "__main__":
    main()
