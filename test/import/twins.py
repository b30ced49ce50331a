#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of make.py are imported, checked against their weights, run, and compared with NumPy in double precision, which computes what the
papers and the published modelling code say of the family, from the same config.json.

usage: twins.py FOLDER FAMILY..."""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make import FAMILIES, make
from measured import measured
from program import Failed, call, run

BOUND, BATCH, LENGTH = 1e-5, 3, 21
erf = np.vectorize(__import__("math").erf)
sigmoid = lambda x: 1 / (1 + np.exp(-x))
ACTIVATIONS = {"silu": lambda x: x * sigmoid(x), "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2, "relu": lambda x: np.maximum(x, 0),
               "tanh": np.tanh}
ACTIVATIONS["gelu_new"] = ACTIVATIONS["gelu_pytorch_tanh"] = lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))) / 2


def softmax(x):
    """A row without a finite number has no weights: it is padding that sees nothing."""
    e = np.exp(x - np.maximum(x.max(-1, keepdims=True), -1e300))
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-300)


def layer_norm(x, w, name, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)


def heads_of(x, count):
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def joined(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def frequencies(features, base, scaling):
    """Of each pair of features, per position."""
    f = base ** (-np.arange(0, features, 2) / features)
    kind = (scaling or {}).get("rope_type", (scaling or {}).get("type", "default"))
    if kind == "linear":
        return f / scaling["factor"]
    if kind == "llama3":
        turns = scaling["original_max_position_embeddings"] * f / (2 * np.pi)
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        part = np.clip((turns - low) / (high - low), 0, 1)
        return (1 - part) * f / scaling["factor"] + part * f
    assert kind == "default", kind
    return f


def rotate(x, f):
    """x: [B, H, T, E]; of each head, the first 2 * len(f) features, halves against each other."""
    angles = np.arange(x.shape[2])[:, None] * f
    cos, sin, half = np.cos(angles), np.sin(angles), len(f)
    a, b, rest = x[..., :half], x[..., half:2 * half], x[..., 2 * half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, rest], -1)


def llama_layers(c):
    """Of each layer, its window (None: all before) and frequencies."""
    kind, count = c["model_type"], c["num_hidden_layers"]
    e = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    turned = int(e * c.get("partial_rotary_factor", 1))
    parameters = c.get("rope_parameters")
    window = c.get("sliding_window")
    if kind.startswith("qwen") and not c.get("use_sliding_window"):
        window = None
    for n in range(count):
        slides = window is not None
        if "layer_types" in c:
            slides = c["layer_types"][n] == "sliding_attention"
        elif kind == "gemma2":
            slides = n % 2 == 0
        elif kind == "gemma3_text":
            slides = (n + 1) % c["sliding_window_pattern"] != 0
        elif kind.startswith("qwen"):
            slides = slides and n >= c["max_window_layers"]
        if parameters and "full_attention" in parameters:
            own = parameters["sliding_attention" if slides else "full_attention"]
            f = frequencies(turned, own["rope_theta"], own)
        elif parameters:
            f = frequencies(turned, parameters["rope_theta"], parameters)
        elif kind == "gemma3_text" and slides:
            f = frequencies(turned, c["rope_local_base_freq"], None)
        else:
            f = frequencies(turned, c["rope_theta"], c.get("rope_scaling"))
        yield window if slides else None, f


def experts(c, w, p, x, act):
    """Of all experts, what those of the largest probabilities of each row give, added up by these."""
    mixtral = c["model_type"] == "mixtral"
    moe, (gate, up, down) = ("block_sparse_moe", ("w1", "w3", "w2")) if mixtral else ("mlp", ("gate_proj", "up_proj", "down_proj"))
    chances = softmax(x @ w[f"{p}{moe}.gate.weight"].T)
    order = np.argsort(-chances, -1)[..., :c["num_experts_per_tok"]]
    kept = np.zeros_like(chances)
    np.put_along_axis(kept, order, np.take_along_axis(chances, order, -1), -1)
    if mixtral or c["norm_topk_prob"]:
        kept /= kept.sum(-1, keepdims=True)
    total = 0
    for e in range(chances.shape[-1]):
        own = f"{p}{moe}.experts.{e}."
        total = total + kept[..., e:e + 1] * (
            (act(x @ w[own + gate + ".weight"].T) * (x @ w[own + up + ".weight"].T)) @ w[own + down + ".weight"].T)
    return total


def llama(c, w, ids):
    kind, h, g = c["model_type"], c["num_attention_heads"], c["num_key_value_heads"]
    e = c.get("head_dim") or c["hidden_size"] // h
    gemma = kind.startswith("gemma")
    four = kind in ("gemma2", "gemma3_text")
    act = ACTIVATIONS[c.get("hidden_activation") or c["hidden_act"]]

    def norm(x, name):
        weight = w[name + ".weight"] + (1 if gemma else 0)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + c["rms_norm_eps"]) * weight

    x = w["model.embed_tokens.weight"][ids] * (np.sqrt(c["hidden_size"]) if gemma else 1)
    i, j = np.arange(ids.shape[1])[:, None], np.arange(ids.shape[1])
    for n, (window, f) in enumerate(llama_layers(c)):
        p = f"model.layers.{n}."
        y = norm(x, p + "input_layernorm")
        if kind == "phi3":
            q, k, v = np.split(y @ w[p + "self_attn.qkv_proj.weight"].T, [h * e, (h + g) * e], -1)
        else:
            q, k, v = (linear(y, w, p + f"self_attn.{name}_proj") for name in "qkv")
        q, k, v = heads_of(q, h), heads_of(k, g), heads_of(v, g)
        if p + "self_attn.q_norm.weight" in w:
            q, k = norm(q, p + "self_attn.q_norm"), norm(k, p + "self_attn.k_norm")
        q, k = rotate(q, f), rotate(k, f)
        scores = q @ np.repeat(k, h // g, 1).transpose(0, 1, 3, 2) * (c.get("query_pre_attn_scalar", e) ** -0.5)
        if c.get("attn_logit_softcapping"):
            scores = np.tanh(scores / c["attn_logit_softcapping"]) * c["attn_logit_softcapping"]
        seen = (j <= i) & (i - j < (window or 10 ** 9))
        a = joined(softmax(np.where(seen, scores, -np.inf)) @ np.repeat(v, h // g, 1))
        a = linear(a, w, p + "self_attn.o_proj")
        x = x + (norm(a, p + "post_attention_layernorm") if four else a)
        y = norm(x, p + ("pre_feedforward_layernorm" if four else "post_attention_layernorm"))
        if "num_experts_per_tok" in c:
            x = x + experts(c, w, p, y, act)
            continue
        if kind == "phi3":
            gate, up = np.split(y @ w[p + "mlp.gate_up_proj.weight"].T, 2, -1)
        else:
            gate, up = linear(y, w, p + "mlp.gate_proj"), linear(y, w, p + "mlp.up_proj")
        y = linear(act(gate) * up, w, p + "mlp.down_proj")
        x = x + (norm(y, p + "post_feedforward_layernorm") if four else y)
    scores = norm(x, "model.norm") @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T
    cap = c.get("final_logit_softcapping")
    return {"scores": cap * np.tanh(scores / cap) if cap else scores}


def gpt2(c, w, ids):
    x = w["wte.weight"][ids] + w["wpe.weight"][:ids.shape[1]]
    e = c["n_embd"] // c["n_head"]
    live = np.tril(np.ones((ids.shape[1],) * 2, bool))
    norm = lambda x, name: layer_norm(x, w, name, c["layer_norm_epsilon"])
    conv = lambda x, name: x @ w[name + ".weight"] + w[name + ".bias"]
    for n in range(c["n_layer"]):
        p = f"h.{n}."
        q, k, v = (heads_of(part, c["n_head"]) for part in np.split(conv(norm(x, p + "ln_1"), p + "attn.c_attn"), 3, -1))
        scores = np.where(live, q @ k.transpose(0, 1, 3, 2) / np.sqrt(e), -np.inf)
        x = x + conv(joined(softmax(scores) @ v), p + "attn.c_proj")
        x = x + conv(ACTIVATIONS[c["activation_function"]](conv(norm(x, p + "ln_2"), p + "mlp.c_fc")), p + "mlp.c_proj")
    return {"scores": norm(x, "ln_f") @ w["wte.weight"].T}


def bert(c, w, ids, lengths, segments=None):
    distil, roberta = c["model_type"] == "distilbert", c["model_type"].endswith("roberta")
    architecture, count = c["architectures"][0], c.get("n_heads") or c["num_attention_heads"]
    eps = 1e-12 if distil else c["layer_norm_eps"]
    act = ACTIVATIONS[c.get("activation") or c["hidden_act"]]
    body = "" if architecture.endswith("Model") else "distilbert." if distil else "roberta." if roberta else "bert."
    norm = lambda x, name: layer_norm(x, w, name, eps)
    at = np.arange(ids.shape[1]) + (c["pad_token_id"] + 1 if roberta else 0)
    x = w[body + "embeddings.word_embeddings.weight"][ids] + w[body + "embeddings.position_embeddings.weight"][at]
    if not distil:
        x = x + w[body + "embeddings.token_type_embeddings.weight"][np.zeros_like(ids) if segments is None else segments]
    x = norm(x, body + "embeddings.LayerNorm")
    live = (np.arange(ids.shape[1]) < lengths[:, None])[:, None, None]
    q, k, v, out, first, up, down, last = (
        ["attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "sa_layer_norm", "ffn.lin1", "ffn.lin2",
         "output_layer_norm"] if distil else
        ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
         "intermediate.dense", "output.dense", "output.LayerNorm"])
    for n in range(c.get("n_layers") or c["num_hidden_layers"]):
        p = f"{body}{'transformer' if distil else 'encoder'}.layer.{n}."
        queries, keys, values = (heads_of(linear(x, w, p + name), count) for name in (q, k, v))
        scores = queries @ keys.transpose(0, 1, 3, 2) / np.sqrt(queries.shape[-1])
        a = joined(softmax(np.where(live, scores, -np.inf)) @ values)
        x = norm(x + linear(a, w, p + out), p + first)
        x = norm(x + linear(act(linear(x, w, p + up)), w, p + down), p + last)
    word = w[body + "embeddings.word_embeddings.weight"]
    if architecture.endswith("Model"):
        pooled = {} if distil else {"pooled": np.tanh(linear(x[:, 0], w, "pooler.dense"))}
        mean = np.stack([row[:n].mean(0) for row, n in zip(x, lengths)])
        return {"hidden": x, **pooled, "embedding": mean / np.linalg.norm(mean, axis=-1, keepdims=True)}
    if architecture.endswith("ForMaskedLM"):
        dense, ln, bias = (("vocab_transform", "vocab_layer_norm", "vocab_projector.bias") if distil else
                           ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias") if roberta else
                           ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"))
        return {"scores": norm(act(linear(x, w, dense)), ln) @ word.T + w[bias]}
    if architecture.endswith("ForSequenceClassification"):
        if roberta:
            return {"scores": linear(np.tanh(linear(x[:, 0], w, "classifier.dense")), w, "classifier.out_proj")}
        if distil:
            return {"scores": linear(np.maximum(linear(x[:, 0], w, "pre_classifier"), 0), w, "classifier")}
        return {"scores": linear(np.tanh(linear(x[:, 0], w, "bert.pooler.dense")), w, "classifier")}
    return {"scores": linear(x, w, "qa_outputs" if architecture.endswith("Answering") else "classifier")}


def modernbert(c, w, ids, lengths):
    w = {name.removeprefix("model."): value for name, value in w.items()}
    norm = lambda x, name: layer_norm(x, {**w, name + ".bias": 0}, name, c["norm_eps"])
    x = norm(w["embeddings.tok_embeddings.weight"][ids], "embeddings.norm")
    count, i = c["num_attention_heads"], np.arange(ids.shape[1])
    inside = (i < lengths[:, None])[:, None, None]
    for n in range(c["num_hidden_layers"]):
        p, whole = f"layers.{n}.", n % c["global_attn_every_n_layers"] == 0
        y = norm(x, p + "attn_norm") if n else x
        q, k, v = (heads_of(part, count) for part in np.split(linear(y, w, p + "attn.Wqkv"), 3, -1))
        f = frequencies(q.shape[-1], c["global_rope_theta" if whole else "local_rope_theta"], None)
        q, k = rotate(q, f), rotate(k, f)
        live = inside & (whole | (abs(i[:, None] - i) <= c["local_attention"] // 2))
        a = joined(softmax(np.where(live, q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]), -np.inf)) @ v)
        x = x + linear(a, w, p + "attn.Wo")
        a, b = np.split(linear(norm(x, p + "mlp_norm"), w, p + "mlp.Wi"), 2, -1)
        x = x + linear(ACTIVATIONS[c["hidden_activation"]](a) * b, w, p + "mlp.Wo")
    x = norm(x, "final_norm")
    head = lambda x: norm(ACTIVATIONS[c["classifier_activation"]](linear(x, w, "head.dense")), "head.norm")
    if c["architectures"][0].endswith("ForMaskedLM"):
        return {"scores": head(x) @ w["embeddings.tok_embeddings.weight"].T + w["decoder.bias"]}
    mean = np.stack([row[:n].mean(0) for row, n in zip(x, lengths)])
    return {"scores": linear(head(mean), w, "classifier")}


def attention(q, k, v, count, live=True, scale=None, bias=0):
    q, k, v = heads_of(q, count), heads_of(k, count), heads_of(v, count)
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or q.shape[-1] ** -0.5) + bias
    return joined(softmax(np.where(live, scores, -np.inf)) @ v)


def bart_layer(x, w, p, c, live, memory=None, seen=None):
    """One layer of the encoder, or of the decoder, which reads `memory`; Whisper's norms are in front."""
    first, act = c["model_type"] == "whisper", ACTIVATIONS["silu" if c["activation_function"] == "swish" else c["activation_function"]]
    norm = lambda x, name: layer_norm(x, w, p + name, 1e-5)

    def step(x, name, inner):
        return x + inner(norm(x, name)) if first else norm(x + inner(x), name)

    def attend(name, x, over, live):
        q, k, v = linear(x, w, p + name + ".q_proj"), linear(over, w, p + name + ".k_proj"), linear(over, w, p + name + ".v_proj")
        return linear(attention(q, k, v, c["encoder_attention_heads"], live), w, p + name + ".out_proj")

    x = step(x, "self_attn_layer_norm", lambda y: attend("self_attn", y, y, live))
    if memory is not None:
        x = step(x, "encoder_attn_layer_norm", lambda y: attend("encoder_attn", y, memory, seen))
    return step(x, "final_layer_norm", lambda y: linear(act(linear(y, w, p + "fc1")), w, p + "fc2"))


