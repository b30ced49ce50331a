# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that are recurrences, of hybrids, in NumPy, step by step, and the names and shapes of their tensors: gated delta nets (Yang et al. 2024,
"Gated Delta Networks", equation 10), Mamba 2 (Dao and Gu 2024, "Transformers are SSMs", section 7) and LFM2's gated short convolutions."""
import numpy as np

from numpy_layers import ACTIVATIONS, linear, sigmoid

TWO = dict(layer_types=["mamba", "attention", "mamba", "mamba"])
STATES = dict(attention_bias=False, mamba_n_heads=6, mamba_n_groups=2, mamba_d_state=10, mamba_d_head=16, mamba_d_conv=4, mamba_expand=2,
              mamba_conv_bias=True, mamba_proj_bias=False, mamba_chunk_size=256)
SHORT = dict(eps="norm_eps", layer_types=["conv", "full_attention", "conv", "conv"], conv_L_cache=3, tie_word_embeddings=True)
GRANITE = dict(attention_multiplier=0.2, embedding_multiplier=2.0, residual_multiplier=0.6, logits_scaling=3.0, shared_intermediate_size=56,
               tie_word_embeddings=True)
# Small models, for make.py: model_type, the name of the class, what the config says beside the usual.
CONFIGS = {
    "lfm2": ("lfm2", "Lfm2", dict(**SHORT, conv_bias=True, block_auto_adjust_ff_dim=True, block_ffn_dim_multiplier=1.0, block_multiple_of=16)),
    "lfm2-moe": ("lfm2_moe", "Lfm2Moe", dict(**SHORT, conv_bias=False, num_experts=6, num_experts_per_tok=3, num_dense_layers=2,
                                             moe_intermediate_size=24, routed_scaling_factor=1.5, norm_topk_prob=True, use_expert_bias=True)),
    "granite-hybrid": ("granitemoehybrid", "GraniteMoeHybrid", dict(**STATES, **TWO, **GRANITE, num_local_experts=5, num_experts_per_tok=2)),
    "granite-hybrid-dense": ("granitemoehybrid", "GraniteMoeHybrid", dict(**STATES, **TWO, **GRANITE, num_local_experts=0, num_experts_per_tok=0,
                                                                          position_embedding_type="rope")),
    "minimax": ("minimax", "MiniMax", dict(
        head_dim=12, layer_types=["linear_attention", "linear_attention", "full_attention", "linear_attention"], block_size=256, num_local_experts=5,
        num_experts_per_tok=2, full_attn_alpha_factor=1.1, full_attn_beta_factor=0.9, linear_attn_alpha_factor=1.2, linear_attn_beta_factor=0.8,
        mlp_alpha_factor=1.3, mlp_beta_factor=0.7)),
    "jamba": ("jamba", "Jamba", dict(
        attn_layer_period=4, attn_layer_offset=2, expert_layer_period=2, expert_layer_offset=1, num_experts=6, num_experts_per_tok=3,
        mamba_d_state=10,
        mamba_d_conv=4, mamba_expand=2, mamba_dt_rank=5, mamba_conv_bias=True, mamba_proj_bias=False)),
    "bamba": ("bamba", "Bamba", dict(**STATES, mlp_bias=False, attn_layer_indices=[1, 2])),
    "falcon-h1": ("falcon_h1", "FalconH1", dict(
        **{**STATES, "mamba_d_head": 12}, mlp_bias=False, mamba_d_ssm=72, mamba_rms_norm=True, mamba_norm_before_gate=False, lm_head_multiplier=0.4,
        embedding_multiplier=1.5, mlp_multipliers=[0.8, 0.6], key_multiplier=0.5, attention_out_multiplier=0.9, attention_in_multiplier=1.1,
        ssm_multipliers=[0.7, 1.2, 0.9, 1.3, 0.8], ssm_in_multiplier=1.25, ssm_out_multiplier=0.6, projectors_bias=False,
        time_step_limit=[0.01, 0.5])),
}


def sizes_of(c):
    """Heads of keys and of values, their features, and tokens of the convolution."""
    return (c["linear_num_key_heads"], c["linear_num_value_heads"], c["linear_key_head_dim"], c["linear_value_head_dim"], c["linear_conv_kernel_dim"])


