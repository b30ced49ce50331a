# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random operations that move, join, cut and resize tensors, whose results may share the memory of others; all operations."""
from gen_ops import (add_param, add_positions, add_table, binary, clamped, formula_of_table, largest, linear, norm, parameter_path, rotary,
                     static_axes, unary, word_of)
from gen_scope import Value
from sizes import Problem, Size


def split_moves(scope, x=None):
    """The axes in another order; some joined to one, one cut into two."""
    rng = scope.rng
    x = x or (scope.any_value() if rng.chance(0.2) and scope.values else scope.pick_value())
    if x is None or any(word_of(scope, axis) is None for axis in x.axes):
        return None
    left, atoms = [], []
    for axis in x.axes:
        size = scope.size(axis)
        factors = [n for n in (2, 3, 4, 5, 7) if scope.is_simple(axis) and scope.is_static(axis) and size.rest % n == 0]
        if factors and rng.chance(0.25) and len(x.axes) < 5:
            outer = scope.dim_like(Size(rng.pick(factors)), without=list(x.axes) + atoms)
            inner = scope.new_dim(size.divide(scope.size(outer)), f"{axis} / {outer}")
            left.append(f"({outer.lower()} {inner.lower()})")
            atoms += [outer, inner]
        elif "*" in axis:
            left.append(word_of(scope, axis))
            atoms += axis.split("*")
        else:
            left.append(word_of(scope, axis))
            atoms += [] if axis == "1" else [axis]
    if len({atom.lower() for atom in atoms}) < len(atoms):
        return None
    order = rng.some(atoms, len(atoms))
    right, axes, n = [], [], 0
    while n < len(order):
        if n + 1 < len(order) and rng.chance(0.2) and not (scope.size(order[n]).dyn and scope.size(order[n + 1]).dyn):
            right.append(f"({order[n].lower()} {order[n + 1].lower()})")
            axes.append(f"{order[n]}*{order[n + 1]}")
            n += 2
        else:
            right.append(order[n].lower())
            axes.append(order[n])
            n += 1
    if not scope.fits(axes):
        return None
    value = scope.let(f'split({x.text}, "{" ".join(left)} -> {" ".join(right)}")', axes, x.dtype)
    scope.views.append(value)
    return unary(scope, value) if x.dtype == "f32" and rng.chance(0.5) else value


def pack(scope):
    """A parameter or another value in front of a value or behind it, along an axis of their lengths' sum."""
    rng = scope.rng
    x = scope.pick_value(lambda value: any(scope.is_simple(axis) for axis in value.axes[:-1]))
    if x is None:
        return None
    place = rng.pick([n for n, axis in enumerate(x.axes[:-1]) if scope.is_simple(axis)])
    axis, size = x.axes[place], scope.size(x.axes[place])
    extra = rng.pick([1, 1, 2, 3])
    rest = [own for n, own in enumerate(x.axes) if n != place]
    shared = rng.some([own for own in rest if scope.is_simple(own) and scope.is_static(own)], 2)
    shared = [own for own in x.axes if own in shared or own == axis]  # in the order of the value, the packed axis at its place
    name = parameter_path(scope, "tok")
    if extra == 1:
        front = "1"
    else:
        front = scope.dim_like(Size(extra), without=x.axes)
    total = f"{axis} + {extra}" if not scope.is_static(axis) else scope.new_dim(size + Size(extra), f"{axis} + {extra}")
    axes = [total if n == place else own for n, own in enumerate(x.axes)]
    packed = [front if own == axis else own for own in shared]
    if not scope.fits(axes) or not unique_packing(scope, [packed, list(x.axes)], total):
        return None
    scope.declare(f"param {name}: [{', '.join(front if own == axis else own for own in shared)}]", True)
    parts = [name, x.text]
    if rng.chance(0.4):
        parts.reverse()
    value = scope.let(f"pack({total}, {', '.join(parts)})", axes)
    scope.views.append(value)
    return norm(scope, value) if rng.chance(0.5) else value


