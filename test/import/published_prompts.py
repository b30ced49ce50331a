# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configs of language models that see, as they were published, for published.py: the model, its config, and how many parameters it is known to have."""
from gemma4 import gemma4_shapes
from intern_models import intern_shapes
from pixtral_models import pixtral_shapes
from prompt_models import prompt_shapes, tower_shapes
from tower_models import seen_shapes

ROPE = dict(rope_scaling=dict(type="mrope", mrope_section=[16, 24, 24]), rope_theta=1000000.0)
TOKENS = dict(vision_start_token_id=151652, vision_end_token_id=151653, vision_token_id=151654, image_token_id=151655, video_token_id=151656)


def qwen(kind, architecture, width, layers, heads, groups, hidden, vocabulary, tied, eyes, **more):
    return dict(architectures=[architecture], model_type=kind, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
                num_key_value_heads=groups, intermediate_size=hidden, vocab_size=vocabulary, max_position_embeddings=32768, max_window_layers=layers,
                sliding_window=32768, use_sliding_window=False, rms_norm_eps=1e-6, hidden_act="silu", tie_word_embeddings=tied, vision_config=eyes,
                **TOKENS, **ROPE, **more)


def old_eyes(width):
    return dict(depth=32, embed_dim=1280, mlp_ratio=4, num_heads=16, in_chans=3, hidden_size=width, patch_size=14, spatial_merge_size=2,
                spatial_patch_size=14, temporal_patch_size=2)


def windowed_eyes(width):
    return dict(depth=32, hidden_act="silu", hidden_size=1280, intermediate_size=3420, num_heads=16, in_chans=3, out_hidden_size=width, patch_size=14,
                spatial_merge_size=2, spatial_patch_size=14, window_size=112, fullatt_block_indexes=[7, 15, 23, 31], tokens_per_second=2,
                temporal_patch_size=2)


