# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Latent keys and values (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1), in NumPy, with keys and values of all heads written out, and the names and
shapes of their tensors; which experts of a row count where they stand in groups."""
import numpy as np

from numpy_layers import frequencies, linear, rotate, softmax, strength

PUBLISHED = 1e-6  # what norms within attention add, whatever the config says


def is_latent(c):
    return "kv_lora_rank" in c


def sizes_of(c):
    """Heads, ranks of queries and of keys and values, features of keys that do not turn and that do, of values."""
    h = c["num_attention_heads"]
    return (h, c["q_lora_rank"], c["kv_lora_rank"], c["qk_nope_head_dim"], c["qk_rope_head_dim"], c.get("v_head_dim") or c["hidden_size"] // h)


def latent_shapes(c, p):
    (h, queries, rank, plain, turned, values), d = sizes_of(c), c["hidden_size"]
    maps = {"kv_a_proj_with_mqa": (rank + turned, d), "kv_b_proj": (h * (plain + values), rank), "o_proj": (d, h * values), "kv_a_layernorm": (rank,)}
    if queries:
        maps |= {"q_a_proj": (queries, d), "q_a_layernorm": (queries,), "q_b_proj": (h * (plain + turned), queries)}
    else:
        maps["q_proj"] = (h * (plain + turned), d)
    shapes = {f"{p}self_attn.{name}.weight": shape for name, shape in maps.items()}
    if c.get("attention_bias"):
        biased = ["kv_a_proj_with_mqa", "o_proj"] + ["q_a_proj"] * bool(queries)
        shapes |= {f"{p}self_attn.{name}.bias": maps[name][:1] for name in biased}
    return shapes


def normed(x, w, name):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + PUBLISHED) * w[name + ".weight"]


def latent_attention(c, w, p, y):
    h, queries, rank, plain, turning, values = sizes_of(c)
    (b, t, _), p = y.shape, p + "self_attn."
    q = linear(normed(linear(y, w, p + "q_a_proj"), w, p + "q_a_layernorm"), w, p + "q_b_proj") if queries else linear(y, w, p + "q_proj")
    q = q.reshape(b, t, h, plain + turning).transpose(0, 2, 1, 3)
    both = linear(y, w, p + "kv_a_proj_with_mqa")
    whole = linear(normed(both[..., :rank], w, p + "kv_a_layernorm"), w, p + "kv_b_proj").reshape(b, t, h, plain + values).transpose(0, 2, 1, 3)
    own = {"rope_type": "default", "original_max_position_embeddings": c["max_position_embeddings"], "rope_theta": c.get("rope_theta", 10000.0),
           **(c.get("rope_scaling") or c.get("rope_parameters") or {})}
    own["rope_type"] = own.pop("type", own["rope_type"])
    angles, scale = frequencies(turning, own["rope_theta"], own), (plain + turning) ** -0.5

    def turned(x):
        if c["model_type"] == "minicpm3" or not c.get("rope_interleave", True):
            return rotate(x, angles, strength(c, own))
        return rotate(np.concatenate([x[..., ::2], x[..., 1::2]], -1), angles, strength(c, own))  # both sides in the same other order

    if own["rope_type"] != "default" and own.get("mscale_all_dim"):
        scale *= (0.1 * own["mscale_all_dim"] * np.log(own["factor"]) + 1) ** 2
    if own.get("llama_4_scaling_beta"):
        q = q * (1 + own["llama_4_scaling_beta"] * np.log(1 + np.arange(t)[:, None] // own["original_max_position_embeddings"]))
    keys = np.broadcast_to(turned(both[:, None, :, rank:]), (b, h, t, turning))
    scores = (q[..., :plain] @ whole[..., :plain].transpose(0, 1, 3, 2) + turned(q[..., plain:]) @ keys.transpose(0, 1, 3, 2)) * scale
    live = softmax(np.where(np.tril(np.ones((t, t), bool)), scores, -np.inf))
    return linear((live @ whole[..., plain:]).transpose(0, 2, 1, 3).reshape(b, t, h * values), w, p + "o_proj")


def of_groups(c, ranked):
    """What is left of experts where those of some groups alone count: by the best one of a group in DeepSeek V2, else by the best two."""
    groups = c.get("n_group") or 1
    if groups == 1 or c.get("topk_method") == "greedy":
        return ranked
    each = ranked.reshape(*ranked.shape[:-1], groups, -1)
    worth = np.sort(each, -1)[..., -1 if c["model_type"] == "deepseek_v2" else slice(-2, None)].reshape(*each.shape[:-1], -1).sum(-1)
    counts = np.zeros(worth.shape, bool)
    np.put_along_axis(counts, np.argsort(-worth, -1)[..., :c["topk_group"]], True, -1)
    return np.where(counts[..., None], each, -np.inf).reshape(ranked.shape)
