# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of small transformers as exporters write them, with random weights: by PyTorch's older exporter (`torchscript`, whose matrices lose
their names), by its newer one (`dynamo`, which turns matrices in the graph), and by hand. MODELS says which there are."""
import math
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_graph import Graph

F = TensorProto.FLOAT
# Width, heads, feed-forward, tokens, rows of positions; of inputs for fuzzers 4, 2, 4, 5, 8.
WIDTH, HEADS, HIDDEN, TOKENS, ROWS = (int(n) for n in os.environ.get("ONNX_SIZES", "48 4 80 60 32").split())


def block(g, path, x, d, h, f, mask=None, pre=False, packed=False, sdpa=False, tanh=False):
    """A layer of an encoder."""
    e = d // h
    scope = list(g.scope)
    g.scope = scope + ["attn"]
    n = g.layernorm(path + "norm1", x, d) if pre else x
    if packed:
        both = g.linear(path + "attn.qkv", n, d, 3 * d)
        if packed == "split":
            q, k, v = g.op("Split", both, g.ints(d, d, d), outputs=3, axis=2)
            q, k, v = g.heads(q, h, e), g.heads(k, h, e, (0, 2, 3, 1)), g.heads(v, h, e)
        else:
            five = g.op("Reshape", both, g.shape(g.axis(both, 0), g.axis(both, 1), 3, h, e))
            turned = g.op("Transpose", five, perm=[2, 0, 3, 1, 4])
            q, k, v = (g.op("Gather", turned, g.constant(n, np.int64), axis=0) for n in range(3))
            k = g.op("Transpose", k, perm=[0, 1, 3, 2])
    else:
        q, k, v = (g.linear(f"{path}attn.{part}", n, d, d) for part in ("query", "key", "value"))
        q, k, v = g.heads(q, h, e), g.heads(k, h, e, (0, 2, 3, 1)), g.heads(v, h, e)
    y = g.linear(path + "attn.proj", g.joined(g.attention(q, k, v, e, mask, sdpa), d), d, d)
    y = g.op("Add", x, y)
    g.scope = scope + ["mlp"]
    if not pre:
        y = g.layernorm(path + "norm1", y, d)
    n = g.layernorm(path + "norm2", y, d) if pre else y
    n = g.linear(path + "mlp.fc2", (g.gelu_tanh if tanh else g.gelu)(g.linear(path + "mlp.fc1", n, d, f)), f, d)
    g.scope = scope
    y = g.op("Add", n, y)
    return y if pre else g.layernorm(path + "norm2", y, d)


def layers(g, x, count, d, h, f, **how):
    for n in range(count):
        g.scope = ["encoder", f"layer.{n}"]
        x = block(g, f"encoder.layer.{n}.", x, d, h, f, **how)
    g.scope = []
    return x


def encoder(opset=17, style="torchscript"):
    """Layers alone, of sizes that are only named."""
    g = Graph(opset, style)
    g.result(layers(g, "x", 3, WIDTH, HEADS, HIDDEN), "y")
    return g.model([("x", "f32", ["batch", "sequence", WIDTH])], [("y", "f32", ["batch", "sequence", WIDTH])])





def padding(g, mask):
    """What exporters of BERT make of a mask: (1 - mask) * -3.4e38."""
    four = g.op("Cast", g.unsqueeze(mask, 1, 2), to=F)
    return g.op("Mul", g.op("Sub", g.constant(1.0), four), g.constant(np.finfo(np.float32).min))


def bert(opset=17, style="torchscript", rows=ROWS):
    """With positions as a slice of a buffer, and a pooler."""
    g, d = Graph(opset, style), WIDTH
    sequence = g.axis("input_ids", 1)
    buffer = g.weight("embeddings.position_ids", np.arange(rows)[None])
    ids = g.op("Slice", buffer, g.ints(0), g.unsqueeze(sequence, 0), g.ints(1), g.ints(1))
    g.scope = ["embeddings"]
    words = g.op("Gather", g.weight("embeddings.word_embeddings.weight", g.random(TOKENS, d)), "input_ids")
    kinds = g.op("Gather", g.weight("embeddings.token_type_embeddings.weight", g.random(2, d)), "token_type_ids")
    places = g.op("Gather", g.weight("embeddings.position_embeddings.weight", g.random(rows, d)), ids)
    x = g.layernorm("embeddings.LayerNorm", g.op("Add", g.op("Add", words, kinds), places), d, 1e-12)
    x = layers(g, x, 3, d, HEADS, HIDDEN, mask=padding(g, "attention_mask"))
    g.scope = ["pooler"]
    first = g.op("Gather", x, g.constant(0, np.int64), axis=1)
    pooled = g.op("Tanh", g.op("Gemm", first, g.weight("pooler.dense.weight", g.random(d, d)), g.weight("pooler.dense.bias", g.random(d)), transB=1))
    g.result(x, "last_hidden_state")
    g.result(pooled, "pooled")
    names = ["batch", "sequence"]
    return g.model([(n, "i64", names) for n in ("input_ids", "attention_mask", "token_type_ids")],
                   [("last_hidden_state", "f32", [*names, d]), ("pooled", "f32", ["batch", d])])


def vit(opset=17, style="torchscript", packed="five", batch="batch", pool=False):
    """A picture in patches, with a token of the class in front."""
    g, d = Graph(opset, style), WIDTH
    g.scope = ["patch_embed", "proj"]
    y = g.op("Conv", "pixel_values", g.weight("patch_embed.proj.weight", g.random(d, 3, 4, 4) / 7), g.weight("patch_embed.proj.bias", g.random(d)),
             kernel_shape=[4, 4], strides=[4, 4], pads=[0, 0, 0, 0], dilations=[1, 1], group=1)
    g.scope = []
    if style == "torchscript":
        y = g.op("Reshape", y, g.shape(g.axis(y, 0), d, -1))
    else:
        y = g.op("Reshape", y, g.ints(0, d, 20))
    y = g.op("Transpose", y, perm=[0, 2, 1])
    token = g.op("Expand", g.weight("cls_token", g.random(1, 1, d)), g.shape(g.axis("pixel_values", 0), 1, d))
    y = g.op("Add", g.op("Concat", token, y, axis=1), g.weight("pos_embed", g.random(1, 21, d)))
    for n in range(2):
        g.scope = ["blocks", f"blocks.{n}"]
        y = block(g, f"blocks.{n}.", y, d, HEADS, HIDDEN, pre=True, packed=packed, sdpa=style == "dynamo", tanh=style == "dynamo")
    g.scope = []
    y = g.layernorm("norm", y, d, 1e-6)
    if pool:
        y = g.mean(y, 1, 0)
    else:
        y = g.op("Squeeze", g.op("Slice", y, g.ints(0), g.ints(1), g.ints(1)), g.ints(1)) if style == "dynamo" else \
            g.op("Gather", y, g.constant(0, np.int64), axis=1)
    g.nodes.append(helper.make_node("Gemm", [y, g.weight("head.weight", g.random(10, d)), g.weight("head.bias", g.random(10))], ["logits"], transB=1))
    return g.model([("pixel_values", "f32", [batch, 3, 16, 20])], [("logits", "f32", [batch, 10])])


def gpt2(opset=17, style="torchscript", length="sequence"):
    """Packed queries, keys and values by Gemm on two axes, and a causal mask that is cut out of a buffer."""
    g, d, h, rows = Graph(opset, style), WIDTH, HEADS, ROWS
    e = d // h
    sequence = g.axis("input_ids", 1)
    places = g.op("Range", g.constant(0, np.int64), sequence, g.constant(1, np.int64))
    table = g.weight("wte.weight", g.random(TOKENS, d))
    x = g.op("Add", g.op("Gather", table, "input_ids"), g.op("Gather", g.weight("wpe.weight", g.random(rows, d)), g.unsqueeze(places, 0)))
    causal = g.weight("causal", np.tril(np.ones((1, 1, rows, rows), bool)))

    def conv1d(name, x, d, f):
        two = g.op("Reshape", x, g.ints(-1, d))
        y = g.op("Gemm", two, g.weight(name + ".weight", g.random(f, d).T), g.weight(name + ".bias", g.random(f)))
        return g.op("Reshape", y, g.shape(g.axis(x, 0), g.axis(x, 1), f))

    for n in range(2):
        path, g.scope = f"h.{n}.", [f"h.{n}"]
        q, k, v = g.op("Split", conv1d(path + "attn.c_attn", g.layernorm(path + "ln_1", x, d), d, 3 * d), g.ints(d, d, d), outputs=3, axis=2)
        q, k, v = g.heads(q, h, e), g.heads(k, h, e, (0, 2, 3, 1)), g.heads(v, h, e)
        scores = g.op("Div", g.op("MatMul", q, k), g.constant(math.sqrt(e)))
        end = g.unsqueeze(sequence, 0)
        seen = g.op("Slice", g.op("Slice", causal, g.ints(0), end, g.ints(2), g.ints(1)), g.ints(0), end, g.ints(3), g.ints(1))
        scores = g.op("Where", seen, scores, g.constant(np.finfo(np.float32).min))
        y = g.joined(g.op("MatMul", g.op("Softmax", scores, axis=-1), v), d)
        x = g.op("Add", conv1d(path + "attn.c_proj", y, d, d), x)
        y = g.gelu_tanh(conv1d(path + "mlp.c_fc", g.layernorm(path + "ln_2", x, d), d, HIDDEN))
        x = g.op("Add", x, conv1d(path + "mlp.c_proj", y, HIDDEN, d))
    g.scope = []
    x = g.layernorm("ln_f", x, d)
    g.nodes.append(helper.make_node("MatMul", [x, g.op("Transpose", table, perm=[1, 0])], ["logits"]))
    return g.model([("input_ids", "i64", ["batch", length])], [("logits", "f32", ["batch", length, TOKENS])])


def standard(opset=23):
    """`Attention` with fewer heads of keys, `RMSNormalization` and a gated feed-forward."""
    g, d, f = Graph(opset, "dynamo"), WIDTH, HIDDEN
    x = g.op("Gather", g.weight("embed.weight", g.random(TOKENS, d)), "input_ids")
    for n in range(3):
        path = f"layers.{n}."
        y = g.op("RMSNormalization", x, g.weight(path + "norm1.weight", 1 + g.random(d)), epsilon=1e-6)
        q, k, v = g.linear(path + "q", y, d, d, False), g.linear(path + "k", y, d, d // 2, False), g.linear(path + "v", y, d, d // 2, False)
        y = g.op("Attention", q, k, v, q_num_heads=HEADS, kv_num_heads=HEADS // 2, is_causal=1)
        x = g.op("Add", x, g.linear(path + "o", y, d, d, False))
        y = g.op("RMSNormalization", x, g.weight(path + "norm2.weight", 1 + g.random(d)), epsilon=1e-6)
        gate = g.linear(path + "gate", y, d, f, False)
        gate = g.op("Mul", gate, g.op("Sigmoid", gate))
        x = g.op("Add", x, g.linear(path + "down", g.op("Mul", gate, g.linear(path + "up", y, d, f, False)), f, d, False))
    g.result(g.op("RMSNormalization", x, g.weight("norm.weight", 1 + g.random(d)), epsilon=1e-6), "states")
    return g.model([("input_ids", "i64", ["batch", "sequence"])], [("states", "f32", ["batch", "sequence", d])])


def sentence():
    """The mean of the tokens that are there, of length 1."""
    g, d = Graph(14), WIDTH
    x = g.op("Gather", g.weight("words.weight", g.random(TOKENS, d)), "input_ids")
    x = layers(g, x, 2, d, HEADS, HIDDEN, mask=padding(g, "attention_mask"))
    there = g.op("Cast", g.op("Expand", g.unsqueeze("attention_mask", 2), g.op("Shape", x)), to=F)
    summed = g.op("ReduceSum", g.op("Mul", x, there), g.ints(1), keepdims=0)
    count = g.op("Clip", g.op("ReduceSum", there, g.ints(1), keepdims=0), g.constant(1e-9))
    mean = g.op("Div", summed, count)
    length = g.op("ReduceL2", mean, axes=[1], keepdims=1)
    g.result(g.op("Div", mean, g.op("Expand", g.op("Clip", length, g.constant(1e-12)), g.op("Shape", mean))), "embedding")
    return g.model([(n, "i64", ["batch", "sequence"]) for n in ("input_ids", "attention_mask")], [("embedding", "f32", ["batch", d])])


# The graph, the most lines that its spec may have, and what has to stand there.
MODELS = {
    "encoder": (encoder, 30, ["3 of Layer", "onnx::MatMul_{n*"]),
    "encoder-dynamo": (lambda: encoder(18, "dynamo"), 30, ["stack encoder.layer: 3 of Layer", "gelu("]),
    "encoder-13": (lambda: encoder(13), 30, ["3 of Layer", "layernorm norm1: D eps 1e-5"]),
    "bert": (bert, 45, ["3 of Layer", "positions(T)"]),
    "bert-20": (lambda: bert(20, "dynamo"), 45, ["stack encoder.layer: 3 of Layer"]),
    "vit": (vit, 45, ["2 of Layer", " q k v)", "first("]),
    "vit-split": (lambda: vit(17, "dynamo", "split"), 45, ["stack blocks: 2 of Layer", "gelu_tanh("]),
    "vit-fixed": (lambda: vit(17, "hand", batch=1, pool=True), 45, ["mean("]),
    "gpt2": (gpt2, 45, ["mask causal", "tied(wte)"]),
    "gpt2-fixed": (lambda: gpt2(length=9), 45, ["mask causal"]),
    "standard": (standard, 45, ["mask causal", "silu("]),
    "sentence": (sentence, 45, ["2 of Layer"]),
}


def decoder(fused=False, style="dynamo"):
    """Rotary positions as transformers writes them, taken apart or as the operator, and keys that several heads share."""
    g, d, h, f, rows = Graph(23 if fused else 17, style), WIDTH, HEADS, HIDDEN, ROWS
    e, groups, length = d // h, h // 2, 9
    x = g.op("Gather", g.weight("embed_tokens.weight", g.random(TOKENS, d)), "input_ids")
    places = np.arange(length if not fused else rows)
    angles = places[:, None] * 10000.0 ** (-np.arange(0, e, 2) / e)
    if fused:
        cos, sin = g.weight("cos", np.cos(angles)), g.weight("sin", np.sin(angles))
        ids = g.op("Expand", g.op("Unsqueeze", g.op("Range", g.constant(0, np.int64), g.axis("input_ids", 1), g.constant(1, np.int64)), g.ints(0)), g.op("Shape", "input_ids"))
    else:
        both = np.concatenate([angles, angles], 1)[None, None]
        cos, sin = g.weight("cos", np.cos(both)), g.weight("sin", np.sin(both))

    def rotate(y):
        if fused:
            return g.op("RotaryEmbedding", y, cos, sin, ids)
        a = g.op("Slice", y, g.ints(0), g.ints(e // 2), g.ints(3), g.ints(1))
        b = g.op("Slice", y, g.ints(e // 2), g.ints(1 << 62), g.ints(3), g.ints(1))
        turned = g.op("Concat", g.op("Neg", b), a, axis=-1)
        return g.op("Add", g.op("Mul", y, cos), g.op("Mul", turned, sin))

    def repeat(y):
        five = g.op("Expand", g.op("Unsqueeze", y, g.ints(2)), g.shape(g.axis("input_ids", 0), groups, 2, length, e))
        return g.op("Reshape", five, g.shape(g.axis("input_ids", 0), h, length, e))

    def rmsnorm(name, y):
        w = g.weight(name + ".weight", 1 + g.random(d))
        if fused:
            return g.op("RMSNormalization", y, w, epsilon=1e-6)
        mean = g.mean(g.op("Pow", y, g.constant(2.0)))
        return g.op("Mul", w, g.op("Mul", y, g.op("Reciprocal", g.op("Sqrt", g.op("Add", mean, g.constant(1e-6))))))

    if not fused:
        later = np.triu(np.full((1, 1, length, length), np.finfo(np.float32).min, np.float32), 1)
        mask = g.weight("later", later)
    for n in range(2):
        path = f"layers.{n}."
        y = rmsnorm(path + "input_layernorm", x)
        q, k, v = (g.linear(f"{path}self_attn.{p}_proj", y, d, count * e, False) for p, count in (("q", h), ("k", groups), ("v", groups)))
        q, k, v = rotate(g.heads(q, h, e)), rotate(g.heads(k, groups, e)), g.heads(v, groups, e)
        if fused:
            y = g.op("Attention", q, k, v, is_causal=1)
        else:
            y = g.attention(q, g.op("Transpose", repeat(k), perm=[0, 1, 3, 2]), repeat(v), e, mask)
        x = g.op("Add", x, g.linear(path + "self_attn.o_proj", g.joined(y, d), d, d, False))
        y = rmsnorm(path + "post_attention_layernorm", x)
        gate = g.linear(path + "mlp.gate_proj", y, d, f, False)
        gate = g.op("Mul", gate, g.op("Sigmoid", gate))
        x = g.op("Add", x, g.linear(path + "mlp.down_proj", g.op("Mul", gate, g.linear(path + "mlp.up_proj", y, d, f, False)), f, d, False))
    g.result(g.linear("lm_head", rmsnorm("norm", x), d, TOKENS, False), "logits")
    size = "sequence" if fused else length
    return g.model([("input_ids", "i64", ["batch", size])], [("logits", "f32", ["batch", size, TOKENS])])


def relative():
    """A bias that each layer has of its own, of each head and pair of places, and a mask of truth values."""
    g, d, h, n = Graph(17), WIDTH, HEADS, 9
    x = "x"
    for layer in range(2):
        path, g.scope = f"layers.{layer}.", ["layers", f"{layer}", "attn"]
        e = d // h
        q, k, v = (g.linear(path + part, x, d, d) for part in ("query", "key", "value"))
        q, k, v = g.heads(q, h, e), g.heads(k, h, e, (0, 2, 3, 1)), g.heads(v, h, e)
        scores = g.op("Add", g.op("Mul", g.op("MatMul", q, k), g.constant(e ** -0.5)), g.weight(path + "bias", g.random(1, h, n, n)))
        there = g.op("Not", g.op("Equal", g.unsqueeze("attention_mask", 1, 2), g.constant(0, np.int64)))
        scores = g.op("Where", there, scores, g.constant(-np.inf))
        x = g.op("Add", x, g.linear(path + "proj", g.joined(g.op("MatMul", g.op("Softmax", scores, axis=3), v), d), d, d))
    g.scope = []
    g.result(x, "y")
    return g.model([("x", "f32", ["batch", n, d]), ("attention_mask", "i64", ["batch", n])], [("y", "f32", ["batch", n, d])])


def speech():
    """Whisper's encoder: two convolutions over time, and positions that are added."""
    g, d, h = Graph(17), WIDTH, HEADS
    x = g.op("Conv", "mel", g.weight("conv1.weight", g.random(d, 10, 3)), g.weight("conv1.bias", g.random(d)), kernel_shape=[3], strides=[1], pads=[1, 1])
    x = g.op("Conv", g.gelu(x), g.weight("conv2.weight", g.random(d, d, 3)), g.weight("conv2.bias", g.random(d)), kernel_shape=[3], strides=[2], pads=[1, 1])
    x = g.op("Add", g.op("Transpose", g.gelu(x), perm=[0, 2, 1]), g.weight("embed_positions.weight", g.random(12, d)))
    for n in range(2):
        g.scope = ["layers", f"layers.{n}"]
        x = block(g, f"layers.{n}.", x, d, h, HIDDEN, pre=True)
    g.scope = []
    g.result(g.layernorm("layer_norm", x, d), "states")
    return g.model([("mel", "f32", ["batch", 10, 24])], [("states", "f32", ["batch", 12, d])])


