#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A prompt and then tokens one by one on the GPU of ATTN_CUDA_PATH, the interpreting driver: logits against NumPy in double precision, and
how often the driver was asked for what: one graph, which each token updates where kernels know the position."""
import argparse
import ctypes
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../numeric"))
import caches
from compiled_model import Model, ModelError
from vit_twin import write_safetensors


class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("launches", "earlyLaunches", "graphLaunches", "instantiations", "kernelUpdates", "copyUpdates", "encodings")]
    _fields_ += [(name, ctypes.c_size_t) for name in ("allocations", "allocatedBytes", "mostBytes", "bytesToDevice", "pendingActions")]


class Driver:
    def __init__(self, folder):
        self.library = ctypes.CDLL(os.path.join(folder, "libcuda.so.1"))
        self.library.interpretedUpdates.restype = ctypes.c_char_p

    def counts(self):
        counts = Counts()
        self.library.interpretedCounts(ctypes.byref(counts))
        return counts

    def updates(self):
        return self.library.interpretedUpdates().decode().split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--target", required=True)
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--bound", type=float, required=True)
    parser.add_argument("--overlap", action="store_true", help="kernels start while those before them end")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    os.makedirs(options.folder, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    weights = caches.random_weights(rng)
    write_safetensors(f"{options.folder}/decoder.safetensors", weights)
    spec = os.path.join(os.path.dirname(os.path.abspath(caches.__file__)), "decoder.attn")
    library = os.path.abspath(f"{options.folder}/decoder.{options.target}.{options.precision}.so")
    subprocess.run(["attn", "compile", spec, "--emit=shared", "-O0", f"--target=x86-64-v3,{options.target}", f"--precision={options.precision}",
                    "-o", library] + ["--gpu-overlap"] * options.overlap, check=True)
    driver = Driver(os.environ["ATTN_CUDA_PATH"])
    begin = driver.counts()
    model = Model(library, "attn_model_decoder", f"{options.folder}/decoder.safetensors", 1, gpu=0)

    ids = rng.integers(0, caches.V, (2, 23), dtype=np.int32)
    expected = caches.logits(ids, weights)
    (prompt,) = model.run("prefill", [ids[:, :15]])
    parts, updates, before = [prompt], [], driver.counts()
    for at in range(15, ids.shape[1]):
        driver.updates()
        (part,) = model.run("decode", [ids[:, at:at + 1]])
        parts.append(part[:, None])
        updates.append(driver.updates())
    error = caches.worst(np.concatenate(parts, 1), expected)
    after = driver.counts()
    did = {name: getattr(after, name) - getattr(before, name) for name, _ in Counts._fields_}
    print(f"relative L2 {error:.1e}; {did}; updated: {' '.join(updates[-1])}")
    assert error <= options.bound
    steps = len(updates)
    assert did["graphLaunches"] == steps - 1 and did["instantiations"] == 1
    assert updates[0] == updates[1] == [] and len(updates[2]) > 0
    assert all(own == updates[2] for own in updates[2:])
    # Per layer: rows into the cache, rotated and as they are, queries that are rotated, attention and the sum of its parts. Besides, the
    # lookup of positions.
    assert len(updates[2]) < did["launches"] / 2, "most kernels know no position"
    assert not [name for name in updates[2] if "fc" in name or "norm" in name or "o_proj" in name], updates[2]
    # Where kernels overlap, all launches say so, and all edges of the graph but those of copies.
    early = after.earlyLaunches - begin.earlyLaunches
    assert early > did["launches"] if options.overlap else early == 0, early
    assert did["encodings"] == 0 or options.target == "sm_90a"

    # A cache that is filled here and there: what it holds goes with it, or it is refused where the CPU keeps it in another form.
    model.truncate(0)
    parts = []
    for at in range(ids.shape[1]):
        if at % 5 == 0 and options.precision == "f32":
            model.move(None if at % 2 else 0)
        elif at % 5 == 0 and at:
            model.move(0)
            try:
                model.move()
                raise AssertionError("a cache was moved to the CPU")
            except ModelError as error:
                assert f"cache `kv` holds {at} positions, which a GPU keeps in another form" in str(error), error
        parts.append(model.run("decode", [ids[:, at:at + 1]])[0][:, None])
    error = caches.worst(np.concatenate(parts, 1), expected)
    print(f"relative L2 {error:.1e} from device to device")
    assert error <= options.bound


main()
