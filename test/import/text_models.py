# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of text and speech, each a function of its config.json, its weights and its inputs: what the papers and the published modelling code
say, in NumPy. They give their results by name."""
import numpy as np

from numpy_layers import ACTIVATIONS, attention, frequencies, heads_of, joined, layer_norm, linear, rotate, softmax, strength


BASES = {"gemma3_text": 1e6, "mixtral": 1e6, "gpt_oss": 150000.0}  # of the published classes, where a config says none


def rope_values(c, slides):
    """The values of rope of a layer, as the published configuration classes put them together from either form of a config."""
    kind, base = c["model_type"], BASES.get(c["model_type"], 10000.0)
    given = c.get("rope_scaling") or c.get("rope_parameters") or {}
    by_type = bool({"full_attention", "sliding_attention"} & set(given))
    name = "sliding_attention" if slides else "full_attention"
    if kind == "gemma3_text" and slides:
        own = {"rope_theta": c.get("rope_local_base_freq", 10000.0), **(given.get(name, {}) if by_type else {})}
    else:
        own = {"rope_theta": c.get("rope_theta", base), **(given.get(name, {}) if by_type else given)}
    own = {"rope_type": own.get("type", "default"), "partial_rotary_factor": c.get("partial_rotary_factor", 1),
           "original_max_position_embeddings": c["max_position_embeddings"], **own}
    if "original_max_position_embeddings" in c or kind == "phi3":
        own["original_max_position_embeddings"] = c.get("original_max_position_embeddings", 4096)
    if kind == "phi3" and own["rope_type"] in ("su", "yarn"):
        own["rope_type"] = "longrope"
    return own


def slides_at(c, n):
    """Whether a layer has a window."""
    kind, window = c["model_type"], c.get("sliding_window")
    if kind.startswith("qwen") and not c.get("use_sliding_window"):
        window = None
    if kind in ("llama", "gemma"):
        return False
    if kind in ("mistral", "phi3", "mixtral", "qwen3_moe"):
        return window is not None
    if "layer_types" in c:
        return c["layer_types"][n] == "sliding_attention"
    if kind == "gemma3_text":
        return (n + 1) % c.get("sliding_window_pattern", 6) != 0
    if kind in ("gemma2", "gpt_oss"):
        return n % 2 == 0
    return window is not None and n >= c.get("max_window_layers", 28)


def llama_layers(c):
    """Of each layer, what token i sees of token j, and its angles: frequencies, and what cosines and sines are multiplied by."""
    e = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    both = c.get("use_bidirectional_attention", False)
    near = c.get("sliding_window")
    for n in range(c["num_hidden_layers"]):
        slides = slides_at(c, n)
        own = rope_values(c, slides)
        angles = frequencies(int(e * own["partial_rotary_factor"]), own["rope_theta"], own, c.get("is_long", False)), strength(c, own)
        if both:
            sees = (lambda i, j: abs(i - j) < near // 2 + 1) if slides else (lambda i, j: i == i)
        elif not c.get("is_causal", True):
            sees = (lambda i, j: abs(i - j) <= near) if slides else (lambda i, j: i == i)
        else:
            sees = (lambda i, j: (j <= i) & (i - j < near)) if slides else (lambda i, j: j <= i)
        yield sees, angles


def experts(c, w, p, x, act):
    """Of all experts, what those of the largest probabilities of each row give, added up by these."""
    mixtral = c["model_type"] == "mixtral"
    moe, (gate, up, down) = ("block_sparse_moe", ("w1", "w3", "w2")) if mixtral else ("mlp", ("gate_proj", "up_proj", "down_proj"))
    chances = softmax(x @ w[f"{p}{moe}.gate.weight"].T)
    order = np.argsort(-chances, -1)[..., :c["num_experts_per_tok"]]
    kept = np.zeros_like(chances)
    np.put_along_axis(kept, order, np.take_along_axis(chances, order, -1), -1)
    if mixtral or c.get("norm_topk_prob", True):
        kept /= kept.sum(-1, keepdims=True)
    total = 0
    for e in range(chances.shape[-1]):
        own = f"{p}{moe}.experts.{e}."
        total = total + kept[..., e:e + 1] * (
            (act(x @ w[own + gate + ".weight"].T) * (x @ w[own + up + ".weight"].T)) @ w[own + down + ".weight"].T)
    return total


def oss_experts(c, w, p, x):
    """GPT-OSS's: a softmax over the chosen; gates and what they multiply lie row by row, and are clamped."""
    scores = linear(x, w, p + "mlp.router")
    order = np.argsort(-scores, -1)[..., :c["num_experts_per_tok"]]
    kept = np.full_like(scores, -np.inf)
    np.put_along_axis(kept, order, np.take_along_axis(scores, order, -1), -1)
    weights, own, limit, total = softmax(kept), p + "mlp.experts.", c["swiglu_limit"], 0
    for e in range(scores.shape[-1]):
        both = x @ w[own + "gate_up_proj"][e] + w[own + "gate_up_proj_bias"][e]
        gate, up = np.minimum(both[..., ::2], limit), np.clip(both[..., 1::2], -limit, limit)
        made = (up + 1) * gate / (1 + np.exp(-1.702 * gate))
        total = total + weights[..., e:e + 1] * (made @ w[own + "down_proj"][e] + w[own + "down_proj_bias"][e])
    return total


