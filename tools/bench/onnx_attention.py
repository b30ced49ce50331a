# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One attention as ONNX, in the variants among which ONNX Runtime's fastest is looked for."""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VARIANTS = ("mha", "standard", "plain")


def nodes_of(variant, causal, shape):
    """Nodes from query, key and value to logits, initialisers, and the inputs' sizes."""
    batch, heads, length, features = shape
    qkv = ["query", "key", "value"]
    if variant == "mha":  # of [batch, length, heads * features]
        node = helper.make_node("MultiHeadAttention", qkv, ["logits"], domain="com.microsoft", num_heads=heads,
                                unidirectional=int(causal))
        return [node], [], [batch, length, heads * features]
    if variant == "standard":
        return [helper.make_node("Attention", qkv, ["logits"], is_causal=int(causal))], [], list(shape)
    scale = numpy_helper.from_array(np.float32(1 / math.sqrt(features)), "scale")
    nodes = [
        helper.make_node("Transpose", ["key"], ["columns"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["query", "columns"], ["products"]),
        helper.make_node("Mul", ["products", "scale"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "value"], ["logits"]),
    ]
    return nodes, [scale], list(shape)


def write(path, variant, causal, shape):
    """Writes a model of `shape` = [batch, heads, length, features]."""
    nodes, initializers, sizes = nodes_of(variant, causal, shape)
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in ("query", "key", "value")]
    graph = helper.make_graph(nodes, variant, tensors,
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, sizes)], initializers)
    opsets = [helper.make_opsetid("", 23 if variant == "standard" else 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
