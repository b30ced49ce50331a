# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas of tables, scores, biases, masks and sinks, on all positions at once.

Numbers are arrays that spread over [the query's axes but the last, the key's axis]; whole numbers are int64, others double
precision. A vector has one axis of features behind those.
"""
import numpy as np

from parameters import has_bias, linear_bias, linear_weight, param
from sizes import COMPARE, Problem, axis_of
from syntax import Binary, Call, If, Index, Number, Path, Unary
from values import MAPS, Precision, Tensor


class Vector:
    def __init__(self, data, axis):
        self.data, self.axis = data, axis


class Site:
    """Where an attention stands: its frame, the positions of its pairs, by the names that they have in each frame."""

    def __init__(self, frame, axes, rows, keys, groups, named):
        """axes: the query's but the last; rows: those that `i` counts along, or None; keys: what is attended along; groups:
        (H's axis, G's, ratio); named: of several key axes, what the positions `i.y` and `j.y` are called after."""
        self.frame, self.axes, self.keys, self.named = frame, axes, keys, named
        rank = len(axes) + len(keys)
        def spread(values, place):
            shape = [1] * rank
            shape[place] = -1
            return np.asarray(values, np.int64).reshape(shape)
        self.at = {axis: spread(np.arange(axis.count), n) for n, axis in enumerate(axes)}
        self.parts = {"i": self.at, "j": {}}
        for n, (key, axis) in enumerate(zip(keys, named or keys)):
            self.parts["j"][axis] = spread(np.arange(key.count), len(axes) + n)
        self.common = {"j": row_by_row(keys, self.parts["j"].values())}
        self.rows = {"j": self.common["j"]}
        if rows is not None:
            self.rows["i"] = row_by_row(rows, [self.at[axis] for axis in rows])
            self.common["i"] = self.rows["i"] + (rows[0].offset if len(rows) == 1 else 0)
        self.groups = groups

    def names(self, frame):
        """The positions by the names that they have in `frame`, which is the attention's or gave it a hook."""
        named, axes = {}, {axis: axis for axis in self.axes}
        group, last = self.groups[1] if self.groups else None, None
        for inner in self.frame.callers(frame):
            if inner is not self.frame:
                axes = {axis: last.outer.get(name, name) for axis, name in axes.items()}
                group = last.outer.get(group, group)
            # Its own axes hide those that it is lifted over.
            order = sorted(axes.items(), key=lambda item: item[1] not in inner.lifted)
            here = {name.name.lower(): self.at[axis] for axis, name in order}
            if group is not None:
                here[group.name.lower()] = self.at[self.groups[0]] // self.groups[2]
            named.update(here)
            last = inner
        named.update(self.common)
        for axis in self.named:
            # Named in the attention's frame; a block that was given what is read here calls it as its caller does.
            name = axis
            for inner in list(self.frame.callers(frame))[:-1]:
                name = inner.outer.get(name, name)
            for letter in "ij":
                if axis in self.parts[letter]:
                    named[f"{letter}.{name.name.lower()}"] = self.parts[letter][axis]
        return named


def row_by_row(axes, positions):
    """The number of a place, of its positions along each axis."""
    number = 0
    for axis, position in zip(axes, positions):
        number = number * axis.count + position
    return number