def llama(c, w, ids, lengths=None):
    kind, h, g = c["model_type"], c["num_attention_heads"], c["num_key_value_heads"]
    e = c.get("head_dim") or c["hidden_size"] // h
    gemma = kind.startswith("gemma")
    four = kind in ("gemma2", "gemma3_text")
    act = ACTIVATIONS[c.get("hidden_activation") or c["hidden_act"]]

    def norm(x, name):
        weight = w[name + ".weight"] + (1 if gemma else 0)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + c["rms_norm_eps"]) * weight

    x = w["model.embed_tokens.weight"][ids] * (np.sqrt(c["hidden_size"]) if gemma else 1)
    i, j = np.arange(ids.shape[1])[:, None], np.arange(ids.shape[1])
    there = True if lengths is None else (j < lengths[:, None])[:, None, None]
    for n, (sees, (f, stronger)) in enumerate(llama_layers(c)):
        p = f"model.layers.{n}."
        y = norm(x, p + "input_layernorm")
        if kind == "phi3":
            q, k, v = np.split(y @ w[p + "self_attn.qkv_proj.weight"].T, [h * e, (h + g) * e], -1)
        else:
            q, k, v = (linear(y, w, p + f"self_attn.{name}_proj") for name in "qkv")
        q, k, v = heads_of(q, h), heads_of(k, g), heads_of(v, g)
        if p + "self_attn.q_norm.weight" in w:
            q, k = norm(q, p + "self_attn.q_norm"), norm(k, p + "self_attn.k_norm")
        q, k = rotate(q, f, stronger), rotate(k, f, stronger)
        scores = q @ np.repeat(k, h // g, 1).transpose(0, 1, 3, 2) * (c.get("query_pre_attn_scalar", e) ** -0.5)
        if near := c.get("attn_logit_softcapping", 50) if kind == "gemma2" else None:
            scores = np.tanh(scores / near) * near
        live = np.where((sees(i, j) | (i < 0)) & there, scores, -np.inf)
        if p + "self_attn.sinks" in w:
            sinks = np.broadcast_to(w[p + "self_attn.sinks"][:, None, None], live.shape[:-1] + (1,))
            live = softmax(np.concatenate([live, sinks], -1))[..., :-1]
        else:
            live = softmax(live)
        a = joined(live @ np.repeat(v, h // g, 1))
        a = linear(a, w, p + "self_attn.o_proj")
        x = x + (norm(a, p + "post_attention_layernorm") if four else a)
        y = norm(x, p + ("pre_feedforward_layernorm" if four else "post_attention_layernorm"))
        if "num_experts_per_tok" in c:
            x = x + (oss_experts(c, w, p, y) if kind == "gpt_oss" else experts(c, w, p, y, act))
            continue
        if kind == "phi3":
            gate, up = np.split(y @ w[p + "mlp.gate_up_proj.weight"].T, 2, -1)
        else:
            gate, up = linear(y, w, p + "mlp.gate_proj"), linear(y, w, p + "mlp.up_proj")
        y = linear(act(gate) * up, w, p + "mlp.down_proj")
        x = x + (norm(y, p + "post_feedforward_layernorm") if four else y)
    hidden = norm(x, "model.norm")
    scores = hidden @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T
    cap = c.get("final_logit_softcapping", 30 if kind == "gemma2" else None)
    return {"scores": cap * np.tanh(scores / cap) if cap else scores, "hidden": hidden}


def gpt2(c, w, ids):
    x = w["wte.weight"][ids] + w["wpe.weight"][:ids.shape[1]]
    e = c["n_embd"] // c["n_head"]
    live = np.tril(np.ones((ids.shape[1],) * 2, bool))
    norm = lambda x, name: layer_norm(x, w, name, c["layer_norm_epsilon"])
    conv = lambda x, name: x @ w[name + ".weight"] + w[name + ".bias"]
    for n in range(c["n_layer"]):
        p = f"h.{n}."
        q, k, v = (heads_of(part, c["n_head"]) for part in np.split(conv(norm(x, p + "ln_1"), p + "attn.c_attn"), 3, -1))
        scores = q @ k.transpose(0, 1, 3, 2) / (np.sqrt(e) if c.get("scale_attn_weights", True) else 1)
        scores = np.where(live, scores / (n + 1 if c.get("scale_attn_by_inverse_layer_idx") else 1), -np.inf)
        x = x + conv(joined(softmax(scores) @ v), p + "attn.c_proj")
        x = x + conv(ACTIVATIONS[c["activation_function"]](conv(norm(x, p + "ln_2"), p + "mlp.c_fc")), p + "mlp.c_proj")
    return {"scores": norm(x, "ln_f") @ w.get("lm_head.weight", w["wte.weight"]).T}


def opt(c, w, ids):
    p, h, first = "model.decoder.", c["num_attention_heads"], c.get("do_layer_norm_before", True)
    norm = lambda x, name: layer_norm(x, w, name, 1e-5)
    x = w[p + "embed_tokens.weight"][ids]
    if p + "project_in.weight" in w:
        x = x @ w[p + "project_in.weight"].T
    x = x + w[p + "embed_positions.weight"][2:][:ids.shape[1]]
    live = np.tril(np.ones((ids.shape[1],) * 2, bool))
    for n in range(c["num_hidden_layers"]):
        own = f"{p}layers.{n}."
        y = norm(x, own + "self_attn_layer_norm") if first else x
        q, k, v = (linear(y, w, own + f"self_attn.{name}_proj") for name in "qkv")
        x = x + linear(attention(q, k, v, h, live), w, own + "self_attn.out_proj")
        x = x if first else norm(x, own + "self_attn_layer_norm")
        y = norm(x, own + "final_layer_norm") if first else x
        x = x + linear(ACTIVATIONS[c.get("activation_function", "relu")](linear(y, w, own + "fc1")), w, own + "fc2")
        x = x if first else norm(x, own + "final_layer_norm")
    if p + "final_layer_norm.weight" in w:
        x = norm(x, p + "final_layer_norm")
    if p + "project_out.weight" in w:
        x = x @ w[p + "project_out.weight"].T
    return {"scores": x @ w.get("lm_head.weight", w[p + "embed_tokens.weight"]).T}


def gpt_neox(c, w, ids):
    p, h, d = "gpt_neox.", c["num_attention_heads"], c["hidden_size"]
    values = c.get("rope_parameters") or c.get("rope_scaling") or {}
    turned = int(d // h * values.get("partial_rotary_factor", c.get("rotary_pct", 0.25)))
    f = frequencies(turned, values.get("rope_theta", c.get("rotary_emb_base", 10000)), values)
    norm = lambda x, name: layer_norm(x, w, name, c["layer_norm_eps"])
    x = w[p + "embed_in.weight"][ids]
    live = np.tril(np.ones((ids.shape[1],) * 2, bool))
    for n in range(c["num_hidden_layers"]):
        own = f"{p}layers.{n}."
        # head by head: its queries, its keys, its values
        packed = linear(norm(x, own + "input_layernorm"), w, own + "attention.query_key_value").reshape(*ids.shape, h, 3, d // h)
        q, k, v = (packed[:, :, :, part].transpose(0, 2, 1, 3) for part in range(3))
        q, k = rotate(q, f), rotate(k, f)
        scores = np.where(live, q @ k.transpose(0, 1, 3, 2) / np.sqrt(d // h), -np.inf)
        a = linear(joined(softmax(scores) @ v), w, own + "attention.dense")
        fed = lambda y: linear(ACTIVATIONS[c["hidden_act"]](linear(norm(y, own + "post_attention_layernorm"), w, own + "mlp.dense_h_to_4h")), w,
                               own + "mlp.dense_4h_to_h")
        x = x + a + fed(x if c.get("use_parallel_residual", True) else x + a)
    return {"scores": norm(x, p + "final_layer_norm") @ w.get("embed_out.weight", w[p + "embed_in.weight"]).T}


def bert(c, w, ids, lengths, segments=None):
    distil, roberta = c["model_type"] == "distilbert", c["model_type"].endswith("roberta")
    architecture, count = c["architectures"][0], c.get("n_heads") or c["num_attention_heads"]
    eps = 1e-12 if distil else c["layer_norm_eps"]
    act = ACTIVATIONS[c.get("activation") or c["hidden_act"]]
    body = "" if architecture.endswith("Model") else "distilbert." if distil else "roberta." if roberta else "bert."
    norm = lambda x, name: layer_norm(x, w, name, eps)
    at = np.arange(ids.shape[1]) + (c["pad_token_id"] + 1 if roberta else 0)
    x = w[body + "embeddings.word_embeddings.weight"][ids] + w[body + "embeddings.position_embeddings.weight"][at]
    if not distil:
        x = x + w[body + "embeddings.token_type_embeddings.weight"][np.zeros_like(ids) if segments is None else segments]
    x = norm(x, body + "embeddings.LayerNorm")
    live = (np.arange(ids.shape[1]) < lengths[:, None])[:, None, None]
    q, k, v, out, first, up, down, last = (
        ["attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "sa_layer_norm", "ffn.lin1", "ffn.lin2",
         "output_layer_norm"] if distil else
        ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
         "intermediate.dense", "output.dense", "output.LayerNorm"])
    for n in range(c.get("n_layers") or c["num_hidden_layers"]):
        p = f"{body}{'transformer' if distil else 'encoder'}.layer.{n}."
        queries, keys, values = (heads_of(linear(x, w, p + name), count) for name in (q, k, v))
        scores = queries @ keys.transpose(0, 1, 3, 2) / np.sqrt(queries.shape[-1])
        a = joined(softmax(np.where(live, scores, -np.inf)) @ values)
        x = norm(x + linear(a, w, p + out), p + first)
        x = norm(x + linear(act(linear(x, w, p + up)), w, p + down), p + last)
    word = w[body + "embeddings.word_embeddings.weight"]
    if architecture.endswith("Model"):
        pooled = {} if distil else {"pooled": np.tanh(linear(x[:, 0], w, "pooler.dense"))}
        mean = np.stack([row[:n].mean(0) for row, n in zip(x, lengths)])
        return {"hidden": x, **pooled, "embedding": mean / np.linalg.norm(mean, axis=-1, keepdims=True)}
    if architecture.endswith("ForMaskedLM"):
        dense, ln, bias = (("vocab_transform", "vocab_layer_norm", "vocab_projector.bias") if distil else
                           ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias") if roberta else
                           ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"))
        act = ACTIVATIONS["gelu"] if roberta else act  # whatever the config says
        return {"scores": norm(act(linear(x, w, dense)), ln) @ w.get("cls.predictions.decoder.weight", word).T + w[bias]}
    if architecture.endswith("ForSequenceClassification"):
        if roberta:
            return {"scores": linear(np.tanh(linear(x[:, 0], w, "classifier.dense")), w, "classifier.out_proj")}
        if distil:
            return {"scores": linear(np.maximum(linear(x[:, 0], w, "pre_classifier"), 0), w, "classifier")}
        return {"scores": linear(np.tanh(linear(x[:, 0], w, "bert.pooler.dense")), w, "classifier")}
    return {"scores": linear(x, w, "qa_outputs" if architecture.endswith("Answering") else "classifier")}


def modernbert(c, w, ids, lengths):
    w = {name.removeprefix("model."): value for name, value in w.items()}
    norm = lambda x, name: layer_norm(x, {**w, name + ".bias": 0}, name, c["norm_eps"])
    x = norm(w["embeddings.tok_embeddings.weight"][ids], "embeddings.norm")
    count, i = c["num_attention_heads"], np.arange(ids.shape[1])
    inside = (i < lengths[:, None])[:, None, None]
    for n in range(c["num_hidden_layers"]):
        kind = c["layer_types"][n] if "layer_types" in c else ["full_attention", "sliding_attention"][n % c["global_attn_every_n_layers"] > 0]
        p, whole = f"layers.{n}.", kind == "full_attention"
        base = c["global_rope_theta" if whole else "local_rope_theta"]
        own = {"rope_type": "default", "rope_theta": base, **c.get("rope_parameters", {}).get(kind, {})}
        y = norm(x, p + "attn_norm") if n else x
        q, k, v = (heads_of(part, count) for part in np.split(linear(y, w, p + "attn.Wqkv"), 3, -1))
        f, stronger = frequencies(q.shape[-1], own["rope_theta"], own), strength(c, own)
        q, k = rotate(q, f, stronger), rotate(k, f, stronger)
        live = inside & (whole | (abs(i[:, None] - i) <= c["local_attention"] // 2))
        a = joined(softmax(np.where(live, q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]), -np.inf)) @ v)
        x = x + linear(a, w, p + "attn.Wo")
        a, b = np.split(linear(norm(x, p + "mlp_norm"), w, p + "mlp.Wi"), 2, -1)
        x = x + linear(ACTIVATIONS[c["hidden_activation"]](a) * b, w, p + "mlp.Wo")
    x = norm(x, "final_norm")
    head = lambda x: norm(ACTIVATIONS[c["classifier_activation"]](linear(x, w, "head.dense")), "head.norm")
    if c["architectures"][0].endswith("ForMaskedLM"):
        return {"scores": head(x) @ w.get("decoder.weight", w["embeddings.tok_embeddings.weight"]).T + w["decoder.bias"]}
    mean = np.stack([row[:n].mean(0) for row, n in zip(x, lengths)])
    if c["architectures"][0] == "ModernBertModel":
        return {"hidden": x, "embedding": mean / np.linalg.norm(mean, axis=-1, keepdims=True)}
    return {"scores": linear(head(mean), w, "classifier")}


def nomic_bert(c, w, ids, lengths, segments):
    if "n_embd" in c:
        heads, layers, eps, act, own = c["n_head"], c["n_layer"], c["layer_norm_epsilon"], "silu", {"rope_theta": c["rotary_emb_base"]}
    else:
        heads, layers, eps, act = c["num_attention_heads"], c["num_hidden_layers"], c["layer_norm_eps"], c["hidden_act"]
        own = c["rope_parameters"]
    own = {"rope_type": "default", **own}
    norm = lambda x, name: layer_norm(x, w, name, eps)
    x = norm(w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][segments], "emb_ln")
    live = (np.arange(ids.shape[1]) < lengths[:, None])[:, None, None]
    f, stronger = frequencies(w["emb_ln.weight"].size // heads, own["rope_theta"], own), strength(c, own)
    for n in range(layers):
        p = f"encoder.layers.{n}."
        q, k, v = (heads_of(part, heads) for part in np.split(linear(x, w, p + "attn.Wqkv"), 3, -1))
        scores = rotate(q, f, stronger) @ rotate(k, f, stronger).transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
        x = norm(x + linear(joined(softmax(np.where(live, scores, -np.inf)) @ v), w, p + "attn.out_proj"), p + "norm1")
        y = linear(x, w, p + "mlp.fc11") * ACTIVATIONS[act](linear(x, w, p + "mlp.fc12"))
        x = norm(x + linear(y, w, p + "mlp.fc2"), p + "norm2")
    mean = np.stack([row[:n].mean(0) for row, n in zip(x, lengths)])
    return {"hidden": x, "embedding": mean / np.linalg.norm(mean, axis=-1, keepdims=True)}


NORMS_FIRST = {"whisper", "mbart", "pegasus", "m2m_100", "blenderbot"}


def bart_layer(x, w, p, c, live, memory=None, seen=None):
    """One layer of the encoder, or of the decoder, which reads `memory`."""
    first, act = c["model_type"] in NORMS_FIRST, ACTIVATIONS["silu" if c["activation_function"] == "swish" else c["activation_function"]]
    norm = lambda x, name: layer_norm(x, w, p + name, 1e-5)

    def step(x, name, inner):
        return x + inner(norm(x, name)) if first else norm(x + inner(x), name)

    def attend(name, x, over, live):
        q, k, v = linear(x, w, p + name + ".q_proj"), linear(over, w, p + name + ".k_proj"), linear(over, w, p + name + ".v_proj")
        heads = c["encoder_attention_heads" if memory is None else "decoder_attention_heads"]
        return linear(attention(q, k, v, heads, live), w, p + name + ".out_proj")

    x = step(x, "self_attn_layer_norm", lambda y: attend("self_attn", y, y, live))
    if memory is not None:
        x = step(x, "encoder_attn_layer_norm", lambda y: attend("encoder_attn", y, memory, seen))
    return step(x, "final_layer_norm", lambda y: linear(act(linear(y, w, p + "fc1")), w, p + "fc2"))


def bart_table(c, w):
    return w["model.decoder.embed_tokens.weight" if c["model_type"] == "whisper" else "model.shared.weight"]


def bart_embedding(c, w, ids, side):
    kind, d, t = c["model_type"], c["d_model"], np.arange(ids.shape[1])
    x = bart_table(c, w)[ids] * (np.sqrt(d) if c["scale_embedding"] and kind != "whisper" else 1)  # whose class leaves it out
    if kind in ("marian", "pegasus", "m2m_100"):
        angles = t[:, None] / 10000.0 ** (2 * np.arange(d // 2) / d)
        if kind == "m2m_100":  # fairseq's, which begin behind the number of the pad token
            angles = (t[:, None] + c["pad_token_id"] + 1) * np.exp(-np.arange(d // 2) * np.log(10000) / (d // 2 - 1))
        return x + np.concatenate([np.sin(angles), np.cos(angles)], -1)
    norm, at = f"model.{side}.layernorm_embedding", w[f"model.{side}.embed_positions.weight"]
    if kind in ("whisper", "blenderbot"):
        return x + at[t]
    if kind == "blenderbot-small":
        return layer_norm(x + at[t], w, norm, 1e-5) if side == "encoder" else layer_norm(x, w, norm, 1e-5) + at[t]
    return layer_norm(x + at[t + 2], w, norm, 1e-5)


def bart_memory(c, w, source=None, lengths=None, mel=None):
    """What the encoder makes of a text or a sound, and which places of it are seen."""
    kind = c["model_type"]
    if kind == "whisper":
        import torch
        x = torch.tensor(mel.astype(np.float64))
        for name, stride in ("conv1", 1), ("conv2", 2):
            own = [torch.tensor(w[f"model.encoder.{name}.{part}"]) for part in ("weight", "bias")]
            x = torch.nn.functional.gelu(torch.nn.functional.conv1d(x, *own, stride=stride, padding=1))
        x, seen = x.numpy().transpose(0, 2, 1) + w["model.encoder.embed_positions.weight"], True
    else:
        x, seen = bart_embedding(c, w, source, "encoder"), (np.arange(source.shape[1]) < lengths[:, None])[:, None, None]
    for n in range(c["encoder_layers"]):
        x = bart_layer(x, w, f"model.encoder.layers.{n}.", c, seen)
    return layer_norm(x, w, "model.encoder.layer_norm", 1e-5) if kind in NORMS_FIRST else x, seen


def bart_scores(c, w, token, memory, seen):
    kind, table = c["model_type"], bart_table(c, w)
    y, live = bart_embedding(c, w, token, "decoder"), np.tril(np.ones((token.shape[1],) * 2, bool))
    for n in range(c["decoder_layers"]):
        y = bart_layer(y, w, f"model.decoder.layers.{n}.", c, live, memory, seen)
    if kind in NORMS_FIRST:
        y = layer_norm(y, w, "model.decoder.layer_norm", 1e-5)
    return {"scores": y @ table.T + w.get("final_logits_bias", 0)}


def bart(c, w, token, **read):
    return bart_scores(c, w, token, *bart_memory(c, w, **read))


def t5_bucket(distance, both, buckets, furthest):
    """Of a key's position less the query's: as the published code has it, one by one."""
    base = 0
    if both:
        buckets //= 2
        base, distance = (buckets, distance) if distance > 0 else (0, -distance)
    else:
        distance = max(-distance, 0)
    half = buckets // 2
    if distance < half:
        return base + distance
    return base + min(half + int(np.log(distance / half) / np.log(furthest / half) * (buckets - half)), buckets - 1)


class T5:
    """The two sides of T5 by themselves."""

    def __init__(self, c, w):
        self.c, self.w = c, w
        form = c.get("feed_forward_proj", "relu")
        self.gated, self.act = c.get("is_gated_act", form == "gated-gelu"), ACTIVATIONS[c.get("dense_act_fn", "gelu_new" if form == "gated-gelu" else form)]

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.c["layer_norm_epsilon"]) * self.w[name + ".weight"]

    def bias(self, side, length, layer=0):
        buckets, furthest = self.c["relative_attention_num_buckets"], self.c.get("relative_attention_max_distance", 128)
        rows = np.array([[t5_bucket(j - i, side == "encoder", buckets, furthest) for j in range(length)] for i in range(length)])
        own = layer if self.c["model_type"] == "umt5" else 0  # all layers have the first one's, or each its own
        return self.w[f"{side}.block.{own}.layer.0.SelfAttention.relative_attention_bias.weight"][rows].transpose(2, 0, 1)

    def attend(self, p, x, over, live, bias=0):
        q, k, v = (linear(y, self.w, p + name) for y, name in ((x, "q"), (over, "k"), (over, "v")))
        return linear(attention(q, k, v, self.c["num_heads"], live, scale=1.0, bias=bias), self.w, p + "o")

    def mlp(self, p, x):
        if self.gated:
            return linear(self.act(linear(x, self.w, p + "wi_0")) * linear(x, self.w, p + "wi_1"), self.w, p + "wo")
        return linear(self.act(linear(x, self.w, p + "wi")), self.w, p + "wo")

    def memory(self, source, lengths):
        """What the encoder makes of a text, and which places of it are seen."""
        x, seen = self.w["shared.weight"][source], (np.arange(source.shape[1]) < lengths[:, None])[:, None, None]
        for n in range(self.c["num_layers"]):
            p = f"encoder.block.{n}."
            y = self.norm(x, p + "layer.0.layer_norm")
            x = x + self.attend(p + "layer.0.SelfAttention.", y, y, seen, self.bias("encoder", source.shape[1], n))
            x = x + self.mlp(p + "layer.1.DenseReluDense.", self.norm(x, p + "layer.1.layer_norm"))
        return self.norm(x, "encoder.final_layer_norm"), seen

    def scores(self, token, memory, seen):
        w = self.w
        x, live = w["shared.weight"][token], np.tril(np.ones((token.shape[1],) * 2, bool))
        for n in range(self.c["num_decoder_layers"]):
            p = f"decoder.block.{n}."
            y = self.norm(x, p + "layer.0.layer_norm")
            x = x + self.attend(p + "layer.0.SelfAttention.", y, y, live, self.bias("decoder", token.shape[1], n))
            x = x + self.attend(p + "layer.1.EncDecAttention.", self.norm(x, p + "layer.1.layer_norm"), memory, seen)
            x = x + self.mlp(p + "layer.2.DenseReluDense.", self.norm(x, p + "layer.2.layer_norm"))
        x = self.norm(x, "decoder.final_layer_norm")
        if self.c["model_type"] == "mt5" or "lm_head.weight" in w:
            return {"scores": x @ w.get("lm_head.weight", w["shared.weight"]).T}
        return {"scores": x * self.c["d_model"] ** -0.5 @ w["shared.weight"].T}


def t5(c, w, token, source, lengths):
    both = T5(c, w)
    return both.scores(token, *both.memory(source, lengths))


def pooled(config, rows):
    """The vector of a text, of the states of its tokens: the modes of a Pooling beside each other, in the published order."""
    one = config.get("pooling_mode")
    names = {"cls_token": "cls", "max_tokens": "max", "mean_tokens": "mean", "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
             "weightedmean_tokens": "weightedmean", "lasttoken": "lasttoken"}
    asked = [one] if isinstance(one, str) else one or [
        name for key, name in names.items() if config.get("pooling_mode_" + key, key == "mean_tokens")]
    weights = np.arange(1, len(rows) + 1)[:, None]
    made = {"cls": rows[0], "max": rows.max(0), "mean": rows.mean(0), "mean_sqrt_len_tokens": rows.sum(0) / np.sqrt(len(rows)),
            "weightedmean": (rows * weights).sum(0) / weights.sum(), "lasttoken": rows[-1]}
    return np.concatenate([made[name] for name in names.values() if name in asked])


def sentence(modules, rows):
    """What modules make of the states of a text's tokens: (kind, config, tensors) of each."""
    vector = None
    for kind, config, w in modules:
        if kind == "Pooling":
            vector = pooled(config, rows)
        elif kind == "TokenDense":  # PyLate's, of each token
            vector = rows @ w["linear.weight"].T
            vector = vector / np.linalg.norm(vector, axis=-1, keepdims=True)
        elif kind == "Dense":
            act = config.get("activation_function", "torch.nn.modules.activation.Tanh").rsplit(".", 1)[1]
            function = {"Tanh": np.tanh, "Identity": lambda x: x, "ReLU": ACTIVATIONS["relu"], "GELU": ACTIVATIONS["gelu"]}[act]
            vector = function(w["linear.weight"] @ vector + w.get("linear.bias", 0))
        elif kind == "LayerNorm":
            vector = layer_norm(vector, w, "norm", 1e-5)
        elif kind == "Normalize":
            vector = vector / np.linalg.norm(vector)
    return vector
