#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders with past and present keys and values, as published: by Optimum, by ONNX Runtime's optimizer, by its GenAI builder. They are imported, and
the tokens that `generate` chooses are those of the graph in NumPy, which gets its own present tensors as past ones, token by token.

usage: onnx_decoders.py FOLDER [MODEL...]"""
import math
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
from measured import measured
from onnx_graph import Graph
from onnx_numpy import evaluate
from program import call, run

D, H, G, E, F, V, ROWS, LAYERS = 64, 4, 2, 16, 40, 50, 64, 2
F32, I64 = TensorProto.FLOAT, TensorProto.INT64
MS = "com.microsoft"


def model(g, logits, groups, inputs, stacked=False):
    """With past and present tensors of each layer."""
    g.result(logits, "logits")
    past, present = [], []
    for n in range(LAYERS):
        if stacked:
            past.append((f"past_{n}", "f32", [2, "batch", groups, "past_length", E]))
            present.append((f"present_{n}", "f32", [2, "batch", groups, "total_length", E]))
        for part in () if stacked else ("key", "value"):
            past.append((f"past_key_values.{n}.{part}", "f32", ["batch", groups, "past_length", E]))
            present.append((f"present.{n}.{part}", "f32", ["batch", groups, "total_length", E]))
    kinds = {"input_ids": "length", "attention_mask": "total_length", "position_ids": "length"}
    return g.model([(n, "i64", ["batch", kinds[n]]) for n in inputs] + past, [("logits", "f32", ["batch", "length", V])] + present)


def embedded(g):
    return g.op("Gather", g.weight("wte.weight", g.random(V, D)), "input_ids")


def mlp(g, path, x):
    n = g.layernorm(path + "ln_2", x, D)
    return g.op("Add", x, g.linear(path + "fc2", g.gelu(g.linear(path + "fc1", n, D, F)), F, D))


def head(g, x):
    return g.op("MatMul", g.layernorm("ln_f", x, D), g.weight("lm_head.weight_t", 3 * g.random(D, V)))


def gpt2():
    """com.microsoft.Attention with keys and values in one tensor, positions as an input, a mask of all positions."""
    g = Graph(17, "dynamo")
    x = g.op("Add", embedded(g), g.op("Gather", g.weight("wpe.weight", g.random(ROWS, D)), "position_ids"))
    mask = g.op("Cast", "attention_mask", to=TensorProto.INT32)
    for n in range(LAYERS):
        path = f"h.{n}."
        w, b = g.weight(path + "attn.weight", g.random(D, 3 * D)), g.weight(path + "attn.bias", g.random(3 * D))
        y, present = g.op("Attention", g.layernorm(path + "ln_1", x, D), w, b, mask, f"past_{n}", domain=MS, outputs=2, num_heads=H, unidirectional=1)
        g.result(present, f"present_{n}")
        x = mlp(g, path, g.op("Add", x, g.linear(path + "proj", y, D, D)))
    return model(g, head(g, x), H, ("input_ids", "attention_mask", "position_ids"), stacked=True)


def mha():
    """MultiHeadAttention of ONNX Runtime's optimizer."""
    g = Graph(17, "dynamo")
    x = g.op("Add", embedded(g), g.op("Gather", g.weight("wpe.weight", g.random(ROWS, D)), "position_ids"))
    for n in range(LAYERS):
        path = f"h.{n}."
        a = g.layernorm(path + "ln_1", x, D)
        q, k, v = (g.linear(path + part, a, D, D, False) for part in "qkv")
        y, key, value = g.op("MultiHeadAttention", q, k, v, g.weight(path + "qkv.bias", g.random(3 * D)), "", "", f"past_key_values.{n}.key",
                             f"past_key_values.{n}.value", domain=MS, outputs=3, num_heads=H, unidirectional=1)
        g.result(key, f"present.{n}.key")
        g.result(value, f"present.{n}.value")
        x = mlp(g, path, g.op("Add", x, g.linear(path + "proj", y, D, D)))
    return model(g, head(g, x), H, ("input_ids", "position_ids"))


