#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small folders with random weights that the published library has written are imported and run, and the results are compared with those of the
library's own modelling code in double precision. With --changes each key of their configs is changed by itself, too: where the library's
numbers change, the imported model has the same numbers or an error names the key; where they do not, nothing is refused.

It needs a Python that has torch and transformers, and `attn` on the path; test/README.md says which versions it was run with.

usage: oracle.py [--changes] FOLDER [FAMILY...]"""
import argparse
import collections
import copy
import hashlib
import json
import os
import re
import shutil
import sys

import numpy as np
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "numeric")]
import oracle_hybrids
import oracle_pictures
import oracle_sounds
from oracle_families import FAMILIES, HEADS
from oracle_prompts import PROMPTED
from program import Failed, call, run
from vit_twin import write_safetensors

FAMILIES |= oracle_hybrids.FAMILIES | PROMPTED | oracle_pictures.FAMILIES | oracle_sounds.FAMILIES
BOUND, MODELS = 1e-4, {**FAMILIES, **HEADS, **oracle_hybrids.HEADS, **oracle_pictures.HEADS,
                                  **oracle_sounds.HEADS}
# Keys that say who a config is of, and what a call returns.
NAMES = {"architectures", "model_type", "transformers_version", "_name_or_path", "torch_dtype", "dtype", "id2label", "label2id", "return_dict",
         "output_hidden_states", "output_attentions", "torchscript", "is_encoder_decoder", "_attn_implementation_autoset", "experts_implementation"}
ACTIVATIONS = ["relu", "gelu_new", "gelu", "silu", "gelu_pytorch_tanh", "tanh", "quick_gelu", "gelu_fast"]
# What is not left out: a model of the class's own size takes too long.
SIZES = {"hidden_size", "d_model", "n_embd", "dim", "embed_dim", "image_size", "num_hidden_layers", "n_layer", "n_layers", "num_layers",
         "encoder_layers", "decoder_layers", "encoder", "decoder", "text_config", "vision_config", "backbone_config"}
VERSION = int(transformers.__version__.split(".")[0])
# Version 4.47 takes the positions that a model can be given for those that YaRN began with, whatever its values say.
BEGINNING = 16 if VERSION > 4 else 64
SCALINGS = [dict(rope_type="linear", factor=2.0),
            dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32),
            dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=BEGINNING),
            dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=BEGINNING, beta_fast=8, beta_slow=2, attention_factor=1.3),
            dict(rope_type="longrope", short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[1.0, 2.0, 3.0, 4.0], original_max_position_embeddings=16),
            dict(rope_type="dynamic", factor=2.0)]
# What a value that is null may become.
UNSAID = {"sliding_window": [4], "head_dim": [16], "n_inner": [40], "attn_logit_softcapping": [3.0], "final_logit_softcapping": [3.0],
          "num_key_value_heads": [2], "rope_scaling": SCALINGS, "problem_type": ["multi_label_classification", "regression"], "pad_token_id": [3],
          "mlp_dim": [40], "use_bidirectional_attention": [True]}
# What the configs of siblings of a decoder in Llama's form say: its own class may leave that out.
OF_SIBLINGS = {"attention_bias": True, "mlp_bias": True, "attn_logit_softcapping": 3.0, "final_logit_softcapping": 3.0, "hidden_activation": "relu",
               "query_pre_attn_scalar": 5, "sliding_window": 4, "use_sliding_window": True}
# What a word may become.
WORDS = {"absolute": ["relative_key"], "sine": ["learned"], "cls": ["mean"]}
KEYS_OF_FORMS = {"feed_forward_proj": ["relu", "gated-gelu", "gated-silu"]}
# What becomes of a change: what the table calls it, and whether it is as it has to be.
VERDICTS = {"same": ("the same numbers", True), "refused": ("refused by name", True), "nothing": ("nothing changes", True), "wrong": ("WRONG", False),
            "unnamed": ("REFUSED, NOT NAMED", False), "needless": ("REFUSED NEEDLESSLY", False)}


def other_values(key, value):
    """Other values of a key, of the same kind."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        if key.endswith("_id") or "vocab" in key or "layer" in key:
            return [value + 1]
        return [2 * value or 1] + ([value // 2] if value > 1 and key not in SIZES else [])
    if isinstance(value, float):
        return [value * 1.5 + 0.1] if value < 1 else [value / 2]
    if isinstance(value, str):
        known = KEYS_OF_FORMS.get(key) or (ACTIVATIONS if value in ACTIVATIONS else WORDS.get(value, []))
        return [name for name in known if name != value][:2]
    if isinstance(value, list) and value:
        twice = [value[0] * 2, *value[1:]] if isinstance(value[0], (int, float)) and not isinstance(value[0], bool) else value
        return [other for other in (value[::-1], twice) if other != value]
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


def changes(every, values, within=()):
    """Each key of a config with another value, as a path of keys, and those of `values` left out, which is `...`."""
    if "rms_norm_eps" in every:
        yield from (((key,), value) for key, value in OF_SIBLINGS.items() if key not in every)
    for key in sorted(set(every) - NAMES):
        value, given = every[key], values.get(key)
        if isinstance(value, dict) and isinstance(given, dict) and key != "rope_parameters":
            yield from changes(value, given, (*within, key))
            continue
        for other in other_values(key, value):
            yield (*within, key), other
        is_token = key.endswith(("_id", "_tokens"))  # of which a small vocabulary lacks the class's own
        if key in values and key not in SIZES and not is_token:
            yield (*within, key), ...


def with_change(values, path, value):
    key, *rest = path
    if rest:
        return {**values, key: with_change(values[key], rest, value)}
    return {name: of for name, of in values.items() if name != key} | ({} if value is ... else {key: value})


def fill(model):
    """Draws weights by their names and shapes, so that nothing is 0 or 1, and what two models share is the same. Sines stay what they are."""
    sines = {name + ".weight" for name, module in model.named_modules() if "Sinusoidal" in type(module).__name__}
    with torch.no_grad():
        for name, value in model.state_dict(keep_vars=True).items():
            is_frozen = "backbone" in name  # what a class does not train, which is no constant for that
            is_constant = isinstance(value, torch.nn.Parameter) and not value.requires_grad and not is_frozen
            is_bound = name.endswith(("put_min", "put_max"))  # what a map is clipped to
            is_constant |= not isinstance(value, torch.nn.Parameter) and value.dim() == 0 and not is_bound  # of an activation
            is_computed = name.endswith(("slope_rate", "query_decay", "key_decay", "diagonal_decay"))  # of lightning attention
            if not value.is_floating_point() or is_constant or is_computed or name in sines:
                continue
            if is_bound:
                value.fill_(-0.8 if name.endswith("min") else 0.7)
                continue
            seed = hashlib.sha256(f"{name} {tuple(value.shape)}".encode()).digest()
            drawn = np.random.default_rng(list(seed)).standard_normal(tuple(value.shape))
            if value.dim() > 1:  # by the inputs of a convolution or of a linear map
                drawn = drawn / np.sqrt(value[0].numel() if value.dim() == 4 else value.shape[-1])
            else:
                drawn = 0.2 * drawn
            if value.dim() == 1 and ("norm" in name.lower() and name.endswith("weight") or name.endswith("layer_scalar")):
                drawn += 1
            if value.dim() > 1 and any(word in name for word in ("embed", "wte", "shared")):
                drawn *= 3
            if name.endswith("running_var"):
                drawn = 1 + abs(drawn)
            value.copy_(torch.tensor(drawn.astype(np.float32)))


def tensors_of(model):
    """What a file has of the model: each tensor once, under the names that the library's files have."""
    tied = set(getattr(model, "all_tied_weights_keys", None) or ())  # of version 5, which leaves these out of its files
    seen, state = set(), {}
    for name, value in sorted(model.state_dict().items(), key=lambda item: item[0] in tied):
        key = (value.data_ptr(), tuple(value.shape))
        if value.is_floating_point() and key not in seen:
            state[name] = value
        seen.add(key)
    try:
        from transformers.core_model_loading import revert_weight_conversion
        state = revert_weight_conversion(model, state)
    except ImportError:  # of version 4, whose files have the names of the modules
        pass
    return {name: value.float().numpy() for name, value in state.items()}


def publish(folder, family, values, said=None):
    """Writes the folder of a model of the library. Its config says what differs from the defaults, and the key at the path `said`."""
    architecture, _, _, *adapt = MODELS[family]
    kind = getattr(transformers, architecture)
    config = kind.config_class(**copy.deepcopy(values))
    config._attn_implementation = "eager"
    if hasattr(config, "_experts_implementation"):
        config._experts_implementation = "eager"
    model = kind(config).double().eval()
    fill(model)
    every = json.loads(config.to_json_string(use_diff=False))
    written = {**json.loads(config.to_json_string(use_diff=True)), "architectures": [architecture], "model_type": every["model_type"]}
    at, whole, given = written, every, values
    for key in said or ():
        if key == said[-1]:
            at[key] = whole.get(key, given[key])
        else:
            at, whole, given = at.setdefault(key, {}), whole[key], given[key]
    tensors, files = tensors_of(model), {"config.json": written}
    for step in adapt:
        files, tensors = step(files, tensors)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, of in files.items():
        with open(f"{folder}/{name}", "w") as file:
            json.dump(of, file, indent=2)
    write_safetensors(f"{folder}/model.safetensors", tensors)
    return model, every


def within(rows, inputs):
    """What stands behind the ends of texts is nobody's business."""
    if "ids" in inputs and "lengths" in inputs and rows.ndim == 3:
        rows = np.where((np.arange(rows.shape[1]) < inputs["lengths"][:, None])[..., None], rows, 0)
    return rows


def published(model, how):
    """What each call of the model gives: results, the entry that computes the same, its inputs."""
    with torch.no_grad():
        calls = [({name: within(value.numpy(), inputs) for name, value in results.items()}, entry, inputs) for results, entry, inputs in how(model)]
    assert all(np.isfinite(value).all() for results, *_ in calls for value in results.values()), "the library's results are not finite"
    return calls


RUNS = {}


def imported(folder, calls):
    """The results of the imported model's entries. What was run before, the same spec (but for the entry that generates, which is not called) on
    the same tensors and inputs, is not run again."""
    spec = os.path.join(folder, "spec.attn")
    call(["attn", "import", folder, "-o", spec])
    made = hashlib.sha256(re.sub(r"(?m)^ *entry (generate|write) .*$", "", open(spec).read()).encode())
    made.update(open(f"{folder}/model.safetensors", "rb").read())
    for results, entry, inputs in calls:
        made.update(repr((list(results), entry, [(name, value.shape, value.tobytes()) for name, value in inputs.items()])).encode())
    if made.digest() not in RUNS:
        command = ["attn", "run", spec, "--weights", folder, "-O0", "--threads", "1", "--entry"]
        RUNS[made.digest()] = [{name: within(rows, inputs) for name, rows in zip(results, run([*command, entry], folder, inputs, list(results)))}
                               for results, entry, inputs in calls]
    return RUNS[made.digest()]


def distance(ones, others):
    """The largest relative L2 distance of results with the same names."""
    return max(np.sqrt(((one[name] - rows) ** 2).sum() / (rows ** 2).sum()) if one[name].shape == rows.shape else np.inf
               for one, other in zip(ones, others) for name, rows in other.items())


def judge(folder, calls, changed, words):
    """What the imported model makes of a folder, and why."""
    results = [given for given, *_ in calls]
    try:
        error = distance(imported(folder, calls), results)
    except Failed as failure:
        is_named = any(re.search(rf"\b{re.escape(word)}\b", str(failure)) for word in words)
        return ("refused" if is_named else "unnamed") if changed > 1e-7 else "needless", str(failure)
    return ("wrong" if not error <= BOUND else "same" if changed > 1e-7 else "nothing"), f"relative L2 {error:.1e}"


def check_changes(family, folder, base):
    """Counts what becomes of each key of the family's config when it alone is another."""
    _, values, how, *adapt = FAMILIES[family]
    counts, impossible = collections.Counter(), 0
    _, every = publish(folder, family, values)
    rewritten = {key for step in adapt for key in step.keys}
    for path, value in changes({key: of for key, of in every.items() if key not in rewritten}, values):
        left_out = value is ...
        try:
            model, _ = publish(folder, family, with_change(values, path, value), None if left_out else path)
            calls = published(model, how)
        except Exception:  # the library has no such model, whatever it says
            impossible += 1
            continue
        words = [path[-1], *(value if isinstance(value, dict) else ())]
        changed = distance([results for results, *_ in base], [results for results, *_ in calls])
        verdict, why = judge(folder, calls, changed, words)
        counts[verdict] += 1
        if not VERDICTS[verdict][1]:
            what = "left out" if left_out else f"= {json.dumps(value)}"
            print(f"  {family}: {'.'.join(path)} {what}: {VERDICTS[verdict][0]}: {why[-400:]}", flush=True)
    return counts, impossible


COLUMNS = ["family", "changes", *(name for name, _ in VERDICTS.values()), "no such model"]


def print_row(cells):
    widths = [24, *(max(len(head), 6) for head in COLUMNS[1:])]
    print("  ".join(str(cell).rjust(width) if i else str(cell).ljust(width) for i, (width, cell) in enumerate(zip(widths, cells))), flush=True)


def print_sum(rows):
    print_row([f"{len(rows)} families", *(sum(row[i] for row in rows) for i in range(1, len(COLUMNS)))])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--changes", action="store_true")
    parser.add_argument("folder")
    parser.add_argument("family", nargs="*")
    options = parser.parse_args()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    failures, rows = 0, []
    if options.changes:
        print_row(COLUMNS)
    for family in options.family or MODELS:
        architecture, values, how, *_ = MODELS[family]
        if not hasattr(transformers, architecture):
            print(f"{family}: this version of the library has no {architecture}")
            continue
        folder = os.path.join(options.folder, family.replace(", ", "-"))
        model, _ = publish(folder, family, values)
        calls = published(model, how)
        verdict, why = judge(folder, calls, 1, ())
        print(f"{family}: {why}", flush=True)
        failures += verdict != "same"
        if options.changes and family in FAMILIES:
            counts, impossible = check_changes(family, folder, calls)
            rows.append([family, sum(counts.values()), *(counts[verdict] for verdict in VERDICTS), impossible])
            print_row(rows[-1])
            failures += sum(count for verdict, count in counts.items() if not VERDICTS[verdict][1])
    if rows:
        print_sum(rows)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
