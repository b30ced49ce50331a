# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors with named axes in double precision, and what works on them element by element."""
import math

import numpy as np

from sizes import Problem

NUMPY = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i64": np.int64, "bool": np.bool_}


class Precision:
    """How results are kept: as they are, or rounded to f32 behind each operation, which says how much of an error is rounding."""
    rounds = False
    fragile = []  # what would come out otherwise if a number were a little larger


class Tensor:
    """`data` has an axis for each of `axes`, in double precision where the dtype is f32."""

    def __init__(self, axes, data, dtype="f32"):
        self.axes, self.dtype = tuple(axes), dtype
        data = np.asarray(data)
        if dtype == "f32":
            data = data.astype(np.float64, copy=False)
            if Precision.rounds:
                data = data.astype(np.float32).astype(np.float64)
        self.data = data
        shape = tuple(axis.count for axis in self.axes)
        if data.shape != shape:
            raise Problem(f"data of shape {data.shape} for axes {self}")
        if len(set(self.axes)) != len(self.axes):
            raise Problem(f"an axis appears twice in {self}")

    def __repr__(self):
        return self.dtype + "[" + ", ".join(f"{axis.key}={axis.count}" for axis in self.axes) + "]"

    def place(self, axis):
        if axis not in self.axes:
            raise Problem(f"{self} lacks the axis {axis.key}")
        return self.axes.index(axis)

    def has(self, axis):
        return axis in self.axes

    def in_order(self, axes):
        """The same tensor with its axes in this order."""
        if set(axes) != set(self.axes) or len(axes) != len(self.axes):
            raise Problem(f"{self} has other axes than {[axis.key for axis in axes]}")
        return Tensor(axes, self.data.transpose([self.axes.index(axis) for axis in axes]), self.dtype)

    def spread(self, axes):
        """The data with an axis of one element for each of `axes` that the tensor lacks."""
        missing = [axis for axis in self.axes if axis not in axes]
        if missing:
            raise Problem(f"{self} has an axis beside {[axis.key for axis in axes]}")
        data = self.data.transpose([self.axes.index(axis) for axis in axes if axis in self.axes])
        return data.reshape([axis.count if axis in self.axes else 1 for axis in axes])

    def renamed(self, names):
        """With each axis that `names` has called by its other name."""
        return Tensor([names.get(axis, axis) for axis in self.axes], self.data, self.dtype)


def is_number(value):
    return isinstance(value, (bool, int, float))


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def _sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


MAPS = {
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x * _sigmoid(x),
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "abs": np.abs,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
}


def combine(sign, left, right, lifted=()):
    """`left sign right`, of which one at least is a tensor; axes are matched by name.

    Axes that a block is lifted over count for nothing: the block means the same for each element of them."""
    function = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}.get(sign)
    if function is None:
        raise Problem(f"`{sign}` of tensors")
    for side in (left, right):
        if isinstance(side, Tensor) and side.dtype != "f32":
            raise Problem(f"a calculation with {side}")
    if is_number(left):
        return Tensor(right.axes, function(left, right.data))
    if is_number(right):
        return Tensor(left.axes, function(left.data, right))
    own = [[axis for axis in side.axes if axis not in lifted] for side in (left, right)]
    front = [axis for axis in lifted if axis in left.axes or axis in right.axes]
    axes = front + (own[0] if len(own[0]) >= len(own[1]) else own[1])
    return Tensor(axes, function(left.spread(axes), right.spread(axes)))