def gqa(packed=False, partial=False, **how):
    """The GenAI builder's: the mask gives lengths alone, norms add the residue, heads share keys."""
    g = Graph(17, "dynamo")
    turned = E // 2 if partial else E
    angles = np.arange(ROWS)[:, None] * 500000.0 ** (-np.arange(0, turned, 2) / turned)
    cos, sin = g.weight("cos_cache", np.cos(angles)), g.weight("sin_cache", np.sin(angles))
    one = g.ints(1)
    lengths = g.op("Cast", g.op("Sub", g.op("ReduceSum", "attention_mask", one, keepdims=0), one), to=TensorProto.INT32)
    total = g.op("Cast", g.op("Gather", g.op("Shape", "attention_mask"), g.constant(1, np.int64), axis=0), to=TensorProto.INT32)
    x, norm = embedded(g), lambda name: g.weight(name, 1 + g.random(D))
    a = g.op("SimplifiedLayerNormalization", x, norm("model.layers.0.input_layernorm.weight"), axis=-1, epsilon=1e-5)
    for n in range(LAYERS):
        path = f"model.layers.{n}."
        widths = {"q_proj": H * E, "k_proj": G * E, "v_proj": G * E}
        if packed:
            parts = [g.linear(path + "attn.qkv_proj", a, D, sum(widths.values()), False), "", ""]
        else:
            parts = [g.linear(path + "attn." + part, a, D, width, False) for part, width in widths.items()]
        y, key, value = g.op("GroupQueryAttention", *parts, f"past_key_values.{n}.key", f"past_key_values.{n}.value", lengths, total, cos, sin,
                             domain=MS, outputs=3, num_heads=H, kv_num_heads=G, do_rotary=1, **how)
        g.result(key, f"present.{n}.key")
        g.result(value, f"present.{n}.value")
        y = g.linear(path + "attn.o_proj", y, H * E, D, False)
        skip = lambda x, y, name: g.op("SkipSimplifiedLayerNormalization", x, y, norm(name), domain=MS, outputs=4, epsilon=1e-5)
        a, _, _, x = skip(x, y, path + "post_attention_layernorm.weight")
        gate = g.linear(path + "mlp.gate_proj", a, D, F, False)
        y = g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), g.linear(path + "mlp.up_proj", a, D, F, False))
        y = g.linear(path + "mlp.down_proj", y, F, D, False)
        name = f"model.layers.{n + 1}.input_layernorm.weight" if n + 1 < LAYERS else f"model.layers.{LAYERS}.final_norm_layernorm.weight"
        a, _, _, x = skip(x, y, name)
    return model(g, g.op("MatMul", a, g.weight("lm_head", 3 * g.random(D, V))), G, ("input_ids", "attention_mask"))


