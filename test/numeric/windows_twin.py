#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows, borders, reductions and maps along axes against torch's convolutions and pools, in double precision.

Each case is a random choice of sizes, strides, borders, dilations, layouts, weights and inputs. The seed is printed, and
the case that differs.
"""
import argparse
import math
import os
import sys

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measured import measured
from multihead_twin import run


def between(rng, least, most):
    return int(rng.integers(least, most + 1))


def normal(rng, *shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def exact(value):
    return torch.from_numpy(np.asarray(value, np.float64))


class Windows:
    """Windows along axes `names`, as a spec and as torch has them."""

    def __init__(self, rng, names, dilate=True):
        self.names = names
        self.pad, self.dilation = between(rng, 0, 2), between(rng, 1, 2) if dilate else 1
        self.kernel = [between(rng, 1, 4) for _ in names]
        self.strides = [between(rng, 1, 3) for _ in names]
        spans = [(k - 1) * self.dilation + 1 for k in self.kernel]
        self.sizes = [max(between(rng, 1, 14), span - 2 * self.pad) for span in spans]
        self.counts = [(n + 2 * self.pad - span) // s + 1 for n, span, s in zip(self.sizes, spans, self.strides)]
        self.places = [f"P{name}" for name in names]

    def dims(self):
        entries = [f"{name} = {n}, {name}2 = {count}, P{name} = {k}" for name, n, count, k in
                   zip(self.names, self.sizes, self.counts, self.kernel)]
        return "  dim " + ", ".join(entries) + "\n"

    def call(self, x, more=""):
        axes = [f"{name} = {name}2 by {stride} as P{name}" for name, stride in zip(self.names, self.strides)]
        return f"windows({x}, {', '.join(axes)}, pad = {self.pad}, dilation = {self.dilation}{more})"

    def torch(self):
        return {"stride": self.strides, "padding": self.pad, "dilation": self.dilation}


def layout(rng, names):
    """Axes of a picture: channels last, or first."""
    last = bool(rng.integers(0, 2))
    return last, ["B", *names, "C"] if last else ["B", "C", *names]


def stored(value, last):
    """[B, C, ...] as the spec's input has it."""
    return np.moveaxis(value, 1, -1).copy() if last else value


def channels_last(value):
    return np.moveaxis(value.numpy(), 1, -1)


def convolution(rng):
    names = ["Y", "X"][: between(rng, 1, 2)]
    w, (last, axes) = Windows(rng, names), layout(rng, names)
    batch, channels, outputs = between(rng, 1, 3), between(rng, 1, 40), between(rng, 1, 70)
    bias = bool(rng.integers(0, 2))
    x = normal(rng, batch, channels, *w.sizes)
    weights = {"conv.weight": normal(rng, outputs, channels, *w.kernel, scale=1 / math.sqrt(channels * math.prod(w.kernel)))}
    if bias:
        weights["conv.bias"] = normal(rng, outputs)
    y = [F.conv1d, F.conv2d][len(names) - 1](exact(x), exact(weights["conv.weight"]),
                                             exact(weights["conv.bias"]) if bias else None, **w.torch())
    spec = f"""attn 1
model Case {{
  dim C = {channels}, D = {outputs}
{w.dims()}  dyn B <= 4
  linear conv: C, {', '.join(w.places)} -> D{' bias' if bias else ''}
  entry run(x: [{', '.join(axes)}]) -> y: [B, {', '.join(n + '2' for n in names)}, D] {{
    return relu(conv({w.call('x')}))
  }}
}}
"""
    return spec, weights, {"x": stored(x, last)}, {"y": channels_last(y.relu())}


