#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""std.vision against models of torch.nn in double precision: ViT with its class token, a distillation token or the mean of its patches,
BEiT, DINOv2 on another grid than it was trained on, Swin V2, SAM's image encoder on maps that do not divide into windows. Sizes, weights and pictures are random. With --spec, a file is held
against DeiT-B/16 with a distillation token instead.

The twins place relative positions by the coordinates of all pairs, and roll, cut and number pictures as the papers say.
"""
import argparse
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from measured import measured
from twins import Wrong, compare, double, draw, normal, parameters_of, tensors_of

BOUND = 1e-5  # relative L2: at most four layers in f32
DEEP_BOUND = 1e-4  # twelve layers


class Attention(nn.Module):
    """Of timm's and BEiT's names; `table` is a number of rows of biases, which `index` places at pairs of tokens."""

    def __init__(self, width, heads, bias=True, rows=0):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width)
        if not bias:
            self.q_bias, self.v_bias = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))
        if rows:
            self.relative_position_bias_table = nn.Parameter(torch.zeros(rows, heads))

    def project(self, x):
        """Queries, keys and values, by heads."""
        bias = self.qkv.bias
        if bias is None:
            bias = torch.cat((self.q_bias, torch.zeros_like(self.q_bias), self.v_bias))
        *batch, tokens, width = x.shape
        parts = F.linear(x, self.qkv.weight, bias).chunk(3, -1)
        return [part.reshape(*batch, tokens, self.heads, width // self.heads).transpose(-2, -3) for part in parts]

    def joined(self, scores, v):
        return self.proj((scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2))

    def forward(self, x, index=None):
        q, k, v = self.project(x)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if index is not None:
            scores = scores + self.relative_position_bias_table[index].permute(2, 0, 1)
        return self.joined(scores, v)


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class GatedMlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.w12, self.w3 = nn.Linear(width, 2 * hidden), nn.Linear(hidden, width)

    def forward(self, x):
        a, b = self.w12(x).chunk(2, -1)
        return self.w3(F.silu(a) * b)


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return x * self.gamma


class Block(nn.Module):
    def __init__(self, width, heads, hidden, scaled=False, gated=False):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        self.attn, self.mlp = Attention(width, heads), (GatedMlp if gated else Mlp)(width, hidden)
        if scaled:
            self.ls1, self.ls2 = Scale(width), Scale(width)
        self.scales = (self.ls1, self.ls2) if scaled else (nn.Identity(), nn.Identity())

    def forward(self, x):
        x = x + self.scales[0](self.attn(self.norm1(x)))
        return x + self.scales[1](self.mlp(self.norm2(x)))


class BeitBlock(nn.Module):
    def __init__(self, width, heads, hidden, rows):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        self.attn, self.mlp = Attention(width, heads, bias=False, rows=rows), Mlp(width, hidden)
        self.gamma_1, self.gamma_2 = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x, index):
        x = x + self.gamma_1 * self.attn(self.norm1(x), index)
        return x + self.gamma_2 * self.mlp(self.norm2(x))


def differences(rows, columns):
    """[2, N, N]: how far places of a grid are apart, from 0 on."""
    place = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")).flatten(1)
    return place[:, :, None] - place[:, None] + torch.tensor([rows - 1, columns - 1])[:, None, None]


class Sizes:
    """A picture of Y x X patches of P x P, heads of an even width, layers."""

    def __init__(self, rng):
        between = lambda least, most: int(rng.integers(least, most + 1))
        self.H, self.L, self.P, self.K = between(1, 4), between(1, 3), between(1, 5), between(1, 20)
        self.Y, self.X, self.F = between(1, 6), between(1, 6), between(1, 60)
        self.D = self.H * between(1, 16)
        self.image = normal(rng, 2, 3, self.Y * self.P, self.X * self.P)

    def spec(self, dims, body, entry):
        known = ", ".join(f"{name} = {getattr(self, name)}" for name in ("D", "H", "L", "F", "K", "P", "Y", "X"))
        return f"""attn 1
