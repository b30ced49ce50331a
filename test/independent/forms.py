# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""split, pack, slice, unpack, roll, repeat, pick, first, last, mean, relabel, resize, rotary and positions: what moves, joins, cuts and turns tensors."""
import math

import numpy as np

from sizes import Axis, Problem, Size, axis_of, size_of
from values import Tensor


def positional(call, count):
    values = [argument.value for argument in call.arguments if argument.name is None]
    if len(values) != count:
        raise Problem(f"line {call.line}: {call.function.name} takes {count} values")
    return values


def pattern_groups(text):
    """"b (y p) 1" -> [["b"], ["y", "p"], ["1"]]"""
    groups, inside = [], None
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            inside = []
        elif word == ")":
            groups.append(inside)
            inside = None
        elif inside is not None:
            inside.append(word)
        else:
            groups.append([word])
    return groups


def product_axis(axes):
    """The axis that several make up, outermost first; it is named by their product."""
    if len(axes) == 1:
        return axes[0]
    size = Size(1)
    for axis in axes:
        size = size * axis.size
    return Axis("*".join(axis.key for axis in axes), "*".join(axis.name for axis in axes),
                math.prod(axis.count for axis in axes), size)


def named_by(word, axes, frame):
    """The axis of a word of a pattern, in capital or small letters: one of `axes`, else a dim."""
    for axis in axes:
        if axis.name in (word, word.upper()) or axis.name.lower() == word:
            return axis
    for name in (word, word.upper(), word.capitalize()):
        if frame.find(name):
            return frame.axis_named(name)
    raise Problem(f"no axis is called {word}")


ONE = Axis("1", "1", 1, Size(1))


def split(frame, call):
    source, pattern = positional(call, 2)
    x = frame.model.tensor(source, frame)
    left, right = map(pattern_groups, pattern.value.split("->"))
    lifted = [axis for axis in x.axes if axis in frame.lifted]
    own = [axis for axis in x.axes if axis not in frame.lifted]
    if len(left) != len(own):
        raise Problem(f"line {call.line}: the pattern names {len(left)} axes of {x}")
    atoms = {}
    for group, axis in zip(left, own):
        if len(group) == 1 and group != ["1"]:
            atoms[group[0]] = axis
        elif len(group) > 1:
            for word in group:
                atoms[word] = named_by(word, (), frame)
            if math.prod(atoms[word].count for word in group) != axis.count:
                raise Problem(f"line {call.line}: {group} do not make up {axis.key}")
    order = [word for group in left for word in group if word != "1"]
    wanted = [word for group in right for word in group if word != "1"]
    if sorted(order) != sorted(wanted):
        raise Problem(f"line {call.line}: a side of the pattern has other words")
    data = x.data.transpose([x.place(axis) for axis in lifted + own])
    count = len(lifted)
    data = data.reshape(data.shape[:count] + tuple(atoms[word].count for word in order))
    data = data.transpose(list(range(count)) + [count + order.index(word) for word in wanted])
    axes = lifted + [ONE if group == ["1"] else product_axis([atoms[word] for word in group]) for group in right]
    return Tensor(axes, data.reshape([axis.count for axis in axes]), x.dtype)


def pack(frame, call):
    along, *parts = [argument.value for argument in call.arguments]
    axis = axis_of(along, frame)
    parts = [frame.model.tensor(part, frame) for part in parts]
    choices = []

    def choose(chosen):
        if len(chosen) == len(parts):
            total = Size(0)
            for place, part in zip(chosen, parts):
                total = total + part.axes[place].size
            others = [[a for n, a in enumerate(part.axes) if n != place] for place, part in zip(chosen, parts)]
            most = max(others, key=len)
            if total == axis.size and axis not in most and all(set(other) <= set(most) for other in others):
                choices.append(chosen)
            return
        for place in range(len(parts[len(chosen)].axes)):
            try:
                choose(chosen + [place])
            except Problem:  # sizes of two dims that are known when running
                pass

    choose([])
    if len(choices) != 1:
        raise Problem(f"line {call.line}: {len(choices)} ways to pack {parts} along {axis.key} of {axis.size}")
    chosen = choices[0]
    leader = max(range(len(parts)), key=lambda n: len(parts[n].axes))
    place = chosen[leader]
    axes = [axis if n == place else a for n, a in enumerate(parts[leader].axes)]
    laid = []
    for own, part in zip(chosen, parts):
        packed = part.axes[own]
        data = part.spread([packed if a == axis else a for a in axes])
        shape = [packed.count if a == axis else a.count for a in axes]
        laid.append(np.broadcast_to(data, shape))
    return Tensor(axes, np.concatenate(laid, place), parts[0].dtype)