def crossed():
    """A layer that reads a memory of another length."""
    g, d, h = Graph(18, "dynamo"), WIDTH, HEADS
    x, e = "x", d // h
    for n in range(2):
        path = f"layers.{n}."
        q, k, v = g.linear(path + "q", x, d, d), g.linear(path + "k", "memory", d, d), g.linear(path + "v", "memory", d, d)
        q, k, v = g.heads(q, h, e), g.heads(k, h, e, (0, 2, 3, 1)), g.heads(v, h, e)
        y = g.joined(g.attention(q, k, v, e, padding(g, "memory_mask")), d)
        x = g.layernorm(path + "norm", g.op("Add", x, g.linear(path + "proj", y, d, d)), d)
    g.result(x, "y")
    return g.model([("x", "f32", ["batch", "sequence", d]), ("memory", "f32", ["batch", "memory", d]), ("memory_mask", "i64", ["batch", "memory"])],
                   [("y", "f32", ["batch", "sequence", d])])


MODELS.update({
    "decoder": (decoder, 40, ["2 of Layer", "rotary(", "rmsnorm", "mask causal"]),
    "decoder-fused": (lambda: decoder(True), 40, ["2 of Layer", "rotary(", "mask causal"]),
    "relative": (relative, 45, ["2 of Layer"]),
    "speech": (speech, 45, ["windows("]),
    "crossed": (crossed, 45, ["2 of Layer", "over k(memory)"]),
})


