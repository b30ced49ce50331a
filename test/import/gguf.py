#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files: each format of blocks is read exactly as it is defined; models are imported, checked, run, and compared with NumPy in double
precision, which computes what Hugging Face's model of the family does with the same weights.

usage: gguf.py FOLDER [FAMILY...]"""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from decoders import FACTS, decoder, decoder_shapes, is_dense
from gguf_file import FORMATS, draw, write_gguf
from gguf_gpts import GPTS, gpt_twin, write_gpt
from gguf_hybrids import MODELS as HYBRIDS, turned_twin, write_turned
from gguf_latent import LATENT_NAMES, latent_models, latent_values, maps_apart
from gguf_learnt import WORDS, learnt_twin, write_learnt
from hybrid_steps import compare_steps
from make import FAMILIES, NOMIC, llama
from measured import measured
from program import call, run
from shapes import llama_shapes
from text_models import llama as llama_twin, sentence

BOUND = 1e-5
ROUNDED = 4e-2  # rows become bytes


def check_blocks(folder):
    """Each format, with many scales and all codes, by rows of a table, which begin within what is read together."""
    rng, rows, columns = np.random.default_rng(11), 300, 512
    tables = {name: draw(rng, name, (rows, columns)) for name in FORMATS}
    path, spec = os.path.join(folder, "blocks.gguf"), os.path.join(folder, "blocks.attn")
    write_gguf(path, {"general.architecture": "tables"}, {f"{name}.weight": (name, (rows, columns), data) for name, (data, _) in tables.items()})
    with open(spec, "w") as file:
        file.write(f"attn 1\nmodel Tables {{\n  dim V = {rows}, D = {columns}\n  dyn N <= {rows}\n  embedding {', '.join(FORMATS)}: V -> D\n"
                   f"  entry rows(ids: i32[N]) -> {', '.join(f'of_{name}: [N, D]' for name in FORMATS)} {{\n"
                   f"    return {', '.join(f'{name}(ids)' for name in FORMATS)}\n  }}\n}}\n")
    ids = rng.permutation(rows).astype(np.int32)
    found = run(["attn", "run", spec, "--weights", path], folder, {"ids": ids}, [f"of_{name}" for name in FORMATS])
    for (name, (_, wanted)), got in zip(tables.items(), found):
        assert np.array_equal(got, wanted[ids], equal_nan=True), name
    print(f"{rows * columns} elements each of {', '.join(FORMATS)} are exactly what the formats define")


def small(model_type, architecture, **more):
    config = llama(model_type, architecture, **more)
    config.update(hidden_size=256, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, intermediate_size=512)
    return config


ROPE = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)
PAIRS = 24  # of a head of 64 features, three quarters of which turn
LONGROPE = dict(rope_type="longrope", short_factor=[1.0] * 10 + [1.05 + 0.1 * i for i in range(PAIRS - 10)],
                long_factor=[1 + 0.37 * i for i in range(PAIRS)])
GPT2 = {**FAMILIES["gpt2"][0], "n_embd": 256, "n_head": 4}
BERT = {**FAMILIES["bert"][0], "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512}
GEMMA = dict(head_dim=128, hidden_activation="gelu_pytorch_tanh", rope_theta=10000.0)
MODELS = {
    "llama": ("llama", small("llama", "LlamaForCausalLM", rope_theta=10000.0, tie_word_embeddings=False)),
    "llama3": ("llama", small("llama", "LlamaForCausalLM", rope_theta=500000.0, rope_scaling=ROPE, tie_word_embeddings=True)),
    "qwen2": ("qwen2", small("qwen2", "Qwen2ForCausalLM", rope_theta=1000000.0, tie_word_embeddings=True)),
    "qwen3": ("qwen3", small("qwen3", "Qwen3ForCausalLM", rope_theta=1000000.0, head_dim=128, tie_word_embeddings=True)),
    "qwen3-yarn": ("qwen3", small("qwen3", "Qwen3ForCausalLM", rope_theta=10000.0, head_dim=128, tie_word_embeddings=True, rope_scaling=dict(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=32))),
    "qwen3-embedding": ("qwen3", small("qwen3", "Qwen3ForCausalLM", rope_theta=1000000.0, head_dim=128, tie_word_embeddings=True, pooling=3)),
    "llama-both-ways": ("llama", small("llama", "LlamaForCausalLM", rope_theta=10000.0, tie_word_embeddings=True, pooling=1, is_causal=False)),
    "gemma": ("gemma", small("gemma", "GemmaForCausalLM", **GEMMA)),
    "gemma2": ("gemma2", small("gemma2", "Gemma2ForCausalLM", sliding_window=6, query_pre_attn_scalar=128, attn_logit_softcapping=5.0,
                               final_logit_softcapping=3.0, **GEMMA)),
    "gemma3": ("gemma3", small("gemma3_text", "Gemma3ForCausalLM", sliding_window=6, sliding_window_pattern=6, query_pre_attn_scalar=128,
                               rope_local_base_freq=10000.0, rope_scaling=dict(rope_type="linear", factor=8.0), **GEMMA)),
    "phi3": ("phi3", small("phi3", "Phi3ForCausalLM", rope_theta=10000.0, rope_scaling=None, partial_rotary_factor=0.75,
                           tie_word_embeddings=False)),
    "phi3-longrope": ("phi3", {**small("phi3", "Phi3ForCausalLM", rope_theta=10000.0, rope_scaling=LONGROPE, partial_rotary_factor=0.75,
                                       tie_word_embeddings=True, sliding_window=4096), "max_position_embeddings": 128,
                               "original_max_position_embeddings": 32}),
    "mixtral": ("llama", small("mixtral", "MixtralForCausalLM", rope_theta=1000000.0, num_local_experts=3, num_experts_per_tok=2,
                               tie_word_embeddings=False)),
    "qwen3-moe": ("qwen3moe", {**small("qwen3_moe", "Qwen3MoeForCausalLM", rope_theta=1000000.0, head_dim=128, num_experts=4,
                                       num_experts_per_tok=2, norm_topk_prob=True, tie_word_embeddings=False), "moe_intermediate_size": 256}),
    "gpt-oss": ("gpt-oss", {**FAMILIES["gpt-oss"][0], "hidden_size": 256, "num_attention_heads": 4, "head_dim": 64, "intermediate_size": 256,
                            "num_hidden_layers": 2, "num_local_experts": 3, "num_experts_per_tok": 2, "swiglu_limit": 7.0, "rope_scaling": dict(
                                rope_type="yarn", factor=32.0, original_max_position_embeddings=4096, truncate=False)}),
    "gpt2": ("gpt2", {**GPT2, "tie_word_embeddings": False}),  # older files have the last map beside the embedding
    "gpt2-tied": ("gpt2", GPT2),
    "bert": ("bert", BERT),
    "bert-mean": ("bert", {**BERT, "pooling": 1}),
    "bert-first": ("bert", {**BERT, "pooling": 2}),
    "roberta": ("bert", {**BERT, "type_vocab_size": 1}),  # as llama.cpp's converter writes it: BERT, whose positions begin at 0
    "reranker": ("bert", {**BERT, "type_vocab_size": 1, "pooling": 4, "squeezed": True}),  # one row is a vector, as older files have it
    "nomic-bert": ("nomic-bert", {**NOMIC, "n_embd": 256, "n_head": 4, "n_inner": 512, "pooling": 1}),
    "distilbert": ("bert", {**BERT, "type_vocab_size": 0}),
}


def relative(family, **more):
    """A relative of Llama, of the sizes that blocks need."""
    config = {**FAMILIES[family][0], "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 4,
              "intermediate_size": 512, **more}
    return {**config, **({"head_dim": 64} if "head_dim" in config else {})}


# By the architecture of llama.cpp, whose names and values those of its converter are.
MODELS.update({f"gguf-{architecture}": (architecture, config) for architecture, config in {
    "smollm3": relative("smollm3", no_rope_layers=[1, 1, 1, 0]),
    "olmo": relative("olmo"),
    "olmo2": relative("olmo2"),
    "granite": relative("granite"),
    "minicpm": relative("granite", attention_multiplier=0.125),
    "seed_oss": relative("seed-oss"),
    "exaone": small("llama", "ExaoneForCausalLM", rope_theta=10000.0, tie_word_embeddings=True),
    "exaone4": relative("exaone4", layer_types=["sliding_attention"] * 3 + ["full_attention"]),
    "ernie4_5": relative("ernie4-5"),
    "hunyuan-dense": relative("hunyuan"),
    "glm4": relative("glm4"),
    "mistral3": relative("ministral3"),
    "internlm2": small("llama", "InternLM2ForCausalLM", rope_theta=10000.0, tie_word_embeddings=False),
    "xverse": small("llama", "XverseForCausalLM", rope_theta=10000.0, tie_word_embeddings=False),
    "arcee": relative("arcee"),
    "nemotron": relative("nemotron"),
    "starcoder2": relative("starcoder2", sliding_window=None),
    "stablelm": relative("stablelm"),
    "orion": relative("stablelm", use_qkv_bias=False, partial_rotary_factor=1),
    "baichuan": small("llama", "BaichuanForCausalLM", rope_theta=10000.0, tie_word_embeddings=False),
    "olmoe": relative("olmoe"),
    "granitemoe": relative("granite-moe-shared", intermediate_size=256, shared_intermediate_size=512),
    "qwen2moe": relative("qwen2-moe", moe_intermediate_size=256, shared_expert_intermediate_size=512, use_sliding_window=False),
    "hunyuan-moe": relative("hunyuan-moe"),
    "minimax-m2": relative("minimax-m2"),
    "phi2": relative("phi"),
    "command-r": relative("cohere"),
    "cohere2": relative("cohere2", sliding_window_pattern=4),
}.items()})
MODELS.update({f"gguf-{architecture}": (architecture, config) for architecture, config in {
    "qwen2vl": small("qwen2", "Qwen2ForCausalLM", rope_theta=1000000.0, tie_word_embeddings=False),
    "qwen3vl": small("qwen3", "Qwen3ForCausalLM", rope_theta=1000000.0, head_dim=128, tie_word_embeddings=True),
    "qwen3vlmoe": {**small("qwen3_moe", "Qwen3MoeForCausalLM", rope_theta=1000000.0, head_dim=128, num_experts=4, num_experts_per_tok=2,
                           norm_topk_prob=True, tie_word_embeddings=False), "moe_intermediate_size": 256},
    "jais2": relative("jais2"),
    "bitnet": relative("bitnet"),
    "maincoder": relative("hunyuan", rope_scaling=None),
    "pangu-embedded": small("llama", "PanguEmbeddedForCausalLM", rope_theta=10000.0, tie_word_embeddings=True, attention_bias=True),
    "exaone-moe": relative("exaone-moe", intermediate_size=512, moe_intermediate_size=256, n_group=1, topk_group=1, mlp_layer_types=None, first_k_dense_replace=1,
                           layer_types=["sliding_attention"] * 3 + ["full_attention"]),
    "phimoe": relative("phimoe", intermediate_size=256, router_jitter_noise=0.01),  # which files do not say
    "eurobert": small("llama", "EuroBertModel", rope_theta=10000.0, tie_word_embeddings=True, pooling=1, is_causal=False),
    "llama-embed": small("llama", "LlamaModel", rope_theta=10000.0, tie_word_embeddings=True, pooling=1, is_causal=False),
}.items()})
MODELS["gguf-olmo3"] = "olmo2", relative("olmo3", layer_types=["sliding_attention"] * 3 + ["full_attention"], rope_scaling=dict(
    rope_type="yarn", factor=4.0, original_max_position_embeddings=16))
MODELS["gguf-stablelm-parallel"] = "stablelm", relative("stablelm-parallel")
MODELS.update(GPTS)
MODELS.update(HYBRIDS)
MODELS.update(latent_models(relative))
# Of whose queries and keys llama.cpp's converter puts the halves side by side, and to whose norms it adds 1.
SIDE_BY_SIDE = {"llama", "smollm3", "olmo", "granite", "minicpm", "mistral3", "internlm2", "xverse", "arcee", "baichuan", "granitemoe", "llama-embed"}
PLUS_ONE = {"gemma", "gemma2", "gemma3", "nemotron"}
POST = {"post_attention_layernorm": "post_attention_norm"}
OWN_NAMES = {"olmo2": {**POST, "post_feedforward_layernorm": "post_ffw_norm"}, "exaone4": {**POST, "post_feedforward_layernorm": "post_ffw_norm"},
             "seed_oss": POST, "gpt-oss": POST, "glm4moe": POST, "starcoder2": {"mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"},
             "glm4": {"post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm"},
             "hunyuan-dense": {"self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm"},
             "maincoder": {"self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm"},
             "bitnet": {"self_attn.attn_sub_norm": "attn_sub_norm", "mlp.ffn_sub_norm": "ffn_sub_norm"},
             "hunyuan-moe": {"self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm"},
             "phi2": {"model.final_layernorm": "output_norm", "self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"}}
RELATIVE_KEYS = {"clip_qkv": "attention.clamp_kqv", "logit_scale": "logit_scale", "logits_scaling": "logit_scale",
                 "embedding_multiplier": "embedding_scale", "residual_multiplier": "residual_scale", "attention_multiplier": "attention.scale",
                 "use_parallel_residual": "use_parallel_residual"}
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         **LATENT_NAMES, "block_sparse_moe.router.layer": "ffn_gate_inp", "shared_mlp.output_linear": "ffn_down_shexp",
         "mlp.gate.wg": "ffn_gate_inp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
         **{f"mlp.{own}.{map_}_proj": f"ffn_{map_}_shexp" for own in ("shared_expert", "shared_mlp") for map_ in ("gate", "up", "down")},
         "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "block_sparse_moe.gate": "ffn_gate_inp", "mlp.gate": "ffn_gate_inp", "mlp.router": "ffn_gate_inp"}
FOUR = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
        "post_feedforward_layernorm": "post_ffw_norm"}


def name_of(name, has_four, own):
    path, kind = name.rsplit(".", 1)
    layer = ""
    if path.startswith("model.layers."):
        _, _, n, path = path.split(".", 3)
        layer = f"blk.{n}."
    return layer + {**NAMES, **(FOUR if has_four else {}), **own}[path] + "." + kind


def count_of(c):
    return next((c[key] for key in ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts") if key in c), None)


def packed_experts(c, rng):
    """Those of a layer as GGUF has them, one tensor for each map, and the weights of Hugging Face's model, by their names."""
    d, f, kinds = c["hidden_size"], c.get("moe_intermediate_size", c["intermediate_size"]), ["MXFP4", "Q8_0", "Q4_K"]
    count, oss = count_of(c), c["model_type"] == "gpt_oss"
    tensors, maps, weights = {}, {}, {}
    for i, (map_, given, taken) in enumerate([("gate", f, d), ("up", f, d), ("down", d, f)]):
        kind = "MXFP4" if oss else kinds[i]
        data, value = draw(rng, kind, (count, given, taken), spread=1 / np.sqrt(taken))
        tensors[f"ffn_{map_}_exps.weight"], maps[map_] = (kind, (count, given, taken), data), value.astype(np.float64)
        if oss:
            tensors[f"ffn_{map_}_exps.bias"] = bias = rng.standard_normal((count, given)).astype(np.float32) * np.float32(0.1)
            maps[map_ + "_bias"] = bias.astype(np.float64)
    if oss:
        turns = lambda a, b: np.stack([a, b], -1).reshape(*a.shape[:-1], -1)
        return tensors, {"mlp.experts.gate_up_proj": turns(maps["gate"].transpose(0, 2, 1), maps["up"].transpose(0, 2, 1)),
                         "mlp.experts.gate_up_proj_bias": turns(maps["gate_bias"], maps["up_bias"]),
                         "mlp.experts.down_proj": maps["down"].transpose(0, 2, 1), "mlp.experts.down_proj_bias": maps["down_bias"]}
    if c["model_type"].startswith("granitemoe"):
        return tensors, {"block_sparse_moe.input_linear.weight": np.concatenate([maps["gate"], maps["up"]], 1),
                         "block_sparse_moe.output_linear.weight": maps["down"]}
    mixtral = c["model_type"] in ("mixtral", "minimax_m2", "phimoe")
    for map_, theirs in [("gate", "w1"), ("up", "w3"), ("down", "w2")]:
        for e in range(count):
            weights[f"block_sparse_moe.experts.{e}.{theirs}.weight" if mixtral else f"mlp.experts.{e}.{map_}_proj.weight"] = maps[map_][e]
    return tensors, weights


