# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BERT's relatives, DeBERTa and DINOv3, in NumPy, as text_models.py has other models: the shapes of their tensors, and what they compute."""
import numpy as np

from numpy_layers import ACTIVATIONS, attention, heads_of, joined, layer_norm, linear, rotate, softmax
from shapes import pair
from text_models import sentence, t5_bucket

BERT = dict(q="attention.self.query", k="attention.self.key", v="attention.self.value", o="attention.output.dense",
            first="attention.output.LayerNorm", up="intermediate.dense", down="output.dense", second="output.LayerNorm")
ALBERT = dict(q="attention.query", k="attention.key", v="attention.value", o="attention.dense", first="attention.LayerNorm", up="ffn",
              down="ffn_output", second="full_layer_layer_norm")
MPNET = {**BERT, **{name: f"attention.attn.{name}" for name in "qkvo"}, "first": "attention.LayerNorm"}
LM_HEAD = ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias")
CLS_HEAD = ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias")
# What each is called in a model with a head; the names of a layer; the norm behind all layers, where norms are in front; its head for tokens.
KINDS = {
    "bert": ("bert.", BERT, "", CLS_HEAD),
    "camembert": ("roberta.", BERT, "", LM_HEAD),
    "data2vec-text": ("data2vec_text.", BERT, "", LM_HEAD),
    "xlm-roberta-xl": ("roberta.", {**BERT, "first": "attention.self_attn_layer_norm", "second": "LayerNorm"}, "encoder.LayerNorm", LM_HEAD),
    "roberta-prelayernorm": ("roberta_prelayernorm.", {**BERT, "first": "attention.LayerNorm", "second": "intermediate.LayerNorm"}, "LayerNorm", LM_HEAD),
    "electra": ("electra.", BERT, "", ("generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head.bias")),
    "albert": ("albert.", ALBERT, "", ("predictions.dense", "predictions.LayerNorm", "predictions.bias")),
    "ernie": ("ernie.", BERT, "", CLS_HEAD),
    "megatron-bert": ("bert.", {**BERT, "first": "attention.ln", "second": "ln"}, "encoder.ln", CLS_HEAD),
    "mpnet": ("mpnet.", MPNET, "", LM_HEAD),
    "esm": ("esm.", {**BERT, "first": "attention.LayerNorm", "second": "LayerNorm"}, "encoder.emb_layer_norm_after", LM_HEAD),
}
BEHIND_PADDING = ("camembert", "data2vec-text", "xlm-roberta-xl", "roberta-prelayernorm", "mpnet")
DENSE_CLASSES = (*BEHIND_PADDING, "electra", "esm")


def body_of(c):
    """What names of the encoder begin with."""
    return KINDS[c["model_type"]][0] if "For" in c["architectures"][0] or c["architectures"][0] == "HF_ColBERT" else ""


def layer_of(kind, n):
    return "encoder.albert_layer_groups.0.albert_layers.0." if kind == "albert" else f"encoder.layer.{n}."


