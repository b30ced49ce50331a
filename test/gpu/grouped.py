# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a decoder with a cache (grouped.attn) on the CPU and, by the interpreter of PTX, on the GPU: a prompt, then tokens by one and by several.

    grouped.py LIBCUDA BOUND LIBRARY SYMBOL

Prints the largest relative L2 error of a call. Exit code 1 where it is past the bound, or where two interleavings give other bits.
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../numeric"))
from compiled_model import Model

CUDA = 2  # ATTN_DEVICE_CUDA
VOCABULARY = 61
CALLS = [("prefill", 70), ("decode", 1), ("decode", 1), ("verify", 16), ("prefill", 41), ("verify", 16), ("decode", 1)]


def outputs(library, symbol, seed=None):
    """The logits of all calls."""
    model = Model(library, symbol, "random:1")
    if seed:
        os.environ["ATTN_PTX_SEED"] = seed
        model.call("attn_context_set_device", model.context, CUDA, 0)
    rng = np.random.default_rng(3)
    return [model.run(entry, [rng.integers(0, VOCABULARY, (2, count), dtype=np.int32)])[0] for entry, count in CALLS]


def main():
    driver, bound, library, symbol = sys.argv[1:]
    os.environ["ATTN_CUDA_PATH"] = driver
    expected = outputs(library, symbol)
    found = [outputs(library, symbol, seed) for seed in "12"]
    if any((a != b).any() for a, b in zip(*found)):
        sys.exit("two interleavings gave other bits")
    errors = [np.linalg.norm(a.astype(float) - b) / np.linalg.norm(b.astype(float)) for a, b in zip(found[0], expected)]
    print("relative L2 " + " ".join(f"{error:.1e}" for error in errors))
    sys.exit(not max(errors) < float(bound))


main()
