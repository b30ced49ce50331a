# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures whose weights llama.cpp's converter turns, beside giving them other names: the folder's random weights are turned as it does, for
gguf.py, and the imported model is compared with NumPy in double precision, which has the folder's own."""
import re

import numpy as np

from decoders import decoder
from gguf_file import write_gguf
from hybrids import attends, sizes_of
from make import FAMILIES, modernbert, random_weights
from parts import ONE_PART, one_part
from shapes import modernbert_shapes
from text_models import modernbert as modernbert_twin

NORMS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "pre_ff_layernorm": "ffn_norm", "operator_norm": "attn_norm",
         "ffn_norm": "ffn_norm", "norm": "attn_norm"}
MIXER = {"in_proj": "ssm_in", "conv1d": "ssm_conv1d", "x_proj": "ssm_x", "dt_proj": "ssm_dt", "out_proj": "ssm_out", "norm": "ssm_norm",
         "dt_layernorm": "ssm_dt_norm", "b_layernorm": "ssm_b_norm", "c_layernorm": "ssm_c_norm", "in_proj_qkv": "attn_qkv", "in_proj_z": "attn_gate",
         "in_proj_a": "ssm_alpha", "in_proj_b": "ssm_beta", "in_proj_ba": "ssm_ba"}
ATTENTION = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output", "out_proj": "attn_output", "q_norm": "attn_q_norm",
             "k_norm": "attn_k_norm", "q_layernorm": "attn_q_norm", "k_layernorm": "attn_k_norm"}
FED = {"gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down", "w1": "ffn_gate", "w3": "ffn_up", "w2": "ffn_down"}
ROUTED = {"gate": "ffn_gate_inp", "router": "ffn_gate_inp", "router.layer": "ffn_gate_inp", "shared_expert_gate": "ffn_gate_inp_shexp",
          **{f"shared_expert.{map_}_proj": f"ffn_{map_}_shexp" for map_ in ("gate", "up", "down")},
          **{f"shared_experts.{map_}_proj": f"ffn_{map_}_shexp" for map_ in ("gate", "up", "down")}}
MODERN = {"embeddings.tok_embeddings": "token_embd", "embeddings.norm": "token_embd_norm", "final_norm": "output_norm", "attn_norm": "attn_norm",
          "attn.Wqkv": "attn_qkv", "attn.Wo": "attn_output", "mlp_norm": "ffn_norm", "mlp.Wi": "ffn_up", "mlp.Wo": "ffn_down"}
WHOLE = {"model.embed_tokens": "token_embd", "backbone.embeddings": "token_embd", "lm_head": "output", "model.norm": "output_norm",
         "model.final_layernorm": "output_norm", "backbone.norm_f": "output_norm", "model.embedding_norm": "token_embd_norm"}


def side_by_side(value, heads):
    """Halves of a head's rows become neighbours."""
    return value.reshape(heads, 2, -1, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)


