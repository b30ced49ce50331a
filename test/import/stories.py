#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checkpoint stories260K of llama2.c as a folder of Llama's: imported, and gone on from a text. The tokens are those that NumPy chooses
in double precision, computing everything again for each.

usage: stories.py WEIGHTS FOLDER, where WEIGHTS has stories260K.bin and tok512.bin"""
import json
import os
import struct
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make import write_safetensors
from program import call
from text_models import llama

PROMPT, COUNT = "Once upon a time", 200


def read_checkpoint(path):
    """A config as Hugging Face has it, and tensors by its names: version 0 of the format, a header and the tensors in the order of run.c."""
    data = open(path, "rb").read()
    d, f, layers, heads, groups, vocabulary, length = struct.unpack("7i", data[:28])
    assert vocabulary > 0, "a classifier of its own"
    e, rest = d // heads, np.frombuffer(data, np.float32, offset=28)

    def take(*shape):
        nonlocal rest
        count = int(np.prod(shape))
        part, rest = rest[:count].reshape(shape), rest[count:]
        return part

    def halves(weight, count):
        """Neighbours turn against each other there, halves in Hugging Face's form."""
        return weight.reshape(layers, count, e // 2, 2, d).swapaxes(2, 3).reshape(layers, count * e, d)

    tensors = {"model.embed_tokens.weight": take(vocabulary, d)}
    parts = {"input_layernorm": take(layers, d), "self_attn.q_proj": halves(take(layers, heads * e, d), heads),
             "self_attn.k_proj": halves(take(layers, groups * e, d), groups), "self_attn.v_proj": take(layers, groups * e, d),
             "self_attn.o_proj": take(layers, d, heads * e), "post_attention_layernorm": take(layers, d), "mlp.gate_proj": take(layers, f, d),
             "mlp.down_proj": take(layers, d, f), "mlp.up_proj": take(layers, f, d)}
    for name, values in parts.items():
        tensors.update({f"model.layers.{n}.{name}.weight": values[n] for n in range(layers)})
    tensors["model.norm.weight"] = take(d)
    config = dict(model_type="llama", architectures=["LlamaForCausalLM"], hidden_size=d, intermediate_size=f, num_hidden_layers=layers,
                  num_attention_heads=heads, num_key_value_heads=groups, vocab_size=vocabulary, max_position_embeddings=length,
                  rms_norm_eps=1e-5, rope_theta=10000.0, hidden_act="silu", tie_word_embeddings=True, bos_token_id=1, eos_token_id=1)
    return config, {name: np.ascontiguousarray(value) for name, value in tensors.items()}


def main():
    weights, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    config, tensors = read_checkpoint(os.path.join(weights, "stories260K.bin"))
    json.dump(config, open(os.path.join(folder, "config.json"), "w"))
    write_safetensors(os.path.join(folder, "model.safetensors"), tensors)
    tokenizer, spec = os.path.join(weights, "tok512.bin"), os.path.join(folder, "spec.attn")
    call(["attn", "import", folder, "-o", spec])
    ids = subprocess.run(["attn", "tokenize", tokenizer, PROMPT, "--ids"], check=True, capture_output=True, text=True).stdout
    ids = [int(token) for token in ids.split()]
    exact = {name: value.astype(np.float64) for name, value in tensors.items()}
    chosen = list(ids)
    while len(chosen) < len(ids) + COUNT:
        chosen.append(int(llama(config, exact, np.array([chosen]))["scores"][0, -1].argmax()))
    wanted = subprocess.run(["attn", "tokenize", tokenizer, "--decode", " ".join(map(str, chosen[len(ids):]))], check=True, capture_output=True,
                            text=True).stdout
    said = subprocess.run(["attn", "run", spec, "--weights", folder, "--tokenizer", tokenizer, "--prompt", PROMPT, "--temperature", "0",
                           "--max-tokens", str(COUNT)], check=True, capture_output=True, text=True).stdout
    assert said.strip() == wanted.strip(), f"{said}\n--- but NumPy:\n{wanted}"
    print(f"{COUNT} tokens as in double precision:", PROMPT + said.rstrip("\n"))


if __name__ == "__main__":
    main()
