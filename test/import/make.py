#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders as Hugging Face publishes them: a config.json with the keys of the family's, tensors with its names, and random numbers.

usage: make.py FAMILY FOLDER [--seed N]

FAMILIES says, for each, a config in small, the shapes of its tensors, and other files. What a model of it computes is in twins.py."""
import argparse
import json
import os
import sys

import numpy as np

from decoders import decoder_shapes
import depths
from gpts import gpt_shapes
from make_latent import latent_folders
from parts import CONFIGS, fitting
import pyramids
from relatives import deberta_shapes, dinov3_shapes, kin_shapes
from shapes import (backbone_weights, bart_shapes, bert_shapes, clip_shapes, detr_shapes, gpt2_shapes, gpt_neox_shapes, llama_shapes, modernbert_shapes, nomic_shapes,
                    opt_shapes, sam_shapes, swin_shapes, t5_encoder_shapes, t5_shapes, timm_shapes, tower_shapes, trocr_shapes, vit_shapes)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
import parakeets
import sounds
import vit_kin
from vit_twin import write_safetensors


def llama(model_type, architecture, **more):
    return dict(model_type=model_type, architectures=[architecture], hidden_size=48, num_attention_heads=6, num_key_value_heads=2,
                num_hidden_layers=4, intermediate_size=80, vocab_size=97, max_position_embeddings=64, rms_norm_eps=1e-6, hidden_act="silu",
                **more)


def bert(model_type, architecture, **more):
    return dict(model_type=model_type, architectures=[architecture], hidden_size=48, num_attention_heads=6, num_hidden_layers=2,
                intermediate_size=80, vocab_size=97, max_position_embeddings=40, type_vocab_size=2, layer_norm_eps=1e-12, hidden_act="gelu",
                pad_token_id=0, **more)


def vit(model_type, architecture, **more):
    return dict(model_type=model_type, architectures=[architecture], hidden_size=48, num_attention_heads=6, num_hidden_layers=2,
                hidden_act="gelu", layer_norm_eps=1e-12, image_size=32, patch_size=8, num_channels=3, qkv_bias=True, **more)


def beit(architecture, **more):
    return {**vit("beit", architecture, intermediate_size=80, layer_scale_init_value=0.1, use_mean_pooling=True, use_mask_token=False,
                  use_relative_position_bias=True, use_shared_relative_position_bias=False, use_absolute_position_embeddings=False), **more}


def modernbert(architecture, **more):
    return dict(model_type="modernbert", architectures=[architecture], hidden_size=48, num_attention_heads=6, num_hidden_layers=5,
                intermediate_size=80, vocab_size=97, max_position_embeddings=40, norm_eps=1e-5, norm_bias=False, attention_bias=False,
                mlp_bias=False, classifier_bias=False, hidden_activation="gelu", classifier_activation="gelu", global_attn_every_n_layers=3,
                local_attention=8, global_rope_theta=160000.0, local_rope_theta=10000.0, **more)


def bart(model_type, architecture, **more):
    return dict(model_type=model_type, architectures=[architecture], d_model=48, encoder_layers=2, decoder_layers=3, encoder_attention_heads=6,
                decoder_attention_heads=6, encoder_ffn_dim=80, decoder_ffn_dim=80, vocab_size=97, eos_token_id=2, **more)


def swin(model_type, architecture, **more):
    return dict(model_type=model_type, architectures=[architecture], image_size=64, patch_size=4, num_channels=3, embed_dim=24, depths=[2, 3],
                num_heads=[2, 4], mlp_ratio=2.0, qkv_bias=True, hidden_act="gelu", use_absolute_embeddings=False, id2label=LABELS, **more)


def trocr(encoder, **more):
    decoder = dict(model_type="trocr", d_model=40, decoder_layers=3, decoder_attention_heads=5, decoder_ffn_dim=72, vocab_size=97,
                   max_position_embeddings=32, activation_function="gelu", layernorm_embedding=True, scale_embedding=False, pad_token_id=1,
                   use_learned_position_embeddings=True, cross_attention_hidden_size=48, tie_word_embeddings=True, decoder_start_token_id=2,
                   eos_token_id=2)
    return dict(model_type="vision-encoder-decoder", architectures=["VisionEncoderDecoderModel"], encoder=encoder, tie_word_embeddings=False,
                decoder={**decoder, **more})


def t5(**more):
    return dict(model_type="t5", architectures=["T5ForConditionalGeneration"], d_model=48, d_kv=12, d_ff=80, num_layers=2, num_decoder_layers=3,
                num_heads=5, vocab_size=97, relative_attention_num_buckets=32, layer_norm_epsilon=1e-6, n_positions=64, eos_token_id=1,
                decoder_start_token_id=0, **more)


def clip(model_type, architecture, act, **more):
    text = dict(hidden_size=32, num_attention_heads=4, num_hidden_layers=2, intermediate_size=64, vocab_size=97, max_position_embeddings=24,
                hidden_act=act, layer_norm_eps=1e-5)
    image = dict(hidden_size=48, num_attention_heads=6, num_hidden_layers=2, intermediate_size=80, image_size=32, patch_size=8, hidden_act=act,
                 layer_norm_eps=1e-5)
    return dict(model_type=model_type, architectures=[architecture], text_config=text, vision_config=image, **more)


PIXELS = dict(input_size=[3, 32, 32], interpolation="bicubic", mean=[0.5, 0.5, 0.5], std=[0.5, 0.5, 0.5], crop_pct=0.9)
LABELS = {"0": "anger", "1": "joy", "2": "fear"}
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
GEMMA = dict(head_dim=16, hidden_activation="gelu_pytorch_tanh")
SAMPLED = {"generation_config.json": dict(do_sample=True, temperature=0.6, top_p=0.95, top_k=20, eos_token_id=[5, 7])}
MODULES = [dict(idx=i, name=str(i), path=path, type="sentence_transformers.models." + kind)
           for i, (kind, path) in enumerate([("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")])]
MEAN = {"1_Pooling/config.json": dict(word_embedding_dimension=48, pooling_mode_mean_tokens=True, pooling_mode_cls_token=False),
        "modules.json": MODULES}
FIRST = {"1_Pooling/config.json": dict(word_embedding_dimension=48, pooling_mode_mean_tokens=False, pooling_mode_cls_token=True),
         "modules.json": MODULES}
PICTURE = {"preprocessor_config.json": dict(do_center_crop=False, do_normalize=True, do_resize=True, image_mean=[0.5, 0.5, 0.5],
                                            image_std=[0.5, 0.4, 0.3], resample=2, size=dict(height=32, width=32))}
CROPPED = {"preprocessor_config.json": dict(do_normalize=True, do_resize=True, do_center_crop=True, crop_size=dict(height=40, width=40),
                                            image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225], resample=3,
                                            size=dict(shortest_edge=48))}
FRAMED = {"preprocessor_config.json": dict(do_normalize=True, do_resize=True, do_pad=True, image_mean=[0.485, 0.456, 0.406], resample=2,
                                           image_std=[0.229, 0.224, 0.225], size=dict(shortest_edge=70, longest_edge=90))}
NOMIC = dict(model_type="nomic_bert", architectures=["NomicBertModel"], activation_function="swiglu", causal=False, layer_norm_epsilon=1e-12,
             max_trained_positions=32, mlp_fc1_bias=False, mlp_fc2_bias=False, n_embd=48, n_head=6, n_inner=80, n_layer=2, n_positions=64, prenorm=False,
             qkv_proj_bias=False, rotary_emb_base=1000, rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None,
             rotary_scaling_factor=2, type_vocab_size=2, use_rms_norm=False, vocab_size=97)
# As the library has written it since version 5.
NOMIC5 = dict(model_type="nomic_bert", architectures=["NomicBertModel"], hidden_size=48, num_attention_heads=6, num_hidden_layers=2, vocab_size=97,
              intermediate_size=80, max_position_embeddings=64, type_vocab_size=2, layer_norm_eps=1e-12, hidden_act="gelu", head_dim=8,
              rope_parameters=dict(rope_type="yarn", rope_theta=2000.0, factor=4.0, original_max_position_embeddings=16))
MODERN5 = dict(layer_types=["sliding_attention", "full_attention", "full_attention", "sliding_attention", "sliding_attention"],
               rope_parameters=dict(full_attention=dict(rope_type="yarn", rope_theta=50000.0, factor=2.0, original_max_position_embeddings=20),
                                    sliding_attention=dict(rope_type="linear", rope_theta=3000.0, factor=4.0)))
OPT = dict(model_type="opt", architectures=["OPTForCausalLM"], hidden_size=48, num_attention_heads=6, num_hidden_layers=2, ffn_dim=80,
           word_embed_proj_dim=48, vocab_size=97, max_position_embeddings=64, do_layer_norm_before=True, activation_function="relu", eos_token_id=2,
           _remove_final_layer_norm=False, prefix="")
NEOX = dict(model_type="gpt_neox", architectures=["GPTNeoXForCausalLM"], hidden_size=48, num_attention_heads=3, num_hidden_layers=2,
            intermediate_size=80, vocab_size=97, max_position_embeddings=64, layer_norm_eps=1e-5, hidden_act="gelu", use_parallel_residual=True,
            tie_word_embeddings=False, eos_token_id=0)

FAMILIES = {
    "llama2": (llama("llama", "LlamaForCausalLM", rope_theta=10000.0, tie_word_embeddings=False), llama_shapes, {}),
    "llama3": (llama("llama", "LlamaForCausalLM", rope_theta=500000.0, rope_scaling=LLAMA3, tie_word_embeddings=True, attention_bias=True,
                     mlp_bias=True), llama_shapes, SAMPLED),
    "llama3-v5": (llama("llama", "LlamaForCausalLM", rope_parameters=dict(rope_theta=500000.0, **LLAMA3)), llama_shapes, {}),
    "mistral": (llama("mistral", "MistralForCausalLM", rope_theta=1000000.0, sliding_window=7, head_dim=12), llama_shapes, {}),
    "qwen2": (llama("qwen2", "Qwen2ForCausalLM", rope_theta=1000000.0, use_sliding_window=True, sliding_window=5, max_window_layers=2,
                    tie_word_embeddings=True), llama_shapes, {}),
    "qwen3": (llama("qwen3", "Qwen3ForCausalLM", rope_theta=1000000, head_dim=16, use_sliding_window=False, sliding_window=None,
                    tie_word_embeddings=True), llama_shapes, SAMPLED),
    "qwen3-yarn": (llama("qwen3", "Qwen3ForCausalLM", rope_theta=10000.0, head_dim=16, tie_word_embeddings=True, rope_scaling=dict(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=4.0)), llama_shapes, {}),
    "mixtral": (llama("mixtral", "MixtralForCausalLM", rope_theta=1000000.0, sliding_window=None, num_local_experts=5, num_experts_per_tok=2),
                llama_shapes, {}),
    "qwen3-moe": (llama("qwen3_moe", "Qwen3MoeForCausalLM", rope_theta=1000000.0, head_dim=16, num_experts=6, num_experts_per_tok=3,
                        moe_intermediate_size=24, norm_topk_prob=False, decoder_sparse_step=1, mlp_only_layers=[], use_sliding_window=False),
                  llama_shapes, {}),
    "qwen3-moe-v5": (llama("qwen3_moe", "Qwen3MoeForCausalLM", head_dim=16, num_local_experts=6, num_experts_per_tok=3, moe_intermediate_size=24,
                           norm_topk_prob=True, rope_parameters=dict(rope_type="default", rope_theta=1000000.0)), llama_shapes, {}),
    "gpt-oss": (llama("gpt_oss", "GptOssForCausalLM", rope_theta=150000.0, head_dim=16, attention_bias=True, sliding_window=6, swiglu_limit=1.5,
                      num_local_experts=6, num_experts_per_tok=3, layer_types=["sliding_attention", "full_attention"] * 2,
                      rope_scaling=dict(rope_type="yarn", factor=32.0, original_max_position_embeddings=4096, truncate=False)),
                llama_shapes, {}),
    "gemma": (llama("gemma", "GemmaForCausalLM", rope_theta=10000.0, **GEMMA), llama_shapes, {}),
    "gemma2": (llama("gemma2", "Gemma2ForCausalLM", rope_theta=10000.0, sliding_window=6, query_pre_attn_scalar=24, attn_logit_softcapping=5.0,
                     final_logit_softcapping=3.0, **GEMMA), llama_shapes, {}),
    "gemma3": (llama("gemma3_text", "Gemma3ForCausalLM", rope_theta=1000000.0, rope_local_base_freq=10000.0, rope_scaling=dict(
        rope_type="linear", factor=8.0), sliding_window=6, sliding_window_pattern=3, query_pre_attn_scalar=24, **GEMMA), llama_shapes, {}),
    "gemma3-v5": (llama("gemma3_text", "Gemma3ForCausalLM", layer_types=["sliding_attention", "full_attention"] * 2, sliding_window=6,
                        query_pre_attn_scalar=16, rope_parameters=dict(
                            full_attention=dict(rope_type="default", rope_theta=1000000.0),
                            sliding_attention=dict(rope_type="default", rope_theta=10000.0)), **GEMMA), llama_shapes, {}),
    "phi3": (llama("phi3", "Phi3ForCausalLM", rope_theta=10000.0, rope_scaling=None, sliding_window=9, partial_rotary_factor=0.5,
                   tie_word_embeddings=False), llama_shapes, {}),
    "phi3-128k": (llama("phi3", "Phi3ForCausalLM", rope_theta=10000.0, rope_scaling=dict(
        type="longrope", short_factor=[1.0, 1.05, 1.05, 1.2], long_factor=[1.1, 2.5, 7.0, 20.0]), original_max_position_embeddings=32,
        sliding_window=64, tie_word_embeddings=False), llama_shapes, {}),
    "phi4-mini": (llama("phi3", "Phi3ForCausalLM", rope_theta=10000.0, rope_scaling=dict(
        rope_type="longrope", short_factor=[1.0, 1.0, 1.3], long_factor=[1.0, 3.5, 12.0]), original_max_position_embeddings=32,
        partial_rotary_factor=0.75, sliding_window=None, tie_word_embeddings=True), llama_shapes, {}),
    "vit": (vit("vit", "ViTForImageClassification", intermediate_size=80, id2label=LABELS), vit_shapes, PICTURE),
    "deit": (vit("deit", "DeiTForImageClassificationWithTeacher", intermediate_size=80, id2label=LABELS), vit_shapes, PICTURE),
    "dinov2": ({**vit("dinov2", "Dinov2Model", mlp_ratio=2), "layer_norm_eps": 1e-6}, vit_shapes, CROPPED),
    "dinov2-classes": ({**vit("dinov2", "Dinov2ForImageClassification", mlp_ratio=2, use_swiglu_ffn=True, id2label=LABELS),
                        "layer_norm_eps": 1e-6}, vit_shapes, {}),
    "beit": (beit("BeitForImageClassification", id2label=LABELS, buffers=True), vit_shapes, PICTURE),
    "beit-shared": (beit("BeitModel", use_relative_position_bias=False, use_shared_relative_position_bias=True, use_mean_pooling=False,
                         use_absolute_position_embeddings=True, use_mask_token=True), vit_shapes, PICTURE),
    "trocr": (trocr({**vit("vit", "ViTModel", intermediate_size=80), "qkv_bias": False}), trocr_shapes, {**PICTURE, "generation_config.json": dict(
        bos_token_id=0, decoder_start_token_id=2, eos_token_id=2, pad_token_id=1, use_cache=False)}),
    "trocr-sines": (trocr(vit("deit", "DeiTModel", intermediate_size=80), cross_attention_hidden_size=None, scale_embedding=True,
                          use_learned_position_embeddings=False, layernorm_embedding=False, activation_function="relu", tie_word_embeddings=False), trocr_shapes, PICTURE),
    "clip": (clip("clip", "CLIPModel", "quick_gelu", projection_dim=40), clip_shapes, PICTURE),
    "siglip": (clip("siglip", "SiglipModel", "gelu_pytorch_tanh"), clip_shapes, PICTURE),
    "swin": (swin("swin", "SwinForImageClassification", window_size=4, layer_norm_eps=1e-5), swin_shapes, {}),
    "swinv2": (swin("swinv2", "Swinv2ForImageClassification", window_size=16, layer_norm_eps=1e-3, pretrained_window_sizes=[6, 0], buffers=True),
               swin_shapes, {}),
    "swinv2-shifted": (swin("swinv2", "Swinv2ForImageClassification", window_size=4, layer_norm_eps=1e-5), swin_shapes, {}),
    "sam": (dict(model_type="sam", architectures=["SamModel"], vision_config=dict(
        model_type="sam_vision_model", hidden_size=48, num_attention_heads=6, num_hidden_layers=3, image_size=40, patch_size=4, mlp_ratio=2.0,
        window_size=4, global_attn_indexes=[1], output_channels=20, hidden_act="gelu", layer_norm_eps=1e-6, qkv_bias=True, use_rel_pos=True,
        use_abs_pos=True)), sam_shapes, {"preprocessor_config.json": dict(
            do_normalize=True, do_pad=True, do_resize=True, image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225],
            pad_size=dict(height=40, width=40), resample=2, size=dict(longest_edge=40))}),
    "detr": (dict(model_type="detr", architectures=["DetrForObjectDetection"], d_model=48, encoder_layers=2, decoder_layers=2,
                  encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=80, decoder_ffn_dim=80, num_queries=7, num_channels=3,
                  activation_function="relu", backbone="resnet50", use_timm_backbone=True, dilation=False, position_embedding_type="sine",
                  auxiliary_loss=False, id2label=LABELS), lambda c: detr_shapes(c, 64), FRAMED),
    "detr-wider": (dict(model_type="detr", architectures=["DetrForObjectDetection"], d_model=48, encoder_layers=2, decoder_layers=2,
                        encoder_attention_heads=6, decoder_attention_heads=4, encoder_ffn_dim=80, decoder_ffn_dim=56, num_queries=7,
                        activation_function="relu", backbone="resnet50", use_timm_backbone=True, use_pretrained_backbone=True,
                        id2label=LABELS), lambda c: detr_shapes(c, 64), FRAMED),
    "timm-vit": (dict(architecture="vit_mini_patch8_32", num_classes=5, num_features=64, global_pool="avg", pretrained_cfg=PIXELS,
                      model_args=dict(num_heads=4)), timm_shapes, {}),
    "timm-deit": (dict(architecture="deit_mini_distilled_patch8_32", num_classes=5, pretrained_cfg=PIXELS, model_args=dict(num_heads=4)),
                  timm_shapes, {}),
    "timm-dinov2": (dict(architecture="vit_mini_patch8_dinov2", num_classes=0, pretrained_cfg=PIXELS, model_args=dict(num_heads=4)),
                    timm_shapes, {}),
    "gpt2": (dict(model_type="gpt2", architectures=["GPT2LMHeadModel"], n_embd=48, n_head=6, n_layer=2, n_positions=64, n_ctx=64,
                  vocab_size=97, layer_norm_epsilon=1e-5, activation_function="gelu_new", eos_token_id=5), gpt2_shapes, {}),
    "gpt2-cross": (dict(model_type="gpt2", architectures=["GPT2LMHeadModel"], n_embd=48, n_head=6, n_layer=2, n_positions=64, vocab_size=97,
                        layer_norm_epsilon=1e-5, activation_function="gelu_new", add_cross_attention=True), gpt2_shapes, {}),
    "opt": (OPT, opt_shapes, {}),
    "opt-350m": ({**OPT, "word_embed_proj_dim": 32, "do_layer_norm_before": False}, opt_shapes, {}),
    "opt-untied": ({**OPT, "tie_word_embeddings": False, "enable_bias": False, "_remove_final_layer_norm": True}, opt_shapes, {}),
    "pythia": ({**NEOX, "rotary_pct": 0.25, "rotary_emb_base": 10000}, gpt_neox_shapes, {}),
    "pythia-v5": ({**NEOX, "rope_parameters": {"rope_type": "default", "rope_theta": 20000.0, "partial_rotary_factor": 0.5}}, gpt_neox_shapes, {}),
    "neox-serial": ({**NEOX, "use_parallel_residual": False, "tie_word_embeddings": True, "attention_bias": False, "rotary_pct": 1.0},
                    gpt_neox_shapes, {}),
    "bert": (bert("bert", "BertModel"), bert_shapes, {}),
    "bert-fill": (bert("bert", "BertForMaskedLM"), bert_shapes, {}),
    "bert-fill-untied": (bert("bert", "BertForMaskedLM", tie_word_embeddings=False), bert_shapes, {}),
    "bert-classes": (bert("bert", "BertForSequenceClassification", id2label=LABELS), bert_shapes, {}),
    "bert-tokens": (bert("bert", "BertForTokenClassification", id2label=LABELS), bert_shapes, {}),
    "bert-answers": (bert("bert", "BertForQuestionAnswering"), bert_shapes, {}),
    "minilm": (bert("bert", "BertModel"), bert_shapes, MEAN),
    "bge": (bert("bert", "BertModel"), bert_shapes, FIRST),
    "nomic-bert": (NOMIC, nomic_shapes, {}),
    "nomic-bert-v5": (NOMIC5, nomic_shapes, {}),
    "nomic-embed": (NOMIC, nomic_shapes, MEAN),
    "modernbert-embed": (modernbert("ModernBertModel"), modernbert_shapes, MEAN),
    "modernbert-fill": (modernbert("ModernBertForMaskedLM"), modernbert_shapes, {}),
    "modernbert-v5": ({**modernbert("ModernBertForMaskedLM", tie_word_embeddings=False), **MODERN5}, modernbert_shapes, {}),
    "modernbert-classes": (modernbert("ModernBertForSequenceClassification", classifier_pooling="mean", id2label=LABELS), modernbert_shapes, {}),
    "bart": (bart("bart", "BartForConditionalGeneration", activation_function="gelu", max_position_embeddings=40, scale_embedding=False,
                  decoder_start_token_id=2), bart_shapes, {"generation_config.json": dict(
                      num_beams=4, length_penalty=2.0, forced_bos_token_id=0, eos_token_id=2, no_repeat_ngram_size=3, decoder_start_token_id=2)}),
    "bart-wider": ({**bart("bart", "BartForConditionalGeneration", activation_function="gelu", max_position_embeddings=40, scale_embedding=True,
                           decoder_start_token_id=2), "decoder_attention_heads": 4, "decoder_ffn_dim": 56}, bart_shapes, {}),
    "marian": (bart("marian", "MarianMTModel", activation_function="swish", max_position_embeddings=40, scale_embedding=True,
                    decoder_start_token_id=96, num_beams=6, bad_words_ids=[[96]]), bart_shapes, {}),
    "whisper": (bart("whisper", "WhisperForConditionalGeneration", activation_function="gelu", num_mel_bins=10, max_source_positions=20,
                     max_target_positions=32, scale_embedding=True, decoder_start_token_id=90, suppress_tokens=[5, 6],
                     forced_decoder_ids=[[1, 91], [2, 92]]), bart_shapes, {}),
    "t5": (t5(feed_forward_proj="relu", tie_word_embeddings=True), t5_shapes, {}),
    "t5-v5": ({**t5(feed_forward_proj="relu", is_gated_act=True, dense_act_fn="silu", tie_word_embeddings=True, scale_decoder_outputs=False,
                    relative_attention_max_distance=11), "relative_attention_num_buckets": 12}, t5_shapes, {}),
    "flan-t5": (t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False), t5_shapes, {}),
    "roberta-fill": ({**bert("roberta", "RobertaForMaskedLM"), "hidden_act": "relu", "type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}, bert_shapes, {}),
    "xlm-roberta-classes": ({**bert("xlm-roberta", "XLMRobertaForSequenceClassification", id2label=LABELS), "type_vocab_size": 1,
                             "pad_token_id": 1, "layer_norm_eps": 1e-5}, bert_shapes, {}),
    "distilbert-classes": (dict(model_type="distilbert", architectures=["DistilBertForSequenceClassification"], dim=48, n_heads=6, n_layers=2,
                                hidden_dim=80, vocab_size=97, max_position_embeddings=40, activation="gelu", id2label=LABELS), bert_shapes, {}),
    "distilbert-fill": (dict(model_type="distilbert", architectures=["DistilBertForMaskedLM"], dim=48, n_heads=6, n_layers=2, hidden_dim=80,
                             vocab_size=97, max_position_embeddings=40, activation="gelu"), bert_shapes, {}),
}

# Relatives of GPT.
GPT = dict(n_embd=48, n_head=6, n_layer=2, n_positions=64, vocab_size=97, layer_norm_epsilon=1e-5, eos_token_id=5)
FALCON = dict(model_type="falcon", architectures=["FalconForCausalLM"], hidden_size=48, num_attention_heads=6, num_hidden_layers=2, vocab_size=97,
              max_position_embeddings=64, layer_norm_epsilon=1e-5, activation="gelu", rope_theta=5000.0, eos_token_id=11)
FAIR = dict(vocab_size=97, max_position_embeddings=64, eos_token_id=2, scale_embedding=True)
GPTS = {
    "openai-gpt": dict(GPT, model_type="openai-gpt", architectures=["OpenAIGPTLMHeadModel"], afn="gelu"),
    "starcoder": dict(GPT, model_type="gpt_bigcode", architectures=["GPTBigCodeForCausalLM"], multi_query=True, activation_function="gelu_pytorch_tanh"),
    "bigcode-heads": dict(GPT, model_type="gpt_bigcode", architectures=["GPTBigCodeForCausalLM"], multi_query=False, activation_function="gelu",
                          n_inner=80),
    "gpt-neo": dict(model_type="gpt_neo", architectures=["GPTNeoForCausalLM"], hidden_size=48, num_heads=6, num_layers=3, vocab_size=97, window_size=4,
                    attention_types=[[["global", "local"], 1], [["local"], 1]], max_position_embeddings=64, layer_norm_epsilon=1e-5, eos_token_id=5,
                    activation_function="gelu_new"),
    "gpt-j": dict(GPT, model_type="gptj", architectures=["GPTJForCausalLM"], rotary_dim=4, activation_function="gelu_new", tie_word_embeddings=False),
    "codegen": dict(GPT, model_type="codegen", architectures=["CodeGenForCausalLM"], n_embd=64, n_head=8, rotary_dim=6, activation_function="gelu_new",
                    tie_word_embeddings=False),
    "ctrl": {**GPT, "model_type": "ctrl", "architectures": ["CTRLLMHeadModel"], "dff": 80, "layer_norm_epsilon": 1e-6},
    "xglm": dict(FAIR, model_type="xglm", architectures=["XGLMForCausalLM"], d_model=48, attention_heads=6, num_layers=2, ffn_dim=80,
                 activation_function="gelu"),
    "biogpt": dict(FAIR, model_type="biogpt", architectures=["BioGptForCausalLM"], hidden_size=48, num_attention_heads=6, num_hidden_layers=2,
                   intermediate_size=80, hidden_act="gelu", layer_norm_eps=1e-12),
    "bloom": dict(model_type="bloom", architectures=["BloomForCausalLM"], n_embed=48, hidden_size=48, n_head=6, n_layer=2, vocab_size=97,
                  layer_norm_epsilon=1e-5, eos_token_id=2),
    "falcon-7b": dict(FALCON, multi_query=True, parallel_attn=True, alibi=False, bias=False, new_decoder_architecture=False),
    "falcon-40b": dict(FALCON, new_decoder_architecture=True, num_kv_heads=2, tie_word_embeddings=False),
    "falcon-11b": dict(FALCON, new_decoder_architecture=True, num_kv_heads=3, num_ln_in_parallel_attn=1),
    "falcon-rw": dict(FALCON, alibi=True, multi_query=False, parallel_attn=False, bias=True),
    "mpt": dict(model_type="mpt", architectures=["MptForCausalLM"], d_model=48, n_heads=6, n_layers=2, max_seq_len=64, vocab_size=97,
                layer_norm_epsilon=1e-5, attn_config=dict(clip_qkv=0.8, softmax_scale=0.25, alibi=True)),
    "persimmon": dict(model_type="persimmon", architectures=["PersimmonForCausalLM"], hidden_size=48, num_attention_heads=6, num_hidden_layers=2,
                      intermediate_size=80, vocab_size=97, max_position_embeddings=64, layer_norm_eps=1e-5, hidden_act="relu2", qk_layernorm=True,
                      rope_theta=25000.0, eos_token_id=2),
}
FAMILIES |= {name: (config, gpt_shapes, {}) for name, config in GPTS.items()}

# Relatives of these families.
ROBERTA = {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}
DEBERTA = dict(relative_attention=True, position_biased_input=False, pos_att_type="p2c|c2p", max_relative_positions=-1, layer_norm_eps=1e-7)
ESM = dict(position_embedding_type="rotary", emb_layer_norm_before=False, token_dropout=True, mask_token_id=7)
SPLADE = {"1_SpladePooling/config.json": dict(pooling_strategy="max", activation_function="relu", word_embedding_dimension=97), "modules.json": [
    dict(idx=0, name="0", path="", type="sentence_transformers.sparse_encoder.models.MLMTransformer"),
    dict(idx=1, name="1", path="1_SpladePooling", type="sentence_transformers.sparse_encoder.models.SpladePooling")]}
DINO3 = {key: value for key, value in vit("dinov3_vit", "DINOv3ViTModel", intermediate_size=80, num_register_tokens=4, rope_theta=100.0).items()
         if key != "qkv_bias"}
SEEN = clip("clip", "", "quick_gelu")["vision_config"]
READ = clip("clip", "", "quick_gelu")["text_config"]


def seq2seq(kind, name, **more):
    """A relative of BART."""
    return bart(kind, name + "ForConditionalGeneration", **dict(
        activation_function="gelu", max_position_embeddings=40, scale_embedding=True, decoder_start_token_id=2, pad_token_id=1) | more)


def of_t5(kind, name, **more):
    return {**t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False), "model_type": kind, "architectures": [name], **more}


def unsegmented(kind, architecture, **more):
    """Of a class without segments, whose pad token is 1."""
    return {**{key: value for key, value in bert(kind, architecture, **more).items() if key != "type_vocab_size"}, "pad_token_id": 1}


FAMILIES |= {
    "camembert": ({**bert("camembert", "CamembertForMaskedLM"), **ROBERTA}, kin_shapes, {}),
    "camembert-untied": ({**bert("camembert", "CamembertForMaskedLM", tie_word_embeddings=False), **ROBERTA}, kin_shapes, {}),
    "data2vec-text": ({**bert("data2vec-text", "Data2VecTextForTokenClassification", id2label=LABELS), **ROBERTA}, kin_shapes, {}),
    "xlm-roberta-xl": ({**bert("xlm-roberta-xl", "XLMRobertaXLForSequenceClassification", id2label=LABELS), **ROBERTA}, kin_shapes, {}),
    "roberta-prelayernorm": ({**bert("roberta-prelayernorm", "RobertaPreLayerNormForMaskedLM"), **ROBERTA}, kin_shapes, {}),
    "electra": (bert("electra", "ElectraForPreTraining", embedding_size=24, summary_type="first", summary_use_proj=True), kin_shapes, {}),
    "electra-classes": (bert("electra", "ElectraForSequenceClassification", embedding_size=48, id2label=LABELS), kin_shapes, {}),
    "electra-fill": (bert("electra", "ElectraForMaskedLM", embedding_size=24), kin_shapes, {}),
    "albert": ({**bert("albert", "AlbertForMaskedLM", embedding_size=24, num_hidden_groups=1, inner_group_num=1), "hidden_act": "gelu_new"},
               kin_shapes, {}),
    "albert-answers": (bert("albert", "AlbertForQuestionAnswering", embedding_size=48), kin_shapes, {}),
    "ernie": (bert("ernie", "ErnieForSequenceClassification", use_task_id=True, task_type_vocab_size=3, id2label=LABELS), kin_shapes, {}),
    "megatron-bert": (bert("megatron-bert", "MegatronBertForMaskedLM"), kin_shapes, {}),
    "mpnet": (unsegmented("mpnet", "MPNetModel", relative_attention_num_buckets=32), kin_shapes, MEAN),
    "mpnet-fill": (unsegmented("mpnet", "MPNetForMaskedLM", relative_attention_num_buckets=32), kin_shapes, {}),
    "esm": (unsegmented("esm", "EsmForMaskedLM", **ESM), kin_shapes, {}),
    "esm-classes": (unsegmented("esm", "EsmForSequenceClassification", id2label=LABELS, **{**ESM, "token_dropout": False}), kin_shapes, {}),
    "splade": (bert("bert", "BertForMaskedLM"), kin_shapes, SPLADE),
    "colbert": (bert("bert", "HF_ColBERT", vector=12), kin_shapes, {}),
    "deberta": ({**bert("deberta", "DebertaForSequenceClassification", id2label=LABELS, **{
        key: value for key, value in DEBERTA.items() if key != "layer_norm_eps"}), "type_vocab_size": 0}, deberta_shapes, {}),
    "deberta-v3": ({**bert("deberta-v2", "DebertaV2ForMaskedLM"), **DEBERTA, "type_vocab_size": 0, "position_buckets": 8, "share_att_key": True,
                    "norm_rel_ebd": "layer_norm"}, deberta_shapes, {}),
    "deberta-v2-convolved": ({**bert("deberta-v2", "DebertaV2Model"), **DEBERTA, "conv_kernel_size": 3, "conv_act": "tanh", "embedding_size": 24,
                              "position_biased_input": True}, deberta_shapes, {}),
    "mbart": (seq2seq("mbart", "MBart"), bart_shapes, {}),
    "plbart": (seq2seq("plbart", "PLBart"), bart_shapes, {}),
    "pegasus": (seq2seq("pegasus", "Pegasus", activation_function="relu", normalize_before=True), bart_shapes, {}),
    "m2m-100": (seq2seq("m2m_100", "M2M100", activation_function="relu"), bart_shapes, {}),
    "blenderbot": (seq2seq("blenderbot", "Blenderbot", layernorm_variant="prelayernorm"), bart_shapes, {}),
    "blenderbot-small": (seq2seq("blenderbot-small", "BlenderbotSmall", normalize_before=False), bart_shapes, {}),
    "mt5": (of_t5("mt5", "MT5ForConditionalGeneration"), t5_shapes, {}),
    "umt5": (of_t5("umt5", "UMT5ForConditionalGeneration"), t5_shapes, {}),
    "t5-encoder": (of_t5("t5", "T5EncoderModel"), t5_encoder_shapes, {}),
    "sentence-t5": (of_t5("t5", "T5EncoderModel"), t5_encoder_shapes, MEAN),
    "dinov2-registers": ({**vit("dinov2_with_registers", "Dinov2WithRegistersModel", mlp_ratio=2, num_register_tokens=4), "layer_norm_eps": 1e-6},
                         vit_shapes, CROPPED),
    "dinov2-registers-classes": ({**vit("dinov2_with_registers", "Dinov2WithRegistersForImageClassification", mlp_ratio=2, num_register_tokens=3,
                                        id2label=LABELS), "layer_norm_eps": 1e-6}, vit_shapes, {}),
    "data2vec-vision": ({**beit("Data2VecVisionForImageClassification", id2label=LABELS), "model_type": "data2vec-vision"}, vit_shapes, PICTURE),
    "vit-msn": (vit("vit_msn", "ViTMSNForImageClassification", intermediate_size=80, id2label=LABELS), vit_shapes, PICTURE),
    "ijepa": (vit("ijepa", "IJepaForImageClassification", intermediate_size=80, id2label=LABELS), vit_shapes, PICTURE),
    "dinov3": (DINO3, dinov3_shapes, {}),
    "dinov3-gated": ({**DINO3, "num_register_tokens": 1, "use_gated_mlp": True, "hidden_act": "silu"}, dinov3_shapes, {}),
    "clip-vision": ({**SEEN, "model_type": "clip_vision_model", "architectures": ["CLIPVisionModel"]}, tower_shapes, PICTURE),
    "clip-text": ({**READ, "model_type": "clip_text_model", "architectures": ["CLIPTextModelWithProjection"], "projection_dim": 20}, tower_shapes, {}),
    "siglip-vision": ({**SEEN, "model_type": "siglip_vision_model", "architectures": ["SiglipVisionModel"], "hidden_act": "gelu_pytorch_tanh"},
                      tower_shapes, PICTURE),
    "siglip-text": ({**READ, "model_type": "siglip_text_model", "architectures": ["SiglipTextModel"], "hidden_act": "gelu_pytorch_tanh",
                     "projection_size": 32}, tower_shapes, {}),
}


def relative(model_type, architecture, eps="rms_norm_eps", **more):
    own = dict(model_type=model_type, architectures=[architecture + "ForCausalLM"], hidden_size=48, num_attention_heads=6, num_key_value_heads=2,
               num_hidden_layers=4, intermediate_size=80, vocab_size=97, max_position_embeddings=64, hidden_act="silu", rope_theta=10000.0,
               tie_word_embeddings=False)
    return ({**own, **({eps: 1e-5} if eps else {}), **more}, decoder_shapes, {})


NETS = dict(attention_bias=False, linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=10, linear_value_head_dim=14,
            linear_conv_kernel_dim=4, rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5))
SHARED = dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24, shared_expert_intermediate_size=56)
NEAR = dict(sliding_window=6, layer_types=["sliding_attention", "full_attention", "full_attention", "sliding_attention"])
GRANITE = dict(attention_bias=False, attention_multiplier=0.2, embedding_multiplier=2.0, residual_multiplier=0.6, logits_scaling=3.0,
               num_local_experts=5, num_experts_per_tok=2, tie_word_embeddings=True)
FAMILIES.update({
    "smollm3": relative("smollm3", "SmolLM3", attention_bias=False, mlp_bias=False, tie_word_embeddings=True, no_rope_layers=[1, 0, 1, 1],
                        use_sliding_window=False, sliding_window=None),
    "olmo": relative("olmo", "Olmo", eps=None, attention_bias=False, clip_qkv=0.7),
    "olmo2": relative("olmo2", "Olmo2", attention_bias=False),
    "olmo3": relative("olmo3", "Olmo3", attention_bias=False, **NEAR, rope_scaling=dict(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=16, attention_factor=1.2, beta_fast=8.0, beta_slow=1.0)),
    "olmoe": relative("olmoe", "Olmoe", attention_bias=False, clip_qkv=0.9, num_experts=6, num_experts_per_tok=3, norm_topk_prob=False),
    "qwen2-moe": relative("qwen2_moe", "Qwen2Moe", num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24, norm_topk_prob=False,
                          shared_expert_intermediate_size=56, qkv_bias=True, use_sliding_window=True, sliding_window=6, max_window_layers=1,
                          layer_types=["sliding_attention", "full_attention", "full_attention", "full_attention"]),
    "glm4-moe": relative("glm4_moe", "Glm4Moe", head_dim=12, attention_bias=True, use_qk_norm=True, first_k_dense_replace=2, n_group=1,
                         moe_intermediate_size=24, n_routed_experts=6, n_shared_experts=2, norm_topk_prob=True, num_experts_per_tok=3,
                         routed_scaling_factor=1.5, topk_group=1),
    "qwen2-moe-turns": relative("qwen2_moe", "Qwen2Moe", num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24, norm_topk_prob=False,
                                shared_expert_intermediate_size=56, qkv_bias=True, decoder_sparse_step=2, mlp_only_layers=[3],
                                use_sliding_window=False),
    "qwen3-5": relative("qwen3_5_text", "Qwen3_5", head_dim=12, layer_types=["linear_attention", "full_attention", "linear_attention",
                                                                             "linear_attention"], **NETS),
    "qwen3-5-moe": relative("qwen3_5_moe_text", "Qwen3_5Moe", head_dim=12, **NETS, **SHARED),
    **{name: (fitting(relative(kind, of, **more)[0]), shapes or decoder_shapes, {}) for name, ((kind, of, more), shapes) in CONFIGS.items()},
    "qwen3-next": relative("qwen3_next", "Qwen3Next", head_dim=12, **NETS, **SHARED, norm_topk_prob=True),
    "granite": relative("granite", "Granite", attention_bias=False, mlp_bias=False, attention_multiplier=0.2, embedding_multiplier=2.0,
                        residual_multiplier=0.6, logits_scaling=3.0, tie_word_embeddings=True),
    "granite-moe": relative("granitemoe", "GraniteMoe", **GRANITE),
    "granite-moe-shared": relative("granitemoeshared", "GraniteMoeShared", shared_intermediate_size=56, **GRANITE),
    "mellum": relative("mellum", "Mellum", head_dim=12, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=24, norm_topk_prob=True,
                       mlp_layer_types=["sparse"] * 4, rope_parameters=dict(
                           full_attention=dict(rope_type="yarn", rope_theta=500000.0, factor=4.0, original_max_position_embeddings=16),
                           sliding_attention=dict(rope_type="default", rope_theta=5000.0)), **NEAR),
    "flex-olmo": relative("flex_olmo", "FlexOlmo", num_experts=5, num_experts_per_tok=3, norm_topk_prob=False, attention_bias=False),
    "hunyuan-moe": relative("hunyuan_v1_moe", "HunYuanMoEV1", head_dim=12, attention_bias=False, num_experts=4, moe_topk=[2] * 4, rope_scaling=dict(
        type="dynamic", alpha=50.0, factor=1.0, beta_fast=32, beta_slow=1, mscale=1.0, mscale_all_dim=1.0)),
    "minimax-m2": relative("minimax_m2", "MiniMaxM2", head_dim=12, num_local_experts=5, num_experts_per_tok=2, partial_rotary_factor=0.5),
    "apertus": relative("apertus", "Apertus", hidden_act="xielu", attention_bias=False, tie_word_embeddings=False, rope_scaling=LLAMA3),
    "vaultgemma": relative("vaultgemma", "VaultGemma", head_dim=12, hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=20,
                           attn_logit_softcapping=5.0, final_logit_softcapping=3.0, attention_bias=False, tie_word_embeddings=True, **NEAR),
    "cwm": relative("cwm", "Cwm", head_dim=12, mlp_bias=False, rope_scaling=LLAMA3, **NEAR),
    "nanochat": relative("nanochat", "NanoChat", hidden_act="relu2", final_logit_softcapping=3.0, attention_bias=False),
    "bitnet": relative("bitnet", "BitNet", hidden_act="relu2", attention_bias=False, tie_word_embeddings=True),
    "jais2": relative("jais2", "Jais2", eps="layer_norm_eps", hidden_act="relu2", attention_bias=True, mlp_bias=True),
    "hyperclovax": relative("hyperclovax", "HyperCLOVAX", attention_bias=False, mlp_bias=False, attention_multiplier=0.2, embedding_multiplier=2.0,
                            residual_multiplier=0.6, logits_scaling=0.3, use_post_norm=True),
    "seed-oss": relative("seed_oss", "SeedOss", head_dim=12, attention_bias=True, attention_out_bias=False, mlp_bias=False),
    "exaone4": relative("exaone4", "Exaone4", **NEAR),
    "ernie4-5": relative("ernie4_5", "Ernie4_5", head_dim=12, use_bias=False, tie_word_embeddings=True),
    "hunyuan": relative("hunyuan_v1_dense", "HunYuanDenseV1", head_dim=12, attention_bias=False, rope_scaling=dict(
        type="dynamic", alpha=50.0, factor=1.0, beta_fast=32, beta_slow=1, mscale=1.0, mscale_all_dim=1.0)),
    "glm": relative("glm", "Glm", head_dim=16, attention_bias=True, partial_rotary_factor=0.5),
    "glm4": relative("glm4", "Glm4", head_dim=16, attention_bias=True, partial_rotary_factor=0.5),
    "ministral": relative("ministral", "Ministral", head_dim=12, **NEAR),
    "ministral3": relative("ministral3", "Ministral3", head_dim=12, sliding_window=None, rope_parameters=dict(
        rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=16, beta_fast=8.0, beta_slow=1.0, mscale=1.0,
        mscale_all_dim=1.0, llama_4_scaling_beta=0.1)),
    "helium": relative("helium", "Helium", head_dim=8, attention_bias=False, mlp_bias=False),
    "arcee": relative("arcee", "Arcee", hidden_act="relu2", attention_bias=False, mlp_bias=False),
    "nemotron": relative("nemotron", "Nemotron", eps="norm_eps", hidden_act="relu2", attention_bias=False, mlp_bias=False,
                         partial_rotary_factor=0.5),
    "starcoder2": relative("starcoder2", "Starcoder2", eps="norm_epsilon", hidden_act="gelu_pytorch_tanh", use_bias=True, sliding_window=6,
                           tie_word_embeddings=True),
    "stablelm": relative("stablelm", "StableLm", eps="layer_norm_eps", use_qkv_bias=True, partial_rotary_factor=0.25,
                         use_parallel_residual=False),
    "stablelm-parallel": relative("stablelm", "StableLm", eps="layer_norm_eps", use_qkv_bias=False, partial_rotary_factor=0.5,
                                  use_parallel_residual=True),
    "phi": relative("phi", "Phi", eps="layer_norm_eps", hidden_act="gelu_new", partial_rotary_factor=0.5, qk_layernorm=False),
    "phi-normed": relative("phi", "Phi", eps="layer_norm_eps", hidden_act="gelu_new", partial_rotary_factor=0.5, qk_layernorm=True),
    "cohere": relative("cohere", "Cohere", eps="layer_norm_eps", attention_bias=False, use_qk_norm=False, logit_scale=0.3,
                       tie_word_embeddings=True),
    "cohere-normed": relative("cohere", "Cohere", eps="layer_norm_eps", attention_bias=False, use_qk_norm=True, logit_scale=0.3,
                              tie_word_embeddings=True),
    "cohere2": relative("cohere2", "Cohere2", eps="layer_norm_eps", attention_bias=False, logit_scale=0.3, sliding_window=6,
                        sliding_window_pattern=2, tie_word_embeddings=True),
})
FAMILIES.update(latent_folders(relative, NEAR))
FAMILIES.update(pyramids.FOLDERS | vit_kin.FOLDERS | depths.FOLDERS)
FAMILIES.update(sounds.FOLDERS | parakeets.FOLDERS)


def random_weights(shapes, seed):
    """Of norms near 1, the rest around 0; maps keep the size of what they are given, more or less, and variances are above 0."""
    rng = np.random.default_rng(seed)
    near_one = lambda name: "norm" in name and name.endswith("weight") or "LayerNorm" in name or "ln_" in name or name.endswith("layer_scalar")
    return {name: (near_one(name) +
                   np.asarray(rng.standard_normal(shape)) * (0.3 if len(shape) < 2 else 1.2 / np.sqrt(shape[-1]))).astype(np.float32)
            for name, shape in shapes.items()}


def make(family, folder, seed):
    """The config and the weights of what is written."""
    config, shapes, files = FAMILIES[family]
    os.makedirs(folder, exist_ok=True)
    written = {key: value for key, value in config.items() if key not in ("buffers", "vector")}  # which are of the shapes alone
    for name, content in {"config.json": written, **files}.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file, indent=2)
    weights = random_weights(shapes(config), seed)
    if any(name.endswith("running_var") for name in weights) or config.get("model_type") == "depth_anything":
        backbone_weights(weights, seed)
    write_safetensors(os.path.join(folder, "model.safetensors"), weights)
    return config, weights


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    make(options.family, options.folder, options.seed)
