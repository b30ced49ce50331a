#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small folders with random weights that the published library has written are imported and run, and the results are compared with those of the
library's own modelling code in double precision. With --changes each key of their configs is changed by itself, too: where the library's
numbers change, the imported model has the same numbers or an error names the key; where they do not, nothing is refused.

It needs a Python that has torch and transformers, and `attn` on the path; test/README.md says which versions it was run with.

usage: oracle.py [--changes] FOLDER [FAMILY...]"""
import argparse
import collections
import hashlib
import json
import os
import shutil
import sys

import numpy as np
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "numeric")]
from oracle_families import FAMILIES
from program import Failed, call, run
from vit_twin import write_safetensors

BOUND = 1e-4
# Keys that say who a config is of, and what a call returns.
NAMES = {"architectures", "model_type", "transformers_version", "_name_or_path", "torch_dtype", "dtype", "id2label", "label2id", "return_dict",
         "output_hidden_states", "output_attentions", "torchscript", "is_encoder_decoder", "_attn_implementation_autoset", "experts_implementation"}
ACTIVATIONS = ["relu", "gelu_new", "gelu", "silu", "gelu_pytorch_tanh", "tanh", "quick_gelu", "gelu_fast"]
SCALINGS = [dict(rope_type="linear", factor=2.0),
            dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32),
            dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16),
            dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=8, beta_slow=2, attention_factor=1.3),
            dict(rope_type="longrope", short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[1.0, 2.0, 3.0, 4.0], original_max_position_embeddings=16),
            dict(rope_type="dynamic", factor=2.0)]
# What a value that is null may become.
UNSAID = {"sliding_window": [4], "head_dim": [16], "n_inner": [40], "attn_logit_softcapping": [3.0], "final_logit_softcapping": [3.0],
          "num_key_value_heads": [2], "rope_scaling": SCALINGS, "problem_type": ["multi_label_classification", "regression"]}


def other_values(key, value):
    """Other values of a key, of the same kind."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        if key.endswith("_id") or "vocab" in key or "layer" in key:
            return [value + 1]
        return [2 * value] + ([value // 2] if value > 1 and key not in ("hidden_size", "d_model", "n_embd", "dim") else [])
    if isinstance(value, float):
        return [value * 1.5 + 0.1] if value < 1 else [value / 2]
    if isinstance(value, str):
        if value in ACTIVATIONS:
            return [name for name in ACTIVATIONS if name != value][:2]
        return {"absolute": ["relative_key"]}.get(value, [])
    if isinstance(value, list):
        return [value[::-1]] if value != value[::-1] else []
    if isinstance(value, dict) and key == "rope_parameters":
        return list(other_rotations(value))
    return UNSAID.get(key, []) if value is None else []


def other_rotations(value):
    if "rope_type" not in value:  # by the types of layers
        for kind, own in value.items():
            for other in other_rotations(own or {"rope_type": "default"}):
                yield {**value, kind: other}
        return
    yield {**value, "rope_theta": value.get("rope_theta", 1e4) / 7}
    yield {**value, "partial_rotary_factor": 0.5}
    for scaling in SCALINGS:
        yield {**value, **scaling}


def fill(model):
    """Draws weights by their names and shapes, so that nothing is 0 or 1, and what two models share is the same."""
    with torch.no_grad():
        for name, value in model.state_dict(keep_vars=True).items():
            is_constant = isinstance(value, torch.nn.Parameter) and not value.requires_grad
            if not value.is_floating_point() or is_constant:
                continue
            seed = hashlib.sha256(f"{name} {tuple(value.shape)}".encode()).digest()
            drawn = np.random.default_rng(list(seed)).standard_normal(tuple(value.shape))
            drawn = drawn / np.sqrt(value.shape[-1]) if value.dim() > 1 else 0.2 * drawn
            if value.dim() == 1 and "norm" in name.lower() and name.endswith("weight"):
                drawn += 1
            if value.dim() > 1 and any(word in name for word in ("embed", "wte", "shared")):
                drawn *= 3
            value.copy_(torch.tensor(drawn.astype(np.float32)))
    model.tie_weights()


def tensors_of(model, kind):
    """What a file has of the model: each tensor once, and experts by themselves, as the library's files have them."""
    seen, tensors = set(), {}
    for name, value in model.state_dict().items():
        key = (value.data_ptr(), tuple(value.shape))
        if value.is_floating_point() and key not in seen:
            tensors[name] = value.float().numpy()
        seen.add(key)
    for name in [name for name in tensors if kind == "qwen3_moe" and ".experts." in name and name.endswith("_proj")]:
        for n, expert in enumerate(tensors.pop(name)):
            parts = ["gate_proj", "up_proj"] if name.endswith("gate_up_proj") else ["down_proj"]
            for part, rows in zip(parts, np.split(expert, len(parts))):
                tensors[f"{name.rsplit('.', 1)[0]}.{n}.{part}.weight"] = rows
    return tensors


def publish(folder, architecture, values, said=()):
    """Writes the folder of a model of the library. Its config says what differs from the defaults, and the keys `said`."""
    kind = getattr(transformers, architecture)
    config = kind.config_class(**values)
    config._attn_implementation = "eager"
    if hasattr(config, "_experts_implementation"):
        config._experts_implementation = "eager"
    model = kind(config).double().eval()
    fill(model)
    every = json.loads(config.to_json_string(use_diff=False))
    written = {**json.loads(config.to_json_string(use_diff=True)), "architectures": [architecture], "model_type": every["model_type"]}
    written.update((key, every.get(key, values[key])) for key in said)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(f"{folder}/config.json", "w") as file:
        json.dump(written, file, indent=2)
    write_safetensors(f"{folder}/model.safetensors", tensors_of(model, every["model_type"]))
    return model, every


def published(model, how):
    with torch.no_grad():
        results, entry, inputs = how(model)
    results = {name: value.numpy() for name, value in results.items()}
    assert all(np.isfinite(value).all() for value in results.values()), "the library's results are not finite"
    return results, entry, inputs


def imported(folder, entry, inputs, names):
    spec = os.path.join(folder, "spec.attn")
    call(["attn", "import", folder, "-o", spec])
    return dict(zip(names, run(["attn", "run", spec, "--weights", folder, "--entry", entry, "-O1"], folder, inputs, names)))


def distance(one, other):
    """The largest relative L2 distance of results with the same names."""
    return max(np.sqrt(((one[name] - rows) ** 2).sum() / (rows ** 2).sum()) if one[name].shape == rows.shape else np.inf
               for name, rows in other.items())


def judge(folder, results, entry, inputs, changed, words):
    """What the imported model makes of a folder, in a word, and why."""
    try:
        error = distance(imported(folder, entry, inputs, list(results)), results)
    except Failed as failure:
        is_named = any(word in str(failure) for word in words)
        return ("refused" if is_named else "REFUSED, NOT NAMED") if changed > 1e-7 else "REFUSED NEEDLESSLY", str(failure)
    return "right" if error <= BOUND else "WRONG", f"relative L2 {error:.1e}"


def check_changes(family, folder, base):
    """Counts what becomes of each key of the family's config when it alone is another."""
    architecture, values, how = FAMILIES[family]
    counts = collections.Counter()
    _, every = publish(folder, architecture, values)
    for key in sorted(set(every) - NAMES):
        for value in other_values(key, every[key]):
            try:
                model, _ = publish(folder, architecture, {**values, key: value}, [key])
                results, entry, inputs = published(model, how)
            except Exception:  # the library has no such model, whatever it says
                counts["no such model"] += 1
                continue
            words = [key, *(value if isinstance(value, dict) else ())]
            verdict, why = judge(folder, results, entry, inputs, distance(base, results), words)
            counts[verdict] += 1
            if verdict[0].isupper():
                print(f"  {family}: {key} = {json.dumps(value)}: {verdict}: {why[-400:]}", flush=True)
    print(f"{family}: {', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items()))}", flush=True)
    return sum(count for verdict, count in counts.items() if verdict.isupper())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--changes", action="store_true")
    parser.add_argument("folder")
    parser.add_argument("family", nargs="*")
    options = parser.parse_args()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    failures = 0
    for family in options.family or FAMILIES:
        architecture, values, how = FAMILIES[family]
        if not hasattr(transformers, architecture):
            print(f"{family}: this version of the library has no {architecture}")
            continue
        folder = os.path.join(options.folder, family)
        model, _ = publish(folder, architecture, values)
        results, entry, inputs = published(model, how)
        verdict, why = judge(folder, results, entry, inputs, 1, ())
        print(f"{family}: {verdict}, {why}", flush=True)
        failures += verdict != "right"
        if options.changes:
            failures += check_changes(family, folder, results)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
