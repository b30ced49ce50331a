# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A vision transformer as ONNX, in the variants among which ONNX Runtime's fastest is looked for.

A variant says how attention is written (VARIANTS). The rest is written as exporters write it, GELU from Erf and bias,
residual and norm apart: ONNX Runtime fuses those itself, and is slower (6% to 20% on ViT-Ti) where it is given its
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

    def __init__(self, store):
        self.store = store
        self.nodes, self.initializers, self.known = [], [], set()

    def op(self, kind, *inputs, outputs=1, domain="", **attributes):
        """Adds a node; its output's name, or a list of them where `outputs` is above 1."""
        names = [f"{kind}_{len(self.nodes)}_{n}" for n in range(outputs)]
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

    # ---- layers

    def linear(self, name, x, rows=slice(None), part="", bias=True):
        """x W^T + b; `rows` of W and b, whose array is then called `name.part`."""
        tensors = self.store.tensors
        weight = self.weight(f"{name}{part}.weight.T", lambda: tensors[name + ".weight"][rows].T)
        y = self.op("MatMul", x, weight)
        return self.op("Add", y, self.weight(f"{name}{part}.bias.rows", lambda: tensors[name + ".bias"][rows])) \
            if bias else y

    def layernorm(self, name, x):
        return self.op("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"), axis=-1,
                       epsilon=1e-6)

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.number(math.sqrt(2))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.number(1))), self.number(0.5))


def write_attention(graph, vit, variant, name, x):
    """Everything of attention but the output projection: [1, N, D] -> [1, N, D]."""
    D, H, E = vit.D, vit.H, vit.head_dim
    qkv = name + ".qkv"
    parts = {part: slice(n * D, (n + 1) * D) for n, part in enumerate(("q", "k", "v"))}
    if variant == "attention":
        weight = graph.weight(qkv + ".weight.T", lambda: graph.store.tensors[qkv + ".weight"].T)
        return graph.op("Attention", x, weight, graph.weight(qkv + ".bias"), domain=MICROSOFT, num_heads=H)
    if variant == "mha":
        operands = [graph.linear(qkv, x, rows, "." + part, bias=False) for part, rows in parts.items()]
        return graph.op("MultiHeadAttention", *operands, graph.weight(qkv + ".bias"), domain=MICROSOFT, num_heads=H)
    if variant in ("packed", "mha-packed"):
        q, k, v = graph.op("Split", graph.linear(qkv, x), graph.ints(D, D, D), outputs=3, axis=2)
    else:
        q, k, v = (graph.linear(qkv, x, rows, "." + part) for part, rows in parts.items())
    if variant == "mha-packed":
        return graph.op("MultiHeadAttention", q, k, v, domain=MICROSOFT, num_heads=H)
    if variant == "standard":
        return graph.op("Attention", q, k, v, q_num_heads=H, kv_num_heads=H)

    def heads(value, order):  # [1, N, D] -> [1, H, N, E], or [1, H, E, N]
        return graph.op("Transpose", graph.op("Reshape", value, graph.ints(0, 0, H, E)), perm=order)

    scores = graph.op("MatMul", heads(q, [0, 2, 1, 3]), heads(k, [0, 2, 3, 1]))
    weights = graph.op("Softmax", graph.op("Div", scores, graph.number(math.sqrt(E))), axis=-1)
    context = graph.op("MatMul", weights, heads(v, [0, 2, 1, 3]))
    return graph.op("Reshape", graph.op("Transpose", context, perm=[0, 2, 1, 3]), graph.ints(0, 0, D))


def write_patches(graph, vit):
    """The picture as tokens with their positions: [1, N, D]."""
    tensors, tokens = graph.store.tensors, vit.Y * vit.X
    y = graph.op("Conv", "image", graph.weight("patch_embed.proj.weight"), graph.weight("patch_embed.proj.bias"),
                 kernel_shape=[vit.P, vit.Q], strides=[vit.P, vit.Q])
    y = graph.op("Transpose", graph.op("Reshape", y, graph.ints(0, vit.D, tokens)), perm=[0, 2, 1])
    first = graph.weight("cls_token.row", lambda: tensors["cls_token"].reshape(1, 1, vit.D))
    positions = graph.weight("pos_embed.rows", lambda: tensors["pos_embed"].reshape(1, vit.tokens, vit.D))
    return graph.op("Add", graph.op("Concat", first, y, axis=1), positions)


def write_blocks(graph, vit, variant, x):
    for n in range(vit.L):
        block = f"blocks.{n}."
        context = write_attention(graph, vit, variant, block + "attn", graph.layernorm(block + "norm1", x))
        x = graph.op("Add", x, graph.linear(block + "attn.proj", context))
        hidden = graph.gelu(graph.linear(block + "mlp.fc1", graph.layernorm(block + "norm2", x)))
        x = graph.op("Add", x, graph.linear(block + "mlp.fc2", hidden))
    return x


def write_onnx(store, vit, variant):
    """Writes VARIANT.onnx beside the data file; its path."""
    graph = Graph(store)
    tokens = write_blocks(graph, vit, variant, write_patches(graph, vit))
    row = graph.op("Gather", graph.layernorm("norm", tokens), graph.constant(0, np.int64), axis=1)
    graph.nodes.append(helper.make_node("Gemm", [row, graph.weight("head.weight"), graph.weight("head.bias")],
                                        ["logits"], transB=1))
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, vit.name,
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, vit.input_shape)],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, vit.output_shape)],
            graph.initializers),
        opset_imports=[helper.make_opsetid("", 23 if variant == "standard" else 17),
                       helper.make_opsetid(MICROSOFT, 1)],
        producer_name="attn-bench")
    model.ir_version = 10 if variant == "standard" else 8
    path = os.path.join(store.folder, variant + ".onnx")
    onnx.save(model, path)
    return path