def bart(c, w, token, source=None, lengths=None, mel=None):
    kind, d = c["model_type"], c["d_model"]
    scale = np.sqrt(d) if c["scale_embedding"] else 1
    table = w["model.decoder.embed_tokens.weight" if kind == "whisper" else "model.shared.weight"]

    def embed(ids, side):
        x, t = table[ids] * scale, np.arange(ids.shape[1])
        if kind == "marian":
            angles = t[:, None] / 10000.0 ** (2 * np.arange(d // 2) / d)
            return x + np.concatenate([np.sin(angles), np.cos(angles)], -1)
        if kind == "whisper":
            return x + w["model.decoder.embed_positions.weight"][t]
        return layer_norm(x + w[f"model.{side}.embed_positions.weight"][t + 2], w, f"model.{side}.layernorm_embedding", 1e-5)

    if kind == "whisper":
        import torch
        x = torch.tensor(mel.astype(np.float64))
        for name, stride in ("conv1", 1), ("conv2", 2):
            own = [torch.tensor(w[f"model.encoder.{name}.{part}"]) for part in ("weight", "bias")]
            x = torch.nn.functional.gelu(torch.nn.functional.conv1d(x, *own, stride=stride, padding=1))
        x, seen = x.numpy().transpose(0, 2, 1) + w["model.encoder.embed_positions.weight"], True
    else:
        x, seen = embed(source, "encoder"), (np.arange(source.shape[1]) < lengths[:, None])[:, None, None]
    for n in range(c["encoder_layers"]):
        x = bart_layer(x, w, f"model.encoder.layers.{n}.", c, seen)
    memory = layer_norm(x, w, "model.encoder.layer_norm", 1e-5) if kind == "whisper" else x
    y, live = embed(token, "decoder"), np.tril(np.ones((token.shape[1],) * 2, bool))
    for n in range(c["decoder_layers"]):
        y = bart_layer(y, w, f"model.decoder.layers.{n}.", c, live, memory, seen)
    if kind == "whisper":
        return {"scores": layer_norm(y, w, "model.decoder.layer_norm", 1e-5) @ table.T}
    return {"scores": y @ table.T + w["final_logits_bias"]}


def t5_bucket(distance, both):
    """Of a key's position less the query's: as the published code has it, one by one."""
    buckets, base = 32, 0
    if both:
        buckets //= 2
        base, distance = (buckets, distance) if distance > 0 else (0, -distance)
    else:
        distance = max(-distance, 0)
    half = buckets // 2
    if distance < half:
        return base + distance
    return base + min(half + int(np.log(distance / half) / np.log(128 / half) * (buckets - half)), buckets - 1)


def t5(c, w, token, source, lengths):
    count, eps, gated = c["num_heads"], c["layer_norm_epsilon"], c["feed_forward_proj"] == "gated-gelu"
    norm = lambda x, name: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w[name + ".weight"]

    def bias(side, length):
        rows = np.array([[t5_bucket(j - i, side == "encoder") for j in range(length)] for i in range(length)])
        return w[f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"][rows].transpose(2, 0, 1)

    def attend(p, x, over, live, bias=0):
        q, k, v = (linear(y, w, p + name) for y, name in ((x, "q"), (over, "k"), (over, "v")))
        return linear(attention(q, k, v, count, live, scale=1.0, bias=bias), w, p + "o")

    def mlp(p, x):
        if gated:
            return linear(ACTIVATIONS["gelu_new"](linear(x, w, p + "wi_0")) * linear(x, w, p + "wi_1"), w, p + "wo")
        return linear(np.maximum(linear(x, w, p + "wi"), 0), w, p + "wo")

    x, seen = w["shared.weight"][source], (np.arange(source.shape[1]) < lengths[:, None])[:, None, None]
    for n in range(c["num_layers"]):
        p = f"encoder.block.{n}."
        y = norm(x, p + "layer.0.layer_norm")
        x = x + attend(p + "layer.0.SelfAttention.", y, y, seen, bias("encoder", source.shape[1]))
        x = x + mlp(p + "layer.1.DenseReluDense.", norm(x, p + "layer.1.layer_norm"))
    memory = norm(x, "encoder.final_layer_norm")
    x, live = w["shared.weight"][token], np.tril(np.ones((token.shape[1],) * 2, bool))
    for n in range(c["num_decoder_layers"]):
        p = f"decoder.block.{n}."
        y = norm(x, p + "layer.0.layer_norm")
        x = x + attend(p + "layer.0.SelfAttention.", y, y, live, bias("decoder", token.shape[1]))
        x = x + attend(p + "layer.1.EncDecAttention.", norm(x, p + "layer.1.layer_norm"), memory, seen)
        x = x + mlp(p + "layer.2.DenseReluDense.", norm(x, p + "layer.2.layer_norm"))
    x = norm(x, "decoder.final_layer_norm")
    return {"scores": x @ w["lm_head.weight"].T if "lm_head.weight" in w else x * c["d_model"] ** -0.5 @ w["shared.weight"].T}


def vit(c, w, image):
    import torch
    kind, count = c["model_type"], c["num_attention_heads"]
    dino, classify = kind == "dinov2", c["architectures"][0] != "Dinov2Model"
    p = f"{kind}." if classify else ""
    w = {name[len(p):] if name.startswith(p) else name: value for name, value in w.items()}
    norm = lambda x, name: layer_norm(x, w, name, c["layer_norm_eps"])
    side, b = c["patch_size"], len(image)
    grid = image.shape[2] // side
    patches = image.astype(np.float64).reshape(b, 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(b, grid * grid, -1)
    kernel = w["embeddings.patch_embeddings.projection.weight"]
    x = patches @ kernel.reshape(len(kernel), -1).T + w["embeddings.patch_embeddings.projection.bias"]
    front = [w["embeddings.cls_token"]] + ([w["embeddings.distillation_token"]] if kind == "deit" else [])
    at, learnt = w["embeddings.position_embeddings"], c["image_size"] // side
    if grid != learnt:
        map_ = torch.tensor(at[:, len(front):].reshape(1, learnt, learnt, -1)).permute(0, 3, 1, 2)
        map_ = torch.nn.functional.interpolate(map_, size=(grid, grid), mode="bicubic", align_corners=False)
        at = np.concatenate([at[:, :len(front)], map_.permute(0, 2, 3, 1).reshape(1, grid * grid, -1).numpy()], 1)
    x = np.concatenate([*(np.repeat(token, b, 0) for token in front), x], 1) + at
    first, second = ("norm1", "norm2") if dino else ("layernorm_before", "layernorm_after")
    for n in range(c["num_hidden_layers"]):
        l = f"encoder.layer.{n}."
        y = norm(x, l + first)
        q, k, v = (heads_of(linear(y, w, l + f"attention.attention.{name}"), count) for name in ("query", "key", "value"))
        a = linear(joined(softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])) @ v), w, l + "attention.output.dense")
        x = x + a * (w[l + "layer_scale1.lambda1"] if dino else 1)
        y = norm(x, l + second)
        if c.get("use_swiglu_ffn"):
            gate, up = np.split(linear(y, w, l + "mlp.weights_in"), 2, -1)
            y = linear(ACTIVATIONS["silu"](gate) * up, w, l + "mlp.weights_out")
        else:
            up, down = ("mlp.fc1", "mlp.fc2") if dino else ("intermediate.dense", "output.dense")
            y = linear(ACTIVATIONS[c["hidden_act"]](linear(y, w, l + up)), w, l + down)
        x = x + y * (w[l + "layer_scale2.lambda1"] if dino else 1)
    x = norm(x, "layernorm")
    if not classify:
        return {"hidden": x}
    if kind == "deit":
        return {"scores": (linear(x[:, 0], w, "cls_classifier") + linear(x[:, 1], w, "distillation_classifier")) / 2}
    return {"scores": linear(np.concatenate([x[:, 0], x[:, 1:].mean(1)], -1) if dino else x[:, 0], w, "classifier")}


def swin_attention(x, w, p, count, m, shift):
    """Of a map [B, Y, X, D], rolled by the shift: in each window, with the table, and none across what the roll brought together."""
    b, rows, columns, d = x.shape
    y, z = rows // m, columns // m

    def windows(x):
        return x.reshape(-1, y, m, z, m, x.shape[-1]).transpose(0, 1, 3, 2, 4, 5).reshape(-1, m * m, x.shape[-1])

    place = np.stack(np.meshgrid(np.arange(m), np.arange(m), indexing="ij"), -1).reshape(-1, 2)
    apart = place[:, None] - place + m - 1
    table = w[p + "attention.self.relative_position_bias_table"][apart[..., 0] * (2 * m - 1) + apart[..., 1]].transpose(2, 0, 1)
    region = np.zeros((1, rows, columns, 1))
    if shift:
        part = lambda n: np.digitize(np.arange(n), [n - m, n - shift])
        region[0, ..., 0] = part(rows)[:, None] * 3 + part(columns)
    own = windows(region)
    live = np.tile((own == own.transpose(0, 2, 1)), (b, 1, 1))[:, None]
    x = windows(np.roll(x, (-shift, -shift), (1, 2)))
    q, k, v = (linear(x, w, p + f"attention.self.{name}") for name in ("query", "key", "value"))
    a = linear(attention(q, k, v, count, live, bias=table), w, p + "attention.output.dense")
    a = a.reshape(b, y, z, m, m, d).transpose(0, 1, 3, 2, 4, 5).reshape(b, rows, columns, d)
    return np.roll(a, (shift, shift), (1, 2))


def swin(c, w, image):
    w = {name.removeprefix("swin."): value for name, value in w.items()}
    norm = lambda x, name: layer_norm(x, w, name, c["layer_norm_eps"])
    kernel, side, b, m = w["embeddings.patch_embeddings.projection.weight"], c["patch_size"], len(image), c["window_size"]
    grid = image.shape[2] // side
    x = image.astype(np.float64).reshape(b, 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(b, grid, grid, -1)
    x = norm(x @ kernel.reshape(len(kernel), -1).T + w["embeddings.patch_embeddings.projection.bias"], "embeddings.norm")
    for s, (depth, count) in enumerate(zip(c["depths"], c["num_heads"])):
        for n in range(depth):
            p = f"encoder.layers.{s}.blocks.{n}."
            shift = m // 2 if n % 2 and x.shape[1] > m else 0
            x = x + swin_attention(norm(x, p + "layernorm_before"), w, p, count, m, shift)
            y = ACTIVATIONS[c["hidden_act"]](linear(norm(x, p + "layernorm_after"), w, p + "intermediate.dense"))
            x = x + linear(y, w, p + "output.dense")
        if s + 1 < len(c["depths"]):
            p = f"encoder.layers.{s}.downsample."
            x = np.concatenate([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
            x = norm(x, p + "norm") @ w[p + "reduction.weight"].T
    return {"scores": linear(norm(x, "layernorm").mean((1, 2)), w, "classifier")}


def timm(c, w, image):
    """The same transformer under timm's names."""
    norm = lambda x, name: layer_norm(x, w, name, 1e-6)
    kernel, side, b = w["patch_embed.proj.weight"], w["patch_embed.proj.weight"].shape[2], len(image)
    grid = image.shape[2] // side
    patches = image.astype(np.float64).reshape(b, 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(b, grid * grid, -1)
    front = [w[name] for name in ("cls_token", "dist_token") if name in w]
    x = np.concatenate([*(np.repeat(token, b, 0) for token in front), patches @ kernel.reshape(len(kernel), -1).T + w["patch_embed.proj.bias"]], 1)
    x = x + w["pos_embed"]
    for n in range(2):
        p = f"blocks.{n}."
        q, k, v = np.split(linear(norm(x, p + "norm1"), w, p + "attn.qkv"), 3, -1)
        x = x + linear(attention(q, k, v, c["model_args"]["num_heads"]), w, p + "attn.proj") * w.get(p + "ls1.gamma", 1)
        y = ACTIVATIONS["gelu"](linear(norm(x, p + "norm2"), w, p + "mlp.fc1"))
        x = x + linear(y, w, p + "mlp.fc2") * w.get(p + "ls2.gamma", 1)
    if c.get("global_pool") == "avg":
        return {"scores": linear(norm(x[:, len(front):].mean(1), "fc_norm"), w, "head")}
    x = norm(x, "norm")
    if "dist_token" in w:
        return {"scores": (linear(x[:, 0], w, "head") + linear(x[:, 1], w, "head_dist")) / 2}
    return {"scores": linear(x[:, 0], w, "head")} if c["num_classes"] else {"hidden": x}


def clip_tower(x, c, w, prefix, mask):
    norm = lambda x, name: layer_norm(x, w, name, c["layer_norm_eps"])
    act = lambda x: x * sigmoid(1.702 * x) if c["hidden_act"] == "quick_gelu" else ACTIVATIONS[c["hidden_act"]](x)
    for n in range(c["num_hidden_layers"]):
        p = f"{prefix}encoder.layers.{n}."
        y = norm(x, p + "layer_norm1")
        q, k, v = (heads_of(linear(y, w, p + f"self_attn.{name}_proj"), c["num_attention_heads"]) for name in "qkv")
        scores = np.where(mask, q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]), -np.inf)
        x = x + linear(joined(softmax(scores) @ v), w, p + "self_attn.out_proj")
        x = x + linear(act(linear(norm(x, p + "layer_norm2"), w, p + "mlp.fc1")), w, p + "mlp.fc2")
    return x


def clip(c, w, ids, end, image):
    """The vectors of texts and of pictures, and how well they go together."""
    siglip, t, v = c["model_type"] == "siglip", c["text_config"], c["vision_config"]
    unit = lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True)
    length = ids.shape[1]
    x = w["text_model.embeddings.token_embedding.weight"][ids] + w["text_model.embeddings.position_embedding.weight"][:length]
    x = clip_tower(x, t, w, "text_model.", np.ones((length, length), bool) if siglip else np.tril(np.ones((length, length), bool)))
    x = layer_norm(x, w, "text_model.final_layer_norm", t["layer_norm_eps"])
    text = unit(linear(x[:, -1], w, "text_model.head") if siglip else x[np.arange(len(ids)), end] @ w["text_projection.weight"].T)
    side, b = v["patch_size"], len(image)
    grid = image.shape[2] // side
    patches = image.astype(np.float64).reshape(b, 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(b, grid * grid, -1)
    kernel = w["vision_model.embeddings.patch_embedding.weight"]
    y = patches @ kernel.reshape(len(kernel), -1).T + w.get("vision_model.embeddings.patch_embedding.bias", 0)
    if not siglip:
        y = np.concatenate([np.broadcast_to(w["vision_model.embeddings.class_embedding"], (b, 1, y.shape[-1])), y], 1)
    y = y + w["vision_model.embeddings.position_embedding.weight"]
    eps = v["layer_norm_eps"]
    y = y if siglip else layer_norm(y, w, "vision_model.pre_layrnorm", eps)
    y = clip_tower(y, v, w, "vision_model.", True)
    if siglip:
        y, h = layer_norm(y, w, "vision_model.post_layernorm", eps), "vision_model.head."
        wq, wk, wv = np.split(w[h + "attention.in_proj_weight"], 3)
        bq, bk, bv = np.split(w[h + "attention.in_proj_bias"], 3)
        q = heads_of(np.repeat(w[h + "probe"], b, 0) @ wq.T + bq, v["num_attention_heads"])
        k, values = (heads_of(y @ m.T + n, v["num_attention_heads"]) for m, n in ((wk, bk), (wv, bv)))
        a = linear(joined(softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])) @ values), w, h + "attention.out_proj")
        a = a + linear(ACTIVATIONS[v["hidden_act"]](linear(layer_norm(a, w, h + "layernorm", eps), w, h + "mlp.fc1")), w, h + "mlp.fc2")
        picture = unit(a[:, 0])
    else:
        picture = unit(layer_norm(y[:, 0], w, "vision_model.post_layernorm", eps) @ w["visual_projection.weight"].T)
    return text, picture, picture @ text.T * np.exp(w["logit_scale"]).item() + (w["logit_bias"] if siglip else 0)


