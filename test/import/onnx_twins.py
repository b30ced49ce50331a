#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of onnx_graphs.py, onnx_published.py and onnx_recurrent.py are imported, checked against their own weights, run, and compared with onnx_numpy.py.

usage: onnx_twins.py FOLDER [MODEL...]"""
import os
import subprocess
import sys

import numpy as np
import onnx

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
from measured import measured
import onnx_codes
import onnx_graphs
import onnx_published
import onnx_recurrent
from onnx_numpy import OPERATORS, evaluate
from program import call, run

BOUND = 1e-5
OPERATORS.update({**onnx_recurrent.OPERATORS, **onnx_codes.OPERATORS})
MODELS = {**onnx_graphs.MODELS, **onnx_published.MODELS, **onnx_recurrent.MODELS, **onnx_codes.MODELS}
SIZES = {"batch": 2, "sequence": 11, "memory": 7}


def random_input(info, rng):
    """Numbers, or whole ones below 11; masks keep at least the first place."""
    tensor = info.type.tensor_type
    shape = [d.dim_value or SIZES[d.dim_param] for d in tensor.shape.dim]
    if tensor.elem_type == onnx.TensorProto.FLOAT:
        return rng.standard_normal(shape).astype(np.float32)
    if "mask" in info.name:
        keep = rng.random(shape) < 0.7
        keep[..., 0] = True
        return keep if tensor.elem_type == onnx.TensorProto.BOOL else keep.astype(np.int64)
    return rng.integers(0, 2 if "type" in info.name else 11, shape).astype(np.int64)


def check(name, folder):
    model, most, wanted = MODELS[name]
    model = model()
    os.makedirs(folder, exist_ok=True)
    path, spec = os.path.join(folder, "model.onnx"), os.path.join(folder, "spec.attn")
    onnx.save(model, path)
    call(["attn", "import", path, "-o", spec])
    call(["attn", "fmt", "--check", spec])
    table = subprocess.run(["attn", "check", spec, "--weights", path], capture_output=True, text=True)
    assert table.returncode == 0 and "tensors of the model are bound" in table.stdout, table.stdout + table.stderr
    assert "warning" not in table.stderr, table.stderr
    text = open(spec).read()
    for part in wanted:
        assert part in text, f"{name}: there is no `{part}` in\n{text}"
    lines = len(text.splitlines())
    assert lines <= most, f"{name}: {lines} lines\n{text}"
    rng = np.random.default_rng(7)
    inputs = {info.name: random_input(info, rng) for info in model.graph.input}
    twin, largest = evaluate(model, inputs), 0
    taken = {n: v for n, v in inputs.items() if f"{n}: " in text}
    for output, got in zip(twin, run(["attn", "run", spec], folder, taken, list(twin))):
        rows = twin[output]
        assert got.shape == rows.shape, (name, output, got.shape, rows.shape)
        assert np.isfinite(got).all() and np.isfinite(rows).all(), output
        largest = max(largest, np.sqrt(((got - rows) ** 2).sum() / (rows ** 2).sum()))
    print(f"{name}: {lines} lines, {', '.join(twin)}: relative L2 {largest:.1e}")
    assert largest <= BOUND, f"{name}: {largest}"
    measured("onnx " + name, largest)


def main():
    folder, *wanted = sys.argv[1:]
    for name in wanted or MODELS:
        check(name, os.path.join(folder, name))


if __name__ == "__main__":
    main()
