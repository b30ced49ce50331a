#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BERT and GPT-2 of examples/language against torch.nn's encoder layers in double precision: random weights under the names of
published checkpoints, random sizes and token ids."""
import argparse
import os
import subprocess
import sys

import numpy as np
import torch
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compiled_model import Model
from measured import measured
from vit_twin import write_safetensors

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "language")
BOUND = 1e-5  # relative L2


class Twin:
    """Layers of torch.nn, and their weights under a checkpoint's names."""

    def __init__(self, rng, D, H, L, F, eps, norm_first, activation):
        self.rng, self.tensors = rng, {}
        self.layers = [nn.TransformerEncoderLayer(D, H, F, 0.0, activation, eps, batch_first=True, norm_first=norm_first).double()
                       for _ in range(L)]

    def random(self, parameter, scale):
        value = self.rng.standard_normal(tuple(parameter.shape)).astype(np.float32) * np.float32(scale)
        parameter.data = torch.from_numpy(value.astype(np.float64))
        return value

    def linear(self, name, module, conv1d=False):
        """`module` may be the packed projection of an attention, too."""
        packed = isinstance(module, nn.MultiheadAttention)
        weight, bias = (module.in_proj_weight, module.in_proj_bias) if packed else (module.weight, module.bias)
        value = self.random(weight, weight.shape[1]**-0.5)
        self.tensors[name + ".weight"] = np.ascontiguousarray(value.T) if conv1d else value
        self.tensors[name + ".bias"] = self.random(bias, 0.1)

    def norm(self, name, module):
        self.tensors[name + ".weight"] = self.random(module.weight, 1)
        self.tensors[name + ".bias"] = self.random(module.bias, 0.1)

    def embedding(self, name, rows, columns):
        module = nn.Embedding(rows, columns).double()
        self.tensors[name + ".weight"] = self.random(module.weight, 1)
        return module


class Bert(Twin):
    def __init__(self, rng, D, H, L, F, V, P, K=2):
        super().__init__(rng, D, H, L, F, 1e-12, False, "gelu")
        self.words = self.embedding("embeddings.word_embeddings", V, D)
        self.positions = self.embedding("embeddings.position_embeddings", P, D)
        self.segments = self.embedding("embeddings.token_type_embeddings", K, D)
        self.first = nn.LayerNorm(D, 1e-12).double()
        self.norm("embeddings.LayerNorm", self.first)
        for n, layer in enumerate(self.layers):
            at = f"encoder.layer.{n}."
            self.linear("packed", layer.self_attn)
            for kind, part in (("weight", self.tensors.pop("packed.weight")), ("bias", self.tensors.pop("packed.bias"))):
                for name, rows in zip(("query", "key", "value"), np.split(part, 3)):
                    self.tensors[f"{at}attention.self.{name}.{kind}"] = rows
            self.linear(at + "attention.output.dense", layer.self_attn.out_proj)
            self.norm(at + "attention.output.LayerNorm", layer.norm1)
            self.linear(at + "intermediate.dense", layer.linear1)
            self.linear(at + "output.dense", layer.linear2)
            self.norm(at + "output.LayerNorm", layer.norm2)
        self.pooler = nn.Linear(D, D).double()
        self.linear("pooler.dense", self.pooler)

    def __call__(self, ids, segments, lengths):
        at = torch.arange(ids.shape[1])
        x = self.words(torch.from_numpy(ids)) + self.positions(at) + self.segments(torch.from_numpy(segments))
        x = self.first(x)
        padding = at >= torch.from_numpy(lengths)[:, None]
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        return x, torch.tanh(self.pooler(x[:, 0]))


