# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tensor of the checkpoint is which parameter."""
import math
import re

import numpy as np

from sizes import Problem, axis_of, holds, size_of
from values import Tensor


def tensor_name(decl, frame, what):
    """`what` is "weight" or "bias", or None for a param, which is called like its path."""
    binding = decl.binding
    text = binding.text if binding.kind in ("path", "split", "slice") else decl.name
    if what:
        text = text.replace("{weight|bias}", what) if "{weight|bias}" in text else f"{text}.{what}"
    text = text.replace("{n}", str(frame.layer))
    # The name of a number in braces is that number.
    return frame.prefix + re.sub(r"\{(\w+)\}", lambda found: str(frame.axis_named(found[1]).size.constant), text)


def stored(name, frame, shape):
    """The tensor of this name, which has to be of this shape, or has more or fewer axes of one element."""
    data = frame.model.weights.get(name, shape)
    if data is None:
        raise Problem(f"the checkpoint lacks {name}")
    if [n for n in data.shape if n != 1] != [n for n in shape if n != 1]:
        raise Problem(f"{name} is {data.shape} in the checkpoint, not {tuple(shape)}")
    return data.reshape(shape)


def sizes(axes):
    return [axis.count for axis in axes]


def given_axes(decl, frame):
    """The axes that a part of a packed tensor gives, or has."""
    return [axis_of(expr, frame) for expr in (decl.given if decl.kind == "linear" else decl.type.shape)]


class Packing:
    """Where the parts of a packed tensor are: {part: rows}, and the axes outside of all parts.

    Words of the binding that name no part are those axes."""

    def __init__(self, decl, frame):
        siblings = {item.name.split(".")[-1]: item for item in frame.declarations.values()
                    if item.kind == decl.kind and item.binding.kind == "split" and item.binding.text == decl.binding.text}
        parts = [word for word in decl.binding.parts if word in siblings]
        outside = len(decl.binding.parts) - len(parts)
        axes = {word: given_axes(siblings[word], frame) for word in parts}
        rows = {word: math.prod(sizes(axes[word][outside:])) for word in parts}
        self.around = math.prod(sizes(axes[parts[0]][:outside]))
        self.rows = self.around * sum(rows.values())
        own = decl.name.split(".")[-1]
        self.begin = sum(rows[word] for word in parts[:parts.index(own)])
        self.count = rows[own]

    def part(self, packed):
        """[rows of all parts, ...] -> the rows of this one, in the order of its axes."""
        packed = packed.reshape([self.around, -1, *packed.shape[1:]])
        rows = packed[:, self.begin:self.begin + self.count]
        return rows.reshape(-1, *packed.shape[2:])


class Rows:
    """The rows of a tensor that a binding `slice` says. Where it does not say of how many, the tensor ends where the last of its slices does."""

    def __init__(self, decl, frame):
        def number(expr):
            return size_of(expr, frame).constant
        begin, end, of = decl.binding.rows
        ends = [number(item.binding.rows[1]) for item in frame.declarations.values() if hasattr(item, "binding") and item.binding
                and item.binding.kind == "slice" and item.binding.text == decl.binding.text]
        self.begin, self.end = number(begin), number(end)
        self.rows = number(of) if of else max(ends)
        if not 0 <= self.begin < self.end <= self.rows:
            raise Problem(f"{decl.name} is beyond its tensor")

    def part(self, whole):
        return whole[self.begin:self.end]


def parts_of(decl, frame):
    """Where in its tensor a parameter is; None where it is all of it."""
    kinds = {"split": Packing, "slice": Rows}
    return kinds[decl.binding.kind](decl, frame) if decl.binding.kind in kinds else None


def tied_tensor(decl, frame, shape):
    """The tensor that another parameter is, in this parameter's shape."""
    found = frame.find(decl.binding.text)
    if found is None:
        raise Problem(f"{decl.name} is tied to nothing")
    kind, other, owner = found
    if kind == "param":
        data = param(other, owner).data
    elif kind == "linear":
        data = linear_weight(other, owner)[0]
    else:
        data = embedding_rows(other, owner)[0]
    return data.reshape(shape)


def linear_weight(decl, frame):
    """[given..., taken...]"""
    taken = [axis_of(expr, frame) for expr in decl.taken]
    given = [axis_of(expr, frame) for expr in decl.given]
    rows, columns = math.prod(sizes(given)), math.prod(sizes(taken))
    if decl.binding.kind == "tied":
        return tied_tensor(decl, frame, sizes(given + taken)), taken, given
    packing = parts_of(decl, frame)
    if packing:
        rows = packing.rows
    shape = [rows, columns]
    if decl.binding.layout == "conv1d":
        shape = [columns, rows]
    elif len(taken) == 3:  # a convolution on patches
        shape = [rows] + sizes(taken)
    data = stored(tensor_name(decl, frame, "weight"), frame, shape)
    data = (data.T if decl.binding.layout == "conv1d" else data).reshape(rows, columns)
    if packing:
        data = packing.part(data)
    return data.reshape(sizes(given + taken)), taken, given


