# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names and shapes of the tensors in published folders, by family: of a config.json, as a dictionary."""
import numpy as np


def llama_shapes(c):
    d, e = c["hidden_size"], c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    h, g, f, kind = c["num_attention_heads"], c.get("num_key_value_heads") or c["num_attention_heads"], c["intermediate_size"], c["model_type"]
    shapes = {"model.embed_tokens.weight": (c["vocab_size"], d), "model.norm.weight": (d,)}
    tied = c.get("tie_word_embeddings", kind.startswith("gemma"))
    if not tied:
        shapes["lm_head.weight"] = (c["vocab_size"], d)
    for n in range(c["num_hidden_layers"]):
        own = {"input_layernorm.weight": (d,), "post_attention_layernorm.weight": (d,), "self_attn.o_proj.weight": (d, h * e),
               "mlp.down_proj.weight": (d, f)}
        if "num_experts_per_tok" in c:
            del own["mlp.down_proj.weight"]
            mixtral, oss = kind == "mixtral", kind == "gpt_oss"
            count, f = (c["num_local_experts"], f) if mixtral or oss else (c.get("num_experts") or c["num_local_experts"], c["moe_intermediate_size"])
            moe, names = ("block_sparse_moe", ("w1", "w3", "w2")) if mixtral else ("mlp", ("gate_proj", "up_proj", "down_proj"))
            if oss:
                own.update({"mlp.router.weight": (count, d), "mlp.router.bias": (count,), "self_attn.sinks": (h,),
                            "mlp.experts.gate_up_proj": (count, d, 2 * f), "mlp.experts.gate_up_proj_bias": (count, 2 * f),
                            "mlp.experts.down_proj": (count, f, d), "mlp.experts.down_proj_bias": (count, d)})
            else:
                own[f"{moe}.gate.weight"] = (count, d)
            own.update({"self_attn.q_proj.weight": (h * e, d), "self_attn.k_proj.weight": (g * e, d),
                        "self_attn.v_proj.weight": (g * e, d)})
            for x in range(0 if oss else count):
                own.update({f"{moe}.experts.{x}.{name}.weight": (d, f) if i == 2 else (f, d) for i, name in enumerate(names)})
        elif kind == "phi3":
            own.update({"self_attn.qkv_proj.weight": ((h + 2 * g) * e, d), "mlp.gate_up_proj.weight": (2 * f, d)})
        else:
            own.update({"self_attn.q_proj.weight": (h * e, d), "self_attn.k_proj.weight": (g * e, d), "self_attn.v_proj.weight": (g * e, d),
                        "mlp.gate_proj.weight": (f, d), "mlp.up_proj.weight": (f, d)})
        if kind in ("gemma2", "gemma3_text"):
            own.update({"pre_feedforward_layernorm.weight": (d,), "post_feedforward_layernorm.weight": (d,)})
        if kind in ("qwen3", "qwen3_moe", "gemma3_text"):
            own.update({"self_attn.q_norm.weight": (e,), "self_attn.k_norm.weight": (e,)})
        if kind == "qwen2" or c.get("attention_bias"):
            own.update({"self_attn.q_proj.bias": (h * e,), "self_attn.k_proj.bias": (g * e,), "self_attn.v_proj.bias": (g * e,)})
        if c.get("attention_bias"):
            own["self_attn.o_proj.bias"] = (d,)
        if c.get("mlp_bias"):
            own.update({"mlp.gate_proj.bias": (f,), "mlp.up_proj.bias": (f,), "mlp.down_proj.bias": (d,)})
        shapes.update({f"model.layers.{n}.{name}": shape for name, shape in own.items()})
    return shapes


