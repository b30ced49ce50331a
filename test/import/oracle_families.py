# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Families as the published library has them: a class, the sizes of a small model, and how it is called. Calls give the library's results by
name, the entry of the imported spec that computes the same, and the inputs of that entry."""
import re

import numpy as np
import torch

from oracle_latent import latent_families

TOKENS = 62
LLAMA = dict(vocab_size=TOKENS, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
BERT = dict(vocab_size=TOKENS, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64,
            type_vocab_size=2)
ROBERTA = {**BERT, "type_vocab_size": 1, "pad_token_id": 1}
WRITER = dict(vocab_size=TOKENS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
              encoder_ffn_dim=48, decoder_ffn_dim=48)
VIT = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8, num_labels=5)
TOWER = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)
SWIN = dict(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=5)

_rng = np.random.default_rng(3)
IDS, SOURCE = (_rng.integers(5, TOKENS, (2, length)).astype(np.int32) for length in (12, 9))


def tensor(array):
    return torch.tensor(array.astype(np.int64) if array.dtype == np.int32 else array.astype(np.float64))


def lengths_of(texts):
    """The second text is shorter."""
    return np.array([texts.shape[1], texts.shape[1] - 3], np.int32)


def seen(texts):
    return torch.tensor((np.arange(texts.shape[1]) < lengths_of(texts)[:, None]).astype(np.int64))


def padded(texts, config):
    return np.where(np.arange(texts.shape[1]) < lengths_of(texts)[:, None], texts, config.pad_token_id or 0).astype(np.int32)


def results_of(made, fields):
    return {name: getattr(made, field) for name, field in (fields or {"scores": "logits"}).items()}


def states(model):
    return [({"encode": model(input_ids=tensor(IDS), use_cache=False).last_hidden_state}, "encode", {"ids": IDS})]


def answers(model):
    """The first and the last token of an answer."""
    (_, entry, inputs), = encoder("answer", segments=True, scores="start_logits")(model)
    made = model(input_ids=tensor(inputs["ids"]), attention_mask=seen(IDS), token_type_ids=tensor(inputs["segments"]))
    return [({"scores": torch.stack([made.start_logits, made.end_logits], -1)}, entry, inputs)]


def decoder(model):
    return [({"scores": model(input_ids=tensor(IDS), use_cache=False).logits}, "scores", {"ids": IDS})]


def in_double(how):
    """Of a class that fills in numbers of torch's default type."""
    def call(model):
        torch.set_default_dtype(torch.float64)
        try:
            return how(model)
        finally:
            torch.set_default_dtype(torch.float32)

    return call


def fused(how):
    """By torch's own attention: Falcon's class adds the slopes of ALiBi twice where it attends by itself."""
    def call(model):
        model.config._attn_implementation = "sdpa"
        return how(model)

    return call


def encoder(entry, segments=False, **fields):
    """What each result is called in the library; without any, `scores` are its logits."""
    def call(model):
        inputs = {"ids": padded(IDS, model.config), "lengths": lengths_of(IDS)}
        given = dict(input_ids=tensor(inputs["ids"]), attention_mask=seen(IDS))
        if segments:
            inputs["segments"] = np.ascontiguousarray(np.broadcast_to(np.arange(IDS.shape[1]) > 6, IDS.shape), np.int32)
            given["token_type_ids"] = tensor(inputs["segments"])
        return [(results_of(model(**given), fields), entry, inputs)]

    return call


def writer(model):
    source = padded(SOURCE, model.config)
    scores = model(input_ids=tensor(source), attention_mask=seen(source), decoder_input_ids=tensor(IDS), use_cache=False).logits
    return [({"scores": scores}, "scores", {"source": source, "lengths": lengths_of(source), "token": IDS})]


def listener(model):
    config = model.config
    mel = np.random.default_rng(4).standard_normal((2, config.num_mel_bins, 2 * config.max_source_positions)).astype(np.float32)
    scores = model(input_features=tensor(mel), decoder_input_ids=tensor(IDS), use_cache=False).logits
    return [({"scores": scores}, "scores", {"mel": mel, "token": IDS})]


def viewer(entry, **fields):
    def call(model):
        side = model.config.image_size if isinstance(model.config.image_size, int) else model.config.image_size[0]
        image = np.random.default_rng(4).standard_normal((2, model.config.num_channels, side, side)).astype(np.float32)
        return [(results_of(model(pixel_values=tensor(image)), fields), entry, {"image": image})]

    return call


