# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""softmax, sum, max, min and argmax along axes, topk and clamp: what chooses, and what weighs choices."""
import numpy as np

from blocks import apply_layer
from sizes import Problem, axis_of, size_of
from values import Precision, Tensor, combine, is_number


def along(frame, call, count=1):
    """The tensor, behind the axes that are named first."""
    *axes, source = [argument.value for argument in call.arguments[:len(call.arguments) - count + 1]]
    return frame.model.tensor(source, frame), [axis_of(axis, frame) for axis in axes]


def softmax(frame, call):
    x, (axis,) = along(frame, call)
    place = x.place(axis)
    most = x.data.max(place, keepdims=True)
    powers = np.exp(x.data - np.where(np.isneginf(most), 0, most))
    total = powers.sum(place, keepdims=True)
    return Tensor(x.axes, np.where(total == 0, 0, powers / np.where(total == 0, 1, total)))


def reduced(function):
    """The function of all elements along axes, each of which goes."""
    def apply(frame, call):
        x, axes = along(frame, call)
        return Tensor([a for a in x.axes if a not in axes], function(x.data, tuple(x.place(axis) for axis in axes)))
    return apply


def order(x, place, count):
    """The places of the `count` largest, the largest first; of equal ones the first, a NaN being -inf."""
    keys = np.where(np.isnan(x.data), -np.inf, x.data)
    places = np.argsort(-keys, place, kind="stable")
    ranked = np.take_along_axis(keys, places, place)
    size = keys.shape[place]
    ends = np.take(ranked, range(1, min(count + 1, size)), place), np.take(ranked, range(min(count, size - 1)), place)
    with np.errstate(invalid="ignore"):
        gaps = np.abs(ends[0] - ends[1])
    if np.any((gaps > 0) & (gaps < 1e-4 * (1e-3 + np.abs(ends[0])))):  # of equal ones the order is known
        Precision.fragile.append("topk")
    return np.take(places, range(count), place)


def argmax(frame, call):
    x, (axis,) = along(frame, call)
    place = x.place(axis)
    return Tensor([a for a in x.axes if a != axis], np.take(order(x, place, 1), 0, place), "i32")


def topk(frame, call):
    x, (axis,) = along(frame, call, 2)
    choices, place = axis_of(call.arguments[-1].value, frame), x.place(axis)
    if choices.count > axis.count:
        raise Problem(f"line {call.line}: {choices.count} of {axis.count}")
    places = order(x, place, choices.count)
    axes = [choices if a == axis else a for a in x.axes]
    return Tensor(axes, np.take_along_axis(x.data, places, place)), Tensor(axes, places, "i32")


def clamp(frame, call):
    x, low, high = [frame.model.side(argument.value, frame) for argument in call.arguments]
    if all(map(is_number, (x, low, high))):
        return min(max(x, low), high)
    for name, bound in (("max", low), ("min", high)):
        x = combine(name, x, bound, frame.lifted)
    return x


def route(frame, call):
    """Every expert computes all rows, of which those are taken that have chosen it."""
    path, *others = [argument.value for argument in call.arguments]
    _, stack, owner = frame.find(path.name)
    x, places, weights = [frame.model.tensor(other, frame) for other in others]
    rows = [a for a in x.axes if a in places.axes]
    (choice,) = [a for a in places.axes if a not in rows]
    places, weights = places.in_order(rows + [choice]), weights.in_order(rows + [choice])
    total = 0
    for n in range(size_of(stack.count, owner).constant):
        result = apply_layer(frame.model, stack, owner, n, x, frame, call)
        (made,) = [a for a in result.axes if a not in rows]
        share = (weights.data * (places.data == n)).sum(-1, keepdims=True)
        total = total + share * result.in_order(rows + [made]).data
    return Tensor(rows + [made], total)


CHOICES = {"route": route, "softmax": softmax, "sum": reduced(np.sum), "argmax": argmax, "topk": topk, "clamp": clamp}
EXTREMA = {"max": reduced(np.max), "min": reduced(np.min)}
