#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GGUF file that is right, and others of which each has one thing wrong.

usage: wrong_gguf.py FOLDER"""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
from gguf import MODELS, write_model
from gguf_file import text, value_bytes


def write(path, values, tensors, version=3, counts=None, body=b"\0" * 4096):
    """`tensors`: (name, axes, type, offset); `counts` are those that the header tells, of tensors and of values."""
    counts = counts or (len(tensors), len(values))
    head = b"".join(text(k) + value_bytes(v) for k, v in values.items())
    head += b"".join(text(n) + struct.pack(f"<I{len(axes)}QIQ", len(axes), *axes, kind, at) for n, axes, kind, at in tensors)
    start = b"GGUF" + struct.pack("<IQQ", version, *counts) + head
    with open(path, "wb") as file:
        file.write(start + b"\0" * (-len(start) % 32) + body)


def main():
    folder, = sys.argv[1:]
    at = lambda name: os.path.join(folder, name + ".gguf")
    architecture, config = MODELS["llama"]
    write_model(architecture, config, at("good"))
    whole = open(at("good"), "rb").read()
    open(at("cut"), "wb").write(whole[:200])
    llama, one = {"general.architecture": "llama"}, [("token_embd.weight", (32, 4), 0, 0)]
    write(at("version"), llama, one, version=1)
    write(at("string"), {**llama, "a": struct.pack("<IQ", 8, 1 << 62)}, one)
    write(at("kind"), {**llama, "a": struct.pack("<II", 77, 1)}, one)
    write(at("count"), llama, one, counts=(1 << 40, 1), body=b"")
    write(at("body"), llama, [("token_embd.weight", (32, 4000), 0, 0)])
    write(at("offset"), llama, [("token_embd.weight", (32, 4), 0, 8)])
    write(at("alignment"), {**llama, "general.alignment": 24}, one)
    write(at("axes"), llama, [("token_embd.weight", (1,) * 9, 0, 0)])
    write(at("shape"), llama, [("token_embd.weight", (1 << 40, 1 << 40), 0, 0)])
    write(at("block"), llama, [("token_embd.weight", (48, 4), 8, 0)])
    write(at("twice"), llama, one * 2)
    write(at("type"), llama, [("token_embd.weight", (256, 4), 16, 0)])
    write(at("split"), {**llama, "split.count": struct.pack("<IH", 2, 3)}, one)
    write(at("family"), {"general.architecture": "rwkv7"}, one)
    write(at("nameless"), {"general.name": "x"}, one)
    write(at("embedding"), llama, [("other.weight", (32, 4), 0, 0)])
    write(at("heads"), {**llama, "llama.attention.head_count": [4, 8]}, one)
    write(at("experts"), {"general.architecture": "qwen2", "qwen2.expert_count": 8}, one)
    write(at("scaling"), {**llama, "llama.rope.scaling.type": "dynamic"}, one)
    write(at("longrope"), {**llama, "llama.rope.scaling.type": "longrope"}, one)
    pairs = [("rope_factors_long.weight", (8,), 0, 512), ("rope_factors_short.weight", (8,), 0, 512)]
    write(at("two-rules"), {**llama, "llama.rope.scaling.type": "linear"}, one + pairs)
    write(at("pooling"), {"general.architecture": "bert", "bert.pooling_type": 5}, one)
    from gguf import values_of
    values = values_of(architecture, config)
    write(at("factors"), values, [("token_embd.weight", (32, 4), 0, 0), ("rope_freqs.weight", (32,), 0, 0)],
          body=np.linspace(1, 8, 1024, dtype=np.float32).tobytes())
    tokens = np.zeros((97, 256), dtype=np.float32).tobytes()
    for name, key in (("warped", "llama.attention.warp"), ("words", "tokenizer.ggml.warp"), ("other", "somebody.warp")):
        write(at(name), {**values, key: 3, "general.warp": 4}, [("token_embd.weight", (256, 97), 0, 0)], body=tokens)
    write(at("layers"), {**values, "llama.block_count": 3}, [("token_embd.weight", (256, 97), 0, 0)], body=b"\0" * 4 * 256 * 97)


if __name__ == "__main__":
    main()