def ends_of(config):
    """Where texts end by the published rule: at the first end token, and in old models at the highest one."""
    if config.eos_token_id == 2:
        return IDS.argmax(1).astype(np.int32)
    return (IDS == config.eos_token_id).argmax(1).astype(np.int32)


def pairs(model):
    """Texts and pictures in one space, and how well each goes with each."""
    text, vision = model.config.text_config, model.config.vision_config
    image = np.random.default_rng(4).standard_normal((2, vision.num_channels, vision.image_size, vision.image_size)).astype(np.float32)
    made = model(input_ids=tensor(IDS), pixel_values=tensor(image))
    of_text = {"ids": IDS} if model.config.model_type == "siglip" else {"ids": IDS, "end": ends_of(text)}
    vectors = {"picture": made.image_embeds.float().numpy(), "text": made.text_embeds.float().numpy()}
    return [({"embedding": made.text_embeds}, "text", of_text), ({"embedding": made.image_embeds}, "picture", {"image": image}),
            ({"scores": made.logits_per_image}, "compare", vectors)]


def tower(model):
    """An encoder of texts that one of pictures goes with."""
    made = model(input_ids=tensor(IDS))
    inputs = {"ids": IDS} if model.config.model_type == "siglip_text_model" else {"ids": IDS, "end": ends_of(model.config)}
    return [({"hidden": made.last_hidden_state, "pooled": made.pooler_output}, "encode", inputs)]


def projected(model):
    """The same, and one of pictures, with the map into the space of both."""
    if model.config.model_type == "clip_vision_model":
        return viewer("encode", embedding="image_embeds")(model)
    return [({"embedding": model(input_ids=tensor(IDS)).text_embeds}, "encode", {"ids": IDS, "end": ends_of(model.config)})]


def places(model):
    """What SAM's encoder of pictures gives."""
    vision = model.config.vision_config
    image = np.random.default_rng(4).standard_normal((2, vision.num_channels, vision.image_size, vision.image_size)).astype(np.float32)
    return [({"hidden": model.get_image_embeddings(tensor(image))}, "encode", {"image": image})]


def reader(model):
    """A picture's text, token by token."""
    side = model.config.encoder.image_size
    image = np.random.default_rng(4).standard_normal((2, model.config.encoder.num_channels, side, side)).astype(np.float32)
    scores = model(pixel_values=tensor(image), decoder_input_ids=tensor(IDS), use_cache=False).logits
    return [({"scores": scores}, "scores", {"image": image, "token": IDS})]


def finder(model):
    """Objects in pictures."""
    image = np.random.default_rng(4).standard_normal((2, 3, 64, 85)).astype(np.float32)
    made = model(pixel_values=tensor(image))
    return [({"logits": made.logits, "boxes": made.pred_boxes}, "detect", {"image": image})]


def name_as_timm(files, tensors):
    """DETR's folder as it is published, whose backbone has timm's names: here it is the library's own ResNet."""
    body, steps = "model.backbone.conv_encoder.model.", [
        (r"^embedder\.embedder\.convolution", "conv1"), (r"^embedder\.embedder\.normalization", "bn1"),
        (r"shortcut\.convolution", "downsample.0"), (r"shortcut\.normalization", "downsample.1"),
        (r"^encoder\.stages\.(\d+)\.layers\.(\d+)", lambda found: f"layer{int(found[1]) + 1}.{found[2]}"),
        (r"layer\.(\d)\.convolution", lambda found: f"conv{int(found[1]) + 1}"),
        (r"layer\.(\d)\.normalization", lambda found: f"bn{int(found[1]) + 1}")]
    named = {}
    for name, value in tensors.items():
        if name.startswith(body):
            name = name[len(body):]
            for old, new in steps:
                name = re.sub(old, new, name)
            name = body + name
        named[name] = value
    config = {key: value for key, value in files["config.json"].items() if key != "backbone_config"}
    size = {"shortest_edge": 64, "longest_edge": 96}
    return {"config.json": {**config, "use_timm_backbone": True, "backbone": "resnet50"},
            "preprocessor_config.json": {"image_processor_type": "DetrImageProcessor", "size": size}}, named


def repeat_for_layers(files, tensors):
    """What the library keeps once and its files have for each layer, as it is published: it writes a `*` for the layer's number."""
    layers = range(files["config.json"]["num_hidden_layers"])
    return files, {name.replace("*", str(n)): value for name, value in tensors.items() for n in (layers if "*" in name else (0,))}


def name_within(files, tensors):
    """Names as they are published, which begin with that of the model: of the layers' the library leaves it out."""
    return files, {("vit." if name.startswith("encoder.") else "") + name: value for name, value in tensors.items()}


