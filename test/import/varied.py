#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text models whose config.json says what few say: configs are drawn at random, and those that were wrong once stand in KNOWN. Each becomes a
small folder, is imported, run, and compared with NumPy in double precision, which computes what the published classes do with the same values.

usage: varied.py FOLDER [SEED COUNT]"""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make import GEMMA, bert, llama, random_weights
from program import call, run
from shapes import bert_shapes, gpt2_shapes, llama_shapes, pair
from text_models import bert as bert_twin, gpt2 as gpt2_twin, llama as llama_twin, sentence
from vit_twin import write_safetensors

BOUND, BATCH, LENGTH, POSITIONS = 1e-5, 2, 13, 24
OF = "sentence_transformers.models."
GPT2 = dict(model_type="gpt2", architectures=["GPT2LMHeadModel"], n_embd=48, n_head=6, n_layer=2, n_positions=POSITIONS, vocab_size=97,
            layer_norm_epsilon=1e-5, activation_function="gelu_new")


def decoder(kind, **more):
    name = {"gemma3_text": "Gemma3", "phi3": "Phi3"}.get(kind, kind.capitalize())
    return {**llama(kind, name + "ForCausalLM"), "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3,
            "intermediate_size": 40, "head_dim": 8, "max_position_embeddings": POSITIONS, **more}


def pooling(*modes, **more):
    return ("Pooling", {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": "mean_tokens" in modes,
                        **{"pooling_mode_" + mode: True for mode in modes}, **more})


def dense(given, taken, **more):
    return ("Dense", dict(in_features=given, out_features=taken, bias=True, activation_function="torch.nn.modules.activation.Tanh") | more)


LONG = dict(rope_type="longrope", short_factor=[1.0, 1.1, 1.3], long_factor=[1.0, 4.0, 9.0])
SMALL_BERT = {**bert("bert", "BertModel"), "hidden_size": 32, "num_attention_heads": 4}
# A config, and the modules of a sentence encoder behind its transformer.
KNOWN = {
    "longrope-of-a-part": (decoder("phi3", rope_scaling=LONG, partial_rotary_factor=0.75, original_max_position_embeddings=16), []),
    "part-in-rope-parameters": (decoder("phi3", rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5)), []),
    "gemma3-window-as-long-as-the-context": (decoder("gemma3_text", rope_theta=1e6, rope_local_base_freq=1e4, sliding_window=POSITIONS,
                                                     layer_types=["sliding_attention", "full_attention"] * 2, num_hidden_layers=4,
                                                     query_pre_attn_scalar=8, **{**GEMMA, "head_dim": 8}), []),
    "gemma3-in-both-directions": (decoder("gemma3_text", rope_theta=1e6, rope_local_base_freq=1e4, sliding_window=6, sliding_window_pattern=2,
                                          use_bidirectional_attention=True, query_pre_attn_scalar=8, **{**GEMMA, "head_dim": 8}),
                                  [pooling("mean_tokens"), dense(32, 48, bias=False, activation_function="torch.nn.modules.linear.Identity"),
                                   dense(48, 16, bias=False, activation_function="torch.nn.modules.linear.Identity"), ("Normalize", {})]),
    "qwen3-embedding": (decoder("qwen3", rope_theta=1e6, tie_word_embeddings=True), [pooling("lasttoken"), ("Normalize", {})]),
    "qwen2-both-ways": (decoder("qwen2", rope_theta=1e6, is_causal=False, use_sliding_window=True, sliding_window=3, max_window_layers=0), []),
    "gpt2-unscaled": ({**GPT2, "scale_attn_weights": False}, []),
    "gpt2-by-layer": ({**GPT2, "scale_attn_by_inverse_layer_idx": True, "reorder_and_upcast_attn": True}, []),
    "gpt2-by-layer-unscaled": ({**GPT2, "scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False}, []),
    "dense": (SMALL_BERT, [pooling("cls_token"), dense(32, 32), ("Normalize", {})]),
    "max-and-mean": (SMALL_BERT, [pooling("max_tokens", "mean_tokens"), dense(64, 20, activation_function="torch.nn.modules.activation.GELU"),
                                  ("LayerNorm", dict(dimension=20))]),
    "all-modes": (SMALL_BERT, [pooling("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")]),
    "pylate": (SMALL_BERT, [("TokenDense", dict(in_features=32, out_features=16, bias=False, use_residual=False,
                                               activation_function="torch.nn.modules.linear.Identity"))]),
    "newer-pooling": (SMALL_BERT, [("Pooling", dict(embedding_dimension=32, pooling_mode="weightedmean"))]),
}


def draw_scaling(rng, pairs):
    """A rule of angles."""
    kind = rng.choice(["default", "linear", "llama3", "yarn", "longrope", "dynamic"])
    more = {"linear": dict(factor=4.0), "dynamic": dict(factor=2.0),
            "llama3": dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64),
            "yarn": dict(factor=4.0, original_max_position_embeddings=int(rng.choice([16, 4096])),
                         **[{}, dict(attention_factor=0.8), dict(mscale=1.0, mscale_all_dim=0.5)][rng.integers(3)]),
            "longrope": dict(short_factor=[float(x) for x in 1 + rng.random(pairs)], long_factor=[float(x) for x in 1 + 9 * rng.random(pairs)],
                             original_max_position_embeddings=16, factor=3.0)}
    return {"rope_type": str(kind), **more.get(kind, {})}


def draw_rope(rng, config):
    """Rope's values in one of the forms of a config, which says nothing of the base now and then."""
    newer, part = rng.random() < 0.5, rng.choice([1.0, 0.5, 0.75]) if config["model_type"] == "phi3" else 1.0
    base = {} if rng.random() < 0.3 else {"rope_theta": float(rng.choice([1e4, 5e5]))}
    scaling = draw_scaling(rng, int(8 * part) // 2)
    if config["model_type"] == "phi3" and scaling["rope_type"] == "yarn":
        scaling = {"rope_type": "default"}
    parts = {} if part == 1 else {"partial_rotary_factor": float(part)}
    if config["model_type"] == "gemma3_text":
        if newer:
            return {"rope_parameters": {"full_attention": {**scaling, **base}, "sliding_attention": {"rope_type": "default", "rope_theta": 2e3}}}
        return {**base, "rope_scaling": scaling, **({"rope_local_base_freq": 3e3} if rng.random() < 0.5 else {})}
    if newer:
        return {"rope_parameters": {**scaling, **base, **parts}}
    return {**base, **parts, "rope_scaling": None if scaling["rope_type"] == "default" else scaling}


def draw(rng):
    """A config of a decoder, and the modules behind it, where it makes vectors of texts."""
    kind = str(rng.choice(["llama", "mistral", "qwen2", "qwen3", "phi3", "gemma3_text", "gemma2"]))
    config = decoder(kind, num_key_value_heads=int(rng.choice([1, 2, 4])), **({} if not kind.startswith("gemma") else {
        "query_pre_attn_scalar": 8, **{**GEMMA, "head_dim": 8}}), tie_word_embeddings=True)
    config.update(draw_rope(rng, config))
    if kind not in ("llama",):
        config["sliding_window"] = int(rng.choice([2, 5, POSITIONS - 1, POSITIONS, POSITIONS + 1]))
    if kind.startswith("qwen"):
        config.update(use_sliding_window=bool(rng.random() < 0.8), max_window_layers=int(rng.choice([0, 1, 3])))
    if kind.startswith(("qwen", "gemma")) and rng.random() < 0.4 and config.get("use_sliding_window", True):
        config["layer_types"] = [str(x) for x in rng.choice(["full_attention", "sliding_attention"], 3)]
    ways = rng.random()
    if kind == "gemma3_text" and ways < 0.4:
        config["use_bidirectional_attention"] = True
    elif ways < 0.3:
        config["is_causal"] = False
    modes = [str(x) for x in rng.choice(["cls_token", "max_tokens", "mean_tokens", "lasttoken", "weightedmean_tokens"], rng.integers(1, 3), False)]
    steps = [pooling(*modes), dense(32 * len(modes), 24), ("Normalize", {})]
    return config, steps[:int(rng.choice([0, 0, 1, 2, 3]))]


def write(folder, config, modules, seed):
    """The weights of the transformer, and modules with theirs; norms of BERT are called as TensorFlow calls them."""
    shapes = {"gpt2": gpt2_shapes, "bert": bert_shapes}.get(config["model_type"], llama_shapes)(config)
    weights = random_weights(shapes, seed)
    os.makedirs(folder, exist_ok=True)
    old = lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    write_safetensors(f"{folder}/model.safetensors", {old(name): value for name, value in weights.items()})
    found, listed = [], [dict(idx=0, name="0", path="", type=OF + "Transformer")]
    for i, (kind, own) in enumerate(modules):
        path, tensors = f"{i + 3}_{kind}", {}
        if kind in ("Dense", "TokenDense"):
            tensors = {"linear.weight": (own["out_features"], own["in_features"]), **({"linear.bias": (own["out_features"],)} if own["bias"] else {})}
        elif kind == "LayerNorm":
            tensors = pair("norm", own["dimension"])
        tensors = random_weights(tensors, seed + i)
        os.makedirs(f"{folder}/{path}", exist_ok=True)
        json.dump(own, open(f"{folder}/{path}/config.json", "w"))
        if tensors:
            write_safetensors(f"{folder}/{path}/model.safetensors", tensors)
        listed.append(dict(idx=i + 1, name=str(i + 1), path=path, type="pylate.models.Dense.Dense" if kind == "TokenDense" else OF + kind))
        found.append((kind, own, {name: value.astype(np.float64) for name, value in tensors.items()}))
    if modules:
        json.dump(listed, open(f"{folder}/modules.json", "w"))
    json.dump(config, open(f"{folder}/config.json", "w"), indent=1)
    return {name: value.astype(np.float64) for name, value in weights.items()}, found


def check(name, folder, config, modules, seed):
    w, modules = write(folder, config, modules, seed)
    spec, rng = f"{folder}/spec.attn", np.random.default_rng(seed)
    call(["attn", "import", folder, "-o", spec])
    inputs, lengths = {"ids": rng.integers(0, 97, (BATCH, LENGTH), dtype=np.int32)}, np.array([LENGTH, 7], np.int32)
    both = config.get("use_bidirectional_attention") or not config.get("is_causal", True)
    if config["model_type"] == "bert":
        inputs["segments"] = rng.integers(0, 2, (BATCH, LENGTH), dtype=np.int32)
        hidden = bert_twin(config, w, lengths=lengths, **inputs)["hidden"]
    elif config["model_type"] == "gpt2":
        wanted = gpt2_twin(config, w, inputs["ids"])["scores"]
    else:
        made = llama_twin(config, w, inputs["ids"], lengths if both else None)
        wanted, hidden = made["scores"], made["hidden"]
    entry, result = ("fill", "scores") if both else ("scores", "scores")
    if modules:
        entry, result = "embed", "embedding"
        of_tokens = modules[0][0] == "TokenDense"  # a vector for each
        wanted = (np.concatenate if of_tokens else np.stack)([sentence(modules, row[:n]) for row, n in zip(hidden, lengths)])
    if modules or both:
        inputs["lengths"] = lengths
    got, = run(["attn", "run", spec, "-O0", "--entry", entry], folder, inputs, [result])
    if modules and of_tokens:
        got = np.concatenate([rows[:n] for rows, n in zip(got, lengths)])
    if both and not modules:  # what stands behind a text's end is nobody's business
        got, wanted = (np.concatenate([x[b, :n] for b, n in enumerate(lengths)]) for x in (got, wanted))
    error = np.sqrt(((got - wanted) ** 2).sum() / (wanted ** 2).sum()) if got.shape == wanted.shape else np.inf
    assert error <= BOUND, f"{name}: relative L2 {error:.1e}, {got.shape}: {json.dumps(config)} {[kind for kind, *_ in modules]}"
    return error


def main():
    folder, seed, count = sys.argv[1], int((sys.argv + [0] * 2)[2] or 1), int((sys.argv + [0] * 3)[3] or 10)
    rng = np.random.default_rng(seed)
    print(f"seed {seed}")
    for name, (config, modules) in [*KNOWN.items(), *((f"drawn-{i}", draw(rng)) for i in range(count))]:
        error = check(name, os.path.join(folder, name), config, modules, seed)
        print(f"{name}: {config['model_type']}, relative L2 {error:.1e}")


if __name__ == "__main__":
    main()