def shapes_of(text, eyes):
    """The names as they are published."""
    def shapes(config):
        words = {**config, "head_dim": config["hidden_size"] // config["num_attention_heads"]} if "text_config" not in config else config["text_config"]
        made = prompt_shapes({**config, "text_config": words, "text": text, "eyes": eyes})
        if config["tie_word_embeddings"]:
            del made["lm_head.weight"]
        return made

    return shapes


QWEN = shapes_of("model.", "visual.")
PROMPTS = {
    "Qwen/Qwen2-VL-2B-Instruct": (qwen("qwen2_vl", "Qwen2VLForConditionalGeneration", 1536, 28, 12, 2, 8960, 151936, True, old_eyes(1536)),
                                  QWEN, 2208985600),
    "Qwen/Qwen2-VL-7B-Instruct": (qwen("qwen2_vl", "Qwen2VLForConditionalGeneration", 3584, 28, 28, 4, 18944, 152064, False, old_eyes(3584)),
                                  QWEN, 8291375616),
    "Qwen/Qwen2.5-VL-3B-Instruct": (qwen("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", 2048, 36, 16, 2, 11008, 151936, True,
                                         windowed_eyes(2048)), QWEN, 3754622976),
    "Qwen/Qwen2.5-VL-7B-Instruct": (qwen("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", 3584, 28, 28, 4, 18944, 152064, False,
                                         windowed_eyes(3584)), QWEN, 8292166656),
    "Qwen/Qwen3-VL-2B-Instruct": (dict(
        architectures=["Qwen3VLForConditionalGeneration"], model_type="qwen3_vl", tie_word_embeddings=True, image_token_id=151655,
        video_token_id=151656, vision_start_token_id=151652, vision_end_token_id=151653,
        text_config=dict(attention_bias=False, attention_dropout=0.0, head_dim=128, hidden_act="silu", hidden_size=2048, intermediate_size=6144,
                         max_position_embeddings=262144, model_type="qwen3_vl_text", num_attention_heads=16, num_hidden_layers=28,
                         num_key_value_heads=8, rms_norm_eps=1e-6, rope_theta=5000000, tie_word_embeddings=True, vocab_size=151936,
                         rope_scaling=dict(mrope_interleaved=True, mrope_section=[24, 20, 20], rope_type="default")),
        vision_config=dict(deepstack_visual_indexes=[5, 11, 17], depth=24, hidden_act="gelu_pytorch_tanh", hidden_size=1024, in_channels=3,
                           intermediate_size=4096, model_type="qwen3_vl", num_heads=16, num_position_embeddings=2304, out_hidden_size=2048,
                           patch_size=16, spatial_merge_size=2, temporal_patch_size=2)),
                                  shapes_of("model.language_model.", "model.visual."), 2127532032),
    "Qwen/Qwen3-VL-30B-A3B-Instruct": (dict(
        architectures=["Qwen3VLMoeForConditionalGeneration"], model_type="qwen3_vl_moe", tie_word_embeddings=False, image_token_id=151655,
        video_token_id=151656, vision_start_token_id=151652, vision_end_token_id=151653,
        text_config=dict(attention_bias=False, attention_dropout=0.0, bos_token_id=151643, decoder_sparse_step=1, eos_token_id=151645, head_dim=128,
                         hidden_act="silu", hidden_size=2048, intermediate_size=6144, max_position_embeddings=262144, mlp_only_layers=[],
                         model_type="qwen3_vl_moe_text", moe_intermediate_size=768, norm_topk_prob=True, num_attention_heads=32, num_experts=128,
                         num_experts_per_tok=8, num_hidden_layers=48, num_key_value_heads=4, rms_norm_eps=1e-6, rope_theta=5000000,
                         rope_scaling=dict(mrope_interleaved=True, mrope_section=[24, 20, 20], rope_type="default"), vocab_size=151936),
        vision_config=dict(deepstack_visual_indexes=[8, 16, 24], depth=27, hidden_act="gelu_pytorch_tanh", hidden_size=1152, in_channels=3,
                           intermediate_size=4304, model_type="qwen3_vl_moe", num_heads=16, num_position_embeddings=2304, out_hidden_size=2048,
                           patch_size=16, spatial_merge_size=2, temporal_patch_size=2)),
                                       shapes_of("model.language_model.", "model.visual."), 31070754032),
    "google/paligemma-3b-pt-224": (dict(
        architectures=["PaliGemmaForConditionalGeneration"], model_type="paligemma", _vocab_size=257152, bos_token_id=2, eos_token_id=1,
        hidden_size=2048, ignore_index=-100, image_token_index=257152, pad_token_id=0, projection_dim=2048, tie_word_embeddings=True,
        text_config=dict(model_type="gemma", head_dim=256, hidden_size=2048, intermediate_size=16384, num_attention_heads=8, num_hidden_layers=18,
                         num_image_tokens=256, num_key_value_heads=1, vocab_size=257216),
        vision_config=dict(hidden_size=1152, intermediate_size=4304, model_type="siglip_vision_model", num_attention_heads=16, num_hidden_layers=27,
                           num_image_tokens=256, patch_size=14, projection_dim=2048, projector_hidden_act="gelu_fast", vision_use_head=False)),
                                   seen_shapes, 2923466480),
    "HuggingFaceM4/Idefics3-8B-Llama3": (dict(
        architectures=["Idefics3ForConditionalGeneration"], model_type="idefics3", image_token_id=128257, scale_factor=2, tie_word_embeddings=False,
        text_config=dict(model_type="llama", bos_token_id=128000, eos_token_id=[128001, 128008, 128009], hidden_size=4096, intermediate_size=14336,
                         max_position_embeddings=131072, num_attention_heads=32, num_hidden_layers=32, num_key_value_heads=8, pad_token_id=128002,
                         rms_norm_eps=1e-5, rope_theta=500000.0, use_cache=True, vocab_size=128259, rope_scaling=dict(
                             factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192, rope_type="llama3")),
        vision_config=dict(hidden_size=1152, image_size=364, intermediate_size=4304, model_type="idefics3", num_attention_heads=16,
                           num_hidden_layers=27, patch_size=14)), seen_shapes, 8462086384),
    "HuggingFaceTB/SmolVLM-256M-Instruct": (dict(
        architectures=["Idefics3ForConditionalGeneration"], model_type="idefics3", image_token_id=49190, scale_factor=4, tie_word_embeddings=False,
        vocab_size=49280, text_config=dict(
            model_type="llama", head_dim=64, hidden_size=576, intermediate_size=1536, is_llama_config=True, max_position_embeddings=8192,
            num_attention_heads=9, num_hidden_layers=30, num_key_value_heads=3, pad_token_id=2, pixel_shuffle_factor=4, qk_layer_norms=False,
            rms_norm_eps=1e-5, rope_interleaved=False, rope_theta=100000, tie_word_embeddings=True, use_resampler=False, vocab_size=49280),
        vision_config=dict(hidden_size=768, image_size=512, max_image_size=dict(longest_edge=512), model_type="idefics3", num_attention_heads=12,
                           num_hidden_layers=12, intermediate_size=3072, patch_size=16, size=dict(longest_edge=2048), tie_word_embeddings=False,
                           use_base_siglip=True)), seen_shapes, 256484928),
    "HuggingFaceTB/SmolVLM2-2.2B-Instruct": (dict(
        architectures=["SmolVLMForConditionalGeneration"], model_type="smolvlm", image_token_id=49190, scale_factor=3, tie_word_embeddings=False,
        text_config=dict(model_type="llama", hidden_size=2048, intermediate_size=8192, max_position_embeddings=8192, num_attention_heads=32,
                         num_hidden_layers=24, num_key_value_heads=32, pad_token_id=2, pixel_shuffle_factor=3, rms_norm_eps=1e-5, rope_theta=130000,
                         vocab_size=49280),
        vision_config=dict(hidden_size=1152, image_size=384, intermediate_size=4304, max_image_size=dict(longest_edge=384),
                           model_type="smolvlm_vision", num_attention_heads=16, num_hidden_layers=27, patch_size=14, size=dict(longest_edge=1920),
                           tie_word_embeddings=False, use_base_siglip=False)), seen_shapes, 2246784880),
    "OpenGVLab/InternVL3-1B-hf": (dict(
        architectures=["InternVLForConditionalGeneration"], model_type="internvl", downsample_ratio=0.5, image_seq_length=256, image_token_id=151667,
        projector_hidden_act="gelu", vision_feature_layer=-1, vision_feature_select_strategy="default",
        text_config=dict(architectures=["Qwen2ForCausalLM"], model_type="qwen2", bos_token_id=151643, eos_token_id=151645, hidden_size=896,
                         intermediate_size=4864, max_position_embeddings=32768, max_window_layers=70, num_attention_heads=14, num_hidden_layers=24,
                         num_key_value_heads=2, rms_norm_eps=1e-6, rope_theta=1000000.0, vocab_size=151674, use_sliding_window=False, tie_word_embeddings=False),
        vision_config=dict(architectures=["InternVisionModel"], model_type="internvl_vision", attention_bias=True, hidden_size=1024,
                           image_size=[448, 448], intermediate_size=4096, layer_norm_eps=1e-6, layer_scale_init_value=0.1, norm_type="layer_norm",
                           num_attention_heads=16, num_channels=3, num_hidden_layers=24, patch_size=[14, 14], projection_dropout=0.0,
                           use_absolute_position_embeddings=True, use_mask_token=False, use_mean_pooling=True, use_qk_norm=False)),
                                  intern_shapes, 938193024),
    "mistralai/Mistral-Small-3.1-24B-Instruct-2503": (dict(
        architectures=["Mistral3ForConditionalGeneration"], model_type="mistral3", image_token_index=10, multimodal_projector_bias=False,
        projector_hidden_act="gelu", spatial_merge_size=2, vision_feature_layer=-1, tie_word_embeddings=False,
        text_config=dict(model_type="mistral", attention_dropout=0.0, head_dim=128, hidden_act="silu", hidden_size=5120, intermediate_size=32768,
                         max_position_embeddings=131072, num_attention_heads=32, num_hidden_layers=40, num_key_value_heads=8, rms_norm_eps=1e-5,
                         rope_theta=1000000000.0, sliding_window=None, use_cache=True, vocab_size=131072),
        vision_config=dict(model_type="pixtral", attention_dropout=0.0, head_dim=64, hidden_act="silu", hidden_size=1024, image_size=1540,
                           intermediate_size=4096, num_attention_heads=16, num_channels=3, num_hidden_layers=24, patch_size=14,
                           rope_theta=10000.0)), pixtral_shapes, 24011361280),
    "google/paligemma2-3b-pt-448": (dict(
        architectures=["PaliGemmaForConditionalGeneration"], model_type="paligemma", _vocab_size=257152, bos_token_id=2, eos_token_id=1,
        hidden_size=2304, image_token_index=257152, num_hidden_layers=26, pad_token_id=0, projection_dim=2304, tie_word_embeddings=True,
        text_config=dict(model_type="gemma2", cache_implementation="hybrid", head_dim=256, hidden_size=2304, intermediate_size=9216,
                         num_attention_heads=8, num_hidden_layers=26, num_image_tokens=1024, num_key_value_heads=4, query_pre_attn_scalar=256,
                         sliding_window=4096, tie_word_embeddings=True, vocab_size=257216),
        vision_config=dict(hidden_size=1152, image_size=448, intermediate_size=4304, model_type="siglip_vision_model", num_attention_heads=16,
                           num_hidden_layers=27, num_image_tokens=1024, num_positions=256, patch_size=14, projection_dim=2304, torch_dtype="bfloat16",
                           vision_use_head=False)), seen_shapes, 3033127152),
    "google/gemma-3-4b-it": (dict(
        architectures=["Gemma3ForConditionalGeneration"], model_type="gemma3", boi_token_index=255999, eoi_token_index=256000,
        image_token_index=262144, mm_tokens_per_image=256, eos_token_id=[1, 106], tie_word_embeddings=True,
        text_config=dict(hidden_size=2560, intermediate_size=10240, model_type="gemma3_text", num_hidden_layers=34, sliding_window=1024,
                         rope_scaling=dict(factor=8.0, rope_type="linear"), num_attention_heads=8, num_key_value_heads=4, head_dim=256,
                         vocab_size=262208),
        vision_config=dict(hidden_size=1152, image_size=896, intermediate_size=4304, model_type="siglip_vision_model", num_attention_heads=16,
                           num_hidden_layers=27, patch_size=14, vision_use_head=False)), tower_shapes, 4300079472),
    "llava-hf/llava-1.5-7b-hf": (dict(
        architectures=["LlavaForConditionalGeneration"], model_type="llava", image_token_index=32000, ignore_index=-100, pad_token_id=32001,
        projector_hidden_act="gelu", vision_feature_layer=-2, vision_feature_select_strategy="default", tie_word_embeddings=False,
        text_config=dict(model_type="llama", max_position_embeddings=4096, rms_norm_eps=1e-5, vocab_size=32064, hidden_size=4096,
                         intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=32),
        vision_config=dict(hidden_size=1024, image_size=336, intermediate_size=4096, model_type="clip_vision_model", num_attention_heads=16,
                           num_hidden_layers=24, patch_size=14, projection_dim=768, vocab_size=32000)), tower_shapes,
                                 7063427072 - 12596224 - 2048),  # without the last layer and its norm, which nothing reads
}


def gemma4(width, layers, period, heads, groups, hidden, eyes, **more):
    """Sounds are not read: their encoder is no part of it."""
    text = dict(model_type="gemma4_text", attention_bias=False, attention_dropout=0.0, bos_token_id=2, eos_token_id=1, final_logit_softcapping=30.0,
                global_head_dim=512, head_dim=256, hidden_activation="gelu_pytorch_tanh", hidden_size=width, intermediate_size=hidden,
                layer_types=[*["sliding_attention"] * (period - 1), "full_attention"] * (layers // period), max_position_embeddings=131072,
                num_attention_heads=heads, num_hidden_layers=layers, num_key_value_heads=groups, pad_token_id=0, rms_norm_eps=1e-6,
                rope_parameters=dict(full_attention=dict(partial_rotary_factor=0.25, rope_theta=1000000.0, rope_type="proportional"),
                                     sliding_attention=dict(rope_theta=10000.0, rope_type="default")),
                sliding_window=512, tie_word_embeddings=True, vocab_size=262144, vocab_size_per_layer_input=262144, **more)
    vision = dict(model_type="gemma4_vision", attention_bias=False, attention_dropout=0.0, default_output_length=280, hidden_activation="gelu_pytorch_tanh",
                  max_position_embeddings=131072, patch_size=16, pooling_kernel_size=3, position_embedding_size=10240, rms_norm_eps=1e-6,
                  rope_parameters=dict(rope_theta=100.0, rope_type="default"), **eyes)
    return dict(architectures=["Gemma4ForConditionalGeneration"], model_type="gemma4", audio_config=None, boi_token_id=255999, eoi_token_id=258882,
                image_token_id=258880, video_token_id=258884, audio_token_id=258881, boa_token_id=256000, eoa_token_index=258883,
                tie_word_embeddings=True, vision_soft_tokens_per_image=280, text_config=text, vision_config=vision)


def gemma4_names(config):
    return gemma4_shapes({**config, "text": "model.language_model.", "eyes": "model.vision_tower.", "map": "model.embed_vision."})


_SMALL = dict(head_dim=64, hidden_size=768, intermediate_size=3072, num_attention_heads=12, num_hidden_layers=16, num_key_value_heads=12,
              standardize=False, use_clipped_linears=True)
_LARGE = dict(head_dim=72, hidden_size=1152, intermediate_size=4304, num_attention_heads=16, num_hidden_layers=27, num_key_value_heads=16,
              standardize=True, use_clipped_linears=False)
_OF_LARGE = dict(attention_k_eq_v=True, hidden_size_per_layer_input=0, num_kv_shared_layers=0, use_bidirectional_attention="vision")
_OF_SMALL = dict(attention_k_eq_v=False, enable_moe_block=False, hidden_size_per_layer_input=256, num_global_key_value_heads=None,
                 use_bidirectional_attention=None)
# Published as 5.1 and 8 billion with the encoder of sounds, which has 0.3; as 25.2 and 30.7 without that of pictures.
PROMPTS |= {
    "google/gemma-4-E2B-it": (gemma4(1536, 35, 5, 8, 1, 6144, _SMALL, num_kv_shared_layers=20, use_double_wide_mlp=True, **_OF_SMALL), gemma4_names,
                              4797114083),
    "google/gemma-4-E4B-it": (gemma4(2560, 42, 6, 8, 2, 10240, _SMALL, num_kv_shared_layers=18, use_double_wide_mlp=False, **_OF_SMALL), gemma4_names,
                              7632344554),
    "google/gemma-4-26B-A4B-it": (gemma4(2816, 30, 6, 16, 8, 2112, _LARGE, enable_moe_block=True, moe_intermediate_size=704, num_experts=128,
                                         num_global_key_value_heads=2, top_k_experts=8, **_OF_LARGE), gemma4_names, 25805936206),
    "google/gemma-4-31B-it": (gemma4(5376, 60, 6, 32, 16, 21504, _LARGE, enable_moe_block=False, num_global_key_value_heads=4, **_OF_LARGE),
                              gemma4_names, 31273088876),
}