repeat_for_layers.keys = name_within.keys = set()
# Keys that its folder does not have as the library's config has them; its own ResNet asks `backbone_config` for channels, timm's does not.
name_as_timm.keys = {"backbone_config", "backbone", "use_timm_backbone", "num_channels"}


# Family: the class, the values of its config, how it is called, and what its files are made of the library's.
FAMILIES = {
    "llama": ("LlamaForCausalLM", LLAMA, decoder),
    "mistral": ("MistralForCausalLM", {**LLAMA, "sliding_window": 5}, decoder),
    "mixtral": ("MixtralForCausalLM", {**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2}, decoder),
    "qwen2": ("Qwen2ForCausalLM", LLAMA, decoder),
    "qwen3": ("Qwen3ForCausalLM", {**LLAMA, "head_dim": 8}, decoder),
    "qwen3_moe": ("Qwen3MoeForCausalLM", {**LLAMA, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}, decoder),
    "gemma": ("GemmaForCausalLM", {**LLAMA, "head_dim": 8}, decoder),
    "gemma2": ("Gemma2ForCausalLM", {**LLAMA, "head_dim": 8, "sliding_window": 5, "query_pre_attn_scalar": 8}, decoder),
    "gemma3_text": ("Gemma3ForCausalLM", {**LLAMA, "head_dim": 8, "sliding_window": 5, "query_pre_attn_scalar": 8,
                                          "layer_types": ["sliding_attention", "full_attention"]}, decoder),
    "gemma4_text": ("Gemma4ForCausalLM", {**LLAMA, "head_dim": 8, "global_head_dim": 16, "sliding_window": 5, "num_hidden_layers": 4,
                                          "num_kv_shared_layers": 2, "hidden_size_per_layer_input": 12, "vocab_size_per_layer_input": LLAMA["vocab_size"],
                                          "layer_types": ["sliding_attention", "full_attention"] * 2}, decoder),
    "phi3": ("Phi3ForCausalLM", {**LLAMA, "sliding_window": 5}, decoder),
    "gpt_oss": ("GptOssForCausalLM", {**LLAMA, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 5}, decoder),
    "gpt2": ("GPT2LMHeadModel", dict(vocab_size=TOKENS, n_embd=32, n_head=4, n_layer=2, n_positions=64, bos_token_id=1, eos_token_id=2), decoder),
    "opt": ("OPTForCausalLM", dict(vocab_size=TOKENS, hidden_size=32, word_embed_proj_dim=32, num_attention_heads=4, num_hidden_layers=2, ffn_dim=48,
                                   max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2), decoder),
    "gpt_neox": ("GPTNeoXForCausalLM", dict(vocab_size=TOKENS, hidden_size=32, num_attention_heads=4, num_hidden_layers=2, intermediate_size=48,
                                            max_position_embeddings=64, rotary_pct=0.5, bos_token_id=1, eos_token_id=2), decoder),
    "bert": ("BertForMaskedLM", BERT, encoder("fill", segments=True)),
    "roberta": ("RobertaForMaskedLM", ROBERTA, encoder("fill")),
    "xlm-roberta": ("XLMRobertaForSequenceClassification", {**ROBERTA, "num_labels": 3}, encoder("classify")),
    "distilbert": ("DistilBertForSequenceClassification", dict(vocab_size=TOKENS, dim=32, hidden_dim=48, n_layers=2, n_heads=4,
                                                               max_position_embeddings=64, num_labels=3), encoder("classify")),
    "modernbert": ("ModernBertForMaskedLM", dict(vocab_size=TOKENS, hidden_size=32, intermediate_size=48, num_hidden_layers=3,
                                                 num_attention_heads=4, max_position_embeddings=64, local_attention=6, pad_token_id=0,
                                                 bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2), encoder("fill")),
    "nomic_bert": ("NomicBertModel", BERT, encoder("encode", segments=True, hidden="last_hidden_state")),
    "t5": ("T5ForConditionalGeneration", dict(vocab_size=TOKENS, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
                                              decoder_start_token_id=0), writer),
    "bart": ("BartForConditionalGeneration", {**WRITER, "max_position_embeddings": 64}, writer),
    "marian": ("MarianMTModel", {**WRITER, "max_position_embeddings": 64, "pad_token_id": TOKENS - 1, "decoder_start_token_id": TOKENS - 1,
                                 "eos_token_id": 0}, writer),
    "whisper": ("WhisperForConditionalGeneration", {**WRITER, "num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 32,
                                                    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3,
                                                    "begin_suppress_tokens": None, "suppress_tokens": None}, listener),
    "vit": ("ViTForImageClassification", VIT, viewer("classify")),
    "deit": ("DeiTForImageClassificationWithTeacher", VIT, viewer("classify")),
    "dinov2": ("Dinov2Model", {**{key: value for key, value in VIT.items() if key not in ("intermediate_size", "num_labels")}, "mlp_ratio": 2},
               viewer("encode", hidden="last_hidden_state")),
    "beit": ("BeitForImageClassification", VIT, viewer("classify")),
    "swin": ("SwinForImageClassification", SWIN, viewer("classify")),
    "swinv2": ("Swinv2ForImageClassification", SWIN, viewer("classify")),
    "clip": ("CLIPModel", dict(text_config={**TOWER, "vocab_size": TOKENS, "max_position_embeddings": 16, "eos_token_id": 2},
                               vision_config={**TOWER, "image_size": 32, "patch_size": 8}, projection_dim=24), pairs),
    "siglip": ("SiglipModel", dict(text_config={**TOWER, "vocab_size": TOKENS, "max_position_embeddings": 12},
                                   vision_config={**TOWER, "image_size": 32, "patch_size": 8}), pairs),
    "sam": ("SamModel", dict(vision_config=dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=48, patch_size=8, mlp_dim=48,
                                                window_size=4, global_attn_indexes=[1], output_channels=16, num_pos_feats=8),
                             prompt_encoder_config=dict(hidden_size=16, image_size=48, patch_size=8, mask_input_channels=4),
                             mask_decoder_config=dict(hidden_size=16, mlp_dim=16, num_attention_heads=2, iou_head_hidden_dim=16)), places),
    "vision-encoder-decoder": ("VisionEncoderDecoderModel", dict(
        encoder={**{key: value for key, value in VIT.items() if key != "num_labels"}, "model_type": "vit"},
        decoder=dict(model_type="trocr", vocab_size=TOKENS, d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=48,
                     max_position_embeddings=32, cross_attention_hidden_size=32)), reader),
    "detr": ("DetrForObjectDetection", dict(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_queries=5, num_labels=3,
        backbone_config=dict(model_type="resnet", embedding_size=2, hidden_sizes=[8, 16, 32, 64], depths=[3, 4, 6, 3], out_features=["stage4"])),
             finder, name_as_timm),
}