use std.vision
model Case {{
  dim {known}, Q = P, C = 3{dims}
  dyn B <= 2
  linear patch_embed.proj: C, P, Q -> D bias
  linear head: D -> K bias
{body}
  entry run(image: [B, C, Y*P, X*Q]) -> y: [B, K] {{
    let patches = patch_embed.proj(split(image, "b c (y p) (x q) -> b (y x) c p q"))
{entry}
  }}
}}
"""


class Model(nn.Module):
    """What all models here have: patches, blocks, a head."""

    def __init__(self, sizes, blocks):
        super().__init__()
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, sizes.D, sizes.P, sizes.P)})
        self.blocks, self.head = nn.ModuleList(blocks), nn.Linear(sizes.D, sizes.K)

    def patches(self, image):
        return self.patch_embed["proj"](image).flatten(2).transpose(1, 2)

    def through(self, x, *more):
        for block in self.blocks:
            x = block(x, *more)
        return x


class Vit(Model):
    """`tokens` in front of the patches: 1, or 2 with that of distillation, or 0, where the mean of the patches is read."""

    def __init__(self, sizes, tokens):
        super().__init__(sizes, [Block(sizes.D, sizes.H, sizes.F) for _ in range(sizes.L)])
        for name in ("cls_token", "dist_token")[:tokens]:
            setattr(self, name, nn.Parameter(torch.zeros(1, 1, sizes.D)))
        self.pos_embed = nn.Parameter(torch.zeros(1, tokens + sizes.Y * sizes.X, sizes.D))
        setattr(self, "norm" if tokens else "fc_norm", nn.LayerNorm(sizes.D, 1e-6))
        if tokens == 2:
            self.head_dist = nn.Linear(sizes.D, sizes.K)
        self.tokens = tokens

    def forward(self, image):
        parts = [getattr(self, name).expand(len(image), -1, -1) for name in ("cls_token", "dist_token")[:self.tokens]]
        x = self.through(torch.cat(parts + [self.patches(image)], 1) + self.pos_embed)
        if not self.tokens:
            return self.head(self.fc_norm(x.mean(1)))
        x = self.norm(x)
        return (self.head(x[:, 0]) + self.head_dist(x[:, 1])) / 2 if self.tokens == 2 else self.head(x[:, 0])


def vit(rng):
    sizes = Sizes(rng)
    return sizes, Vit(sizes, 1), sizes.spec(", N = 1 + Y * X", """
  param cls_token: [1, D], pos_embed: [N, D]
  stack blocks: L of VitBlock[H: H, F: F]
  layernorm norm: D eps 1e-6""", "    return head(first(N, norm(blocks(pack(N, cls_token, patches) + pos_embed))))")


def distilled(rng):
    sizes = Sizes(rng)
    return sizes, Vit(sizes, 2), sizes.spec(", N = 2 + Y * X", """
  param cls_token, dist_token: [1, D], pos_embed: [N, D]
  stack blocks: L of VitBlock[H: H, F: F]
  layernorm norm: D eps 1e-6
  linear head_dist: D -> K bias""", """    let x = norm(blocks(pack(N, cls_token, dist_token, patches) + pos_embed))
    return (head(pick(x, N at 0)) + head_dist(pick(x, N at 1))) * 0.5""")


def mean_pooled(rng):
    sizes = Sizes(rng)
    return sizes, Vit(sizes, 0), sizes.spec(", N = Y * X", """
  param pos_embed: [N, D]
  stack blocks: L of VitBlock[H: H, F: F]
  layernorm fc_norm: D eps 1e-6""", "    return head(fc_norm(mean(N, blocks(relabel(patches, Y*X as N) + pos_embed))))")


class Beit(Model):
    def __init__(self, sizes):
        rows = (2 * sizes.Y - 1) * (2 * sizes.X - 1) + 3
        super().__init__(sizes, [BeitBlock(sizes.D, sizes.H, sizes.F, rows) for _ in range(sizes.L)])
        self.cls_token, self.fc_norm = nn.Parameter(torch.zeros(1, 1, sizes.D)), nn.LayerNorm(sizes.D, 1e-6)
        dy, dx = differences(sizes.Y, sizes.X)
        self.index = torch.full((dy.shape[0] + 1,) * 2, rows - 1)
        self.index[0, 1:], self.index[1:, 0], self.index[1:, 1:] = rows - 3, rows - 2, dy * (2 * sizes.X - 1) + dx

    def forward(self, image):
        x = self.through(torch.cat((self.cls_token.expand(len(image), -1, -1), self.patches(image)), 1), self.index)
        return self.head(self.fc_norm(x[:, 1:].mean(1)))


def beit(rng):
    sizes = Sizes(rng)
    return sizes, Beit(sizes), sizes.spec(", T = Y * X, N = 1 + T", """
  param cls_token: [1, D]
  stack blocks: L of BeitBlock[H: H, F: F, Y: Y, X: X]
  layernorm fc_norm: D eps 1e-6""", """    let x = blocks(pack(N, cls_token, patches))
    return head(fc_norm(mean(T, slice(x, N from 1 to N as T))))""")


class Dino(Model):
    def __init__(self, sizes, grid, gated, registers):
        super().__init__(sizes, [Block(sizes.D, sizes.H, sizes.F, True, gated) for _ in range(sizes.L)])
        self.cls_token = nn.Parameter(torch.zeros(1, 1, sizes.D))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + grid[0] * grid[1], sizes.D))
        self.register_tokens = nn.Parameter(torch.zeros(1, registers, sizes.D))
        self.norm, self.grid, self.to = nn.LayerNorm(sizes.D, 1e-6), grid, (sizes.Y, sizes.X)

    def forward(self, image):
        grid = self.pos_embed[:, 1:].reshape(1, *self.grid, -1).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, self.to, mode="bicubic").flatten(2).transpose(1, 2)
        repeated = lambda x: x.expand(len(image), -1, -1)
        x = torch.cat((repeated(self.cls_token + self.pos_embed[:, :1]), repeated(self.register_tokens), self.patches(image) + grid), 1)
        return self.head(self.norm(self.through(x))[:, 0])


def dino(rng):
    sizes, gated = Sizes(rng), bool(rng.integers(0, 2))
    grid, registers = [int(n) for n in rng.integers(1, 6, 2)], int(rng.integers(1, 5))
    gate = ", gated = true" if gated else ""
    return sizes, Dino(sizes, grid, gated, registers), sizes.spec(
        f", R = {registers}, U = {grid[0]}, V = {grid[1]}, T = Y * X, O = U * V, M = 1 + O, N = 1 + R + T, G = 1", f"""
  param cls_token: [G, D], register_tokens: [R, D], pos_embed: [M, D]
  stack blocks: L of VitBlock[H: H, F: F](scaled = true{gate})
  layernorm norm: D eps 1e-6""", """    let own, grid = unpack(pos_embed, M as G, O)
    let places = resize(split(relabel(grid, O = U*V), "(u v) d -> u v d"), bicubic, U = Y, V = X)
    let x = pack(N, cls_token + own, register_tokens, patches + split(places, "y x d -> (y x) d"))
    return head(first(N, norm(blocks(x))))""")


class CosineAttention(Attention):
    """Of Swin V2, on windows of `side` x `side`, which were `trained` x `trained`."""

    def __init__(self, width, heads, side, trained):
        super().__init__(width, heads, bias=False)
        self.logit_scale = nn.Parameter(torch.zeros(heads, 1, 1))
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(), nn.Linear(512, heads, bias=False))
        self.side, self.trained = side, trained

    def forward(self, x, mask):
        q, k, v = self.project(x)
        scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-1, -2)
        scores = scores * self.logit_scale.clamp(max=np.log(100)).exp()
        apart = (differences(self.side, self.side) - self.side + 1).double() / (self.trained - 1) * 8
        apart = apart.sign() * (apart.abs() + 1).log2() / 3
        scores = scores + 16 * self.cpb_mlp(apart.permute(1, 2, 0)).permute(2, 0, 1).sigmoid()
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None], -torch.inf)
        return self.joined(scores, v)


class SwinV2Block(nn.Module):
    def __init__(self, width, heads, hidden, side, trained, shift):
        super().__init__()
        self.norm1, self.norm2, self.mlp = nn.LayerNorm(width), nn.LayerNorm(width), Mlp(width, hidden)
        self.attn = CosineAttention(width, heads, side, trained)
        self.side, self.shift = side, shift

    def windows(self, x):
        """[B, Y, X, D] to [B, windows, side * side, D]."""
        return x.unfold(1, self.side, self.side).unfold(2, self.side, self.side).permute(0, 1, 2, 4, 5, 3).flatten(3, 4).flatten(1, 2)

    def forward(self, x):
        batch, rows, columns, width = x.shape
        mask, rolled = None, torch.roll(x, (-self.shift, -self.shift), (1, 2))
        if self.shift:
            lines = []
            for size in (rows, columns):
                lines.append(torch.zeros(size, dtype=torch.long))
                lines[-1][size - self.side:size - self.shift], lines[-1][size - self.shift:] = 1, 2
            region = self.windows((lines[0][:, None] * 3 + lines[1])[None, :, :, None])[0, :, :, 0]
            mask = region[:, :, None] == region[:, None]
        y = self.attn(self.windows(rolled), mask)
        y = y.view(batch, rows // self.side, columns // self.side, self.side, self.side, width).transpose(2, 3)
        y = torch.roll(y.reshape(x.shape), (self.shift, self.shift), (1, 2))
        x = x + self.norm1(y)
        return x + self.norm2(self.mlp(x))


class SwinV2(nn.Module):
    def __init__(self, sizes, side, trained):
        super().__init__()
        stage = lambda width, heads: nn.ModuleList(
            SwinV2Block(width, heads, sizes.F, side, trained, side // 2 if n % 2 else 0) for n in range(2))
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, sizes.D, sizes.P, sizes.P)})
        self.early, self.late = stage(sizes.D, sizes.H), stage(2 * sizes.D, sizes.H)
        self.reduction, self.norm = nn.Linear(4 * sizes.D, 2 * sizes.D, bias=False), nn.LayerNorm(2 * sizes.D)
        self.head = nn.Linear(2 * sizes.D, sizes.K)

    def forward(self, image):
        x = self.patch_embed["proj"](image).permute(0, 2, 3, 1)
        for block in self.early:
            x = block(x)
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        x = self.norm(self.reduction(x))
        for block in self.late:
            x = block(x)
        return self.head(x.mean((1, 2)))


def swin_v2(rng):
    sizes, side, trained = Sizes(rng), int(rng.integers(2, 5)), int(rng.integers(2, 9))
    sizes.Y, sizes.X = (2 * side * int(n) for n in rng.integers(1, 3, 2))
    sizes.image = normal(rng, 2, 3, sizes.Y * sizes.P, sizes.X * sizes.P)
    blocks = f"SwinBlock[H: H, F: F, M: M](shift = if n % 2 == 1 then {side // 2} else 0, v2 = true, trained = {trained})"
    return sizes, SwinV2(sizes, side, trained), sizes.spec(f", M = {side}, D2 = 2 * D, Y2 = Y / 2, X2 = X / 2", f"""
  stack early: 2 of {blocks}
  part down: PatchMerging[Y2: Y2, X2: X2, E: D2](v2 = true) = ""
  stack late: 2 of {blocks}""", """    let x = split(patches, "b (y x) d -> b y x d")
    return head(mean(Y2, X2, late(down(early(x)))))""").replace("head: D ->", "head: D2 ->")


class SamAttention(nn.Module):
    """Of all places of a map [B, Y, X, D], with vectors for the rows and columns between two of them."""

    def __init__(self, width, heads, rows, columns):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.rel_pos_h = nn.Parameter(torch.zeros(2 * rows - 1, width // heads))
        self.rel_pos_w = nn.Parameter(torch.zeros(2 * columns - 1, width // heads))

    def forward(self, x):
        batch, rows, columns, width = x.shape
        q, k, v = (part.unflatten(-1, (self.heads, -1)).flatten(1, 2).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        dy, dx = differences(rows, columns)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        for table, apart in ((self.rel_pos_h, dy), (self.rel_pos_w, dx)):
            scores = scores + torch.einsum("bhne,nme->bhnm", q, table[apart])
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2)).view(x.shape)


class SamBlock(nn.Module):
    """In windows of `side` x `side`, or of the whole map where `side` is 0."""

    def __init__(self, sizes, side):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(sizes.D, 1e-6), nn.LayerNorm(sizes.D, 1e-6)
        self.attn, self.side = SamAttention(sizes.D, sizes.H, side or sizes.Y, side or sizes.X), side
        self.mlp = nn.ModuleDict({"lin1": nn.Linear(sizes.D, sizes.F), "lin2": nn.Linear(sizes.F, sizes.D)})

    def windowed(self, x):
        """Window by window, zeros behind the last rows and columns."""
        batch, rows, columns, width = x.shape
        whole, y = F.pad(x, (0, 0, 0, -columns % self.side, 0, -rows % self.side)), torch.zeros_like(x)
        for top in range(0, rows, self.side):
            for left in range(0, columns, self.side):
                seen = self.attn(whole[:, top:top + self.side, left:left + self.side])
                y[:, top:top + self.side, left:left + self.side] = seen[:, :rows - top, :columns - left]
        return y

    def forward(self, x):
        n = self.norm1(x)
        x = x + (self.windowed(n) if self.side else self.attn(n))
        return x + self.mlp["lin2"](F.gelu(self.mlp["lin1"](self.norm2(x))))


class ChannelNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return F.layer_norm(x.movedim(1, -1), (x.shape[1],), self.weight, self.bias, 1e-6).movedim(-1, 1)


class Sam(nn.Module):
    def __init__(self, sizes, sides, channels):
        super().__init__()
        encoder = self.image_encoder = nn.Module()
        encoder.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, sizes.D, sizes.P, sizes.P)})
        encoder.pos_embed = nn.Parameter(torch.zeros(1, sizes.Y, sizes.X, sizes.D))
        encoder.blocks = nn.ModuleList(SamBlock(sizes, side) for side in sides)
        encoder.neck = nn.Sequential(nn.Conv2d(sizes.D, channels, 1, bias=False), ChannelNorm(channels),
                                     nn.Conv2d(channels, channels, 3, padding=1, bias=False), ChannelNorm(channels))

    def forward(self, image):
        encoder = self.image_encoder
        x = encoder.patch_embed["proj"](image).permute(0, 2, 3, 1) + encoder.pos_embed
        for block in encoder.blocks:
            x = block(x)
        return encoder.neck(x.permute(0, 3, 1, 2))


def sam(rng):
    sizes, side, channels = Sizes(rng), int(rng.integers(2, 6)), int(rng.integers(1, 30))
    sizes.Y, sizes.X = (int(n) for n in rng.integers(side + 1, 13, 2))  # two windows or more, the last ones cut, as a rule
    sizes.image = normal(rng, 2, 3, sizes.Y * sizes.P, sizes.X * sizes.P)
    sides = [side, 0, side][:max(sizes.L, 2)]
    parts, applied = "", "x"
    for n, own in enumerate(sides):
        parts += f"  part image_encoder.blocks.{n}: SamBlock[H: H, F: F, M: M]({'' if own else 'windowed = false'})\n"
        applied = f"image_encoder.blocks.{n}({applied})"
    known = ", ".join(f"{name} = {getattr(sizes, name)}" for name in ("D", "H", "F", "P", "Y", "X"))
    return sizes, Sam(sizes, sides, channels), f"""attn 1
