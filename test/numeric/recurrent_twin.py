#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""std.recurrent against torch.nn.RNN, GRU and LSTM themselves, in double precision.

Each case is a random choice of all options, sizes, weights and inputs: a spec that uses the cells is written, its
parameters are the module's state_dict, and all its results are compared. The seed is printed, and the case that differs.
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

# Relative L2 of a result: up to 60 steps, each a sum of at most 90 products in f32, whose errors the gates damp.
BOUND = 1e-5
KINDS = ["RNN", "GRU", "LSTM"]


class Case:
    """A random module of torch, its inputs, and what it gives."""

    def __init__(self, rng, kind):
        flip = lambda p=0.5: bool(rng.random() < p)
        self.kind = kind
        self.layers, self.both = int(rng.integers(1, 4)), flip()
        self.I, self.U = int(rng.integers(1, 80)), int(rng.integers(2, 90))
        self.B, self.T = int(rng.integers(1, 7)), int(rng.integers(1, 60))
        self.bias, self.batch_first, self.given, self.packed = flip(0.7), flip(), flip(), flip()
        self.rectified = self.kind == "RNN" and flip()
        self.P = int(rng.integers(1, self.U)) if self.kind == "LSTM" and flip(0.3) else 0
        # What `pack` lays side by side is found by its size, which must be no other axis' size.
        self.fixed = [name for name in "BT" if flip() and getattr(self, name) not in (self.U, self.P)]
        self.blocks = self.both and not (self.given or self.packed or self.P) and flip(0.7)
        options = {"num_layers": self.layers, "bidirectional": self.both, "bias": self.bias, "batch_first": self.batch_first}
        if self.rectified:
            options["nonlinearity"] = "relu"
        if self.P:
            options["proj_size"] = self.P
        self.options = options
        self.module = getattr(torch.nn, self.kind)(self.I, self.U, **options).eval()
        with torch.no_grad():
            for parameter in self.module.parameters():
                # What relu passes on must not grow from step to step.
                scale = (0.6 if self.rectified else 1.0) / np.sqrt(parameter.shape[-1])
                parameter.copy_(torch.from_numpy(rng.standard_normal(parameter.shape) * scale))
        ways = 2 if self.both else 1
        draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)
        self.x = draw(self.B, self.T, self.I) if self.batch_first else draw(self.T, self.B, self.I)
        self.h = draw(self.layers * ways, self.B, self.P or self.U)
        self.c = draw(self.layers * ways, self.B, self.U)
        self.lengths = rng.integers(1, self.T + 1, self.B).astype(np.int32)
        self.lengths[int(rng.integers(self.B))] = self.T  # as PyTorch pads what it has packed

    def wanted(self):
        """What torch computes in double precision, by the names of the spec's results."""
        module = getattr(torch.nn, self.kind)(self.I, self.U, **self.options).double().eval()
        module.load_state_dict(self.module.state_dict())
        double = lambda array: torch.from_numpy(array.astype(np.float64))
        states = double(self.h) if self.kind != "LSTM" else (double(self.h), double(self.c))
        x = double(self.x)
        if self.packed:
            x = torch.nn.utils.rnn.pack_padded_sequence(x, torch.from_numpy(self.lengths.astype(np.int64)),
                                                        batch_first=self.batch_first, enforce_sorted=False)
        with torch.no_grad():
            y, last = module(x, states) if self.given else module(x)
            if self.packed:
                y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=self.batch_first)
        last = last if self.kind == "LSTM" else (last,)
        results = {"y": y.numpy()}
        for name, state in zip("hc", last):
            results |= {f"{name}{n}": state[n].numpy() for n in range(state.shape[0])}
        return results

    def inputs(self):
        arrays = {"x": self.x}
        if self.packed:
            arrays["n"] = self.lengths
        if self.given:
            for name, state in zip("hc", (self.h, self.c) if self.kind == "LSTM" else (self.h,)):
                arrays |= {f"{name}_{n}": state[n] for n in range(state.shape[0])}
        return arrays

    def spec(self):
        ways = 2 if self.both else 1
        states = 2 if self.kind == "LSTM" else 1
        width = "P" if self.P else "U"
        rows = "B, T" if self.batch_first else "T, B"
        truth = lambda flag: "true" if flag else "false"
        known = {"I": self.I, "U": self.U} | ({"P": self.P} if self.P else {}) | {n: getattr(self, n) for n in self.fixed}
        lines = ["attn 1", "use std.recurrent", "model Case {", "  dim " + ", ".join(f"{k} = {v}" for k, v in known.items())]
        for name in "BT":
            if name not in self.fixed:
                lines.append(f"  dyn {name} <= {getattr(self, name) + 3}")
        options = [f"bias = {truth(self.bias)}"] + ([f"rectified = {truth(True)}"] if self.rectified else [])
        cell = ("Projected" if self.P else "") + f"{self.kind}Cell"
        given = "U: U" + (", P: P" if self.P else "")
        for n in range(self.layers):
            if self.blocks:
                lines.append(f"  part l{n}: Bidirectional{self.kind}[U: U]({', '.join(options + [f'layer = {n}'])}) = \"\"")
                continue
            for way in range(ways):
                own = options + [f"layer = {n}"] + (["backward = true"] if way else [])
                lines.append(f"  part l{n}_{way}: {cell}[{given}]({', '.join(own)}) = \"\"")
        parameters = [f"x: [{rows}, I]"] + (["n: i32[B]"] if self.packed else [])
        if self.given:
            for name, size in zip("hc"[:states], (width, "U")):
                parameters += [f"{name}_{k}: [B, {size}]" for k in range(self.layers * ways)]
        out = f"2*{width}" if self.both else width
        results = [f"y: [{rows}, {out}]"]
        for name, size in zip("hc"[:states], (width, "U")):
            results += [f"{name}{k}: [B, {size}]" for k in range(self.layers * ways)]
        lines.append(f"  entry run({', '.join(parameters)}) -> {', '.join(results)} {{")
        # A block leaves the axes that it does not speak of in front.
        value = 'split(x, "t b i -> b t i")' if self.blocks and not self.batch_first else "x"
        for n in range(self.layers):
            if self.blocks:
                names = [f"{s}{2 * n + way}" for way in range(2) for s in "hc"[:states]]
                lines.append(f"    let y{n}, {', '.join(names)} = l{n}({value})")
            else:
                for way in range(ways):
                    k = n * ways + way
                    names = [f"{s}{k}" for s in "hc"[:states]]
                    first = [f"{s}_{k}" for s in "hc"[:states]]
                    bracket = lambda list: f"({', '.join(list)})" if len(list) > 1 else list[0]
                    lines.append(f"    let y{n}_{way}, {bracket(names)} = scan l{n}_{way} over {value} along T"
                                 + (" reverse" if way else "") + (f" from {bracket(first)}" if self.given else " from zeros")
                                 + (" lengths n" if self.packed else ""))
                if ways == 2:
                    lines.append(f"    let y{n} = pack({out}, y{n}_0, y{n}_1)")
            value = f"y{n}" if ways == 2 else f"y{n}_0"
        returned = [value] + [f"{s}{k}" for s in "hc"[:states] for k in range(self.layers * ways)]
        lines.append(f"    return {', '.join(returned)}")
        return "\n".join(lines + ["  }", "}", ""])


def wrong(case, folder, flags):
    """What is wrong, or None; the largest relative L2 of a result."""
    with open(f"{folder}/case.attn", "w") as file:
        file.write(case.spec())
    write_safetensors(f"{folder}/case.safetensors", {k: v.numpy() for k, v in case.module.state_dict().items()})
    command = ["attn", "run", f"{folder}/case.attn", "--weights", f"{folder}/case.safetensors", *optimised(flags)]
    for name, value in case.inputs().items():
        np.save(f"{folder}/in_{name}.npy", value)
        command += ["--input", f"{name}={folder}/in_{name}.npy"]
    wanted = case.wanted()
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
        error = np.linalg.norm(got - value) / max(np.linalg.norm(value), 1e-30)
        worst = max(worst, error)
        if not error <= BOUND:
            return f"{name} has a relative L2 of {error:.2e}, bound {BOUND:.0e}", worst
    return None, worst


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
            sys.exit(f"seed {arguments.seed}, case {number}, {case.kind} {case.options}: {error}\n{case.spec()}")
        worst = max(worst, own)
        measured(case.kind, own)
    print(f"seed {arguments.seed}: {arguments.cases} cases of each kind, relative L2 at most {worst:.1e}")


if __name__ == "__main__":
    main()