def gpt2_shapes(c):
    d, f = c["n_embd"], c.get("n_inner") or 4 * c["n_embd"]
    shapes = {"wte.weight": (c["vocab_size"], d), "wpe.weight": (c["n_positions"], d), "ln_f.weight": (d,), "ln_f.bias": (d,)}
    for n in range(c["n_layer"]):
        own = {"ln_1.weight": (d,), "ln_1.bias": (d,), "ln_2.weight": (d,), "ln_2.bias": (d,), "attn.c_attn.weight": (d, 3 * d),
               "attn.c_attn.bias": (3 * d,), "attn.c_proj.weight": (d, d), "attn.c_proj.bias": (d,), "mlp.c_fc.weight": (d, f),
               "mlp.c_fc.bias": (f,), "mlp.c_proj.weight": (f, d), "mlp.c_proj.bias": (d,),
               "attn.bias": (1, 1, c["n_positions"], c["n_positions"])}
        if c.get("add_cross_attention"):
            own.update({**pair("ln_cross_attn", d), "crossattention.c_attn.weight": (d, 2 * d), "crossattention.c_attn.bias": (2 * d,),
                        **pair("crossattention.q_attn", d, d), **pair("crossattention.c_proj", d, d)})
        shapes.update({f"h.{n}.{name}": shape for name, shape in own.items()})
    return shapes


def bert_shapes(c):
    distil, roberta = c["model_type"] == "distilbert", c["model_type"].endswith("roberta")
    d = c["dim"] if distil else c["hidden_size"]
    f, layers = (c["hidden_dim"], c["n_layers"]) if distil else (c["intermediate_size"], c["num_hidden_layers"])
    architecture = c["architectures"][0]
    body = "distilbert." if distil else "roberta." if roberta else "bert."
    body = "" if architecture.endswith("Model") else body
    pair = lambda name, *shape: {name + ".weight": shape, name + ".bias": shape[:1]}
    shapes = {body + "embeddings.word_embeddings.weight": (c["vocab_size"], d),
              body + "embeddings.position_embeddings.weight": (c["max_position_embeddings"], d), **pair(body + "embeddings.LayerNorm", d)}
    if not distil:
        shapes[body + "embeddings.token_type_embeddings.weight"] = (c["type_vocab_size"], d)
    for n in range(layers):
        if distil:
            own = {**pair("attention.q_lin", d, d), **pair("attention.k_lin", d, d), **pair("attention.v_lin", d, d),
                   **pair("attention.out_lin", d, d), **pair("sa_layer_norm", d), **pair("ffn.lin1", f, d), **pair("ffn.lin2", d, f),
                   **pair("output_layer_norm", d)}
        else:
            own = {**pair("attention.self.query", d, d), **pair("attention.self.key", d, d), **pair("attention.self.value", d, d),
                   **pair("attention.output.dense", d, d), **pair("attention.output.LayerNorm", d), **pair("intermediate.dense", f, d),
                   **pair("output.dense", d, f), **pair("output.LayerNorm", d)}
        shapes.update({f"{body}{'transformer' if distil else 'encoder'}.layer.{n}.{name}": shape for name, shape in own.items()})
    classes = len(c.get("id2label", {0: 0, 1: 0}))
    if architecture.endswith("Model") and not distil or architecture == "BertForSequenceClassification":
        shapes.update(pair(body + "pooler.dense", d, d))
    if architecture == "BertForMaskedLM":
        shapes.update({**pair("cls.predictions.transform.dense", d, d), **pair("cls.predictions.transform.LayerNorm", d),
                       "cls.predictions.bias": (c["vocab_size"],)})
        if not c.get("tie_word_embeddings", True):
            shapes["cls.predictions.decoder.weight"] = (c["vocab_size"], d)
    elif architecture.endswith("ForMaskedLM") and roberta:
        shapes.update({**pair("lm_head.dense", d, d), **pair("lm_head.layer_norm", d), "lm_head.bias": (c["vocab_size"],)})
    elif architecture == "DistilBertForMaskedLM":
        shapes.update({**pair("vocab_transform", d, d), **pair("vocab_layer_norm", d), "vocab_projector.bias": (c["vocab_size"],)})
    elif architecture.endswith("ForSequenceClassification") and roberta:
        shapes.update({**pair("classifier.dense", d, d), **pair("classifier.out_proj", classes, d)})
    elif architecture.endswith("ForSequenceClassification"):
        shapes.update({**(pair("pre_classifier", d, d) if distil else {}), **pair("classifier", classes, d)})
    elif architecture.endswith("ForTokenClassification"):
        shapes.update(pair("classifier", classes, d))
    elif architecture.endswith("ForQuestionAnswering"):
        shapes.update(pair("qa_outputs", 2, d))
    return shapes


