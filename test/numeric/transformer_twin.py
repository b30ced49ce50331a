#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""std.transformer against torch.nn.TransformerEncoderLayer, DecoderLayer, Encoder, Decoder and Transformer, in double precision.

Each case is a random choice of all options, sizes, masks, weights and inputs; the parameters are the module's state_dict. The seed is
printed, and the case that differs.
"""
import argparse
import os
import subprocess
import sys
import warnings

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measured import measured
from program import optimised
from vit_twin import write_safetensors

KINDS = ["TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder", "TransformerDecoder", "Transformer"]
BOUND = 1e-5  # relative L2: up to four layers in f32
warnings.filterwarnings("ignore")


class Case:
    """A random module of torch, its inputs and masks, and what it gives."""

    def __init__(self, rng, kind):
        flip = lambda p=0.5: bool(rng.random() < p)
        self.kind = kind
        self.H = int(rng.integers(1, 5))
        self.E, self.F = self.H * int(rng.integers(1, 13)), int(rng.integers(1, 80))
        self.B, self.T, self.S = int(rng.integers(1, 4)), int(rng.integers(1, 20)), int(rng.integers(1, 20))
        self.L, self.M = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        self.norm_first, self.gelu, self.batch_first, self.norm = flip(), flip(), flip(), flip()
        self.eps = float(rng.choice([1e-5, 1e-6, 1e-3]))
        self.isDecoder = "Decoder" in self.kind or self.kind == "Transformer"
        self.isEncoder = not self.isDecoder or self.kind == "Transformer"
        self.causal, self.padded, self.added, self.memoryPadded = flip(), flip(), flip(), flip()
        self.module = self.build().eval()
        with torch.no_grad():
            for parameter in self.module.parameters():
                scale = 1 / np.sqrt(parameter.shape[-1]) if parameter.ndim > 1 else 0.3
                offset = 0.0
                parameter.copy_(torch.from_numpy(rng.standard_normal(parameter.shape) * scale + offset))
        draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)
        self.source, self.target = draw(self.B, self.S, self.E), draw(self.B, self.T, self.E)
        own = self.T if self.isDecoder else self.S  # what attends to itself
        self.bias = draw(own, own)
        # A row's first position is never left out: PyTorch gives NaN where all are.
        lengths = lambda size: np.arange(size) >= rng.integers(1, size + 1, (self.B, 1))
        self.own, self.memory = lengths(own), lengths(self.S)

    def build(self):
        options = {"norm_first": self.norm_first, "activation": "gelu" if self.gelu else "relu", "batch_first": self.batch_first,
                   "layer_norm_eps": self.eps, "dim_feedforward": self.F}
        if self.kind == "Transformer":
            return torch.nn.Transformer(self.E, self.H, self.L, self.M, **options)
        layer = getattr(torch.nn, "TransformerDecoderLayer" if self.isDecoder else "TransformerEncoderLayer")(self.E, self.H, **options)
        if self.kind.endswith("Layer"):
            return layer
        norm = torch.nn.LayerNorm(self.E, eps=self.eps) if self.norm else None
        return getattr(torch.nn, self.kind)(layer, self.L, norm)

    def wanted(self):
        module = self.build().double().eval()
        module.load_state_dict(self.module.state_dict())
        double = lambda array: torch.from_numpy(array.astype(np.float64))
        turned = lambda array: double(array) if self.batch_first else double(array).transpose(0, 1)
        mask = double(self.bias) if self.added else None
        if self.causal:
            size = len(self.bias)
            above = torch.full((size, size), -torch.inf, dtype=torch.float64).triu(1)
            mask = above if mask is None else mask + above
        padding = torch.from_numpy(self.own) if self.padded else None
        of_memory = torch.from_numpy(self.memory) if self.memoryPadded else None
        # With gradients: without, PyTorch takes a fast path that reads some masks in another way.
        if self.kind == "Transformer":
            y = module(turned(self.source), turned(self.target), tgt_mask=mask, tgt_key_padding_mask=padding,
                       src_key_padding_mask=of_memory, memory_key_padding_mask=of_memory)
        elif self.isDecoder:
            y = module(turned(self.target), turned(self.source), tgt_mask=mask, tgt_key_padding_mask=padding,
                       memory_key_padding_mask=of_memory)
        elif self.kind == "TransformerEncoder":
            y = module(turned(self.source), mask=mask, src_key_padding_mask=padding)
        else:
            y = module(turned(self.source), src_mask=mask, src_key_padding_mask=padding)
        return (y if self.batch_first else y.transpose(0, 1)).detach().numpy()

    def spec(self):
        own = "T" if self.isDecoder else "S"
        given = {"H": "H", "F": "F"} | ({} if self.kind.endswith("Layer") else {"L": "L"}) | ({"M": "M"} if self.kind == "Transformer" else {})
        options = [f"norm_first = {str(self.norm_first).lower()}", f"eps = {self.eps}"]
        options += ['activation = "gelu"'] if self.gelu else []
        options += ["norm = true"] if self.norm and self.kind in ("TransformerEncoder", "TransformerDecoder") else []
        lines = ["attn 1", "use std.transformer", "model Case {",
                 f"  dim E = {self.E}, H = {self.H}, F = {self.F}, L = {self.L}, M = {self.M}", f"  dyn B <= 4, T <= 20, S <= 20",
                 f"  dim K = {own}",
                 f"  part net: {self.kind}[{', '.join(f'{k}: {v}' for k, v in given.items())}]({', '.join(options)}) = \"\"",
                 "  mask seen(b, j) with input padding: bool[B, K] = not padding[b, j]",
                 "  mask kept(b, j) with input ends: bool[B, S] = not ends[b, j]",
                 f"  bias given(i, j) with input m: f32[{own}, K] = m[i, j]"]
        allowed = " and ".join((["causal"] if self.causal else []) + (["seen"] if self.padded else []))
        by_name = [f"allowed = {allowed}"] if allowed else []
        by_name += ["added = given"] if self.added else []
        if self.memoryPadded and self.isDecoder:
            by_name += ["memory_allowed = kept"] + (["source_allowed = kept"] if self.kind == "Transformer" else [])
        tensors = ["source", "target"] if self.kind == "Transformer" else ["target", "source"] if self.isDecoder else ["source"]
        parameters = [f"{name}: [B, {'T' if name == 'target' else 'S'}, E]" for name in tensors]
        parameters += ["padding: bool[B, K]"] if self.padded else []
        parameters += ["ends: bool[B, S]"] if self.memoryPadded and self.isDecoder else []
        parameters += [f"m: [{own}, K]"] if self.added else []
        lines.append(f"  entry run({', '.join(parameters)}) -> y: [B, {own}, E] = net({', '.join(tensors + by_name)})")
        return "\n".join(lines + ["}", ""])

    def inputs(self):
        arrays = {"source": self.source} | ({"target": self.target} if self.isDecoder else {})
        arrays |= {"padding": self.own} if self.padded else {}
        arrays |= {"ends": self.memory} if self.memoryPadded and self.isDecoder else {}
        return arrays | ({"m": self.bias} if self.added else {})


def wrong(case, folder, flags):
    """What is wrong, or None; the relative L2 of the result."""
    with open(f"{folder}/case.attn", "w") as file:
        file.write(case.spec())
    write_safetensors(f"{folder}/case.safetensors", {k: v.numpy() for k, v in case.module.state_dict().items()})
    command = ["attn", "run", f"{folder}/case.attn", "--weights", f"{folder}/case.safetensors", *optimised(flags)]
    for name, value in case.inputs().items():
        np.save(f"{folder}/in_{name}.npy", value)
        command += ["--input", f"{name}={folder}/in_{name}.npy"]
    wanted = case.wanted()
    done = subprocess.run(command + ["--output", f"y={folder}/y.npy"], capture_output=True, text=True)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr}", 0
    got = np.load(f"{folder}/y.npy")
    if got.shape != wanted.shape:
        return f"y is {got.shape}, expected {wanted.shape}", 0
    error = np.linalg.norm(got - wanted) / max(np.linalg.norm(wanted), 1e-30)
    return (None if error <= BOUND else f"a relative L2 of {error:.2e}, bound {BOUND:.0e}"), error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=10, help="of each kind")
    arguments, flags = parser.parse_known_args()
    os.makedirs(arguments.folder, exist_ok=True)
    worst = 0
    for number in range(arguments.cases * len(KINDS)):
        case = Case(np.random.default_rng([arguments.seed, number]), KINDS[number % len(KINDS)])
        error, own = wrong(case, arguments.folder, flags)
        if error:
            sys.exit(f"seed {arguments.seed}, case {number}, {case.kind}: {error}\n{case.spec()}")
        worst = max(worst, own)
        measured(case.kind, own)
    print(f"seed {arguments.seed}: {arguments.cases} cases of each kind, relative L2 at most {worst:.1e}")


if __name__ == "__main__":
    main()
