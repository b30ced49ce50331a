# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs PyTorch's attention on the CPU, as protocol.h says.

    run_torch.py VARIANT MASK THREADS INPUT BATCH,HEADS,LENGTH,FEATURES

INPUT holds query, key and value, one after the other. VARIANT: `products` (matmul, softmax, matmul) or `fused` (the
operator scaled_dot_product_attention); MASK: `none` or `causal`.
"""
import math
import sys

from serve_torch import prepare, serve

torch = prepare(sys.argv[3])

import numpy as np
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
    variant, mask, _, path, sizes = sys.argv[1:]
    shape = tuple(int(size) for size in sizes.split(","))
    q, k, v = torch.from_numpy(np.fromfile(path, np.float32).reshape(3, *shape))
    causal, length = mask == "causal", shape[2]
    bias = torch.full((length, length), -math.inf).triu(1) if causal and variant == "products" else None
    serve(lambda: products(q, k, v, bias) if variant == "products" else fused(q, k, v, causal))


if __name__ == "__main__":
    main()
