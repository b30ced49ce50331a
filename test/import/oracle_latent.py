# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Families with latent keys and values, and others whose experts stand in groups, or are corrected: for oracle_families.py, in its form."""
YARN = dict(rope_type="yarn", rope_theta=1e4, factor=4.0, original_max_position_embeddings=16, beta_fast=8.0, beta_slow=1.0)


def latent_families(llama, near, decoder):
    latent = {**llama, "num_hidden_layers": 3, "num_key_value_heads": 4, "q_lora_rank": 20, "kv_lora_rank": 24, "qk_nope_head_dim": 10,
              "qk_rope_head_dim": 8, "v_head_dim": 12}
    experts = {"n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 3, "moe_intermediate_size": 24, "routed_scaling_factor": 1.7}
    grouped = {**experts, "n_group": 4, "topk_group": 2}
    return {
        "deepseek_v3": ("DeepseekV3ForCausalLM", {**latent, **grouped, "first_k_dense_replace": 1}, decoder),
        "deepseek_v3, no rank of queries": ("DeepseekV3ForCausalLM", {
            **latent, **grouped, "first_k_dense_replace": 1, "q_lora_rank": None, "norm_topk_prob": False, "attention_bias": True,
            "rope_interleave": False, "rope_parameters": {**YARN, "mscale": 1.0, "mscale_all_dim": 0.7}}, decoder),
        "deepseek_v2": ("DeepseekV2ForCausalLM", {**latent, **grouped, "first_k_dense_replace": 1, "topk_method": "group_limited_greedy"}, decoder),
        "deepseek_v2, greedy": ("DeepseekV2ForCausalLM", {
            **latent, **grouped, "first_k_dense_replace": 1, "q_lora_rank": None, "topk_method": "greedy", "n_group": None, "topk_group": None,
            "mlp_bias": True, "rope_parameters": {**YARN, "mscale": 0.707, "mscale_all_dim": 0.707}}, decoder),
        "glm4_moe_lite": ("Glm4MoeLiteForCausalLM", {**latent, **grouped}, decoder),
        "youtu": ("YoutuForCausalLM", latent, decoder),
        "minicpm3": ("MiniCPM3ForCausalLM", {**latent, "scale_emb": 3, "scale_depth": 1.7, "dim_model_base": 20}, decoder),
        "mistral4": ("Mistral4ForCausalLM", {**latent, **grouped, "first_k_dense_replace": 1, "rope_parameters": {
            **YARN, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 4, "llama_4_scaling_beta": 0.1,
            "partial_rotary_factor": 8 / 18}}, decoder),
        "llama4_text": ("Llama4ForCausalLM", {**llama, "num_hidden_layers": 4, "head_dim": 8, "num_local_experts": 4, "intermediate_size_mlp": 40,
                                              "attention_chunk_size": 5, "floor_scale": 4, "interleave_moe_layer_step": 2}, decoder),
        "phimoe": ("PhimoeForCausalLM", {**llama, "num_local_experts": 5, "num_experts_per_tok": 2, "router_jitter_noise": 0.2,
                                         "attention_bias": True, "lm_head_bias": True}, decoder),
        "dots1": ("Dots1ForCausalLM", {**llama, **grouped, "head_dim": 8, "first_k_dense_replace": 1, "sliding_window": 5, "layer_types": [
            "full_attention", "sliding_attention"]}, decoder),
        "solar_open": ("SolarOpenForCausalLM", {**llama, **grouped, "head_dim": 8}, decoder),
        "exaone_moe": ("ExaoneMoeForCausalLM", {**llama, **near, "head_dim": 8, "num_experts": 8, "num_shared_experts": 2, "num_experts_per_tok": 3,
                                                "moe_intermediate_size": 24, "n_group": 4, "topk_group": 2}, decoder),
        "ernie4_5_moe": ("Ernie4_5_MoeForCausalLM", {**llama, "num_hidden_layers": 3, "moe_num_experts": 6, "moe_k": 2, "moe_num_shared_experts": 2,
                                                     "moe_intermediate_size": 24}, decoder),
        "ernie4_5_moe, biases": ("Ernie4_5_MoeForCausalLM", {
            **llama, "num_hidden_layers": 5, "moe_num_experts": 6, "moe_k": 2, "moe_num_shared_experts": 0, "moe_intermediate_size": 24,
            "use_bias": True, "moe_layer_interval": 2, "moe_layer_end_index": 3}, decoder),
    }