MPNET = {key: value for key, value in {**BERT, "pad_token_id": 1}.items() if key != "type_vocab_size"}
ESM = {**MPNET, "mask_token_id": 7, "token_dropout": True, "emb_layer_norm_before": False, "position_embedding_type": "rotary", "layer_norm_eps": 1e-5}
DEBERTA = {**BERT, "type_vocab_size": 0, "relative_attention": True, "position_biased_input": False, "pos_att_type": ["p2c", "c2p"], "pad_token_id": 0}
DEBERTA3 = {**DEBERTA, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True}
FAMILIES |= {  # BERT's relatives
    "camembert": ("CamembertForMaskedLM", ROBERTA, encoder("fill")),
    "data2vec-text": ("Data2VecTextForMaskedLM", ROBERTA, encoder("fill")),
    "xlm-roberta-xl": ("XLMRobertaXLForMaskedLM", ROBERTA, encoder("fill")),
    "roberta-prelayernorm": ("RobertaPreLayerNormForMaskedLM", ROBERTA, encoder("fill")),
    "electra": ("ElectraForMaskedLM", {**BERT, "embedding_size": 24}, encoder("fill", segments=True)),
    "albert": ("AlbertForMaskedLM", {**BERT, "embedding_size": 24}, encoder("fill", segments=True)),
    "ernie": ("ErnieForMaskedLM", {**BERT, "use_task_id": True}, encoder("fill", segments=True)),
    "megatron-bert": ("MegatronBertForMaskedLM", BERT, encoder("fill", segments=True)),
    "mpnet": ("MPNetForMaskedLM", MPNET, encoder("fill")),
    "esm": ("EsmForMaskedLM", ESM, encoder("fill"), repeat_for_layers),
    "deberta": ("DebertaForMaskedLM", DEBERTA, encoder("fill")),
    "deberta-v2": ("DebertaV2ForMaskedLM", DEBERTA3, encoder("fill")),
}
READER = {**WRITER, "max_position_embeddings": 64, "decoder_start_token_id": 2}
FAMILIES |= {  # BART's and T5's relatives
    "plbart": ("PLBartForConditionalGeneration", READER, writer),
    "mbart": ("MBartForConditionalGeneration", READER, writer),
    "pegasus": ("PegasusForConditionalGeneration", READER, writer),
    "m2m_100": ("M2M100ForConditionalGeneration", READER, writer),
    "blenderbot": ("BlenderbotForConditionalGeneration", READER, writer),
    "blenderbot-small": ("BlenderbotSmallForConditionalGeneration", READER, writer),
    "mt5": ("MT5ForConditionalGeneration", FAMILIES["t5"][1], writer),
    "umt5": ("UMT5ForConditionalGeneration", FAMILIES["t5"][1], writer),
}