class Formula:
    """Evaluates a formula whose names mean what they mean in `frame`, or are in `names`.

    `line` is the frame of the attention's line by which it is named; `hook` says that positions have to be in `names`."""

    def __init__(self, frame, site=None, names=None, line=None, hook=None):
        self.frame, self.site, self.names, self.line, self.hook = frame, site, names or {}, line or frame, hook
        self.model = self.frame.model

    def number(self, expr):
        value = self.value(expr)
        if isinstance(value, (Vector, Tensor)):
            raise Problem(f"line {expr.line}: a number is needed")
        return value

    def value(self, expr):
        if isinstance(expr, Number):
            return expr.value
        if isinstance(expr, Path):
            return self.named(expr)
        if isinstance(expr, Unary):
            value = self.value(expr.of)
            return np.logical_not(value) if expr.sign == "not" else lift(np.negative, value)
        if isinstance(expr, Binary):
            return self.binary(expr)
        if isinstance(expr, If):
            condition = self.number(expr.condition)
            if isinstance(condition, (bool, np.bool_)):
                return self.value(expr.yes if condition else expr.no)
            return np.where(condition, self.number(expr.yes), self.number(expr.no))
        if isinstance(expr, Index):
            return self.element(expr)
        if isinstance(expr, Call):
            return self.call(expr)
        raise Problem(f"line {expr.line}: nothing that a formula has")

    def binary(self, expr):
        left, right, sign = self.value(expr.left), self.value(expr.right), expr.sign
        if sign in ("and", "or"):
            return (np.logical_and if sign == "and" else np.logical_or)(left, right)
        if sign in COMPARE:
            is_close(left, right, Precision.fragile)
            return COMPARE[sign](left, right)
        if sign == "/":
            return lift(lambda a, b: np.divide(a, b, dtype=float), left, right)
        if sign == "**":
            return lift(lambda a, b: np.power(np.asarray(a, float), np.asarray(b, float)), left, right)
        return lift({"+": np.add, "-": np.subtract, "*": np.multiply, "%": np.mod}[sign], left, right)

    def named(self, path):
        name = path.name
        if name in self.names:
            value = self.names[name]
            if self.site and isinstance(value, Tensor):
                value = self.at_query(value)
            return as_vector(value)
        if self.site:
            if len(path.parts) == 2 and path.parts[1] == "row":
                return self.site.rows[path.parts[0]]
            dotted = ".".join(path.parts)
            if len(path.parts) == 2 and (not self.hook or path.parts[0] in self.names):
                positions = self.site.names(self.line if self.hook else self.frame)
                if dotted in positions:
                    return positions[dotted]
            if not self.hook and name in (positions := self.site.names(self.frame)):
                return positions[name]
        found = self.frame.find(name)
        if found is None and self.hook:  # a hook of a file speaks of the dims of the model
            found = self.model.root.find(name) or self.line.find(name)
        if found is None:
            if name == "causal":
                return self.site.common["j"] <= self.site.common["i"]
            if name in ("true", "false", "inf"):
                return {"true": True, "false": False, "inf": np.inf}[name]
            raise Problem(f"line {path.line}: {name} stands for nothing")
        kind, what, frame = found
        if kind == "static":
            return Formula(what.frame, self.site, line=what.frame).value(what.expr)
        if kind in ("bias", "mask"):
            return self.apply_hook(what, frame, [])
        value = self.model.evaluate(path, frame)
        return as_vector(value)

    def apply_hook(self, hook, frame, arguments, names=None):
        """What a declared hook is where the line that names it stands."""
        given = {argument.name: argument.value for argument in arguments if argument.name}
        given.update(zip([name for name, _ in hook.statics], [a.value for a in arguments if not a.name]))
        names, home = dict(names or {}), frame if frame.has_dims else self.model.root
        positions = self.site.names(self.line)
        for name in hook.positions:
            if name not in names:
                if name not in positions:
                    raise Problem(f"line {hook.line}: the attention has no position {name}")
                names[name] = positions[name]
        for name, default in hook.statics:
            if name in given:
                names[name] = self.number(given[name])
            elif default is not None:
                names[name] = Formula(home, self.site, hook=hook).number(default)
            else:
                raise Problem(f"line {hook.line}: {name} is not given")
        for captured in hook.captured:
            if captured.kind == "input":
                names[captured.name] = self.input(captured)
            elif captured.kind == "param":
                names[captured.name] = param(captured, home)
            else:
                names[captured.name] = lambda x, captured=captured: apply_vector(captured, home, x)
        return Formula(frame, self.site, names, self.line, hook).value(hook.value)

    def input(self, captured):
        """The tensor of that name where the line stands, its axes in the order of the declaration."""
        x = self.model.tensor(Path(tuple(captured.name.split("."))), self.line)
        axes = []
        for expr in captured.type.shape:
            key = [key for key in self.site.keys if isinstance(expr, Path) and expr.name == key.name and key in x.axes]
            axes.append(key[0] if key else axis_of(expr, self.line))
        lifted = [axis for axis in x.axes if axis in self.line.lifted]
        return x.in_order(lifted + axes)

    def at_query(self, x):
        """A tensor of one axis, or what it is where the query is along the axes that its block does not speak of."""
        at = tuple(self.site.at[axis] for axis in x.axes if axis in self.site.frame.lifted)
        return Vector(x.data[at], x.axes[-1]) if at and len(at) == len(x.axes) - 1 else x

    def element(self, expr):
        """`m[b, i]`: a number, or a vector where the last index is missing."""
        of = self.names.get(expr.of.name) if isinstance(expr.of, Path) else None
        if of is None:
            of = self.model.tensor(expr.of, self.frame)
        at = tuple(np.asarray(self.number(index)) for index in expr.at)
        if self.site:  # a block is the same for each element of what it is lifted over
            at = tuple(self.site.at[axis] for axis in of.axes if axis in self.site.frame.lifted) + at
        for index, axis in zip(at, of.axes):
            if index.dtype.kind == "f":
                if not (index == np.floor(index)).all():
                    raise Problem(f"line {expr.line}: an index that is no whole number")
            if index.size and not (0 <= index.min() and index.max() < axis.count):
                raise Problem(f"line {expr.line}: an index outside of {axis.key}")
        at = tuple(index.astype(np.int64) for index in at)
        if len(at) == len(of.axes) - 1:
            return Vector(of.data[at], of.axes[-1])
        return of.data[at]

    def call(self, expr):
        name = expr.function.name
        arguments = expr.arguments
        if name in self.names and callable(self.names[name]):
            return self.names[name](self.value(arguments[0].value))
        found = self.frame.find(name)
        if found and found[0] in ("bias", "mask"):
            return self.apply_hook(found[1], found[2], arguments)
        values = [self.value(argument.value) for argument in arguments]
        if name == "window":
            left, right = window_sides(arguments, values)
            i, j = self.site.common["i"], self.site.common["j"]
            return (i - left <= j) & (j <= i + right)
        if name in ("min", "max"):
            return lift(np.minimum if name == "min" else np.maximum, *values)
        if name == "abs":
            return lift(np.abs, *values)
        if name == "floor":
            return floor(values[0])
        if name == "dot":
            if values[0].axis != values[1].axis:
                raise Problem(f"line {expr.line}: `dot` of vectors of different axes")
            return dot(values[0].data, values[1].data)
        if name == "sum":
            return values[0].data.sum(-1)
        if name == "dim":
            return values[0].axis.count
        if name == "unit":
            length = np.sqrt((values[0].data ** 2).sum(-1, keepdims=True))
            return Vector(values[0].data / np.where(length == 0, 1, length), values[0].axis)
        if name in MAPS:
            return lift(lambda x: MAPS[name](np.asarray(x, float)), *values)
        raise Problem(f"line {expr.line}: no function {name}")