def unique_packing(scope, parts, total):
    """Whether only one choice of an axis of each part makes up `total`."""
    sums = []
    for own in parts[0]:
        for other in parts[1]:
            rest = [set(axis for axis in parts[0] if axis != own), set(axis for axis in parts[1] if axis != other)]
            try:
                size = scope.size(own) + scope.size(other)
            except Problem:  # sizes of two dims that are known when running
                continue
            if size == scope.size(total) and (rest[0] <= rest[1] or rest[1] <= rest[0]):
                sums.append(size)
    return len(sums) == 1


def ends(scope):
    rng = scope.rng
    x = scope.any_value() if rng.chance(0.2) else scope.pick_value(lambda value: len(value.axes) > 1)
    if x is None or len(x.axes) < 2:
        return None
    axis = rng.pick(x.axes)
    if axis == "1":
        return None
    what = rng.pick(["first", "last", "mean"]) if x.dtype == "f32" and scope.is_static(axis) else rng.pick(["first", "last"])
    return scope.let(f"{what}({axis}, {x.text})", [own for own in x.axes if own != axis], x.dtype)


def relabel(scope):
    rng = scope.rng
    x = scope.any_value() if rng.chance(0.2) else scope.pick_value()
    if x is None:
        return None
    simple = [axis for axis in x.axes if scope.is_simple(axis)]
    if not simple:
        return None
    axis = rng.pick(simple)
    size = scope.size(axis)
    if size.dyn:
        other = scope.same_dim(axis, x.axes)
    else:
        other = scope.dim_like(size, without=x.axes)
    return scope.let(f"relabel({x.text}, {axis} = {other})", [other if own == axis else own for own in x.axes], x.dtype)


def new_part(scope, axes, size):
    """A dim of so many elements that no axis of the tensor is, nor one of `axes`."""
    return scope.dim_like(Size(size), without=axes)


def cut(scope):
    """Some elements of an axis, all parts of one, or an axis, or two, rolled."""
    rng = scope.rng
    x = scope.any_value() if rng.chance(0.3) and scope.values else scope.pick_value()
    own = [axis for axis in static_axes(scope, x) if scope.size(axis).rest > 1] if x else []
    if not own:
        return None
    axis = rng.pick(own)
    size = scope.size(axis).rest

    def renamed(part):
        return [part if old == axis else old for old in x.axes]

    what = rng.pick(["slice", "unpack", "roll", "roll"])
    if what == "roll":
        moved = rng.some(own, min(len(own), rng.pick([1, 2, 2, 3])))
        by = ", ".join(f"{old} by {rng.pick(['', '-'])}{rng.whole(0, 2 * scope.size(old).rest)}" for old in moved)
        value = scope.let(f"roll({x.text}, {by})", x.axes, x.dtype)
    elif what == "slice":
        begin = rng.whole(0, size - 1)
        end = rng.whole(begin + 1, size)
        part = new_part(scope, list(x.axes), end - begin)
        to = part if begin == 0 and rng.chance(0.5) else f"{end} as {part}"
        value = scope.let(f"slice({x.text}, {axis} from {begin} to {to})", renamed(part), x.dtype)
    else:
        parts, left = [], size
        while left and len(parts) < 3:
            count = left if len(parts) == 2 else rng.whole(1, left)
            parts.append(new_part(scope, list(x.axes) + parts, count))
            left -= count
        if len(parts) < 2:
            return None
        values = [Value(scope.spec.fresh("v"), renamed(part), x.dtype) for part in parts]
        scope.let_values(values, f"unpack({x.text}, {axis} as {', '.join(parts)})")
        scope.views.extend(values)
        return rng.pick(values)
    scope.views.append(value)
    return unary(scope, value) if x.dtype == "f32" and rng.chance(0.5) else value


def repeated(scope):
    """A value along one or two further axes, mostly beside another that has them."""
    rng = scope.rng
    x = scope.any_value() if rng.chance(0.3) and scope.values else scope.pick_value()
    if x is None:
        return None
    axes = list(x.axes)
    for _ in range(rng.pick([1, 1, 2])):
        axes.append(scope.static_dim(without=axes, largest=9))
    if len(set(axes)) < len(axes) or not scope.fits(axes):
        return None
    value = scope.let(f"repeat({x.text}, {', '.join(axes[len(x.axes):])})", axes, x.dtype)
    return unary(scope, value) if x.dtype == "f32" and rng.chance(0.5) else value


