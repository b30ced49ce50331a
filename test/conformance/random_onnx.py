# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs of ONNX's Attention operator through Attn, against the operator in float64.

    /usr/bin/python3 test/conformance/random_onnx.py [--count N] [--seed N] [--attn PATH]

Attributes, optional inputs and outputs, types and shapes are drawn, with axes of one element and tails among them. What is
computed is compared with float32 accuracy; prints each graph that differs with what it is, then `N passed, N failed`.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

import run_onnx

TYPES = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16, np.bool_: TensorProto.BOOL, np.int64: TensorProto.INT64}


def attention(inputs, attributes, opset):
    """All four outputs of the operator, as its documentation says, in float64."""
    q, k, v = (inputs[name].astype(np.float64) for name in "QKV")
    flat = q.ndim == 3
    if flat:
        def heads(x, count):
            return x.reshape(x.shape[0], x.shape[1], count, -1).transpose(0, 2, 1, 3)
        q, k, v = heads(q, attributes["q_num_heads"]), heads(k, attributes["kv_num_heads"]), heads(v, attributes["kv_num_heads"])
    offset = 0
    if "past_key" in inputs:
        offset = inputs["past_key"].shape[2]
        k = np.concatenate([inputs["past_key"].astype(np.float64), k], 2)
        v = np.concatenate([inputs["past_value"].astype(np.float64), v], 2)
    shared = q.shape[1] // k.shape[1]
    # [batch, head, query, key]
    raw = q @ np.repeat(k, shared, 1).swapaxes(2, 3) * attributes.get("scale", q.shape[3] ** -0.5)
    cap = attributes.get("softcap", 0)
    biased = capped = cap * np.tanh(raw / cap) if cap else raw
    live = np.ones(raw.shape, bool)
    _, _, i, j = np.ogrid[tuple(slice(size) for size in raw.shape)]
    if "attn_mask" in inputs:
        mask = inputs["attn_mask"]
        missing = raw.shape[3] - mask.shape[-1]
        if missing and opset >= 24:
            live = live & (j < mask.shape[-1])
            mask = np.concatenate([mask, np.zeros(mask.shape[:-1] + (missing,), mask.dtype)], -1)
        if mask.dtype == bool:
            live = live & mask
        else:
            biased = capped + mask.astype(np.float64)
            live = live & (mask != -np.inf)
    if "nonpad_kv_seqlen" in inputs:
        count = inputs["nonpad_kv_seqlen"].reshape(-1, 1, 1, 1)
        live = live & (j < count)
        offset = count - raw.shape[2]
    if attributes.get("is_causal"):
        live = live & (j <= i + offset)
    left, right = attributes.get("left_window_size", -1), attributes.get("right_window_size", -1)
    if left >= 0:
        live = live & (i + offset - left <= j)
    if right >= 0:
        live = live & (j <= i + offset + right)
    scores = np.where(live, biased, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    weights /= np.maximum(weights.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
    y = weights @ np.repeat(v, shared, 1)
    if flat:
        y = y.transpose(0, 2, 1, 3).reshape(*y.shape[::2], -1)
    return y, k, v, (raw, capped, scores, weights)[attributes.get("qk_matmul_output_mode", 0)]


def draw(choose):
    """Inputs by name, attributes, opset and which outputs are wanted."""
    values = np.random.default_rng(choose.randrange(2**32))
    opset = choose.choice([23, 24, 25])
    dtype = choose.choice([np.float32, np.float32, np.float16])
    b, g, shared, t, n, e, f = (choose.choice(sizes) for sizes in ([1, 2, 3], [1, 2, 3], [1, 1, 2, 4], [1, 2, 5, 17], [1, 3, 8, 19, 70], [1, 4, 8, 20], [1, 8, 12, 33]))
    h = g * shared

    def floats(*shape):
        return values.standard_normal(shape).astype(dtype)

    attributes, flat = {}, choose.random() < 0.4
    if flat:
        inputs = {"Q": floats(b, t, h * e), "K": floats(b, n, g * e), "V": floats(b, n, g * f)}
        attributes.update(q_num_heads=h, kv_num_heads=g)
    else:
        inputs = {"Q": floats(b, h, t, e), "K": floats(b, g, n, e), "V": floats(b, g, n, f)}
    keys = n
    cache = choose.choice(["none", "none", "past", "lengths"])
    if cache == "past":
        past = choose.choice([1, 4, 13])
        inputs.update(past_key=floats(b, g, past, e), past_value=floats(b, g, past, f))
        keys += past
    elif cache == "lengths" and opset >= 24:
        inputs["nonpad_kv_seqlen"] = values.integers(0, keys + 1, b)
    if choose.random() < 0.6:
        covered = choose.randint(1, keys) if opset >= 24 and choose.random() < 0.3 else keys
        shape = [choose.choice([1, size]) for size in (b, h, t)] + [covered]
        shape = shape[choose.randrange(4):]
        if choose.random() < 0.5:
            inputs["attn_mask"] = values.random(shape) < 0.7
        else:
            mask = floats(*shape)
            mask[values.random(shape) < 0.2] = -np.inf
            inputs["attn_mask"] = mask
    if choose.random() < 0.4:
        attributes["is_causal"] = 1
    if choose.random() < 0.3:
        attributes["scale"] = choose.choice([0.25, 1.0, 0.01])
    if choose.random() < 0.4:
        attributes["softcap"] = choose.choice([0.5, 3.0])
    if opset == 25:
        for side in ("left_window_size", "right_window_size"):
            if choose.random() < 0.4:
                attributes[side] = choose.choice([-1, 0, 2, 9])
    outputs = [True, choose.random() < 0.4, choose.random() < 0.4, choose.random() < 0.5]
    if outputs[3]:
        attributes["qk_matmul_output_mode"] = choose.randrange(4)
    return inputs, attributes, opset, outputs


def check(attn, number, seed):
    """None, or what differs."""
    inputs, attributes, opset, wanted = draw(random.Random(f"{seed} {number}"))
    dtype = inputs["Q"].dtype
    order = ["Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"]
    names = [name if want else "" for name, want in zip(["Y", "present_key", "present_value", "scores"], wanted)]
    node = helper.make_node("Attention", [name if name in inputs else "" for name in order], names, **attributes)

    def value(name, array):
        return helper.make_tensor_value_info(name, TYPES[array.dtype.type], array.shape)

    given = [name for name in order if name in inputs]
    expected = [(name, array.astype(dtype)) for name, array in zip(names, attention(inputs, attributes, opset)) if name]
    graph = helper.make_graph([node], "random", [value(name, inputs[name]) for name in given], [value(*pair) for pair in expected])
    with tempfile.TemporaryDirectory(prefix="attn-onnx-") as temporary:
        folder = pathlib.Path(temporary)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), str(folder / "model.onnx"))
        what = f"opset {opset}, {attributes}, " + ", ".join(f"{name} {inputs[name].dtype}{list(inputs[name].shape)}" for name in given)
        what += f" -> {', '.join(name for name in names if name)}"
        try:
            run_onnx.call([attn, "import", f"{folder}/model.onnx", "-o", f"{folder}/model.attn"])
            command = [attn, "run", f"{folder}/model.attn", "--threads=1"]
            for name in given:
                np.save(folder / f"{name}.npy", inputs[name])
                command += ["--input", f"{name}={folder}/{name}.npy"]
            for name, _ in expected:
                command += ["--output", f"{name}={folder}/{name}.npy"]
            run_onnx.call(command)
            # Two roundings of float16 in the last place, else sums of at most 70 float32 terms of size 1.
            tolerance = 2e-3 if dtype == np.float16 else 2e-5
            for name, array in expected:
                found = np.load(folder / f"{name}.npy")
                same = found.shape == array.shape and found.dtype == array.dtype
                if not same or not np.allclose(found.astype(float), array.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True):
                    off = np.argwhere(~np.isclose(found.astype(float), array.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True)) if same else []
                    place = tuple(int(i) for i in off[0]) if len(off) else ()
                    return f"{name} differs at {list(place)}: {found[place] if place else found.shape}, expected {array[place] if place else array.shape}: {what}"
        except run_onnx.Failure as failure:
            return f"{failure}: {what}"
    return None


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--attn", default=str(here.parents[1] / "build/bin/attn"))
    parser.add_argument("-j", dest="jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda number: check(arguments.attn, number, arguments.seed), range(arguments.count))
        for number, problem in enumerate(results):
            if problem:
                failed += 1
                print(f"FAILED {number}: {problem}", flush=True)
    print(f"{arguments.count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