def values_of(architecture, c):
    e = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    p = architecture + "."
    values = {"general.architecture": architecture, p + "embedding_length": c["hidden_size"], p + "block_count": c["num_hidden_layers"],
              p + "feed_forward_length": c["intermediate_size"], p + "attention.head_count": c["num_attention_heads"],
              p + "attention.head_count_kv": c["num_key_value_heads"], p + "context_length": c["max_position_embeddings"],
              p + ("attention.layer_norm_rms_epsilon" if "rms_norm_eps" in c else "attention.layer_norm_epsilon"):
                  c.get("rms_norm_eps") or next((c[key] for key in ("norm_eps", "norm_epsilon", "layer_norm_eps") if key in c), 1e-5),
              p + "rope.freq_base": c.get("rope_theta", 10000.0),
              p + "rope.dimension_count": int(e * c.get("partial_rotary_factor", 1)), "tokenizer.ggml.tokens": ["a"] * c["vocab_size"],
              "tokenizer.ggml.eos_token_id": 3}
    values.update({p + theirs: c[key] for key, theirs in RELATIVE_KEYS.items() if c.get(key) is not None})
    if architecture == "bitnet":
        values[p + "hidden_activation"] = c["hidden_act"]
    if architecture in ("qwen2vl", "qwen3vl", "qwen3vlmoe"):
        values[p + "rope.dimension_sections"] = [16, 24, 24, 0]
    if architecture in ("qwen3vl", "qwen3vlmoe"):
        values[p + "n_deepstack_layers"] = 3
    if architecture == "minicpm":
        del values[p + "attention.scale"]
    if architecture == "mistral3":
        r = c["rope_parameters"]
        values.update({p + "rope.freq_base": r["rope_theta"], p + "attention.temperature_scale": r["llama_4_scaling_beta"],
                       p + "rope.scaling.type": "yarn", p + "rope.scaling.factor": r["factor"], p + "rope.scaling.yarn_log_multiplier": 1.0,
                       p + "rope.scaling.original_context_length": r["original_max_position_embeddings"],
                       p + "rope.scaling.yarn_beta_fast": r["beta_fast"], p + "rope.scaling.yarn_beta_slow": r["beta_slow"]})
    if (alpha := (c.get("rope_scaling") or {}).get("alpha")) is not None:  # which makes the base another
        values[p + "rope.freq_base"] *= alpha ** (e / (e - 2))
    if count_of(c):
        values.update({p + "expert_count": count_of(c),
                       p + "expert_used_count": c.get("num_experts_per_tok") or c.get("moe_k") or c["moe_topk"][0]})
        if "shared_intermediate_size" in c:
            values[p + "expert_shared_feed_forward_length"] = c["shared_intermediate_size"]
        if "shared_expert_intermediate_size" in c:
            values[p + "expert_shared_feed_forward_length"] = c["shared_expert_intermediate_size"]
        if c["model_type"] == "minimax_m2":
            values[p + "expert_gating_func"] = 2
        if c["model_type"] != "mixtral":
            values[p + "expert_feed_forward_length"] = c.get("moe_intermediate_size", c["intermediate_size"])
    if "head_dim" in c:
        values.update({p + "attention.key_length": e, p + "attention.value_length": e})
    for key, theirs in {"sliding_window": "attention.sliding_window", "attn_logit_softcapping": "attn_logit_softcapping",
                        "final_logit_softcapping": "final_logit_softcapping"}.items():
        if c.get(key):
            values[p + theirs] = c[key]
    values.update({p + key: c[theirs] for key, theirs in {"pooling_type": "pooling", "attention.causal": "is_causal"}.items() if theirs in c})
    if (c.get("rope_scaling") or {}).get("rope_type") == "linear":
        values.update({p + "rope.scaling.type": "linear", p + "rope.scaling.factor": c["rope_scaling"]["factor"]})
    if (c.get("rope_scaling") or {}).get("rope_type") == "yarn":
        values.update({p + "rope.scaling.type": "yarn", p + "rope.scaling.factor": c["rope_scaling"]["factor"],
                       p + "rope.scaling.original_context_length": c["rope_scaling"]["original_max_position_embeddings"]})
    values.update({p + key: value for key, value in latent_values(c).items() if value is not None})
    if (c.get("rope_scaling") or {}).get("rope_type") == "longrope":
        values.update({p + key: value for key, value in longrope(c).items()})
    return values


