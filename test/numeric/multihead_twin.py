#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""std.attention against torch.nn.MultiheadAttention itself, or a few lines of NumPy, and std.masks, in double precision.

Each case is a random choice of all options, sizes, weights and inputs: a spec that uses the block is written, run and
compared. The seed is printed, and the case that differs.
"""
import argparse
import os
import subprocess
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measured import measured
from program import optimised
from vit_twin import write_safetensors

# Of the largest element of a result: three sums of products of f32 in a row, of at most 200 each, and an exponential of
# one; 60 times the rounding of an f32. The cases of seed 41 differ by up to 5.3e-7.
BOUND = 4e-6


def run(folder, spec, weights, inputs, wanted, flags):
    """What is wrong, or None; the largest error of a result."""
    with open(f"{folder}/case.attn", "w") as file:
        file.write(spec)
    write_safetensors(f"{folder}/case.safetensors", weights)
    command = ["attn", "run", f"{folder}/case.attn", "--weights", f"{folder}/case.safetensors", *optimised(flags)]
    for name, value in inputs.items():
        np.save(f"{folder}/{name}.npy", value)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    for name in wanted:
        command += ["--output", f"{name}={folder}/{name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr}", 0
    worst = 0
    for name, value in wanted.items():
        got = np.load(f"{folder}/{name}.npy")
        if got.shape != value.shape:
            return f"{name} is {got.shape}, expected {value.shape}", worst
        error = np.abs(got - value).max() / np.abs(value).max()
        worst = max(worst, error)
        if not error <= BOUND:
            return f"{name} differs by {error:.2e} of its largest element, bound {BOUND:.0e}", worst
    return None, worst


def dims(rng, sizes):
    """Each size known when compiling, or only when running."""
    fixed = [f"{name} = {size}" for name, size in sizes.items() if rng.random() < 0.5]
    known = {entry.split()[0] for entry in fixed}
    bounds = [f"{name} <= {size + int(rng.integers(0, 9))}" for name, size in sizes.items() if name not in known]
    return "".join(f"  {word} {', '.join(entries)}\n" for word, entries in (("dim", fixed), ("dyn", bounds)) if entries)


def truth(flag):
    return "true" if flag else "false"


def torch_case(rng):
    """Every option of torch.nn.MultiheadAttention and of its forward."""
    H, D = int(rng.integers(1, 6)), int(rng.integers(1, 20))
    B, T, S, E = int(rng.integers(1, 5)), int(rng.integers(1, 70)), int(rng.integers(1, 70)), H * D
    flip = lambda p=0.5: bool(rng.random() < p)
    bias, bias_kv, zero, batched, batch_first, self_attention = flip(0.7), flip(), flip(), flip(0.8), flip(), flip()
    K, V = (E, E) if self_attention or flip() else (int(rng.integers(1, 90)), int(rng.integers(1, 90)))
    S = T if self_attention else S
    weights = rng.choice(["none", "averaged", "heads"])
    kind = rng.choice(["none", "bool", "float"])
    per_head, padded = flip(), flip()
    dropout = round(float(rng.random()), 2) if flip() else 0
    shared = batched and not self_attention and not bias_kv and flip()  # one query, such as a learnt one, for all batches

    module = torch.nn.MultiheadAttention(E, H, bias=bias, add_bias_kv=bias_kv, add_zero_attn=zero, kdim=K, vdim=V,
                                         batch_first=batch_first)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.from_numpy(rng.standard_normal(parameter.shape) / np.sqrt(parameter.shape[-1])))
    order = "B {} {}" if batch_first else "{} B {}"
    layout = lambda length, width: (order if batched else "{} {}").format(length, width).split()
    sizes = {"B": B, "T": T, "S": S, "E": E, "K": K, "V": V}
    draw = lambda axes: rng.standard_normal([sizes[axis] for axis in axes]).astype(np.float32)
    key_axes, value_axes = layout("S", "K"), layout("S", "V")
    inputs = {"x": draw(["T", "E"] if shared else layout("T", "E"))}
    if not self_attention:
        inputs |= {"y": draw(key_axes), "z": draw(value_axes)}

    # A query of which all keys are left out gets NaN from PyTorch, and 0 here: one key is never left out.
    masked = {}
    heads = (B * H if batched else H,) if per_head else ()
    if kind != "none":
        drop = rng.random(heads + (T, S)) < 0.4
        drop[..., 0] = False
        masked["m"] = drop if kind == "bool" else np.where(drop, -np.inf, rng.standard_normal(drop.shape)).astype(np.float32)
    if padded:
        drop = rng.random((B, S) if batched else (S,)) < 0.4
        drop[..., 0] = False
        masked["padding"] = drop

    double = torch.nn.MultiheadAttention(E, H, bias=bias, add_bias_kv=bias_kv, add_zero_attn=zero, kdim=K, vdim=V,
                                         batch_first=batch_first, dropout=dropout).double().eval()
    double.load_state_dict(module.state_dict())
    doubles = {name: torch.from_numpy(value if value.dtype == bool else value.astype(np.float64))
               for name, value in (inputs | masked).items()}
    if shared:
        doubles["x"] = doubles["x"].unsqueeze(0 if batch_first else 1).expand([sizes[axis] for axis in layout("T", "E")])
    # With gradients: without, PyTorch takes a fast path that reads some masks in another way.
    out, seen = double(doubles["x"], doubles.get("y", doubles["x"]), doubles.get("z", doubles["x"]),
                       key_padding_mask=doubles.get("padding"), attn_mask=doubles.get("m"),
                       need_weights=weights != "none", average_attn_weights=weights == "averaged")
    wanted = {"out": out.detach().numpy()}
    if weights != "none":
        wanted["seen"] = seen.detach().numpy()

    # The spec.
    extra = bias_kv + zero
    columns = extra and weights != "none"
    lengths = {"T": T} | ({} if self_attention else {"S": S}) | ({"B": B} if batched else {})
    spec = "attn 1\nuse std.attention\nmodel Case {\n"
    spec += dims(rng, lengths)
    constants = [f"E = {E}", f"H = {H}"] + ([f"K = {K}", f"V = {V}"] if not self_attention else [])
    constants += ["S = T"] if self_attention else []
    spec += f"  dim {', '.join(constants)}\n"
    seen_keys = f"S + {extra}" if columns else "S"
    given = "H: H" + (f", W: {seen_keys}" if weights != "none" else "")
    block = "MultiheadAttention" + ("Weights" if weights != "none" else "")
    options = [("dropout", dropout)] if dropout else []
    options += [("bias", bias), ("add_bias_kv", bias_kv), ("add_zero_attn", zero)]
    said = [f"{name} = {value if name == 'dropout' else truth(value)}" for name, value in options
            if name == "dropout" or value != (name == "bias") or flip()]
    spec += f"  part attn: {block}[{given}]{'(' + ', '.join(said) + ')' if said else ''}\n"

    lets, arguments = [], []
    parameters = ["x: [T, E]" if shared else f"x: [{', '.join(layout('T', 'E'))}]"]
    called = "xxx" if self_attention else "xyz"
    if not self_attention:
        parameters += [f"y: [{', '.join(key_axes)}]", f"z: [{', '.join(value_axes)}]"]
    if batched and not batch_first:
        for name, axes in [("x", "t {} e"), ("y", "s {} k"), ("z", "s {} v")][shared:1 if self_attention else 3]:
            length, width = axes.split()[0], axes.split()[2]
            lets.append(f"let {name}1 = split({name}, \"{length} b {width} -> b {length} {width}\")")
    suffix = "1" if batched and not batch_first else ""
    if kind != "none":
        dtype = "bool" if kind == "bool" else "f32"
        shape = (["B*H"] if batched else ["H"]) * per_head + ["T", "S"]
        parameters.append(f"m: {dtype}[{', '.join(shape)}]")
        name, axes, at = "m", shape, (["h"] if per_head else []) + ["i", "j"]
        if per_head and batched:
            lets.append('let n = split(m, "(b h) t s -> b h t s")')
            name, axes, at = "n", ["B", "H", "T", "S"], ["b", "h", "i", "j"]
        read = f"with input {name}: {dtype}[{', '.join(axes)}] = "
        element = f"{name}[{', '.join(at)}]"
        spec += f"  mask given({', '.join(at)}) {read}not {element}\n" if kind == "bool" else \
            f"  bias given({', '.join(at)}) {read}{element}\n"
        arguments.append(f"{'allowed' if kind == 'bool' else 'added'} = given")
    if padded:
        shape, at = (["B", "S"], ["b", "j"]) if batched else (["S"], ["j"])
        parameters.append(f"padding: bool[{', '.join(shape)}]")
        spec += f"  mask there({', '.join(at)}) with input padding: bool[{', '.join(shape)}] = not padding[{', '.join(at)}]\n"
        if kind == "bool":
            arguments[0] += " and there"
        else:
            arguments.append("allowed = there")
    tensors = [name if shared and name == "x" else name + suffix for name in called]
    call = f"attn({', '.join(tensors + arguments)})"
    results = f"out: [{', '.join(layout('T', 'E'))}]"
    if weights == "none":
        lets.append(f"return {call}")
    else:
        axes = (["B"] if batched else []) + (["H"] if weights == "heads" else []) + ["T", seen_keys]
        results += f", seen: [{', '.join(axes)}]"
        lets += [f"let out, seen = {call}", f"return out, {'mean(H, seen)' if weights == 'averaged' else 'seen'}"]
    spec += f"  entry run({', '.join(parameters)}) -> {results} {{\n" + "".join(f"    {let}\n" for let in lets) + "  }\n}\n"
    tensors = {f"attn.{name}": value.numpy() for name, value in module.state_dict().items()}
    return spec, tensors, inputs | masked, wanted


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def linear(rng, out, into):
    return (rng.standard_normal((out, into)) / np.sqrt(into)).astype(np.float32)


def textbook(rng):
    """concat(head 1 .. head H) W^O, head by head."""
    H, D, B, T, S = (int(rng.integers(1, top)) for top in (6, 20, 5, 60, 60))
    E = H * D
    x, memory = (rng.standard_normal((B, length, E)).astype(np.float32) for length in (T, S))
    weights = {f"a.{name}.weight": linear(rng, E, E) for name in ("query", "key", "value", "out")}
    q, k, v = (weights[f"a.{name}.weight"].astype(float) for name in ("query", "key", "value"))
    heads = []
    for h in range(H):
        rows = slice(h * D, (h + 1) * D)
        scores = x @ q[rows].T @ (memory @ k[rows].T).transpose(0, 2, 1) / np.sqrt(D)
        heads.append(softmax(scores) @ (memory @ v[rows].T))
    wanted = np.concatenate(heads, -1) @ weights["a.out.weight"].astype(float).T
    spec = f"""attn 1
