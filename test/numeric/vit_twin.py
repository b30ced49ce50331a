#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The vision transformers of examples/, once more, in PyTorch.

Shares nothing with the compiler: reads the checkpoint itself and takes every size but the number
of heads from its shapes.

    vit_twin.py random  --model vit_ti16 --seed 1 --out W.safetensors [--images X.npy --batch 3]
    vit_twin.py logits  --weights W.safetensors --heads 3 --input X.npy --output Y.npy
    vit_twin.py compare A.npy B.npy --max-rel 1e-3
    vit_twin.py pick    A.npy B.npy --row 2
    vit_twin.py exits   3 COMMAND...

`random` also takes dims: --model D=200,H=4,L=3,F=500,K=10,C=3,P=16,Y=14,X=14. `logits` with
`--transpose NAME` swaps the axes of one square weight first: a mistake that a comparison must
find. `compare` ends with 3 where the largest difference is over the bound times the largest
magnitude of B, and with 1 where the arrays cannot be compared. `pick` writes one row of A as a
batch of its own. `exits` runs a command and fails unless it ends with exactly that code.
"""
import argparse
import json
import math
import os
import struct
import subprocess
import sys

import numpy as np

from measured import measured

MODELS = {
    "vit_b16": dict(D=768, H=12, L=12, F=3072),
    "deit_s16": dict(D=384, H=6, L=12, F=1536),
    "vit_ti16": dict(D=192, H=3, L=12, F=768),
}


def model_sizes(text):
    """The sizes of a model by name, or of `D=200,H=4,...`; what is not said is as in the family."""
    sizes = dict(K=1000, C=3, P=16, Y=14, X=14)
    if "=" in text:
        sizes.update((name, int(value)) for name, value in (item.split("=") for item in text.split(",")))
    else:
        sizes.update(MODELS[text])
    return sizes


# ---- checkpoints


def read_safetensors(path):
    """8 bytes of header length, JSON, data. Only f32: the twins read nothing else."""
    data = np.memmap(path, np.uint8, "r")
    size = struct.unpack("<Q", data[:8].tobytes())[0]
    header = json.loads(data[8 : 8 + size].tobytes())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            sys.exit(f"{path}: `{name}` is {entry['dtype']}, expected F32")
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = data[begin:end].view("<f4").reshape(entry["shape"])
    return tensors


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(value.tobytes())


def random_weights(D, H, L, F, K, C, P, Y, X, seed):
    """Matrices from N(0, 1/fan-in), so that activations keep their size through the layers."""
    rng = np.random.default_rng(seed)
    normal = lambda scale, *shape: rng.standard_normal(shape, np.float32) * np.float32(scale)
    tensors = {}

    def linear(name, inputs, outputs, *shape):
        tensors[name + ".weight"] = normal(inputs**-0.5, outputs, *(shape or (inputs,)))
        tensors[name + ".bias"] = normal(0.05, outputs)

    def layernorm(name):
        tensors[name + ".weight"] = 1 + normal(0.1, D)
        tensors[name + ".bias"] = normal(0.05, D)

    tensors["cls_token"] = normal(0.5, 1, 1, D)
    tensors["pos_embed"] = normal(0.5, 1, 1 + Y * X, D)
    linear("patch_embed.proj", C * P * P, D, C, P, P)
    for n in range(L):
        layernorm(f"blocks.{n}.norm1")
        linear(f"blocks.{n}.attn.qkv", D, 3 * D)
        linear(f"blocks.{n}.attn.proj", D, D)
        layernorm(f"blocks.{n}.norm2")
        linear(f"blocks.{n}.mlp.fc1", D, F)
        linear(f"blocks.{n}.mlp.fc2", F, D)
    layernorm("norm")
    linear("head", D, K)
    return tensors


# ---- the model


def build_model(tensors, heads, transpose=None):
    """The torch.nn module of a checkpoint; every tensor must be used, and none be missing."""
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(max(2, torch.get_num_threads()))

    class Linear(nn.Linear):
        """Computed as a 1x1 convolution: Debian's torch gives those to oneDNN (with more than one
        thread), but matrix products to the reference BLAS, 20 s for one picture in ViT-B."""

        def forward(self, x):
            y = functional.conv2d(x.transpose(1, 2)[:, :, :, None], self.weight[:, :, None, None], self.bias)
            return y[:, :, :, 0].transpose(1, 2)

    def product(a, b):
        """a @ b for [b, h, m, k] and [b, h, k, n], as a convolution of one group per pair of b and
        h, again for the sake of oneDNN."""
        groups, m, k, n = a.shape[0] * a.shape[1], a.shape[2], a.shape[3], b.shape[3]
        rows = a.transpose(-2, -1).reshape(1, groups * k, m)
        columns = b.transpose(-2, -1).reshape(groups * n, k, 1)
        y = functional.conv1d(rows, columns, groups=groups)
        return y.reshape(a.shape[0], a.shape[1], n, m).transpose(-2, -1)

    class Attention(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.qkv, self.proj = Linear(width, 3 * width), Linear(width, width)

        def forward(self, x):
            b, t, d = x.shape
            q, k, v = self.qkv(x).reshape(b, t, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
            weights = torch.softmax(product(q, k.transpose(-2, -1)) / math.sqrt(d // heads), dim=-1)
            return self.proj(product(weights, v).transpose(1, 2).reshape(b, t, d))

    class Block(nn.Module):
        def __init__(self, width, hidden):
            super().__init__()
            self.norm1, self.attn = nn.LayerNorm(width, eps=1e-6), Attention(width)
            self.norm2 = nn.LayerNorm(width, eps=1e-6)
            self.mlp = nn.ModuleDict({"fc1": Linear(width, hidden), "fc2": Linear(hidden, width)})

        def forward(self, x):
            x = x + self.attn(self.norm1(x))
            return x + self.mlp["fc2"](functional.gelu(self.mlp["fc1"](self.norm2(x))))

    class VisionTransformer(nn.Module):
        def __init__(self):
            super().__init__()
            width, channels, *patch = tensors["patch_embed.proj.weight"].shape
            layers = len({name.split(".")[1] for name in tensors if name.startswith("blocks.")})
            hidden = tensors["blocks.0.mlp.fc1.weight"].shape[0] if layers else 0
            self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(channels, width, patch, stride=patch)})
            self.cls_token = nn.Parameter(torch.empty(tensors["cls_token"].shape))
            self.pos_embed = nn.Parameter(torch.empty(tensors["pos_embed"].shape))
            self.blocks = nn.ModuleList(Block(width, hidden) for _ in range(layers))
            self.norm = nn.LayerNorm(width, eps=1e-6)
            self.head = nn.Linear(width, tensors["head.bias"].shape[0])

        def forward(self, image):
            patches = self.patch_embed["proj"](image).flatten(2).transpose(1, 2)
            x = torch.cat([self.cls_token.expand(len(image), -1, -1), patches], dim=1) + self.pos_embed
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x)[:, 0])

    state = {name: torch.from_numpy(np.array(value)) for name, value in tensors.items()}
    if transpose:
        state[transpose] = state[transpose].t().contiguous()
    model = VisionTransformer().eval()
    model.load_state_dict(state)
    return model


def logits(model, images, batch=250):
    """Runs the model on an array of images, some at a time."""
    import torch

    with torch.no_grad():
        parts = [model(torch.from_numpy(np.array(images[i : i + batch]))) for i in range(0, len(images), batch)]
    return torch.cat(parts).numpy()


def compare(what, a, b, bound):
    """The exit code: 0 close, 3 not, 1 no comparison."""
    if a.shape != b.shape:
        print(f"shapes differ: {a.shape} and {b.shape}")
        return 1
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        print(f"not finite: {(~np.isfinite(a)).sum()} of the first, {(~np.isfinite(b)).sum()} of the second")
        return 1
    difference, magnitude = np.abs(a - b).max(), np.abs(b).max()
    measured(what, difference / magnitude)
    print(f"largest difference {difference:.3g} = {difference / magnitude:.3g} of the largest magnitude,"
          f" bound {bound:g}")
    return 0 if difference <= bound * magnitude else 3


def main():
    arg = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = arg.add_subparsers(dest="command", required=True)
    random = commands.add_parser("random", help="write random weights, and pictures for them")
    random.add_argument("--model", required=True)
    random.add_argument("--seed", type=int, default=0)
    random.add_argument("--out", required=True)
    random.add_argument("--images")
    random.add_argument("--batch", type=int, default=1)
    run = commands.add_parser("logits", help="what PyTorch computes")
    run.add_argument("--weights", required=True)
    run.add_argument("--heads", type=int, required=True)
    run.add_argument("--input", required=True)
    run.add_argument("--output", required=True)
    run.add_argument("--transpose")
    check = commands.add_parser("compare", help="two arrays against a bound")
    check.add_argument("a")
    check.add_argument("b")
    check.add_argument("--max-rel", type=float, default=1e-3)
    pick = commands.add_parser("pick", help="one row of an array")
    pick.add_argument("a")
    pick.add_argument("b")
    pick.add_argument("--row", type=int, required=True)
    exits = commands.add_parser("exits", help="a command that must end with a code")
    exits.add_argument("code", type=int)
    exits.add_argument("words", nargs=argparse.REMAINDER)
    opt = arg.parse_args()

    if opt.command == "random":
        sizes = model_sizes(opt.model)
        print(f"{opt.model}: {sizes}, seed {opt.seed}")
        write_safetensors(opt.out, random_weights(**sizes, seed=opt.seed))
        if opt.images:
            shape = (opt.batch, sizes["C"], sizes["Y"] * sizes["P"], sizes["X"] * sizes["P"])
            np.save(opt.images, np.random.default_rng(opt.seed + 1).standard_normal(shape, np.float32))
    elif opt.command == "logits":
        model = build_model(read_safetensors(opt.weights), opt.heads, opt.transpose)
        np.save(opt.output, logits(model, np.load(opt.input)))
    elif opt.command == "pick":
        np.save(opt.b, np.load(opt.a)[opt.row : opt.row + 1])
    elif opt.command == "exits":
        code = subprocess.run(opt.words).returncode
        if code != opt.code:
            sys.exit(f"ended with {code}, expected {opt.code}: {' '.join(opt.words)}")
    else:
        # A test's files are in a folder of its name: deit_s16.test.tmp.
        what = os.path.basename(os.path.dirname(os.path.abspath(opt.a))).split(".")[0]
        sys.exit(compare(what, np.load(opt.a), np.load(opt.b), opt.max_rel))


if __name__ == "__main__":
    main()