def kin_shapes(c):
    kind, task, d = c["model_type"], c["architectures"][0].partition("For")[2], c["hidden_size"]
    p, names, last, head = (body_of(c), *KINDS[kind][1:])
    e, f, v, classes = c.get("embedding_size", d), c["intermediate_size"], c["vocab_size"], len(c.get("id2label", (0, 1)))
    shapes = {p + "embeddings.word_embeddings.weight": (v, e)}
    if c.get("position_embedding_type") != "rotary":
        shapes[p + "embeddings.position_embeddings.weight"] = (c["max_position_embeddings"], e)
    if kind not in ("mpnet", "esm"):
        shapes[p + "embeddings.token_type_embeddings.weight"] = (c["type_vocab_size"], e)
    if c.get("use_task_id"):
        shapes[p + "embeddings.task_type_embeddings.weight"] = (c["task_type_vocab_size"], e)
    if kind not in ("megatron-bert", "xlm-roberta-xl", "esm"):
        shapes.update(pair(p + "embeddings.LayerNorm", e))
    if kind == "albert":
        shapes.update(pair(p + "encoder.embedding_hidden_mapping_in", d, e))
    elif e != d:
        shapes.update(pair(p + "embeddings_project", d, e))
    for n in range(c["num_hidden_layers"]):
        own = {name: shape for part in "qkvo" for name, shape in pair(names[part], d, d).items()}
        own.update({**pair(names["first"], d), **pair(names["second"], d), **pair(names["up"], f, d), **pair(names["down"], d, f)})
        if kind == "esm":
            own["attention.self.rotary_embeddings.inv_freq"] = (d // c["num_attention_heads"] // 2,)
        shapes.update({p + layer_of(kind, n) + name: shape for name, shape in own.items()})
    if last:
        shapes.update(pair(p + last, d))
    if kind == "mpnet":
        shapes[p + "encoder.relative_attention_bias.weight"] = (c["relative_attention_num_buckets"], c["num_attention_heads"])
    if kind not in ("electra", "esm") and (not task or task == "SequenceClassification" and kind not in DENSE_CLASSES):
        shapes.update(pair(p + ("pooler" if kind == "albert" else "pooler.dense"), d, d))
    if task == "MaskedLM":
        shapes.update({**pair(head[0], e, d), **pair(head[1], e), head[2]: (v,)})
        if not c.get("tie_word_embeddings", True):
            shapes.update({**pair("lm_head.decoder", v, e)})
    elif task == "PreTraining":
        shapes.update({**pair("discriminator_predictions.dense", d, d), **pair("discriminator_predictions.dense_prediction", 1, d)})
    elif task == "SequenceClassification" and kind in DENSE_CLASSES:
        shapes.update({**pair("classifier.dense", d, d), **pair("classifier.out_proj", classes, d)})
    elif task:
        shapes.update(pair("qa_outputs" if "Answering" in task else "classifier", classes, d))
    if c["architectures"][0] == "HF_ColBERT":
        shapes["linear.weight"] = (c["vector"], d)
    return shapes


def esm_embedding(c, ids, lengths, x):
    """Masked tokens are left out, and the others are scaled by how many are."""
    if not c["token_dropout"]:
        return x
    masked = ids == c["mask_token_id"]
    return np.where(masked[..., None], 0, x) * (1 - 0.15 * 0.8) / (1 - masked.sum(1) / lengths)[:, None, None]


def kin_embedding(c, w, p, ids, lengths, segments):
    kind, own = c["model_type"], p + "embeddings."
    at = np.arange(ids.shape[1]) + (2 if kind in BEHIND_PADDING else 0)  # all have 1 for the pad token
    x = w[own + "word_embeddings.weight"][ids]
    if kind == "esm":
        return esm_embedding(c, ids, lengths, x)
    x = x + w[own + "position_embeddings.weight"][at]
    if own + "token_type_embeddings.weight" in w:
        x = x + w[own + "token_type_embeddings.weight"][np.zeros_like(ids) if segments is None else segments]
    if own + "task_type_embeddings.weight" in w:
        x = x + w[own + "task_type_embeddings.weight"][0]
    if own + "LayerNorm.weight" in w:
        x = layer_norm(x, w, own + "LayerNorm", c["layer_norm_eps"])
    widened = p + ("encoder.embedding_hidden_mapping_in" if kind == "albert" else "embeddings_project")
    return linear(x, w, widened) if widened + ".weight" in w else x


def kin_states(c, w, ids, lengths, segments=None):
    """The states of all tokens."""
    p, kind, (_, names, last, _), count = body_of(c), c["model_type"], KINDS[c["model_type"]], c["num_attention_heads"]
    norm = lambda x, name: layer_norm(x, w, name, c["layer_norm_eps"])
    act = ACTIVATIONS["gelu" if kind == "esm" else c["hidden_act"]]
    x = kin_embedding(c, w, p, ids, lengths, segments)
    live, bias = (np.arange(ids.shape[1]) < lengths[:, None])[:, None, None], 0
    if kind == "mpnet":
        rows = np.array([[t5_bucket(j - i, True, 32, 128) for j in range(ids.shape[1])] for i in range(ids.shape[1])])
        bias = w[p + "encoder.relative_attention_bias.weight"][rows].transpose(2, 0, 1)
    for n in range(c["num_hidden_layers"]):
        l = p + layer_of(kind, n)
        y = norm(x, l + names["first"]) if last else x
        q, k, v = (heads_of(linear(y, w, l + names[part]), count) for part in "qkv")
        if kind == "esm":
            turns = w[p + "encoder.layer.0.attention.self.rotary_embeddings.inv_freq"]
            q, k = rotate(q, turns), rotate(k, turns)
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]) + bias
        x = x + linear(joined(softmax(np.where(live, scores, -np.inf)) @ v), w, l + names["o"])
        x = x if last else norm(x, l + names["first"])
        y = norm(x, l + names["second"]) if last else x
        x = x + linear(act(linear(y, w, l + names["up"])), w, l + names["down"])
        x = x if last else norm(x, l + names["second"])
    return norm(x, p + last) if last else x


