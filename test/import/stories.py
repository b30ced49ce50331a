#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checkpoint stories260K of llama2.c, as it is and as a GGUF file: imported, and gone on from a text. The tokens are those that NumPy
chooses in double precision, computing everything again for each.

usage: stories.py WEIGHTS FOLDER, where WEIGHTS has stories260K.bin and tok512.bin"""
import os
import struct
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gguf import NAMES, values_of
from gguf_file import write_gguf
from program import call
from text_models import llama

PROMPT, COUNT = "Once upon a time", 200


def read_checkpoint(path):
    """A config as Hugging Face has it, and tensors by GGUF's names: version 0 of the format, a header and the tensors in the order of run.c."""
    data = open(path, "rb").read()
    d, f, layers, heads, groups, vocabulary, length = struct.unpack("7i", data[:28])
    assert vocabulary > 0, "a classifier of its own"
    e, rest = d // heads, np.frombuffer(data, np.float32, offset=28)

    def take(*shape):
        nonlocal rest
        count = int(np.prod(shape))
        part, rest = rest[:count].reshape(shape), rest[count:]
        return part

    tensors = {"token_embd.weight": take(vocabulary, d)}
    parts = {"attn_norm": take(layers, d), "attn_q": take(layers, heads * e, d), "attn_k": take(layers, groups * e, d),
             "attn_v": take(layers, groups * e, d), "attn_output": take(layers, d, heads * e), "ffn_norm": take(layers, d),
             "ffn_gate": take(layers, f, d), "ffn_down": take(layers, d, f), "ffn_up": take(layers, f, d)}
    for name, values in parts.items():
        tensors.update({f"blk.{n}.{name}.weight": values[n] for n in range(layers)})
    tensors["output_norm.weight"] = take(d)
    config = dict(model_type="llama", architectures=["LlamaForCausalLM"], hidden_size=d, intermediate_size=f, num_hidden_layers=layers,
                  num_attention_heads=heads, num_key_value_heads=groups, vocab_size=vocabulary, max_position_embeddings=length,
                  rms_norm_eps=1e-5, rope_theta=10000.0, hidden_act="silu", tie_word_embeddings=True)
    return config, tensors


def for_twin(config, tensors):
    """By Hugging Face's names, in double precision. Neighbours turn against each other in the file, halves there."""
    exact = {}
    for name, value in tensors.items():
        theirs, value = name, value.astype(np.float64)
        for hugging, ours in NAMES.items():
            if theirs.startswith("blk.") and hugging != "mlp.gate_up_proj":
                theirs = theirs.replace(f".{ours}.", f".{hugging}.")
        if ".attn_q." in name or ".attn_k." in name:
            heads = config["num_attention_heads" if ".attn_q." in name else "num_key_value_heads"]
            value = value.reshape(heads, -1, 2, value.shape[1]).swapaxes(1, 2).reshape(value.shape)
        exact[theirs.replace("blk.", "model.layers.").replace("token_embd", "model.embed_tokens").replace("output_norm", "model.norm")] = value
    return exact


def read_vocabulary(path):
    """The tokens of llama2.c, as GGUF has them of SentencePiece: scores, kinds, and spaces that can be seen."""
    data, at, tokens, scores = open(path, "rb").read(), 4, [], []
    while at < len(data):
        score, size = struct.unpack_from("<fi", data, at)
        tokens.append(data[at + 8:at + 8 + size].decode("utf-8", "replace").replace(" ", "\u2581"))
        scores.append(score)
        at += 8 + size
    tokens[:3] = ["<unk>", "<s>", "</s>"]
    tokens[3:259] = [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (len(tokens) - 259)
    return {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": scores, "tokenizer.ggml.token_type": kinds,
            "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 1, "tokenizer.ggml.unknown_token_id": 0}


def main():
    weights, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    checkpoint, tokenizer = (os.path.join(weights, name) for name in ("stories260K.bin", "tok512.bin"))
    gguf, spec, other, program = (os.path.join(folder, name) for name in ("stories.gguf", "spec.attn", "gguf.attn", "stories"))
    config, tensors = read_checkpoint(checkpoint)
    write_gguf(gguf, {**values_of("llama", config), **read_vocabulary(tokenizer)}, tensors)
    call(["attn", "import", checkpoint, "-o", spec])
    call(["attn", "import", gguf, "-o", other])
    call(["attn", "compile", other, "--weights", gguf, "--embed-weights", "-o", program])
    say = lambda *words: subprocess.run(words, check=True, capture_output=True, text=True).stdout
    ids = [int(token) for token in say("attn", "tokenize", tokenizer, PROMPT, "--ids").split()]
    exact, chosen = for_twin(config, tensors), list(ids)
    while len(chosen) < len(ids) + COUNT:
        chosen.append(int(llama(config, exact, np.array([chosen]))["scores"][0, -1].argmax()))
    wanted = say("attn", "tokenize", tokenizer, "--decode", " ".join(map(str, chosen[len(ids):])))
    rest = ["--prompt", PROMPT, "--temperature", "0", "--max-tokens", str(COUNT)]
    for command in (["attn", "run", spec, "--weights", checkpoint, "--tokenizer", tokenizer], ["attn", "run", other, "--weights", gguf], [program]):
        said = say(*command, *rest)
        assert said.strip() == wanted.strip(), f"{command}\n{said}\n--- but NumPy:\n{wanted}"
    print(f"{COUNT} tokens as in double precision:", PROMPT + said.rstrip("\n"))


if __name__ == "__main__":
    main()