use std.attention
model Case {{
{dims(rng, {"B": B, "T": T, "S": S})}  dim E = {E}
  part a: TextbookAttention[H: {H}]
  entry run(x: [B, T, E], memory: [B, S, E]) -> out: [B, T, E] {{ return a(x, memory) }}
}}
"""
    return spec, weights, {"x": x, "memory": memory}, {"out": wanted}


def wide(rng):
    """Heads as the outer part of the last axis, without biases in front, divided by sqrt(adim * nheads)."""
    H, A, B, T, E = (int(rng.integers(1, top)) for top in (6, 30, 5, 60, 90))
    x = rng.standard_normal((B, T, E)).astype(np.float32)
    weights = {f"a.{name}.weight": linear(rng, A * H, E) * 2 for name in "qkv"}
    weights |= {"a.out.weight": linear(rng, E, A * H), "a.out.bias": rng.standard_normal(E).astype(np.float32)}
    q, k, v = ((x @ weights[f"a.{name}.weight"].astype(float).T).reshape(B, T, H, A).swapaxes(1, 2) for name in "qkv")
    scores = q @ k.swapaxes(-1, -2) * (A * H) ** -0.5
    scores = np.where(np.tril(np.ones((T, T), bool)), scores, -np.inf)
    heads = (softmax(scores) @ v).swapaxes(1, 2).reshape(B, T, H * A)
    wanted = heads @ weights["a.out.weight"].astype(float).T + weights["a.out.bias"]
    spec = f"""attn 1
