#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configs as they were published, at their full size: each is imported and checked against the tensors that its model has, whose file is a
header and a hole as large as the numbers. The parameters are counted, and are those that the model is known to have, or that its config was counted to.

usage: published.py FOLDER"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import depths
from published_decoders import PUBLISHED_DECODERS
from published_prompts import PROMPTS
import parakeets
import pyramids
from relatives import deberta_shapes, kin_shapes
from shapes import (bart_shapes, bert_shapes, clip_shapes, detr_shapes, gpt2_shapes, gpt_neox_shapes, llama_shapes, modernbert_shapes, nomic_shapes,
                    opt_shapes, sam_shapes, swin_shapes, t5_encoder_shapes, t5_shapes, tower_shapes, trocr_shapes, vit_shapes)
import sounds
import vit_kin

BERT = dict(hidden_size=768, num_attention_heads=12, num_hidden_layers=12, intermediate_size=3072, hidden_act="gelu", layer_norm_eps=1e-12,
            max_position_embeddings=512, type_vocab_size=2, vocab_size=30522, pad_token_id=0)
VIT = dict(hidden_size=768, num_attention_heads=12, num_hidden_layers=12, intermediate_size=3072, hidden_act="gelu", layer_norm_eps=1e-12,
           image_size=224, patch_size=16, num_channels=3, qkv_bias=True)
LLAMA3 = dict(factor=32.0, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=8192, rope_type="llama3")
PHI = dict(architectures=["Phi3ForCausalLM"], model_type="phi3", attention_bias=False, hidden_act="silu", hidden_size=3072,
           intermediate_size=8192, max_position_embeddings=131072, num_hidden_layers=32, original_max_position_embeddings=4096,
           rms_norm_eps=1e-5, rope_theta=10000.0, sliding_window=262144)