def longrope(c):
    """LongRoPE's values as llama.cpp's converter writes them; it says no type."""
    longer = np.log(c["max_position_embeddings"] / c["original_max_position_embeddings"])
    return {"rope.scaling.original_context_length": c["original_max_position_embeddings"],
            "rope.scaling.attn_factor": float(np.sqrt(1 + longer / np.log(c["original_max_position_embeddings"])))}


def factors(c):
    """What llama.cpp's converter makes of Llama 3's rule: by what each pair's angles are divided."""
    r, e = c["rope_scaling"], c["hidden_size"] // c["num_attention_heads"]
    low, high = (r["original_max_position_embeddings"] / r[key] for key in ("low_freq_factor", "high_freq_factor"))
    out = []
    for frequency in c["rope_theta"] ** (np.arange(0, e, 2) / e):
        length = 2 * np.pi * frequency
        smooth = (r["original_max_position_embeddings"] / length - r["low_freq_factor"]) / (r["high_freq_factor"] - r["low_freq_factor"])
        out.append(1 if length < high else r["factor"] if length > low else 1 / ((1 - smooth) / r["factor"] + smooth))
    return np.array(out, np.float32)


def write_model(architecture, c, path):
    """The file, and the weights as Hugging Face's model has them."""
    rng = np.random.default_rng(len(architecture))
    four, kinds = c["model_type"] in ("gemma2", "gemma3_text"), list(FORMATS)[:9 if architecture == "llama" else None]
    tensors, weights = {}, {}
    for n in range(c["num_hidden_layers"] if count_of(c) else 0):
        if is_dense(c, n):
            continue
        own, theirs = packed_experts(c, rng)
        tensors.update({f"blk.{n}.{name}": tensor for name, tensor in own.items()})
        weights.update({f"model.layers.{n}.{name}": value for name, value in theirs.items()})
    shapes = decoder_shapes if c["model_type"] in FACTS else llama_shapes
    for i, (name, shape) in enumerate(shapes(c).items()):
        if ".experts." in name or "_linear.weight" in name and len(shape) == 3:
            continue
        if name.endswith(".sinks"):
            value = rng.standard_normal(shape).astype(np.float32)
            tensors[f"blk.{name.split('.')[2]}.attn_sinks.weight"], weights[name] = value, value.astype(np.float64)
            continue
        if name.endswith(".e_score_correction_bias"):
            value = rng.standard_normal(shape[-1:]).astype(np.float32) * 0.2
            tensors[f"blk.{name.split('.')[2]}.exp_probs_b.bias"], weights[name] = value, value.astype(np.float64)
            continue
        if name.endswith("shared_mlp.input_linear.weight"):  # which the converter takes apart
            parts = [draw(rng, "Q8_0", (shape[0] // 2, shape[1]), spread=1 / np.sqrt(shape[1])) for _ in range(2)]
            for part, (data, _) in zip(("gate", "up"), parts):
                tensors[f"blk.{name.split('.')[2]}.ffn_{part}_shexp.weight"] = ("Q8_0", (shape[0] // 2, shape[1]), data)
            weights[name] = np.concatenate([value for _, value in parts]).astype(np.float64)
            continue
        ours = name_of(name, four, OWN_NAMES.get(architecture, {}))
        if len(shape) == 1:
            value = rng.standard_normal(shape).astype(np.float32) * 0.1 + (0 if name.endswith("bias") else 1)
            tensors[ours] = value
            is_added = architecture in PLUS_ONE and name.endswith("norm.weight")
            weights[name] = value.astype(np.float64) - (1 if is_added else 0)
            continue
        if "kv_b_proj" in name and c.get("is_absorbed"):
            value = (rng.standard_normal(shape) / np.sqrt(shape[1])).astype(np.float32)
            tensors.update({ours.replace("attn_kv_b", theirs): part for theirs, part in maps_apart(c, value).items()})
            weights[name] = value.astype(np.float64)
            continue
        data, value = draw(rng, kinds[i % len(kinds)], shape, spread=1 / np.sqrt(shape[1]))
        row = shape[1:] if shape[0] == 1 else shape  # of one row the converter makes a vector
        tensors[ours], value = (kinds[i % len(kinds)], row, data), value.astype(np.float64)
        if architecture in SIDE_BY_SIDE and (".q_proj" in name or ".k_proj" in name):
            heads = c["num_attention_heads" if ".q_proj" in name else "num_key_value_heads"]
            value = value.reshape(heads, -1, 2, shape[1]).swapaxes(1, 2).reshape(shape)
        weights[name] = value
    if (c.get("rope_scaling") or {}).get("rope_type") == "llama3":
        tensors["rope_freqs.weight"] = factors(c)
    if (c.get("rope_scaling") or {}).get("rope_type") == "longrope":
        tensors.update({f"rope_factors_{length}.weight": np.array(c["rope_scaling"][f"{length}_factor"], np.float32)
                        for length in ("short", "long")})
    write_gguf(path, values_of(architecture, c), tensors)
    return weights


def decoder_twin(c, weights, ids):
    """What a decoder gives, or the vectors that are made of it, and what it is given besides ids."""
    if "pooling" not in c:
        return {"scores": (decoder if c["model_type"] in FACTS else llama_twin)(c, weights, ids)["scores"]}, {}
    lengths, mode = np.array([21, 5, 13], np.int32), {1: "mean", 2: "cls", 3: "lasttoken"}[c["pooling"]]
    hidden = llama_twin(c, weights, ids, None if c.get("is_causal", True) else lengths)["hidden"]
    modules = [("Pooling", {"pooling_mode": mode}, {}), ("Normalize", {}, {})]
    return {"embedding": np.stack([sentence(modules, row[:n]) for row, n in zip(hidden, lengths)])}, {"lengths": lengths}


def check_tokens(architecture, path, tokens):
    text, wanted = WORDS[architecture]
    done = subprocess.run(["attn", "tokenize", path, text, "--ids"], capture_output=True, text=True)
    found = [tokens[int(i)] for i in done.stdout.split()]
    assert found == wanted, f"{path}: {found}{done.stderr}"


def check_model(family, folder):
    architecture, config = MODELS[family]
    path, spec = os.path.join(folder, f"{family}.gguf"), os.path.join(folder, f"{family}.attn")
    is_learnt = architecture in WORDS
    tokens = None
    if is_learnt:
        weights, tokens = write_learnt(architecture, config, path)
    elif family in HYBRIDS:
        weights = write_turned(family, architecture, config, path)
    else:
        weights = (write_gpt if family in GPTS else write_model)(architecture, config, path)
    call(["attn", "import", path, "-o", spec])
    call(["attn", "fmt", "--check", spec])
    table = subprocess.run(["attn", "check", spec, "--weights", path], capture_output=True, text=True)
    assert table.returncode == 0 and "tensors of the model are bound" in table.stdout, table.stdout + table.stderr
    ids = np.random.default_rng(5).integers(0, 97, (3, 21), dtype=np.int32)
    wanted, more = (learnt_twin if is_learnt else gpt_twin if family in GPTS else turned_twin if family in HYBRIDS else decoder_twin)(config, weights, ids)
    (name, rows), = wanted.items()
    entry = [flag for own in ("scores", "embed") if f" entry {own}" in open(spec).read() for flag in ("--entry", own)]

    def error(*flags, rows=rows):
        got, = run(["attn", "run", spec, "--weights", path, *entry, *flags], folder, {"ids": ids, **more}, [name])
        if name == "hidden":  # what stands behind a text's end is nobody's business
            got, rows = (np.concatenate([x[b, :n] for b, n in enumerate(more["lengths"])]) for x in (got, rows))
        return np.sqrt(((got - rows) ** 2).sum() / (rows ** 2).sum())

    def check_exact(case, *flags, **other):
        exact = error("--precision=f32", *flags, **other)
        print(f"{case}.gguf: {len(open(spec).readlines())} lines, {name}: relative L2 {exact:.1e}")
        assert exact <= BOUND, f"{case}: {exact}"
        measured(f"{case}.gguf", exact)

    check_exact(family)
    if family in HYBRIDS and name == "scores":
        compare_steps(spec, path, config, weights, folder, beams=1)
    if is_learnt:
        check_tokens(architecture, path, tokens)
    if family == "phi3-longrope":  # where there is room for longer texts
        check_exact(family + "-long", "--set", "C=64", rows=llama_twin({**config, "is_long": True}, weights, ids)["scores"])
    if family == "llama3":  # as the spec says: every map in the precision that its tensor suits
        said = [line.split()[1] for line in open(spec) if line.startswith("  precision")]
        assert set(said) == {"int8_groups", "int4_groups", "int4", "bf16"}, said
        rounded = error()
        print(f"{family}.gguf in {', '.join(said)}: relative L2 {rounded:.1e}")
        assert 1e-4 < rounded <= ROUNDED, rounded


def main():
    folder, *families = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    check_blocks(folder)
    for family in families or MODELS:
        check_model(family, folder)


if __name__ == "__main__":
    main()
