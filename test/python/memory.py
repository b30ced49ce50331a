# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""15,000 calls leave no memory behind, nor do models, contexts, texts and errors. Usage: memory.py FOLDER"""
import gc
import sys
import tracemalloc

import attn
import numpy as np
import torch
from tiny import compile_tiny

path = compile_tiny(sys.argv[1])
model = attn.load(path, weights="random:1", threads=1)
x, tensor, out = np.zeros((2, 4), np.float32), torch.zeros(2, 4), np.empty((2, 4), np.float32)
ids = np.zeros((2, 3), np.int64)
sizes = [np.zeros((rows, 4), np.float32) for rows in range(1, 9)]


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def fail():
    try:
        model.apply(ids)
    except attn.Error:
        pass


def reload():
    with attn.load(path, weights="random:1", threads=1) as other:
        other.apply(x)
        other.context(1).apply(x)


def calls():
    model.apply(x)
    model.apply(tensor, out=out)
    model.look(ids)
    model.step(x)
    for value in sizes[:2]:
        model.apply(value)


for name, body, times in (("calls", calls, 600), ("errors", fail, 500), ("models", reload, 100)):
    tracemalloc.start()
    sizes_before = []
    for _ in range(3):  # Python keeps some memory of objects that are gone, up to a bound
        for _ in range(times):
            body()
        gc.collect()
        sizes_before.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    before = resident()
    for _ in range(2 * times):  # at full speed
        body()
    gc.collect()
    grown, left = sizes_before[2] - sizes_before[1], resident() - before
    assert grown < 20000, f"{name}: {grown} bytes of Python objects are left"
    assert left < 1 << 20, f"{name}: {left} bytes are left"
    print(f"{name}: nothing is left")
