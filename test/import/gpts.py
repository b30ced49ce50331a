# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relatives of GPT: what their papers and their published modelling code say, in NumPy, and the names and shapes of their tensors. NAMES has a row
for each: the beginning of names, embedding, positions, layers, last norm, the norms of a layer, the map or maps of attention, its output, the mlp's
two maps. KEYS has what configs call sizes."""
import numpy as np

from decoders import ACTIVATIONS
from numpy_layers import layer_norm, linear, rotate, softmax

FAIR = ("layers", "layer_norm", "self_attn_layer_norm", "final_layer_norm", "self_attn.*_proj", "self_attn.out_proj", "fc1", "fc2")
MEGATRON = ("word_embeddings", None, "h", "ln_f", "input_layernorm", "post_attention_layernorm", "self_attention.query_key_value",
            "self_attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h")
J = ("transformer.", "wte", None, "h", "ln_f", "ln_1", None)
NAMES = {
    "openai-gpt": ("transformer.", "tokens_embed", "positions_embed", "h", None, "ln_1", "ln_2", "attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"),
    "gpt_bigcode": ("transformer.", "wte", "wpe", "h", "ln_f", "ln_1", "ln_2", "attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"),
    "gpt_neo": ("transformer.", "wte", "wpe", "h", "ln_f", "ln_1", "ln_2", "attn.attention.*_proj", "attn.attention.out_proj", "mlp.c_fc", "mlp.c_proj"),
    "gptj": (*J, "attn.*_proj", "attn.out_proj", "mlp.fc_in", "mlp.fc_out"),
    "codegen": (*J, "attn.qkv_proj", "attn.out_proj", "mlp.fc_in", "mlp.fc_out"),
    "ctrl": ("transformer.", "w", None, "h", "layernorm", "layernorm1", "layernorm2", "multi_head_attention.W*", "multi_head_attention.dense", "ffn.0",
             "ffn.2"),
    "xglm": ("model.", "embed_tokens", None, *FAIR),
    "biogpt": ("biogpt.", "embed_tokens", "embed_positions", *FAIR),
    "bloom": ("transformer.", *MEGATRON),
    "falcon": ("transformer.", *MEGATRON),
    "mpt": ("transformer.", "wte", None, "blocks", "norm_f", "norm_1", "norm_2", "attn.Wqkv", "attn.out_proj", "ffn.up_proj", "ffn.down_proj"),
    "persimmon": ("model.", "embed_tokens", None, "layers", "final_layernorm", "input_layernorm", "post_attention_layernorm",
                  "self_attn.query_key_value", "self_attn.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
}
KEYS = dict(width=("n_embd", "hidden_size", "n_embed", "d_model"), heads=("n_head", "num_attention_heads", "num_heads", "attention_heads", "n_heads"),
            layers=("n_layer", "num_hidden_layers", "num_layers", "n_layers"), hidden=("n_inner", "intermediate_size", "dff", "ffn_dim", "ffn_hidden_size"),
            positions=("n_positions", "max_position_embeddings", "max_seq_len"), act=("activation_function", "hidden_act", "afn", "activation"))
HEADS = {"biogpt": "output_projection"}
UNBIASED = {"gpt_neo": (False, True, True), "gptj": (False, False, True), "codegen": (False, False, True), "mpt": (False,) * 3}


def said(c, key):
    return next((c[name] for name in KEYS[key] if c.get(name)), None)


def norms_of(c):
    """The norms of a layer; the second is None where one is of both."""
    *_, first, second = NAMES[c["model_type"]][:7]
    if c["model_type"] == "falcon" and (c.get("new_decoder_architecture") or c.get("parallel_attn", True)):
        is_new = c.get("new_decoder_architecture") and c.get("num_ln_in_parallel_attn", 2) == 2
        return ("ln_attn", "ln_mlp") if is_new else (first, None)
    return first, second


def key_heads(c, heads):
    kind = c["model_type"]
    if kind == "falcon" and c.get("new_decoder_architecture"):
        return c["num_kv_heads"]
    return 1 if kind in ("falcon", "gpt_bigcode") and c.get("multi_query", True) else heads


def gpt_shapes(c):
    kind, d, h = c["model_type"], said(c, "width"), said(c, "heads")
    p, tokens, places, layers, last, _, _, maps, out, up, down = NAMES[kind]
    f, e, biased = said(c, "hidden") or 4 * d, d // h, UNBIASED.get(kind, (c.get("bias", False) if kind == "falcon" else True,) * 3)
    shapes = {f"{p}{tokens}.weight": (c["vocab_size"], d)}

    def add(name, *shape, bias=True):
        shapes[name + ".weight"] = shape[::-1] if kind == "openai-gpt" and len(shape) == 2 else shape
        if bias:
            shapes[name + ".bias"] = shape[:1]

    if places:
        shapes[f"{p}{places}.weight"] = (said(c, "positions") + 2 * (kind == "biogpt"), d)
    if kind == "bloom":
        add(f"{p}{tokens}_layernorm", d)
    for n in range(said(c, "layers")):
        own = f"{p}{layers}.{n}."
        for name in filter(None, norms_of(c)):
            add(own + name, d, bias=kind != "mpt")
        if "*" in maps:
            for letter in "qkv":
                add(own + maps.replace("*", letter), d, d, bias=biased[0])
        else:
            add(own + maps, (h + 2 * key_heads(c, h)) * e, d, bias=biased[0])
        if kind == "persimmon":
            add(own + "self_attn.q_layernorm", e), add(own + "self_attn.k_layernorm", e)
        add(own + out, d, d, bias=biased[1])
        add(own + up, f, d, bias=biased[2])
        add(own + down, d, f, bias=biased[2])
    if last:
        add(p + last, d, bias=kind != "mpt")
    if not c.get("tie_word_embeddings", kind not in ("gptj", "codegen", "persimmon")):
        shapes[HEADS.get(kind, "lm_head") + ".weight"] = (c["vocab_size"], d)
    if kind in ("gptj", "codegen", "ctrl"):
        shapes["lm_head.bias"] = (c["vocab_size"],)
    return shapes


def parts_of(c, rows, h):
    """Queries, keys and values, [B, H, T, E], of what a packed map makes; heads that share keys get them, too."""
    kind, g = c["model_type"], key_heads(c, h)
    b, t, e = *rows.shape[:2], rows.shape[-1] // (h + 2 * g)
    if kind == "codegen":
        q, v, k = rows.reshape(b, t, 4, 3, h // 4, e).transpose(3, 0, 2, 4, 1, 5).reshape(3, b, h, t, e)
        return q, k, v
    if kind == "openai-gpt" or kind == "mpt":
        return rows.reshape(b, t, 3, h, e).transpose(2, 0, 3, 1, 4)
    groups = rows.reshape(b, t, g, h // g + 2, e).transpose(0, 2, 3, 1, 4)
    q, k, v = groups[:, :, :-2], groups[:, :, -2:-1], groups[:, :, -1:]
    return [np.repeat(x, h // g // x.shape[2], 2).reshape(b, h, t, e) for x in (q, k, v)]


def neighbours(x, features):
    """Pairs of neighbours among the first features turn as halves do."""
    order = np.r_[0:features:2, 1:features:2, features:x.shape[-1]]
    back = np.empty_like(x)
    back[..., order] = rotate(x[..., order], 10000.0 ** (-np.arange(0, features, 2) / features))
    return back


def slopes(h):
    """Press et al.: a geometric sequence, and of other numbers of heads each second slope of the next power of two."""
    near = 2 ** int(np.log2(h))
    powers = lambda count: 2.0 ** (-8 / count * np.arange(1, count + 1))
    return np.concatenate([powers(near), powers(2 * near)[::2]])[:h]


def sines(kind, t, d):
    at, half = np.arange(t)[:, None] + (2 if kind == "xglm" else 0), d // 2
    angles = at * 10000.0 ** (-np.arange(half) / (half - 1 if kind == "xglm" else half))
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)


def scores_of(c, q, k, n):
    kind, e, (h, t) = c["model_type"], q.shape[-1], q.shape[1:3]
    i, j = np.arange(t)[:, None], np.arange(t)
    scale = (c.get("attn_config") or {}).get("softmax_scale") or (1 if kind == "gpt_neo" else e ** -0.5)
    scores = q @ k.transpose(0, 1, 3, 2) * scale
    if kind in ("bloom", "mpt") or c.get("alibi"):
        scores = scores - slopes(h)[:, None, None] * (i - j) * (e ** -0.5 if kind == "falcon" else 1)
    live = j <= i
    if kind == "gpt_neo":
        types = [name for names, times in c["attention_types"] for name in names * times]
        live = live & (types[n] == "global" or i - j < c["window_size"])
    return np.where(live, scores, -np.inf)


def gpt(c, w, ids):
    kind, d, h = c["model_type"], said(c, "width"), said(c, "heads")
    p, tokens, places, layers, last, _, _, maps, out, up, down = NAMES[kind]
    first, second = norms_of(c)
    eps = 1e-5 if kind in ("xglm", "biogpt") else c.get("layer_norm_epsilon", c.get("layer_norm_eps"))
    act = ACTIVATIONS[{"openai-gpt": "gelu_new", "bloom": "gelu_new", "mpt": "gelu", "ctrl": "relu"}.get(kind) or said(c, "act")]
    norm = lambda x, name: layer_norm(x, {name + ".bias": 0, **w}, name, eps)
    map_of = (lambda x, name: x @ w[name + ".weight"] + w[name + ".bias"]) if kind == "openai-gpt" else (lambda x, name: linear(x, w, name))
    x = w[f"{p}{tokens}.weight"][ids] * (np.sqrt(d) if kind == "ctrl" or c.get("scale_embedding") else 1)
    if kind in ("xglm", "ctrl"):
        x = x + sines(kind, ids.shape[1], d)
    if places:
        x = x + w[f"{p}{places}.weight"][2 if kind == "biogpt" else 0:][:ids.shape[1]]
    if kind == "bloom":
        x = norm(x, f"{p}{tokens}_layernorm")
    for n in range(said(c, "layers")):
        own = f"{p}{layers}.{n}."
        y = x if kind == "openai-gpt" else norm(x, own + first)
        if "*" in maps:
            q, k, v = (map_of(y, own + maps.replace("*", letter)).reshape(*ids.shape, h, -1).transpose(0, 2, 1, 3) for letter in "qkv")
        else:
            rows = map_of(y, own + maps)
            clip = (c.get("attn_config") or {}).get("clip_qkv")
            q, k, v = parts_of(c, np.clip(rows, -clip, clip) if clip else rows, h)
        if kind == "persimmon":
            q, k = norm(q, own + "self_attn.q_layernorm"), norm(k, own + "self_attn.k_layernorm")
        if kind in ("gptj", "codegen"):
            q, k = (neighbours(part, c["rotary_dim"]) for part in (q, k))
        if kind == "persimmon" or kind == "falcon" and not c.get("alibi"):
            features = d // h // (2 if kind == "persimmon" else 1)
            q, k = (rotate(part, c.get("rope_theta", 10000.0) ** (-np.arange(0, features, 2) / features)) for part in (q, k))
        a = softmax(scores_of(c, q, k, n)) @ v
        a = map_of(a.transpose(0, 2, 1, 3).reshape(*ids.shape, -1), own + out)
        fed = lambda y: map_of(act(map_of(y, own + up)), own + down)
        if kind == "openai-gpt":
            x = norm(x + a, own + first)
            x = norm(x + fed(x), own + second)
        elif second is None or second == "ln_mlp":
            x = x + a + fed(norm(x, own + second) if second else y)
        else:
            x = x + a
            x = x + fed(norm(x, own + second))
    if last:
        x = norm(x, p + last)
    return {"scores": x @ w.get(HEADS.get(kind, "lm_head") + ".weight", w[f"{p}{tokens}.weight"]).T + w.get("lm_head.bias", 0)}