def has_bias(decl, frame):
    return decl.bias and (decl.bias_if is None or holds(decl.bias_if, frame))


def linear_bias(decl, frame, given):
    packing = parts_of(decl, frame)
    name = f"{frame.prefix}{decl.name}.bias" if decl.binding.kind == "tied" else tensor_name(decl, frame, "bias")
    data = stored(name, frame, [packing.rows if packing else math.prod(sizes(given))])
    return (packing.part(data) if packing else data).reshape(sizes(given))


def param(decl, frame):
    axes = [axis_of(expr, frame) for expr in decl.type.shape]
    if decl.binding.kind == "tied":
        return Tensor(axes, tied_tensor(decl, frame, sizes(axes)))
    if decl.binding.kind == "split":
        packing = Packing(decl, frame)
        data = packing.part(stored(tensor_name(decl, frame, None), frame, [packing.rows]))
    elif decl.binding.kind == "slice":
        rows = Rows(decl, frame)
        data = rows.part(stored(tensor_name(decl, frame, None), frame, [rows.rows] + sizes(axes)[1:]))
    else:
        data = stored(tensor_name(decl, frame, None), frame, sizes(axes))
    return Tensor(axes, data.reshape(sizes(axes)))


def embedding_rows(decl, frame):
    """[rows, the axes of a row]"""
    (rows,) = [axis_of(expr, frame) for expr in decl.taken]
    given = [axis_of(expr, frame) for expr in decl.given]
    if decl.binding.kind == "tied":
        return tied_tensor(decl, frame, sizes([rows] + given)), given
    if decl.binding.kind == "slice":
        part = Rows(decl, frame)
        return part.part(stored(tensor_name(decl, frame, "weight"), frame, [part.rows] + sizes(given))), given
    data = stored(tensor_name(decl, frame, "weight"), frame, sizes([rows] + given))
    return data, given


def read_all(frame):
    """Reads every parameter that a frame declares: a checkpoint has those that nothing applies, too."""
    for decl in frame.declarations.values():
        if decl.kind == "linear":
            _, _, given = linear_weight(decl, frame)
            if has_bias(decl, frame):
                linear_bias(decl, frame, given)
        elif decl.kind == "param":
            param(decl, frame)
        elif decl.kind == "embedding":
            embedding_rows(decl, frame)
        elif decl.kind in ("layernorm", "rmsnorm", "l2norm"):
            norm_parameters(decl, frame)
        elif decl.kind in ("score", "bias", "mask") and frame.tag:
            for captured in decl.captured:
                if captured.kind == "linear":
                    linear_weight(captured, frame)
                elif captured.kind == "param":
                    param(captured, frame)


def norm_parameters(decl, frame):
    """The axes of a norm, then its weights and biases, 1 and 0 where it has none."""
    axes = [axis_of(expr, frame) for expr in decl.axes]
    def rows(what, otherwise):
        if what in decl.without or decl.kind == "l2norm" or (what, decl.kind) == ("bias", "rmsnorm"):
            return Tensor(axes, np.full(sizes(axes), otherwise, np.float64))
        return Tensor(axes, stored(tensor_name(decl, frame, what), frame, sizes(axes)))
    return axes, rows("weight", 1), rows("bias", 0)


def apply_linear(decl, frame, x):
    weight, taken, given = linear_weight(decl, frame)
    places = [x.place(axis) for axis in taken]
    data = np.tensordot(x.data, weight, (places, list(range(len(given), weight.ndim))))
    axes = [axis for axis in x.axes if axis not in taken] + given
    if has_bias(decl, frame):
        data = data + linear_bias(decl, frame, given)
    return Tensor(axes, data)


def apply_norm(decl, frame, x):
    axes, scale, shift = norm_parameters(decl, frame)
    eps = frame.model.evaluate(decl.eps, frame) if decl.eps else {"layernorm": 1e-5, "rmsnorm": 2.0 ** -23, "l2norm": 1e-12}[decl.kind]
    places = tuple(x.place(axis) for axis in axes)
    data = x.data - x.data.mean(places, keepdims=True) if decl.kind == "layernorm" else x.data
    if decl.kind == "l2norm":
        data = data / np.maximum(np.sqrt((data ** 2).sum(places, keepdims=True)), eps)
    else:
        data = data / np.sqrt((data ** 2).mean(places, keepdims=True) + eps)
    offset = frame.model.evaluate(decl.offset, frame) if decl.offset else 0
    normed = Tensor(x.axes, data * (offset + scale.spread(x.axes)) + shift.spread(x.axes))
    return normed.in_order([axis for axis in x.axes if axis not in axes] + axes)  # as after a linear map


def apply_embedding(decl, frame, ids):
    """ids: [...] of whole numbers -> [..., the axes of a row]."""
    if ids.dtype not in ("i32", "i64"):
        raise Problem(f"an embedding of {ids}")
    data, given = embedding_rows(decl, frame)
    return Tensor(list(ids.axes) + given, data[ids.data])
