# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call from Python takes besides the call of the C API: at most 15 microseconds. Usage: overhead.py FOLDER"""
import sys
import time

import attn
import numpy as np
import torch
from tiny import compile_tiny

CALLS, ROUNDS, MOST = 500, 25, 15.0
model = attn.load(compile_tiny(sys.argv[1]), weights="random:1", threads=1)
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
most = 0.0
for what, body in CASES:
    taken = measure(body)
    most = max(most, taken - alone)
    print(f"{what}: {taken:.1f} us, {taken - alone:.1f} us more")
print(f"int64 for i32: {measure(lambda: look(ids)):.1f} us")
print(f"too slow: {most:.1f} us more" if most > MOST else "all within 15 us")
sys.exit(most > MOST)