def check_clip(family, folder, spec, config, w, rng):
    length = config["text_config"]["max_position_embeddings"]
    ids, end = rng.integers(0, 97, (2, length), dtype=np.int32), np.array([length - 1, 9], np.int32)
    image = rng.standard_normal((BATCH, 3, 32, 32)).astype(np.float32)
    text, picture, scores = clip(config, w, ids, end, image)
    texts = {"ids": ids} if config["model_type"] == "siglip" else {"ids": ids, "end": end}
    for entry, inputs, name, wanted in [
            ("text", texts, "embedding", text), ("picture", {"image": image}, "embedding", picture),
            ("compare", {"picture": picture.astype(np.float32), "text": text.astype(np.float32)}, "scores", scores)]:
        compare(family, folder, spec, inputs, {name: wanted}, entry)


def check(family, folder):
    config, weights = make(family, folder, seed=1 + len(family))
    spec = os.path.join(folder, "spec.attn")
    call(["attn", "import", folder, "-o", spec])
    call(["attn", "fmt", "--check", spec])
    table = subprocess.run(["attn", "check", spec, "--weights", folder], capture_output=True, text=True)
    assert table.returncode == 0 and "tensors of the model are bound" in table.stdout, table.stdout + table.stderr
    assert "warning" not in table.stderr, table.stderr
    rng, w = np.random.default_rng(7), {name: value.astype(np.float64) for name, value in weights.items()}
    if "architecture" in config:
        inputs = {"image": rng.standard_normal((BATCH, 3, 32, 32)).astype(np.float32)}
        return compare(family, folder, spec, inputs, timm(config, w, inputs["image"]))
    if config["model_type"] == "swin":
        inputs = {"image": rng.standard_normal((BATCH, 3, 64, 64)).astype(np.float32)}
        return compare(family, folder, spec, inputs, swin(config, w, inputs["image"]))
    if config["model_type"] in ("vit", "deit", "dinov2"):
        processor = FAMILIES[family][2].get("preprocessor_config.json", {})
        side = processor.get("crop_size", {}).get("height", config["image_size"])
        inputs = {"image": rng.standard_normal((BATCH, 3, side, side)).astype(np.float32)}
        return compare(family, folder, spec, inputs, vit(config, w, inputs["image"]))
    if config["model_type"] in ("clip", "siglip"):
        return check_clip(family, folder, spec, config, w, rng)
    if config["model_type"] in ("bart", "marian", "whisper", "t5"):
        inputs = {"token": rng.integers(0, 97, (BATCH, 13), dtype=np.int32)}
        if config["model_type"] == "whisper":
            inputs["mel"] = rng.standard_normal((BATCH, config["num_mel_bins"], 2 * config["max_source_positions"])).astype(np.float32)
        else:
            inputs.update(source=rng.integers(0, 97, (BATCH, LENGTH), dtype=np.int32), lengths=np.array([LENGTH, 5, 13], np.int32))
        wanted = (t5 if config["model_type"] == "t5" else bart)(config, w, **inputs)
        return compare(family, folder, spec, inputs, wanted, "scores", whole=True)
    inputs = {"ids": rng.integers(0, 97, (BATCH, LENGTH), dtype=np.int32)}
    if "vocab_size" in config and config["model_type"] in ("bert", "roberta", "xlm-roberta", "distilbert", "modernbert"):
        inputs["lengths"] = np.array([LENGTH, 5, 13], np.int32)
        if config["model_type"] == "bert":
            inputs["segments"] = rng.integers(0, 2, (BATCH, LENGTH), dtype=np.int32)
        wanted = (modernbert if config["model_type"] == "modernbert" else bert)(config, w, **inputs)
    else:
        wanted = (gpt2 if config["model_type"] == "gpt2" else llama)(config, w, inputs["ids"])
    compare(family, folder, spec, inputs, wanted)


