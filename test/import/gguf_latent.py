# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with latent keys and values, and others whose experts stand in groups or are corrected, as llama.cpp's converter writes them: for gguf.py."""
import numpy as np

LATENT = dict(num_key_value_heads=4, q_lora_rank=256, kv_lora_rank=256, qk_nope_head_dim=32, qk_rope_head_dim=32, v_head_dim=64)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0, mscale=0.7, mscale_all_dim=0.7)
LATENT_NAMES = {"self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b",
                "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm", "self_attn.kv_b_proj": "attn_kv_b",
                **{f"mlp.shared_experts.{map_}_proj": f"ffn_{map_}_shexp" for map_ in ("gate", "up", "down")}}


def latent_models(relative):
    """Those with `is_absorbed` have the maps of keys and of values apart, as newer files do."""
    experts = dict(intermediate_size=512, moe_intermediate_size=256)
    return {
        "gguf-deepseek2": ("deepseek2", relative("deepseek-v3", **LATENT, **experts, attention_bias=False, rope_scaling=YARN, rms_norm_eps=1e-6)),
        "gguf-deepseek2-absorbed": ("deepseek2", relative("deepseek-v3", **LATENT, **experts, attention_bias=False, rope_scaling=None,
                                                          is_absorbed=True, rms_norm_eps=1e-6)),
        "gguf-deepseek2-lite": ("deepseek2", relative("deepseek-v2-lite", **{**LATENT, "q_lora_rank": None}, **experts, rms_norm_eps=1e-6)),
        "gguf-minicpm3": ("minicpm3", relative("minicpm3", **LATENT, scale_emb=12, dim_model_base=256, rms_norm_eps=1e-6)),
        "gguf-glm4moe": ("glm4moe", relative("glm4-moe", **experts, partial_rotary_factor=0.5)),
        "gguf-dots1": ("dots1", relative("dots1", **experts, n_group=1, topk_group=1)),
        "gguf-ernie4_5-moe": ("ernie4_5-moe", relative("ernie4-5-moe", **experts, use_bias=False)),
    }


def latent_values(c):
    """What is said of a model, besides what all say; null of what is not said."""
    def said(*keys):
        return next((c[key] for key in keys if c.get(key) is not None), None)

    values = {}
    if "kv_lora_rank" in c:
        whole, turned = c["qk_nope_head_dim"] + c["qk_rope_head_dim"], c["qk_rope_head_dim"]
        values = {"attention.q_lora_rank": c["q_lora_rank"], "attention.kv_lora_rank": c["kv_lora_rank"], "rope.dimension_count": turned,
                  "attention.key_length": whole, "attention.value_length": c["v_head_dim"]}
        if c.get("is_absorbed"):
            values |= {"attention.key_length_mla": whole, "attention.value_length_mla": c["v_head_dim"], "attention.head_count_kv": 1,
                       "attention.key_length": c["kv_lora_rank"] + turned, "attention.value_length": c["kv_lora_rank"]}
        if c.get("rope_scaling"):
            values["rope.scaling.yarn_log_multiplier"] = 0.1 * c["rope_scaling"]["mscale_all_dim"]
    if "moe_num_experts" in c:
        values |= {"expert_shared_feed_forward_length": c["moe_num_shared_experts"] * c["moe_intermediate_size"],
                   "interleave_moe_layer_step": c["moe_layer_interval"]}
    elif "n_routed_experts" in c or "num_shared_experts" in c:
        gating = 1 if c["model_type"] == "deepseek_v2" else 2
        values |= {"expert_weights_norm": c.get("norm_topk_prob", False), "expert_weights_scale": c["routed_scaling_factor"],
                   "expert_gating_func": gating, "expert_group_count": c["n_group"], "expert_group_used_count": c["topk_group"]}
    return {**values, "leading_dense_block_count": said("first_k_dense_replace", "moe_layer_start_index"),
            "expert_shared_count": said("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")}


def maps_apart(c, value):
    """The maps of keys, the other way round, and of values, of one that is packed head by head."""
    heads = value.reshape(c["num_attention_heads"], -1, value.shape[-1])
    keys, values = np.split(heads, [c["qk_nope_head_dim"]], 1)
    return {"attn_k_b": np.ascontiguousarray(keys.transpose(0, 2, 1)), "attn_v_b": np.ascontiguousarray(values)}
