#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders with quantized tensors: each format is read exactly as it is defined; models are imported, checked, run, and compared with NumPy in
double precision.

usage: quantized.py FOLDER"""
import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gguf import small
from make import FAMILIES, random_weights
from measured import measured
from program import call, optimised, run
from quantized_file import awq, fp8, gptq, mxfp4, write_shards
from shapes import llama_shapes
from text_models import llama as llama_twin

BOUND = 1e-5
LESS_ONE = {"gptq2": (gptq, dict(bits=2)), "gptq3": (gptq, dict(bits=3, order=True)), "gptq4": (gptq, dict(order=True)),
            "gptq8": (gptq, dict(bits=8, group=64)), "gptq_one": (gptq, dict(group=192)), "awq": (awq, {}), "mxfp4": (mxfp4, {}),
            "blocks": (fp8, {}), "by_rows": (fp8, dict(blocks="rows", suffix="_scale")), "by_vector": (fp8, dict(blocks="vector")),
            "e5m2": (fp8, dict(kind="E5M2", blocks="one", suffix="_scale")), "listed": (fp8, dict(blocks="list")), "plain": (fp8, dict(blocks="none"))}
# The values of quantization_config, the file that holds them, and tables.
TABLES = {
    "of_gptq": (None, {}, LESS_ONE),
    "of_gptq_v2": ("config.json", dict(quant_method="gptq", checkpoint_format="gptq_v2", bits=4, sym=False, meta={"sym": [1, None]}),
                   {"kept": (gptq, dict(zeros="kept", order=True)), "kept3": (gptq, dict(bits=3, zeros="kept"))}),
    # Some say that a zero is kept less 1, and keep it as it is: in the middle there is no doubt.
    "symmetric": ("quantize_config.json", dict(sym=True, checkpoint_format="gptq"),
                  {"middle": (gptq, dict(zeros="middle")), "less": (gptq, dict(zeros="middle less one"))}),
    "small_blocks": ("config.json", dict(quant_method="fp8", weight_block_size=[64, 32]), {"e4m3": (fp8, dict(blocks="none"))}),
}


def check_tables(folder, name, rows=320, columns=192):
    """All codes with many scales, by rows of a table and as matrices of a linear map."""
    file, config, formats = TABLES[name]
    rng, folder = np.random.default_rng(len(name)), os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    tensors, tables = {}, {}
    for label, (make, arguments) in formats.items():
        _, parts, tables[label] = make(rng, (rows, columns), **arguments)
        if name == "small_blocks":  # of another size than 128 x 128
            s = rng.uniform(0.5, 1.5, (rows // 64, columns // 32)).astype(np.float32)
            parts[".weight_scale_inv"] = s
            tables[label] = (tables[label] * np.repeat(np.repeat(s, 64, 0), 32, 1).astype(np.float64)).astype(np.float32)
        tensors.update({label + suffix: value for suffix, value in parts.items()})
    if file:
        with open(os.path.join(folder, file), "w") as out:
            json.dump({"a": [1], "quantization_config": config, "b": None} if file == "config.json" else config, out)
    write_shards(folder, tensors)
    spec, labels = os.path.join(folder, "tables.attn"), list(tables)
    with open(spec, "w") as out:
        out.write(f"attn 1\nmodel Tables {{\n  dim V = {rows}, D = {columns}\n  dyn N <= {rows}\n  embedding {', '.join(labels)}: V -> D\n"
                  f"  entry rows(ids: i32[N]) -> {', '.join(f'of_{name}: [N, D]' for name in labels)} {{\n"
                  f"    return {', '.join(f'{name}(ids)' for name in labels)}\n  }}\n}}\n")
    ids = rng.permutation(rows).astype(np.int32)
    found = run(["attn", "run", spec, "--weights", folder], folder, {"ids": ids}, [f"of_{label}" for label in labels])
    for (label, wanted), got in zip(tables.items(), found):
        assert np.array_equal(got, wanted[ids], equal_nan=True), label
    print(f"{name}: {rows * columns} elements each of {', '.join(labels)} are exactly what the formats define")


MODELS = {"awq": lambda rng, shape: awq(rng, shape, spread=1 / np.sqrt(shape[1])),
          "gptq": lambda rng, shape: gptq(rng, shape, order=True, spread=1 / np.sqrt(shape[1])),
          "fp8": lambda rng, shape: fp8(rng, shape, spread=1 / np.sqrt(shape[1])),
          "mxfp4": lambda rng, shape: mxfp4(rng, shape, spread=1 / np.sqrt(shape[1]))}


def check_model(name, folder, program):
    """A folder of three shards, whose linears are quantized. How they are is not in the spec: one program takes all of them."""
    rng, folder = np.random.default_rng(len(name)), os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    biases = dict(attention_bias=True, mlp_bias=True)
    config = small("llama", "LlamaForCausalLM", rope_theta=10000.0, tie_word_embeddings=False, **biases)
    with open(os.path.join(folder, "config.json"), "w") as out:
        # AutoGPTQ writes biases of which the config knows nothing.
        told = {key: value for key, value in config.items() if name != "gptq" or key not in biases}
        json.dump({**told, "quantization_config": {"quant_method": name}}, out)
    tensors, weights = {}, random_weights(llama_shapes(config), 3)
    for key, value in weights.items():
        if "_proj.weight" not in key:
            tensors[key] = value
            continue
        _, parts, weights[key] = MODELS[name](rng, value.shape)
        tensors.update({key.removesuffix(".weight") + suffix: part for suffix, part in parts.items()})
        if name == "fp8":
            tensors[key.removesuffix("weight") + "input_scale"] = np.float32(0.1).reshape(())
    write_shards(folder, tensors, shards=3)
    spec = os.path.join(folder, "spec.attn")
    call(["attn", "import", folder, "-o", spec])
    table = subprocess.run(["attn", "check", spec, "--weights", folder], capture_output=True, text=True)
    assert table.returncode == 0 and "tensors of the model are bound" in table.stdout, table.stdout + table.stderr
    ids = np.random.default_rng(5).integers(0, 97, (3, 21), dtype=np.int32)
    if not os.path.exists(program):
        call(["attn", "compile", spec, "--precision=f32", *optimised([]), "-o", program])
        os.rename(spec, program + ".attn")
    else:
        # The names of the folders apart.
        skip = lambda path: [line for line in open(path) if not line.startswith(("// ", "  weights ", "  precision "))]
        assert skip(spec) == skip(program + ".attn"), name
    got, = run([program, "--weights", folder, "--entry", "scores"], folder, {"ids": ids}, ["scores"])
    wanted = llama_twin(config, {key: value.astype(np.float64) for key, value in weights.items()}, ids)["scores"]
    error = np.sqrt(((got - wanted) ** 2).sum() / (wanted ** 2).sum())
    print(f"{name}: relative L2 {error:.1e}")
    assert error <= BOUND, f"{name}: {error}"
    measured(f"quantized.{name}", error)


def check_experts(folder):
    """GPT-OSS with the experts in MXFP4, all of a layer in one tensor of blocks and one of scales."""
    rng, folder = np.random.default_rng(4), os.path.join(folder, "experts")
    os.makedirs(folder, exist_ok=True)
    config = {**FAMILIES["gpt-oss"][0], "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
              "layer_types": ["sliding_attention", "full_attention"], "quantization_config": {"quant_method": "mxfp4"}}
    with open(os.path.join(folder, "config.json"), "w") as out:
        json.dump(config, out)
    tensors, weights = {}, random_weights(llama_shapes(config), 3)
    for key, value in weights.items():
        if not key.endswith("_proj") or ".experts." not in key:
            tensors[key] = value
            continue
        experts, size, out_size = value.shape
        _, parts, decoded = mxfp4(rng, (experts, out_size, size), spread=1 / np.sqrt(size))
        tensors.update({key + suffix.removeprefix(".weight"): part for suffix, part in parts.items()})
        weights[key] = decoded.transpose(0, 2, 1)
    write_shards(folder, tensors, shards=2)
    spec = os.path.join(folder, "spec.attn")
    call(["attn", "import", folder, "-o", spec])
    assert "  precision bf16\n" in open(spec).read(), "MXFP4 is kept in bf16"
    ids = np.random.default_rng(5).integers(0, 97, (3, 21), dtype=np.int32)
    got, = run(["attn", "run", spec, "--precision=f32", "--entry", "scores"], folder, {"ids": ids}, ["scores"])
    wanted = llama_twin(config, {key: value.astype(np.float64) for key, value in weights.items()}, ids)["scores"]
    error = np.sqrt(((got - wanted) ** 2).sum() / (wanted ** 2).sum())
    print(f"experts in MXFP4: relative L2 {error:.1e}")
    assert error <= BOUND, error
    measured("quantized.experts", error)


def main():
    folder, = sys.argv[1:]
    for name in TABLES:
        check_tables(folder, name)
    program = os.path.join(folder, "program")
    if os.path.exists(program):
        os.remove(program)
    for name in MODELS:
        check_model(name, folder, program)
    check_experts(folder)


if __name__ == "__main__":
    main()