def integers(scope, dtypes=("i32", "i64")):
    """One of the values that hold integers; of an entry, mostly a new input."""
    found = [value for value in scope.values if value.dtype in dtypes]
    x = scope.pick_value(lambda value: len(value.axes) > 1)
    if scope.is_entry and x and (not found or scope.rng.chance(0.4)):
        axes = scope.rng.some(x.axes, scope.rng.whole(1, len(x.axes)))
        if scope.fits(axes):
            name = scope.spec.fresh("in")
            value = Value(name, axes, scope.rng.pick(dtypes))
            scope.feed(name, value)
            scope.values.append(value)
            return value
    return scope.rng.pick(found) if found else None


def whole_text(rng, text):
    """An integer of an integer."""
    n = rng.whole(1, 7)
    return rng.pick([f"{text} + {n}", f"{text} * {n} - 3", f"{text} % {n}", f"floor({text} / {n})", f"abs({text} - {n})",
                     f"min({text}, {n})", f"max({text}, {n})", f"-{text}", f"min(max({text}, -2), {n}) * {text}"])


def whole(scope):
    """Integers of integers; sometimes as f32, or as the truth values of a comparison."""
    rng = scope.rng
    x = integers(scope)
    if x is None:
        return None
    text = whole_text(rng, x.text)
    what = rng.pick(["whole", "float", "truth"])
    if what == "whole":
        return scope.let(text, x.axes, x.dtype)
    if what == "float":
        return scope.let(f"float({text})", x.axes)
    return scope.let(f"{text} {rng.pick(['==', '!=', '<', '<=', '>', '>='])} {rng.whole(-2, 5)}", x.axes, "bool")


def chosen(scope):
    """Elements of one of two values, by integers or truth values."""
    rng = scope.rng
    by = integers(scope, ("i32", "i64", "bool")) if rng.chance(0.5) else None
    by = by or rng.pick([value for value in scope.values if value.dtype in ("i32", "i64", "bool")] or [None])
    if by is None:
        return None
    x = scope.pick_value(lambda value: set(by.axes) <= set(value.axes))
    if x is None or not scope.is_fed(x) and scope.is_fed(by):
        return None
    held = by.text if by.dtype == "bool" else f"{by.text} % {rng.whole(2, 4)} == {rng.whole(0, 2)}"
    condition = rng.pick([held, f"not ({held})", f"({held}) or float({by.text}) > 2.5", f"({held}) and {held}"])
    other = rng.pick([f"{x.text} * {rng.pick(['0.5', '-2'])}", str(rng.whole(-3, 3)), f"float({by.text})"])
    branches = rng.some([x.text, other], 2)
    is_like_integers = branches[0] == f"float({by.text})" and len(by.axes) == len(x.axes)
    value = scope.let(f"if {condition} then {branches[0]} else {branches[1]}", by.axes if is_like_integers else x.axes)
    if rng.chance(0.2):
        return scope.let(f"float({condition})", by.axes)
    return value


def picked(scope):
    """Elements at a number, or at integers, which may have axes of the tensor, the picked one too, and others."""
    rng = scope.rng
    x = scope.any_value() if rng.chance(0.3) and scope.values else scope.pick_value()
    own = [axis for axis in x.axes if scope.is_simple(axis)] if x else []
    if not own:
        return None
    axis = rng.pick(own)
    size = scope.size(axis).rest if scope.is_static(axis) else None
    rest = [old for old in x.axes if old != axis]
    if rng.chance(0.2) and rest and size:
        return scope.let(f"pick({x.text}, {axis} at {rng.whole(0, size - 1)})", rest, x.dtype)
    index = integers(scope)
    if index is None or not scope.is_fed(x) and scope.is_fed(index):
        return None
    new = [old for old in index.axes if old == axis or old not in x.axes]
    axes = [part for old in x.axes for part in (new if old == axis else [old])]
    if not axes or not scope.fits(axes):
        return None
    text = rng.pick([f"{index.text} % {size}", f"min(max({index.text}, 0), {size - 1})"]) if size else \
        f"min(max({whole_text(rng, index.text)}, 0), {axis} - 1)"
    return scope.let(f"pick({x.text}, {axis} at {text})", axes, x.dtype)


