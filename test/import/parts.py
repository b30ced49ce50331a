# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders each of whose layers is one part, in NumPy: Nemotron H (NVIDIA 2025), whose layers are Mamba 2, attention, a feed-forward or experts,
and Mamba 2 (Dao and Gu 2024), Mamba (Gu and Dao 2023) and Falcon Mamba (Zuo et al. 2024) by themselves. The names and shapes of their tensors."""
import numpy as np

from hybrids import CONFIGS as HYBRIDS, mamba, mamba_shapes, selective, selective_shapes
from numpy_layers import heads_of, joined, linear, sigmoid, softmax

ONE_PART = ("nemotron_h", "mamba2", "mamba", "falcon_mamba")
WORDS = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
ONE = dict(eps="layer_norm_epsilon", mamba_num_heads=6, mamba_head_dim=16, n_groups=2, ssm_state_size=10, conv_kernel=4, chunk_size=256, head_dim=12,
           mlp_hidden_act="relu2", mamba_hidden_act="silu", attention_bias=False, mlp_bias=False, use_bias=False, use_conv_bias=True, expand=2,
           time_step_min=0.3)
SELECTIVE = dict(eps="layer_norm_epsilon", state_size=10, conv_kernel=4, expand=2, use_bias=False, use_conv_bias=True, time_step_rank="auto")
# Small models, for make.py: model_type, the name of the class, what the config says beside the usual.
PARTS = {
    "nemotron-h": ("nemotron_h", "NemotronH", dict(ONE, hybrid_override_pattern="M-M*-M", num_hidden_layers=6, use_bias=True)),
    "nemotron-3": ("nemotron_h", "NemotronH", dict(
        ONE, layers_block_type=["mamba", "moe", "attention", "moe", "mlp"], num_hidden_layers=5, n_routed_experts=6, num_experts_per_tok=3,
        moe_intermediate_size=24, moe_shared_expert_intermediate_size=56, moe_latent_size=20, routed_scaling_factor=1.5, norm_topk_prob=True)),
    "mamba2": ("mamba2", "Mamba2", dict(eps="layer_norm_epsilon", num_heads=6, head_dim=16, n_groups=2, state_size=10, conv_kernel=4, expand=2,
                                        chunk_size=256, use_bias=False, use_conv_bias=True, time_step_limit=[0.01, 0.5])),
    "mamba": ("mamba", "Mamba", dict(SELECTIVE, tie_word_embeddings=True)),
    "falcon-mamba": ("falcon_mamba", "FalconMamba", dict(SELECTIVE, time_step_rank=5, use_bias=True, mixer_rms_eps=1e-4)),
}

# All small models with recurrences; the shapes of what is not a decoder's of decoders.py.
CONFIGS = {**{name: (row, None) for name, row in HYBRIDS.items()}, **{name: (row, lambda c: part_shapes(c)) for name, row in PARTS.items()}}


def fitting(c):
    """A config without keys of attention, where there is none."""
    return c if c["model_type"] not in ONE_PART[1:] else {key: value for key, value in c.items() if key not in (
        "num_attention_heads", "num_key_value_heads", "intermediate_size", "max_position_embeddings", "rope_theta")}


def kinds(c):
    if c["model_type"] != "nemotron_h":
        return ["mamba" if c["model_type"] == "mamba2" else "selective"] * c["num_hidden_layers"]
    return c["layers_block_type"] if "layers_block_type" in c else [WORDS[letter] for letter in c["hybrid_override_pattern"]]


def as_mamba(c):
    """The config, as hybrids.py asks for it."""
    own = {"mixer": "mixer", "mamba_d_conv": c["conv_kernel"], "mamba_conv_bias": c["use_conv_bias"], "mamba_proj_bias": c["use_bias"],
           "mamba_n_groups": c["n_groups"]}
    if c["model_type"] == "mamba2":
        return {**c, **own, "mamba_n_heads": c["num_heads"], "mamba_d_state": c["state_size"], "mamba_expand": c["expand"]}
    return {**c, **own, "mamba_n_heads": c["mamba_num_heads"], "mamba_d_state": c["ssm_state_size"], "mamba_rms_norm": True,
            "mamba_d_ssm": c["mamba_num_heads"] * c["mamba_head_dim"], "hidden_act": c["mamba_hidden_act"],
            "time_step_limit": (c.get("time_step_min", 0.001), np.inf)}


def part_shapes(c):
    d = c["hidden_size"]
    shapes = {"backbone.embeddings.weight": (c["vocab_size"], d), "backbone.norm_f.weight": (d,)}
    if not c.get("tie_word_embeddings"):
        shapes["lm_head.weight"] = (c["vocab_size"], d)
    for n, kind in enumerate(kinds(c)):
        layer = f"backbone.layers.{n}."
        p, shapes[layer + "norm.weight"] = layer + "mixer.", (d,)
        if kind == "mamba":
            shapes |= mamba_shapes(as_mamba(c), layer)
        elif kind == "selective":
            shapes |= selective_shapes(c, p)
        elif kind == "attention":
            h, g, e = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
            shapes |= {p + "q_proj.weight": (h * e, d), p + "k_proj.weight": (g * e, d), p + "v_proj.weight": (g * e, d),
                       p + "o_proj.weight": (d, h * e)}
        elif kind == "mlp":
            shapes |= {p + "up_proj.weight": (c["intermediate_size"], d), p + "down_proj.weight": (d, c["intermediate_size"])}
        else:
            x, f, wide = c["n_routed_experts"], c["moe_intermediate_size"], c["moe_shared_expert_intermediate_size"]
            low = c.get("moe_latent_size") or d
            shapes |= {p + "gate.weight": (x, d), p + "gate.e_score_correction_bias": (x,), p + "shared_experts.up_proj.weight": (wide, d),
                       p + "shared_experts.down_proj.weight": (d, wide)}
            for own in (f"{p}experts.{i}." for i in range(x)):
                shapes |= {own + "up_proj.weight": (f, low), own + "down_proj.weight": (low, f)}
            if low != d:
                shapes |= {p + "fc1_latent_proj.weight": (low, d), p + "fc2_latent_proj.weight": (d, low)}
    return shapes


def squared(x, w, p):
    """A feed-forward whose activation is a square of what is positive."""
    return linear(np.maximum(linear(x, w, p + "up_proj"), 0) ** 2, w, p + "down_proj")


def moe(c, w, p, x):
    chances = sigmoid(linear(x, w, p + "gate"))
    order = np.argsort(-(chances + w[p + "gate.e_score_correction_bias"]), -1)[..., :c["num_experts_per_tok"]]
    kept = np.zeros_like(chances)
    np.put_along_axis(kept, order, np.take_along_axis(chances, order, -1), -1)
    kept *= c["routed_scaling_factor"] / kept.sum(-1, keepdims=True)
    low = linear(x, w, p + "fc1_latent_proj") if c.get("moe_latent_size") else x
    total = sum(kept[..., e:e + 1] * squared(low, w, f"{p}experts.{e}.") for e in range(chances.shape[-1]))
    return (linear(total, w, p + "fc2_latent_proj") if c.get("moe_latent_size") else total) + squared(x, w, p + "shared_experts.")


def seen_before(c, w, p, x):
    """Attention without positions."""
    h, g = c["num_attention_heads"], c["num_key_value_heads"]
    q, k, v = (heads_of(linear(x, w, f"{p}{name}_proj"), count) for name, count in (("q", h), ("k", g), ("v", g)))
    scores = q @ np.repeat(k, h // g, 1).transpose(0, 1, 3, 2) / np.sqrt(c["head_dim"])
    live = softmax(np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf))
    return linear(joined(live @ np.repeat(v, h // g, 1)), w, p + "o_proj")


def one_part(c, w, ids):
    eps = c["layer_norm_epsilon"]
    norm = lambda x, name: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w[name + ".weight"]
    x = w["backbone.embeddings.weight"][ids]
    for n, kind in enumerate(kinds(c)):
        layer = f"backbone.layers.{n}."
        p, y = layer + "mixer.", norm(x, layer + "norm")
        own = {"mamba": lambda: mamba(as_mamba(c), w, layer, y, eps), "selective": lambda: selective(c, w, p, y),
               "attention": lambda: seen_before(c, w, p, y), "mlp": lambda: squared(y, w, p), "moe": lambda: moe(c, w, p, y)}
        x = x + own[kind]()
    return {"scores": norm(x, "backbone.norm_f") @ w.get("lm_head.weight", w["backbone.embeddings.weight"]).T}
