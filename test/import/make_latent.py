# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small folders of families with latent keys and values or those of other layers, and of others whose experts stand in groups or are corrected: for
make.py, in its form."""
from gemma4 import gemma4_shapes
from llama4 import llama4_shapes

LATENT = dict(num_key_value_heads=6, kv_lora_rank=20, qk_nope_head_dim=10, qk_rope_head_dim=8, v_head_dim=14, tie_word_embeddings=False)
GROUPED = dict(n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3, moe_intermediate_size=24, first_k_dense_replace=1, n_group=4,
               topk_group=2, routed_scaling_factor=1.7)
LLAMA4 = dict(head_dim=12, num_local_experts=5, num_experts_per_tok=1, intermediate_size_mlp=56, attention_chunk_size=8, attn_scale=0.3,
              floor_scale=4, attn_temperature_tuning=True, attention_bias=False)
GEMMA4 = dict(head_dim=8, global_head_dim=16, sliding_window=6, vocab_size_per_layer_input=97, pad_token_id=0, hidden_activation="gelu_pytorch_tanh",
              tie_word_embeddings=True)


def gemma4(relative, **more):
    """With layers by turns that see a window and all."""
    config = {**relative("gemma4_text", "Gemma4", layer_types=["sliding_attention", "full_attention"] * 2, **GEMMA4, **more)[0]}
    return {key: value for key, value in config.items() if key not in ("hidden_act", "rope_theta")}, gemma4_shapes, {}


def latent_folders(relative, near):
    return {
        "deepseek-v2": relative("deepseek_v2", "DeepseekV2", **LATENT, **GROUPED, topk_method="group_limited_greedy", q_lora_rank=None,
                                mlp_bias=True),
        "deepseek-v2-lite": relative("deepseek_v2", "DeepseekV2", **LATENT, **{**GROUPED, "n_group": 1, "topk_group": 1}, topk_method="greedy",
                                     q_lora_rank=None),
        "deepseek-v3": relative("deepseek_v3", "DeepseekV3", **LATENT, **GROUPED, q_lora_rank=28, norm_topk_prob=True, attention_bias=True,
                                topk_method="noaux_tc", scoring_func="sigmoid", rope_scaling=dict(
                                    type="yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=8, beta_slow=1, mscale=1.0,
                                    mscale_all_dim=0.7)),
        "kimi-k2": relative("kimi_k2", "DeepseekV3", **LATENT, **{**GROUPED, "n_group": 1, "topk_group": 1}, q_lora_rank=28, norm_topk_prob=True,
                            topk_method="noaux_tc", scoring_func="sigmoid"),
        "glm4-moe-lite": relative("glm4_moe_lite", "Glm4MoeLite", **LATENT, **{**GROUPED, "n_group": 1, "topk_group": 1}, q_lora_rank=28,
                                  norm_topk_prob=True),
        "youtu": relative("youtu", "Youtu", **{**LATENT, "tie_word_embeddings": True}, q_lora_rank=28),
        "minicpm3": relative("minicpm3", "MiniCPM3", **{**LATENT, "v_head_dim": 8, "tie_word_embeddings": True}, q_lora_rank=28, scale_emb=3,
                             scale_depth=1.4, dim_model_base=20),
        "mistral4": relative("mistral4", "Mistral4", **LATENT, **GROUPED, q_lora_rank=28, norm_topk_prob=True, rope_parameters=dict(
            rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=8, beta_fast=8.0, beta_slow=1.0, mscale=1.0,
            mscale_all_dim=1.0, llama_4_scaling_beta=0.1)),
        "llama4": ({**relative("llama4_text", "Llama4", **LLAMA4, no_rope_layer_interval=3, interleave_moe_layer_step=2)[0]}, llama4_shapes, {}),
        "llama4-all": ({**relative("llama4_text", "Llama4", **LLAMA4, no_rope_layers=[1, 1, 0, 1], use_qk_norm=False, rope_scaling=dict(
            rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=1.0, original_max_position_embeddings=16))[0]},
                       llama4_shapes, {}),
        "gemma4": gemma4(relative, hidden_size_per_layer_input=12, num_kv_shared_layers=2, use_double_wide_mlp=True, final_logit_softcapping=30.0),
        "gemma4-last": gemma4(relative, hidden_size_per_layer_input=0, num_kv_shared_layers=1, rope_parameters=dict(
            sliding_attention=dict(rope_type="default", rope_theta=500.0),
            full_attention=dict(rope_type="proportional", rope_theta=1e5, partial_rotary_factor=0.5, factor=2.0))),
        "gemma4-experts": gemma4(relative, hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=3, enable_moe_block=True,
                                 num_experts=5, top_k_experts=2, moe_intermediate_size=16),
        "phimoe": relative("phimoe", "PhiMoE", attention_bias=True, lm_head_bias=True, num_local_experts=5, num_experts_per_tok=2,
                           router_jitter_noise=0.2, input_jitter_noise=0.0, sliding_window=None),
        "dots1": relative("dots1", "Dots1", head_dim=12, attention_bias=False, norm_topk_prob=True, sliding_window=None, **GROUPED),
        "solar-open": relative("solar_open", "SolarOpen", head_dim=12, attention_bias=False, norm_topk_prob=True, **{
            **GROUPED, "first_k_dense_replace": 0}),
        "exaone-moe": relative("exaone_moe", "ExaoneMoe", head_dim=12, num_experts=6, num_shared_experts=1, num_experts_per_tok=2,
                               moe_intermediate_size=24, norm_topk_prob=True, routed_scaling_factor=2.5, n_group=1, topk_group=1,
                               mlp_layer_types=["dense", "sparse", "sparse", "sparse"], **near),
        "ernie4-5-moe": relative("ernie4_5_moe", "Ernie4_5_Moe", use_bias=True, moe_num_experts=6, moe_k=2, moe_num_shared_experts=2,
                                 moe_intermediate_size=24, moe_layer_start_index=1, moe_layer_end_index=-1, moe_layer_interval=1, moe_norm_min=1e-12),
    }
