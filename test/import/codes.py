#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In int4, codes of 4 bits are multiplied as they stand in the file, and those of up to 8 in int8_groups: rows with a single 1 give the weights back, which are those that the formats
define, to the rounding of f32 where scales and zeros are numbers of f16, else to that of f16.

usage: codes.py FOLDER"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "numeric")]
from gguf_file import draw, write_gguf
from program import call, run
from quantized_file import awq, gptq, write_shards

OUT, IN = 96, 512
ROWS = 8  # tile registers multiply more with weights rounded to int8
EXACT, ROUNDED, FOUND = 3e-7, 2.0**-10, 1 / 253  # the last: not multiples of a scale, so that another is found
ANY_HALF = 1 / 4  # multiples of a scale that is found, from -8 to 7 of up to 9
FORMATS = {"int4": {"Q4_0": EXACT, "Q4_1": ROUNDED, "Q4_K": ROUNDED}, "int8_groups": {"Q8_0": EXACT, "Q4_0": EXACT, "Q4_1": FOUND, "Q6_K": FOUND},
           "int4_groups": {"Q4_0": EXACT, "Q4_1": ANY_HALF, "Q6_K": ANY_HALF}}
INTS = {"awq": (awq, {}), "gptq": (gptq, {}), "middle": (gptq, dict(zeros="middle less one")), "wide": (gptq, dict(group=128)),
        "three": (gptq, dict(bits=3)), "eight": (gptq, dict(bits=8, zeros="middle less one")), "shifted": (gptq, dict(bits=8))}
INT_BOUNDS = {"int4": {"awq": EXACT, "gptq": EXACT, "middle": EXACT, "wide": EXACT, "three": EXACT},
              "int8_groups": {"awq": EXACT, "gptq": EXACT, "eight": EXACT, "shifted": FOUND}}


def gguf_file(rng, path, names):
    tensors, weights = {}, {}
    for name in names:
        data, weights[name] = draw(rng, name, (OUT, IN))
        tensors[f"{name}.weight"] = (name, (OUT, IN), data)
    write_gguf(path, {"general.architecture": "none"}, tensors)
    return weights


def folder_of_ints(rng, path, names):
    tensors, weights = {}, {}
    for name in names:
        make, arguments = INTS[name]
        _, parts, weights[name] = make(rng, (OUT, IN), **arguments)
        tensors.update({name + suffix: part for suffix, part in parts.items()})
    os.makedirs(path, exist_ok=True)
    write_shards(path, tensors)
    return weights


def check(folder, path, weights, precision, bounds):
    names = list(weights)
    spec, program = os.path.join(folder, "maps.attn"), os.path.join(folder, "maps")
    with open(spec, "w") as out:
        out.write(f"attn 1\nmodel Maps {{\n  dim K = {IN}, N = {OUT}\n  dyn B <= {ROWS}\n  linear {', '.join(names)}: K -> N\n"
                  f"  entry maps(x: [B, K]) -> {', '.join(f'of_{name}: [B, N]' for name in names)} {{\n"
                  f"    return {', '.join(f'{name}(x)' for name in names)}\n  }}\n}}\n")
    call(["attn", "compile", spec, f"--precision={precision}", "-O0", "-o", program])
    found = {name: [] for name in names}
    for first in range(0, IN, ROWS):
        rows = np.zeros((ROWS, IN), np.float32)
        rows[np.arange(ROWS), first + np.arange(ROWS)] = 1
        results = run([program, "--weights", path], folder, {"x": rows}, [f"of_{name}" for name in names])
        for name, result in zip(names, results):
            found[name].append(result)
    for name, wanted in weights.items():
        wanted, got = wanted.astype(np.float64), np.concatenate(found[name]).T
        # Of a group's codes, the largest numbers are as far from 0 as the line is.
        groups = np.maximum(np.abs(wanted).reshape(OUT, -1, 32).max(2, keepdims=True), 1e-30)  # some are all 0
        worst = (np.abs(got - wanted).reshape(OUT, -1, 32) / groups).max()
        assert worst <= bounds[name], f"{name}: {worst}"
        print(f"{name} in {precision}: worst difference {worst:.1e} of a group's largest weight, bound {bounds[name]:.1e}")


def main():
    folder, = sys.argv[1:]
    rng = np.random.default_rng(11)
    for precision, bounds in FORMATS.items():
        path = os.path.join(folder, f"{precision}.gguf")
        check(folder, path, gguf_file(rng, path, bounds), precision, bounds)
    for precision, bounds in INT_BOUNDS.items():
        path = os.path.join(folder, f"{precision}-ints")
        check(folder, path, folder_of_ints(rng, path, bounds), precision, bounds)


if __name__ == "__main__":
    main()
