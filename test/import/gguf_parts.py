#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model in one GGUF file, and the same split into three, as llama.cpp splits them: the values stand in the first alone, which has no tensors.
Scores are equal bit by bit, whether the first part is named or the folder.

usage: gguf_parts.py FOLDER"""
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gguf
from program import call, run


def split_values(number, total):
    """Numbers of 16 bits, which write_gguf takes as they are."""
    return {"split.no": struct.pack("<IH", 2, number), "split.count": struct.pack("<IH", 2, 3), "split.tensors.count": total}


def write_parts(folder, name):
    """Writes the model whole, too; what write_gguf is given is taken on its way."""
    architecture, config = gguf.MODELS["qwen2"]
    write, given = gguf.write_gguf, []
    gguf.write_gguf = lambda *all_: given.append(all_)
    gguf.write_model(architecture, config, "")
    gguf.write_gguf = write
    (_, values, tensors), = given
    write(os.path.join(folder, "whole.gguf"), values, tensors)
    names = list(tensors)
    lists = [], names[: len(names) // 3], names[len(names) // 3 :]
    os.makedirs(os.path.join(folder, "parts"), exist_ok=True)
    for number, own in enumerate(lists):
        write(os.path.join(folder, "parts", f"{name}-{number + 1:05}-of-00003.gguf"),
              {**(values if number == 0 else {}), **split_values(number, len(names))}, {key: tensors[key] for key in own})


def main():
    folder, = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    write_parts(folder, "model")
    ids = {"ids": np.random.default_rng(5).integers(0, 97, (1, 9), dtype=np.int32)}
    whole, first, parts = (os.path.join(folder, name) for name in ("whole.gguf", "parts/model-00001-of-00003.gguf", "parts"))
    rows, specs = [], {}
    for path in (whole, first, parts):
        specs[path] = os.path.join(folder, f"{len(rows)}.attn")
        call(["attn", "import", path, "-o", specs[path]])
        rows += run(["attn", "run", specs[path], "--entry", "scores"], folder, ids, ["scores"])
    rows += run(["attn", "run", specs[whole], "--entry", "scores", "--weights", parts], folder, ids, ["scores"])
    assert all(np.array_equal(rows[0], row) for row in rows)
    print("scores of the parts are those of the whole")


if __name__ == "__main__":
    main()
