#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of make.py are imported, checked against their weights, run, and compared with NumPy in double precision, which computes what the
papers and the published modelling code say of the family, from the same config.json.

usage: twins.py FOLDER FAMILY..."""
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from decoders import FACTS, decoder
import depths
from gemma4 import gemma4
from gpts import NAMES, gpt
from llama4 import llama4
from make import FAMILIES, make
from measured import measured
from parts import ONE_PART, one_part
from picture_models import clip, detr, sam, swin, timm, tower, trocr, vit
from program import call, run
import parakeets
import pyramids
from relatives import KINDS, deberta, dinov3, kin
import sounds
import vit_kin
from text_models import T5, bart, bert, gpt2, gpt_neox, llama, modernbert, nomic_bert, opt, sentence, t5

BOUND, BATCH, LENGTH = 1e-5, 3, 21
VITS = ("vit", "deit", "dinov2", "beit", "dinov2_with_registers", "data2vec-vision", "vit_msn", "ijepa")
BARTS = ("bart", "marian", "whisper", "mbart", "plbart", "pegasus", "m2m_100", "blenderbot", "blenderbot-small")
T5S = ("t5", "mt5", "umt5")


def check_clip(family, folder, spec, config, w, rng):
    length = config["text_config"]["max_position_embeddings"]
    ids, end = rng.integers(0, 97, (2, length), dtype=np.int32), np.array([length - 1, 9], np.int32)
    image = rng.standard_normal((BATCH, 3, 32, 32)).astype(np.float32)
    text, picture, scores = clip(config, w, ids, end, image)
    texts = {"ids": ids} if config["model_type"] == "siglip" else {"ids": ids, "end": end}
    for entry, inputs, name, wanted in [
            ("text", texts, "embedding", text), ("picture", {"image": image}, "embedding", picture),
            ("compare", {"picture": picture.astype(np.float32), "text": text.astype(np.float32)}, "scores", scores)]:
        compare(family, folder, spec, inputs, {name: wanted}, entry)


def check_detr(family, folder, spec, config, w, rng):
    height, width = 70, 90
    there = np.zeros((2, height, width), bool)
    there[0], there[1, :50, :70] = True, True
    image = rng.standard_normal((2, 3, height, width)).astype(np.float32)
    compare(family, folder, spec, {"image": image[:1]}, detr(config, w, image[:1]), "detect")
    compare(family, folder, spec, {"image": image, "there": there}, detr(config, w, image, there), "detect_bordered")


def check_tower(family, folder, spec, config, w, rng):
    """An encoder of pictures, or of texts, by itself."""
    inputs = {"image": rng.standard_normal((BATCH, 3, 32, 32)).astype(np.float32)}
    if "text" in config["model_type"]:
        inputs = {"ids": rng.integers(0, 97, (BATCH, 24), dtype=np.int32)}
        inputs.update({} if config["model_type"].startswith("siglip") else {"end": np.array([23, 9, 0], np.int32)})
    compare(family, folder, spec, inputs, (dinov3 if config["model_type"] == "dinov3_vit" else tower)(config, w, **inputs))


def check_relative(family, folder, spec, config, w, rng):
    """An encoder of texts; those of sentences give a vector, and nothing else."""
    inputs = {"ids": rng.integers(0, 97, (BATCH, LENGTH), dtype=np.int32), "lengths": np.array([LENGTH, 5, 13], np.int32)}
    if "segments: i32" in open(spec).read():
        inputs["segments"] = rng.integers(0, 2, (BATCH, LENGTH), dtype=np.int32)
    if config["model_type"] in T5S:
        hidden, _ = T5(config, w).memory(inputs["ids"], inputs["lengths"])
        modules = [("Pooling", {"pooling_mode_mean_tokens": True}, None), ("Normalize", {}, None)]
        wanted = {"hidden": hidden, "embedding": np.stack([sentence(modules, row[:n]) for row, n in zip(hidden, inputs["lengths"])])}
    else:
        wanted = (deberta if config["model_type"].startswith("deberta") else kin)(config, w, **inputs)
    if family == "splade":
        wanted = {"embedding": wanted["splade"]}
    is_vector = "modules.json" in FAMILIES[family][2] or family == "colbert"
    compare(family, folder, spec, inputs, {name: rows for name, rows in wanted.items() if name != "splade" and (name == "embedding") == is_vector})


def check(family, folder):
    config, weights = make(family, folder, seed=1 + len(family))
    spec = os.path.join(folder, "spec.attn")
    call(["attn", "import", folder, "-o", spec])
    call(["attn", "fmt", "--check", spec])
    table = subprocess.run(["attn", "check", spec, "--weights", folder], capture_output=True, text=True)
    assert table.returncode == 0 and "tensors of the model are bound" in table.stdout, table.stdout + table.stderr
    assert "warning" not in table.stderr, table.stderr
    rng, w = np.random.default_rng(7), {name: value.astype(np.float64) for name, value in weights.items()}
    if "architecture" in config:
        inputs = {"image": rng.standard_normal((BATCH, 3, 32, 32)).astype(np.float32)}
        return compare(family, folder, spec, inputs, timm(config, w, inputs["image"]))
    if config["model_type"] == "sam":
        inputs = {"image": rng.standard_normal((BATCH, 3, 40, 40)).astype(np.float32)}
        return compare(family, folder, spec, inputs, sam(config, w, inputs["image"]))
    if config["model_type"] in ("swin", "swinv2"):
        inputs = {"image": rng.standard_normal((BATCH, 3, 64, 64)).astype(np.float32)}
        return compare(family, folder, spec, inputs, swin(config, w, inputs["image"]))
    if config["model_type"] in pyramids.TWINS:
        side = pyramids.side_of(config, FAMILIES[family][2])
        inputs = {"image": rng.standard_normal((BATCH, 3, side, side)).astype(np.float32)}
        return compare(family, folder, spec, inputs, pyramids.TWINS[config["model_type"]](config, w, **inputs))
    if check_own := (vit_kin.TWINS | depths.TWINS | sounds.TWINS | parakeets.TWINS).get(config["model_type"]):
        inputs, wanted = check_own(config, w, FAMILIES[family][2], rng)
        return compare(family, folder, spec, inputs, wanted)
    if config["model_type"] == "dinov3_vit" or "_model" in config["model_type"]:
        return check_tower(family, folder, spec, config, w, rng)
    if config["architectures"] == ["T5EncoderModel"] or config["model_type"].startswith("deberta") or config["model_type"] in KINDS and (
            config["model_type"] != "bert" or family in ("splade", "colbert")):
        return check_relative(family, folder, spec, config, w, rng)
    if config["model_type"] in VITS:
        processor = FAMILIES[family][2].get("preprocessor_config.json", {})
        side = processor.get("crop_size", {}).get("height", config["image_size"])
        inputs = {"image": rng.standard_normal((BATCH, 3, side, side)).astype(np.float32)}
        return compare(family, folder, spec, inputs, vit(config, w, inputs["image"]))
    if config["model_type"] == "vision-encoder-decoder":
        inputs = {"token": rng.integers(0, 97, (BATCH, 13), dtype=np.int32), "image": rng.standard_normal((BATCH, 3, 32, 32)).astype(np.float32)}
        return compare(family, folder, spec, inputs, trocr(config, w, **inputs), "scores", whole=True)
    if config["model_type"] == "detr":
        return check_detr(family, folder, spec, config, w, rng)
    if config["model_type"] in ("clip", "siglip"):
        return check_clip(family, folder, spec, config, w, rng)
    if config["model_type"] in BARTS + T5S:
        inputs = {"token": rng.integers(0, 97, (BATCH, 13), dtype=np.int32)}
        if config["model_type"] == "whisper":
            inputs["mel"] = rng.standard_normal((BATCH, config["num_mel_bins"], 2 * config["max_source_positions"])).astype(np.float32)
        else:
            inputs.update(source=rng.integers(0, 97, (BATCH, LENGTH), dtype=np.int32), lengths=np.array([LENGTH, 5, 13], np.int32))
        wanted = (t5 if config["model_type"] in T5S else bart)(config, w, **inputs)
        return compare(family, folder, spec, inputs, wanted, "scores", whole=True)
    inputs = {"ids": rng.integers(0, 97, (BATCH, LENGTH), dtype=np.int32)}
    if "vocab_size" in config and config["model_type"] in ("bert", "roberta", "xlm-roberta", "distilbert", "modernbert", "nomic_bert"):
        inputs["lengths"] = np.array([LENGTH, 5, 13], np.int32)
        if config["model_type"] in ("bert", "nomic_bert"):
            inputs["segments"] = rng.integers(0, 2, (BATCH, LENGTH), dtype=np.int32)
        wanted = {"modernbert": modernbert, "nomic_bert": nomic_bert}.get(config["model_type"], bert)(config, w, **inputs)
    else:
        others = {"gpt2": gpt2, "opt": opt, "gpt_neox": gpt_neox, "llama4_text": llama4, "gemma4_text": gemma4,
                  **dict.fromkeys(FACTS, decoder), **dict.fromkeys(ONE_PART, one_part), **dict.fromkeys(NAMES, gpt)}
        wanted = others.get(config["model_type"], llama)(config, w, inputs["ids"])
        wanted = {"scores": wanted["scores"]}
    if "embedding" in wanted:  # which sentence encoders give, and nothing else
        pooling = FAMILIES[family][2].get("1_Pooling/config.json")
        is_sentence = pooling is not None
        if is_sentence and pooling["pooling_mode_cls_token"]:
            rows = wanted["hidden"][:, 0]
            wanted["embedding"] = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
        wanted = {name: rows for name, rows in wanted.items() if (name == "embedding") == is_sentence}
    compare(family, folder, spec, inputs, wanted)
    if (config.get("rope_scaling") or {}).get("long_factor"):  # where there is room for longer texts
        compare(family + "-long", folder, spec, inputs, {"scores": llama({**config, "is_long": True}, w, inputs["ids"])["scores"]},
                more=["--set", "C=64"])


def compare(family, folder, spec, inputs, wanted, entry=None, whole=False, more=()):
    text = open(spec).read()
    names = list(wanted)
    entry = entry or (names[0] if f"entry {names[0]} " in text or f"entry {names[0]}(" in text else None)
    command = ["attn", "run", spec, "--weights", folder, *more, *(["--entry", entry] if entry else [])]
    largest = 0
    for name, got in zip(names, run(command, folder, inputs, names)):
        rows = wanted[name]
        if rows.shape[:2] == (BATCH, LENGTH) and "lengths" in inputs and not whole:  # what stands behind a text's end is nobody's business
            got, rows = (np.concatenate([x[b, :n] for b, n in enumerate(inputs["lengths"])]) for x in (got, rows))
        assert np.isfinite(got).all() and np.isfinite(rows).all(), name
        largest = max(largest, np.sqrt(((got - rows) ** 2).sum() / (rows ** 2).sum()))
    lines = len(text.splitlines())
    print(f"{family}: {lines} lines, {', '.join(names)}: relative L2 {largest:.1e}")
    assert largest <= BOUND, f"{family}: {largest}"
    measured(family, largest)


def main():
    folder, *wanted = sys.argv[1:]
    for family in wanted or FAMILIES:
        check(family, os.path.join(folder, family))


if __name__ == "__main__":
    main()