def fused(several=False):
    """What ONNX Runtime's optimizer makes of an encoder of text."""
    g, d, f = Graph(17, "dynamo"), WIDTH, HIDDEN
    ms = {"domain": "com.microsoft"}
    row = lambda name, size: g.weight(name, g.random(size))
    x = g.op("Gather", g.weight("words", g.random(TOKENS, d)), "input_ids")
    mask = g.op("Cast", "attention_mask", to=TensorProto.INT32)
    for n in range(2):
        path = f"layers.{n}."
        norm = lambda name: (g.weight(path + name + ".weight", 1 + g.random(d)), row(path + name + ".bias", d))
        if several:
            q, k, v = (g.op("MatMul", x, g.weight(path + part, g.random(d, d))) for part in "qkv")
            y = g.op("MultiHeadAttention", q, k, v, row(path + "qkv.bias", 3 * d), mask, num_heads=HEADS, **ms)
        else:
            y = g.op("Attention", x, g.weight(path + "qkv.weight", g.random(d, 3 * d)), row(path + "qkv.bias", 3 * d), mask, num_heads=HEADS, **ms)
        y = g.op("MatMul", y, g.weight(path + "proj", g.random(d, d)))
        x = g.op("SkipLayerNormalization", y, x, *norm("norm1"), row(path + "proj.bias", d), epsilon=1e-12, **ms)
        y = g.op("MatMul", x, g.weight(path + "fc1", g.random(d, f)))
        y = g.op("FastGelu" if several else "BiasGelu", y, row(path + "fc1.bias", f), **ms)
        y = g.op("MatMul", y, g.weight(path + "fc2", g.random(f, d)))
        x = g.op("SkipLayerNormalization", y, x, *norm("norm2"), row(path + "fc2.bias", d), epsilon=1e-12, **ms)
    g.result(x, "states")
    return g.model([(n, "i64", ["batch", "sequence"]) for n in ("input_ids", "attention_mask")], [("states", "f32", ["batch", "sequence", d])])