use std.attention
model Case {{
{dims(rng, {"B": B, "T": T})}  dim E = {E}
  part a: WideAttention[H: {H}, A: {A}]
  entry run(x: [B, T, E]) -> out: [B, T, E] {{ return a(x, allowed = causal) }}
}}
"""
    return spec, weights, {"x": x}, {"out": wanted}


def packed(rng):
    """`b n (h d) -> b h n d` with d = 3 dk, and only then cut into q, k and v."""
    H, D, B, T, I = (int(rng.integers(1, top)) for top in (6, 20, 5, 60, 90))
    E = H * D
    x = rng.standard_normal((B, T, I)).astype(np.float32)
    weights = {"blocks.attn.qkv.weight": linear(rng, 3 * E, I), "blocks.attn.out.weight": linear(rng, E, E)}
    weights |= {f"blocks.attn.{name}.bias": rng.standard_normal(n).astype(np.float32) for name, n in (("qkv", 3 * E), ("out", E))}
    qkv = x @ weights["blocks.attn.qkv.weight"].astype(float).T + weights["blocks.attn.qkv.bias"]
    q, k, v = np.split(qkv.reshape(B, T, H, 3 * D).swapaxes(1, 2), 3, -1)
    heads = (softmax(q @ k.swapaxes(-1, -2) / np.sqrt(D)) @ v).swapaxes(1, 2).reshape(B, T, E)
    wanted = heads @ weights["blocks.attn.out.weight"].astype(float).T + weights["blocks.attn.out.bias"]
    spec = f"""attn 1