def optimum(merged=False):
    """Optimum's: Concat of past and new, a causal mask and positions of lengths and of the mask, keys that are repeated for heads."""
    g = Graph(17, "dynamo")
    x = embedded(g)
    past = g.axis("past_key_values.0.key", 2)
    length, batch = g.axis("input_ids", 1), g.axis("input_ids", 0)
    total = g.op("Add", past, length)
    counted = g.op("Sub", g.op("CumSum", "attention_mask", g.constant(1, np.int64)), g.constant(1, np.int64))
    places = g.op("Where", g.op("Equal", "attention_mask", g.constant(0, np.int64)), g.constant(1, np.int64), counted)
    new = g.op("Slice", places, g.unsqueeze(past, 0), g.unsqueeze(total, 0), g.ints(1))
    frequencies = g.weight("inv_freq", (10000.0 ** (-np.arange(0, E, 2) / E))[None, :, None])
    angles = g.op("Transpose", g.op("MatMul", frequencies, g.op("Cast", g.unsqueeze(new, 1), to=F32)), perm=[0, 2, 1])
    both = g.op("Concat", angles, angles, axis=-1)
    cos, sin = (g.unsqueeze(g.op(kind, both), 1) for kind in ("Cos", "Sin"))
    rows = g.unsqueeze(g.op("Range", past, total, g.constant(1, np.int64)), 1)
    columns = g.unsqueeze(g.op("Range", g.constant(0, np.int64), total, g.constant(1, np.int64)), 0)
    least = g.constant(np.finfo(np.float32).min)
    behind = g.op("Where", g.op("Greater", columns, rows), least, g.constant(0.0))
    gone = g.op("Where", g.op("Equal", g.unsqueeze("attention_mask", 1, 2), g.constant(0, np.int64)), least, g.constant(0.0))
    mask = g.op("Add", g.unsqueeze(behind, 0, 1), gone)

    def rotate(y):
        a, b = g.op("Slice", y, g.ints(0), g.ints(E // 2), g.ints(3)), g.op("Slice", y, g.ints(E // 2), g.ints(1 << 40), g.ints(3))
        return g.op("Add", g.op("Mul", y, cos), g.op("Mul", g.op("Concat", g.op("Neg", b), a, axis=-1), sin))

    def repeated(y):
        five = g.op("Expand", g.unsqueeze(y, 2), g.shape(batch, G, H // G, total, E))
        return g.op("Reshape", five, g.shape(batch, H, total, E))

    for n in range(LAYERS):
        path = f"model.layers.{n}."
        a = g.layernorm(path + "ln_1", x, D)
        q, k, v = (g.heads(g.linear(path + part, a, D, count * E, False), count, E) for part, count in (("q", H), ("k", G), ("v", G)))
        k, v = (g.op("Concat", f"past_key_values.{n}.{part}", y, axis=2) for part, y in (("key", rotate(k)), ("value", v)))
        g.result(k, f"present.{n}.key")
        g.result(v, f"present.{n}.value")
        y = g.attention(rotate(q), g.op("Transpose", repeated(k), perm=[0, 1, 3, 2]), repeated(v), E, mask)
        x = mlp(g, path, g.op("Add", x, g.linear(path + "proj", g.joined(y, D), D, D, False)))
    return model(g, head(g, x), G, ("input_ids", "attention_mask"))


def merged():
    """Optimum's `decoder_model_merged.onnx`: with and without a past in one file."""
    whole = optimum()
    kinds = {o.name: o for o in whole.graph.output}
    then = helper.make_graph(whole.graph.node, "then", [], list(kinds.values()))
    nothing = [helper.make_node("ConstantOfShape", ["shape"], [name + ".none"]) for name in kinds]
    shape = helper.make_node("Shape", ["input_ids"], ["shape"])
    other = helper.make_graph([shape, *nothing], "else", [], [helper.make_tensor_value_info(n + ".none", F32, None) for n in kinds])
    node = helper.make_node("If", ["use_cache_branch"], list(kinds), then_branch=then, else_branch=other)
    inputs = [helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1]), *whole.graph.input]
    graph = helper.make_graph([node], "merged", inputs, list(kinds.values()), whole.graph.initializer)
    return helper.make_model(graph, opset_imports=whole.opset_import, ir_version=8)


MODELS = {
    "gpt2": (gpt2, ["2 of Layer", "positions(T)", "mask causal"]),
    "mha": (mha, ["2 of Layer", "qkv.bias","mask causal"]),
    "gqa": (gqa, ["rotary(", "base = 500000", "mask causal"]),
    "gqa-packed": (lambda: gqa(packed=True, partial=True, softcap=5.0), ["features = 8", "cap 5"]),
    "gqa-window": (lambda: gqa(local_window_size=3, scale=0.4, rotary_interleaved=1), ["window(2, 0)", "interleaved"]),
    "optimum": (optimum, ["2 of Layer", "rotary(", "mask causal"]),
    "merged": (merged, ["2 of Layer", "rotary(", "mask causal"]),
}


def greedy(model, prompt, count):
    """Tokens by the graph itself."""
    past = {i.name: np.zeros([d.dim_value or (0 if d.dim_param == "past_length" else len(prompt)) for d in i.type.tensor_type.shape.dim])
            for i in model.graph.input if i.name.startswith("past")}
    ids, done, tokens, scores = prompt, 0, [], []
    for _ in range(count):
        total = done + ids.shape[1]
        inputs = {"use_cache_branch": np.array([True]), "input_ids": ids, "attention_mask": np.ones((len(ids), total), np.int64),
                  "position_ids": np.broadcast_to(np.arange(done, total), ids.shape)}
        values = evaluate(model, {**{i.name: inputs[i.name] for i in model.graph.input if i.name in inputs}, **past})
        past = {name: values[name.replace("past_key_values", "present").replace("past", "present")] for name in past}
        scores.append(values["logits"][:, -1])
        ids, done = scores[-1].argmax(-1)[:, None], total
        tokens.append(ids[:, 0])
    return np.stack(tokens, 1), np.stack(scores, 1)


def check(name, folder):
    made, wanted = MODELS[name]
    made = made()
    os.makedirs(folder, exist_ok=True)
    path, spec = os.path.join(folder, "model.onnx"), os.path.join(folder, "spec.attn")
    onnx.save(made, path)
    done = subprocess.run(["attn", "import", path, "-o", spec, "--set", "past=40"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for given, becomes in (("attention_mask", "1 everywhere"), ("position_ids", "0, 1, 2, …"), ("use_cache_branch", "true")):
        is_told = f"note: `{given}` is {becomes}" in done.stderr
        assert is_told == any(i.name == given for i in made.graph.input), f"{name}: {given}: {done.stderr}"
    call(["attn", "fmt", "--check", spec])
    table = subprocess.run(["attn", "check", spec, "--weights", path], capture_output=True, text=True)
    assert table.returncode == 0 and "warning" not in table.stderr, table.stdout + table.stderr
    text = open(spec).read()
    for part in wanted + ["cache kv capacity 40", "unfold(prefill, decode"]:
        assert part in text, f"{name}: there is no `{part}` in\n{text}"
    prompt = np.random.default_rng(5).integers(0, V, (2, 7)).astype(np.int64)
    tokens, scores = greedy(made, prompt, 12)
    (logits,) = run(["attn", "run", spec, "--entry", "prefill"], folder, {"input_ids": prompt}, ["logits"])
    error = np.sqrt(((logits - scores[:, 0]) ** 2).sum() / (scores[:, 0] ** 2).sum())
    got, _ = run(["attn", "run", spec, "--entry", "generate"], folder, {"input_ids": prompt}, ["tokens", "count"])
    assert (got[:, :12] == tokens).all(), f"{name}:\n{got}\n{tokens}"
    print(f"{name}: 12 tokens of 2 rows; scores: relative L2 {error:.1e}")
    assert error < 1e-5, (name, error)
    measured("onnx decoder " + name, error)


def main():
    folder, *wanted = sys.argv[1:]
    for name in wanted or MODELS:
        check(name, os.path.join(folder, name))


if __name__ == "__main__":
    main()
