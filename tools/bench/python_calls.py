#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call from Python takes besides the call of the C API, of a model of 16 numbers."""
import os
import sys
import tempfile
import time

import numpy as np
import torch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "runtime", "python"), os.path.join(ROOT, "test", "python")]
os.environ["PATH"] = os.path.join(ROOT, "build", "bin") + os.pathsep + os.environ["PATH"]
import attn  # noqa: E402
from tiny import compile_tiny  # noqa: E402

CALLS, ROUNDS = 500, 25
folder = tempfile.TemporaryDirectory()
model = attn.load(compile_tiny(folder.name), weights="random:1", threads=1)
x, out, tensor, ids = np.ones((2, 4), np.float32), np.empty((2, 4), np.float32), torch.ones(2, 4), np.ones((2, 3), np.int64)
apply, look, state = model.apply, model.look, model._state


def measure(body):
    """Microseconds of this thread's time, in the best of several rounds: other work on the machine does not count."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.thread_time()
        for _ in range(CALLS):
            body()
        best = min(best, time.thread_time() - begin)
    return best / CALLS * 1e6


apply(x, out=out)
plan = next(iter(apply._plans.values()))
alone = measure(lambda: apply._run(state.pointer, 0, plan.given, plan.made, state.message_address))
print(f"attn_run through ctypes: {alone:.1f} us")
CASES = [("a NumPy array", lambda: apply(x)), ("into an array of the caller's", lambda: apply(x, out=out)),
         ("a tensor of PyTorch", lambda: apply(tensor)), ("as a method", lambda: model.apply(x))]
for what, body in CASES:
    taken = measure(body)
    print(f"{what}: {taken:.1f} us, {taken - alone:.1f} us more")
print(f"int64 for i32: {measure(lambda: look(ids)):.1f} us")
