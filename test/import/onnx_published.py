# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs with what published files have beside the patterns of exporters: nodes in any order, weights that are nodes, initializers that are used
twice, branches. MODELS says which there are, as in onnx_graphs.py."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from onnx_graph import Graph

D = 8


def states(g, x="states", shape=("batch", "sequence", D)):
    return g.model([("x", "f32", ["batch", "sequence", D])], [(x, "f32", list(shape))])


def constant(g, value):
    return g.op("Constant", value=numpy_helper.from_array(value.astype(np.float32)))


def constants():
    """All weights are nodes: of two maps, a Gemm of rows and a norm."""
    g = Graph(17)
    n = g.op("LayerNormalization", "x", constant(g, 1 + g.random(D)), constant(g, g.random(D)), epsilon=1e-5)
    y = g.op("Add", g.op("MatMul", n, constant(g, g.random(D, D))), constant(g, g.random(D)))
    g.result(g.op("Gemm", y, constant(g, g.random(5, D)), constant(g, g.random(5)), transB=1), "states")
    return g.model([("x", "f32", ["batch", D])], [("states", "f32", ["batch", 5])])


def shared():
    """Equal tensors are kept once: the ones and zeros of new norms, and a bias of zeros."""
    g = Graph(17, "dynamo")
    ones, zeros = g.weight("ones", np.ones(D) + g.random(D)), g.weight("zeros", g.random(D))
    x = "x"
    for n in range(3):
        a = g.op("LayerNormalization", x, ones, zeros, epsilon=1e-5)
        y = g.op("Add", g.op("MatMul", a, g.weight(f"layers.{n}.fc.weight", g.random(D, D))), zeros)
        x = g.op("Add", x, g.op("Relu", y))
    x = g.op("LayerNormalization", x, ones, g.weight("last.bias", g.random(D)), epsilon=1e-5)
    g.result(x, "states")
    return states(g)


def unsorted():
    model = shared()
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes[::2] + nodes[1::2])
    return model


def halves():
    """f16 numbers one by one, as onnx.helper writes them."""
    g = Graph(17, "dynamo")
    y = g.op("MatMul", "x", g.op("Cast", "w", to=TensorProto.FLOAT))
    g.result(y, "states")
    model = states(g)
    w = g.random(D, D).astype(np.float16)
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT16, w.shape, w.flatten().tolist()))
    return model


def squeezed():
    """PyTorch's `squeeze(1)`, which asks for the size."""
    g = Graph(17)
    y = g.op("MatMul", "x", g.weight("fc.weight", g.random(D, D)))
    condition = g.op("Equal", g.axis(y, 1), g.constant(1, np.int64))
    axes = numpy_helper.from_array(np.array([1], np.int64))
    then = helper.make_graph([helper.make_node("Constant", [], ["a"], value=axes), helper.make_node("Squeeze", [y, "a"], ["t"])], "then", [],
                             [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)])
    other = helper.make_graph([helper.make_node("Identity", [y], ["a"])], "else", [], [helper.make_tensor_value_info("a", TensorProto.FLOAT, None)])
    g.result(g.op("If", condition, then_branch=then, else_branch=other), "states")
    return g.model([("x", "f32", ["batch", 1, D])], [("states", "f32", ["batch", D])])


def counted():
    """The mean over what a mask of whole numbers keeps: its sum is one of whole numbers."""
    g = Graph(17)
    total = g.op("ReduceSum", "attention_mask", g.ints(1), keepdims=1)
    there = g.op("Cast", g.unsqueeze("attention_mask", 2), to=TensorProto.FLOAT)
    y = g.op("ReduceSum", g.op("Mul", "x", there), g.ints(1), keepdims=0)
    g.result(g.op("Div", y, g.op("Cast", total, to=TensorProto.FLOAT)), "states")
    return g.model([("x", "f32", ["batch", "sequence", D]), ("attention_mask", "i64", ["batch", "sequence"])], [("states", "f32", ["batch", D])])


MODELS = {
    "constants": (constants, 20, ["layernorm", "linear"]),
    "shared": (shared, 40, ["no weight no bias", "3 of Layer"]),
    "unsorted": (unsorted, 40, ["3 of Layer"]),
    "halves": (halves, 20, ["linear"]),
    "squeezed": (squeezed, 20, ["linear"]),
    "counted": (counted, 20, ["sum(T, float(attention_mask))"]),
}