def along(rng):
    """Each channel by itself, several outputs of each, or groups of channels."""
    names = ["Y", "X"][: between(rng, 1, 2)]
    w, kind = Windows(rng, names), between(rng, 0, 2)
    batch, groups = between(rng, 1, 3), between(rng, 1, 33)
    inputs = between(rng, 1, 5) if kind == 2 else 1
    outputs = between(rng, 1, 20) if kind else 1
    x = normal(rng, batch, groups * inputs, *w.sizes)
    weights = {"conv.weight": normal(rng, groups * outputs, inputs, *w.kernel, scale=1 / math.sqrt(inputs * math.prod(w.kernel))),
               "conv.bias": normal(rng, groups * outputs)}
    y = [F.conv1d, F.conv2d][len(names) - 1](exact(x), exact(weights["conv.weight"]), exact(weights["conv.bias"]),
                                             groups=groups, **w.torch())
    last = bool(rng.integers(0, 2))
    axes = ["B", *names, "C"] if last else ["B", "C", *names]
    small = " ".join(n.lower() for n in names)
    if kind < 2:
        taken, given, value = ", ".join(w.places), "D" if kind else "_", "x"
        shared = "C"
    else:
        taken, given, shared = ", ".join(["I", *w.places]), "D", "G"
        value = f'split(x, "b {small} (g i) -> b {small} g i")' if last else f'split(x, "b (g i) {small} -> b g i {small}")'
    result = ["B", *(n + "2" for n in names), shared] if last else ["B", shared, *(n + "2" for n in names)]
    wanted = y.numpy().reshape(batch, groups, outputs, *w.counts)
    if last:
        wanted = np.moveaxis(wanted, 1, -1)
        wanted = np.moveaxis(wanted, 1, -1)
    else:
        wanted = np.moveaxis(wanted, 2, -1)
    if given == "_":
        wanted = wanted[..., 0]
    else:
        result.append("D")
    spec = f"""attn 1
model Case {{
  dim G = {groups}, I = {inputs}, C = G * I, D = {outputs}
{w.dims()}  dyn B <= 4
  linear conv: {taken} -> {given} along {shared} bias
  entry run(x: [{', '.join(axes)}]) -> y: [{', '.join(result)}] {{
    return conv({w.call(value)})
  }}
}}
"""
    return spec, weights, {"x": stored(x, last)}, {"y": wanted}