def is_recurrent(c, n):
    """Whether a layer has a mixer; of Falcon H1 all layers have it beside attention."""
    if c["model_type"] == "falcon_h1" or "attn_layer_indices" in c:
        return n not in c.get("attn_layer_indices", ())
    if "attn_layer_period" in c:
        return n % c["attn_layer_period"] != c["attn_layer_offset"]
    if "full_attn_idxs" in c and "layer_types" not in c:
        return n not in c["full_attn_idxs"]
    if not {"linear_num_key_heads", "conv_L_cache", "mamba_d_state", "linear_attn_alpha_factor"} & set(c):
        return False
    return c["layer_types"][n] in ("linear_attention", "conv", "mamba") if "layer_types" in c else (n + 1) % c.get("full_attention_interval", 4) != 0


def attends(c, n):
    return c["model_type"] == "falcon_h1" or not is_recurrent(c, n)


def mixer_shapes(c, p):
    """By name; `p` is the layer's prefix."""
    if c["model_type"] == "jamba":
        return selective_shapes(c, p + "mamba.")
    if c["model_type"] == "minimax":
        return lightning_shapes(c, p + "self_attn.")
    own = conv_shapes if "conv_L_cache" in c else mamba_shapes if "mamba_d_state" in c else delta_net_shapes
    return own(c, p)


def mixer(c, w, p, x, eps):
    if c["model_type"] == "jamba":
        return selective(c, w, p + "mamba.", x, eps)
    if c["model_type"] == "minimax":
        return lightning(c, w, p, x)
    own = short_conv if "conv_L_cache" in c else mamba if "mamba_d_state" in c else delta_net
    return own(c, w, p, x, eps)


def filtered(x, w, name):
    """Each channel, a sum of the last few tokens'."""
    filters, t = w[name + ".weight"][:, 0], x.shape[1]
    taps = filters.shape[1]
    before = np.concatenate([np.zeros((x.shape[0], taps - 1, x.shape[-1])), x], 1)
    return sum(before[:, i:i + t] * filters[:, i] for i in range(taps)) + w.get(name + ".bias", 0)


def with_bias(shapes, names):
    return shapes | {name + ".bias": shapes[name + ".weight"][:1] for name in names}


def conv_shapes(c, p):
    d = c["hidden_size"]
    shapes = {p + "conv.in_proj.weight": (3 * d, d), p + "conv.conv.weight": (d, 1, c["conv_L_cache"]), p + "conv.out_proj.weight": (d, d)}
    return with_bias(shapes, [p + "conv." + name for name in ("in_proj", "conv", "out_proj")] * c["conv_bias"])


def short_conv(c, w, p, x, _):
    first, gate, second = np.split(linear(x, w, p + "conv.in_proj"), 3, -1)
    return linear(gate * filtered(first * second, w, p + "conv.conv"), w, p + "conv.out_proj")


def mamba_sizes(c):
    """Heads, their features, groups, numbers that each feature keeps."""
    h = c["mamba_n_heads"]
    return h, (c.get("mamba_d_ssm") or c["mamba_expand"] * c["hidden_size"]) // h, c["mamba_n_groups"], c["mamba_d_state"]


def mamba_shapes(c, p):
    (h, e, g, s), d = mamba_sizes(c), c["hidden_size"]
    p, mixed = f"{p}{c.get('mixer', 'mamba')}.", h * e + 2 * g * s
    shapes = {p + "in_proj.weight": (h * e + mixed + h, d), p + "conv1d.weight": (mixed, 1, c["mamba_d_conv"]), p + "out_proj.weight": (d, h * e)}
    shapes = with_bias(shapes, [p + "conv1d"] * c["mamba_conv_bias"] + [p + "in_proj", p + "out_proj"] * c["mamba_proj_bias"])
    shapes |= {p + name: (h,) for name in ("A_log", "D", "dt_bias")}
    return shapes | ({p + "norm.weight": (h * e,)} if c.get("mamba_rms_norm", True) else {})


