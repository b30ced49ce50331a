# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configs of models with latent keys and values, and of others whose experts stand in groups or are corrected, as they were published: for
published_decoders.py, in its form. Layers that guess tokens ahead are not counted. The factors of LongRoPE are not those that were published."""


def llama4_decoders(config):
    def of(experts, layers, **more):
        return config("llama4_text", "Llama4", 5120, layers, 40, 8, 8192, 202048, 10485760, attention_bias=False, attention_chunk_size=8192,
                      attention_dropout=0.0, for_llm_compression=False, head_dim=128, intermediate_size_mlp=16384, no_rope_layers=[],
                      num_experts_per_tok=1, num_local_experts=experts, output_router_logits=False, rms_norm_eps=1e-5, rope_theta=500000.0,
                      router_aux_loss_coef=0.001, router_jitter_noise=0.0, **more)

    scout = of(16, 48, interleave_moe_layer_step=1, use_qk_norm=True, rope_scaling=dict(
        factor=16.0, high_freq_factor=1.0, low_freq_factor=1.0, original_max_position_embeddings=8192, rope_type="llama3"))
    maverick = of(128, 48, interleave_moe_layer_step=2, use_qk_norm=False, rope_scaling=None)
    return ({"meta-llama/Llama-4-Scout-17B-16E, the language model": (scout, 107769861120),
             "meta-llama/Llama-4-Maverick-17B-128E, the language model": (maverick, 400711848960)},
            {"meta-llama/Llama-4-Scout-17B-16E, the language model": 109, "meta-llama/Llama-4-Maverick-17B-128E, the language model": 400})


def latent_decoders(config):
    stretched = dict(beta_fast=32, beta_slow=1, original_max_position_embeddings=4096, type="yarn")
    deepseek = dict(attention_bias=False, attention_dropout=0.0, aux_loss_alpha=0.001, ep_size=1, kv_lora_rank=512, moe_layer_freq=1, pretraining_tp=1,
                    qk_nope_head_dim=128, qk_rope_head_dim=64, rms_norm_eps=1e-6, seq_aux=True, use_cache=True, v_head_dim=128)
    third = dict(deepseek, norm_topk_prob=True, num_nextn_predict_layers=1, scoring_func="sigmoid", topk_method="noaux_tc")
    second = dict(deepseek, norm_topk_prob=False, rope_theta=10000, scoring_func="softmax", rope_scaling=dict(
        stretched, factor=40, mscale=0.707, mscale_all_dim=0.707))
    models = {
        "deepseek-ai/DeepSeek-V2-Lite": (config(
            "deepseek_v2", "DeepseekV2", 2048, 27, 16, 16, 10944, 102400, 163840, **second, first_k_dense_replace=1, moe_intermediate_size=1408,
            n_group=1, n_routed_experts=64, n_shared_experts=2, num_experts_per_tok=6, q_lora_rank=None, routed_scaling_factor=1.0, topk_group=1,
            topk_method="greedy"), 15706484224),
        "deepseek-ai/DeepSeek-V2": (config(
            "deepseek_v2", "DeepseekV2", 5120, 60, 128, 128, 12288, 102400, 163840, **second, first_k_dense_replace=1, moe_intermediate_size=1536,
            n_group=8, n_routed_experts=160, n_shared_experts=2, num_experts_per_tok=6, q_lora_rank=1536, routed_scaling_factor=16.0, topk_group=3,
            topk_method="group_limited_greedy"), 235741434880),
        "deepseek-ai/DeepSeek-V3": (config(
            "deepseek_v3", "DeepseekV3", 7168, 61, 128, 128, 18432, 129280, 163840, **third, first_k_dense_replace=3, moe_intermediate_size=2048,
            n_group=8, n_routed_experts=256, n_shared_experts=1, num_experts_per_tok=8, q_lora_rank=1536, rope_theta=10000,
            routed_scaling_factor=2.5, topk_group=4, rope_scaling=dict(stretched, factor=40, mscale=1.0, mscale_all_dim=1.0)), 671026419200),
        "moonshotai/Kimi-K2-Instruct": (config(
            "kimi_k2", "DeepseekV3", 7168, 61, 64, 64, 18432, 163840, 131072, **{**third, "num_nextn_predict_layers": 0}, first_k_dense_replace=1,
            moe_intermediate_size=2048, n_group=1, n_routed_experts=384, n_shared_experts=1, num_experts_per_tok=8, q_lora_rank=1536,
            rope_theta=50000.0, routed_scaling_factor=2.827, topk_group=1, rope_scaling=dict(
                beta_fast=1.0, beta_slow=1.0, factor=32.0, mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=4096, type="yarn")),
                                        1026408232448),
        "zai-org/GLM-4.7-Flash": (config(
            "glm4_moe_lite", "Glm4MoeLite", 2048, 47, 20, 20, 10240, 154880, 202752, attention_bias=False, attention_dropout=0.0,
            first_k_dense_replace=1, kv_lora_rank=512, moe_intermediate_size=1536, n_group=1, n_routed_experts=64, n_shared_experts=1,
            norm_topk_prob=True, num_experts_per_tok=4, num_nextn_predict_layers=1, partial_rotary_factor=1.0, q_lora_rank=768,
            qk_nope_head_dim=192, qk_rope_head_dim=64, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=1000000, routed_scaling_factor=1.8,
            topk_group=1, topk_method="noaux_tc", v_head_dim=256), 29943393920),
        "tencent/Youtu-LLM-2B": (config(
            "youtu", "Youtu", 2048, 32, 16, 16, 6144, 128256, 131072, attention_bias=False, attention_dropout=0.0, kv_lora_rank=512,
            q_lora_rank=1536, qk_nope_head_dim=128, qk_rope_head_dim=64, rms_norm_eps=1e-6, rope_interleave=True, rope_scaling=None,
            rope_theta=1600000, tie_word_embeddings=True, v_head_dim=128), 1961560064),
        "openbmb/MiniCPM3-4B": (config(
            "minicpm3", "MiniCPM3", 2560, 62, 40, 40, 6400, 73448, 32768, attention_bias=False, dim_model_base=256, kv_lora_rank=256,
            q_lora_rank=768, qk_nope_head_dim=64, qk_rope_head_dim=32, rms_norm_eps=1e-5, scale_depth=1.4, scale_emb=12,
            tie_word_embeddings=True, rope_scaling=dict(type="longrope", long_factor=[1.0 + 0.1 * i for i in range(16)], short_factor=[
                1.0 + 0.1 * i for i in range(16)], original_max_position_embeddings=32768)), 4073875968),
        "rednote-hilab/dots.llm1.inst": (config(
            "dots1", "Dots1", 4096, 62, 32, 32, 10944, 152064, 32768, attention_bias=False, attention_dropout=0.0, first_k_dense_replace=1,
            moe_intermediate_size=1408, moe_layer_freq=1, n_group=1, n_routed_experts=128, n_shared_experts=2, norm_topk_prob=True,
            num_experts_per_tok=6, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10000000, routed_scaling_factor=2.5, scoring_func="noaux_tc",
            sliding_window=None, topk_group=1), 142774381696),
        "baidu/ERNIE-4.5-21B-A3B-PT": (config(
            "ernie4_5_moe", "Ernie4_5_Moe", 2560, 28, 20, 4, 12288, 103424, 131072, moe_capacity=[64, 64, 64], moe_gate="topk",
            moe_intermediate_size=1536, moe_k=6, moe_layer_interval=1, moe_layer_start_index=1, moe_num_experts=64, moe_num_shared_experts=2,
            moe_use_aux_free=True, num_nextn_predict_layers=1, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=500000.0,
            tie_word_embeddings=True, use_bias=False), 21825437888),
        "microsoft/Phi-3.5-MoE-instruct": (config(
            "phimoe", "PhiMoE", 4096, 32, 32, 8, 6400, 32064, 131072, attention_bias=True, attention_dropout=0.0, hidden_dropout=0.0,
            input_jitter_noise=0.01, lm_head_bias=True, num_experts_per_tok=2, num_local_experts=16, original_max_position_embeddings=4096,
            output_router_logits=False, rms_norm_eps=1e-5, rope_theta=10000.0, router_aux_loss_coef=0.0, router_jitter_noise=0.01,
            sliding_window=131072, rope_scaling=dict(type="longrope", long_factor=[1.0 + 0.5 * i for i in range(64)], short_factor=[
                1.0 + 0.05 * i for i in range(64)], long_mscale=1.243163121016122, short_mscale=1.243163121016122,
                original_max_position_embeddings=4096)), 41873153344),
        "upstage/Solar-Open-100B": (config(
            "solar_open", "SolarOpen", 4096, 48, 64, 8, 10240, 196608, 131072, attention_bias=False, attention_dropout=0.0,
            first_k_dense_replace=0, head_dim=128, moe_intermediate_size=1280, n_group=1, n_routed_experts=128, n_shared_experts=1,
            norm_topk_prob=True, num_experts_per_tok=8, partial_rotary_factor=1.0, rms_norm_eps=1e-5, rope_theta=1000000,
            routed_scaling_factor=1.0, topk_group=1), 102651799552),
    }
    return models, {"zai-org/GLM-4.7-Flash": 30, "tencent/Youtu-LLM-2B": 1.96, "openbmb/MiniCPM3-4B": 4, "upstage/Solar-Open-100B": 102}