def token_scores(c, w, x):
    dense, norm, bias = KINDS[c["model_type"]][3]
    act = ACTIVATIONS["gelu" if dense.startswith(("lm_head", "generator")) else c["hidden_act"]]
    x = layer_norm(act(linear(x, w, dense)), w, norm, c["layer_norm_eps"])
    if "lm_head.decoder.weight" in w:
        return linear(x, w, "lm_head.decoder")
    return x @ w[body_of(c) + "embeddings.word_embeddings.weight"].T + w[bias]


def kin(c, w, ids, lengths, segments=None):
    kind, task, p = c["model_type"], c["architectures"][0].partition("For")[2], body_of(c)
    x = kin_states(c, w, ids, lengths, segments)
    pooler = p + ("pooler" if kind == "albert" else "pooler.dense")
    if task == "MaskedLM":
        scores = token_scores(c, w, x)
        weights = [np.log1p(np.maximum(row[:n], 0)).max(0) for row, n in zip(scores, lengths)]
        return {"scores": scores, "splade": np.stack(weights)}
    if task == "PreTraining":
        own = "discriminator_predictions.dense"
        return {"scores": linear(ACTIVATIONS[c["hidden_act"]](linear(x, w, own)), w, own + "_prediction")[..., 0]}
    if task == "SequenceClassification" and kind in DENSE_CLASSES:
        act = ACTIVATIONS["gelu" if kind == "electra" else "tanh"]
        return {"scores": linear(act(linear(x[:, 0], w, "classifier.dense")), w, "classifier.out_proj")}
    if task == "SequenceClassification":
        return {"scores": linear(np.tanh(linear(x[:, 0], w, pooler)), w, "classifier")}
    if task:
        return {"scores": linear(x, w, "qa_outputs" if "Answering" in task else "classifier")}
    if c["architectures"][0] == "HF_ColBERT":
        vectors = x @ w["linear.weight"].T
        return {"embedding": vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)}
    pooled = {"pooled": np.tanh(linear(x[:, 0], w, pooler))} if pooler + ".weight" in w else {}
    modules = [("Pooling", {"pooling_mode_mean_tokens": True}, None), ("Normalize", {}, None)]
    return {"hidden": x, **pooled, "embedding": np.stack([sentence(modules, row[:n]) for row, n in zip(x, lengths)])}


def deberta_shapes(c):
    first, d, f, e = c["model_type"] == "deberta", c["hidden_size"], c["intermediate_size"], c.get("embedding_size", c["hidden_size"])
    p, own, task = "deberta." if "For" in c["architectures"][0] else "", "attention.self.", c["architectures"][0].partition("For")[2]
    span = c.get("position_buckets", -1) if c.get("position_buckets", -1) > 0 else c["max_position_embeddings"]
    shapes = {p + "embeddings.word_embeddings.weight": (c["vocab_size"], e), **pair(p + "embeddings.LayerNorm", d),
              p + "encoder.rel_embeddings.weight": (2 * span, d)}
    if e != d:
        shapes[p + "embeddings.embed_proj.weight"] = (d, e)
    if c["type_vocab_size"]:
        shapes[p + "embeddings.token_type_embeddings.weight"] = (c["type_vocab_size"], e)
    if c["position_biased_input"]:
        shapes[p + "embeddings.position_embeddings.weight"] = (c["max_position_embeddings"], e)
    if c.get("norm_rel_ebd") == "layer_norm":
        shapes.update(pair(p + "encoder.LayerNorm", d))
    if c.get("conv_kernel_size"):
        shapes.update({**pair(p + "encoder.conv.conv", d, d, c["conv_kernel_size"]), **pair(p + "encoder.conv.LayerNorm", d)})
    for n in range(c["num_hidden_layers"]):
        if first:
            layer = {own + "in_proj.weight": (3 * d, d), own + "q_bias": (d,), own + "v_bias": (d,), own + "pos_proj.weight": (d, d),
                     **pair(own + "pos_q_proj", d, d)}
        else:
            maps = ("query", "key", "value") if c.get("share_att_key") else ("query", "key", "value", "pos_query", "pos_key")
            layer = {name: shape for part in maps for name, shape in pair(f"{own}{part}_proj", d, d).items()}
        layer.update({**pair("attention.output.dense", d, d), **pair("attention.output.LayerNorm", d), **pair("intermediate.dense", f, d),
                      **pair("output.dense", d, f), **pair("output.LayerNorm", d)})
        shapes.update({f"{p}encoder.layer.{n}.{name}": shape for name, shape in layer.items()})
    if task == "MaskedLM":
        shapes.update({**pair("cls.predictions.transform.dense", e, d), **pair("cls.predictions.transform.LayerNorm", e),
                       "cls.predictions.bias": (c["vocab_size"],)})
    elif task:
        shapes.update({**pair("pooler.dense", d, d), **pair("classifier", len(c["id2label"]), d)})
    return shapes


