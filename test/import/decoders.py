# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relatives of Llama: what their papers and their published modelling code say, in NumPy, and the names and shapes of their tensors. FACTS has a
row for each: the norms before attention, behind it, before the mlp and behind that; the norms' kind; what is normed of queries and keys; biases of
queries, keys and values, of the output and of the mlp; the mlp's tensors; which pairs of features turn."""
import numpy as np

from hybrids import attends, is_recurrent, mixer, mixer_shapes
from latent import is_latent, latent_attention, latent_shapes, of_groups
from numpy_layers import ACTIVATIONS, frequencies, heads_of, joined, linear, rotate, sigmoid, softmax, strength
from text_models import experts

ACTIVATIONS["relu2"] = lambda x: np.maximum(x, 0) ** 2
BEFORE = ("input_layernorm", None, "post_attention_layernorm", None)
BEHIND = (None, "post_attention_layernorm", None, "post_feedforward_layernorm")
AROUND = ("input_layernorm", "post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm")
ONE = ("input_layernorm", None, None, None)
GATED, PACKED = ("gate_proj", "up_proj", "down_proj"), ("gate_up_proj", "gate_up_proj", "down_proj")
OF = "attention_bias"
LFM = dict(eps="norm_eps", places=("operator_norm", None, "ffn_norm", None), head_norm="each", head_names=("q_layernorm", "k_layernorm"),
           out="out_proj", last="embedding_norm", module="feed_forward", mlp=("w1", "w3", "w2"))
