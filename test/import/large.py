#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A larger model in three shards, or in one GGUF file: while its weights are loaded, the program takes no more than 1.1 times the memory of the packed ones,
however they are kept. The numbers take no room on the disk.

usage: large.py FOLDER [--width N] [--layers N]"""
import argparse
import json
import os
import struct
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "numeric")]
from gguf_file import FORMATS, write_gguf
from program import call

BYTES = {"F32": 4, "F16": 2, "BF16": 2, "I32": 4, "U8": 1, "F8_E4M3": 1}
# The tensors of one of [D, D].
KINDS = {
    "bf16": lambda d: {".weight": ("BF16", (d, d))},
    "fp8": lambda d: {".weight": ("F8_E4M3", (d, d)), ".weight_scale_inv": ("F32", (d // 128, d // 128))},
    "gptq": lambda d: {".qweight": ("I32", (d // 8, d)), ".qzeros": ("I32", (d // 128, d // 8)), ".scales": ("F16", (d // 128, d)),
                       ".g_idx": ("I32", (d,))},
    "awq": lambda d: {".qweight": ("I32", (d, d // 8)), ".qzeros": ("I32", (d // 128, d // 8)), ".scales": ("F16", (d // 128, d))},
    "mxfp4": lambda d: {".weight_blocks": ("U8", (d, d // 32, 16)), ".weight_scales": ("U8", (d, d // 32))},
}
SPEC = """attn 1
model Large {{
  dim D = {width}
  dyn T <= 16
  block Layer(x: [T, D]) -> [T, D] {{
    linear w: D -> D
    return x + w(x)
  }}
  stack layers: {layers} of Layer
  entry run(x: [T, D]) -> y: [T, D] {{
    return layers(x)
  }}
}}
"""


def write_holes(folder, tensors, shards):
    mapping = {}
    for n in range(shards):
        header, at, name = {}, 0, f"model-{n + 1:05}-of-{shards:05}.safetensors"
        for tensor, (dtype, shape) in list(tensors.items())[n::shards]:
            size = BYTES[dtype] * int(np.prod(shape))
            header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
            mapping[tensor], at = name, at + size
        text = json.dumps(header).encode()
        with open(os.path.join(folder, name), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.truncate(8 + len(text) + at)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump({"weight_map": mapping}, file)


def peak(*words):
    """Bytes of memory that a program had at most. It counts those of the process that starts it, too, so that is one that does nothing else."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    out = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return 1024 * int(out.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=16)
    options = parser.parse_args()
    d, folder = options.width, options.folder
    spec, program = os.path.join(folder, "large.attn"), os.path.join(folder, "program")
    with open(spec, "w") as file:
        file.write(SPEC.format(width=d, layers=options.layers))
    call(["attn", "compile", spec, "--precision=bf16", "-O0", "-o", program])
    np.save(f"{folder}/x.npy", np.ones((1, d), np.float32))
    packed = 2 * d * d * options.layers
    weights = {kind: os.path.join(folder, kind) for kind in KINDS}
    for kind, path in weights.items():
        os.makedirs(path)
        write_holes(path, {f"layers.{n}.w{suffix}": part for n in range(options.layers) for suffix, part in KINDS[kind](d).items()}, 3)
    weights["Q8_0"] = os.path.join(folder, "q8_0.gguf")
    _, elements, size, *_ = FORMATS["Q8_0"]
    blocks = bytes(d * d // elements * size)
    write_gguf(weights["Q8_0"], {"general.architecture": "large"}, {f"layers.{n}.w.weight": ("Q8_0", (d, d), blocks) for n in range(options.layers)})
    for kind, path in weights.items():
        share = peak(program, "--threads=2", "--weights", path, "--input", f"x={folder}/x.npy", "--output", f"y={folder}/y.npy") / packed
        print(f"{kind}: {share:.3f} of {packed / 1e6:.0f} MB of packed weights")
        assert share <= 1.1, kind
        assert np.array_equal(np.load(f"{folder}/y.npy"), np.ones((1, d))), kind


if __name__ == "__main__":
    main()