use std.attention
model Case {{
{dims(rng, {"B": B, "T": T})}  dim I = {I}, E = {E}
  part a: PackedAttention[E: E, H: {H}] = "blocks.attn"
  entry run(x: [B, T, I]) -> out: [B, T, E] {{ return a(x) }}
}}
"""
    return spec, weights, {"x": x}, {"out": wanted}


def masks(rng):
    """Each mask and the bias of std.masks, under the textbook's attention."""
    H, D, B, T = (int(rng.integers(1, top)) for top in (9, 20, 4, 70))
    E, i, j = H * D, np.arange(T)[:, None], np.arange(T)[None, :]
    length, size, step, reach = (int(rng.integers(1, top)) for top in (T + 1, T + 1, 6, 9))
    name, allowed = [(f"prefix({length})", (j < length) | (j <= i)), (f"block_diagonal({size})", i // size == j // size),
                     (f"dilated({step}, {reach})", ((i - j) % step == 0) & (abs(i - j) <= step * reach)),
                     ("others", i != j)][rng.integers(4)]
    slopes = 2.0 ** (-8 * np.arange(1, H + 1) / H)
    x = rng.standard_normal((B, T, E)).astype(np.float32)
    weights = {f"a.{name}.weight": linear(rng, E, E) for name in ("query", "key", "value", "out")}
    q, k, v = ((x @ weights[f"a.{name}.weight"].astype(float).T).reshape(B, T, H, D).swapaxes(1, 2)
               for name in ("query", "key", "value"))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(D) - slopes[:, None, None] * abs(i - j)
    seen = softmax(np.where(allowed, scores, -1e300)) * allowed  # a query without a live key gets 0
    wanted = (seen @ v).swapaxes(1, 2).reshape(B, T, E) @ weights["a.out.weight"].astype(float).T
    if not wanted.any():
        return masks(rng)
    spec = f"""attn 1
use std.attention
use std.masks
model Case {{
{dims(rng, {"B": B, "T": T})}  dim E = {E}
  part a: TextbookAttention[H: {H}]
  entry run(x: [B, T, E]) -> out: [B, T, E] {{ return a(x, x, allowed = {name}, added = alibi({H})) }}
}}
"""
    return spec, weights, {"x": x}, {"out": wanted}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=1, help="each of 10 cases of torch.nn and one of each other form")
    options, flags = parser.parse_known_args()
    os.makedirs(options.folder, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    worst = 0
    for number, make in enumerate(([torch_case] * 10 + [textbook, wide, packed, masks]) * options.rounds):
        spec, weights, inputs, wanted = make(rng)
        wrong, error = run(options.folder, spec, weights, inputs, wanted, flags)
        worst = max(worst, error)
        measured(make.__name__, error)
        if wrong:
            sys.exit(f"seed {options.seed}, case {number}: {wrong}\n{spec}")
    print(f"seed {options.seed}: {number + 1} cases, errors up to {worst:.2e}, bound {BOUND:.0e}")


if __name__ == "__main__":
    main()