def take_end(frame, call, place):
    along, source = positional(call, 2)
    x, axis = frame.model.tensor(source, frame), axis_of(along, frame)
    data = np.take(x.data, place, x.place(axis))
    return Tensor([a for a in x.axes if a != axis], data, x.dtype)


def mean(frame, call):
    if call.arguments[-1].where:
        return mean_where(frame, call)
    along, source = positional(call, 2)
    x, axis = frame.model.tensor(source, frame), axis_of(along, frame)
    return Tensor([a for a in x.axes if a != axis], x.data.mean(x.place(axis)))


def mean_where(frame, call):
    along, source = call.arguments
    x, keep = frame.model.tensor(source.value, frame), frame.model.tensor(source.where, frame)
    if keep.dtype != "bool":
        raise Problem(f"line {call.line}: kept where {keep}")
    axis = axis_of(along.value, frame)
    kept = np.broadcast_to(keep.spread(x.axes), x.data.shape)
    count = kept.sum(x.place(axis))
    total = np.where(kept, x.data, 0).sum(x.place(axis))
    return Tensor([a for a in x.axes if a != axis], np.where(count > 0, total / np.maximum(count, 1), 0))


def pick(frame, call):
    source, along = call.arguments
    x, axis = frame.model.tensor(source.value, frame), axis_of(along.value, frame)
    index = frame.model.evaluate(along.at, frame)
    place = x.place(axis)
    rest = [a for a in x.axes if a != axis]
    if isinstance(index, int):
        return Tensor(rest, np.take(x.data, index, place), x.dtype)
    if index.dtype not in ("i32", "i64") or index.data.min() < 0 or index.data.max() >= axis.count:
        raise Problem(f"line {call.line}: an index along {axis.key} that is {index}")
    new = [a for a in index.axes if a == axis or a not in x.axes]
    axes = [b for a in x.axes for b in (new if a == axis else [a])]
    data = np.empty([a.count for a in axes], x.data.dtype)
    for at in np.ndindex(*data.shape):
        where = dict(zip(axes, at))
        chosen = index.data[tuple(where[a] for a in index.axes)]
        data[at] = x.data[tuple(chosen if a == axis else where[a] for a in x.axes)]
    return Tensor(axes, data, x.dtype)


def relabel(frame, call):
    (source,) = positional(call, 1)
    x = frame.model.tensor(source, frame)
    names = {}
    for argument in call.arguments:
        if argument.name:
            old, new = frame.axis_named(argument.name), axis_of(argument.value, frame)
            x.place(old)
            if old.size != new.size:
                raise Problem(f"line {call.line}: relabel to an axis of another size")
            names[old] = new
    return x.renamed(names)


def cut(x, axis, begin, part):
    """The elements from `begin` on along an axis, as many as `part` has, which the axis is called then."""
    place = x.place(axis)
    if begin < 0 or begin + part.count > axis.count:
        raise Problem(f"elements {begin} to {begin + part.count} of {axis.key}")
    data = np.take(x.data, range(begin, begin + part.count), place)
    return Tensor([part if a == axis else a for a in x.axes], data, x.dtype)


def slice_(frame, call):
    source, what = call.arguments
    x, axis = frame.model.tensor(source.value, frame), axis_of(what.value, frame)
    begin, end = (size_of(expr, frame).constant for expr in what.span)
    part = axis_of(what.named or what.span[1], frame)
    if part.count != end - begin or begin and not what.named:
        raise Problem(f"line {call.line}: a slice called {part.key}")
    return cut(x, axis, begin, part)


def unpack(frame, call):
    source, first, *others = call.arguments
    x, axis = frame.model.tensor(source.value, frame), axis_of(first.value, frame)
    parts = [axis_of(expr, frame) for expr in [first.named] + [other.value for other in others]]
    if sum(part.count for part in parts) != axis.count:
        raise Problem(f"line {call.line}: the parts do not make up {axis.key}")
    begins = np.cumsum([0] + [part.count for part in parts])
    return tuple(cut(x, axis, int(begin), part) for begin, part in zip(begins, parts))


def roll(frame, call):
    source, *moves = call.arguments
    x = frame.model.tensor(source.value, frame)
    data = x.data
    for move in moves:
        data = np.roll(data, size_of(move.by, frame).constant, x.place(axis_of(move.value, frame)))
    return Tensor(x.axes, data, x.dtype)