def gpt_oss(layers, experts):
    return dict(
        architectures=["GptOssForCausalLM"], model_type="gpt_oss", attention_bias=True, experts_per_token=4, head_dim=64, hidden_act="silu",
        hidden_size=2880, initial_context_length=4096, intermediate_size=2880, layer_types=["sliding_attention", "full_attention"] * (layers // 2),
        max_position_embeddings=131072, num_attention_heads=64, num_experts_per_tok=4, num_hidden_layers=layers, num_key_value_heads=8,
        num_local_experts=experts, output_router_logits=False, rms_norm_eps=1e-5, rope_theta=150000, sliding_window=128, swiglu_limit=7.0,
        rope_scaling=dict(beta_fast=32.0, beta_slow=1.0, factor=32.0, original_max_position_embeddings=4096, rope_type="yarn", truncate=False),
        tie_word_embeddings=False, vocab_size=201088, quantization_config=dict(quant_method="mxfp4"))


# Model: config, shapes, parameters.
PUBLISHED = {
    "openai/gpt-oss-20b": (gpt_oss(24, 32), llama_shapes, 20914757184),
    "openai/gpt-oss-120b": (gpt_oss(36, 128), llama_shapes, 116829156672),
    "Qwen/Qwen3-0.6B": (dict(
        architectures=["Qwen3ForCausalLM"], model_type="qwen3", attention_bias=False, head_dim=128, hidden_act="silu", hidden_size=1024,
        intermediate_size=3072, max_position_embeddings=40960, max_window_layers=28, num_attention_heads=16, num_hidden_layers=28,
        num_key_value_heads=8, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=1000000, sliding_window=None, tie_word_embeddings=True,
        use_sliding_window=False, vocab_size=151936, bos_token_id=151643, eos_token_id=151645), llama_shapes, 596049920),
    "Qwen/Qwen2.5-0.5B": (dict(
        architectures=["Qwen2ForCausalLM"], model_type="qwen2", hidden_act="silu", hidden_size=896, intermediate_size=4864,
        max_position_embeddings=32768, max_window_layers=24, num_attention_heads=14, num_hidden_layers=24, num_key_value_heads=2,
        rms_norm_eps=1e-6, rope_theta=1000000.0, sliding_window=32768, tie_word_embeddings=True, use_sliding_window=False, vocab_size=151936),
        llama_shapes, 494032768),
    "meta-llama/Llama-3.2-1B": (dict(
        architectures=["LlamaForCausalLM"], model_type="llama", attention_bias=False, head_dim=64, hidden_act="silu", hidden_size=2048,
        intermediate_size=8192, max_position_embeddings=131072, mlp_bias=False, num_attention_heads=32, num_hidden_layers=16,
        num_key_value_heads=8, pretraining_tp=1, rms_norm_eps=1e-5, rope_scaling=LLAMA3, rope_theta=500000.0, tie_word_embeddings=True,
        vocab_size=128256), llama_shapes, 1235814400),
    "mistralai/Mistral-7B-v0.1": (dict(
        architectures=["MistralForCausalLM"], model_type="mistral", hidden_act="silu", hidden_size=4096, intermediate_size=14336,
        max_position_embeddings=32768, num_attention_heads=32, num_hidden_layers=32, num_key_value_heads=8, rms_norm_eps=1e-5,
        rope_theta=10000.0, sliding_window=4096, tie_word_embeddings=False, vocab_size=32000), llama_shapes, 7241732096),
    "mistralai/Mixtral-8x7B-v0.1": (dict(
        architectures=["MixtralForCausalLM"], model_type="mixtral", hidden_act="silu", hidden_size=4096, intermediate_size=14336,
        max_position_embeddings=32768, num_attention_heads=32, num_experts_per_tok=2, num_hidden_layers=32, num_key_value_heads=8,
        num_local_experts=8, rms_norm_eps=1e-5, rope_theta=1000000.0, sliding_window=None, tie_word_embeddings=False, vocab_size=32000),
        llama_shapes, 46702792704),
    "Qwen/Qwen3-30B-A3B": (dict(
        architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", attention_bias=False, decoder_sparse_step=1, head_dim=128,
        hidden_act="silu", hidden_size=2048, intermediate_size=6144, max_position_embeddings=40960, mlp_only_layers=[],
        moe_intermediate_size=768, norm_topk_prob=True, num_attention_heads=32, num_experts=128, num_experts_per_tok=8, num_hidden_layers=48,
        num_key_value_heads=4, rms_norm_eps=1e-6, rope_theta=1000000.0, rope_scaling=None, sliding_window=None, tie_word_embeddings=False,
        use_sliding_window=False, vocab_size=151936), llama_shapes, 30532122624),
    "google/gemma-2-2b": (dict(
        architectures=["Gemma2ForCausalLM"], model_type="gemma2", attention_bias=False, attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
        head_dim=256, hidden_act="gelu_pytorch_tanh", hidden_activation="gelu_pytorch_tanh", hidden_size=2304, intermediate_size=9216,
        max_position_embeddings=8192, num_attention_heads=8, num_hidden_layers=26, num_key_value_heads=4, query_pre_attn_scalar=256,
        rms_norm_eps=1e-6, rope_theta=10000.0, sliding_window=4096, vocab_size=256000), llama_shapes, 2614341888),
    "google/gemma-3-1b": (dict(
        architectures=["Gemma3ForCausalLM"], model_type="gemma3_text", attention_bias=False, attn_logit_softcapping=None,
        final_logit_softcapping=None, head_dim=256, hidden_activation="gelu_pytorch_tanh", hidden_size=1152, intermediate_size=6912,
        max_position_embeddings=32768, num_attention_heads=4, num_hidden_layers=26, num_key_value_heads=1, query_pre_attn_scalar=256,
        rms_norm_eps=1e-6, rope_local_base_freq=10000, rope_scaling=None, rope_theta=1000000, sliding_window=512, sliding_window_pattern=6,
        vocab_size=262144), llama_shapes, 999885952),
    "microsoft/Phi-3-mini-4k-instruct": (dict(
        architectures=["Phi3ForCausalLM"], model_type="phi3", attention_bias=False, hidden_act="silu", hidden_size=3072, intermediate_size=8192,
        max_position_embeddings=4096, num_attention_heads=32, num_hidden_layers=32, num_key_value_heads=32,
        original_max_position_embeddings=4096, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10000.0, sliding_window=2047,
        tie_word_embeddings=False, vocab_size=32064), llama_shapes, 3821079552),
    "microsoft/Phi-3-mini-128k-instruct": ({
        **PHI, "num_attention_heads": 32, "num_key_value_heads": 32, "tie_word_embeddings": False, "vocab_size": 32064, "rope_scaling": dict(
            type="su", short_factor=[
                1.05, 1.05, 1.05, 1.1, 1.1, 1.1500000000000001, 1.2000000000000002, 1.2500000000000002, 1.3000000000000003, 1.3500000000000003,
                1.5000000000000004, *[2.000000000000001] * 21, *[2.0500000000000007] * 3, *[2.1000000000000005] * 3, *[2.1500000000000004] * 2,
                2.3499999999999996, 2.549999999999999, *[2.5999999999999988] * 2, 2.7499999999999982, *[2.849999999999998] * 2, 2.9499999999999975],
            long_factor=[
                1.0299999713897705, 1.0499999523162842, 1.0499999523162842, 1.0799999237060547, 1.2299998998641968, 1.2299998998641968,
                1.2999999523162842, 1.4499999284744263, 1.5999999046325684, 1.6499998569488525, 1.8999998569488525, 2.859999895095825,
                3.68999981880188, 5.419999599456787, 5.489999771118164, 5.489999771118164, 9.09000015258789, 11.579999923706055,
                15.65999984741211, 15.769999504089355, 15.789999961853027, 18.360000610351562, 21.989999771118164, 23.079999923706055,
                30.009998321533203, 32.35000228881836, 32.590003967285156, 35.56000518798828, 39.95000457763672, 53.840003967285156,
                56.20000457763672, 57.95000457763672, 59.29000473022461, 59.77000427246094, 59.920005798339844, 61.190006256103516,
                61.96000671386719, 62.50000762939453, 63.3700065612793, 63.48000717163086, 63.48000717163086, 63.66000747680664,
                63.850006103515625, 64.08000946044922, 64.760009765625, 64.80001068115234, 64.81001281738281, 64.81001281738281])},
        llama_shapes, 3821079552),
    "microsoft/Phi-4-mini-instruct": ({
        **PHI, "num_attention_heads": 24, "num_key_value_heads": 8, "partial_rotary_factor": 0.75, "tie_word_embeddings": True,
        "vocab_size": 200064, "full_attn_mod": 1, "interpolate_factor": 1, "lm_head_bias": False, "mlp_bias": False, "rope_scaling": dict(
            type="longrope", short_factor=[1.0] * 48, long_factor=[
                1, 1.118320672, 1.250641126, 1.398617824, 1.564103225, 1.74916897, 1.956131817, 2.187582649, 2.446418898, 2.735880826,
                3.059592084, 3.421605075, 3.826451687, 4.279200023, 4.785517845, 5.351743533, 5.984965424, 6.693110555, 7.485043894,
                8.370679318, 9.36110372, 10.4687158, 11.70738129, 13.09260651, 14.64173252, 16.37415215, 18.31155283, 20.47818807,
                22.90118105, 25.61086418, 28.64115884, 32.03, 32.1, 32.13, 32.23, 32.6, 32.61, 32.64, 32.66, 32.7, 32.71, 32.93, 32.97,
                33.28, 33.49, 33.5, 44.16, 47.77])}, llama_shapes, 3836021760),
    "openai-community/gpt2": (dict(
        architectures=["GPT2LMHeadModel"], model_type="gpt2", activation_function="gelu_new", layer_norm_epsilon=1e-5, n_ctx=1024, n_embd=768,
        n_head=12, n_layer=12, n_positions=1024, vocab_size=50257, eos_token_id=50256), gpt2_shapes, 124439808),
    "facebook/opt-350m": (dict(
        architectures=["OPTForCausalLM"], model_type="opt", hidden_size=1024, word_embed_proj_dim=512, num_attention_heads=16, num_hidden_layers=24,
        ffn_dim=4096, vocab_size=50272, max_position_embeddings=2048, do_layer_norm_before=False, activation_function="relu", dropout=0.1,
        attention_dropout=0.0, layerdrop=0.0, init_std=0.02, bos_token_id=2, eos_token_id=2, pad_token_id=1, prefix="</s>", use_cache=True),
                          opt_shapes, 331196416),
    "EleutherAI/pythia-70m": (dict(
        architectures=["GPTNeoXForCausalLM"], model_type="gpt_neox", hidden_size=512, num_attention_heads=8, num_hidden_layers=6,
        intermediate_size=2048, vocab_size=50304, max_position_embeddings=2048, rotary_pct=0.25, rotary_emb_base=10000, layer_norm_eps=1e-5,
        hidden_act="gelu", use_parallel_residual=True, tie_word_embeddings=False, bos_token_id=0, eos_token_id=0, initializer_range=0.02,
        torch_dtype="float16", use_cache=True), gpt_neox_shapes, 70426624),
    "google-bert/bert-base-uncased": ({**BERT, "architectures": ["BertForMaskedLM"], "model_type": "bert"}, bert_shapes, 109514298),
    "sentence-transformers/all-MiniLM-L6-v2": ({**BERT, "architectures": ["BertModel"], "model_type": "bert", "hidden_size": 384,
                                                "num_hidden_layers": 6, "intermediate_size": 1536}, bert_shapes, 22713216),
    "FacebookAI/roberta-base": ({**BERT, "architectures": ["RobertaForMaskedLM"], "model_type": "roberta", "layer_norm_eps": 1e-5, "pad_token_id": 1,
                                 "max_position_embeddings": 514, "type_vocab_size": 1, "vocab_size": 50265}, bert_shapes, 124697433),
    "FacebookAI/xlm-roberta-base": ({**BERT, "architectures": ["XLMRobertaForMaskedLM"], "model_type": "xlm-roberta", "layer_norm_eps": 1e-5,
                                     "pad_token_id": 1, "max_position_embeddings": 514, "type_vocab_size": 1, "vocab_size": 250002},
                                    bert_shapes, 278295186),
    "distilbert/distilbert-base-uncased": (dict(
        architectures=["DistilBertForMaskedLM"], model_type="distilbert", activation="gelu", dim=768, hidden_dim=3072,
        max_position_embeddings=512, n_heads=12, n_layers=6, vocab_size=30522, pad_token_id=0), bert_shapes, 66985530),
    "answerdotai/ModernBERT-base": (dict(
        architectures=["ModernBertForMaskedLM"], model_type="modernbert", attention_bias=False, classifier_activation="gelu", classifier_bias=False,
        classifier_pooling="mean", decoder_bias=True, global_attn_every_n_layers=3, global_rope_theta=160000.0, hidden_activation="gelu",
        hidden_size=768, intermediate_size=1152, local_attention=128, local_rope_theta=10000.0, max_position_embeddings=8192, mlp_bias=False,
        norm_bias=False, norm_eps=1e-5, num_attention_heads=12, num_hidden_layers=22, vocab_size=50368), modernbert_shapes, 149655232),
    "nomic-ai/nomic-embed-text-v1.5": (dict(
        architectures=["NomicBertModel"], model_type="nomic_bert", activation_function="swiglu", causal=False, layer_norm_epsilon=1e-12,
        max_trained_positions=2048, mlp_fc1_bias=False, mlp_fc2_bias=False, n_embd=768, n_head=12, n_inner=3072, n_layer=12, n_positions=8192,
        prenorm=False, qkv_proj_bias=False, rotary_emb_base=1000, rotary_emb_fraction=1.0, rotary_emb_interleaved=False,
        rotary_emb_scale_base=None, rotary_scaling_factor=None, type_vocab_size=2, use_rms_norm=False, vocab_size=30528), nomic_shapes, 136731648),
    # Of BART and Marian, the bias of the scores counts here, which the published number leaves out; Marian's sines do not.
    "facebook/bart-base": (dict(
        architectures=["BartForConditionalGeneration"], model_type="bart", activation_function="gelu", d_model=768, decoder_attention_heads=12,
        decoder_ffn_dim=3072, decoder_layers=6, decoder_start_token_id=2, encoder_attention_heads=12, encoder_ffn_dim=3072, encoder_layers=6,
        eos_token_id=2, forced_eos_token_id=2, max_position_embeddings=1024, num_beams=4, no_repeat_ngram_size=3, normalize_before=False,
        add_final_layer_norm=False, scale_embedding=False, vocab_size=50265), bart_shapes, 139420416 + 50265),
    "Helsinki-NLP/opus-mt-en-de": (dict(
        architectures=["MarianMTModel"], model_type="marian", activation_function="swish", bad_words_ids=[[58100]], d_model=512,
        decoder_attention_heads=8, decoder_ffn_dim=2048, decoder_layers=6, decoder_start_token_id=58100, encoder_attention_heads=8,
        encoder_ffn_dim=2048, encoder_layers=6, eos_token_id=0, max_position_embeddings=512, normalize_before=False, normalize_embedding=False,
        num_beams=6, pad_token_id=58100, scale_embedding=True, static_position_embeddings=True, vocab_size=58101), bart_shapes,
        74410496 - 2 * 512 * 512 + 58101),
    "openai/whisper-tiny": (dict(
        architectures=["WhisperForConditionalGeneration"], model_type="whisper", activation_function="gelu", d_model=384,
        decoder_attention_heads=6, decoder_ffn_dim=1536, decoder_layers=4, decoder_start_token_id=50258, encoder_attention_heads=6,
        encoder_ffn_dim=1536, encoder_layers=4, eos_token_id=50257, max_source_positions=1500, max_target_positions=448, num_mel_bins=80,
        scale_embedding=False, vocab_size=51865, suppress_tokens=[1, 2, 7], begin_suppress_tokens=[220, 50257]), bart_shapes, 37760640),
    "google-t5/t5-small": (dict(
        architectures=["T5ForConditionalGeneration"], model_type="t5", d_ff=2048, d_kv=64, d_model=512, decoder_start_token_id=0, eos_token_id=1,
        feed_forward_proj="relu", layer_norm_epsilon=1e-6, n_positions=512, num_heads=8, num_layers=6, num_decoder_layers=6,
        relative_attention_num_buckets=32, tie_word_embeddings=True, vocab_size=32128), t5_shapes, 60506624),
    "google/flan-t5-base": (dict(
        architectures=["T5ForConditionalGeneration"], model_type="t5", d_ff=2048, d_kv=64, d_model=768, decoder_start_token_id=0, eos_token_id=1,
        feed_forward_proj="gated-gelu", layer_norm_epsilon=1e-6, n_positions=512, num_heads=12, num_layers=12, num_decoder_layers=12,
        relative_attention_max_distance=128, relative_attention_num_buckets=32, tie_word_embeddings=False, vocab_size=32128), t5_shapes, 247577856),
    "microsoft/swin-tiny-patch4-window7-224": (dict(
        architectures=["SwinForImageClassification"], model_type="swin", depths=[2, 2, 6, 2], embed_dim=96, hidden_act="gelu", image_size=224,
        layer_norm_eps=1e-5, mlp_ratio=4.0, num_channels=3, num_heads=[3, 6, 12, 24], patch_size=4, qkv_bias=True,
        use_absolute_embeddings=False, window_size=7, id2label={str(i): f"label {i}" for i in range(1000)}), swin_shapes, 28288354),
    "microsoft/swinv2-tiny-patch4-window8-256": (dict(
        architectures=["Swinv2ForImageClassification"], model_type="swinv2", depths=[2, 2, 6, 2], embed_dim=96, hidden_act="gelu", image_size=256,
        layer_norm_eps=1e-5, mlp_ratio=4.0, num_channels=3, num_heads=[3, 6, 12, 24], patch_size=4, qkv_bias=True, use_absolute_embeddings=False,
        pretrained_window_sizes=[0, 0, 0, 0], window_size=8, id2label={str(i): f"label {i}" for i in range(1000)}), swin_shapes, 28347154),
    "google/vit-base-patch16-224": ({**VIT, "architectures": ["ViTForImageClassification"], "model_type": "vit", "id2label": {
        str(i): f"label {i}" for i in range(1000)}}, vit_shapes, 86567656),
    "facebook/deit-base-distilled-patch16-224": ({
        **VIT, "architectures": ["DeiTForImageClassificationWithTeacher"], "model_type": "deit", "id2label": {
            str(i): f"label {i}" for i in range(1000)}}, vit_shapes, 87338192),
    "facebook/dinov2-base": ({**VIT, "architectures": ["Dinov2Model"], "model_type": "dinov2", "image_size": 518, "patch_size": 14, "mlp_ratio": 4,
                              "layer_norm_eps": 1e-6, "use_swiglu_ffn": False}, vit_shapes, 86579712),
    "microsoft/beit-base-patch16-224": ({
        **VIT, "architectures": ["BeitForImageClassification"], "model_type": "beit", "layer_scale_init_value": 0.1, "use_mean_pooling": True,
        "use_mask_token": False, "use_relative_position_bias": True, "use_shared_relative_position_bias": False,
        "use_absolute_position_embeddings": False, "id2label": {str(i): f"label {i}" for i in range(1000)}}, vit_shapes, 86530984),
    # Its encoder of pictures.
    "facebook/sam-vit-base": (dict(
        architectures=["SamModel"], model_type="sam", vision_config=dict(
            model_type="sam_vision_model", hidden_size=768, num_attention_heads=12, num_hidden_layers=12, image_size=1024, patch_size=16, mlp_ratio=4.0,
            window_size=14, global_attn_indexes=[2, 5, 8, 11], output_channels=256, hidden_act="gelu", layer_norm_eps=1e-6, qkv_bias=True,
            use_abs_pos=True, use_rel_pos=True)), sam_shapes, 89670912),
    # With the four numbers of each feature of frozen norms, of which the published number counts two.
    "facebook/detr-resnet-50": (dict(
        architectures=["DetrForObjectDetection"], model_type="detr", activation_function="relu", auxiliary_loss=False, backbone="resnet50",
        d_model=256, decoder_attention_heads=8, decoder_ffn_dim=2048, decoder_layers=6, dilation=False, encoder_attention_heads=8,
        encoder_ffn_dim=2048, encoder_layers=6, num_queries=100, position_embedding_type="sine", scale_embedding=False,
        id2label={str(i): f"label {i}" for i in range(91)}), detr_shapes, 41631008),
    "microsoft/trocr-base-printed": (dict(
        architectures=["VisionEncoderDecoderModel"], model_type="vision-encoder-decoder", is_encoder_decoder=True, tie_word_embeddings=False,
        encoder={**VIT, "model_type": "vit", "image_size": 384, "qkv_bias": False},
        decoder=dict(model_type="trocr", activation_function="gelu", cross_attention_hidden_size=768, d_model=1024, decoder_attention_heads=16,
                     decoder_ffn_dim=4096, decoder_layers=12, decoder_start_token_id=2, eos_token_id=2, layernorm_embedding=True,
                     max_position_embeddings=512, pad_token_id=1, scale_embedding=False, tie_word_embeddings=True, vocab_size=50265,
                     use_learned_position_embeddings=True)), trocr_shapes, 333921792 - 590592),  # without the pooler
    "openai/clip-vit-base-patch32": (dict(
        architectures=["CLIPModel"], model_type="clip", projection_dim=512, logit_scale_init_value=2.6592,
        text_config=dict(hidden_act="quick_gelu", hidden_size=512, intermediate_size=2048, layer_norm_eps=1e-5, max_position_embeddings=77,
                         num_attention_heads=8, num_hidden_layers=12, vocab_size=49408),
        vision_config=dict(hidden_act="quick_gelu", hidden_size=768, image_size=224, intermediate_size=3072, layer_norm_eps=1e-5,
                           num_attention_heads=12, num_hidden_layers=12, patch_size=32)), clip_shapes, 151277313),
    "google/siglip-base-patch16-224": (dict(
        architectures=["SiglipModel"], model_type="siglip",
        text_config=dict(hidden_size=768, intermediate_size=3072, num_attention_heads=12, num_hidden_layers=12, vocab_size=32000,
                         max_position_embeddings=64, hidden_act="gelu_pytorch_tanh", layer_norm_eps=1e-6),
        vision_config=dict(hidden_size=768, intermediate_size=3072, num_attention_heads=12, num_hidden_layers=12, image_size=224, patch_size=16,
                           hidden_act="gelu_pytorch_tanh", layer_norm_eps=1e-6)), clip_shapes, 203155970),
}

PUBLISHED.update(PUBLISHED_DECODERS)
PUBLISHED.update(PROMPTS)
PUBLISHED.update(pyramids.PUBLISHED | vit_kin.PUBLISHED | depths.PUBLISHED)
PUBLISHED.update(sounds.PUBLISHED | parakeets.PUBLISHED)
SEQ2SEQ = dict(d_model=1024, encoder_layers=12, decoder_layers=12, encoder_attention_heads=16, decoder_attention_heads=16, encoder_ffn_dim=4096,
               decoder_ffn_dim=4096, max_position_embeddings=1024, scale_embedding=True, decoder_start_token_id=2, eos_token_id=2, pad_token_id=1)
MT5 = dict(architectures=["MT5ForConditionalGeneration"], model_type="mt5", d_ff=1024, d_kv=64, d_model=512, decoder_start_token_id=0, eos_token_id=1,
           feed_forward_proj="gated-gelu", layer_norm_epsilon=1e-6, num_heads=6, num_layers=8, num_decoder_layers=8,
           relative_attention_num_buckets=32, tie_word_embeddings=False, vocab_size=250112)
LARGE = dict(hidden_size=1024, num_attention_heads=16, num_hidden_layers=24, intermediate_size=4096, hidden_act="quick_gelu", layer_norm_eps=1e-5)
UNSEGMENTED = {key: value for key, value in BERT.items() if key not in ("type_vocab_size", "pad_token_id")}
PUBLISHED |= {  # relatives
    "albert/albert-base-v2": ({**BERT, "architectures": ["AlbertModel"], "model_type": "albert", "embedding_size": 128, "hidden_act": "gelu_new",
                               "num_hidden_groups": 1, "inner_group_num": 1, "vocab_size": 30000}, kin_shapes, 11683584),
    "google/electra-small-discriminator": ({**BERT, "architectures": ["ElectraModel"], "model_type": "electra", "embedding_size": 128,
                                            "hidden_size": 256, "intermediate_size": 1024, "num_attention_heads": 4}, kin_shapes, 13483008),
    "sentence-transformers/all-mpnet-base-v2": ({**UNSEGMENTED, "architectures": ["MPNetModel"], "model_type": "mpnet", "layer_norm_eps": 1e-5,
                                                 "max_position_embeddings": 514, "relative_attention_num_buckets": 32, "vocab_size": 30527,
                                                 "pad_token_id": 1}, kin_shapes, 109486464),
    "microsoft/deberta-v3-base": ({**UNSEGMENTED, "architectures": ["DebertaV2Model"], "model_type": "deberta-v2", "layer_norm_eps": 1e-7,
                                   "type_vocab_size": 0, "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True,
                                   "pos_att_type": "p2c|c2p", "relative_attention": True, "position_biased_input": False, "vocab_size": 128100},
                                  deberta_shapes, 183831552),
    # Without the table of sines; of mBART with the bias of the scores, which the published number leaves out.
    "facebook/m2m100_418M": ({**SEQ2SEQ, "architectures": ["M2M100ForConditionalGeneration"], "model_type": "m2m_100", "activation_function": "relu",
                              "vocab_size": 128112}, bart_shapes, 483905536),
    "facebook/nllb-200-distilled-600M": ({**SEQ2SEQ, "architectures": ["M2M100ForConditionalGeneration"], "model_type": "m2m_100",
                                          "activation_function": "relu", "vocab_size": 256206}, bart_shapes, 615073792),
    "facebook/mbart-large-50": ({**SEQ2SEQ, "architectures": ["MBartForConditionalGeneration"], "model_type": "mbart", "activation_function": "gelu",
                                 "vocab_size": 250054}, bart_shapes, 610879488 + 250054),
    "google/mt5-small": (MT5, t5_shapes, 300176768),
    "google/t5-v1_1-xxl": ({**MT5, "architectures": ["T5EncoderModel"], "model_type": "t5", "d_ff": 10240, "d_model": 4096, "num_heads": 64,
                            "num_layers": 24, "num_decoder_layers": 24, "vocab_size": 32128}, t5_encoder_shapes, 4762310656),
    # DINOv2's, and four registers.
    "facebook/dinov2-with-registers-base": ({
        **{key: value for key, value in VIT.items() if key != "intermediate_size"}, "architectures": ["Dinov2WithRegistersModel"],
        "model_type": "dinov2_with_registers", "image_size": 518, "patch_size": 14, "mlp_ratio": 4, "layer_norm_eps": 1e-6, "use_swiglu_ffn": False,
        "num_register_tokens": 4}, vit_shapes, 86579712 + 4 * 768),
    "openai/clip-vit-large-patch14, its text model": ({**LARGE, "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12,
                                                       "intermediate_size": 3072, "architectures": ["CLIPTextModel"], "vocab_size": 49408,
                                                       "model_type": "clip_text_model", "max_position_embeddings": 77}, tower_shapes, 123060480),
    "openai/clip-vit-large-patch14, its vision model": ({**LARGE, "architectures": ["CLIPVisionModel"], "model_type": "clip_vision_model",
                                                         "image_size": 224, "patch_size": 14}, tower_shapes, 303179776),
    "google/siglip-base-patch16-224, its vision model": ({
        **LARGE, "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "intermediate_size": 3072, "layer_norm_eps": 1e-6,
        "hidden_act": "gelu_pytorch_tanh", "architectures": ["SiglipVisionModel"], "model_type": "siglip_vision_model", "image_size": 224,
        "patch_size": 16}, tower_shapes, 92884224),
}


def write_hole(path, shapes):
    """A .safetensors file whose numbers, in bf16, take no room on the disk."""
    header, at = {}, 0
    for name, shape in shapes.items():
        count = 1
        for size in shape:
            count *= size
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, at + 2 * count]}
        at += 2 * count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + at)


def main():
    for model, (config, shapes, parameters) in PUBLISHED.items():
        folder = os.path.join(sys.argv[1], model.split("/")[1])
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file)
        write_hole(os.path.join(folder, "model.safetensors"), shapes(config))
        spec = os.path.join(folder, "spec.attn")
        for words in (["import", folder, "-o", spec], ["check", spec, "--weights", folder], ["check", spec]):
            done = subprocess.run(["attn", *words], capture_output=True, text=True)
            assert done.returncode == 0, f"{model}: {' '.join(words)}: {done.stdout}{done.stderr}"
        found = int(done.stdout.split(" is well formed, ")[1].split(" parameters")[0])
        print(f"{model}: {found} parameters, {len(open(spec).read().splitlines())} lines")
        assert found == parameters, f"{model} has {parameters} parameters"


if __name__ == "__main__":
    main()