class GPT2(Twin):
    def __init__(self, rng, D, H, L, F, V, P):
        tanh = lambda x: nn.functional.gelu(x, approximate="tanh")
        super().__init__(rng, D, H, L, F, 1e-5, True, tanh)
        self.wte, self.wpe = self.embedding("wte", V, D), self.embedding("wpe", P, D)
        for n, layer in enumerate(self.layers):
            at = f"h.{n}."
            self.norm(at + "ln_1", layer.norm1)
            self.linear(at + "attn.c_attn", layer.self_attn, conv1d=True)
            self.linear(at + "attn.c_proj", layer.self_attn.out_proj, conv1d=True)
            self.norm(at + "ln_2", layer.norm2)
            self.linear(at + "mlp.c_fc", layer.linear1, conv1d=True)
            self.linear(at + "mlp.c_proj", layer.linear2, conv1d=True)
            self.tensors[at + "attn.bias"] = np.tril(np.ones((1, 1, P, P), np.float32))  # as published
        self.ln_f = nn.LayerNorm(D, 1e-5).double()
        self.norm("ln_f", self.ln_f)

    def __call__(self, ids):
        length = ids.shape[1]
        x = self.wte(torch.from_numpy(ids)) + self.wpe(torch.arange(length))
        mask = torch.triu(torch.full((length, length), -torch.inf, dtype=torch.double), 1)
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        return self.ln_f(x) @ self.wte.weight.T


def compiled(spec, symbol, sizes, twin, folder):
    # Of its own name in each round: a library that is loaded already would be found instead.
    name = os.path.join(folder, f"{symbol}.{len(os.listdir(folder))}")
    weights, library = name + ".safetensors", name + ".so"
    write_safetensors(weights, twin.tensors)
    words = ["attn", "compile", os.path.join(EXAMPLES, spec), "--emit=shared", "-o", library]
    subprocess.run(words + [f"--set={name}={value}" for name, value in sizes.items()], check=True)
    return Model(os.path.abspath(library), "attn_model_" + symbol, weights)


def check(name, got, wanted):
    wanted = wanted.detach().numpy()
    error = np.sqrt(((got - wanted)**2).sum() / (wanted**2).sum())
    assert error <= BOUND, f"{name}: relative L2 {error:.2e}"
    return error


def random_sizes(rng):
    heads, width = int(rng.integers(1, 5)), int(rng.integers(2, 21))
    return {"D": heads * width, "H": heads, "L": int(rng.integers(1, 4)), "F": int(rng.integers(1, 90)), "V": int(rng.integers(2, 130)),
            "P": int(rng.integers(9, 80))}


def check_bert(rng, folder):
    sizes = random_sizes(rng)
    twin = Bert(rng, **sizes)
    model = compiled("bert_base.attn", "bert_base", sizes, twin, folder)
    errors = []
    for batch, length in ((1, sizes["P"]), (3, int(rng.integers(1, sizes["P"] + 1)))):
        ids = rng.integers(0, sizes["V"], (batch, length), np.int32)
        segments, lengths = rng.integers(0, 2, (batch, length), np.int32), rng.integers(1, length + 1, batch, np.int32)
        outputs = model.run("encode", [ids, segments, lengths])
        errors += [check(f"bert {sizes} {name}", a, b) for name, a, b in zip(("hidden", "pooled"), outputs, twin(ids, segments, lengths))]
    return max(errors)


def check_gpt2(rng, folder):
    sizes = random_sizes(rng)
    twin = GPT2(rng, **sizes)
    model = compiled("gpt2.attn", "gpt2", sizes, twin, folder)
    ids = rng.integers(0, sizes["V"], (2, sizes["P"]), np.int32)
    wanted, at, errors = twin(ids), 0, []
    for size in (int(rng.integers(2, 9)), *[0] * 3, sizes["P"]):  # 0: one token by `decode`
        end = min(at + max(size, 1), sizes["P"])
        (got,) = model.run("prefill" if size else "decode", [ids[:, at:end]])
        errors.append(check(f"gpt2 {sizes} at {end}", got, wanted[:, end - 1]))
        if end == sizes["P"]:
            break
        at = end
    return max(errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    os.makedirs(options.folder, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    for _ in range(options.rounds):
        for name, twin in (("bert", check_bert), ("gpt2", check_gpt2)):
            error = twin(rng, options.folder)
            measured(name, error)
            print(f"{name}: relative L2 {error:.1e}")


if __name__ == "__main__":
    main()
