#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized tensors of which each has one thing wrong, and a spec that one of them fits.

usage: wrong_quantized.py FOLDER"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from quantized_file import awq, fp8, gptq, mxfp4, write_shards


def main():
    root, = sys.argv[1:]
    rng = np.random.default_rng(1)
    ints = lambda *shape: np.zeros(shape, np.int32)
    floats = lambda *shape: np.ones(shape, np.float32)
    bytes_of = lambda *shape: np.zeros(shape, np.uint8)
    named = lambda parts: {"w" + suffix: value for suffix, value in parts.items()}
    good = named(gptq(rng, (32, 64), order=True)[1])
    scaled = named(fp8(rng, (32, 64))[1])
    pairs = named(mxfp4(rng, (32, 64))[1])

    def write(name, tensors, config=None):
        folder = os.path.join(root, name)
        os.makedirs(folder)
        write_shards(folder, {key: value for key, value in tensors.items() if value is not None})
        if config is not None:
            with open(os.path.join(folder, "config.json"), "w") as file:
                file.write(config)

    write("good", good)
    write("scales", {**good, "w.scales": None})
    write("zeros", {**good, "w.qzeros": None})
    write("rank", {**good, "w.qweight": ints(8, 32, 1)})
    write("empty", {**good, "w.qweight": ints(0, 32)})
    write("whole-scales", {**good, "w.scales": ints(2, 32)})
    write("groups", {**good, "w.qzeros": ints(3, 4)})
    write("bits", {**good, "w.qzeros": ints(2, 5)})
    write("words", {**good, "w.qweight": ints(8, 33)})
    write("three", {**named(gptq(rng, (32, 64), bits=3)[1]), "w.qweight": ints(7, 32)})
    write("awq", {**named(awq(rng, (32, 64))[1]), "w.qzeros": ints(2, 5)})
    write("rows", {**good, "w.g_idx": ints(63)})
    write("order", {**good, "w.g_idx": np.full(64, 2, np.int32)})
    write("uneven", {**good, "w.g_idx": None, "w.scales": floats(3, 32), "w.qzeros": ints(3, 4)})
    write("twice", {**good, "w.weight": floats(32, 64)})
    write("blocks", {**scaled, "w.weight_scale_inv": floats(2, 1)})
    write("whole-blocks", {**scaled, "w.weight_scale_inv": ints(1, 1)})
    write("nibbles", {**pairs, "w.weight_scales": None})
    write("powers", {**pairs, "w.weight_scales": bytes_of(32, 3)})
    write("size", scaled, '{"quantization_config": {"weight_block_size": [128]}}')
    write("json", scaled, '{"quantization_config": {"bits": }}')
    with open(os.path.join(root, "spec.attn"), "w") as file:
        file.write("attn 1\nmodel Linear {\n  dim D = 64, O = 32\n  linear w: D -> O\n  entry product(x: [D]) -> y: [O] {\n    return w(x)\n  }\n}\n")


if __name__ == "__main__":
    main()