def tiled(c, value, features, axis=0):
    """Heads of values that share keys stand apart: the first of each, then the second."""
    n, m = sizes_of(c)[:2]
    value = np.moveaxis(value, axis, 0)
    turned = value.reshape(n, m // n, features, *value.shape[1:]).swapaxes(0, 1).reshape(value.shape)
    return np.ascontiguousarray(np.moveaxis(turned, 0, axis))


def delta_net(c, name, value):
    """The tensors of a delta net, of Qwen 3.5, or of Qwen3-Next, whose packed map is taken apart."""
    n, m, k, v, _ = sizes_of(c)
    if name == "in_proj_qkvz.weight":
        q, key, val, z = np.split(value.reshape(n, -1, value.shape[-1]), np.cumsum([k, k, m // n * v]), 1)
        flat = lambda x: x.reshape(-1, value.shape[-1])
        return {"attn_qkv.weight": np.concatenate([flat(q), flat(key), flat(val)]), "attn_gate.weight": flat(z)}
    if c["model_type"] == "qwen3_next":
        return {}
    if name in ("in_proj_qkv.weight", "conv1d.weight"):
        value = value.reshape(len(value), -1)
        return {f"{MIXER[name[:-7]]}.weight": np.concatenate([value[:2 * n * k], tiled(c, value[2 * n * k:], v)])}
    if name == "in_proj_z.weight":
        return {"attn_gate.weight": tiled(c, value, v)}
    if name in ("in_proj_a.weight", "in_proj_b.weight"):
        return {f"{MIXER[name[:-7]]}.weight": tiled(c, value, 1)}
    if name == "out_proj.weight":
        return {"ssm_out.weight": tiled(c, value, v, 1)}
    if name == "A_log":
        return {"ssm_a": tiled(c, -np.exp(value), 1)}
    return {"ssm_dt.bias": tiled(c, value, 1)} if name == "dt_bias" else {}


def state_space(c, name, value):
    """The tensors of Mamba, of both kinds."""
    is_second = name in ("A_log", "D") and value.ndim == 1 and "time_step_rank" not in c and "mamba_dt_rank" not in c
    if name == "A_log":
        return {"ssm_a": -np.exp(value).reshape(*value.shape, *([1] * is_second))}
    if name == "D":
        return {"ssm_d": value.reshape(*value.shape, *([1] * is_second))}
    if name == "dt_bias":
        return {"ssm_dt.bias": value}
    if name == "conv1d.weight":
        return {"ssm_conv1d.weight": value[:, 0]}
    groups = c.get("mamba_n_groups", c.get("n_groups"))
    if name == "norm.weight" and groups:
        return {"ssm_norm.weight": value.reshape(groups, -1)}
    component, part = name.rsplit(".", 1)
    return {f"{MIXER[component]}.{part}": value}


def turned(architecture, c, path, value):
    """The tensors of a layer that one of the folder becomes, by their names within it."""
    part, _, rest = path.partition(".")
    if part == "linear_attn":
        return delta_net(c, rest, value) or state_space({}, rest, value)
    if part in ("mamba", "mixer") and rest.rsplit(".", 1)[0] in MIXER or rest in ("A_log", "D", "dt_bias"):
        return state_space(c, rest, value)
    if part == "conv":
        return {f"shortconv.{rest}": value[:, 0] if rest == "conv.weight" else value}
    if path == "shared_mlp.input_linear.weight":
        names = [f"ffn_{map_}{'_shexp' if c['num_local_experts'] else ''}.weight" for map_ in ("gate", "up")]
        return dict(zip(names, np.split(value, 2)))
    if path == "shared_mlp.output_linear.weight":
        return {f"ffn_down{'_shexp' if c['num_local_experts'] else ''}.weight": value}
    if path == "block_sparse_moe.input_linear.weight":
        return dict(zip(("ffn_gate_exps.weight", "ffn_up_exps.weight"), np.split(value, 2, 1)))
    if path == "block_sparse_moe.output_linear.weight":
        return {"ffn_down_exps.weight": value}
    if path.endswith(("expert_bias", "e_score_correction_bias")):
        return {"exp_probs_b.bias": value}
    component, kind = path.rsplit(".", 1)
    last = component.split(".", 1)[1] if "." in component else component
    if part == "self_attn" or part == "mixer" and last in ATTENTION:
        if architecture == "granitehybrid" and last in ("q_proj", "k_proj"):
            value = side_by_side(value, c["num_attention_heads" if last == "q_proj" else "num_key_value_heads"])
        return {f"{ATTENTION[last]}.{kind}": value}
    if "." not in component:
        own = {"post_attention_layernorm": "post_attention_norm"} if architecture.startswith("qwen3") else {}
        return {f"{(NORMS | own)[component]}.{kind}": value}
    return {f"{ROUTED.get(last) or FED[last]}.{kind}": value}


def packed(weights):
    """Experts of a layer in one tensor for each map."""
    found, rest = {}, {}
    for name, value in weights.items():
        match = re.fullmatch(r"(.*)\.experts\.(\d+)\.(\w+)\.weight", name)
        if not match or match[3] not in FED:
            rest[name] = value
            continue
        layer = re.match(r"(?:\w+\.)?layers\.(\d+)\.", name)[1]
        found.setdefault(f"blk.{layer}.{FED[match[3]]}_exps.weight", []).append(value)
    return {name: np.stack(values) for name, values in found.items()}, rest


def converted(architecture, c, weights):
    """The folder's weights as the converter writes them."""
    tensors, rest = packed(weights)
    for name, value in rest.items():
        component, part = name.rsplit(".", 1)
        if component in WHOLE:
            tensors[f"{WHOLE[component]}.{part}"] = value
            continue
        _, layer, path = re.match(r"(\w+\.)?layers\.(\d+)\.(.*)", name).groups()
        if path.startswith("feed_forward.experts.0.") or ".experts." in path and c.get("num_experts", 2) == 1:
            path = path.replace("experts.0.", "")
        tensors.update({f"blk.{layer}.{ours}": own for ours, own in turned(architecture, c, path, value).items()})
    if architecture.startswith("qwen3"):  # the norms of which are 1 + weight in the folder
        for name in tensors:
            if name.endswith("norm.weight") and not name.endswith("ssm_norm.weight"):
                tensors[name] = tensors[name] + 1
    if architecture == "falcon-h1":
        fold(c, tensors)
    if architecture == "qwen35":  # two layers that guess tokens ahead
        for n in (4, 5):
            tensors[f"blk.{n}.attn_norm.weight"] = np.ones(c["hidden_size"])
            tensors[f"blk.{n}.nextn.eh_proj.weight"] = np.ones((c["hidden_size"], 2 * c["hidden_size"]))
    return {name: np.ascontiguousarray(value, np.float32) for name, value in tensors.items()}


def fold(c, tensors):
    """The multipliers of Falcon H1 go into its maps."""
    s, h = c["mamba_d_ssm"], c["mamba_n_heads"]
    state = c["mamba_n_groups"] * c["mamba_d_state"]
    rows = np.repeat(c["ssm_multipliers"], [s, s, state, state, h])[:, None] * c["ssm_in_multiplier"]
    into = c["attention_in_multiplier"]
    factors = {"attn_q": into, "attn_k": into * c["key_multiplier"], "attn_v": into, "attn_output": c["attention_out_multiplier"],
               "ffn_gate": c["mlp_multipliers"][0], "ffn_down": c["mlp_multipliers"][1], "ssm_in": rows, "ssm_out": c["ssm_out_multiplier"],
               "output": c["lm_head_multiplier"], "token_embd": c["embedding_multiplier"]}
    for name in tensors:
        if name.endswith(".weight") and (factor := factors.get(name.split(".")[-2])) is not None:
            tensors[name] = tensors[name] * factor


def states_of(c):
    """What is said of Mamba and of delta nets."""
    if "linear_num_key_heads" in c:
        n, m, k, v, taps = sizes_of(c)
        return {"ssm.group_count": n, "ssm.time_step_rank": m, "ssm.state_size": k, "ssm.inner_size": m * v, "ssm.conv_kernel": taps,
                "full_attention_interval": 4}
    said = lambda *keys: next((c[key] for key in keys if key in c), None)
    d, heads = c["hidden_size"], said("mamba_n_heads", "mamba_num_heads", "num_heads")
    rank = said("time_step_rank", "mamba_dt_rank")
    inner = c.get("mamba_d_ssm") or said("expand", "mamba_expand") * d
    values = {"ssm.conv_kernel": said("mamba_d_conv", "conv_kernel"), "ssm.state_size": said("mamba_d_state", "ssm_state_size", "state_size"),
              "ssm.inner_size": inner, "ssm.time_step_rank": heads or (-(-d // 16) if rank == "auto" else rank)}
    if groups := said("mamba_n_groups", "n_groups"):
        values["ssm.group_count"] = groups
    return values


def experts_of(c):
    count = next((c[key] for key in ("num_experts", "num_local_experts", "n_routed_experts") if c.get(key)), 0)
    if not count:
        return {}
    width = c.get("moe_intermediate_size", c["intermediate_size"])
    values = {"expert_count": count, "expert_used_count": c["num_experts_per_tok"]}
    if c["model_type"] != "jamba":
        values["expert_feed_forward_length"] = width
    if c["model_type"] == "lfm2_moe":
        values |= {"leading_dense_block_count": c["num_dense_layers"], "expert_gating_func": 2}
    if shared := c.get("shared_expert_intermediate_size") or c.get("shared_intermediate_size") or c.get("moe_shared_expert_intermediate_size"):
        values["expert_shared_feed_forward_length"] = shared
    if c["model_type"] == "nemotron_h":
        values |= {"expert_weights_norm": c["norm_topk_prob"], "expert_weights_scale": c["routed_scaling_factor"], "expert_group_count": c["n_group"],
                   "expert_shared_count": 1}
    return values


def values_of(architecture, c):
    layers, d, h = c["num_hidden_layers"], c["hidden_size"], c.get("num_attention_heads", 0)
    eps = next(c[key] for key in ("rms_norm_eps", "norm_eps", "layer_norm_epsilon") if key in c)
    values = {"block_count": layers, "embedding_length": d, "context_length": c.get("max_position_embeddings", 64), "attention.head_count": h,
              "attention.layer_norm_rms_epsilon": eps, "feed_forward_length": c.get("intermediate_size", 0), **experts_of(c)}
    values |= {"shortconv.l_cache": c["conv_L_cache"]} if "conv_L_cache" in c else states_of(c)
    if h:
        groups = c["num_key_value_heads"]
        each = c["model_type"] == "falcon_h1" or architecture.startswith("qwen3")
        values["attention.head_count_kv"] = groups if each else [groups if attends(c, n) else 0 for n in range(layers)]
        rope = c.get("rope_parameters") or c
        values["rope.freq_base"] = rope.get("rope_theta", 10000.0)
        if "head_dim" in c:
            values |= {"attention.key_length": c["head_dim"], "attention.value_length": c["head_dim"]}
        if "rope_parameters" in c:
            values["rope.dimension_count"] = int(c["head_dim"] * rope["partial_rotary_factor"])
    if architecture.startswith("qwen35"):
        values["rope.dimension_sections"] = [11, 11, 10, 0]
    if architecture == "qwen35":
        values |= {"block_count": layers + 2, "nextn_predict_layers": 2}
    if architecture == "granitehybrid":
        values |= {"attention.scale": c["attention_multiplier"], "embedding_scale": c["embedding_multiplier"], "residual_scale": c["residual_multiplier"],
                   "logit_scale": c["logits_scaling"], "rope.scaling.finetuned": c.get("position_embedding_type") == "rope"}
    if architecture.startswith("nemotron"):
        pattern = c["hybrid_override_pattern"]
        values["attention.head_count_kv"] = [c["num_key_value_heads"] if letter == "*" else 0 for letter in pattern]
        values["feed_forward_length"] = [c.get("moe_intermediate_size", c["intermediate_size"]) if letter in "-E" else 0 for letter in pattern]
    if c["model_type"] == "falcon_mamba":
        values["ssm.dt_b_c_rms"] = True
    return {"general.architecture": architecture, **{f"{architecture}.{key}": value for key, value in values.items()},
            "tokenizer.ggml.tokens": ["a"] * c["vocab_size"], "tokenizer.ggml.eos_token_id": 3}


NOTHING = dict(time_step_limit=[0.0, float("inf")])
TURNED = {
    "lfm2": ("lfm2", "lfm2", dict(conv_bias=False, block_auto_adjust_ff_dim=False, rope_theta=1000000.0)),
    "lfm2moe": ("lfm2moe", "lfm2-moe", dict(routed_scaling_factor=1.0)),
    "granitehybrid": ("granitehybrid", "granite-hybrid", dict(mamba_n_groups=1)),
    "granitehybrid-dense": ("granitehybrid", "granite-hybrid-dense", dict(mamba_n_groups=1, intermediate_size=56)),
    "falcon-h1": ("falcon-h1", "falcon-h1", NOTHING),
    "nemotron_h": ("nemotron_h", "nemotron-h", dict(time_step_min=0.0)),
    "nemotron_h_moe": ("nemotron_h_moe", "nemotron-3", dict(hybrid_override_pattern="ME*EM", n_group=1, topk_group=1, time_step_min=0.0,
                                                            layers_block_type=None, moe_latent_size=None)),
    "jamba": ("jamba", "jamba", {}),
    "mamba": ("mamba", "mamba", {}),
    "falcon-mamba": ("mamba", "falcon-mamba", dict(mixer_rms_eps=1e-5)),
    "mamba2": ("mamba2", "mamba2", dict(**NOTHING, n_groups=1)),
    "qwen3next": ("qwen3next", "qwen3-next", {}),
    "qwen35": ("qwen35", "qwen3-5", dict(layer_types=["linear_attention"] * 3 + ["full_attention"])),
    "qwen35moe": ("qwen35moe", "qwen3-5-moe", dict(layer_types=["linear_attention"] * 3 + ["full_attention"])),
}
MODELS = {f"gguf-{name}": (architecture, {key: value for key, value in {**FAMILIES[family][0], **more}.items() if value is not None})
          for name, (architecture, family, more) in TURNED.items()}
SHAPES = {f"gguf-{name}": FAMILIES[family][1] for name, (_, family, _) in TURNED.items()}


MODELS["gguf-modern-bert"] = "modern-bert", {**modernbert("ModernBertModel"), "pooling": 1, "hidden_activation": "silu"}
SHAPES["gguf-modern-bert"] = modernbert_shapes


def modern_values(c):
    values = {"block_count": c["num_hidden_layers"], "embedding_length": c["hidden_size"], "feed_forward_length": c["intermediate_size"],
              "context_length": c["max_position_embeddings"], "attention.head_count": c["num_attention_heads"],
              "attention.layer_norm_epsilon": c["norm_eps"], "attention.sliding_window": c["local_attention"],
              "attention.sliding_window_pattern": c["global_attn_every_n_layers"], "attention.causal": False, "pooling_type": c["pooling"],
              "rope.freq_base": c["global_rope_theta"], "rope.freq_base_swa": c["local_rope_theta"], "rope.scaling.type": "none",
              "hidden_activation": c["hidden_activation"]}
    return {"general.architecture": "modern-bert", **{f"modern-bert.{key}": value for key, value in values.items()},
            "tokenizer.ggml.tokens": ["a"] * c["vocab_size"]}


def modern(weights):
    """ModernBERT's tensors, which have other names alone."""
    return {re.sub(r"^(layers\.(\d+)\.)?(.*)\.weight$", lambda found: (f"blk.{found[2]}." if found[2] else "") + MODERN[found[3]] + ".weight", name):
            value for name, value in weights.items()}


def write_turned(name, architecture, c, path):
    """The file, and the weights as Hugging Face's model has them."""
    # A head whose output is nearly 0 in one row is all rounding behind its norm: of eight seeds, Qwen3-Next of the fourth is 3.9e-5 from NumPy, and so is
    # the folder's own form (3.5e-5), where all others are below 1e-5.
    weights = random_weights(SHAPES[name](c), 6)
    if architecture == "modern-bert":
        write_gguf(path, modern_values(c), modern(weights))
    else:
        write_gguf(path, values_of(architecture, c), converted(architecture, c, weights))
    return {key: value.astype(np.float64) for key, value in weights.items()}


def turned_twin(c, weights, ids):
    if c["model_type"] == "modernbert":
        lengths = np.array([21, 5, 13], np.int32)
        return {"embedding": modernbert_twin(c, weights, ids, lengths)["embedding"]}, {"lengths": lengths}
    return {"scores": (one_part if c["model_type"] in ONE_PART else decoder)(c, weights, ids)["scores"]}, {}
