# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configs of Llama's relatives as they were published, for published.py: the model, its config, and how many parameters it is known to have."""
from decoders import decoder_shapes


def config(model_type, architecture, width, layers, heads, groups, hidden, vocabulary, positions, **more):
    return dict(architectures=[architecture + "ForCausalLM"], model_type=model_type, hidden_size=width, num_hidden_layers=layers,
                num_attention_heads=heads, num_key_value_heads=groups, intermediate_size=hidden, vocab_size=vocabulary,
                max_position_embeddings=positions, **{"hidden_act": "silu", "tie_word_embeddings": False, **more})


BARE = dict(attention_bias=False, mlp_bias=False)
DECODERS = {
    "HuggingFaceTB/SmolLM3-3B": (config(
        "smollm3", "SmolLM3", 2048, 36, 16, 4, 11008, 128256, 65536, **BARE, rms_norm_eps=1e-6, rope_theta=5000000.0, tie_word_embeddings=True,
        layer_types=["full_attention"] * 36, max_window_layers=28, no_rope_layer_interval=4, no_rope_layers=[1, 1, 1, 0] * 9,
        use_sliding_window=False, sliding_window=None, rope_scaling=None, pretraining_tp=2), 3075098624),
    "allenai/OLMo-1B-hf": (config("olmo", "Olmo", 2048, 16, 16, 16, 8192, 50304, 2048, attention_bias=False, clip_qkv=None, rope_theta=10000.0,
                                  rope_scaling=None, tie_word_embeddings=True), 1176764416),
    "allenai/OLMo-2-1124-7B": (config("olmo2", "Olmo2", 4096, 32, 32, 32, 11008, 100352, 4096, attention_bias=False, rms_norm_eps=1e-6,
                                      rope_theta=500000, rope_scaling=None), 7298617344),
    "allenai/Olmo-3-1025-7B": (config(
        "olmo3", "Olmo3", 4096, 32, 32, 32, 11008, 100278, 65536, attention_bias=False, rms_norm_eps=1e-6, rope_theta=500000, sliding_window=4096,
        layer_types=["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"] * 8, rope_scaling=dict(
            attention_factor=1.2079441541679836, beta_fast=32.0, beta_slow=1.0, factor=8.0, original_max_position_embeddings=8192,
            rope_type="yarn")), 7298011136),
    "allenai/OLMoE-1B-7B-0924": (config(
        "olmoe", "Olmoe", 2048, 16, 16, 16, 1024, 50304, 4096, attention_bias=False, clip_qkv=None, norm_topk_prob=False, num_experts=64,
        num_experts_per_tok=8, output_router_logits=False, rms_norm_eps=1e-5, rope_theta=10000.0, router_aux_loss_coef=0.01), 6919161856),
    "Qwen/Qwen1.5-MoE-A2.7B": (config(
        "qwen2_moe", "Qwen2Moe", 2048, 24, 16, 16, 5632, 151936, 8192, decoder_sparse_step=1, max_window_layers=21, moe_intermediate_size=1408,
        norm_topk_prob=False, num_experts=60, num_experts_per_tok=4, output_router_logits=False, rms_norm_eps=1e-6, rope_theta=1000000.0,
        router_aux_loss_coef=0.001, shared_expert_intermediate_size=5632, sliding_window=32768, use_sliding_window=False), 14315784192),
    "ibm-granite/granite-3.1-2b-instruct": (config(
        "granite", "Granite", 2048, 40, 32, 8, 8192, 49155, 131072, **BARE, rms_norm_eps=1e-5, rope_theta=5000000.0, rope_scaling=None,
        attention_multiplier=0.015625, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22, tie_word_embeddings=True),
                                            2533531648),
    "ByteDance-Seed/Seed-OSS-36B-Instruct": (config(
        "seed_oss", "SeedOss", 5120, 64, 80, 8, 27648, 155136, 524288, attention_bias=True, attention_out_bias=False, attention_dropout=0.1,
        head_dim=128, mlp_bias=False, residual_dropout=0.1, rms_norm_eps=1e-6, rope_theta=10000000.0, rope_scaling=dict(rope_type="default")),
                                             36151104512),
    "LGAI-EXAONE/EXAONE-4.0-1.2B": (config(
        "exaone4", "Exaone4", 2048, 30, 32, 8, 4096, 102400, 65536, head_dim=64, layer_types=["full_attention"] * 30, rms_norm_eps=1e-5,
        rope_theta=1000000, sliding_window=None, sliding_window_pattern=None, tie_word_embeddings=True, rope_scaling=dict(
            factor=16.0, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=8192, rope_type="llama3")), 1279391488),
    "baidu/ERNIE-4.5-0.3B-PT": (config("ernie4_5", "Ernie4_5", 1024, 18, 16, 2, 3072, 103424, 131072, head_dim=128, rms_norm_eps=1e-5,
                                       rope_theta=500000, use_bias=False, tie_word_embeddings=True), 360748032),
    "tencent/Hunyuan-0.5B-Instruct": (config(
        "hunyuan_v1_dense", "HunYuanDenseV1", 1024, 24, 16, 8, 3584, 120818, 262144, attention_bias=False, head_dim=128, rms_norm_eps=1e-5,
        rope_theta=10000.0, tie_word_embeddings=True, rope_scaling=dict(
            alpha=1000.0, beta_fast=32, beta_slow=1, factor=1.0, mscale=1.0, mscale_all_dim=1.0, type="dynamic")), 539010048),
    "zai-org/glm-4-9b-chat-hf": (config("glm", "Glm", 4096, 40, 32, 2, 13696, 151552, 131072, attention_bias=True, head_dim=128,
                                        partial_rotary_factor=0.5, rms_norm_eps=1.5625e-7, rope_theta=10000.0), 9399951360),
    "zai-org/GLM-4-9B-0414": (config("glm4", "Glm4", 4096, 40, 32, 2, 13696, 151552, 32768, attention_bias=True, head_dim=128,
                                     partial_rotary_factor=0.5, rms_norm_eps=1e-5, rope_theta=10000.0), 9400279040),
    "mistralai/Ministral-8B-Instruct-2410": (config(
        "ministral", "Ministral", 4096, 36, 32, 8, 12288, 131072, 32768, head_dim=128, rms_norm_eps=1e-5, rope_theta=100000000.0,
        sliding_window=32768, layer_types=["full_attention", *["sliding_attention"] * 3] * 9), 8019808256),
    "mistralai/Ministral-3-3B-Base-2512": (config(
        "ministral3", "Ministral3", 3072, 26, 32, 8, 9216, 131072, 262144, head_dim=128, rms_norm_eps=1e-5, sliding_window=None,
        tie_word_embeddings=True, rope_parameters=dict(
            beta_fast=32.0, beta_slow=1.0, factor=16.0, llama_4_scaling_beta=0.1, mscale=1.0, mscale_all_dim=1.0,
            original_max_position_embeddings=16384, rope_theta=1000000.0, rope_type="yarn", type="yarn")), 3429006336),
    "kyutai/helium-1-preview-2b": (config("helium", "Helium", 2560, 24, 20, 20, 7040, 48000, 4096, **BARE, head_dim=128, rms_norm_eps=1e-8,
                                          rope_theta=100000.0), 2172643840),
    "arcee-ai/AFM-4.5B": (config(
        "arcee", "Arcee", 2560, 36, 20, 4, 18432, 128004, 65536, **BARE, head_dim=128, hidden_act="relu2", rms_norm_eps=1e-5, rope_theta=10000.0,
        rope_scaling=dict(beta_fast=32.0, beta_slow=1.0, factor=20.0, mscale=1.0, original_max_position_embeddings=4096, rope_type="yarn",
                          type="yarn")), 4619184640),
    "nvidia/Nemotron-Mini-4B-Instruct": (config("nemotron", "Nemotron", 3072, 32, 24, 8, 9216, 256000, 4096, **BARE, head_dim=128,
                                                hidden_act="relu2", norm_eps=1e-5, partial_rotary_factor=0.5, rope_theta=10000), 4190509056),
    "bigcode/starcoder2-3b": (config(
        "starcoder2", "Starcoder2", 3072, 30, 24, 2, 12288, 49152, 16384, hidden_act="gelu_pytorch_tanh", norm_epsilon=1e-5,
        norm_type="layer_norm", mlp_type="default", residual_dropout=0.1, embedding_dropout=0.1, rope_theta=999999.4420358813,
        sliding_window=4096, use_bias=True, tie_word_embeddings=True), 3030371328),
    "stabilityai/stablelm-2-1_6b": (config(
        "stablelm", "StableLm", 2048, 24, 32, 32, 5632, 100352, 4096, layer_norm_eps=1e-5, partial_rotary_factor=0.25, qk_layernorm=False,
        rope_theta=10000, rotary_scaling_factor=1.0, use_parallel_residual=False, use_qkv_bias=True), 1644515328),
    "microsoft/phi-2": (config("phi", "Phi", 2560, 32, 32, 32, 10240, 51200, 2048, hidden_act="gelu_new", layer_norm_eps=1e-5, embd_pdrop=0.0,
                               partial_rotary_factor=0.4, qk_layernorm=False, resid_pdrop=0.1, rope_scaling=None, rope_theta=10000.0), 2779683840),
    "CohereForAI/c4ai-command-r-v01": (config(
        "cohere", "Cohere", 8192, 40, 64, 64, 22528, 256000, 8192, attention_bias=False, layer_norm_eps=1e-5, logit_scale=0.0625,
        model_max_length=131072, rope_theta=8000000.0, tie_word_embeddings=True, use_qk_norm=False), 34980831232),
    "CohereForAI/c4ai-command-r7b-12-2024": (config(
        "cohere2", "Cohere2", 4096, 32, 32, 8, 14336, 256000, 8192, attention_bias=False, cache_implementation="hybrid", head_dim=128,
        layer_norm_eps=1e-5, layer_switch=4, logit_scale=0.25, order_of_interleaved_layers="local_attn_first", position_embedding_type="rope_gptj",
        rope_scaling=None, rope_theta=50000, rotary_pct=1.0, sliding_window=4096, sliding_window_pattern=4, use_embedding_sharing=True,
        use_gated_activation=True, use_parallel_block=True, use_parallel_embedding=True, tie_word_embeddings=True), 8028033024),
}
PUBLISHED_DECODERS = {model: (config, decoder_shapes, count) for model, (config, count) in DECODERS.items()}
