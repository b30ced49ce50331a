#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the small vision transformer of fashion_vit.attn on Fashion-MNIST.

    python3 train.py --out first.safetensors | tee train.log
    python3 train.py --start first.safetensors --shift 1 --mirrored 0 --rate 1e-3 --seed 2 \
            --out fashion_vit.safetensors | tee -a train.log

The first run learns from strongly altered images, the second goes on with images closer to those
that are asked for; it was added since the first ended at 88.9% of the test images. What is saved is
the running mean of the weights after the last epoch: no epoch is picked by its test accuracy. The
tensors carry timm's names. Needs Debian's python3-torch and dataset-fashion-mnist.
"""
import argparse, math, os, sys, time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../training"))
from trainer import read_idx, read_safetensors, write_safetensors

MEAN, STD = 0.2860, 0.3530


class Linear(nn.Linear):
    """nn.Linear computed as a 1x1 convolution: Debian's torch runs convolutions through oneDNN
    but matrix products through the reference BLAS, some fifty times slower."""

    def forward(self, x):
        b, t, c = x.shape
        y = F.conv2d(x.reshape(b, t, 1, c).permute(0, 3, 1, 2), self.weight[:, :, None, None], self.bias)
        return y.permute(0, 2, 3, 1).reshape(b, t, -1)


class Attention(nn.Module):
    exact = False

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, Linear(width, 3 * width), Linear(width, width)

    def forward(self, x):
        b, t, d = x.shape
        # The two batched products take bf16 operands, which go through oneDNN, except where the
        # last measurement asks for f32.
        half = torch.float32 if self.exact else torch.bfloat16
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        s = (q.to(half) * q.shape[-1] ** -0.5) @ k.to(half).transpose(-2, -1)
        y = s.float().softmax(-1).to(half) @ v.to(half)
        return self.proj(y.float().transpose(1, 2).reshape(b, t, d))


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1, self.fc2 = Linear(width, hidden), Linear(hidden, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.attn, self.mlp = Attention(width, heads), Mlp(width, hidden)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class FashionViT(nn.Module):
    def __init__(self, width, heads, layers, hidden, patch=4, classes=10):
        super().__init__()
        tokens = (28 // patch) ** 2 + 1
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(1, width, patch, patch)})
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.randn(1, tokens, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.05)
                nn.init.zeros_(module.bias)

    def forward(self, image):
        x = self.patch_embed["proj"](image).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def augment(images, rng, shift, mirrored):
    """A shift of up to `shift` pixels each way, a mirror image for the share `mirrored`."""
    padded = F.pad(images, (shift,) * 4, value=-MEAN / STD)
    windows = padded.unfold(2, 28, 1).unfold(3, 28, 1)  # [b, 1, 2 * shift + 1, 2 * shift + 1, 28, 28]
    dy, dx = torch.randint(2 * shift + 1, (2, len(images)), generator=rng)
    shifted = windows[torch.arange(len(images)), :, dy, dx]
    mirror = torch.rand(len(images), generator=rng) < mirrored
    return torch.where(mirror[:, None, None, None], shifted.flip(3), shifted)


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in zip(images.split(500), labels.split(500)))
    return right / len(labels)


def main():
    arg = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arg.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    arg.add_argument("--out", default="fashion_vit.safetensors")
    for name, value in dict(width=96, heads=3, layers=4, hidden=288, epochs=12, batch=128, seed=1, shift=2).items():
        arg.add_argument("--" + name, type=int, default=value)
    arg.add_argument("--rate", type=float, default=1.5e-3)
    arg.add_argument("--mirrored", type=float, default=0.5)
    arg.add_argument("--start", help="a checkpoint to go on from")
    arg.add_argument("--steps", type=int, help="stop after so many steps of each epoch (for a quick look)")
    opt = arg.parse_args()

    torch.set_num_threads(max(2, torch.get_num_threads()))  # with one, 1x1 convolutions leave oneDNN
    torch.manual_seed(opt.seed)
    rng = torch.Generator().manual_seed(opt.seed)
    read = lambda name: torch.from_numpy(read_idx(f"{opt.data}/{name}-ubyte.gz").copy())
    pixels = lambda name: ((read(name + "-images-idx3").float() / 255 - MEAN) / STD)[:, None]
    images, labels = pixels("train"), read("train-labels-idx1").long()
    test_images, test_labels = pixels("t10k"), read("t10k-labels-idx1").long()

    model = FashionViT(opt.width, opt.heads, opt.layers, opt.hidden)
    if opt.start:
        model.load_state_dict(read_safetensors(opt.start))
    mean = FashionViT(opt.width, opt.heads, opt.layers, opt.hidden)
    mean.load_state_dict(model.state_dict())
    decay = [p for p in model.parameters() if p.ndim > 1 and p.shape[0] > 1]
    plain = [p for p in model.parameters() if not (p.ndim > 1 and p.shape[0] > 1)]
    optimiser = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}])
    per_epoch = len(images) // opt.batch
    total, warmup = opt.epochs * per_epoch, per_epoch
    print(f"width {opt.width} heads {opt.heads} layers {opt.layers} hidden {opt.hidden}:",
          f"{sum(p.numel() for p in model.parameters())} parameters;",
          f"{opt.epochs} epochs of {per_epoch} steps of {opt.batch} images,",
          f"shift {opt.shift}, mirrored {opt.mirrored}, rate {opt.rate}, seed {opt.seed}", flush=True)

    start, step = time.time(), 0
    for epoch in range(opt.epochs):
        model.train()
        losses = []
        for index in torch.randperm(len(images), generator=rng).split(opt.batch)[: opt.steps or per_epoch]:
            rate = min(1, (step + 1) / warmup) * (0.01 + 0.99 * (1 + math.cos(math.pi * step / total)) / 2)
            for group in optimiser.param_groups:
                group["lr"] = opt.rate * rate
            loss = F.cross_entropy(model(augment(images[index], rng, opt.shift, opt.mirrored)), labels[index], label_smoothing=0.1)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            step += 1
            with torch.no_grad():
                for a, p in zip(mean.parameters(), model.parameters()):
                    a.lerp_(p, max(0.002, 1 / (step + 1)))
            losses.append(loss.item())
        write_safetensors(opt.out, {name: value.numpy() for name, value in mean.state_dict().items()})
        print(f"epoch {epoch + 1:2d}: loss {np.mean(losses):.4f}, test accuracy",
              f"{accuracy(mean, test_images, test_labels):.4f}, {time.time() - start:.0f} s", flush=True)
    Attention.exact = True
    print(f"test accuracy with every product in f32: {accuracy(mean, test_images, test_labels):.4f}")


if __name__ == "__main__":
    main()
