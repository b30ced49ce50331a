#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time grows as what is read does: eight times the nodes of an ONNX graph, or the declarations of a spec, take about eight times as
long, where a loop in a loop would take 64 times. Times are those of the processor; the bound lies in the middle.

usage: growth.py FOLDER [WORD], where a word chooses cases"""
import os
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper


def chain(kind, count, **attributes):
    return [helper.make_node(kind, ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"], **attributes) for i in range(count)]


def binary(kind, count):
    return [helper.make_node(kind, ["x" if i == 0 else f"v{i - 1}", "x"], [f"v{i}"]) for i in range(count)]


def star(count):
    """Many readers of one value, and their sum."""
    nodes = [helper.make_node("Relu", ["x"], [f"r{i}"]) for i in range(count // 2)]
    return nodes + [helper.make_node("Add", [f"r{i}", f"v{i - 1}" if i > 1 else "r0"], [f"v{i}"]) for i in range(1, count // 2)]


def units(count):
    """Small layers of two, each with a number of its own."""
    nodes, weights = [], []
    for i in range(count // 2):
        before = "x" if i == 0 else f"v{2 * i - 1}"
        nodes.append(helper.make_node("Relu", [before], [f"v{2 * i}"]))
        nodes.append(helper.make_node("Mul", [f"v{2 * i}", f"c{i // 2}"], [f"v{2 * i + 1}"]))
        if i % 2 == 0:
            weights.append(numpy_helper.from_array(np.float32(1 + i), f"c{i // 2}"))
    return nodes, weights


def save(path, nodes, weights=(), outputs=()):
    value = lambda name, shape: helper.make_tensor_value_info(name, 1, shape)
    nodes = [*nodes, helper.make_node("MatMul", [nodes[-1].output[0], "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", ["b", 4])], [value(name, None) for name in ["y", *outputs]],
                              [numpy_helper.from_array(np.eye(4, dtype=np.float32), "w"), *weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)


def spec(lines, parameters=""):
    return f"attn 1\nmodel M {{\n  dim D = 4\n{parameters}  entry e(x: f32[D]) -> [D] {{\n{lines}  }}\n}}\n"


def lets(count):
    return spec("".join(f"    let v{i} = {f'v{i - 1}' if i else 'x'} + x\n" for i in range(count)) + f"    return v{count - 1}\n")


def parameters(count):
    terms = "".join(f"    let v{i} = {f'v{i - 1}' if i else 'x'} + p{i}\n" for i in range(count))
    return spec(terms + f"    return v{count - 1}\n", "".join(f"  param p{i}: [D]\n" for i in range(count)))


def operations(count):
    """Sums of a hundred, since a longer one is nested too deeply."""
    sums = "".join(f"    let v{i} = {f'v{i - 1}' if i else 'x'}{' + x' * 100}\n" for i in range(count // 100))
    return spec(sums + f"    return v{count // 100 - 1}\n")


GRAPHS = {
    "identity": (20000, lambda n: (chain("Identity", n),)),
    "cast": (20000, lambda n: (chain("Cast", n, to=1),)),
    "dropout": (20000, lambda n: (chain("Dropout", n),)),
    "relu": (8000, lambda n: (chain("Relu", n),)),
    "add": (6000, lambda n: (binary("Add", n),)),
    "star": (6000, lambda n: (star(n),)),
    "units": (3000, units),
    "outputs": (3000, lambda n: (chain("Relu", n), (), [f"v{i}" for i in range(0, n - 1)])),
}
SPECS = {"lets": (10000, lets), "parameters": (8000, parameters), "operations": (20000, operations)}


most = 22  # times as long


def seconds(command):
    """Of the processor. A spec is right; of some graphs it is said that they have too many outputs."""
    child = os.fork()
    if child == 0:
        nothing = os.open("/dev/null", os.O_RDWR)
        os.dup2(nothing, 1), os.dup2(nothing, 2)
        os.execvp(command[0], command)
    _, status, used = os.wait4(child, 0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) in ((0,) if command[1] == "check" else (0, 1)), f"{command}: {status}"
    return used.ru_utime


def main():
    os.chdir(sys.argv[1])
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    open("empty.attn", "w").write(lets(1))
    save("empty.onnx", chain("Relu", 1))
    for table, verb, suffix in ((GRAPHS, "import", "onnx"), (SPECS, "check", "attn")):
        base = min(seconds(["attn", verb, f"empty.{suffix}"]) for _ in range(2))
        for name, (count, make) in table.items():
            if word not in name:
                continue
            times = []  # of a size, and of eight times that: 8 to 1 where time grows as the size does, 64 to 1 as its square
            for n in (count // 2, 4 * count):
                path = f"{name}{n}.{suffix}"
                save(path, *make(n)) if suffix == "onnx" else open(path, "w").write(make(n))
                times.append(seconds(["attn", verb, path]) - base)
            for attempt in range(4):  # the least of a few, where the machine is not quiet
                ratio = times[1] / max(times[0], 0.05)
                if ratio < most:
                    break
                times = [min(time, seconds(["attn", verb, f"{name}{n}.{suffix}"]) - base) for time, n in zip(times, (count // 2, 4 * count))]
            print(f"{name}: {times[0]:.2f} s, {times[1]:.2f} s, {ratio:.1f} times", flush=True)
            assert ratio < most and times[1] < 10, name
    print("time grows as what is read does")


if __name__ == "__main__":
    main()
