# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configs of Llama's and GPT's relatives as they were published, for published.py: the model, its config, and how many parameters it is known to have.
Of those in ROUNDED no more is known than billions: their config was written from memory, and their parameters were counted from it."""
from decoders import decoder_shapes
from gpts import gpt_shapes
from llama4 import llama4_shapes
from published_latent import latent_decoders, llama4_decoders
from parts import part_shapes


def config(model_type, architecture, width, layers, heads, groups, hidden, vocabulary, positions, **more):
    return dict(architectures=[architecture + "ForCausalLM"], model_type=model_type, hidden_size=width, num_hidden_layers=layers,
                num_attention_heads=heads, num_key_value_heads=groups, intermediate_size=hidden, vocab_size=vocabulary,
                max_position_embeddings=positions, **{"hidden_act": "silu", "tie_word_embeddings": False, **more})


NETS = dict(attention_bias=False, attention_dropout=0.0, head_dim=256, linear_conv_kernel_dim=4, linear_key_head_dim=128, rms_norm_eps=1e-6,
            linear_value_head_dim=128, linear_num_key_heads=16, full_attention_interval=4)
TURNS = dict(rope_parameters=dict(mrope_interleaved=True, mrope_section=[11, 11, 10], partial_rotary_factor=0.25, rope_theta=10000000,
                                  rope_type="default"))
BARE = dict(attention_bias=False, mlp_bias=False)
STATES = dict(attention_bias=False, mamba_chunk_size=256, mamba_conv_bias=True, mamba_d_conv=4, mamba_d_head=64, mamba_d_state=128, mamba_expand=2,
              mamba_n_groups=1, mamba_proj_bias=False)
GRANITE4 = dict(**STATES, attention_dropout=0.0, attention_multiplier=0.0078125, embedding_multiplier=12, residual_multiplier=0.22, rms_norm_eps=1e-5,
                layer_types=["attention" if n % 10 == 5 else "mamba" for n in range(40)], normalization_function="rmsnorm",
                output_router_logits=False, position_embedding_type="nope", rope_scaling=None, rope_theta=10000, router_aux_loss_coef=0.0,
                tie_word_embeddings=True)
CONVOLVED = dict(block_auto_adjust_ff_dim=True, block_ffn_dim_multiplier=1.0, block_mlp_init_scale=1.0, block_multiple_of=256, block_norm_eps=1e-5,
                 block_out_init_scale=1.0, block_use_swiglu=True, block_use_xavier_init=True, conv_L_cache=3, conv_bias=False,
                 conv_use_xavier_init=True, norm_eps=1e-5, rope_theta=1000000.0, use_pos_enc=True, tie_word_embeddings=True)
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
    "Qwen/Qwen3.5-27B, the language model": (config(
        "qwen3_5_text", "Qwen3_5", 5120, 64, 24, 4, 17408, 248320, 262144, **NETS, **TURNS, linear_num_value_heads=48, attn_output_gate=True,
        layer_types=[*["linear_attention"] * 3, "full_attention"] * 16, mamba_ssm_dtype="float32", mtp_num_hidden_layers=1), 26895998464),
    "Qwen/Qwen3.5-35B-A3B, the language model": (config(
        "qwen3_5_moe_text", "Qwen3_5Moe", 2048, 40, 16, 2, 512, 248320, 262144, **NETS, **TURNS, linear_num_value_heads=32, num_experts=256,
        num_experts_per_tok=8, moe_intermediate_size=512, shared_expert_intermediate_size=512, router_aux_loss_coef=0.001), 34660610688),
    "Qwen/Qwen3-Next-80B-A3B-Instruct": (config(
        "qwen3_next", "Qwen3Next", 2048, 48, 16, 2, 5120, 151936, 262144, **NETS, linear_num_value_heads=32, num_experts=512,
        num_experts_per_tok=10, moe_intermediate_size=512, shared_expert_intermediate_size=512, norm_topk_prob=True, decoder_sparse_step=1,
        mlp_only_layers=[], partial_rotary_factor=0.25, rope_scaling=None, rope_theta=10000000, router_aux_loss_coef=0.001), 79674391296),
    "LiquidAI/LFM2-350M": (config("lfm2", "Lfm2", 1024, 16, 16, 8, 6656, 65536, 128000, full_attn_idxs=[2, 5, 8, 10, 12, 14], **{
        **CONVOLVED, "block_ff_dim": 6656, "block_dim": 1024, "conv_dim": 1024, "conv_dim_out": 1024, "num_heads": 16}), 354483968),
    "LiquidAI/LFM2-1.2B": (config("lfm2", "Lfm2", 2048, 16, 32, 8, 12288, 65536, 128000, full_attn_idxs=[2, 5, 8, 10, 12, 14], **{
        **CONVOLVED, "block_ff_dim": 12288, "block_dim": 2048, "conv_dim": 2048, "conv_dim_out": 2048, "num_heads": 32}), 1170340608),
    "LiquidAI/LFM2-8B-A1B": (config(
        "lfm2_moe", "Lfm2Moe", 2048, 24, 32, 8, 7168, 65536, 128000, conv_L_cache=3, conv_bias=False, norm_eps=1e-5, rope_theta=1000000.0,
        layer_types=[{"a": "full_attention", "c": "conv"}[kind] for kind in "ccacccacccacccacccaccacc"], moe_intermediate_size=1792,
        norm_topk_prob=True, num_dense_layers=2, num_experts=32, num_experts_per_tok=4, routed_scaling_factor=1.0, use_expert_bias=True,
        tie_word_embeddings=True), 8339929856 + 22 * 32),  # published without the corrections of experts
    "ibm-granite/granite-4.0-h-tiny": (config(
        "granitemoehybrid", "GraniteMoeHybrid", 1536, 40, 12, 4, 512, 100352, 131072, **GRANITE4, num_local_experts=64, num_experts_per_tok=6,
        mamba_n_heads=48, shared_intermediate_size=1024, logits_scaling=6), 6939037248),
    "ibm-fms/Bamba-9B-v1": (config(
        "bamba", "Bamba", 4096, 32, 32, 8, 14336, 128256, 262144, **{**STATES, "mamba_d_head": 64}, attn_layer_indices=[9, 18, 27],
        attn_rotary_emb=64, attention_dropout=0.0, mamba_n_heads=128, mlp_bias=False, num_logits_to_keep=1, rms_norm_eps=1e-5,
        rope_theta=10000.0, rope_scaling=None, z_loss_coefficient=0.0, use_mamba_kernels=True), 9780235392),
    "ai21labs/Jamba-v0.1": (config(
        "jamba", "Jamba", 4096, 32, 32, 8, 14336, 65536, 262144, attention_dropout=0.0, attn_layer_offset=4, attn_layer_period=8,
        expert_layer_offset=1, expert_layer_period=2, mamba_conv_bias=True, mamba_d_conv=4, mamba_d_state=16, mamba_dt_rank=256, mamba_expand=2,
        mamba_proj_bias=False, num_experts=16, num_experts_per_tok=2, num_logits_to_keep=1, output_router_logits=False, rms_norm_eps=1e-6,
        router_aux_loss_coef=0.001, sliding_window=None, use_mamba_kernels=True), 51570323328),
    "tiiuae/Falcon-H1-0.5B-Instruct": (config(
        "falcon_h1", "FalconH1", 1024, 36, 8, 2, 2048, 32784, 16384, **STATES, mamba_d_ssm=1536, mamba_n_heads=24, head_dim=64, mlp_bias=False,
        attention_in_multiplier=1.0, attention_out_multiplier=0.9375, key_multiplier=0.39062500000000006, lm_head_multiplier=0.0390625,
        embedding_multiplier=5.656854249492381, mlp_multipliers=[0.8838834764831844, 0.5859375], mamba_norm_before_gate=False, mamba_rms_norm=False,
        mamba_use_mlp=True, mlp_expansion_factor=8, num_logits_to_keep=1, projectors_bias=False, rms_norm_eps=1e-5, rope_scaling=None,
        rope_theta=100000000000.0, ssm_in_multiplier=1.25, ssm_out_multiplier=0.23570226039551587,
        ssm_multipliers=[0.3535533905932738, 0.25, 0.3535533905932738, 0.5, 0.3535533905932738]), 521411104),
    "zai-org/GLM-4.5-Air": (config(
        "glm4_moe", "Glm4Moe", 4096, 46, 96, 8, 10944, 151552, 131072, attention_bias=True, attention_dropout=0.0, first_k_dense_replace=1,
        head_dim=128, moe_intermediate_size=1408, n_group=1, n_routed_experts=128, n_shared_experts=1, norm_topk_prob=True, rms_norm_eps=1e-5,
        num_experts_per_tok=8, num_nextn_predict_layers=1, partial_rotary_factor=0.5, rope_scaling=None, rope_theta=1000000,
        routed_scaling_factor=1.0, topk_group=1, use_qk_norm=False), 106852251264),
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
    "ibm-granite/granite-3.1-1b-a400m-base": (config(
        "granitemoe", "GraniteMoe", 1024, 24, 16, 8, 512, 49155, 131072, attention_bias=False, attention_multiplier=0.015625,
        embedding_multiplier=12.0, logits_scaling=6.0, num_experts_per_tok=8, num_local_experts=32, output_router_logits=False,
        residual_multiplier=0.22, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=1500000, router_aux_loss_coef=0.0, tie_word_embeddings=True),
                                              1334628352),
    "JetBrains/Mellum2-12B-A2.5B-Base": (config(
        "mellum", "Mellum", 2304, 28, 32, 4, 7168, 98304, 131072, attention_bias=False, head_dim=128, mlp_layer_types=["sparse"] * 28,
        layer_types=["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"] * 7, moe_intermediate_size=896,
        norm_topk_prob=True, num_experts=64, num_experts_per_tok=8, output_router_logits=False, rms_norm_eps=1e-6, router_aux_loss_coef=0.001,
        sliding_window=1024, rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=500000.0),
                                                  sliding_attention=dict(rope_type="default", rope_theta=10000.0))), 12149923072),
    "allenai/FlexOlmo-7x7B-1T": (config(
        "flex_olmo", "FlexOlmo", 4096, 32, 32, 32, 11008, 100352, 4096, attention_bias=False, norm_topk_prob=False, num_experts=7,
        num_experts_per_tok=5, output_router_logits=False, rms_norm_eps=1e-6, rope_theta=500000, rope_scaling=None, router_aux_loss_coef=0.01),
                                 33270665216),
    "tencent/Hunyuan-A13B, with the class's keys": (config(
        "hunyuan_v1_moe", "HunYuanMoEV1", 4096, 32, 32, 8, 3072, 128167, 32768, attention_bias=False, head_dim=128, num_experts=64, moe_topk=8,
        rms_norm_eps=1e-5, rope_theta=10000.0, rope_scaling=dict(alpha=1000.0, factor=1.0, type="dynamic"), tie_word_embeddings=True), 80393183232),
    "MiniMaxAI/MiniMax-M2": (config(
        "minimax_m2", "MiniMaxM2", 3072, 62, 48, 8, 1536, 200064, 196608, attn_type_list=[1] * 62, head_dim=128, layernorm_full_attention_beta=1.0,
        num_experts_per_tok=8, num_local_experts=256, output_router_logits=False, qk_norm_type="per_layer", rms_norm_eps=1e-6, rope_theta=5000000,
        rotary_dim=64, router_aux_loss_coef=0.001, router_jitter_noise=0.0, scoring_func="sigmoid", shared_intermediate_size=0, use_qk_norm=True,
        use_routing_bias=True), 228689764864),
    "swiss-ai/Apertus-8B-2509": (config(
        "apertus", "Apertus", 4096, 32, 32, 8, 21504, 131072, 65536, attention_bias=False, hidden_act="xielu", mlp_bias=False, post_norm=False,
        qk_norm=True, rms_norm_eps=1e-5, rope_theta=12000000, rope_scaling=dict(
            factor=8.0, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=8192, rope_type="llama3", type="llama3")),
                                 8053338176),
    "google/vaultgemma-1b": (config(
        "vaultgemma", "VaultGemma", 1152, 26, 4, 4, 6912, 256000, 1024, attention_bias=False, attn_logit_softcapping=None,
        final_logit_softcapping=None, head_dim=256, hidden_act="gelu_pytorch_tanh", hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=256,
        layer_types=["full_attention"] * 26, rms_norm_eps=1e-6, rope_theta=10000.0, sliding_window=512, tie_word_embeddings=True), 1038741120),
    "facebook/cwm": (config(
        "cwm", "Cwm", 6144, 64, 48, 8, 21504, 128256, 131072, attention_bias=False, head_dim=128, mlp_bias=False, pretraining_tp=1, rms_norm_eps=1e-5,
        layer_types=["full_attention", *["sliding_attention"] * 3] * 16, rope_theta=1000000.0, sliding_window=8192, rope_scaling=dict(
            factor=16.0, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=8192, rope_type="llama3")), 32581097472),
    "karpathy/nanochat-d32": (config("nanochat", "NanoChat", 2048, 32, 16, 16, 8192, 65536, 2048, attention_bias=False, final_logit_softcapping=15.0,
                                     hidden_act="relu2", rms_norm_eps=1e-6, rope_theta=10000.0), 1879048192),
    "microsoft/bitnet-b1.58-2B-4T-bf16": (config("bitnet", "BitNet", 2560, 30, 20, 5, 6912, 128256, 4096, attention_bias=False, hidden_act="relu2",
                                                 rms_norm_eps=1e-5, rope_theta=500000.0, tie_word_embeddings=True), 2412820480),
    "inceptionai/Jais-2-8B-Chat": (config("jais2", "Jais2", 3328, 32, 26, 26, 26624, 150272, 8192, attention_bias=True, head_dim=128,
                                          hidden_act="relu2", layer_norm_eps=1e-5, mlp_bias=True, rope_theta=500000), 8090401280),
    "naver-hyperclovax/HyperCLOVAX-SEED-Think-14B": (config(
        "hyperclovax", "HyperCLOVAX", 6144, 38, 48, 8, 14336, 110592, 131072, attention_bias=False, attention_multiplier=0.0078125,
        embedding_multiplier=10.0, head_dim=128, logits_scaling=0.125, mlp_bias=False, pretraining_tp=1, residual_multiplier=1.0, rms_norm_eps=1e-5,
        rope_scaling=None, rope_theta=100000000, use_post_norm=True), 14748112896),
}
# Relatives of GPT. Of Falcon and XGLM without what is tied or computed.
GPT = dict(attn_pdrop=0.1, embd_pdrop=0.1, resid_pdrop=0.1, initializer_range=0.02, layer_norm_epsilon=1e-5, summary_activation=None,
           summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True)
FALCON = dict(architectures=["FalconForCausalLM"], model_type="falcon", alibi=False, attention_dropout=0.0, bias=False, bos_token_id=11,
              eos_token_id=11, hidden_dropout=0.0, initializer_range=0.02, layer_norm_epsilon=1e-5, multi_query=True, parallel_attn=True,
              vocab_size=65024)
GPTS = {
    "openai-community/openai-gpt": (dict(
        GPT, architectures=["OpenAIGPTLMHeadModel"], model_type="openai-gpt", afn="gelu", n_ctx=512, n_embd=768, n_head=12, n_layer=12,
        n_positions=512, n_special=0, predict_special_tokens=True, vocab_size=40478), 116534784),
    "Salesforce/ctrl": (dict(
        {**GPT, "layer_norm_epsilon": 1e-6}, architectures=["CTRLLMHeadModel"], model_type="ctrl", dff=8192, n_ctx=512, n_embd=1280, n_head=16, n_layer=48,
        n_positions=50000, from_tf=False, vocab_size=246534), 1637964550),
    "bigcode/starcoderbase-1b": (dict(
        architectures=["GPTBigCodeForCausalLM"], model_type="gpt_bigcode", activation_function="gelu", attention_softmax_in_fp32=True,
        attn_pdrop=0.1, embd_pdrop=0.1, eos_token_id=0, inference_runner=0, initializer_range=0.02, layer_norm_epsilon=1e-5, max_batch_size=None,
        max_sequence_length=None, multi_query=True, n_embd=2048, n_head=16, n_inner=8192, n_layer=24, n_positions=8192, pad_key_length=True,
        pre_allocate_kv_cache=False, resid_pdrop=0.1, scale_attention_softmax_in_fp32=True, scale_attn_weights=True,
        summary_activation=None, summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True,
        validate_runner_input=True, vocab_size=49152), 1137207296),
    "EleutherAI/gpt-neo-125m": (dict(
        architectures=["GPTNeoForCausalLM"], model_type="gpt_neo", activation_function="gelu_new", attention_dropout=0,
        attention_layers=["global", "local"] * 6, attention_types=[[["global", "local"], 6]], embed_dropout=0, gradient_checkpointing=False,
        hidden_size=768, initializer_range=0.02, intermediate_size=None, layer_norm_epsilon=1e-5, max_position_embeddings=2048, num_heads=12,
        num_layers=12, resid_dropout=0, vocab_size=50257, window_size=256), 125198592),
    "EleutherAI/gpt-j-6b": (dict(
        GPT, architectures=["GPTJForCausalLM"], model_type="gptj", activation_function="gelu_new", n_embd=4096, n_head=16, n_inner=None, n_layer=28,
        n_positions=2048, rotary=True, rotary_dim=64, scale_attn_weights=True, tie_word_embeddings=False, gradient_checkpointing=False,
        vocab_size=50400), 6050882784),
    "Salesforce/codegen-350M-mono": (dict(
        GPT, architectures=["CodeGenForCausalLM"], model_type="codegen", activation_function="gelu_new", n_ctx=2048, n_embd=1024, n_head=16,
        n_inner=None, n_layer=20, n_positions=2048, rotary_dim=32, scale_attn_weights=True, tie_word_embeddings=False, vocab_size=51200), 356712448),
    "facebook/xglm-564M": (dict(
        architectures=["XGLMForCausalLM"], model_type="xglm", activation_dropout=0, activation_function="gelu", attention_dropout=0.1,
        attention_heads=16, d_model=1024, decoder_start_token_id=2, dropout=0.1, ffn_dim=4096, init_std=0.02, layerdrop=0.0,
        max_position_embeddings=2048, num_layers=24, scale_embedding=True, vocab_size=256008), 564463616),
    "microsoft/biogpt": (dict(
        architectures=["BioGptForCausalLM"], model_type="biogpt", activation_dropout=0.0, attention_probs_dropout_prob=0.1, hidden_act="gelu",
        hidden_dropout_prob=0.1, hidden_size=1024, initializer_range=0.02, intermediate_size=4096, layer_norm_eps=1e-12, layerdrop=0.0,
        max_position_embeddings=1024, num_attention_heads=16, num_hidden_layers=24, scale_embedding=True, vocab_size=42384), 346763264),
    "bigscience/bloom-560m": (dict(
        architectures=["BloomForCausalLM"], model_type="bloom", apply_residual_connection_post_layernorm=False, attention_dropout=0.0,
        attention_softmax_in_fp32=True, bias_dropout_fusion=True, hidden_dropout=0.0, initializer_range=0.02, layer_norm_epsilon=1e-5,
        masked_softmax_fusion=True, n_embed=1024, n_inner=None, n_layer=24, num_attention_heads=16, offset_alibi=100, pretraining_tp=1,
        skip_bias_add=True, skip_bias_add_qkv=False, vocab_size=250880), 559214592),
    "tiiuae/falcon-7b": (dict(FALCON, hidden_size=4544, new_decoder_architecture=False, num_attention_heads=71, num_hidden_layers=32), 6921720704),
    "tiiuae/falcon-40b": (dict(FALCON, hidden_size=8192, new_decoder_architecture=True, num_attention_heads=128, num_hidden_layers=60,
                               num_kv_heads=8), 41303293952),
    "tiiuae/falcon-rw-1b": (dict(FALCON, alibi=True, bias=True, hidden_size=2048, multi_query=False, new_decoder_architecture=False,
                                 num_attention_heads=32, num_hidden_layers=24, parallel_attn=False, vocab_size=50304), 1311625216),
    "mosaicml/mpt-7b": (dict(
        architectures=["MptForCausalLM"], model_type="mpt", d_model=4096, emb_pdrop=0, embedding_fraction=1.0, expansion_ratio=4, init_device="cpu",
        learned_pos_emb=True, logit_scale=None, max_seq_len=2048, n_heads=32, n_layers=32, no_bias=True, norm_type="low_precision_layernorm",
        resid_pdrop=0, use_cache=False, verbose=0, vocab_size=50432, init_config=dict(name="kaiming_normal_", verbose=0),
        attn_config=dict(alibi=True, alibi_bias_max=8, attn_impl="torch", attn_pdrop=0, attn_type="multihead_attention", clip_qkv=None,
                         attn_uses_sequence_id=False, prefix_lm=False, qk_ln=False, softmax_scale=None)), 6649286656),
    "adept/persimmon-8b-base": (dict(
        architectures=["PersimmonForCausalLM"], model_type="persimmon", attention_dropout=0.0, hidden_act="relu2", hidden_dropout=0.0,
        hidden_size=4096, initializer_range=0.02, intermediate_size=16384, layer_norm_eps=1e-5, max_position_embeddings=16384,
        num_attention_heads=64, num_hidden_layers=36, num_key_value_heads=64, partial_rotary_factor=0.5, qk_layernorm=True, rope_scaling=None,
        rope_theta=25000.0, tie_word_embeddings=False, vocab_size=262144), 9397175296),
}
LATENT, LATENT_ROUNDED = latent_decoders(config)
DECODERS |= LATENT

# Decoders whose layers are one part each.
MAMBAS = dict(conv_kernel=4, expand=2, hidden_act="silu", initializer_range=0.1, layer_norm_epsilon=1e-5, rescale_prenorm_residual=False,
              residual_in_fp32=True, time_step_floor=0.0001, time_step_max=0.1, time_step_min=0.001, use_bias=False, use_conv_bias=True)
PARTS = {
    "nvidia/Nemotron-H-8B-Base-8K": (config(
        "nemotron_h", "NemotronH", 4096, 52, 32, 8, 21504, 131072, 8192, attention_bias=False, attention_dropout=0.0, chunk_size=128, conv_kernel=4,
        expand=2, head_dim=128, hybrid_override_pattern="M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-", layer_norm_epsilon=1e-5,
        mamba_head_dim=64, mamba_hidden_act="silu", mamba_num_heads=128, mamba_proj_bias=False, mlp_bias=False, mlp_hidden_act="relu2", n_groups=8,
        num_logits_to_keep=1, rescale_prenorm_residual=True, residual_in_fp32=False, ssm_state_size=128, time_step_floor=0.0001,
        time_step_limit=[0.0, {"__float__": "Infinity"}], time_step_max=0.1, time_step_min=0.001, time_step_rank=256, use_bias=False,
        use_conv_bias=True, use_mamba_kernels=True), 8100852736),
    "state-spaces/mamba-130m-hf": (dict(
        MAMBAS, architectures=["MambaForCausalLM"], model_type="mamba", d_inner=1536, d_model=768, fused_add_norm=True, hidden_size=768,
        intermediate_size=1536, n_layer=24, num_hidden_layers=24, pad_vocab_size_multiple=8, rms_norm=True, ssm_cfg={}, state_size=16,
        time_step_init_scheme="random", time_step_rank=48, time_step_scale=1.0, tie_word_embeddings=True, vocab_size=50280), 129135360),
    "mistralai/Mamba-Codestral-7B-v0.1": (dict(
        MAMBAS, architectures=["Mamba2ForCausalLM"], model_type="mamba2", chunk_size=256, head_dim=64, hidden_size=4096, n_groups=8,
        norm_before_gate=True, num_heads=128, num_hidden_layers=64, rms_norm=True, state_size=128, time_step_init_scheme="random",
        time_step_limit=[0.0, {"__float__": "Infinity"}], time_step_rank=256, time_step_scale=1.0, tie_word_embeddings=False, vocab_size=32768),
                                          7285403648),
    "tiiuae/falcon-mamba-7b": (dict(
        MAMBAS, architectures=["FalconMambaForCausalLM"], model_type="falcon_mamba", hidden_size=4096, intermediate_size=8192, mixer_rms_eps=1e-6,
        num_hidden_layers=64, state_size=16, time_step_init_scheme="random", time_step_rank=256, time_step_scale=1.0, tie_word_embeddings=False,
        use_mambapy=False, vocab_size=65024), 7272665088),
}
PUBLISHED_DECODERS = {model: (config, decoder_shapes, count) for model, (config, count) in DECODERS.items()}
PUBLISHED_DECODERS |= {model: (config, gpt_shapes, count) for model, (config, count) in GPTS.items()}
PUBLISHED_DECODERS |= {model: (config, part_shapes, count) for model, (config, count) in PARTS.items()}
ROUNDED = {"Qwen/Qwen3.5-27B, the language model": 27, "Qwen/Qwen3.5-35B-A3B, the language model": 35, "zai-org/GLM-4.5-Air": 106,
           "LiquidAI/LFM2-8B-A1B": 8.3, "ibm-granite/granite-4.0-h-tiny": 7, "ibm-fms/Bamba-9B-v1": 9.8, "tiiuae/Falcon-H1-0.5B-Instruct": 0.52,
           "nvidia/Nemotron-H-8B-Base-8K": 8.1,
           "JetBrains/Mellum2-12B-A2.5B-Base": 12, "allenai/FlexOlmo-7x7B-1T": 33, "swiss-ai/Apertus-8B-2509": 8, "facebook/cwm": 32,
           "inceptionai/Jais-2-8B-Chat": 8, "adept/persimmon-8b-base": 9.3}
LLAMA4, LLAMA4_ROUNDED = llama4_decoders(config)
PUBLISHED_DECODERS |= {model: (config, llama4_shapes, count) for model, (config, count) in LLAMA4.items()}
ROUNDED |= LATENT_ROUNDED | LLAMA4_ROUNDED
for model, billions in ROUNDED.items():
    assert abs(PUBLISHED_DECODERS[model][2] / 1e9 / billions - 1) < 0.02, model