DINO = {**{key: value for key, value in VIT.items() if key not in ("intermediate_size", "num_labels")}, "mlp_ratio": 2}
SEEN, READ = {**TOWER, "image_size": 32, "patch_size": 8}, {**TOWER, "vocab_size": TOKENS, "max_position_embeddings": 12}
FAMILIES |= {  # ViT's relatives, and the towers of CLIP and SigLIP
    "dinov2_with_registers": ("Dinov2WithRegistersModel", DINO, viewer("encode", hidden="last_hidden_state")),
    "dinov3_vit": ("DINOv3ViTModel", {**VIT, "num_register_tokens": 3}, viewer("encode", hidden="last_hidden_state")),
    "data2vec-vision": ("Data2VecVisionForImageClassification", {**VIT, "use_relative_position_bias": True}, viewer("classify")),
    "vit_msn": ("ViTMSNForImageClassification", VIT, viewer("classify"), name_within),
    "ijepa": ("IJepaForImageClassification", VIT, viewer("classify")),
    "clip_vision_model": ("CLIPVisionModel", SEEN, viewer("encode", hidden="last_hidden_state", pooled="pooler_output")),
    "clip_text_model": ("CLIPTextModel", {**READ, "eos_token_id": 2}, tower),
    "siglip_vision_model": ("SiglipVisionModel", SEEN, viewer("encode", hidden="last_hidden_state", pooled="pooler_output")),
    "siglip_text_model": ("SiglipTextModel", READ, tower),
}

