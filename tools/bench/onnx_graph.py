# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing ONNX files: a graph under construction, its weights in a file beside it, the layers of transformers.

A variant says how attention is written (VARIANTS). The rest is written as exporters write it, GELU from Erf or Tanh and
bias, residual and norm apart: ONNX Runtime fuses those itself, and is slower (6% to 20% on ViT-Ti) where it is given its
own SkipLayerNormalization and BiasGelu.
"""
import math
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
ALIGNMENT = 4096  # of weights in the data file, so that they can be mapped

# What each variant is, for the report.
VARIANTS = {
    "plain": "MatMul and Softmax; q, k and v apart",
    "packed": "MatMul and Softmax; one MatMul for q, k and v",
    "standard": "the Attention operator of ONNX 23",
    "mha": "com.microsoft.MultiHeadAttention; q, k and v apart",
    "mha-packed": "com.microsoft.MultiHeadAttention; one MatMul for q, k and v",
    "attention": "com.microsoft.Attention, which holds the packed MatMul",
}
TYPES = {"f32": TensorProto.FLOAT, "i32": TensorProto.INT32, "i64": TensorProto.INT64}


class Store:
    """The data file in a folder: each array once, for all variants."""

    def __init__(self, folder, tensors):
        self.folder, self.tensors = folder, tensors
        self.places, self.size = {}, 0
        open(os.path.join(folder, "weights.bin"), "wb").close()

    def place(self, name, make):
        """Offset, shape of the array of this name, which `make` makes where it is not yet there."""
        if name not in self.places:
            values = np.ascontiguousarray(make(), np.float32)
            offset = self.size + -self.size % ALIGNMENT
            with open(os.path.join(self.folder, "weights.bin"), "r+b") as file:
                file.seek(offset)
                values.tofile(file)
            self.places[name] = (offset, values.shape)
            self.size = offset + values.nbytes
        return self.places[name]


class Graph:
    """Nodes and initialisers under construction. Values are named by strings."""

    def __init__(self, store, variant):
        self.store, self.variant = store, variant
        self.nodes, self.initializers, self.known = [], [], set()

    def op(self, kind, *inputs, outputs=1, name=None, domain="", **attributes):
        """Adds a node; its output's name, or a list of them where `outputs` is above 1."""
        names = [name] if name else [f"{kind}_{len(self.nodes)}_{n}" for n in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, name, make=None):
        """A tensor of the checkpoint, or an array made from such, in the data file."""
        offset, shape = self.store.place(name, make or (lambda: self.store.tensors[name]))
        if name not in self.known:
            self.known.add(name)
            tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape,
                                 data_location=TensorProto.EXTERNAL)
            length = 4 * math.prod(shape)
            for key, value in (("location", "weights.bin"), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
            self.initializers.append(tensor)
        return name

    def constant(self, value, dtype):
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def number(self, value):
        return self.constant(value, np.float32)

    def write(self, name, inputs, outputs):
        """Writes VARIANT.onnx beside the data file; its path. Inputs are (name, type, shape), outputs (name, shape)."""
        infos = [helper.make_tensor_value_info(n, TYPES[dtype], shape) for n, dtype, shape in inputs]
        results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in outputs]
        is_new = self.variant == "standard"
        model = helper.make_model(helper.make_graph(self.nodes, name, infos, results, self.initializers),
                                  opset_imports=[helper.make_opsetid("", 23 if is_new else 17),
                                                 helper.make_opsetid(MICROSOFT, 1)],
                                  producer_name="attn-bench", ir_version=10 if is_new else 8)
        path = os.path.join(self.store.folder, self.variant + ".onnx")
        onnx.save(model, path)
        return path

    # ---- layers

    def mean(self, x, axis):
        """Along one axis, which the result lacks; the axis is an attribute up to opset 17."""
        if self.variant == "standard":
            return self.op("ReduceMean", x, self.ints(axis), keepdims=0)
        return self.op("ReduceMean", x, axes=[axis], keepdims=0)

    def affine(self, x, weight, bias):
        """x W + b of weights in the graph."""
        return self.op("Add", self.op("MatMul", x, weight), bias)

    def linear(self, name, x):
        """x W^T + b of a linear as torch.nn.Linear keeps it."""
        tensors = self.store.tensors
        return self.affine(x, self.weight(name + ".weight.T", lambda: tensors[name + ".weight"].T),
                           self.weight(name + ".bias"))

    def layernorm(self, name, x, eps):
        return self.op("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"), axis=-1,
                       epsilon=eps)

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.number(math.sqrt(2))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.number(1))), self.number(0.5))

    def gelu_tanh(self, x):
        cube = self.op("Mul", self.op("Pow", x, self.number(3)), self.number(0.044715))
        inner = self.op("Mul", self.op("Add", x, cube), self.number(math.sqrt(2 / math.pi)))
        one = self.op("Add", self.op("Tanh", inner), self.number(1))
        return self.op("Mul", self.op("Mul", x, self.number(0.5)), one)

    def projections(self, x, memory, name, matrix, bias):
        """Queries of x, and keys and values of what is read, x itself or a memory; with or without the bias."""
        width = self.store.place(name + ".qkv", matrix)[1][0]
        if self.variant in ("plain", "standard", "mha"):
            weights = [self.weight(f"{name}.{part}", lambda n=n: np.split(matrix(), 3, 1)[n]) for n, part in enumerate("qkv")]
            made = [self.op("MatMul", rows, weight) for rows, weight in zip((x, memory or x, memory or x), weights)]
            if self.variant == "mha":  # which has an input for the bias
                return made
            return [self.op("Add", rows, self.weight(f"{name}.{part}.bias", lambda n=n: np.split(bias(), 3)[n]))
                    for n, (part, rows) in enumerate(zip("qkv", made))]
        if not memory:
            both = self.affine(x, self.weight(name + ".qkv", matrix), self.weight(name + ".qkv.bias", bias))
            return self.op("Split", both, self.ints(width, width, width), outputs=3, axis=2)
        query = self.affine(x, self.weight(name + ".q", lambda: matrix()[:, :width]), self.weight(name + ".q.bias", lambda: bias()[:width]))
        both = self.affine(memory, self.weight(name + ".kv", lambda: matrix()[:, width:]),
                           self.weight(name + ".kv.bias", lambda: bias()[width:]))
        return [query, *self.op("Split", both, self.ints(width, width), outputs=2, axis=2)]

    def projections_of(self, query, key, value, name, matrix, bias):
        """The same, where what is asked for and what is given are of different tensors; where both are `key`, one MatMul is
        for both in variants that pack."""
        width = self.store.place(name + ".qkv", matrix)[1][0]
        if self.variant not in ("plain", "standard", "mha") and query == key:
            both = self.affine(query, self.weight(name + ".qk", lambda: matrix()[:, :2 * width]),
                               self.weight(name + ".qk.bias", lambda: bias()[:2 * width]))
            value = self.affine(value, self.weight(name + ".v", lambda: matrix()[:, 2 * width:]),
                                self.weight(name + ".v.bias", lambda: bias()[2 * width:]))
            return [*self.op("Split", both, self.ints(width, width), outputs=2, axis=2), value]
        weights = [self.weight(f"{name}.{part}", lambda n=n: np.split(matrix(), 3, 1)[n]) for n, part in enumerate("qkv")]
        made = [self.op("MatMul", rows, weight) for rows, weight in zip((query, key, value), weights)]
        if self.variant == "mha":
            return made
        return [self.op("Add", rows, self.weight(f"{name}.{part}.bias", lambda n=n: np.split(bias(), 3)[n]))
                for n, (part, rows) in enumerate(zip("qkv", made))]

    def attention(self, x, name, heads, matrix, bias, causal_length=0, memory=None, added=""):
        """Attention but its output projection, [B, N, D] -> [B, N, D]. `matrix` makes the projections [D, 3 D] to
        queries, keys and values, `bias` their [3 D]. A `causal_length` is the number of positions, which see no later
        ones; `memory` is what keys and values are of, else x; `added` comes to the scores, [B or 1, heads, N, N]."""
        variant, causal = self.variant, int(causal_length > 0)
        if variant == "attention" and not memory:
            weight, row = self.weight(name + ".qkv", matrix), self.weight(name + ".qkv.bias", bias)
            return self.op("Attention", x, weight, row, *["", "", added] * bool(added), domain=MICROSOFT, num_heads=heads,
                           unidirectional=causal)
        return self.attention_of(self.projections(x, memory, name, matrix, bias), name, heads, bias, causal_length, added)

    def attention_of(self, parts, name, heads, bias, causal_length=0, added=""):
        """Attention of queries, keys and values, each [B, N, D]."""
        variant, causal = self.variant, int(causal_length > 0)
        width = self.store.places[name + ".qkv"][1][0]
        if variant in ("mha", "mha-packed", "attention"):
            row = self.weight(name + ".qkv.bias", bias) if variant == "mha" else ""
            more = [row, "", added] if added else [row] if row else []
            return self.op("MultiHeadAttention", *parts, *more, domain=MICROSOFT, num_heads=heads, unidirectional=causal)
        if variant == "standard":
            return self.op("Attention", *parts, *[added] * bool(added), q_num_heads=heads, kv_num_heads=heads, is_causal=causal)

        features = width // heads

        def split(value, order):  # [1, N, D] -> [1, H, N, E], or [1, H, E, N]
            return self.op("Transpose", self.op("Reshape", value, self.ints(0, 0, heads, features)), perm=order)

        q, k, v = parts
        scores = self.op("MatMul", split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1]))
        scores = self.op("Div", scores, self.number(math.sqrt(features)))
        if causal:
            later = np.triu(np.full((causal_length, causal_length), np.float32(-1e9)), 1)
            scores = self.op("Add", scores, self.weight("later", lambda: later))
        if added:
            scores = self.op("Add", scores, added)
        context = self.op("MatMul", self.op("Softmax", scores, axis=-1), split(v, [0, 2, 1, 3]))
        return self.op("Reshape", self.op("Transpose", context, perm=[0, 2, 1, 3]), self.ints(0, 0, width))