def pools(rng):
    names = ["Y", "X"]
    w, (last, axes) = Windows(rng, names, dilate=False), layout(rng, names)
    w.pad = min(w.pad, min(w.kernel) // 2)  # as torch demands
    w.counts = [(n + 2 * w.pad - k) // s + 1 for n, k, s in zip(w.sizes, w.kernel, w.strides)]
    w.sizes = [max(n, k) for n, k in zip(w.sizes, w.kernel)]
    w.counts = [(n + 2 * w.pad - k) // s + 1 for n, k, s in zip(w.sizes, w.kernel, w.strides)]
    x = normal(rng, between(rng, 1, 3), between(rng, 1, 40), *w.sizes)
    highest = F.max_pool2d(exact(x), w.kernel, w.strides, w.pad)
    average = F.avg_pool2d(exact(x), w.kernel, w.strides, w.pad)
    result = ["B", "Y2", "X2", "C"] if last else ["B", "C", "Y2", "X2"]
    spec = f"""attn 1
model Case {{
  dim C = {x.shape[1]}
{w.dims()}  dyn B <= 4
  entry run(x: [{', '.join(axes)}]) -> highest: [{', '.join(result)}], average: [{', '.join(result)}], whole: [B, C] {{
    return max(PY, PX, {w.call('x', ', value = -inf')}), mean(PX, PY, {w.call('x')}), mean(Y, X, x)
  }}
}}
"""
    wanted = {"highest": stored(highest.numpy(), last), "average": stored(average.numpy(), last), "whole": exact(x).mean((2, 3)).numpy()}
    return spec, {}, {"x": stored(x, last)}, wanted


def reductions(rng):
    """Of axes known only when running, and of others; rows of -inf alone."""
    shape = [between(rng, 1, 4), between(rng, 1, 40), between(rng, 1, 150)]
    x = normal(rng, *shape)
    x[0, 0] = -np.inf
    x[rng.random(x.shape) < 0.1] = -np.inf
    finite = normal(rng, *shape)
    exactly = exact(x)

    def softmax(axis):
        most = exactly.amax(axis, keepdim=True)
        e = (exactly - most.clamp(min=-1e300)).exp()
        return torch.nan_to_num(e / e.sum(axis, keepdim=True)).numpy()

    fixed = bool(rng.integers(0, 2))
    spec = f"""attn 1
model Case {{
  {'dim' if fixed else 'dyn'} T {'=' if fixed else '<='} {shape[1]}
  dim D = {shape[2]}
  dyn B <= 4
  entry run(x: [B, T, D], y: [B, T, D]) -> a: [B, T, D], b: [B, T, D], c: i32[B, T], d: i32[B, D], e: [B], f: [D], g: [B, T], h: [T, D], i: [B, D] {{
    return softmax(D, x), softmax(T, x), argmax(D, x), argmax(T, x), sum(T, D, y), mean(B, T, y), max(D, y), min(B, y), sum(T, y)
  }}
}}
"""
    z = exact(finite)
    wanted = {"a": softmax(2), "b": softmax(1), "c": np.argmax(x, 2), "d": np.argmax(x, 1), "e": z.sum((1, 2)).numpy(),
              "f": z.mean((0, 1)).numpy(), "g": z.amax(2).numpy(), "h": z.amin(0).numpy(), "i": z.sum(1).numpy()}
    return spec, {}, {"x": x, "y": finite}, wanted


def borders(rng):
    x = normal(rng, between(rng, 1, 3), between(rng, 1, 9), between(rng, 1, 9), between(rng, 1, 20))
    edges = [[between(rng, 0, 3) for _ in range(2)] for _ in range(3)]
    value = [0.0, 1.5, -3.0][between(rng, 0, 2)]
    sums = [f"{name} + {sum(edge)}" if sum(edge) else name for name, edge in zip("TXC", edges)]
    amounts = ", ".join(f"{name} by {edge[0]}, {edge[1]}" for name, edge in zip("TXC", edges))
    spec = f"""attn 1
model Case {{
  dyn B <= 3, T <= 9
  dim X = {x.shape[2]}, C = {x.shape[3]}
  entry run(x: [B, T, X, C]) -> y: [B, {', '.join(sums)}] {{ return pad(2 * x, {amounts}, value = {value}) }}
}}
"""
    return spec, {}, {"x": x}, {"y": np.pad(2 * x, [(0, 0), *edges], constant_values=value)}


def normed(rng, weights, name, channels):
    """A frozen batch norm's parameters, and the function."""
    tensors = {"weight": 1 + normal(rng, channels, scale=0.2), "bias": normal(rng, channels, scale=0.2),
               "running_mean": normal(rng, channels, scale=0.2), "running_var": np.exp(normal(rng, channels))}
    weights |= {f"{name}.{key}": value for key, value in tensors.items()}
    return lambda x: F.batch_norm(x, *(exact(tensors[key]) for key in ("running_mean", "running_var", "weight", "bias")), eps=1e-5)


def resnet(rng):
    """The stem of a ResNet with its pool, and a bottleneck that halves the picture."""
    size, stem, width, outputs = between(rng, 20, 40), between(rng, 4, 20), between(rng, 4, 40), between(rng, 8, 60)
    x = normal(rng, between(rng, 1, 2), 3, size, size)
    weights = {"conv1.weight": normal(rng, stem, 3, 7, 7, scale=147 ** -0.5)}
    convolutions = {"layer1.0.conv1": (width, stem, 1), "layer1.0.conv2": (width, width, 3), "layer1.0.conv3": (outputs, width, 1),
                    "layer1.0.downsample.0": (outputs, stem, 1)}
    for name, (n, c, k) in convolutions.items():
        weights[f"{name}.weight"] = normal(rng, n, c, k, k, scale=(c * k * k) ** -0.5)
    norms = {name: normed(rng, weights, name, n) for name, n in (
        ("bn1", stem), ("layer1.0.bn1", width), ("layer1.0.bn2", width), ("layer1.0.bn3", outputs), ("layer1.0.downsample.1", outputs))}

    def conv(name, x, **options):
        return F.conv2d(x, exact(weights[name + ".weight"]), **options)

    y = norms["bn1"](conv("conv1", exact(x), stride=2, padding=3)).relu()
    y = F.max_pool2d(y, 3, 2, 1)
    z = norms["layer1.0.bn1"](conv("layer1.0.conv1", y)).relu()
    z = norms["layer1.0.bn2"](conv("layer1.0.conv2", z, stride=2, padding=1)).relu()
    z = norms["layer1.0.bn3"](conv("layer1.0.conv3", z))
    z = (z + norms["layer1.0.downsample.1"](conv("layer1.0.downsample.0", y, stride=2))).relu()
    half = [size]
    for _ in range(3):
        half.append((half[-1] - 1) // 2 + 1)
    spec = f"""attn 1
model ResNet {{
  dim I = 3, C = {stem}, W = {width}, D = {outputs}
  dim S = 7, R = 7, P = 3, Q = 3, P1 = 1, Q1 = 1
  dim Y0 = {size}, X0 = {size}, Y1 = {half[1]}, X1 = {half[1]}, Y = {half[2]}, X = {half[2]}, Y2 = {half[3]}, X2 = {half[3]}
  dyn B <= 2
  linear conv1: I, S, R -> C
  part bn1: FrozenBatchNorm[C: C]
  part layer1.0: Bottleneck
  block FrozenBatchNorm[C](x: [C]) -> [C] {{
    param weight, bias, running_mean, running_var: [C]
    let scale = weight * rsqrt(running_var + 1e-5)
    return x * scale + (bias - running_mean * scale)
  }}
  block Bottleneck(x: [B, Y, X, C]) -> [B, Y2, X2, D] {{
    linear conv1: C -> W
    linear conv2: W, P, Q -> W2
    linear conv3: W2 -> D
    linear downsample.0: C, P1, Q1 -> D
    dim W2 = W
    part bn1: FrozenBatchNorm[C: W]
    part bn2: FrozenBatchNorm[C: W2]
    part bn3, downsample.1: FrozenBatchNorm[C: D]
    let y = relu(bn1(conv1(x)))
    let z = relu(bn2(conv2(windows(y, Y = Y2 by 2 as P, X = X2 by 2 as Q, pad = 1))))
    let shortcut = downsample.1(downsample.0(windows(x, Y = Y2 by 2 as P1, X = X2 by 2 as Q1)))
    return relu(bn3(conv3(z)) + shortcut)
  }}
  entry run(image: [B, I, Y0, X0]) -> y: [B, Y2, X2, D] {{
    let stem = relu(bn1(conv1(windows(image, Y0 = Y1 by 2 as S, X0 = X1 by 2 as R, pad = 3))))
    return layer1.0(max(P, Q, windows(stem, Y1 = Y by 2 as P, X1 = X by 2 as Q, pad = 1, value = -inf)))
  }}
}}
"""
    return spec, weights, {"image": x}, {"y": channels_last(z)}


KINDS = [convolution, along, pools, reductions, borders, resnet]


def main(kinds, description):
    """Runs cases of each kind, functions of a generator that give what `run` takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    options, flags = parser.parse_known_args()
    os.makedirs(options.folder, exist_ok=True)
    print(f"seed {options.seed}")
    failed = 0
    for number in range(options.rounds):
        for index, kind in enumerate(kinds):
            rng = np.random.default_rng([options.seed, number, index])
            problem, error = run(options.folder, *kind(rng), flags)
            if problem:
                failed += 1
                print(f"{kind.__name__}, round {number}: {problem}")
                os.replace(f"{options.folder}/case.attn", f"{options.folder}/{kind.__name__}-{number}.attn")
            else:
                measured(kind.__name__, error)
                print(f"{kind.__name__}: {error:.1e}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(KINDS, __doc__)
