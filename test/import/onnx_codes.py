# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs whose weights are codes: MatMulNBits of 4 and 8 bits, DequantizeLinear. MODELS is as in onnx_graphs.py."""
import numpy as np

from onnx_graph import Graph

K, N, BLOCK = 80, 24, 32
BLOCKS = -(-K // BLOCK)


def codes_of(packed, bits, count):
    """The codes of rows of bytes, of which a byte has the first one in its low bits."""
    codes = packed if bits == 8 else np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)
    return codes[..., :count].astype(np.float64)


def product(x, codes, scales, zeros=None, groups=None, bias=None, K=0, N=0, bits=4, block_size=32, accuracy_level=0):
    """com.microsoft.MatMulNBits."""
    blocks = -(-K // block_size)
    zero = np.full((N, blocks), 2.0 ** (bits - 1)) if zeros is None else codes_of(zeros.reshape(N, -1), bits, blocks)
    w = (codes_of(codes, bits, block_size) - zero[..., None]) * scales.reshape(N, blocks, 1)
    y = x @ w.reshape(N, -1)[:, :K].T
    return y if bias is None else y + bias


def dequantised(x, scale, zero=0, axis=1, block_size=0):
    """DequantizeLinear."""
    shape = [-1 if n == axis % x.ndim else 1 for n in range(x.ndim)] if scale.size > 1 else []
    return (x.astype(float) - np.asarray(zero, float).reshape(shape)) * scale.reshape(shape)


OPERATORS = {"MatMulNBits": product, "DequantizeLinear": dequantised}


def matmul(bits=4, has_zeros=False, has_bias=False):
    g = Graph(21, "dynamo")
    byte = lambda *shape: g.rng.integers(0, 256, shape).astype(np.uint8)
    codes = g.weight("fc.weight_quant", byte(N, BLOCKS, BLOCK * bits // 8))
    scales = g.weight("fc.scales", np.abs(g.random(N * BLOCKS)) / 8)
    zeros = g.weight("fc.zeros", byte(N * -(-BLOCKS * bits // 8))) if has_zeros else ""
    more = [zeros, "", g.weight("fc.bias", g.random(N))] if has_bias else [zeros] if has_zeros else []
    y = g.op("MatMulNBits", "x", codes, scales, *more, domain="com.microsoft", K=K, N=N, bits=bits, block_size=BLOCK)
    g.result(g.op("Relu", y), "states")
    return g.model([("x", "f32", ["batch", "sequence", K])], [("states", "f32", ["batch", "sequence", N])])


def linear():
    """A matrix of one scale, and one of a scale and a zero for each column."""
    g = Graph(17, "dynamo")
    first = g.op("DequantizeLinear", g.weight("a_codes", g.rng.integers(-128, 128, (K, N)).astype(np.int8)), g.weight("a_scale", np.float32(0.01)))
    second = g.op("DequantizeLinear", g.weight("b_codes", g.rng.integers(0, 256, (N, K)).astype(np.uint8)),
                  g.weight("b_scale", np.abs(g.random(K)) / 50), g.weight("b_zero", g.rng.integers(0, 256, K).astype(np.uint8)), axis=1)
    y = g.op("MatMul", "x", first)
    g.result(g.op("MatMul", g.op("Relu", y), second), "states")
    return g.model([("x", "f32", ["batch", "sequence", K])], [("states", "f32", ["batch", "sequence", K])])


MODELS = {
    "codes-4": (matmul, 20, ["linear fc"]),
    "codes-4-zeros": (lambda: matmul(has_zeros=True, has_bias=True), 20, ["bias"]),
    "codes-8": (lambda: matmul(8, has_zeros=True), 20, ["linear fc"]),
    "codes-linear": (linear, 25, ["linear"]),
}
