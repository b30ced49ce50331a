#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the decoder of story.attn, in Llama's form, on the King James Bible.

    python3 train.py --minutes 20 --out story.safetensors | tee train.log

Needs Debian's python3-torch and bible-kjv. The tensors have the names of Llama in Hugging Face's form; the vocabulary is
written beside them. Bits per byte are those of held-out chapters, each token predicted from 128 to 255 tokens before it.
"""
import lzma
import math
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import text
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../training"))
import trainer

CONTEXT = 256


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * self.weight


def rotated(x, first=0):
    """Features p and p + E/2 turned by the position: x [B, H, T, E]"""
    half = x.shape[-1] // 2
    angle = (torch.arange(first, first + x.shape[2], dtype=x.dtype)[:, None] * 10000 ** (-torch.arange(half, dtype=x.dtype) / half))
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


class Attention(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q_proj, self.o_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))

    def forward(self, x, mask):
        b, t, d = x.shape
        split = lambda y, heads: y.view(b, t, heads, self.size).transpose(1, 2)
        q, k, v = split(self.q_proj(x), self.heads), split(self.k_proj(x), self.groups), split(self.v_proj(x), self.groups)
        k, v = (y.repeat_interleave(self.heads // self.groups, 1) for y in (rotated(k), v))
        scores = rotated(q) @ k.transpose(-2, -1) * self.size**-0.5 + mask
        return self.o_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = Norm(width), Norm(width)
        self.self_attn, self.mlp = Attention(width, heads, groups), Mlp(width, hidden)

    def forward(self, x, mask):
        x = x + self.self_attn(self.input_layernorm(x), mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class Story(nn.Module):
    """The output has the weights of the embedding."""

    def __init__(self, vocabulary=1024, width=128, heads=4, groups=2, layers=4, hidden=336):
        super().__init__()
        self.model = nn.ModuleDict({
            "embed_tokens": nn.Embedding(vocabulary, width),
            "layers": nn.ModuleList(Layer(width, heads, groups, hidden) for _ in range(layers)), "norm": Norm(width)})
        for name, p in self.named_parameters():
            if p.ndim > 1:
                nn.init.normal_(p, std=0.05 if "o_proj" not in name and "down_proj" not in name else 0.05 / math.sqrt(2 * layers))

    def forward(self, tokens):
        t, dtype = tokens.shape[1], self.model["norm"].weight.dtype
        mask = torch.full((t, t), -math.inf, dtype=dtype).triu(1)
        x = self.model["embed_tokens"](tokens)
        for layer in self.model["layers"]:
            x = layer(x, mask)
        return F.linear(self.model["norm"](x), self.model["embed_tokens"].weight)


def bits(model, tokens, limit=None):
    """Of the tokens together: windows of CONTEXT, of which all but the first count from the middle on."""
    half, total = CONTEXT // 2, 0.0
    tokens = torch.tensor(tokens[:limit])
    starts = list(range(0, max(1, len(tokens) - half), half))
    for k in range(0, len(starts), 16):
        for start in starts[k : k + 16]:
            window = tokens[start : start + CONTEXT + 1]
            loss = F.cross_entropy(model(window[None, :-1])[0], window[1:], reduction="none")
            total += loss[half if start else 0 :].sum().item()
    return total / math.log(2)


def main():
    arg = trainer.arguments(__doc__, "story.safetensors", minutes=20.0, rate=4e-3, batch=16, pairs=768)
    arg.add_argument("--vocabulary", default="tokenizer.json", help="is read where it is there, else written")
    opt = arg.parse_args()
    torch.manual_seed(opt.seed)
    learnt, held = text.split(text.chapters())
    if not os.path.exists(opt.vocabulary):
        text.Vocabulary(text.learn_pairs(learnt, opt.pairs)).write(opt.vocabulary)
    vocabulary = text.Vocabulary.read(opt.vocabulary)
    tokens, held_tokens = torch.tensor(vocabulary.tokens(learnt)), vocabulary.tokens(held)
    size, xz = len(held.encode()), len(lzma.compress(held.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(tokens)} tokens of {len(learnt.encode())} bytes to learn from, {len(held_tokens)} of {size} bytes held out;",
          f"xz -9e makes {8 * xz / size:.3f} bits of each of these bytes")

    def batches(epoch):
        first = torch.randint(CONTEXT, (1,)).item()
        pieces = tokens[first:][: (len(tokens) - first) // CONTEXT * CONTEXT].view(-1, CONTEXT)
        for index in torch.randperm(len(pieces)).split(opt.batch):
            yield pieces[index]

    loss = lambda model, batch: F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    some = held_tokens[:8192]
    some_bytes = sum(len(vocabulary.bytes[t]) for t in some)
    model = Story(256 + len(vocabulary.pairs))
    trainer.Trainer(model, opt, decay=0.1).run(
        batches, loss, lambda model: f"{bits(model, some) / some_bytes:.3f} bits a byte of 8192 tokens",
        lambda model: f"{bits(model, held_tokens) / size:.3f} bits a byte of all that is held out")


if __name__ == "__main__":
    main()
