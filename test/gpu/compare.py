# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs an entry of a compiled model on the CPU and, by the interpreter of PTX, on the GPU, and compares all outputs.

    compare.py LIBCUDA BOUND PROGRAM OUTPUT,OUTPUT [OPTION ...]

Prints the largest relative L2 error. Exit code 1 where it is past the bound, where two interleavings give other bits, or a run fails.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np


def run(program, names, options, folder, environment=None):
    files = [os.path.join(folder, name + ".npy") for name in names]
    outputs = [word for name, file in zip(names, files) for word in ("--output", f"{name}={file}")]
    done = subprocess.run([program, *options, *outputs], env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        sys.exit(1)
    return [np.load(file) for file in files]


def main():
    driver, bound, program, names, *options = sys.argv[1:]
    names = names.split(",")
    with tempfile.TemporaryDirectory() as folder:
        expected = run(program, names, options, folder)
        found = [run(program, names, [*options, "--device=cuda"], folder, {"ATTN_CUDA_PATH": driver, "ATTN_PTX_SEED": seed}) for seed in "12"]
    if any((a != b).any() for a, b in zip(*found)):
        sys.exit("two interleavings gave other bits")
    errors = [np.linalg.norm(a.astype(float) - b) / np.linalg.norm(b.astype(float)) for a, b in zip(found[0], expected)]
    print(f"relative L2 {max(errors):.1e}")
    sys.exit(not max(errors) < float(bound))


main()
