# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gemma 4 in NumPy with double precision, as its published modelling code has it: the encoder of pictures, the language model, and the names and shapes
of their tensors."""
import math

import numpy as np
from PIL import Image

from numpy_layers import ACTIVATIONS, softmax

GELU = ACTIVATIONS["gelu_pytorch_tanh"]


def normed(x, eps, weight=1):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def turned(x, angles):
    """Halves of heads as pairs: x [T, heads, E], angles [T, E / 2]."""
    (a, b), cos, sin = np.split(x, 2, -1), np.cos(angles)[:, None], np.sin(angles)[:, None]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def attend(q, k, v, live):
    """q [T, heads, E], k and v [S, groups, E]: [T, heads * E]."""
    k, v = (np.repeat(part, q.shape[1] // part.shape[1], 1) for part in (k, v))
    scores = np.where(live, np.einsum("the,she->hts", q, k), -np.inf)
    return np.einsum("hts,she->the", softmax(scores), v).reshape(len(q), -1)


def is_full(t, n):
    return n == t["num_hidden_layers"] - 1 or t["layer_types"][n] == "full_attention"


def heads_at(t, n):
    """Features of a head and heads of keys."""
    groups = t["num_key_value_heads"]
    if not is_full(t, n):
        return t["head_dim"], groups
    return t["global_head_dim"], t.get("num_global_key_value_heads") or groups if t.get("attention_k_eq_v") else groups


def has_keys(t, n):
    return n < t["num_hidden_layers"] - t.get("num_kv_shared_layers", 0)


def size_of(width, height, square, most):
    """Of a picture, as large as `most` pixels allow, in squares."""
    scale = math.sqrt(most / (width * height))
    across, down = (math.floor(scale * side / square) for side in (width, height))
    squares = most // square ** 2
    if not down:
        across, down = min(width // height, squares), 1
    elif not across:
        across, down = 1, min(height // width, squares)
    return across * square, down * square


def see(c, w, path):
    """The rows of a picture."""
    v, p, m = c["vision_config"], c["eyes"], c["vision_config"]["pooling_kernel_size"]
    side, eps, heads = v["patch_size"], v["rms_norm_eps"], v["num_attention_heads"]
    picture = Image.open(path).convert("RGB")
    picture = picture.resize(size_of(*picture.size, side * m, c["max_soft_tokens"] * (side * m) ** 2), Image.BICUBIC)
    pixels = 2 * (np.asarray(picture) / 255 - 0.5)
    rows, columns = pixels.shape[0] // side, pixels.shape[1] // side
    patches = pixels.reshape(rows, side, columns, side, 3).transpose(0, 2, 1, 3, 4).reshape(rows * columns, -1)
    y, x = (axis.reshape(-1) for axis in np.mgrid[:rows, :columns])
    table = w[p + "patch_embedder.position_embedding_table"]
    h = patches @ w[p + "patch_embedder.input_proj.weight"].T + table[0, x] + table[1, y]
    quarter = v["head_dim"] // 4
    speeds = v.get("rope_parameters", {}).get("rope_theta", 100) ** (-np.arange(quarter) / quarter)

    def mapped(given, name):
        low, high = (w.get(f"{name}.input_{end}", bound) for end, bound in (("min", -np.inf), ("max", np.inf)))
        made = np.clip(given, low, high) @ w[name + ".linear.weight"].T
        return np.clip(made, *(w.get(f"{name}.output_{end}", bound) for end, bound in (("min", -np.inf), ("max", np.inf))))

    def turning(given):
        return np.concatenate([turned(half, axis[:, None] * speeds) for half, axis in zip(np.split(given, 2, -1), (x, y))], -1)

    for n in range(v["num_hidden_layers"]):
        b = f"{p}encoder.layers.{n}."
        given = normed(h, eps, w[b + "input_layernorm.weight"])
        q, k, value = (mapped(given, f"{b}self_attn.{name}_proj").reshape(len(h), -1, v["head_dim"]) for name in "qkv")
        q, k = (turning(normed(part, eps, w[f"{b}self_attn.{name}_norm.weight"])) for name, part in (("q", q), ("k", k)))
        assert q.shape[1] == heads
        made = mapped(attend(q, k, normed(value, eps), True), b + "self_attn.o_proj")
        h = h + normed(made, eps, w[b + "post_attention_layernorm.weight"])
        given = normed(h, eps, w[b + "pre_feedforward_layernorm.weight"])
        made = mapped(GELU(mapped(given, b + "mlp.gate_proj")) * mapped(given, b + "mlp.up_proj"), b + "mlp.down_proj")
        h = h + normed(made, eps, w[b + "post_feedforward_layernorm.weight"])
    h = h.reshape(rows // m, m, columns // m, m, -1).mean((1, 3)).reshape(-1, h.shape[-1]) * math.sqrt(h.shape[-1])
    if v.get("standardize"):
        h = (h - w[p + "std_bias"]) * w[p + "std_scale"]
    return normed(h, eps) @ w[c["map"] + "embedding_projection.weight"].T


def angles_at(t, n, count):
    kind = "full_attention" if is_full(t, n) else "sliding_attention"
    rope = t.get("rope_parameters", {"sliding_attention": dict(rope_type="default", rope_theta=1e4),
                                     "full_attention": dict(rope_type="proportional", partial_rotary_factor=0.25, rope_theta=1e6)})[kind]
    half = heads_at(t, n)[0] // 2
    speeds = rope["rope_theta"] ** (-np.arange(half) / half)
    if rope["rope_type"] == "proportional":
        speeds = np.where(np.arange(half) < int(rope.get("partial_rotary_factor", 1) * 2 * half) // 2, speeds, 0) / rope.get("factor", 1)
    return np.arange(count)[:, None] * speeds


def experts(t, w, b, y, eps):
    """What the experts of each row make of it."""
    given = normed(y, eps) * w[b + "router.scale"] / math.sqrt(y.shape[-1])
    chances = softmax(given @ w[b + "router.proj.weight"].T)
    best = np.argsort(-chances, -1, kind="stable")[:, :t["top_k_experts"]]
    weights = np.take_along_axis(chances, best, -1)
    weights = weights / weights.sum(-1, keepdims=True) * w[b + "router.per_expert_scale"][best]
    x, made = normed(y, eps, w[b + "pre_feedforward_layernorm_2.weight"]), np.zeros_like(y)
    for row, (places, share) in enumerate(zip(best, weights)):
        for place, part in zip(places, share):
            gate, up = np.split(w[b + "experts.gate_up_proj"][place] @ x[row], 2)
            made[row] += part * (w[b + "experts.down_proj"][place] @ (GELU(gate) * up))
    return made


def read(c, w, ids, pictures=()):
    """Scores of all positions of a text with pictures, each as `see` gives it."""
    t, p = c["text_config"], c["text"]
    eps, count, d = t["rms_norm_eps"], len(ids), t["hidden_size"]
    ids = np.array(ids)
    there = ids == c["image_token_id"]
    words = np.where(there, t.get("pad_token_id", 0), ids) if pictures else ids
    x = w[p + "embed_tokens.weight"][words] * math.sqrt(d)
    if pictures:
        x[there] = np.concatenate(pictures)
    span = np.where(there, np.cumsum(there & ~np.roll(there, 1) | (there & (np.arange(count) == 0))), -1)
    i, j = np.arange(count)[:, None], np.arange(count)
    seen = j <= i
    if t.get("use_bidirectional_attention") == "vision":
        seen = seen | ((span[:, None] == span) & (span >= 0))
    near, own, kept = seen & (j > i - t["sliding_window"]), None, {}
    inputs = t["hidden_size_per_layer_input"]
    if inputs:
        of_x = (x @ w[p + "per_layer_model_projection.weight"].T / math.sqrt(d)).reshape(count, -1, inputs)
        own = normed(of_x, eps, w[p + "per_layer_projection_norm.weight"])
        own = (own + w[p + "embed_tokens_per_layer.weight"][words].reshape(count, -1, inputs) * math.sqrt(inputs)) / math.sqrt(2)
    for n in range(t["num_hidden_layers"]):
        b, (features, _) = f"{p}layers.{n}.", heads_at(t, n)
        full, angles = is_full(t, n), angles_at(t, n, count)
        mapped = lambda given, name: (given @ w[f"{b}self_attn.{name}.weight"].T).reshape(count, -1, features)
        y = normed(x, eps, w[b + "input_layernorm.weight"])
        if has_keys(t, n):
            k = mapped(y, "k_proj")
            v = k if full and t.get("attention_k_eq_v") else mapped(y, "v_proj")
            kept[full] = turned(normed(k, eps, w[b + "self_attn.k_norm.weight"]), angles), normed(v, eps)
        q = turned(normed(mapped(y, "q_proj"), eps, w[b + "self_attn.q_norm.weight"]), angles)
        a = attend(q, *kept[full], (j <= i) if full else near) @ w[b + "self_attn.o_proj.weight"].T
        y = x + normed(a, eps, w[b + "post_attention_layernorm.weight"])
        m = normed(y, eps, w[b + "pre_feedforward_layernorm.weight"])
        made = (GELU(m @ w[b + "mlp.gate_proj.weight"].T) * (m @ w[b + "mlp.up_proj.weight"].T)) @ w[b + "mlp.down_proj.weight"].T
        if t.get("enable_moe_block"):
            made = normed(made, eps, w[b + "post_feedforward_layernorm_1.weight"]) + \
                normed(experts(t, w, b, y, eps), eps, w[b + "post_feedforward_layernorm_2.weight"])
        x = y + normed(made, eps, w[b + "post_feedforward_layernorm.weight"])
        if inputs:
            gate = GELU(x @ w[b + "per_layer_input_gate.weight"].T) * own[:, n]
            x = x + normed(gate @ w[b + "per_layer_projection.weight"].T, eps, w[b + "post_per_layer_input_norm.weight"])
        x = x * w[b + "layer_scalar"]
    scores = normed(x, eps, w[p + "norm.weight"]) @ w[p + "embed_tokens.weight"].T
    cap = t.get("final_logit_softcapping")
    return cap * np.tanh(scores / cap) if cap else scores


def gemma4(c, w, ids):
    """The language model alone."""
    whole = dict(text_config=c, text="model.", image_token_id=-1)
    return {"scores": np.stack([read(whole, w, row) for row in ids])}


def text_shapes(t, p):
    d, f, h, inputs = (t[key] for key in ("hidden_size", "intermediate_size", "num_attention_heads", "hidden_size_per_layer_input"))
    layers = t["num_hidden_layers"]
    shapes = {p + "embed_tokens.weight": (t["vocab_size"], d), p + "norm.weight": (d,)}
    if inputs:
        shapes |= {p + "embed_tokens_per_layer.weight": (t["vocab_size_per_layer_input"], layers * inputs),
                   p + "per_layer_model_projection.weight": (layers * inputs, d), p + "per_layer_projection_norm.weight": (inputs,)}
    for n in range(layers):
        b, (e, g) = f"{p}layers.{n}.", heads_at(t, n)
        wide = f * (2 if t.get("use_double_wide_mlp") and not has_keys(t, n) else 1)
        shapes |= {b + "self_attn.q_proj.weight": (h * e, d), b + "self_attn.o_proj.weight": (d, h * e), b + "self_attn.q_norm.weight": (e,),
                   b + "mlp.gate_proj.weight": (wide, d), b + "mlp.up_proj.weight": (wide, d), b + "mlp.down_proj.weight": (d, wide),
                   b + "layer_scalar": (1,)}
        norms = ["input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"]
        if has_keys(t, n):
            shapes |= {b + "self_attn.k_proj.weight": (g * e, d), b + "self_attn.k_norm.weight": (e,)}
            if not (is_full(t, n) and t.get("attention_k_eq_v")):
                shapes[b + "self_attn.v_proj.weight"] = (g * e, d)
        if inputs:
            shapes |= {b + "per_layer_input_gate.weight": (inputs, d), b + "per_layer_projection.weight": (d, inputs)}
            norms.append("post_per_layer_input_norm")
        if t.get("enable_moe_block"):
            x, i = t["num_experts"], t["moe_intermediate_size"]
            norms += ["post_feedforward_layernorm_1", "pre_feedforward_layernorm_2", "post_feedforward_layernorm_2"]
            shapes |= {b + "router.proj.weight": (x, d), b + "router.scale": (d,), b + "router.per_expert_scale": (x,),
                       b + "experts.gate_up_proj": (x, 2 * i, d), b + "experts.down_proj": (x, d, i)}
        shapes |= {f"{b}{name}.weight": (d,) for name in norms}
    return shapes


def eyes_shapes(v, p, m, d):
    width, wide, e, side = v["hidden_size"], v["intermediate_size"], v["head_dim"], v["patch_size"]
    shapes = {p + "patch_embedder.input_proj.weight": (width, 3 * side ** 2), m + "embedding_projection.weight": (d, width),
              p + "patch_embedder.position_embedding_table": (2, v["position_embedding_size"], width)}
    if v.get("standardize"):
        shapes |= {p + "std_bias": (width,), p + "std_scale": (width,)}
    for n in range(v["num_hidden_layers"]):
        b = f"{p}encoder.layers.{n}."
        maps = {"self_attn.q_proj": (v["num_attention_heads"] * e, width), "self_attn.k_proj": (v["num_key_value_heads"] * e, width),
                "self_attn.v_proj": (v["num_key_value_heads"] * e, width), "self_attn.o_proj": (width, v["num_attention_heads"] * e),
                "mlp.gate_proj": (wide, width), "mlp.up_proj": (wide, width), "mlp.down_proj": (width, wide)}
        for name, shape in maps.items():
            shapes[f"{b}{name}.linear.weight"] = shape
            if v.get("use_clipped_linears"):
                shapes |= {f"{b}{name}.{side}_{end}": () for side in ("input", "output") for end in ("min", "max")}
        shapes |= {f"{b}{name}.weight": (width,) for name in ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                                                              "post_feedforward_layernorm")}
        shapes |= {f"{b}self_attn.{name}_norm.weight": (e,) for name in "qk"}
    return shapes


def gemma4_shapes(c):
    """Of the language model alone, where nothing is said of its encoder of pictures."""
    if "text_config" not in c:
        return text_shapes(c, "model.")
    return text_shapes(c["text_config"], c["text"]) | eyes_shapes(c["vision_config"], c["eyes"], c["map"], c["text_config"]["hidden_size"])
