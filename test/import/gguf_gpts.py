# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPT's relatives as llama.cpp's converter writes them, for gguf.py: queries, keys and values one behind the other, whatever their order was."""
import numpy as np

from gguf_file import FORMATS, draw, write_gguf
from gpts import NAMES, gpt, gpt_shapes, key_heads, said
from make import FAMILIES
from shapes import gpt_neox_shapes
from text_models import gpt_neox

WIDE = dict(n_embd=256, n_head=4, n_layer=2)
BERT_LIKE = dict(hidden_size=256, num_attention_heads=4, num_hidden_layers=2)
GPTS = {
    "gguf-starcoder": ("starcoder", {**FAMILIES["starcoder"][0], **WIDE, "n_inner": 512}),
    "gguf-gptneox": ("gptneox", {**FAMILIES["pythia"][0], **BERT_LIKE, "intermediate_size": 512}),
    "gguf-gptneox-serial": ("gptneox", {**FAMILIES["neox-serial"][0], **BERT_LIKE, "intermediate_size": 512, "attention_bias": True}),
    "gguf-bloom": ("bloom", {**FAMILIES["bloom"][0], "n_embed": 256, "hidden_size": 256, "n_head": 4, "tie_word_embeddings": False}),
    "gguf-falcon": ("falcon", {**FAMILIES["falcon-7b"][0], **BERT_LIKE}),
    "gguf-falcon-40b": ("falcon", {**FAMILIES["falcon-40b"][0], **BERT_LIKE}),
    "gguf-falcon-11b": ("falcon", {**FAMILIES["falcon-11b"][0], **BERT_LIKE, "num_kv_heads": 2}),
    "gguf-mpt": ("mpt", {**FAMILIES["mpt"][0], "d_model": 256, "n_heads": 4, "attn_config": dict(clip_qkv=0.8)}),
}
NEOX = ("gpt_neox.", "embed_in", None, "layers", "final_layer_norm", "input_layernorm", "post_attention_layernorm", "attention.query_key_value",
        "attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h")


def in_file(c):
    """What each component of a name is called in a file."""
    p, tokens, places, _, last, first, second, maps, out, up, down = NAMES.get(c["model_type"], NEOX)
    return {p + tokens: "token_embd", p + f"{tokens}_layernorm": "token_embd_norm", p + str(places): "position_embd", p + str(last): "output_norm",
            first: "attn_norm", second: "ffn_norm", maps: "attn_qkv", out: "attn_output", up: "ffn_up", down: "ffn_down", "lm_head": "output",
            "embed_out": "output", "ln_attn": "attn_norm_2", "ln_mlp": "attn_norm"}


def one_behind_the_other(c, value):
    """Rows of a packed map as a file has them."""
    if c["model_type"] in ("mpt", "gpt_bigcode"):
        return value
    heads = said(c, "heads")
    groups = key_heads(c, heads)
    e = len(value) // (heads + 2 * groups)
    parts = value.reshape(groups, heads // groups + 2, e, *value.shape[1:])
    return np.concatenate([part.reshape(-1, *value.shape[1:]) for part in (parts[:, :-2], parts[:, -2], parts[:, -1])])


def values_of(architecture, c):
    hidden = said(c, "hidden") or 4 * said(c, "width")
    values = {"embedding_length": said(c, "width"), "block_count": said(c, "layers"), "feed_forward_length": hidden,
              "attention.head_count": said(c, "heads"), "context_length": said(c, "positions") or 2048,
              "attention.layer_norm_epsilon": c.get("layer_norm_epsilon", c.get("layer_norm_eps"))}
    if architecture in ("starcoder", "falcon"):
        values["attention.head_count_kv"] = key_heads(c, said(c, "heads"))
    if architecture == "falcon":
        values["rope.freq_base"] = c["rope_theta"]
    if architecture == "gptneox":
        values.update({"use_parallel_residual": c["use_parallel_residual"], "rope.dimension_count": int(64 * c["rotary_pct"])})
    if architecture == "mpt":
        values.update({"attention.clamp_kqv": c["attn_config"]["clip_qkv"], "attention.max_alibi_bias": 8.0})
    return {"general.architecture": architecture, **{f"{architecture}.{key}": value for key, value in values.items()},
            "tokenizer.ggml.tokens": ["a"] * c["vocab_size"], "tokenizer.ggml.eos_token_id": 3}


def write_gpt(architecture, c, path):
    """The file, and the weights as Hugging Face's model has them."""
    rng, kinds, tensors, weights, names = np.random.default_rng(len(architecture)), list(FORMATS), {}, {}, in_file(c)
    for i, (name, shape) in enumerate((gpt_neox_shapes if architecture == "gptneox" else gpt_shapes)(c).items()):
        component, part = name.rsplit(".", 1)
        words = component.split(".")
        n = next((word for word in words if word.isdigit()), None)
        if n is not None:
            component = component.split(f".{n}.", 1)[1]
        if component not in names or name.endswith((".attention.bias", "masked_bias", "inv_freq")):
            continue  # which the converter leaves out
        ours = ("" if n is None else f"blk.{n}.") + f"{names[component]}.{part}"
        turn = (lambda value: one_behind_the_other(c, value)) if names[component] == "attn_qkv" else (lambda value: value)
        order = turn(np.arange(shape[0]))
        if len(shape) == 1:
            value = rng.standard_normal(shape).astype(np.float32) * np.float32(0.1) + np.float32(part == "weight")
            tensors[ours] = value
        else:
            data, value = draw(rng, kinds[i % len(kinds)], shape, spread=1 / np.sqrt(shape[1]))
            tensors[ours] = (kinds[i % len(kinds)], shape, data)
        back = np.empty_like(value)
        back[order] = value
        weights[name] = back.astype(np.float64)
    write_gguf(path, values_of(architecture, c), tensors)
    return weights


def gpt_twin(c, weights, ids):
    return {"scores": (gpt_neox if c["model_type"] == "gpt_neox" else gpt)(c, weights, ids)["scores"]}, {}