FED = dict(places=("input_layernorm", None, "pre_ff_layernorm", None), last="final_layernorm", module="feed_forward")
FACTS = {
    "smollm3": dict(biases=(OF, OF, "mlp_bias")),
    "olmo": dict(norm="bare", biases=(OF, OF, False)),
    "olmo2": dict(places=BEHIND, head_norm="all", biases=(OF, OF, False)),
    "olmo3": dict(places=BEHIND, head_norm="all", biases=(OF, OF, False)),
    "granite": dict(biases=(OF, OF, "mlp_bias")),
    "seed_oss": dict(biases=(OF, "attention_out_bias", "mlp_bias")),
    "exaone4": dict(places=BEHIND, head_norm="each"),
    "ernie4_5": dict(biases=("use_bias",) * 3, neighbours=True),
    "hunyuan_v1_dense": dict(head_norm="turned", head_names=("query_layernorm", "key_layernorm"), biases=(OF, OF, False)),
    "glm": dict(mlp=PACKED, neighbours=True, biases=(OF, False, False), part=0.5),
    "glm4": dict(places=AROUND, mlp=PACKED, neighbours=True, biases=(OF, False, False), part=0.5),
    "ministral": {},
    "ministral3": {},
    "helium": dict(neighbours=True, biases=(OF, False, "mlp_bias")),
    "arcee": dict(mlp=(None, "up_proj", "down_proj"), biases=(OF, OF, "mlp_bias")),
    "nemotron": dict(norm="layer+1", eps="norm_eps", mlp=(None, "up_proj", "down_proj"), biases=(OF, OF, "mlp_bias"), part=0.5),
    "starcoder2": dict(norm="layer", eps="norm_epsilon", mlp=(None, "c_fc", "c_proj"), biases=("use_bias",) * 3),
    "stablelm": dict(norm="layer", eps="layer_norm_eps", biases=("use_qkv_bias", False, False), part=0.25),
    "phi": dict(norm="layer", eps="layer_norm_eps", places=ONE, mlp=(None, "fc1", "fc2"), biases=(True,) * 3, part=0.5, head_norm="qk_layernorm",
                head_names=("q_layernorm", "k_layernorm"), out="dense", last="final_layernorm"),
    "olmoe": dict(head_norm="all", biases=(OF, OF, False)),
    "qwen2_moe": dict(biases=("qkv_bias", False, False)),
    "glm4_moe": dict(biases=(OF, False, False), part=0.5, head_norm="use_qk_norm"),
    "qwen3_5_text": dict(norm="rms+1", biases=(OF, OF, False), head_norm="each", part=0.25, gated=True),
    "qwen3_5_moe_text": dict(norm="rms+1", biases=(OF, OF, False), head_norm="each", part=0.25, gated=True),
    "qwen3_next": dict(norm="rms+1", biases=(OF, OF, False), head_norm="each", part=0.25, gated=True),
    "lfm2": LFM,
    "lfm2_moe": LFM,
    "granitemoehybrid": dict(biases=(OF, OF, False)),
    "bamba": dict(biases=(OF, OF, "mlp_bias"), part=0.5, **FED),
    "jamba": FED,
    "minimax": {},
    "falcon_h1": dict(biases=(OF, OF, "mlp_bias"), **FED),
    "apertus": dict(places=("attention_layernorm", None, "feedforward_layernorm", None), head_norm="each", mlp=(None, "up_proj", "down_proj"),
                    biases=(OF, OF, False)),
    "vaultgemma": dict(norm="rms+1", places=("input_layernorm", None, "pre_feedforward_layernorm", None), biases=(OF, OF, False)),
    "cwm": dict(biases=(False, False, "mlp_bias")),
    "nanochat": dict(norm="rms bare", head_norm="turned", mlp=(None, "fc1", "fc2"), biases=(OF, OF, False)),
    "bitnet": dict(biases=(OF, OF, False)),
    "jais2": dict(norm="layer", eps="layer_norm_eps", mlp=(None, "up_proj", "down_proj"), biases=(OF, OF, "mlp_bias")),
    "flex_olmo": dict(places=BEHIND, head_norm="all", biases=(OF, OF, False)),
    "hunyuan_v1_moe": dict(head_norm="turned", head_names=("query_layernorm", "key_layernorm"), biases=(OF, OF, False)),
    "minimax_m2": dict(head_norm="all"),
    "mellum": dict(head_norm="each", biases=(OF, OF, False)),
    "granitemoe": dict(biases=(OF, OF, False)),
    "granitemoeshared": dict(biases=(OF, OF, False)),
    "hyperclovax": dict(places=("input_layernorm", "post_norm1", "post_attention_layernorm", "post_norm2"), biases=(OF, OF, "mlp_bias")),
    "deepseek_v2": dict(biases=(OF, OF, "mlp_bias")),
    **{name: {} for name in ("deepseek_v3", "kimi_k2", "glm4_moe_lite", "youtu", "mistral4")},
    "minicpm3": dict(biases=(OF, OF, "mlp_bias")),
    "phimoe": dict(norm="layer", biases=(OF, OF, False)),
    "dots1": dict(head_norm="each", biases=(OF, OF, False)),
    "solar_open": dict(biases=(OF, False, False)),
    "exaone_moe": dict(head_norm="each"),
    "ernie4_5_moe": dict(biases=("use_bias",) * 3, neighbours=True),
    "cohere": dict(norm="no bias", eps="layer_norm_eps", places=ONE, neighbours=True, biases=(OF, OF, False), head_norm="use_qk_norm"),
    "cohere2": dict(norm="no bias", eps="layer_norm_eps", places=ONE, neighbours=True, biases=(OF, OF, False)),
}


def facts_of(c):
    facts = {"places": BEFORE, "norm": "rms", "eps": "rms_norm_eps", "head_norm": None, "head_names": ("q_norm", "k_norm"),
             "biases": (False,) * 3, "mlp": GATED, "neighbours": False, "gated": False, "out": "o_proj", "last": "norm", "part": 1, "module": "mlp",
             **FACTS[c["model_type"]]}
    facts["biases"] = [bias if isinstance(bias, bool) else c.get(bias, bias == "qkv_bias") for bias in facts["biases"]]
    if facts["head_norm"] in ("qk_layernorm", "use_qk_norm"):
        facts["head_norm"] = {"phi": "each", "cohere": "own", "glm4_moe": "each"}[c["model_type"]] if c.get(facts["head_norm"]) else None
    if c.get("use_parallel_residual"):
        facts["places"] = ONE
    return facts


def sizes_of(c):
    h = c["num_attention_heads"]
    return h, c.get("num_key_value_heads") or h, c.get("head_dim") or c["hidden_size"] // h