GPT = dict(vocab_size=TOKENS, n_embd=32, n_head=4, n_layer=2, n_positions=64, bos_token_id=1, eos_token_id=2)
FAIR = dict(vocab_size=TOKENS, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
BLOOM = dict(vocab_size=TOKENS, hidden_size=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
FALCON = dict(vocab_size=TOKENS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
FAMILIES |= {  # GPT's relatives
    "openai-gpt": ("OpenAIGPTLMHeadModel", GPT, decoder),
    "ctrl": ("CTRLLMHeadModel", {**GPT, "dff": 48}, decoder),
    "gpt_bigcode": ("GPTBigCodeForCausalLM", GPT, decoder),
    "gpt_neo": ("GPTNeoForCausalLM", dict(vocab_size=TOKENS, hidden_size=32, num_heads=4, num_layers=2, attention_types=[[["global", "local"], 1]],
                                          window_size=5, max_position_embeddings=64, bos_token_id=1, eos_token_id=2), decoder),
    "gptj": ("GPTJForCausalLM", {**GPT, "rotary_dim": 4}, decoder),
    "codegen": ("CodeGenForCausalLM", {**GPT, "n_head": 8, "n_embd": 64, "rotary_dim": 4}, decoder),
    "xglm": ("XGLMForCausalLM", {**FAIR, "d_model": 32, "attention_heads": 4, "num_layers": 2, "ffn_dim": 48}, in_double(decoder)),
    "biogpt": ("BioGptForCausalLM", {**FAIR, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 48}, decoder),
    "bloom": ("BloomForCausalLM", BLOOM, decoder),
    "falcon": ("FalconForCausalLM", FALCON, fused(decoder)),
    "mpt": ("MptForCausalLM", dict(vocab_size=TOKENS, d_model=32, n_heads=4, n_layers=2, max_seq_len=64), decoder),
    "persimmon": ("PersimmonForCausalLM", dict(vocab_size=TOKENS, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                                               max_position_embeddings=64, bos_token_id=1, eos_token_id=2), decoder),
}

MODERN, TROCR = FAMILIES["modernbert"][1], FAMILIES["vision-encoder-decoder"]
# Other heads of these families, which differ behind the last layer.
HEADS = {
    "llama, states": ("LlamaModel", LLAMA, states),
    "gpt2, states": ("GPT2Model", FAMILIES["gpt2"][1], states),
    "opt, states": ("OPTModel", FAMILIES["opt"][1], states),
    "gpt_neox, states": ("GPTNeoXModel", FAMILIES["gpt_neox"][1], states),
    "bert, states": ("BertModel", BERT, encoder("encode", segments=True, hidden="last_hidden_state", pooled="pooler_output")),
    "bert, classes": ("BertForSequenceClassification", {**BERT, "num_labels": 3}, encoder("classify", segments=True)),
    "bert, tokens": ("BertForTokenClassification", {**BERT, "num_labels": 3}, encoder("classify", segments=True)),
    "bert, answers": ("BertForQuestionAnswering", BERT, answers),
    "roberta, classes": ("RobertaForSequenceClassification", {**ROBERTA, "num_labels": 3}, encoder("classify")),
    "roberta, tokens": ("RobertaForTokenClassification", {**ROBERTA, "num_labels": 3}, encoder("classify")),
    "xlm-roberta, masked": ("XLMRobertaForMaskedLM", ROBERTA, encoder("fill")),
    "distilbert, states": ("DistilBertModel", FAMILIES["distilbert"][1], encoder("encode", hidden="last_hidden_state")),
    "distilbert, masked": ("DistilBertForMaskedLM", FAMILIES["distilbert"][1], encoder("fill")),
    "modernbert, states": ("ModernBertModel", MODERN, encoder("encode", hidden="last_hidden_state")),
    "modernbert, classes": ("ModernBertForSequenceClassification", {**MODERN, "num_labels": 3, "classifier_pooling": "mean"}, encoder("classify")),
    "modernbert, tokens": ("ModernBertForTokenClassification", {**MODERN, "num_labels": 3}, encoder("classify")),
    "vit, states": ("ViTModel", VIT, viewer("encode", hidden="last_hidden_state")),
    "deit, states": ("DeiTModel", VIT, viewer("encode", hidden="last_hidden_state")),
    "vision-encoder-decoder, deit": (TROCR[0], {**TROCR[1], "encoder": {**TROCR[1]["encoder"], "model_type": "deit"}}, reader),
    "vision-encoder-decoder, beit": (TROCR[0], {**TROCR[1], "encoder": {**TROCR[1]["encoder"], "model_type": "beit"}}, reader),
    "dinov2, classes": ("Dinov2ForImageClassification", {**FAMILIES["dinov2"][1], "num_labels": 5}, viewer("classify")),
    "beit, states": ("BeitModel", VIT, viewer("encode", hidden="last_hidden_state")),
    "electra, states": ("ElectraModel", {**BERT, "embedding_size": 24}, encoder("encode", segments=True, hidden="last_hidden_state")),
    "electra, classes": ("ElectraForSequenceClassification", {**BERT, "embedding_size": 32, "num_labels": 3}, encoder("classify", segments=True)),
    "electra, replaced": ("ElectraForPreTraining", {**BERT, "embedding_size": 24}, encoder("classify", segments=True)),
    "albert, states": ("AlbertModel", BERT, encoder("encode", segments=True, hidden="last_hidden_state", pooled="pooler_output")),
    "albert, classes": ("AlbertForSequenceClassification", {**BERT, "embedding_size": 24, "num_labels": 3}, encoder("classify", segments=True)),
    "albert, answers": ("AlbertForQuestionAnswering", BERT, answers),
    "mpnet, states": ("MPNetModel", MPNET, encoder("encode", hidden="last_hidden_state", pooled="pooler_output")),
    "mpnet, classes": ("MPNetForSequenceClassification", {**MPNET, "num_labels": 3}, encoder("classify")),
    "megatron-bert, classes": ("MegatronBertForSequenceClassification", {**BERT, "num_labels": 3}, encoder("classify", segments=True)),
    "xlm-roberta-xl, classes": ("XLMRobertaXLForSequenceClassification", {**ROBERTA, "num_labels": 3}, encoder("classify")),
    "roberta-prelayernorm, tokens": ("RobertaPreLayerNormForTokenClassification", {**ROBERTA, "num_labels": 3}, encoder("classify")),
    "esm, positions": ("EsmModel", {**ESM, "position_embedding_type": "absolute", "emb_layer_norm_before": True, "token_dropout": False},
                       encoder("encode", hidden="last_hidden_state", pooled="pooler_output")),
    "esm, classes": ("EsmForSequenceClassification", {**ESM, "num_labels": 3}, encoder("classify"), repeat_for_layers),
    "deberta, classes": ("DebertaForSequenceClassification", {**DEBERTA, "num_labels": 3}, encoder("classify")),
    "deberta-v2, classes": ("DebertaV2ForSequenceClassification", {**DEBERTA3, "num_labels": 3}, encoder("classify")),
    "deberta-v2, tokens": ("DebertaV2ForTokenClassification", {**DEBERTA3, "num_labels": 3}, encoder("classify")),
    "deberta-v2, own maps": ("DebertaV2Model", {**DEBERTA, "pos_att_type": ["c2p", "p2c"], "position_biased_input": True, "type_vocab_size": 2,
                                                "embedding_size": 24}, encoder("encode", segments=True, hidden="last_hidden_state")),
    "deberta-v2, convolved": ("DebertaV2ForMaskedLM", {**DEBERTA3, "conv_kernel_size": 3, "conv_act": "gelu", "legacy": False}, encoder("fill")),
    "gpt_bigcode, by heads": ("GPTBigCodeForCausalLM", {**GPT, "multi_query": False}, decoder),
    "gpt_neo, local": ("GPTNeoModel", {**FAMILIES["gpt_neo"][1], "attention_types": [[["local"], 2]]}, states),
    "bloom, 6 heads": ("BloomModel", {**BLOOM, "hidden_size": 48, "n_head": 6}, states),
    "mpt, 6 heads": ("MptForCausalLM", {**FAMILIES["mpt"][1], "d_model": 48, "n_heads": 6,
                                        "attn_config": {"clip_qkv": 0.7, "softmax_scale": 0.3}}, decoder),
    "falcon, 40b": ("FalconForCausalLM", {**FALCON, "new_decoder_architecture": True, "num_kv_heads": 2, "bias": True}, decoder),
    "falcon, 11b": ("FalconForCausalLM", {**FALCON, "new_decoder_architecture": True, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1}, decoder),
    "falcon, rw": ("FalconForCausalLM", {**FALCON, "alibi": True, "multi_query": False, "parallel_attn": False, "bias": True}, fused(decoder)),
    "persimmon, no norms": ("PersimmonModel", {**FAMILIES["persimmon"][1], "qk_layernorm": False}, states),
    "xglm, states": ("XGLMModel", FAMILIES["xglm"][1], in_double(states)),
    "openai-gpt, states": ("OpenAIGPTModel", GPT, states),
    "t5, encoder": ("T5EncoderModel", FAMILIES["t5"][1], encoder("encode", hidden="last_hidden_state")),
    "umt5, encoder": ("UMT5EncoderModel", FAMILIES["t5"][1], encoder("encode", hidden="last_hidden_state")),
    "dinov2_with_registers, classes": ("Dinov2WithRegistersForImageClassification", {**DINO, "num_labels": 5}, viewer("classify")),
    "dinov3_vit, gated": ("DINOv3ViTModel", {**VIT, "use_gated_mlp": True, "hidden_act": "silu"}, viewer("encode", hidden="last_hidden_state")),
    "ijepa, states": ("IJepaModel", VIT, viewer("encode", hidden="last_hidden_state")),
    "clip_vision_model, projected": ("CLIPVisionModelWithProjection", {**SEEN, "projection_dim": 24}, projected),
    "clip_text_model, projected": ("CLIPTextModelWithProjection", {**READ, "eos_token_id": 2, "projection_dim": 24}, projected),
    "siglip_vision_model, headless": ("SiglipVisionModel", {**SEEN, "vision_use_head": False}, viewer("encode", hidden="last_hidden_state")),
}

# Hybrids, of which some layers are recurrences.
DELTA = {**LLAMA, "num_hidden_layers": 5, "head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 6,
         "linear_value_head_dim": 10, "rope_parameters": dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5)}
ROUTED = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 40}
FAMILIES.update({
    "qwen3_5_text": ("Qwen3_5ForCausalLM", DELTA, decoder),
    "qwen3_5_moe_text": ("Qwen3_5MoeForCausalLM", {**DELTA, **ROUTED}, decoder),
    "glm4_moe": ("Glm4MoeForCausalLM", {**LLAMA, "num_hidden_layers": 3, "head_dim": 8, "n_routed_experts": 6, "num_experts_per_tok": 2,
                                        "moe_intermediate_size": 24, "n_shared_experts": 2, "first_k_dense_replace": 1,
                                        "routed_scaling_factor": 1.7, "use_qk_norm": True}, decoder),
    "qwen3_moe, some without experts": ("Qwen3MoeForCausalLM", {**LLAMA, "num_hidden_layers": 5, "head_dim": 8, "num_experts": 4,
                                                                "num_experts_per_tok": 2, "moe_intermediate_size": 24, "decoder_sparse_step": 2,
                                                                "mlp_only_layers": [3]}, decoder),
    "qwen3_next": ("Qwen3NextForCausalLM", {**DELTA, **ROUTED}, decoder),
})

# Relatives of Llama.
NEAR = dict(sliding_window=5, layer_types=["sliding_attention", "full_attention"])
FAMILIES.update({
    "smollm3": ("SmolLM3ForCausalLM", {**LLAMA, "num_hidden_layers": 4, "no_rope_layers": [1, 0, 1, 1]}, decoder),
    "olmo": ("OlmoForCausalLM", LLAMA, decoder),
    "flex_olmo": ("FlexOlmoForCausalLM", {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2}, decoder),
    "hunyuan_v1_moe": ("HunYuanMoEV1ForCausalLM", {**LLAMA, "head_dim": 8, "num_experts": 4, "moe_topk": 2, "sep_token_id": 3, "eod_token_id": 4},
                       decoder),
    "granitemoe": ("GraniteMoeForCausalLM", {**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2}, decoder),
    "granitemoeshared": ("GraniteMoeSharedForCausalLM", {**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2, "shared_intermediate_size": 40},
                         decoder),
    "mellum": ("MellumForCausalLM", {**LLAMA, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, **NEAR}, decoder),
    "minimax_m2": ("MiniMaxM2ForCausalLM", {**LLAMA, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2}, decoder),
    "apertus": ("ApertusForCausalLM", LLAMA, decoder),
    "vaultgemma": ("VaultGemmaForCausalLM", {**LLAMA, "head_dim": 8, "query_pre_attn_scalar": 8, **NEAR}, decoder),
    "cwm": ("CwmForCausalLM", {**LLAMA, "head_dim": 8, **NEAR}, decoder),
    "nanochat": ("NanoChatForCausalLM", LLAMA, decoder),
    "bitnet": ("BitNetForCausalLM", LLAMA, decoder),
    "jais2": ("Jais2ForCausalLM", LLAMA, decoder),
    "hyperclovax": ("HyperCLOVAXForCausalLM", LLAMA, decoder),
    "olmo2": ("Olmo2ForCausalLM", LLAMA, decoder),
    "olmo3": ("Olmo3ForCausalLM", {**LLAMA, **NEAR}, decoder),
    "olmoe": ("OlmoeForCausalLM", {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2}, decoder),
    "qwen2_moe": ("Qwen2MoeForCausalLM", {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
                                          "shared_expert_intermediate_size": 40}, decoder),
    "granite": ("GraniteForCausalLM", {**LLAMA, "embedding_multiplier": 1.5, "attention_multiplier": 0.3, "residual_multiplier": 0.7,
                                       "logits_scaling": 3.0}, decoder),
    "seed_oss": ("SeedOssForCausalLM", {**LLAMA, "head_dim": 8}, decoder),
    "exaone4": ("Exaone4ForCausalLM", {**LLAMA, **NEAR}, decoder),
    "ernie4_5": ("Ernie4_5ForCausalLM", {**LLAMA, "head_dim": 8}, decoder),
    "hunyuan_v1_dense": ("HunYuanDenseV1ForCausalLM", {**LLAMA, "head_dim": 8}, decoder),
    "glm": ("GlmForCausalLM", {**LLAMA, "head_dim": 8}, decoder),
    "glm4": ("Glm4ForCausalLM", {**LLAMA, "head_dim": 8}, decoder),
    "ministral": ("MinistralForCausalLM", {**LLAMA, **NEAR, "head_dim": 8}, decoder),
    "ministral3": ("Ministral3ForCausalLM", {**LLAMA, "head_dim": 8, "rope_parameters": dict(
        rope_type="yarn", rope_theta=1e4, factor=4.0, original_max_position_embeddings=4, llama_4_scaling_beta=0.1)}, decoder),
    "helium": ("HeliumForCausalLM", {**LLAMA, "head_dim": 8}, decoder),
    "arcee": ("ArceeForCausalLM", LLAMA, decoder),
    "nemotron": ("NemotronForCausalLM", LLAMA, decoder),
    "starcoder2": ("Starcoder2ForCausalLM", {**LLAMA, "sliding_window": 5}, decoder),
    "stablelm": ("StableLmForCausalLM", LLAMA, decoder),
    "phi": ("PhiForCausalLM", LLAMA, decoder),
    "cohere": ("CohereForCausalLM", LLAMA, decoder),
    "cohere2": ("Cohere2ForCausalLM", {**LLAMA, **NEAR}, decoder),
})

FAMILIES.update(latent_families(LLAMA, NEAR, decoder))