def mamba(c, w, p, x, eps):
    (h, e, g, s), (b, t, _), p = mamba_sizes(c), x.shape, f"{p}{c.get('mixer', 'mamba')}."
    made = linear(x * c.get("ssm_in_multiplier", 1), w, p + "in_proj")
    z, value, write, read, step = np.split(made, np.cumsum([h * e, h * e, g * s, g * s]), -1)
    z, value, write, read, step = (part * scale for part, scale in zip((z, value, write, read, step), c.get("ssm_multipliers", [1] * 5)))
    mixed = ACTIVATIONS[c["hidden_act"]](filtered(np.concatenate([value, write, read], -1), w, p + "conv1d"))
    value, write, read = np.split(mixed, np.cumsum([h * e, g * s]), -1)
    value = value.reshape(b, t, h, e)
    write, read = (np.repeat(y.reshape(b, t, g, s), h // g, 2) for y in (write, read))
    step = np.clip(np.logaddexp(0, step + w[p + "dt_bias"]), *c.get("time_step_limit", (0, np.inf)))
    decay, state, y = np.exp(-np.exp(w[p + "A_log"]) * step), np.zeros((b, h, e, s)), np.zeros((b, t, h, e))
    for i in range(t):
        state = state * decay[:, i, :, None, None] + np.einsum("bhe,bhs->bhes", value[:, i] * step[:, i, :, None], write[:, i])
        y[:, i] = np.einsum("bhes,bhs->bhe", state, read[:, i])
    y, gate = (y + value * w[p + "D"][:, None]).reshape(b, t, -1), ACTIVATIONS["silu"](z)
    if not c.get("mamba_rms_norm", True):
        return linear(y * gate, w, p + "out_proj")
    first = c.get("mamba_norm_before_gate", False)
    y = (y if first else y * gate).reshape(b, t, g if "mamba_rms_norm" in c else 1, -1)
    y = (y / np.sqrt((y * y).mean(-1, keepdims=True) + eps)).reshape(b, t, -1) * w[p + "norm.weight"]
    return linear(y * gate if first else y, w, p + "out_proj")


def selective_sizes(c):
    """Channels, numbers that each keeps, those of a step."""
    rank = c.get("time_step_rank", c.get("mamba_dt_rank"))
    return (c.get("expand", c.get("mamba_expand")) * c["hidden_size"], c.get("state_size", c.get("mamba_d_state")),
            -(-c["hidden_size"] // 16) if rank == "auto" else rank)


def selective_shapes(c, p):
    """Of Mamba, the first; `p` is the prefix of its own tensors."""
    (y, k, r), d = selective_sizes(c), c["hidden_size"]
    shapes = {p + "in_proj.weight": (2 * y, d), p + "conv1d.weight": (y, 1, c.get("conv_kernel", c.get("mamba_d_conv"))), p + "conv1d.bias": (y,),
              p + "D": (y,), p + "x_proj.weight": (r + 2 * k, y), p + "dt_proj.weight": (y, r), p + "dt_proj.bias": (y,), p + "A_log": (y, k),
              p + "out_proj.weight": (d, y)}
    if c["model_type"] == "jamba":
        shapes |= {p + "dt_layernorm.weight": (r,), p + "b_layernorm.weight": (k,), p + "c_layernorm.weight": (k,)}
    return with_bias(shapes, [p + "in_proj", p + "out_proj"] * c.get("use_bias", c.get("mamba_proj_bias")))


def selective(c, w, p, x, eps=None):
    """Gu and Dao 2023, "Mamba", algorithm 2; Falcon Mamba's and Jamba's have norms of steps, of what is written and of what is read."""
    (y, k, r), (b, t, _) = selective_sizes(c), x.shape
    eps = c.get("mixer_rms_eps", eps)
    normed = lambda z, name: z / np.sqrt((z * z).mean(-1, keepdims=True) + eps) * w.get(f"{p}{name}_layernorm.weight", 1) if eps else z
    u, z = np.split(linear(x, w, p + "in_proj"), 2, -1)
    u = ACTIVATIONS[c["hidden_act"]](filtered(u, w, p + "conv1d"))
    step, write, read = map(normed, np.split(linear(u, w, p + "x_proj"), np.cumsum([r, k]), -1), ("dt", "b", "c"))
    step = np.logaddexp(0, linear(step, w, p + "dt_proj"))
    state, made = np.zeros((b, y, k)), np.zeros((b, t, y))
    for i in range(t):
        decay = np.exp(-np.exp(w[p + "A_log"]) * step[:, i, :, None])
        state = state * decay + (step * u)[:, i, :, None] * write[:, i, None]
        made[:, i] = (state * read[:, i, None]).sum(-1)
    return linear((made + u * w[p + "D"]) * ACTIVATIONS["silu"](z), w, p + "out_proj")


def lightning_shapes(c, p):
    d, wide = c["hidden_size"], c["num_attention_heads"] * c["head_dim"]
    return {p + "qkv_proj.weight": (3 * wide, d), p + "output_gate.weight": (wide, d), p + "norm.weight": (wide,), p + "out_proj.weight": (d, wide),
            p + "slope_rate": (c["num_attention_heads"], 1, 1)}


def lightning(c, w, p, x):
    """Qin et al. 2024, "Lightning Attention-2": sums of products of keys and values, which fade by a number of the head and of the layer."""
    h, e, (b, t, _), n = c["num_attention_heads"], c["head_dim"], x.shape, int(p.split(".")[2])
    q, k, v = np.split(ACTIVATIONS[c["hidden_act"]](linear(x, w, p + "self_attn.qkv_proj")).reshape(b, t, h, 3 * e), 3, -1)
    fade = np.exp(-(2.0 ** (-8 * np.arange(1, h + 1) / h)) * (1 - n / (c["num_hidden_layers"] - 1 + 1e-5) + 1e-5))
    state, made = np.zeros((b, h, e, e)), np.zeros((b, t, h, e))
    for i in range(t):
        state = state * fade[:, None, None] + k[:, i, :, :, None] * v[:, i, :, None]
        made[:, i] = np.einsum("bhef,bhe->bhf", state, q[:, i])
    made = made.reshape(b, t, -1)
    made = made / np.sqrt((made * made).mean(-1, keepdims=True) + 1e-6) * w[p + "self_attn.norm.weight"]
    return linear(sigmoid(linear(x, w, p + "self_attn.output_gate")) * made, w, p + "self_attn.out_proj")


def delta_net_shapes(c, p):
    """By name; `p` is the layer's prefix."""
    (n, m, k, v, taps), d = sizes_of(c), c["hidden_size"]
    mixed = 2 * n * k + m * v
    maps = ({"in_proj_qkvz": mixed + m * v, "in_proj_ba": 2 * m} if c["model_type"] == "qwen3_next" else
            {"in_proj_qkv": mixed, "in_proj_z": m * v, "in_proj_a": m, "in_proj_b": m})
    shapes = {f"{p}linear_attn.{name}.weight": (size, d) for name, size in maps.items()}
    shapes |= {f"{p}linear_attn.{name}": (m,) for name in ("A_log", "dt_bias")}
    return shapes | {f"{p}linear_attn.conv1d.weight": (mixed, 1, taps), f"{p}linear_attn.norm.weight": (v,),
                     f"{p}linear_attn.out_proj.weight": (d, m * v)}


def projected(c, w, p, x):
    """Queries, keys and values side by side, [B, T, ...]; gates, decays and strengths of writing, by head of values."""
    (n, m, k, v, _), (b, t, _) = sizes_of(c), x.shape
    own = lambda name: linear(x, w, p + "linear_attn." + name)
    if c["model_type"] != "qwen3_next":
        return own("in_proj_qkv"), own("in_proj_z"), own("in_proj_a"), own("in_proj_b")
    share = m // n * v  # of a head of keys
    whole, both = own("in_proj_qkvz").reshape(b, t, n, -1), own("in_proj_ba").reshape(b, t, n, -1)
    q, key, value, z = np.split(whole, np.cumsum([k, k, share]), -1)
    beta, a = np.split(both, 2, -1)
    flat = lambda y: y.reshape(b, t, -1)
    return np.concatenate([flat(q), flat(key), flat(value)], -1), flat(z), flat(a), flat(beta)


def delta_net(c, w, p, x, eps):
    (n, m, k, v, _), (b, t, _) = sizes_of(c), x.shape
    mixed, z, a, beta = projected(c, w, p, x)
    mixed = ACTIVATIONS[c["hidden_act"]](filtered(mixed, w, p + "linear_attn.conv1d"))
    q, key, value = np.split(mixed, [n * k, 2 * n * k], -1)
    unit = lambda y: y / np.sqrt((y * y).sum(-1, keepdims=True) + 1e-6)
    q, key = (np.repeat(unit(y.reshape(b, t, n, k)), m // n, 2) for y in (q, key))
    value = value.reshape(b, t, m, v)
    decay = np.exp(-np.exp(w[p + "linear_attn.A_log"]) * np.logaddexp(0, a + w[p + "linear_attn.dt_bias"]))
    memory, read = np.zeros((b, m, k, v)), np.zeros((b, t, m, v))
    for step in range(t):
        memory = memory * decay[:, step, :, None, None]
        said = np.einsum("bmkv,bmk->bmv", memory, key[:, step])
        write = (value[:, step] - said) * sigmoid(beta[:, step])[..., None]
        memory = memory + key[:, step][..., None] * write[:, :, None]
        read[:, step] = np.einsum("bmkv,bmk->bmv", memory, q[:, step]) * k ** -0.5
    read = read / np.sqrt((read * read).mean(-1, keepdims=True) + eps) * w[p + "linear_attn.norm.weight"]
    return linear((read * ACTIVATIONS["silu"](z.reshape(b, t, m, v))).reshape(b, t, -1), w, p + "linear_attn.out_proj")