MODELS.update({
    "fused": (fused, 40, ["2 of Layer", " q k v)", "bias"]),
    "fused-heads": (lambda: fused(True), 45, ["2 of Layer", "gelu_tanh("]),
})


def shaped(opset=17):
    """What the older exporter makes of `scaled_dot_product_attention` and of masks that are expanded: a scale that is computed from shapes, a
    mask of all pairs, and heads that are split by computed sizes."""
    g, d, h = Graph(opset), WIDTH, HEADS
    e = d // h
    batch, length = g.axis("input_ids", 0), g.axis("input_ids", 1)
    x = g.op("Gather", g.weight("embeddings.weight", g.random(TOKENS, d)), "input_ids")
    sizes = g.shape(batch, 1, length, length)
    ones = g.op("ConstantOfShape", g.ints(4), value=numpy_helper.from_array(np.array([1], np.int64)))
    wanted = g.op("Where", g.op("Equal", sizes, g.op("Mul", ones, g.constant(-1, np.int64))), ones, sizes)
    there = g.op("Cast", g.op("Expand", g.unsqueeze("attention_mask", 1, 2), wanted), to=F)
    inverted = g.op("Sub", g.constant(1.0), there)
    mask = g.op("Where", g.op("Cast", inverted, to=TensorProto.BOOL), g.constant(np.finfo(np.float32).min), inverted)
    for n in range(2):
        path, g.scope = f"layer.{n}.", [f"layer.{n}", "attention"]
        q, k, v = (g.linear(path + part, x, d, d) for part in ("query", "key", "value"))
        apart = lambda y: g.op("Transpose", g.op("Reshape", y, g.shape(batch, -1, h, e)), perm=[0, 2, 1, 3])
        q, k, v = apart(q), apart(k), apart(v)
        features = g.op("Cast", g.op("Slice", g.op("Shape", q), g.ints(-1), g.ints((1 << 63) - 1)), to=F)
        half = g.op("Sqrt", g.op("Div", g.constant([1.0]), g.op("Sqrt", features)))
        k = g.op("Mul", g.op("Transpose", k, perm=[0, 1, 3, 2]), half)
        weights = g.op("Softmax", g.op("Add", g.op("MatMul", g.op("Mul", q, half), k), mask), axis=-1)
        y = g.op("Transpose", g.op("MatMul", weights, v), perm=[0, 2, 1, 3])
        y = g.op("Reshape", y, g.shape(batch, length, d))
        x = g.layernorm(path + "norm", g.op("Add", g.linear(path + "output", y, d, d), x), d)
    g.scope = []
    g.result(x, "states")
    return g.model([(n, "i64", ["batch", "sequence"]) for n in ("input_ids", "attention_mask")], [("states", "f32", ["batch", "sequence", d])])