def compare(family, folder, spec, inputs, wanted, entry=None, whole=False):
    text = open(spec).read()
    names = [name for name in wanted if f"{name}: [B" in text or f"entry {name} " in text]
    assert names, text
    entry = entry or (names[0] if f"entry {names[0]} " in text else None)
    command = ["attn", "run", spec, "--weights", folder, *(["--entry", entry] if entry else [])]
    largest = 0
    for name, got in zip(names, run(command, folder, inputs, names)):
        rows = wanted[name]
        if rows.ndim == 3 and "lengths" in inputs and not whole:  # what stands behind a text's end is nobody's business
            got, rows = (np.concatenate([x[b, :n] for b, n in enumerate(inputs["lengths"])]) for x in (got, rows))
        assert np.isfinite(got).all() and np.isfinite(rows).all(), name
        largest = max(largest, np.sqrt(((got - rows) ** 2).sum() / (rows ** 2).sum()))
    lines = len(text.splitlines())
    print(f"{family}: {lines} lines, {', '.join(names)}: relative L2 {largest:.1e}")
    assert largest <= BOUND, f"{family}: {largest}"
    measured(family, largest)


def main():
    folder, *wanted = sys.argv[1:]
    for family in wanted or FAMILIES:
        check(family, os.path.join(folder, family))


if __name__ == "__main__":
    main()