def distance_rows(c, length):
    """For each pair of tokens, the row of the table of distances."""
    apart = np.arange(length)[:, None] - np.arange(length)
    buckets, most = c.get("position_buckets", -1), c["max_position_embeddings"]
    if buckets > 0:
        half, far = buckets // 2, np.abs(apart)
        log = np.ceil(np.log(np.maximum(far, half) / half) / np.log((most - 1) / half) * (half - 1)) + half
        apart = np.where(far <= half, apart, np.sign(apart) * log).astype(int)
    span = buckets if buckets > 0 else most
    return np.clip(apart + span, 0, 2 * span - 1)


def deberta_attention(c, w, l, x, table, rows, live):
    own, count, (b, t, d) = l + "attention.self.", c["num_attention_heads"], x.shape
    if c["model_type"] == "deberta":  # head by head: queries, keys, values
        packed = (x @ w[own + "in_proj.weight"].T).reshape(b, t, count, 3, d // count).transpose(3, 0, 2, 1, 4)
        q, k, v = packed[0] + heads_of(w[own + "q_bias"][None, None], count), packed[1], packed[2] + heads_of(w[own + "v_bias"][None, None], count)
        keys, queries = "pos_proj", "pos_q_proj"
    else:
        q, k, v = (heads_of(linear(x, w, f"{own}{part}_proj"), count) for part in ("query", "key", "value"))
        keys, queries = ("key_proj", "query_proj") if c.get("share_att_key") else ("pos_key_proj", "pos_query_proj")
    keys, queries = (heads_of(linear(table, w, own + name)[None], count) for name in (keys, queries))
    c2p, p2c = q @ keys.transpose(0, 1, 3, 2), k @ queries.transpose(0, 1, 3, 2)
    i, j = np.arange(t)[:, None], np.arange(t)
    scores = (q @ k.transpose(0, 1, 3, 2) + c2p[:, :, i, rows] + p2c[:, :, j, rows]) / np.sqrt(3 * d // count)
    return linear(joined(softmax(np.where(live, scores, -np.inf)) @ v), w, l + "attention.output.dense")


def deberta(c, w, ids, lengths, segments=None):
    p, task, t = "deberta." if "For" in c["architectures"][0] else "", c["architectures"][0].partition("For")[2], ids.shape[1]
    norm, act = lambda x, name: layer_norm(x, w, name, c["layer_norm_eps"]), ACTIVATIONS[c["hidden_act"]]
    x = w[p + "embeddings.word_embeddings.weight"][ids]
    if c["position_biased_input"]:
        x = x + w[p + "embeddings.position_embeddings.weight"][:t]
    if segments is not None:
        x = x + w[p + "embeddings.token_type_embeddings.weight"][segments]
    if p + "embeddings.embed_proj.weight" in w:
        x = x @ w[p + "embeddings.embed_proj.weight"].T
    there = np.arange(t) < lengths[:, None]
    x = norm(x, p + "embeddings.LayerNorm") * there[..., None]
    table, rows, convolved = w[p + "encoder.rel_embeddings.weight"], distance_rows(c, t), 0
    if p + "encoder.LayerNorm.weight" in w:
        table = norm(table, p + "encoder.LayerNorm")
    if "conv_kernel_size" in c:
        kernel, size = w[p + "encoder.conv.conv.weight"], c["conv_kernel_size"]
        longer = np.pad(x, ((0, 0), (size // 2, size // 2), (0, 0)))
        convolved = np.tanh(sum(longer[:, s:s + t] @ kernel[:, :, s].T for s in range(size)) + w[p + "encoder.conv.conv.bias"])
    for n in range(c["num_hidden_layers"]):
        l = f"{p}encoder.layer.{n}."
        x = norm(x + deberta_attention(c, w, l, x, table, rows, there[:, None, None]), l + "attention.output.LayerNorm")
        x = norm(x + linear(act(linear(x, w, l + "intermediate.dense")), w, l + "output.dense"), l + "output.LayerNorm")
        if n == 0 and "conv_kernel_size" in c:
            x = norm(x + convolved, p + "encoder.conv.LayerNorm")
    if task == "MaskedLM":
        own = "cls.predictions.transform."
        return {"scores": norm(act(linear(x, w, own + "dense")), own + "LayerNorm") @ w[p + "embeddings.word_embeddings.weight"].T +
                w["cls.predictions.bias"]}
    if task:
        return {"scores": linear(ACTIVATIONS["gelu"](linear(x[:, 0], w, "pooler.dense")), w, "classifier")}
    return {"hidden": x}


def dinov3_shapes(c):
    d, f = c["hidden_size"], c["intermediate_size"]
    shapes = {**pair("embeddings.patch_embeddings", d, 3, c["patch_size"], c["patch_size"]), "embeddings.cls_token": (1, 1, d),
              "embeddings.mask_token": (1, 1, d), "embeddings.register_tokens": (1, c["num_register_tokens"], d), **pair("norm", d)}
    for n in range(c["num_hidden_layers"]):
        own = {**pair("norm1", d), **pair("norm2", d), "layer_scale1.lambda1": (d,), "layer_scale2.lambda1": (d,), **pair("mlp.up_proj", f, d),
               **pair("mlp.down_proj", d, f), **pair("attention.q_proj", d, d), "attention.k_proj.weight": (d, d),
               **pair("attention.v_proj", d, d), **pair("attention.o_proj", d, d)}
        if c.get("use_gated_mlp"):
            own.update(pair("mlp.gate_proj", f, d))
        shapes.update({f"layer.{n}.{name}": shape for name, shape in own.items()})
    return shapes


def turned(x, angles):
    """Pairs of features, halves apart, turned by angles of each row."""
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], -1)


def dinov3(c, w, image):
    norm, count, side, b = lambda x, name: layer_norm(x, w, name, c["layer_norm_eps"]), c["num_attention_heads"], c["patch_size"], len(image)
    grid, kernel, act = image.shape[2] // side, w["embeddings.patch_embeddings.weight"], ACTIVATIONS[c["hidden_act"]]
    patches = image.astype(np.float64).reshape(b, 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(b, grid * grid, -1)
    x = patches @ kernel.reshape(len(kernel), -1).T + w["embeddings.patch_embeddings.bias"]
    front = [np.repeat(w[f"embeddings.{name}"], b, 0) for name in ("cls_token", "register_tokens")]
    x = np.concatenate([*front, x], 1)
    features = c["hidden_size"] // count
    slower = c.get("rope_theta", 100) ** (-4 * np.arange(features // 4) / features)
    place = 2 * (np.arange(grid) + 0.5) / grid - 1
    rows, columns = np.repeat(place, grid)[:, None], np.tile(place, grid)[:, None]
    angles = 2 * np.pi * np.concatenate([rows * slower, columns * slower], 1)
    angles = np.concatenate([np.zeros((1 + c["num_register_tokens"], features // 2)), angles])
    for n in range(c["num_hidden_layers"]):
        l = f"layer.{n}."
        y = norm(x, l + "norm1")
        q, k, v = (linear(y, w, l + f"attention.{part}_proj") for part in "qkv")
        q, k = (joined(turned(heads_of(part, count), angles)) for part in (q, k))
        x = x + linear(attention(q, k, v, count), w, l + "attention.o_proj") * w[l + "layer_scale1.lambda1"]
        y = norm(x, l + "norm2")
        up = linear(y, w, l + "mlp.up_proj")
        up = act(linear(y, w, l + "mlp.gate_proj")) * up if c.get("use_gated_mlp") else act(up)
        x = x + linear(up, w, l + "mlp.down_proj") * w[l + "layer_scale2.lambda1"]
    return {"hidden": norm(x, "norm")}
