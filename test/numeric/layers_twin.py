#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""std.language against layers of torch in double precision, written from the papers, with the names of Hugging Face's checkpoints: BERT,
ALBERT, GPT-2, Llama, T5, BART and Whisper. Sizes, weights, inputs and lengths are random.
"""
import argparse
import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from measured import measured
from twins import Wrong, compare, double, draw, normal, tensors_of

BOUND = 1e-5  # relative L2: at most three layers in f32


class Tree(nn.Module):
    """Modules under paths, as checkpoints name them: `tree["attention.self.query"]`."""

    def __init__(self, modules):
        super().__init__()
        self.__dict__["found"] = modules  # not registered a second time
        for path, module in modules.items():
            *front, last = path.split(".")
            at = self
            for name in front:
                if name not in at._modules:
                    at.add_module(name, nn.Module())
                at = at._modules[name]
            at.add_module(last, module)

    def __getitem__(self, path):
        return self.found[path]


class Rms(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.zeros(width)), eps

    def forward(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight


class Conv1d(nn.Module):
    """GPT-2's linear map, stored as [in, out]."""

    def __init__(self, width, out):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(width, out)), nn.Parameter(torch.zeros(out))

    def forward(self, x):
        return x @ self.weight + self.bias


def attended(q, k, v, heads, mask=None, scale=None, bias=0.0):
    """Of [B, N, heads * E]; keys may have fewer heads, each for several of the queries."""
    E = q.shape[-1] // heads
    q, k, v = (x.unflatten(-1, (x.shape[-1] // E, E)).transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(heads // x.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(-1, -2) * (E**-0.5 if scale is None else scale) + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


def causal(size):
    return torch.ones(size, size, dtype=torch.bool).tril()


class Sizes:
    def __init__(self, rng):
        between = lambda least, most: int(rng.integers(least, most + 1))
        self.B, self.T, self.S, self.L = between(1, 3), between(1, 150), between(1, 40), between(1, 3)
        self.G, self.E, self.F = between(1, 3), 2 * between(1, 8), between(1, 60)
        self.H = self.G * between(1, 3)
        self.D = self.H * self.E
        self.x, self.memory = normal(rng, self.B, self.T, self.D), normal(rng, self.B, self.S, self.D)
        self.n = rng.integers(1, self.T + 1, self.B).astype(np.int32)
        self.X = between(2, 6)
        self.A = between(1, min(self.X, 3))

    def shown(self):
        """[B, 1, 1, T]: keys within the lengths."""
        return (torch.arange(self.T) < torch.from_numpy(self.n)[:, None])[:, None, None]

    def spec(self, body, parameters, result, cached=False):
        known = ", ".join(f"{name} = {getattr(self, name)}" for name in "DHGEF")
        head = f"attn 1\nuse std.language\nmodel Case {{\n  dim {known}, L = {self.L}, S = {self.S}, R = 32"
        if not cached:
            entry = f"  entry run({parameters}) -> y: [B, T, D] {{\n    return {result}\n  }}"
            return head + f", T = {self.T}\n  dyn B <= 4\n{body}\n{entry}\n}}\n"
        entry = f"  forward[T]({parameters}, kv: cache) -> y: [B, T, D] = {result}\n  entry run = forward"
        return head + f"\n  dyn B <= 4\n  cache kv capacity {self.T}\n{body}\n{entry}\n}}\n"


MASK = "  mask shown(b, j) with input n: i32[B] = j < n[b]\n"


class Stack(nn.Module):
    def __init__(self, name, layers):
        super().__init__()
        self.add_module(name, nn.ModuleList(layers))

    def forward(self, x, *more):
        for layer in next(self.children()):
            x = layer(x, *more)
        return x


class Bert(Tree):
    NAMES = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
             "intermediate.dense", "output.dense", "output.LayerNorm")

    def __init__(self, s, names=NAMES, act=F.gelu):
        width = [(s.D, s.D)] * 4 + [None, (s.D, s.F), (s.F, s.D), None]
        super().__init__({name: nn.Linear(*sizes) if sizes else nn.LayerNorm(s.D, 1e-12) for name, sizes in zip(names, width)})
        self.names, self.heads, self.act = names, s.H, act

    def forward(self, x, mask):
        q, k, v, out, norm, up, down, last = (self[name] for name in self.names)
        y = norm(x + out(attended(q(x), k(x), v(x), self.heads, mask)))
        return last(y + down(self.act(up(y))))


def bert(s):
    spec = s.spec(MASK + "  stack layer: L of BertLayer[H: H, F: F]", "x: [B, T, D], n: i32[B]", "layer(x, allowed = shown)")
    return Stack("layer", [Bert(s) for _ in range(s.L)]), spec, {"x": s.x, "n": s.n}, (double(s.x), s.shown())


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


class Albert(nn.Module):
    """The same layer L times."""

    def __init__(self, s):
        super().__init__()
        names = ("attention.query", "attention.key", "attention.value", "attention.dense", "attention.LayerNorm", "ffn", "ffn_output",
                 "full_layer_layer_norm")
        self.layer, self.count = Bert(s, names, gelu_tanh), s.L

    def forward(self, x, mask):
        for _ in range(self.count):
            x = self.layer(x, mask)
        return x


def albert(s):
    spec = s.spec(MASK + "  stack layer: L of shared AlbertLayer[H: H, F: F]", "x: [B, T, D], n: i32[B]", "layer(x, allowed = shown)")
    return Albert(s), spec, {"x": s.x, "n": s.n}, (double(s.x), s.shown())


class Gpt2(Tree):
    def __init__(self, s):
        super().__init__({"ln_1": nn.LayerNorm(s.D), "ln_2": nn.LayerNorm(s.D), "attn.c_attn": Conv1d(s.D, 3 * s.D),
                          "attn.c_proj": Conv1d(s.D, s.D), "mlp.c_fc": Conv1d(s.D, s.F), "mlp.c_proj": Conv1d(s.F, s.D)})
        self.heads = s.H

    def forward(self, x):
        q, k, v = self["attn.c_attn"](self["ln_1"](x)).chunk(3, -1)
        x = x + self["attn.c_proj"](attended(q, k, v, self.heads, causal(x.shape[1])))
        return x + self["mlp.c_proj"](gelu_tanh(self["mlp.c_fc"](self["ln_2"](x))))


def gpt2(s):
    spec = s.spec("  stack h: L of Gpt2Layer[H: H, F: F]", "x: [B, T, D]", "h(x, kv)", cached=True)
    return Stack("h", [Gpt2(s) for _ in range(s.L)]), spec, {"x": s.x}, (double(s.x),)


class Llama(Tree):
    BASE = 5000.0

    def __init__(self, s):
        plain = lambda *sizes: nn.Linear(*sizes, bias=False)
        kept = s.G * s.E
        super().__init__({"input_layernorm": Rms(s.D, 1e-5), "post_attention_layernorm": Rms(s.D, 1e-5),
                          "self_attn.q_proj": plain(s.D, s.D), "self_attn.k_proj": plain(s.D, kept), "self_attn.v_proj": plain(s.D, kept),
                          "self_attn.o_proj": plain(s.D, s.D), "mlp.gate_proj": plain(s.D, s.F), "mlp.up_proj": plain(s.D, s.F),
                          "mlp.down_proj": plain(s.F, s.D)})
        self.heads, self.width = s.H, s.E

    def turned(self, x):
        """Feature p and p + E / 2 by position * BASE ** (-2 p / E)."""
        a, b = x.unflatten(-1, (-1, self.width)).chunk(2, -1)
        angle = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * self.BASE ** (-2 * torch.arange(self.width // 2, dtype=torch.float64) / self.width)
        sin, cos = angle.sin()[:, None], angle.cos()[:, None]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).flatten(2)

    def forward(self, x):
        n = self["input_layernorm"](x)
        q, k = (self.turned(self[f"self_attn.{name}_proj"](n)) for name in "qk")
        x = x + self["self_attn.o_proj"](attended(q, k, self["self_attn.v_proj"](n), self.heads, causal(x.shape[1])))
        m = self["post_attention_layernorm"](x)
        return x + self["mlp.down_proj"](F.silu(self["mlp.gate_proj"](m)) * self["mlp.up_proj"](m))


def llama(s):
    spec = s.spec("  stack layers: L of LlamaLayer[H: H, G: G, E: E, F: F](base = 5000)", "x: [B, T, D]", "layers(x, kv)", cached=True)
    return Stack("layers", [Llama(s) for _ in range(s.L)]), spec, {"x": s.x}, (double(s.x),)


class Mixtral(Llama):
    BASE = 1000000.0

    def __init__(self, s):
        super().__init__(s)
        plain = lambda *sizes: nn.Linear(*sizes, bias=False)
        for name in ("gate_proj", "up_proj", "down_proj"):
            del self.found[f"mlp.{name}"]
        del self.mlp
        self.experts, self.choices = s.X, s.A
        moe = {"gate": plain(s.D, s.X)} | {f"experts.{n}.{name}": plain(*sizes) for n in range(s.X)
                                           for name, sizes in {"w1": (s.D, s.F), "w2": (s.F, s.D), "w3": (s.D, s.F)}.items()}
        self.block_sparse_moe = Tree(moe)

    def forward(self, x):
        n = self["input_layernorm"](x)
        q, k = (self.turned(self[f"self_attn.{name}_proj"](n)) for name in "qk")
        x = x + self["self_attn.o_proj"](attended(q, k, self["self_attn.v_proj"](n), self.heads, causal(x.shape[1])))
        m, moe = self["post_attention_layernorm"](x), self.block_sparse_moe
        share, places = moe["gate"](m).softmax(-1).topk(self.choices)
        share = share / share.sum(-1, keepdim=True)
        every = [moe[f"experts.{e}.w2"](F.silu(moe[f"experts.{e}.w1"](m)) * moe[f"experts.{e}.w3"](m)) for e in range(self.experts)]
        picked = torch.stack(every, -2).gather(-2, places[..., None].expand(*places.shape, x.shape[-1]))
        return x + (share[..., None] * picked).sum(-2)


def mixtral(s):
    spec = s.spec(f"  dim X = {s.X}, A = {s.A}\n  stack layers: L of MixtralLayer[H: H, G: G, E: E, F: F, X: X, A: A]", "x: [B, T, D]", "layers(x, kv)", cached=True)
    return Stack("layers", [Mixtral(s) for _ in range(s.L)]), spec, {"x": s.x}, (double(s.x),)


class T5(Tree):
    def __init__(self, s, gated, decoder):
        plain = lambda *sizes: nn.Linear(*sizes, bias=False)
        attentions = ["layer.0.SelfAttention"] + ["layer.1.EncDecAttention"] * decoder
        ends = f"layer.{len(attentions)}.DenseReluDense"
        named = {f"{name}.{part}": plain(s.D, s.D) for name in attentions for part in "qkvo"}
        named |= {f"layer.{n}.layer_norm": Rms(s.D, 1e-6) for n in range(len(attentions) + 1)}
        named |= {f"{ends}.{name}": plain(s.D, s.F) for name in (("wi_0", "wi_1") if gated else ("wi",))} | {f"{ends}.wo": plain(s.F, s.D)}
        super().__init__(named)
        self.heads, self.gated, self.attentions, self.ends = s.H, gated, attentions, ends

    def look(self, name, x, memory, **more):
        q, k, v, o = (self[f"{name}.{part}"] for part in "qkvo")
        return o(attended(q(x), k(memory), v(memory), self.heads, scale=1.0, **more))

    def forward(self, x, bias, mask, memory=None, shown=None):
        n = self["layer.0.layer_norm"](x)
        x = x + self.look(self.attentions[0], n, n, bias=bias, mask=mask)
        if memory is not None:
            x = x + self.look(self.attentions[1], self["layer.1.layer_norm"](x), memory, mask=shown)
        m, wi = self[f"layer.{len(self.attentions)}.layer_norm"](x), lambda name: self[f"{self.ends}.{name}"]
        return x + wi("wo")(gelu_tanh(wi("wi_0")(m)) * wi("wi_1")(m) if self.gated else F.relu(wi("wi")(m)))


class T5Stack(nn.Module):
    """With the table of the first layer, which all layers use."""

    def __init__(self, s, decoder, gated):
        super().__init__()
        self.side = Stack("block", [T5(s, gated, decoder) for _ in range(s.L)])
        self.relative = nn.Parameter(torch.zeros(32, s.H))
        self.decoder = decoder

    def bucket(self, size):
        """Of how far a key is behind its query; a decoder's are all of what came before (Raffel et al. 2020)."""
        apart = torch.arange(size)[None] - torch.arange(size)[:, None]
        count = 32 if self.decoder else 16
        distance = (-apart).clamp(min=0) if self.decoder else apart.abs()
        far = count // 2 + ((distance.clamp(min=1) / (count // 2)).log() / math.log(128 / (count // 2)) * (count // 2) + 1e-9).floor().long()
        return torch.where(distance < count // 2, distance, far.clamp(max=count - 1)) + (0 if self.decoder else 16 * (apart > 0))

    def forward(self, x, *more):
        bias = self.relative[self.bucket(x.shape[1])].permute(2, 0, 1)
        return self.side(x, bias, *more)


def t5_encoder(s):
    gated = s.L % 2 == 0
    block = f"T5EncoderLayer[H: H, E: E, F: F](gated = {str(gated).lower()})"
    spec = s.spec(MASK + f"  param relative: [R, H]\n  stack side.block: L of {block}", "x: [B, T, D], n: i32[B]",
                  "side.block(x, allowed = shown, added = t5_both_ways)")
    return T5Stack(s, False, gated), spec, {"x": s.x, "n": s.n}, (double(s.x), s.shown())


def t5_decoder(s):
    gated = s.L % 2 == 1
    block = f"T5DecoderLayer[H: H, E: E, F: F](gated = {str(gated).lower()})"
    spec = s.spec(f"  param relative: [R, H]\n  stack side.block: L of {block}", "x: [B, T, D], memory: [B, S, D]", "side.block(x, memory, added = t5_before)")
    return T5Stack(s, True, gated), spec, {"x": s.x, "memory": s.memory}, (double(s.x), causal(s.T), double(s.memory))


class Bart(Tree):
    def __init__(self, s, decoder, first, key_bias):
        attentions = ["self_attn"] + ["encoder_attn"] * decoder
        named = {f"{name}.{part}_proj": nn.Linear(s.D, s.D, bias=key_bias or part != "k") for name in attentions for part in ("q", "k", "v", "out")}
        named |= {f"{name}_layer_norm": nn.LayerNorm(s.D) for name in attentions + ["final"]}
        super().__init__(named | {"fc1": nn.Linear(s.D, s.F), "fc2": nn.Linear(s.F, s.D)})
        self.heads, self.first = s.H, first

    def added(self, norm, x, part):
        """x and what a part makes of it, with the norm in front of the part or behind the sum."""
        norm = self[norm + "_layer_norm"]
        return x + part(norm(x)) if self.first else norm(x + part(x))

    def look(self, name, memory, mask):
        q, k, v, out = (self[f"{name}.{part}_proj"] for part in ("q", "k", "v", "out"))
        return lambda x: out(attended(q(x), k(x if memory is None else memory), v(x if memory is None else memory), self.heads, mask))

    def forward(self, x, mask, memory=None, shown=None):
        x = self.added("self_attn", x, self.look("self_attn", None, mask))
        if memory is not None:
            x = self.added("encoder_attn", x, self.look("encoder_attn", memory, shown))
        return self.added("final", x, lambda y: self["fc2"](F.gelu(self["fc1"](y))))


def bart_layers(s, decoder, first, key_bias):
    layers = Stack("layers", [Bart(s, decoder, first, key_bias) for _ in range(s.L)])
    options = f"norm_first = {str(first).lower()}, key_bias = {str(key_bias).lower()}"
    if decoder:
        spec = s.spec(f"  stack layers: L of BartDecoderLayer[H: H, F: F]({options})", "x: [B, T, D], memory: [B, S, D]", "layers(x, memory)")
        return layers, spec, {"x": s.x, "memory": s.memory}, (double(s.x), causal(s.T), double(s.memory))
    spec = s.spec(MASK + f"  stack layers: L of BartEncoderLayer[H: H, F: F]({options})", "x: [B, T, D], n: i32[B]", "layers(x, allowed = shown)")
    return layers, spec, {"x": s.x, "n": s.n}, (double(s.x), s.shown())


def bart_encoder(s):
    return bart_layers(s, False, False, True)


def bart_decoder(s):
    return bart_layers(s, True, False, True)


def whisper_encoder(s):
    return bart_layers(s, False, True, False)


def whisper_decoder(s):
    return bart_layers(s, True, True, False)


KINDS = [bert, albert, gpt2, llama, mixtral, t5_encoder, t5_decoder, bart_encoder, bart_decoder, whisper_encoder, whisper_decoder]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    arguments, flags = parser.parse_known_args()
    for make in KINDS:
        for number in range(arguments.rounds):
            rng = np.random.default_rng([arguments.seed, number])
            module, spec, inputs, given = make(Sizes(rng))
            tensors = tensors_of(draw(rng, module))
            with torch.no_grad():
                wanted = {"y": module.double()(*given).numpy()}
            try:
                error = compare(arguments.folder, spec, tensors, inputs, wanted, BOUND, flags)
            except Wrong as wrong:
                sys.exit(f"seed {arguments.seed}, round {number}, {make.__name__}: {wrong}\n{spec}")
            measured(make.__name__, error)
            print(f"{make.__name__}, seed {arguments.seed}, round {number}: relative L2 {error:.1e}", flush=True)


if __name__ == "__main__":
    main()