def window_sides(arguments, values):
    sides = dict(zip(("left", "right"), values))
    sides.update({argument.name: value for argument, value in zip(arguments, values) if argument.name})
    return sides["left"], sides["right"]


def is_close(left, right, fragile):
    """Notes where a comparison of numbers that are not whole would come out otherwise for a little difference."""
    left, right = np.asarray(left), np.asarray(right)
    if "f" in (left.dtype.kind, right.dtype.kind):
        with np.errstate(all="ignore"):
            near = np.abs(left - right) <= 1e-5 * np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-2)
        if np.any(near & (left != right)):
            fragile.append("comparison")


def floor(x):
    if np.asarray(x).dtype.kind != "f":
        return x
    whole = np.rint(x)
    if np.any((np.abs(x - whole) < 1e-5 * np.maximum(np.abs(x), 1)) & (x != whole)):
        Precision.fragile.append("floor")
    return np.floor(x).astype(np.int64) if np.all(np.isfinite(x)) else np.floor(x)


def dot(a, b):
    """Sums of products over the last axis; matrix products where one side has one query, the other one key."""
    return np.einsum("...n,...n->...", a, b)


def lift(function, *values):
    """The function of numbers, or of vectors of one axis element by element."""
    axes = {value.axis for value in values if isinstance(value, Vector)}
    if not axes:
        return function(*values)
    if len(axes) > 1:
        raise Problem("vectors of different axes")
    data = [value.data if isinstance(value, Vector) else np.asarray(value)[..., None] for value in values]
    return Vector(function(*data), axes.pop())


def as_vector(value):
    if isinstance(value, Tensor) and len(value.axes) == 1 and value.dtype == "f32":
        return Vector(value.data, value.axes[0])
    return value


def apply_vector(linear, frame, x):
    weight, taken, given = linear_weight(linear, frame)
    if [axis.count for axis in taken] != [x.axis.count]:
        raise Problem(f"{linear.name} takes another axis")
    data = x.data @ weight.reshape(-1, x.axis.count).T
    if has_bias(linear, frame):
        data = data + linear_bias(linear, frame, given)
    return Vector(data, given[0])


def table(decl, frame):
    """A table: its formula at all places, rounded to f32."""
    axes, names = [], {}
    for n, (name, expr) in enumerate(decl.axes):
        axis = axis_of(expr, frame)
        shape = [1] * len(decl.axes)
        shape[n] = -1
        names[name] = (axis.offset + np.arange(axis.count)).reshape(shape)
        axes.append(axis)
    data = np.asarray(Formula(frame, names=names).number(decl.value), float)
    data = np.broadcast_to(data, [axis.count for axis in axes])
    return Tensor(axes, data.astype(np.float32))
