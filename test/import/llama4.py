# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama 4's language model in NumPy, as its published modelling code has it, and the names and shapes of its tensors."""
import numpy as np

from numpy_layers import ACTIVATIONS, frequencies, heads_of, joined, linear, rotate, sigmoid, softmax, strength


def turns(c, n):
    return bool(c["no_rope_layers"][n]) if c.get("no_rope_layers") else (n + 1) % c.get("no_rope_layer_interval", 4) != 0


def is_routed(c, n):
    return n in c["moe_layers"] if "moe_layers" in c else (n + 1) % c.get("interleave_moe_layer_step", 1) == 0


def llama4_shapes(c):
    d, h, g, e, f, x = (c[key] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
                                           "num_local_experts"))
    shapes = {"model.embed_tokens.weight": (c["vocab_size"], d), "model.norm.weight": (d,), "lm_head.weight": (c["vocab_size"], d)}
    for n in range(c["num_hidden_layers"]):
        p = f"model.layers.{n}."
        shapes |= {p + "input_layernorm.weight": (d,), p + "post_attention_layernorm.weight": (d,)}
        for name, out, taken in (("q", h * e, d), ("k", g * e, d), ("v", g * e, d), ("o", d, h * e)):
            shapes[f"{p}self_attn.{name}_proj.weight"] = (out, taken)
            if c.get("attention_bias"):
                shapes[f"{p}self_attn.{name}_proj.bias"] = (out,)
        p += "feed_forward."
        own, wide = ("shared_expert.", f) if is_routed(c, n) else ("", c["intermediate_size_mlp"])
        shapes |= {f"{p}{own}{name}_proj.weight": (d, wide) if name == "down" else (wide, d) for name in ("gate", "up", "down")}
        if is_routed(c, n):
            shapes |= {p + "router.weight": (x, d), p + "experts.gate_up_proj": (x, d, 2 * f), p + "experts.down_proj": (x, f, d)}
    return shapes


def normed(x, eps, weight=1):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def attention(c, w, p, x, n):
    h, g, e, t, eps = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"], x.shape[1], c["rms_norm_eps"]
    own = {"rope_type": "default", "rope_theta": c.get("rope_theta", 500000.0), **(c.get("rope_scaling") or {})}
    q, k, v = (heads_of(linear(x, w, f"{p}self_attn.{name}_proj"), count) for name, count in (("q", h), ("k", g), ("v", g)))
    i, j = np.arange(t)[:, None], np.arange(t)
    if turns(c, n):
        with np.errstate(divide="ignore"):  # of Llama 3's rule without a transition
            angles = frequencies(e, own["rope_theta"], own)
        q, k = (rotate(np.concatenate([y[..., ::2], y[..., 1::2]], -1), angles, strength(c, own)) for y in (q, k))
        if c.get("use_qk_norm", True):
            q, k = normed(q, eps), normed(k, eps)
    elif c.get("attn_temperature_tuning", True):
        q = q * (1 + c["attn_scale"] * np.log1p(np.floor((i + 1) / c["floor_scale"])))
    chunk = c["attention_chunk_size"] if turns(c, n) else t
    scores = q @ np.repeat(k, h // g, 1).transpose(0, 1, 3, 2) * e ** -0.5
    live = softmax(np.where((j <= i) & (i // chunk == j // chunk), scores, -np.inf))
    return linear(joined(live @ np.repeat(v, h // g, 1)), w, p + "self_attn.o_proj")


def feed_forward(c, w, p, x, n):
    act = ACTIVATIONS[c["hidden_act"]]
    of = lambda own: linear(act(linear(x, w, own + "gate_proj")) * linear(x, w, own + "up_proj"), w, own + "down_proj")
    if not is_routed(c, n):
        return of(p)
    scores = linear(x, w, p + "router")
    best, total = scores.argmax(-1), of(p + "shared_expert.")
    given = x * sigmoid(scores.max(-1, keepdims=True))
    for place, (first, second) in enumerate(zip(w[p + "experts.gate_up_proj"], w[p + "experts.down_proj"])):
        gate, up = np.split(given @ first, 2, -1)
        total = total + np.where((best == place)[..., None], (act(gate) * up) @ second, 0)
    return total


def llama4(c, w, ids):
    x, eps = w["model.embed_tokens.weight"][ids], c["rms_norm_eps"]
    for n in range(c["num_hidden_layers"]):
        p = f"model.layers.{n}."
        x = x + attention(c, w, p, normed(x, eps, w[p + "input_layernorm.weight"]), n)
        x = x + feed_forward(c, w, p + "feed_forward.", normed(x, eps, w[p + "post_attention_layernorm.weight"]), n)
    return {"scores": normed(x, eps, w["model.norm.weight"]) @ w["lm_head.weight"].T}
