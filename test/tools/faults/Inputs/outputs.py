#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every output of every verb, and of a program, is named as each file that the command reads, also by other names of that
file: exit code 2, and the file is as it was. Two outputs of one name are one error, too.

usage: outputs.py INPUTS STORY FOLDER, the folder of this file, examples/story, and one to work in"""
import itertools
import json
import os
import shutil
import struct
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper


def run(command, code, expected=""):
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == code, f"{' '.join(command)}: exit {done.returncode}, expected {code}\n{said}"
    assert expected in said, f"{' '.join(command)}: expected `{expected}`\n{said}"


def write_inputs(inputs, story):
    for name in ("small.attn", "parts.attn"):
        shutil.copy(f"{inputs}/{name}", name)
    shutil.copytree(story, "story")
    open("config.json", "w").write('{"width": 4}')
    header = json.dumps({"w.weight": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}}).encode()
    open("w.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + np.eye(4, dtype=np.float32).tobytes())
    np.save("x.npy", np.ones((2, 4, 4), np.float32))
    value = lambda name: helper.make_tensor_value_info(name, 1, ["n", 4])
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "m"], ["y"])], "g", [value("x")], [value("y")],
                              [numpy_helper.from_array(np.eye(4, dtype=np.float32), "m")])
    onnx.save(helper.make_model(graph), "m.onnx")


SPEC = ["-O0", "small.attn", "--config=config.json"]
LEVEL = ["--target=x86-64-v3"]
RUN = ["--weights", "w.safetensors", "--input", "x=x.npy"]
# A command that ends before its output, and what it reads.
CASES = [
    (["attn", "compile", *SPEC, *LEVEL, "--emit=header", "-o"], "", ["small.attn", "parts.attn", "config.json"]),
    (["attn", "compile", *SPEC, *LEVEL, "--emit=object", "--weights=w.safetensors", "--embed-weights", "-o"], "", ["w.safetensors"]),
    (["attn", "import", "story", "-o"], "", ["story/story.safetensors", "story/config.json"]),
    (["attn", "import", "m.onnx", "-o"], "", ["m.onnx"]),
    (["attn", "run", *SPEC, *RUN, "--output"], "run=", ["small.attn", "parts.attn", "config.json", "w.safetensors", "x.npy"]),
    (["attn", "run", *SPEC, *RUN, "--taps"], "", ["w.safetensors"]),
    (["attn", "run", *SPEC, *RUN, "--map"], "y=", ["x.npy"]),
    (["attn", "bench", *SPEC, *RUN, "--repeat=1", "--trace"], "", ["w.safetensors"]),
    (["./program", *RUN, "--output"], "run=", ["w.safetensors", "x.npy", "program"]),
    (["./program", *RUN, "--bench", "--repeat=1", "--trace"], "", ["x.npy"]),
    (["attn", "run", "./library.so", *RUN, "--output"], "run=", ["library.so", "w.safetensors"]),
]
SAME = [
    ["./program", *RUN, "--output", "run=o.npy", "--output", "run=./o.npy"],
    ["attn", "run", *SPEC, *RUN, "--output", "run=o.npy", "--taps", "o.npy"],
    ["attn", "run", *SPEC, *RUN, "--map", "y=o.png", "--map", "run=link.png"],  # a link to o.png, which is not there yet
    ["attn", "compile", *SPEC, *LEVEL, "--tune", "--tuning=o", "-o", "o"],
]


def aliases(path, number):
    """Another name of a file, each time of another kind."""
    link = f"other{number}"
    kind = number % 4
    if kind == 1:
        os.symlink(path, link)
    elif kind == 2:
        os.link(path, link)
    return [path, link, link, f"./{os.path.dirname(path) or '.'}/{os.path.basename(path)}"][kind]


def main():
    inputs, story, folder = map(os.path.abspath, sys.argv[1:])
    os.chdir(folder)
    write_inputs(inputs, story)
    run(["attn", "compile", *SPEC, *LEVEL, "-o", "program"], 0)
    run(["attn", "compile", *SPEC, *LEVEL, "--emit=shared", "-o", "library.so"], 0)
    numbers = itertools.count()
    for command, prefix, read in CASES:
        for path in read:
            before = open(path, "rb").read()
            run([*command, prefix + aliases(path, next(numbers))], 2, "is a file that this command reads, and would be replaced")
            assert open(path, "rb").read() == before, f"{command} has changed {path}"
    os.symlink("o.png", "link.png")
    for command in SAME:
        run(command, 2, "is the file of another output")
        assert not os.path.exists("o.npy") and not os.path.exists("o.png") and not os.path.exists("o")
    # What is no input is replaced, and devices take any number of outputs.
    for _ in range(2):
        run(["./program", *RUN, "--output", "run=o.npy", "--output", "run=/dev/null", "--output", "run=/dev/null"], 0)
    print(f"{next(numbers)} inputs stay, {len(SAME)} pairs of outputs are one")


if __name__ == "__main__":
    main()
