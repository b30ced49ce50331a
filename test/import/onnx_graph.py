# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph of ONNX under construction, whose nodes and weights have the names that an exporter gives them."""
import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "i64": TensorProto.INT64, "bool": TensorProto.BOOL, "f16": TensorProto.FLOAT16}


class Graph:
    """A graph under construction. Nodes are called after the module that they are of, as in the older exporter."""

    def __init__(self, opset=17, style="torchscript", seed=0):
        self.opset, self.style, self.rng = opset, style, np.random.default_rng(seed)
        self.nodes, self.weights, self.scope, self.count = [], {}, [], 880

    def name(self, kind):
        self.count += 1
        return f"/{'/'.join(self.scope + [kind])}_output_{self.count}" if self.style == "torchscript" else f"{kind.lower()}_{self.count}"

    def op(self, kind, *inputs, outputs=1, domain="", **attributes):
        names = [self.name(kind) for _ in range(outputs)]
        label = "/" + "/".join(self.scope + [kind]) if self.style == "torchscript" else f"node_{kind}_{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=label, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def random(self, *shape):
        return (self.rng.standard_normal(shape) / math.sqrt(shape[-1] if len(shape) > 1 else 4)).astype(np.float32)

    def weight(self, name, value):
        self.weights.setdefault(name, np.ascontiguousarray(value, np.float32) if value.dtype.kind == "f" else value)
        return name

    def constant(self, value, dtype=np.float32):
        """A constant of a node, or an initializer of the newer exporter's."""
        value = np.array(value, dtype)
        if self.style == "dynamo":
            self.count += 1
            return self.weight(f"val_{self.count}", value)
        return self.op("Constant", value=numpy_helper.from_array(value))

    def ints(self, *values):
        return self.constant(values, np.int64)

    # ---- layers

    def linear(self, name, x, d, f, bias=True):
        matrix = self.random(f, d)
        self.scope.append(name.split(".")[-1])
        if self.style == "dynamo":
            turned = self.op("Transpose", self.weight(name + ".weight", matrix), perm=[1, 0])
        else:
            self.count += 1
            turned = self.weight(f"onnx::MatMul_{self.count}", matrix.T)
        y = self.op("MatMul", x, turned)
        if bias:
            row = self.weight(name + ".bias", self.random(f))
            y = self.op("Add", row, y) if self.style == "torchscript" else self.op("Add", y, row)
        self.scope.pop()
        return y

    def layernorm(self, name, x, d, eps=1e-5):
        w, b = self.weight(name + ".weight", 1 + self.random(d)), self.weight(name + ".bias", self.random(d))
        if self.opset >= 17:
            return self.op("LayerNormalization", x, w, b, axis=-1, epsilon=eps)
        difference = self.op("Sub", x, self.mean(x))
        variance = self.mean(self.op("Pow", difference, self.constant(2.0)))
        root = self.op("Sqrt", self.op("Add", variance, self.constant(eps)))
        return self.op("Add", self.op("Mul", self.op("Div", difference, root), w), b)

    def mean(self, x, axis=-1, keep=1):
        if self.opset >= 18:
            return self.op("ReduceMean", x, self.ints(axis), keepdims=keep)
        return self.op("ReduceMean", x, axes=[axis], keepdims=keep)

    def gelu(self, x):
        if self.opset >= 20:
            return self.op("Gelu", x)
        erf = self.op("Erf", self.op("Div", x, self.constant(math.sqrt(2))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.constant(1.0))), self.constant(0.5))

    def gelu_tanh(self, x):
        cube = self.op("Mul", self.constant(0.044715), self.op("Pow", x, self.constant(3.0)))
        inner = self.op("Mul", self.op("Add", x, cube), self.constant(math.sqrt(2 / math.pi)))
        return self.op("Mul", self.op("Mul", self.constant(0.5), x), self.op("Add", self.constant(1.0), self.op("Tanh", inner)))

    def axis(self, x, n):
        """The size of an axis, as the older exporter computes it."""
        return self.op("Gather", self.op("Shape", x), self.constant(n, np.int64), axis=0)

    def unsqueeze(self, x, *axes):
        return self.op("Unsqueeze", x, self.ints(*axes)) if self.opset >= 13 else self.op("Unsqueeze", x, axes=list(axes))

    def shape(self, *sizes):
        """A shape of numbers and computed sizes."""
        if all(isinstance(size, int) for size in sizes):
            return self.ints(*sizes)
        parts = [self.ints(size) if isinstance(size, int) else self.unsqueeze(size, 0) for size in sizes]
        return self.op("Concat", *parts, axis=0)

    def heads(self, x, count, features, order=(0, 2, 1, 3)):
        """[B, T, H * E] -> [B, H, T, E]."""
        sizes = [0, 0] if self.style == "hand" else [self.axis(x, 0), self.axis(x, 1)]
        return self.op("Transpose", self.op("Reshape", x, self.shape(*sizes, count, features)), perm=list(order))

    def joined(self, x, width):
        turned = self.op("Transpose", x, perm=[0, 2, 1, 3])
        sizes = [0, 0] if self.style == "hand" else [self.axis(turned, 0), self.axis(turned, 1)]
        return self.op("Reshape", turned, self.shape(*sizes, width))

    def attention(self, q, k, v, features, mask=None, sdpa=False):
        """Of queries, keys and values with heads; keys are [B, H, E, T]. As `scaled_dot_product_attention`, the scale is on both."""
        if sdpa:
            half = self.constant(features ** -0.25)
            scores = self.op("MatMul", self.op("Mul", q, half), self.op("Mul", k, half))
        else:
            scores = self.op("Div", self.op("MatMul", q, k), self.constant(math.sqrt(features)))
        if mask:
            scores = self.op("Add", scores, mask)
        weights = self.op("Softmax", scores, axis=-1)
        if sdpa:
            weights = self.op("Where", self.op("IsNaN", weights), self.constant(0.0), weights)
        return self.op("MatMul", weights, v)

    def model(self, inputs, outputs):
        infos = [helper.make_tensor_value_info(n, TYPES[kind], shape) for n, kind, shape in inputs]
        results = [helper.make_tensor_value_info(n, TYPES[kind], shape) for n, kind, shape in outputs]
        tensors = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, "main_graph", infos, results, tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)], ir_version=8)

    def result(self, x, name):
        self.nodes.append(helper.make_node("Identity", [x], [name], name="/" + name))