use std.vision
model Case {{
  dim {known}, Q = P, I = 3, C = {channels}, M = {side}
  dyn B <= 2
  linear image_encoder.patch_embed.proj: I, P, Q -> D bias
  param image_encoder.pos_embed: [Y, X, D]
{parts}  part neck: SamNeck[C: C] = "image_encoder"
  entry run(image: [B, I, Y*P, X*Q]) -> y: [B, C, Y, X] {{
    let patches = image_encoder.patch_embed.proj(split(image, "b i (y p) (x q) -> b y x i p q"))
    let x = patches + image_encoder.pos_embed
    return split(neck({applied}), "b y x c -> b c y x")
  }}
}}
"""


MODELS = [vit, distilled, mean_pooled, beit, dino, swin_v2, sam]


def check(what, folder, spec, sizes, module, rng, name, bound, flags):
    """The error of a spec against a module with random weights, for pictures of these sizes; ends where it is beyond the bound."""
    draw(rng, module)
    tensors = tensors_of(module)
    with torch.no_grad():
        wanted = {name: module.double()(double(sizes.image)).numpy()}
    try:
        error = compare(folder, spec, tensors, {"image": sizes.image}, wanted, bound, flags)
    except Wrong as wrong:
        sys.exit(f"{wrong}\n{spec}")
    measured(what if bound <= DEEP_BOUND else f"{what} in 16 bits", error)
    return error


def deit_b16_distilled(folder, spec, rng, flags):
    sizes = Sizes(rng)
    sizes.D, sizes.H, sizes.L, sizes.F, sizes.K, sizes.P, sizes.Y, sizes.X = 768, 12, 12, 3072, 1000, 16, 14, 14
    sizes.image = normal(rng, 2, 3, 224, 224)
    module = Vit(sizes, 2)
    print(parameters_of(module), "parameters")
    print(f"relative L2 {check('deit_b16_distilled', folder, spec, sizes, module, rng, 'classify', DEEP_BOUND, flags):.1e}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--spec")
    parser.add_argument("--only", help="the model, of all of them")
    parser.add_argument("--bound", type=float, default=BOUND)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    arguments, flags = parser.parse_known_args()
    if arguments.spec:
        return deit_b16_distilled(arguments.folder, arguments.spec, np.random.default_rng(arguments.seed), flags)
    for make in MODELS if arguments.only is None else [globals()[arguments.only]]:
        worst = 0
        for number in range(arguments.rounds):
            rng = np.random.default_rng([arguments.seed, number])
            sizes, module, spec = make(rng)
            print(f"{make.__name__}, seed {arguments.seed}, round {number}", flush=True)
            worst = max(worst, check(make.__name__, arguments.folder, spec, sizes, module, rng, "y", arguments.bound, flags))
        print(f"{make.__name__}: relative L2 {worst:.1e}")


if __name__ == "__main__":
    main()
