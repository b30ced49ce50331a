# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Example models from Python give the bits that the command line writes. Usage: examples.py EXAMPLES FOLDER"""
import os
import sys

import attn
import numpy as np
from tiny import run

examples, folder = sys.argv[1:3]
os.environ.update(ATTN_CACHE_SIZE="1g", ATTN_CACHE_DIR=f"{folder}/cache")  # compiled once for both
rng = np.random.default_rng(1)
compared = 0


def compare(spec, weights, entry, inputs, **named):
    """Runs an entry both ways; `inputs` of arrays and of files."""
    global compared
    model = attn.compile(spec, weights=weights, optimize=0)
    made = getattr(model, entry)(**inputs)
    outputs = model.entries[entry].outputs
    command = ["attn", "run", "-O0", spec, "--weights", weights, "--entry", entry]
    for name, value in inputs.items():
        if isinstance(value, np.ndarray):
            np.save(f"{folder}/{name}.npy", value)
            value = f"{folder}/{name}.npy"
        command.append(f"--input={name}={value}")
    run(*command, *(f"--output={info.name}={folder}/{info.name}.npy" for info in outputs))
    for info, array in zip(outputs, made if len(outputs) > 1 else [made]):
        expected = np.load(f"{folder}/{info.name}.npy")
        assert array.dtype == expected.dtype and array.shape == expected.shape, (entry, info, array.dtype, expected.dtype)
        assert array.tobytes() == expected.tobytes(), (entry, info)
        compared += 1
    return model


def example(name, stem):
    return f"{examples}/{name}/{stem}.attn", f"{examples}/{name}/{stem}.safetensors"


def batch(model, entry, size):
    """Random numbers of the shape that the entry's picture has."""
    axes = model.entries[entry].inputs[0].axes
    return rng.standard_normal((size, *(axis.size for axis in axes[1:])), np.float32)


boot = f"{examples}/fashion-vit/boot.png"
for name, stem in (("fashion-vit", "fashion_vit"), ("fashion-swin", "fashion_swin")):
    model = compare(*example(name, stem), "classify", {"image": boot})
    compare(*example(name, stem), "classify", {"image": batch(model, "classify", 5)})
    if stem == "fashion_vit":
        assert int(model.classify(boot).argmax()) == 9  # an ankle boot
compare(*example("fashion-detr", "fashion_detr"), "detect", {"image": f"{examples}/fashion-detr/canvases.png"})
story = example("story", "story")
compare(*story, "scores", {"ids": rng.integers(0, 1024, (3, 17), np.int32)})
compare(*story, "tell", {"ids": rng.integers(0, 1024, (2, 5), np.int32)})
for entry in ("scaled", "unscaled"):
    compare(*example("self-attention", "self_attention"), entry, {"x": np.load(f"{examples}/self-attention/x.npy")})
words = {"word": rng.integers(1, 20, (3, 6), np.int32), "n": np.array([6, 4, 2], np.int32)}
compare(*example("pronounce", "pronounce_lstm"), "pronounce", words)
transformer = attn.compile(example("pronounce", "pronounce_transformer")[0], optimize=0)
taken = {info.name for info in transformer.pronounce.inputs}
compare(*example("pronounce", "pronounce_transformer"), "pronounce", {name: value for name, value in words.items() if name in taken})
print(f"{compared} outputs: the same bits")