def computed(length="sequence"):
    """A decoder whose rotary angles are computed of frequencies and positions, as transformers does, and a causal mask from Trilu."""
    g, d, h = Graph(17, "dynamo"), WIDTH, HEADS
    e = d // h
    size = g.axis("input_ids", 1)
    x = g.op("Gather", g.weight("embed.weight", g.random(TOKENS, d)), "input_ids")
    places = g.op("Unsqueeze", g.op("Range", g.constant(0, np.int64), size, g.constant(1, np.int64)), g.ints(0))
    frequencies = g.weight("inv_freq", 500000.0 ** (-np.arange(0, e, 2) / e))
    three = g.op("Unsqueeze", frequencies, g.ints(0, 2))
    angles = g.op("Transpose", g.op("MatMul", three, g.op("Cast", g.op("Unsqueeze", places, g.ints(1)), to=F)), perm=[0, 2, 1])
    both = g.op("Concat", angles, angles, axis=-1)
    cos, sin = (g.op("Unsqueeze", g.op("Mul", g.op(kind, both), g.constant(1.0)), g.ints(1)) for kind in ("Cos", "Sin"))
    full = g.op("Expand", g.constant(np.finfo(np.float32).min), g.shape(size, size))
    mask = g.op("Unsqueeze", g.op("Trilu", full, g.constant(1, np.int64), upper=1), g.ints(0, 1))

    def rotate(y):
        a, b = g.op("Split", y, g.ints(e // 2, e // 2), outputs=2, axis=-1)
        return g.op("Add", g.op("Mul", y, cos), g.op("Mul", g.op("Concat", g.op("Neg", b), a, axis=-1), sin))

    for n in range(2):
        path = f"layers.{n}."
        q, k, v = (g.heads(g.linear(path + p, x, d, d, False), h, e) for p in "qkv")
        y = g.attention(rotate(q), g.op("Transpose", rotate(k), perm=[0, 1, 3, 2]), v, e, mask)
        x = g.layernorm(path + "norm", g.op("Add", x, g.linear(path + "o", g.joined(y, d), d, d, False)), d)
    g.result(x, "states")
    return g.model([("input_ids", "i64", ["batch", length])], [("states", "f32", ["batch", length, d])])


MODELS.update({
    "shaped": (shaped, 40, ["2 of Layer"]),
    "computed": (computed, 40, ["2 of Layer", "base = 500000", "mask causal"]),
})


if __name__ == "__main__":  # onnx_graphs.py MODEL FILE
    import sys

    onnx.save(MODELS[sys.argv[1]][0](), sys.argv[2])