def repeat(frame, call):
    source, *new = [argument.value for argument in call.arguments]
    x, axes = frame.model.tensor(source, frame), [axis_of(expr, frame) for expr in new]
    counts = tuple(axis.count for axis in axes)
    data = np.broadcast_to(x.data.reshape(x.data.shape + (1,) * len(axes)), x.data.shape + counts).copy()
    return Tensor(list(x.axes) + axes, data, x.dtype)


def bilinear_matrix(old, new, aligned=False):
    """[new, old]: what PyTorch's interpolate does without aligned corners."""
    matrix = np.zeros((new, old))
    for row in range(new):
        place = row * (old - 1) / max(new - 1, 1) if aligned else max((row + 0.5) * old / new - 0.5, 0)
        low = int(math.floor(place))
        matrix[row, min(low, old - 1)] += 1 - (place - low)
        matrix[row, min(low + 1, old - 1)] += place - low
    return matrix


def bicubic_matrix(old, new, a=-0.75, aligned=False):
    """[new, old]; places outside are those of the border."""
    matrix = np.zeros((new, old))
    for row in range(new):
        place = row * (old - 1) / max(new - 1, 1) if aligned else (row + 0.5) * old / new - 0.5
        low = math.floor(place)
        for near in range(low - 1, low + 3):
            x = abs(place - near)
            value = (a + 2) * x ** 3 - (a + 3) * x ** 2 + 1 if x <= 1 else a * x ** 3 - 5 * a * x ** 2 + 8 * a * x - 4 * a
            matrix[row, min(max(near, 0), old - 1)] += value
    return matrix


def nearest_matrix(old, new):
    """[new, old]: of each new place the old one in which it begins."""
    matrix = np.zeros((new, old))
    matrix[np.arange(new), np.arange(new) * old // new] = 1
    return matrix


def resize(frame, call):
    source, how, *aligned = [argument.value for argument in call.arguments if not argument.name]
    x = frame.model.tensor(source, frame)
    ways = {"nearest": nearest_matrix, "bilinear": bilinear_matrix, "bicubic": bicubic_matrix}
    matrix = lambda old, new: ways[how.name](old, new, **({"aligned": True} if aligned else {}))
    for argument in call.arguments:
        if argument.name:
            old, new = frame.axis_named(argument.name), axis_of(argument.value, frame)
            place = x.place(old)
            data = np.moveaxis(np.tensordot(matrix(old.count, new.count), x.data, (1, place)), 0, place)
            x = Tensor([new if axis == old else axis for axis in x.axes], data)
    return x


def frequencies(pairs, base=10000.0, factor=1.0, low_freq_factor=None, high_freq_factor=None, original_length=None):
    """[pairs]: the angle by which each pair turns from one position to the next."""
    angles = base ** (-np.arange(pairs) / pairs)
    if low_freq_factor is None:
        return angles / factor
    turns = original_length * angles / (2 * math.pi)
    share = np.clip((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
    return angles * (share + (1 - share) / factor)


def rotary(frame, call):
    source, along, style = positional(call, 3)
    x, axis = frame.model.tensor(source, frame), axis_of(along, frame)
    named = {argument.name: frame.model.evaluate(argument.value, frame) for argument in call.arguments if argument.name}
    axis = x.axes[x.place(axis)]
    features, factor = int(named.pop("features", x.axes[-1].count)), named.pop("attention_factor", 1)
    pairs = features // 2
    angles = np.outer(axis.offset + np.arange(axis.count), frequencies(pairs, **named))
    shape = [1] * len(x.axes)
    shape[x.place(axis)], shape[-1] = axis.count, pairs
    cos, sin = factor * np.cos(angles).reshape(shape), factor * np.sin(angles).reshape(shape)
    turned, others = x.data[..., :features], x.data[..., features:]
    if style.name == "half":
        first, second = turned[..., :pairs], turned[..., pairs:]
        data = np.concatenate([first * cos - second * sin, second * cos + first * sin, others], -1)
    else:
        first, second = turned[..., ::2], turned[..., 1::2]
        pair = np.stack([first * cos - second * sin, second * cos + first * sin], -1)
        data = np.concatenate([pair.reshape(turned.shape), others], -1)
    return Tensor(x.axes, data)


def positions(frame, call):
    (along,) = positional(call, 1)
    axis = axis_of(along, frame)
    return Tensor([axis], axis.offset + np.arange(axis.count), "i32")


FORMS = {"split": split, "pack": pack, "first": lambda f, c: take_end(f, c, 0), "last": lambda f, c: take_end(f, c, -1),
         "mean": mean, "relabel": relabel, "resize": resize, "rotary": rotary, "positions": positions,
         "slice": slice_, "pick": pick, "unpack": unpack, "roll": roll, "repeat": repeat}