def vit_shapes(c):
    kind, d, classify = c["model_type"], c["hidden_size"], "For" in c["architectures"][0]
    dino, beit, p = kind.startswith("dinov2"), kind in ("beit", "data2vec-vision"), kind.replace("-", "_") + "." if classify else ""
    p = p.replace("vit_msn", "vit")
    f = c["hidden_size"] * c["mlp_ratio"] if dino else c["intermediate_size"]
    if c.get("use_swiglu_ffn"):
        f = (f * 2 // 3 + 7) // 8 * 8
    pair = lambda name, *shape: {name + ".weight": shape, name + ".bias": shape[:1]}
    tokens = (c["image_size"] // c["patch_size"]) ** 2 + (2 if kind == "deit" else 1)
    shapes = {p + "embeddings.cls_token": (1, 1, d), p + "embeddings.position_embeddings": (1, tokens, d), **pair(p + "layernorm", d),
              **pair(p + "embeddings.patch_embeddings.projection", d, 3, c["patch_size"], c["patch_size"])}
    relative = ((2 * (c["image_size"] // c["patch_size"]) - 1) ** 2 + 3, c["num_attention_heads"])
    table = "relative_position_bias.relative_position_bias_table"
    if beit:
        if not c["use_absolute_position_embeddings"]:
            del shapes[p + "embeddings.position_embeddings"]
        if c["use_mean_pooling"]:
            shapes = {name.replace("layernorm.", "pooler.layernorm."): shape for name, shape in shapes.items()}
        if c["use_mask_token"]:
            shapes[p + "embeddings.mask_token"] = (1, 1, d)
        if c["use_shared_relative_position_bias"]:
            shapes[p + "encoder." + table] = relative
    if kind == "ijepa":
        del shapes[p + "embeddings.cls_token"]
        shapes[p + "embeddings.position_embeddings"] = (1, tokens - 1, d)
    if kind == "dinov2_with_registers":
        shapes[p + "embeddings.register_tokens"] = (1, c["num_register_tokens"], d)
    if kind == "deit":
        shapes[p + "embeddings.distillation_token"] = (1, 1, d)
    if dino:
        shapes[p + "embeddings.mask_token"] = (1, d)
    for n in range(c["num_hidden_layers"]):
        own = {**pair("attention.attention.query", d, d), **pair("attention.attention.key", d, d), **pair("attention.attention.value", d, d),
               **pair("attention.output.dense", d, d)}
        if not c.get("qkv_bias", True):
            own = {name: shape for name, shape in own.items() if not name.startswith("attention.attention.") or name.endswith("weight")}
        if dino:
            own.update({**pair("norm1", d), **pair("norm2", d), "layer_scale1.lambda1": (d,), "layer_scale2.lambda1": (d,)})
            own.update({**pair("mlp.weights_in", 2 * f, d), **pair("mlp.weights_out", d, f)} if c.get("use_swiglu_ffn") else
                       {**pair("mlp.fc1", f, d), **pair("mlp.fc2", d, f)})
        else:
            own.update({**pair("layernorm_before", d), **pair("layernorm_after", d), **pair("intermediate.dense", f, d),
                        **pair("output.dense", d, f)})
        if beit:
            del own["attention.attention.key.bias"]
            own.update({"lambda_1": (d,), "lambda_2": (d,)})
            own.update({"attention.attention." + table: relative} if c["use_relative_position_bias"] else {})
            if c.get("buffers"):
                own["attention.attention.relative_position_bias.relative_position_index"] = (4, 4)
        shapes.update({f"{p}encoder.layer.{n}.{name}": shape for name, shape in own.items()})
    classes = len(c.get("id2label", ()))
    if classify and c["architectures"][0].endswith("WithTeacher"):
        shapes.update({**pair("cls_classifier", classes, d), **pair("distillation_classifier", classes, d)})
    elif classify:
        shapes.update(pair("classifier", classes, 2 * d if dino else d))
    return shapes


def clip_shapes(c):
    siglip, t, v = c["model_type"] == "siglip", c["text_config"], c["vision_config"]
    pair = lambda name, *shape: {name + ".weight": shape, name + ".bias": shape[:1]}
    a = v["hidden_size"] if siglip else c["projection_dim"]
    d, patches = v["hidden_size"], (v["image_size"] // v["patch_size"]) ** 2
    shapes = {"logit_scale": (1,) if siglip else (), "text_model.embeddings.token_embedding.weight": (t["vocab_size"], t["hidden_size"]),
              "text_model.embeddings.position_embedding.weight": (t["max_position_embeddings"], t["hidden_size"]),
              "vision_model.embeddings.patch_embedding.weight": (d, 3, v["patch_size"], v["patch_size"]),
              **pair("text_model.final_layer_norm", t["hidden_size"]), **pair("vision_model.post_layernorm", d)}
    if siglip:
        f = v["intermediate_size"]
        shapes.update({"logit_bias": (1,), **pair("text_model.head", a, t["hidden_size"]), "vision_model.embeddings.patch_embedding.bias": (d,),
                       "vision_model.embeddings.position_embedding.weight": (patches, d), "vision_model.head.probe": (1, 1, d),
                       "vision_model.head.attention.in_proj_weight": (3 * d, d), "vision_model.head.attention.in_proj_bias": (3 * d,),
                       **pair("vision_model.head.attention.out_proj", d, d), **pair("vision_model.head.layernorm", d),
                       **pair("vision_model.head.mlp.fc1", f, d), **pair("vision_model.head.mlp.fc2", d, f)})
    else:
        shapes.update({"text_projection.weight": (a, t["hidden_size"]), "visual_projection.weight": (a, d), **pair("vision_model.pre_layrnorm", d),
                       "vision_model.embeddings.class_embedding": (d,), "vision_model.embeddings.position_embedding.weight": (1 + patches, d)})
    for tower, own in ("text", t), ("vision", v):
        d, f = own["hidden_size"], own["intermediate_size"]
        for n in range(own["num_hidden_layers"]):
            p = f"{tower}_model.encoder.layers.{n}."
            for name in "qkv":
                shapes.update(pair(p + f"self_attn.{name}_proj", d, d))
            shapes.update({**pair(p + "self_attn.out_proj", d, d), **pair(p + "layer_norm1", d), **pair(p + "layer_norm2", d),
                           **pair(p + "mlp.fc1", f, d), **pair(p + "mlp.fc2", d, f)})
    return shapes


def tower_shapes(c):
    """Of one of the two encoders by itself."""
    part = "vision_model" if "vision" in c["model_type"] else "text_model"
    both = dict(model_type=c["model_type"].partition("_")[0], projection_dim=c.get("projection_dim", 0),
                text_config={"vocab_size": 1, "max_position_embeddings": 1, **c}, vision_config={"image_size": 1, "patch_size": 1, **c})
    kept = {name: shape for name, shape in clip_shapes(both).items() if name.startswith(part + ".")}
    if c["architectures"][0].endswith("Projection"):
        kept["visual_projection.weight" if part == "vision_model" else "text_projection.weight"] = (c["projection_dim"], c["hidden_size"])
    return kept


def modernbert_shapes(c):
    d, f, body, task = c["hidden_size"], c["intermediate_size"], "model.", c["architectures"][0].removeprefix("ModernBert")
    body = "" if task == "Model" else body
    shapes = {body + "embeddings.tok_embeddings.weight": (c["vocab_size"], d), body + "embeddings.norm.weight": (d,),
              body + "final_norm.weight": (d,)}
    for n in range(c["num_hidden_layers"]):
        own = {"attn.Wqkv.weight": (3 * d, d), "attn.Wo.weight": (d, d), "mlp.Wi.weight": (2 * f, d), "mlp.Wo.weight": (d, f),
               "mlp_norm.weight": (d,), **({"attn_norm.weight": (d,)} if n else {})}
        shapes.update({f"{body}layers.{n}.{name}": shape for name, shape in own.items()})
    if task != "Model":
        shapes.update({"head.dense.weight": (d, d), "head.norm.weight": (d,)})
        if not c.get("tie_word_embeddings", True):
            shapes["decoder.weight"] = (c["vocab_size"], d)
        shapes.update({"decoder.bias": (c["vocab_size"],)} if task == "ForMaskedLM" else
                      {"classifier.weight": (len(c["id2label"]), d), "classifier.bias": (len(c["id2label"]),)})
    return shapes


def nomic_shapes(c):
    d, f = c.get("n_embd") or c["hidden_size"], c.get("n_inner") or c["intermediate_size"]
    shapes = {"embeddings.word_embeddings.weight": (c["vocab_size"], d),
              "embeddings.token_type_embeddings.weight": (c["type_vocab_size"], d), **pair("emb_ln", d)}
    for n in range(c.get("n_layer") or c["num_hidden_layers"]):
        own = {"attn.Wqkv.weight": (3 * d, d), "attn.out_proj.weight": (d, d), "mlp.fc11.weight": (f, d), "mlp.fc12.weight": (f, d),
               "mlp.fc2.weight": (d, f), **pair("norm1", d), **pair("norm2", d)}
        shapes.update({f"encoder.layers.{n}.{name}": shape for name, shape in own.items()})
    return shapes


def pair(name, *shape):
    return {name + ".weight": shape, name + ".bias": shape[:1]}


def opt_shapes(c):
    d, f, e, p = c["hidden_size"], c["ffn_dim"], c.get("word_embed_proj_dim", c["hidden_size"]), "model.decoder."
    shapes = {p + "embed_tokens.weight": (c["vocab_size"], e), p + "embed_positions.weight": (c["max_position_embeddings"] + 2, d)}
    if e != d:
        shapes.update({p + "project_in.weight": (d, e), p + "project_out.weight": (e, d)})
    if c.get("do_layer_norm_before", True) and not c.get("_remove_final_layer_norm"):
        shapes.update(pair(p + "final_layer_norm", d))
    if not c.get("tie_word_embeddings", True):
        shapes["lm_head.weight"] = (c["vocab_size"], e)
    for n in range(c["num_hidden_layers"]):
        own = {**pair("self_attn_layer_norm", d), **pair("final_layer_norm", d), **pair("fc1", f, d), **pair("fc2", d, f)}
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            own.update(pair("self_attn." + name, d, d))
        if not c.get("enable_bias", True):
            own = {name: shape for name, shape in own.items() if "norm" in name or name.endswith("weight")}
        shapes.update({f"{p}layers.{n}.{name}": shape for name, shape in own.items()})
    return shapes


def gpt_neox_shapes(c):
    d, f, p = c["hidden_size"], c["intermediate_size"], "gpt_neox."
    shapes = {p + "embed_in.weight": (c["vocab_size"], d), **pair(p + "final_layer_norm", d)}
    if not c.get("tie_word_embeddings"):
        shapes["embed_out.weight"] = (c["vocab_size"], d)
    for n in range(c["num_hidden_layers"]):
        own = {**pair("input_layernorm", d), **pair("post_attention_layernorm", d), **pair("attention.query_key_value", 3 * d, d),
               **pair("attention.dense", d, d), **pair("mlp.dense_h_to_4h", f, d), **pair("mlp.dense_4h_to_h", d, f)}
        if not c.get("attention_bias", True):
            del own["attention.query_key_value.bias"], own["attention.dense.bias"]
        shapes.update({f"{p}layers.{n}.{name}": shape for name, shape in own.items()})
    return shapes


def bart_shapes(c):
    d, v, kind = c["d_model"], c["vocab_size"], c["model_type"]
    whisper = kind == "whisper"
    shapes = {"model.decoder.embed_tokens.weight" if whisper else "model.shared.weight": (v, d)}
    if whisper:
        shapes.update({**pair("model.encoder.conv1", d, c["num_mel_bins"], 3), **pair("model.encoder.conv2", d, d, 3),
                       "model.encoder.embed_positions.weight": (c["max_source_positions"], d),
                       "model.decoder.embed_positions.weight": (c["max_target_positions"], d),
                       **pair("model.encoder.layer_norm", d), **pair("model.decoder.layer_norm", d)})
    elif kind != "m2m_100":
        shapes["final_logits_bias"] = (1, v)
    for side in "encoder", "decoder":
        if kind in ("mbart", "pegasus", "m2m_100", "blenderbot"):
            shapes.update(pair(f"model.{side}.layer_norm", d))
        if kind in ("bart", "mbart", "plbart", "blenderbot-small"):
            shapes.update(pair(f"model.{side}.layernorm_embedding", d))
        if kind in ("bart", "mbart", "plbart", "blenderbot", "blenderbot-small"):
            rows = c["max_position_embeddings"] + (0 if kind.startswith("blenderbot") else 2)
            shapes[f"model.{side}.embed_positions.weight"] = (rows, d)
        f = c[side + "_ffn_dim"]
        for n in range(c[side + "_layers"]):
            own = {**pair("fc1", f, d), **pair("fc2", d, f), **pair("final_layer_norm", d)}
            for attention in ["self_attn"] + ["encoder_attn"] * (side == "decoder"):
                own.update({**pair(attention + "_layer_norm", d), **pair(attention + ".q_proj", d, d), **pair(attention + ".v_proj", d, d),
                            **pair(attention + ".out_proj", d, d), **pair(attention + ".k_proj", d, d)})
                if whisper:
                    del own[attention + ".k_proj.bias"]
            shapes.update({f"model.{side}.layers.{n}.{name}": shape for name, shape in own.items()})
    return shapes


def trocr_shapes(c):
    """Of a bare vision transformer, and of a decoder in BART's form."""
    e, c = c["encoder"], c["decoder"]
    d, f, body = c["d_model"], c["decoder_ffn_dim"], "decoder.model.decoder."
    shapes = {"encoder." + name: shape for name, shape in vit_shapes({**e, "architectures": ["ViTModel"]}).items()}
    shapes.update({**pair("encoder.pooler.dense", e["hidden_size"], e["hidden_size"]), body + "embed_tokens.weight": (c["vocab_size"], d)})
    if not c["tie_word_embeddings"]:
        shapes["decoder.output_projection.weight"] = (c["vocab_size"], d)
    memory = c["cross_attention_hidden_size"] or d
    if memory != e["hidden_size"]:
        shapes.update(pair("enc_to_dec_proj", d, e["hidden_size"]))
    if c["use_learned_position_embeddings"]:
        shapes[body + "embed_positions.weight"] = (c["max_position_embeddings"] + 2, d)
    else:
        shapes[body + "embed_positions._float_tensor"] = (1,)
    if c["layernorm_embedding"]:
        shapes.update(pair(body + "layernorm_embedding", d))
    for n in range(c["decoder_layers"]):
        own = {**pair("fc1", f, d), **pair("fc2", d, f), **pair("final_layer_norm", d)}
        for attention in "self_attn", "encoder_attn":
            taken = memory if attention == "encoder_attn" else d
            own.update({**pair(attention + "_layer_norm", d), **pair(attention + ".q_proj", d, d), **pair(attention + ".k_proj", d, taken),
                        **pair(attention + ".v_proj", d, taken), **pair(attention + ".out_proj", d, d)})
        shapes.update({f"{body}layers.{n}.{name}": shape for name, shape in own.items()})
    return shapes


def t5_encoder_shapes(c):
    return {name: shape for name, shape in t5_shapes(c).items() if not name.startswith(("decoder.", "lm_head."))}


def t5_shapes(c):
    d, f, inner = c["d_model"], c["d_ff"], c["num_heads"] * c["d_kv"]
    gated = c.get("is_gated_act", c["feed_forward_proj"].startswith("gated"))
    shapes = {"shared.weight": (c["vocab_size"], d), "encoder.final_layer_norm.weight": (d,), "decoder.final_layer_norm.weight": (d,)}
    if not c.get("scale_decoder_outputs", c["tie_word_embeddings"]):
        shapes["lm_head.weight"] = (c["vocab_size"], d)
    for side in "encoder", "decoder":
        decoder = side == "decoder"
        layers = c["num_decoder_layers" if decoder else "num_layers"]
        for n in range(layers if c["model_type"] == "umt5" else 1):
            shapes[f"{side}.block.{n}.layer.0.SelfAttention.relative_attention_bias.weight"] = (c["relative_attention_num_buckets"], c["num_heads"])
        for n in range(layers):
            last = 2 if decoder else 1
            own = {f"layer.{i}.layer_norm.weight": (d,) for i in range(last + 1)}
            for attention in ["layer.0.SelfAttention."] + ["layer.1.EncDecAttention."] * decoder:
                own.update({attention + name + ".weight": (inner, d) for name in "qkv"})
                own[attention + "o.weight"] = (d, inner)
            mlp = f"layer.{last}.DenseReluDense."
            own.update({mlp + name + ".weight": (f, d) for name in (("wi_0", "wi_1") if gated else ("wi",))})
            own[mlp + "wo.weight"] = (d, f)
            shapes.update({f"{side}.block.{n}.{name}": shape for name, shape in own.items()})
    return shapes


def swin_shapes(c):
    d, m, v2, p = c["embed_dim"], c["window_size"], c["model_type"] == "swinv2", c["model_type"] + "."
    last = d << len(c["depths"]) - 1
    shapes = {**pair(p + "embeddings.patch_embeddings.projection", d, 3, c["patch_size"], c["patch_size"]), **pair(p + "embeddings.norm", d),
              **pair(p + "layernorm", last), **pair("classifier", len(c["id2label"]), last)}
    for s, (depth, heads) in enumerate(zip(c["depths"], c["num_heads"])):
        w, f = d << s, int(c["mlp_ratio"] * (d << s))
        for n in range(depth):
            own = {**pair("layernorm_before", w), **pair("layernorm_after", w), **pair("attention.self.query", w, w),
                   **pair("attention.self.key", w, w), **pair("attention.self.value", w, w), **pair("attention.output.dense", w, w),
                   **pair("intermediate.dense", f, w), **pair("output.dense", w, f),
                   "attention.self.relative_position_bias_table": ((2 * m - 1) ** 2, heads)}
            if v2:
                del own["attention.self.relative_position_bias_table"], own["attention.self.key.bias"]
                mlp, n_ = "attention.self.continuous_position_bias_mlp.", 2 * min(m, c["image_size"] // c["patch_size"] >> s) - 1
                own.update({**pair(mlp + "0", 512, 2), mlp + "2.weight": (heads, 512), "attention.self.logit_scale": (heads, 1, 1)})
                if c.get("buffers"):
                    own.update({"attention.self.relative_coords_table": (1, n_, n_, 2), "attention.self.relative_position_index": (4, 4)})
            shapes.update({f"{p}encoder.layers.{s}.blocks.{n}.{name}": shape for name, shape in own.items()})
        if s + 1 < len(c["depths"]):
            shapes.update({f"{p}encoder.layers.{s}.downsample.reduction.weight": (2 * w, 4 * w),
                           **pair(f"{p}encoder.layers.{s}.downsample.norm", 2 * w if v2 else 4 * w)})
    return shapes


def resnet_shapes(p, features):
    """Of ResNet-50 that gives so many features, with the four numbers of each norm's features."""
    norm = lambda name, n: {f"{name}.{kind}": (n,) for kind in ("weight", "bias", "running_mean", "running_var")}
    taken = features // 32
    shapes = {p + "conv1.weight": (taken, 3, 7, 7), **norm(p + "bn1", taken)}
    for stage, blocks in enumerate((3, 4, 6, 3)):
        middle = features // 32 << stage
        for n in range(blocks):
            own = f"{p}layer{stage + 1}.{n}."
            shapes.update({own + "conv1.weight": (middle, taken, 1, 1), own + "conv2.weight": (middle, middle, 3, 3),
                           own + "conv3.weight": (4 * middle, middle, 1, 1), **norm(own + "bn1", middle), **norm(own + "bn2", middle),
                           **norm(own + "bn3", 4 * middle)})
            if n == 0:
                shapes.update({own + "downsample.0.weight": (4 * middle, taken, 1, 1), **norm(own + "downsample.1", 4 * middle)})
            taken = 4 * middle
    return shapes


def detr_shapes(c, features=2048):
    d = c["d_model"]
    shapes = {**resnet_shapes("model.backbone.conv_encoder.model.", features), **pair("model.input_projection", d, features, 1, 1),
              "model.query_position_embeddings.weight": (c["num_queries"], d), **pair("model.decoder.layernorm", d),
              **pair("class_labels_classifier", len(c["id2label"]) + 1, d)}
    for n, rows in enumerate((d, d, 4)):
        shapes.update(pair(f"bbox_predictor.layers.{n}", rows, d))
    for side in "encoder", "decoder":
        f = c[side + "_ffn_dim"]
        for n in range(c[side + "_layers"]):
            own = {**pair("fc1", f, d), **pair("fc2", d, f), **pair("final_layer_norm", d)}
            for attention in ["self_attn"] + ["encoder_attn"] * (side == "decoder"):
                own.update({**pair(attention + "_layer_norm", d), **pair(attention + ".out_proj", d, d)})
                for name in "qkv":
                    own.update(pair(f"{attention}.{name}_proj", d, d))
            shapes.update({f"model.{side}.layers.{n}.{name}": shape for name, shape in own.items()})
    return shapes


def sam_shapes(c, whole=True):
    """Of the encoder of pictures and, where it is not alone, a tensor of each other part."""
    c, p = c["vision_config"], "vision_encoder."
    d, f, o, grid = c["hidden_size"], int(c["hidden_size"] * c["mlp_ratio"]), c["output_channels"], c["image_size"] // c["patch_size"]
    shapes = {**pair(p + "patch_embed.projection", d, 3, c["patch_size"], c["patch_size"]), p + "pos_embed": (1, grid, grid, d),
              p + "neck.conv1.weight": (o, d, 1, 1), p + "neck.conv2.weight": (o, o, 3, 3), **pair(p + "neck.layer_norm1", o),
              **pair(p + "neck.layer_norm2", o)}
    for n in range(c["num_hidden_layers"]):
        side = 2 * (grid if n in c["global_attn_indexes"] else c["window_size"]) - 1
        own = {**pair("layer_norm1", d), **pair("layer_norm2", d), **pair("attn.qkv", 3 * d, d), **pair("attn.proj", d, d),
               **pair("mlp.lin1", f, d), **pair("mlp.lin2", d, f)}
        own.update({"attn.rel_pos_h": (side, d // c["num_attention_heads"]), "attn.rel_pos_w": (side, d // c["num_attention_heads"])})
        shapes.update({f"{p}layers.{n}.{name}": shape for name, shape in own.items()})
    if whole:
        shapes.update({"shared_image_embedding.positional_embedding": (2, 8), "prompt_encoder.no_mask_embed.weight": (1, o),
                       "mask_decoder.iou_token.weight": (1, o)})
    return shapes


def timm_shapes(c):
    """Of a small vit_ or deit_ model; timm's config says no sizes."""
    d, f, side, teacher = 64, 96, 8, "distilled" in c["architecture"]
    shapes = {"cls_token": (1, 1, d), "pos_embed": (1, 16 + 1 + teacher, d), **pair("patch_embed.proj", d, 3, side, side)}
    if teacher:
        shapes.update({"dist_token": (1, 1, d), **pair("head_dist", c["num_classes"], d)})
    for n in range(2):
        for name, shape in (("norm1", (d,)), ("norm2", (d,)), ("attn.qkv", (3 * d, d)), ("attn.proj", (d, d)), ("mlp.fc1", (f, d)),
                            ("mlp.fc2", (d, f))):
            shapes.update(pair(f"blocks.{n}.{name}", *shape))
        if "dinov2" in c["architecture"]:
            shapes.update({f"blocks.{n}.ls1.gamma": (d,), f"blocks.{n}.ls2.gamma": (d,)})
    mean = c.get("global_pool") == "avg"
    shapes.update(pair("fc_norm" if mean else "norm", d))
    if c["num_classes"]:
        shapes.update(pair("head", c["num_classes"], d))
    return shapes


def backbone_weights(weights, seed):
    """Changes those of a backbone of convolutions, whose many layers would else make numbers large."""
    rng = np.random.default_rng(seed)
    for name, value in weights.items():
        if value.ndim == 4:
            value *= np.sqrt(value.shape[-1]) / np.sqrt(np.prod(value.shape[1:]))
        elif name.endswith("running_var"):
            value[:] = rng.uniform(0.5, 1.5, value.shape)
        elif name.endswith(".weight") and ("bn" in name or "downsample.1" in name):
            value[:] = 0.7 + 0.1 * value
    return weights