def mean_where(scope):
    """The mean over what integers say, or the value itself."""
    rng = scope.rng
    x = scope.pick_value(lambda value: static_axes(scope, value) and len(value.axes) > 1)
    if x is None:
        return None
    axis = rng.pick(static_axes(scope, x))
    by = [value for value in scope.values if value.dtype in ("i32", "i64", "bool") and axis in value.axes
          and set(value.axes) <= set(x.axes) and (scope.is_fed(x) or not scope.is_fed(value))]
    keep = f"sin({x.text}) < 0.5"
    if by and rng.chance(0.7):
        keep = rng.pick([value.text if value.dtype == "bool" else f"{value.text} > 0" for value in by])
    return scope.let(f"mean({axis}, {x.text} where {keep})", [old for old in x.axes if old != axis])


WAYS = ["bicubic", "bilinear", "nearest", "bilinear, aligned", "bicubic, aligned"]


def resize_value(scope):
    """A value on another grid along one or two of its axes; the others may be known only when running."""
    rng = scope.rng
    x = scope.pick_value(lambda value: len(value.axes) > 1 and static_axes(scope, value))
    if x is None:
        return None
    target, changed = list(x.axes), []
    for axis in rng.some(static_axes(scope, x), rng.pick([1, 1, 2])):
        if axis not in target or len(changed) == len(x.axes) - 1 or "*" in axis:
            continue
        other = scope.static_dim(without=target + list(x.axes), largest=12)
        target[target.index(axis)] = other
        changed.append(f"{axis} = {other}")
    if not changed or not scope.fits(target):
        return None
    return scope.let(f"resize({x.text}, {rng.pick(WAYS)}, {', '.join(changed)})", target)


def resize(scope):
    """A parameter or a table on another grid, which may be of the same size; alone, or added to a value."""
    rng = scope.rng
    if rng.chance(0.4):
        return resize_value(scope)
    x = scope.pick_value(lambda value: static_axes(scope, value))
    target = rng.some(static_axes(scope, x), rng.whole(1, 3)) if x and rng.chance(0.5) else \
        [scope.static_dim(largest=12) for _ in range(rng.whole(2, 3))]
    if len(set(target)) < len(target) or not scope.fits(target):
        return None
    if len(target) == 1:
        target.append(scope.static_dim(without=target, largest=9))
    source, changed = list(target), []
    is_same = rng.chance(0.5)
    for axis in rng.some(target, min(len(target) - 1, rng.pick([1, 2, 2]))):
        size = scope.size(axis).rest if is_same else rng.size(20)
        other = scope.dim_like(Size(size), without=source + target)
        source[source.index(axis)] = other
        changed.append(f"{other} = {axis}")
    if not scope.fits(source):
        return None
    if rng.chance(0.7):
        name = parameter_path(scope, "grid")
        scope.declare(f"param {name}: [{', '.join(source)}]", True)
    else:
        name, indices = scope.spec.fresh("tab"), [scope.spec.fresh("t") for _ in source]
        named = ", ".join(f"{index}: {axis}" for index, axis in zip(indices, source))
        scope.declare(f"table {name}[{named}] = {formula_of_table(rng, indices, 7)}")
    grid = scope.let(f"resize({name}, {rng.pick(WAYS)}, {', '.join(changed)})", target)
    if x and set(target) <= set(x.axes) and rng.chance(0.4):
        return scope.let(f"{x.text} {rng.pick('+*')} {grid.text}", x.axes)
    scope.views.append(grid)
    return grid


OPS = [(linear, 5), (norm, 3), (unary, 4), (binary, 4), (largest, 2), (clamped, 1), (add_param, 2), (add_table, 3), (split_moves, 5), (pack, 3), (ends, 2),
       (cut, 4), (repeated, 2), (whole, 3), (chosen, 3), (picked, 3), (mean_where, 2), (relabel, 1), (resize, 3), (rotary, 2), (add_positions, 1)]
