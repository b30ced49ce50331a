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
    "floor": np.floor,
}


def common_dtype(sides):
    """What operators calculate in: one of f32, i32, i64 and bool, which do not mix; numbers take what stands beside them."""
    dtypes = {side.dtype for side in sides if isinstance(side, Tensor)}
    if dtypes == {"i32", "i64"}:
        return "i64"
    if len(dtypes) != 1:
        raise Problem(f"{sides} in one operation")
    (dtype,) = dtypes
    for side in sides:
        whole = not isinstance(side, Tensor) and side == math.floor(side)
        if not isinstance(side, Tensor) and (dtype == "bool" or dtype != "f32" and not whole):
            raise Problem(f"{side} beside {dtype}")
    return dtype


ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.mod, "**": np.power,
              "min": np.minimum, "max": np.maximum, "floor": np.floor_divide}
COMPARISONS = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
CONNECTIVES = {"and": np.logical_and, "or": np.logical_or}
KEPT = {"f32": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_}


def spread_all(sides, lifted, dtypes):
    """The axes of the side with most of them, behind those that a block is lifted over, and every side's data along them."""
    tensors = [side for side in sides if isinstance(side, Tensor)]
    own = [[axis for axis in side.axes if axis not in lifted] for side in tensors]
    front = [axis for axis in lifted if any(axis in side.axes for side in tensors)]
    axes = front + max(own, key=len)
    return axes, [side.spread(axes).astype(KEPT[dtype]) if isinstance(side, Tensor) else KEPT[dtype](side)
                  for side, dtype in zip(sides, dtypes)]


def combine(sign, left, right, lifted=()):
    """`left sign right`, of which one at least is a tensor; axes are matched by name.

    Axes that a block is lifted over count for nothing: the block means the same for each element of them. Integers wrap as NumPy's do."""
    sides = (left, right)
    dtype = common_dtype(sides)
    if sign in CONNECTIVES:
        function, result = CONNECTIVES[sign], "bool"
    elif sign in COMPARISONS:
        function, result = COMPARISONS[sign], "bool"
    else:
        function, result = ARITHMETIC[sign], dtype
    allowed = {"bool": ("and", "or", "==", "!="), "f32": (*COMPARISONS, "+", "-", "*", "/", "**", "min", "max")}
    if sign not in allowed.get(dtype, (*COMPARISONS, "+", "-", "*", "%", "min", "max", "floor")):
        raise Problem(f"{sign} of {dtype}")
    axes, data = spread_all(sides, lifted, [dtype, dtype])
    with np.errstate(over="ignore"):
        made = function(*data)
    return Tensor(axes, np.broadcast_to(made, [axis.count for axis in axes]), result)


def choose(condition, yes, no, lifted=()):
    """`if condition then yes else no`, element by element."""
    if condition.dtype != "bool":
        raise Problem(f"a condition that is {condition}")
    dtype = "f32" if is_number(yes) and is_number(no) else common_dtype((yes, no))
    axes, (*data, where) = spread_all((yes, no, condition), lifted, [dtype, dtype, "bool"])
    return Tensor(axes, np.broadcast_to(np.where(where, *data), [axis.count for axis in axes]), dtype)


def converted(x, name):
    """float(x) or int(x)"""
    if is_number(x) or x.dtype == "f32" and name == "float" or x.dtype in ("i32", "i64") and name == "int":
        return x
    if name == "float":
        return Tensor(x.axes, x.data.astype(np.float32), "f32")
    if x.dtype != "bool":
        raise Problem(f"int of {x}")
    return Tensor(x.axes, x.data.astype(np.int32), "i32")