def decoder_shapes(c):
    facts, d, f, (h, g, e) = facts_of(c), c["hidden_size"], c.get("intermediate_size"), sizes_of(c)
    shapes = {"model.embed_tokens.weight": (c["vocab_size"], d)}
    if c.get("block_auto_adjust_ff_dim"):
        f = -(-(2 * f // 3) // c["block_multiple_of"]) * c["block_multiple_of"]

    def add(name, out, *taken, bias=False):
        shapes[name + ".weight"] = (out, *taken)
        if bias:
            shapes[name + ".bias"] = (out,)

    def add_norm(name, *size):
        if "bare" not in facts["norm"]:
            shapes[name + ".weight"] = size
        if facts["norm"].startswith("layer"):
            shapes[name + ".bias"] = size

    for n in range(c["num_hidden_layers"]):
        p = f"model.layers.{n}."
        for name in filter(None, facts["places"]):
            add_norm(p + name, d)
        if is_recurrent(c, n):
            shapes |= mixer_shapes(c, p)
        if is_latent(c):
            shapes |= latent_shapes(c, p)
        for name, heads, norm in () if not attends(c, n) or is_latent(c) else (("q", h, facts["head_names"][0]), ("k", g, facts["head_names"][1]), ("v", g, None)):
            add(p + f"self_attn.{name}_proj", heads * e * (2 if facts["gated"] and name == "q" else 1), d, bias=facts["biases"][0])
            if norm and facts["head_norm"]:
                add_norm(p + "self_attn." + norm, *{"all": (heads * e,), "own": (heads, e)}.get(facts["head_norm"], (e,)))
        if attends(c, n) and not is_latent(c):
            add(p + "self_attn." + facts["out"], d, h * e, bias=facts["biases"][1])
        gate, up, down = facts["mlp"]
        if c["model_type"].startswith("granitemoe"):
            count, moe, wide = c["num_local_experts"], p + "block_sparse_moe.", c.get("shared_intermediate_size")
            if count:
                shapes.update({moe + "input_linear.weight": (count, 2 * f, d), moe + "output_linear.weight": (count, d, f)})
                add(moe + "router.layer", count, d)
            if wide:
                add(p + "shared_mlp.input_linear", 2 * wide, d), add(p + "shared_mlp.output_linear", d, wide)
            continue
        if c["model_type"] in SPARSE and not is_dense(c, n):
            moe, router, names = SPARSE[c["model_type"]]
            count = next(c[key] for key in ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts") if key in c)
            wide = f if c["model_type"] in ("hunyuan_v1_moe", "jamba") else c.get("moe_intermediate_size", f)
            several = next((c[key] for key in ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts") if key in c), 1)
            add(f"{p}{moe}.{router}", count, d)
            for own, size in [*((f"experts.{x}", wide) for x in range(count)),
                              *[(SHARED.get(c["model_type"]), wide * several)] * (c["model_type"] in SHARED)]:
                for name, shape in zip(names, ((size, d), (size, d), (d, size))):
                    add(f"{p}{moe}.{own}.{name}", *shape, bias=facts["biases"][2] and not own.startswith("experts"))
            if c["model_type"] in CORRECTED:
                shapes[f"{p}{moe}.{CORRECTED[c['model_type']]}"] = (1, count) if c["model_type"] == "ernie4_5_moe" else (count,)
            continue
        if "num_experts_per_tok" in c and not is_dense(c, n):
            add(p + "mlp.gate", c["num_experts"], d)
            wide = c.get("moe_intermediate_size", f)
            for own, width in [(f"experts.{x}", wide) for x in range(c["num_experts"])] + [
                    ("shared_expert", c.get("shared_expert_intermediate_size"))] * ("shared_expert_intermediate_size" in c):
                for name, *shape in (("gate_proj", width, d), ("up_proj", width, d), ("down_proj", d, width)):
                    add(f"{p}mlp.{own}.{name}", *shape)
            if "shared_expert_intermediate_size" in c:
                add(p + "mlp.shared_expert_gate", 1, d)
            continue
        own = f"{p}{facts['module']}."
        if gate == up:
            add(own + up, 2 * f, d)
        else:
            for name in filter(None, (gate, up)):
                add(own + name, f, d, bias=facts["biases"][2])
        add(own + down, d, f, bias=facts["biases"][2])
        if c["model_type"] == "bitnet":
            add_norm(p + "self_attn.attn_sub_norm", h * e), add_norm(p + "mlp.ffn_sub_norm", f)
        if c["model_type"] == "apertus":
            shapes.update({p + "mlp.act_fn.alpha_p": (1,), p + "mlp.act_fn.alpha_n": (1,)})
    add_norm("model." + facts["last"], d)
    if not c["tie_word_embeddings"]:
        add("lm_head", c["vocab_size"], d, bias=c["model_type"] == "phi" or bool(c.get({"ernie4_5_moe": "use_bias"}.get(c["model_type"], "lm_head_bias"))))
    return shapes


def normed(x, w, name, facts, eps):
    if name is None:
        return x
    if facts["norm"].startswith("rms"):
        y = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
        return y if facts["norm"] == "rms bare" else y * (w[name + ".weight"] + (facts["norm"] == "rms+1"))
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
    if facts["norm"] == "bare":
        return y
    return y * (w[name + ".weight"] + (facts["norm"] == "layer+1")) + w.get(name + ".bias", 0)


def slides(c, n):
    """Whether a layer has a window."""
    if c.get("sliding_window") is None or not c.get("use_sliding_window", True):
        return False
    if "layer_types" in c:
        return c["layer_types"][n] == "sliding_attention"
    return (n + 1) % c["sliding_window_pattern"] != 0 if "sliding_window_pattern" in c else True


def is_turned(c, n):
    if c["model_type"] == "smollm3":
        return c["no_rope_layers"][n] if c.get("no_rope_layers") else (n + 1) % c.get("no_rope_layer_interval", 4) != 0
    if c["model_type"] in ("exaone4", "exaone_moe", "cohere2") and c.get("sliding_window") is not None:
        return slides(c, n)
    return c["model_type"] not in ("cohere2", "jamba") and (c["model_type"] != "granitemoehybrid" or c.get("position_embedding_type") == "rope")


def turned(c, x, own, neighbours, part):
    e, base = x.shape[-1], own["rope_theta"]
    if own.get("alpha"):
        base = base * own["alpha"] ** (e / (e - 2))
    f = frequencies(int(e * part), base, own)
    if c["model_type"] == "nanochat":  # the other way round
        return rotate(x, -f, strength(c, own))
    if not neighbours:
        return rotate(x, f, strength(c, own))
    count = 2 * len(f)  # pairs of neighbours: the even ones, then the odd ones, turn as halves do
    order = np.r_[0:count:2, 1:count:2, count:e]
    back = np.empty_like(x)
    back[..., order] = rotate(x[..., order], f, strength(c, own))
    return back


def attention_of(c, w, p, y, n, facts, eps):
    h, g, e = sizes_of(c)
    own = {"rope_type": "default", "original_max_position_embeddings": c["max_position_embeddings"], "rope_theta": c.get("rope_theta", 10000.0)}
    given = dict(c.get("rope_scaling") or c.get("rope_parameters") or {})
    if "full_attention" in given:
        given = dict(given["sliding_attention" if slides(c, n) else "full_attention"])
    if c["model_type"] == "olmo3" and slides(c, n):  # whose scaling is of layers that see all
        given = {}
    given["rope_type"] = given.pop("type", given.get("rope_type", "default"))
    own.update(given)
    q, k, v = (linear(y, w, p + f"self_attn.{name}_proj") for name in "qkv")
    gate = None
    if facts["gated"]:
        q, gate = (part.reshape(*q.shape[:2], -1) for part in np.split(q.reshape(*q.shape[:2], h, -1), 2, -1))
    names = [p + "self_attn." + name for name in facts["head_names"]]
    both = [q, k]
    if facts["head_norm"] == "all":
        both = [normed(x, w, name, facts, eps) for x, name in zip(both, names)]
    if c.get("clip_qkv"):  # of OLMoE behind the norms
        *both, v = (np.clip(x, -c["clip_qkv"], c["clip_qkv"]) for x in (*both, v))
    both = [heads_of(x, count) for x, count in zip(both, (h, g))]
    if facts["head_norm"] == "each":
        both = [normed(x, w, name, facts, eps) for x, name in zip(both, names)]
    if facts["head_norm"] == "own":
        both = [normed(x, w, None, facts, eps) if name is None else
                normed(x, {"own.weight": w[name + ".weight"][:, None]}, "own", facts, eps) for x, name in zip(both, names)]
    both[1] = both[1] * c.get("key_multiplier", 1)
    if is_turned(c, n):
        part = own.get("partial_rotary_factor", c.get("partial_rotary_factor", facts["part"]))
        both = [turned(c, x, own, facts["neighbours"], part) for x in both]
    if facts["head_norm"] == "turned":
        both = [normed(x, w, name, facts, eps) for x, name in zip(both, names)]
    q, k = both
    i, j = np.arange(y.shape[1])[:, None], np.arange(y.shape[1])
    if c["model_type"] == "ministral3":
        q = q * (1 + own["llama_4_scaling_beta"] * np.log(1 + np.floor(i / own["original_max_position_embeddings"])))
    scores = q @ np.repeat(k, h // g, 1).transpose(0, 1, 3, 2) * c.get("attention_multiplier", c.get("query_pre_attn_scalar", e) ** -0.5)
    if cap := c.get("attn_logit_softcapping"):
        scores = np.tanh(scores / cap) * cap
    near = c["sliding_window"] if slides(c, n) else y.shape[1]
    live = softmax(np.where((j <= i) & (i - j < near), scores, -np.inf))
    a = joined(live @ np.repeat(heads_of(v, g), h // g, 1))
    a = a if gate is None else a * sigmoid(gate)
    if c["model_type"] == "bitnet":
        a = normed(a, w, p + "self_attn.attn_sub_norm", facts, eps)
    return linear(a, w, p + "self_attn." + facts["out"])


def xielu(x, w, name):
    """Huang and Schlag: a parabola on the one side, an exponential on the other, each of a learnt strength."""
    rise, fall = np.log1p(np.exp(w[name + ".alpha_p"])), 0.5 + np.log1p(np.exp(w[name + ".alpha_n"]))
    return 0.5 * x + np.where(x > 0, rise * x * x, fall * (np.expm1(np.minimum(x, -1e-6)) - x))


# Experts with names of their own: what they are called, what scores them, the three maps.
SPARSE = {"hunyuan_v1_moe": ("mlp", "gate.wg", GATED), "minimax_m2": ("block_sparse_moe", "gate", ("w1", "w3", "w2")),
          "glm4_moe": ("mlp", "gate", GATED), "lfm2_moe": ("feed_forward", "gate", ("w1", "w3", "w2")), "jamba": ("feed_forward", "router", GATED),
          "minimax": ("block_sparse_moe", "gate", ("w1", "w3", "w2"))}
CORRECTED = {"minimax_m2": "e_score_correction_bias", "glm4_moe": "gate.e_score_correction_bias", "lfm2_moe": "expert_bias"}
SHARED = {"hunyuan_v1_moe": "shared_mlp", "glm4_moe": "shared_experts"}
# Those that are called as DeepSeek's, and what chances are corrected by; nothing where they are not.
SPARSE["phimoe"] = ("block_sparse_moe", "gate", ("w1", "w3", "w2"))
for _name, _correction in {"deepseek_v2": None, "mistral4": None, "exaone_moe": "e_score_correction_bias",
                           "ernie4_5_moe": "moe_statics.e_score_correction_bias",
                           **dict.fromkeys(("deepseek_v3", "kimi_k2", "glm4_moe_lite", "dots1", "solar_open"), "gate.e_score_correction_bias")}.items():
    SPARSE[_name], SHARED[_name] = ("mlp", "gate", GATED), "shared_experts"
    if _correction:
        CORRECTED[_name] = _correction


def is_dense(c, n):
    """Whether a layer has no experts, of a model whose others have some."""
    if "expert_layer_period" in c:
        return n % c["expert_layer_period"] != c["expert_layer_offset"]
    if "moe_layer_start_index" in c:
        end = c.get("moe_layer_end_index", -1)
        last = end if end >= 0 else c["num_hidden_layers"]
        return not c["moe_layer_start_index"] <= n <= last or (n + 1) % c["moe_layer_interval"] != 0
    if c.get("mlp_layer_types"):
        return c["mlp_layer_types"][n] == "dense"
    return n < c.get("first_k_dense_replace", c.get("num_dense_layers", 0)) or n in c.get("mlp_only_layers", []) or (n + 1) % c.get("decoder_sparse_step", 1) != 0


def sparse(c, w, p, x, act):
    """Chances are a softmax, and the chosen's sum up to 1; or they are sigmoids, and are corrected where experts are chosen."""
    moe, router, (gate, up, down) = SPARSE[c["model_type"]]
    scores = linear(x, w, f"{p}{moe}.{router}")
    correction = CORRECTED.get(c["model_type"])
    chances = sigmoid(scores) if correction and c["model_type"] != "ernie4_5_moe" else softmax(scores)
    count = next(c[key] for key in ("num_experts_per_tok", "moe_k", "moe_topk") if key in c)
    ranked = of_groups(c, chances + np.ravel(w.get(f"{p}{moe}.{correction}", 0)))
    order = np.argsort(-ranked, -1)[..., :np.ravel(count)[0]]
    kept = np.zeros_like(chances)
    np.put_along_axis(kept, order, np.take_along_axis(chances, order, -1), -1)
    if c["model_type"] == "phimoe":
        return sparse_mixer(c, scores, [f"{p}{moe}.experts.{e}" for e in range(chances.shape[-1])], lambda own: linear(
            act(linear(x, w, f"{own}.{gate}")) * linear(x, w, f"{own}.{up}"), w, f"{own}.{down}"))
    is_shared = c["model_type"] != "deepseek_v2" and c.get("norm_topk_prob", True)
    if c["model_type"] != "jamba":
        least = 1e-6 if c["model_type"] == "lfm2_moe" else 0
        kept *= c.get("routed_scaling_factor", 1) / (kept.sum(-1, keepdims=True) + least if is_shared else 1)
    of = lambda own: linear(act(linear(x, w, f"{own}.{gate}")) * linear(x, w, f"{own}.{up}"), w, f"{own}.{down}")
    total = sum(kept[..., e:e + 1] * of(f"{p}{moe}.experts.{e}") for e in range(chances.shape[-1]))
    return total + of(f"{p}{moe}.{SHARED[c['model_type']]}") if c["model_type"] in SHARED else total


def sparse_mixer(c, scores, names, of):
    """Liu et al. 2024: the best expert weighs its share among those whose scores are near its own, the second the same without the best."""
    total, left = 0, scores.copy()
    for _ in range(2):
        place = left.argmax(-1)
        most = np.take_along_axis(left, place[..., None], -1)
        is_near = (most - left) / np.maximum(abs(scores), most) <= 2 * c["router_jitter_noise"]
        share = np.take_along_axis(softmax(np.where(is_near, left, -np.inf)), place[..., None], -1)
        total = total + sum(np.where(place[..., None] == e, share, 0) * of(name) for e, name in enumerate(names))
        np.put_along_axis(left, place[..., None], -np.inf, -1)
    return total


def granite_experts(c, w, p, x, act):
    """A softmax over the scores of the chosen; gates lie before what they multiply; one expert may be of all rows."""
    shared = [w.get(f"{p}shared_mlp.{name}_linear.weight") for name in ("input", "output")]

    def of(first, second):
        gate, up = np.split(x @ first.T, 2, -1)
        return (act(gate) * up) @ second.T

    if not c["num_local_experts"]:
        return of(*shared)
    scores = linear(x, w, p + "block_sparse_moe.router.layer")
    order = np.argsort(-scores, -1)[..., :c["num_experts_per_tok"]]
    kept = np.full_like(scores, -np.inf)
    np.put_along_axis(kept, order, np.take_along_axis(scores, order, -1), -1)
    both = [w[f"{p}block_sparse_moe.{name}_linear.weight"] for name in ("input", "output")]
    total = sum(weight[..., None] * of(*own) for weight, *own in zip(np.moveaxis(softmax(kept), -1, 0), *both))
    return total if shared[0] is None else total + of(*shared)


def mlp_of(c, w, p, x, facts):
    name, (gate, up, down) = c.get("hidden_activation", c.get("hidden_act", "silu")), facts["mlp"]
    own, (of_gate, of_all) = f"{p}{facts['module']}.", c.get("mlp_multipliers", (1, 1))
    act = (lambda x: xielu(x, w, p + "mlp.act_fn")) if name == "xielu" else ACTIVATIONS[name]
    if c["model_type"].startswith("granitemoe"):
        return granite_experts(c, w, p, x, act)
    n = int(p.split(".")[2])
    if c["model_type"] in SPARSE and not is_dense(c, n):
        return sparse(c, w, p, x, act)
    if "num_experts_per_tok" in c and not is_dense(c, n):
        total, own = experts(c, w, p, x, act), p + "mlp.shared_expert"
        if own + "_gate.weight" in w:
            inner = act(linear(x, w, own + ".gate_proj")) * linear(x, w, own + ".up_proj")
            total = total + sigmoid(linear(x, w, own + "_gate")) * linear(inner, w, own + ".down_proj")
        return total
    if gate == up:
        first, second = np.split(linear(x, w, own + up), 2, -1)
        inner = act(first) * second
    elif gate:
        inner = act(linear(x, w, own + gate) * of_gate) * linear(x, w, own + up)
    else:
        inner = act(linear(x, w, own + up))
    if c["model_type"] == "bitnet":
        inner = normed(inner, w, p + "mlp.ffn_sub_norm", facts, c["rms_norm_eps"])
    return linear(inner, w, own + down) * of_all


def decoder(c, w, ids):
    facts, eps = facts_of(c), None
    eps = c.get(facts["eps"], 1e-5)
    norm = lambda x, name: normed(x, w, name, facts, eps)
    x = w["model.embed_tokens.weight"][ids] * c.get("embedding_multiplier", c.get("scale_emb", 1))
    share = c["scale_depth"] / c["num_hidden_layers"] ** 0.5 if "scale_depth" in c else c.get("residual_multiplier", 1)
    if c["model_type"] == "nanochat":
        x = norm(x, "model.norm")
    if c["model_type"] == "vaultgemma":
        x = x * np.sqrt(c["hidden_size"])
    for n in range(c["num_hidden_layers"]):
        p = f"model.layers.{n}."
        before, behind, mlp_before, mlp_behind = (name and p + name for name in facts["places"])
        y = norm(x, before)
        mixed = 0
        if is_recurrent(c, n):
            mixed = mixer(c, w, p, y, eps) * c.get("ssm_out_multiplier", 1)
        if attends(c, n):
            own = y * c.get("attention_in_multiplier", 1)
            made = latent_attention(c, w, p, own) if is_latent(c) else attention_of(c, w, p, own, n, facts, eps)
            mixed = mixed + made * c.get("attention_out_multiplier", 1)
        if c["model_type"] == "minimax":
            kind = "linear_attn" if is_recurrent(c, n) else "full_attn"
            y = norm(y * c[kind + "_alpha_factor"] + mixed * c[kind + "_beta_factor"], mlp_before)
            x = y * c["mlp_alpha_factor"] + mlp_of(c, w, p, y, facts) * c["mlp_beta_factor"]
            continue
        a = norm(mixed, behind) * share
        if facts["places"] == ONE:
            x = x + a + mlp_of(c, w, p, y, facts)
            continue
        x = x + a
        x = x + norm(mlp_of(c, w, p, norm(x, mlp_before), facts), mlp_behind) * share
    head = w.get("lm_head.weight", w["model.embed_tokens.weight"])
    scores = norm(x, "model." + facts["last"]) @ head.T + w.get("lm_head.bias", 0)
    if c["model_type"] == "hyperclovax":
        return {"scores": scores * c["logits_scaling"]}
    scores = scores * c.get("logit_scale", c.get("lm_head_multiplier", 1))
    scores = scores / c.get("logits_scaling", c["hidden_size"] / c["dim_model_base"] if "dim_model_base" in c else 1)
    cap = c.get("final_logit_softcapping")
    return {"scores": np.tanh(scores / cap) * cap if cap else scores}
