#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language model inside of one that sees: its spec is that of the language model alone, but for the names of tensors.

usage: wrapped.py FOLDER"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make import make
from vit_twin import write_safetensors

# Model, the family of its language model, and what the names of the tensors become; the head's, where it has one.
WRAPPED = [("gemma3", "gemma3", {"model.": "language_model.model."}),
           ("gemma3", "gemma3", {"model.": "model.language_model."}),
           ("llava", "llama2", {"model.": "language_model.model.", "lm_head.": "language_model.lm_head."}),
           ("llava", "llama2", {"model.": "model.language_model."}),
           ("smolvlm", "llama2", {"model.": "model.text_model."}),
           ("qwen3_5", "qwen3-5", {"model.": "model.language_model."}),
           ("qwen3_5_moe", "qwen3-5-moe", {"model.": "model.language_model."})]


def spec_of(folder):
    done = subprocess.run(["attn", "import", folder], capture_output=True, text=True)
    assert done.returncode == 0, f"{folder}: {done.stderr}"
    return done.stdout, done.stderr


def plain(spec, names):
    """A spec without its head, its names and its spaces."""
    for own, wrapped in names.items():
        spec = spec.replace(wrapped.rstrip("."), own.rstrip("."))
    lines = [line for line in spec.splitlines() if not re.match(r"//|model |  weights |  ignore ", line)]
    return "".join("".join(lines).split())


def main():
    for number, (model, family, names) in enumerate(WRAPPED):
        alone, folder = os.path.join(sys.argv[1], family), os.path.join(sys.argv[1], str(number))
        config, weights = make(family, alone, 1)
        os.makedirs(folder, exist_ok=True)
        text = {key: value for key, value in config.items() if key != "architectures"}
        whole = {"model_type": model, "architectures": ["ForConditionalGeneration"], "text_config": text, "vision_config": {"hidden_size": 8}}
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(whole, file)
        for own, wrapped in names.items():
            weights = {wrapped + name[len(own):] if name.startswith(own) else name: value for name, value in weights.items()}
        weights["model.sound_tower.embed.weight" if "model.language" in str(names) else "sound_tower.embed.weight"] = weights[
            next(iter(weights))]
        write_safetensors(os.path.join(folder, "model.safetensors"), weights)
        spec, notes = spec_of(folder)
        assert plain(spec, names) == plain(spec_of(alone)[0], {}), f"{model}, {names}:\n{spec}"
        assert "sound_tower.*\"  // not of the language model" in spec and "is left out" in notes, spec + notes
        print(f"{model}: {' '.join(names.values())}")
    # A key of the text that nothing reads is one inside of `text_config`; one of pictures changes nothing.
    whole["text_config"]["temper"] = 3
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(whole, file, indent=2)
    done = subprocess.run(["attn", "import", folder], capture_output=True, text=True)
    assert done.returncode == 1 and "`text_config.temper` is `3`" in done.stderr and ", line " in done.stderr, done.stderr


if __name__ == "__main__":
    main()
