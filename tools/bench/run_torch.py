# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs PyTorch's attention on the CPU, as protocol.h says.

    run_torch.py VARIANT MASK THREADS INPUT BATCH,HEADS,LENGTH,FEATURES

INPUT holds query, key and value, one after the other. VARIANT: `products` (matmul, softmax, matmul) or `fused` (the
operator scaled_dot_product_attention); MASK: `none` or `causal`.
"""
import math
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = sys.argv[3]  # read when it is loaded; torch.set_num_threads does not reach it

import numpy as np
import torch
import torch.nn.functional as F


def fused(q, k, v, causal):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return F._scaled_dot_product_attention(q, k, v, is_causal=causal)[0]  # so called in 1.13


def products(q, k, v, bias):
    scores = torch.matmul(q * (1 / math.sqrt(q.shape[-1])), k.transpose(-1, -2))
    if bias is not None:
        scores += bias
    return torch.matmul(torch.softmax(scores, -1), v)


def main():
    variant, mask, threads, path, sizes = sys.argv[1:]
    shape = tuple(int(size) for size in sizes.split(","))
    torch.set_num_threads(int(threads))
    torch.set_grad_enabled(False)
    q, k, v = torch.from_numpy(np.fromfile(path, np.float32).reshape(3, *shape))
    causal, length = mask == "causal", shape[2]
    bias = torch.full((length, length), -math.inf).triu(1) if causal and variant == "products" else None
    result = None
    print(f"ready version={torch.__version__}", flush=True)
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "run":
            times = []
            for n in range(int(rest[0]) + int(rest[1])):
                begin = time.perf_counter()
                result = products(q, k, v, bias) if variant == "products" else fused(q, k, v, causal)
                times.append(1e3 * (time.perf_counter() - begin))
            print("ms", *(f"{t:.6f}" for t in times[int(rest[0]):]), flush=True)
        elif command == "output":
            result.contiguous().numpy().tofile(rest[0])
            print("ok", flush=True)
        else:
            break


if __name__ == "__main__":
    main()
