# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks applied directly, as parts and as stacks: what their dims and statics are, and how callers see their results."""
import numpy as np

from frames import Frame, Static
from sizes import Problem, axis_of, size_of
from syntax import Binary, Number, Path, spelled
from values import Tensor


def prefix_of(part, owner):
    """Where the parameters of a part are."""
    text = part.binding.text if part.binding.kind else part.name
    return owner.prefix + (text.replace("{n}", str(owner.layer)) + "." if text else "")


def apply_part(model, part, owner, values, statics, caller, expr):
    prefix = prefix_of(part, owner)
    statics = {**{a.name: Static(a.value, owner) for a in part.arguments}, **statics}
    _, block, home = owner.find(part.block)
    dims = [(name, axis_of(expr, owner)) for name, expr in part.dims]
    instance = owner.instance + (part.name,)
    return apply_block(model, block, home, values, statics, caller, expr, prefix=prefix, instance=instance, layer=owner.layer, dims=dims)


def apply_stack(model, stack, owner, values, statics, caller, expr):
    text = stack.binding.text if stack.binding.kind else stack.name if stack.shared else stack.name + ".{n}"
    if not stack.shared and "{n}" not in text:
        raise Problem(f"the layers of {stack.name} would share their tensors")
    _, block, home = owner.find(stack.block)
    for n in range(size_of(stack.count, owner).constant):
        values = [layer_of(model, stack, owner, n, text, block, home, values, statics, caller, expr)] + values[1:]
    return values[:1]


def layer_of(model, stack, owner, n, text, block, home, values, statics, caller, expr):
    """What one layer of a stack gives."""
    path = text if stack.shared else text.replace("{n}", str(n))
    layer = Frame(model, owner, [])
    layer.statics["n"] = Static(Number(n), owner)
    dims = [(name, axis_of(size, layer)) for name, size in stack.dims]
    own = {**{a.name: Static(a.value, layer) for a in stack.arguments}, **statics}
    (first,) = apply_block(model, block, home, values, own, caller, expr, prefix=f"{owner.prefix}{path}.",
                           instance=owner.instance + (stack.name, n), layer=None if stack.shared else n, dims=dims)
    return first


def apply_layer(model, stack, owner, n, row, caller, expr):
    """What layer `n` of a stack makes of one tensor."""
    text = stack.binding.text if stack.binding.kind else stack.name + ".{n}"
    _, block, home = owner.find(stack.block)
    return layer_of(model, stack, owner, n, text, block, home, [row], {}, caller, expr)


def entered(model, block, home, statics, caller, expr, prefix=None, instance=None, layer=None, dims=()):
    """The scope of a block's body before its tensors are bound; `dims` are given to it."""
    if prefix is None:
        prefix, instance, layer = caller.prefix, caller.instance + (expr.line, block.name), caller.layer
    frame = Frame(model, home, block.items, prefix, instance, layer, caller, is_block=True)
    frame.has_dims = True
    for name, axis in dims:
        frame.dims[name] = axis.renamed(name + frame.tag, name)
        frame.outer[frame.dims[name]] = axis
    known = {name for name, _ in block.statics}
    if set(statics) - known:
        raise Problem(f"{block.name} has no {set(statics) - known}")
    for name, default in block.statics:
        if name not in statics and default is None:
            raise Problem(f"{block.name} needs {name}")
        frame.statics[name] = statics.get(name) or Static(default, frame)
    return frame


def apply_block(model, block, home, values, statics, caller, expr, **place):
    """The results of a block, whose own dims are bound by those given and by the axes of `values`."""
    frame = entered(model, block, home, statics, caller, expr, **place)
    if len(values) != len(block.parameters):
        raise Problem(f"line {expr.line}: {block.name} takes {len(block.parameters)} tensors")
    for value, (name, type_) in zip(values, block.parameters):
        frame.values[name] = value if type_.shape is None else bind(frame, block, value, type_)
    results = model.body(frame)
    if len(results) != len(block.results):
        raise Problem(f"{block.name} returns {len(results)} values")
    return [released(frame, result, result_type(block, type_)) for result, (_, type_) in zip(results, block.results)]


def result_type(block, type_):
    """A state among a cell's results has the type of its parameter."""
    return dict(block.parameters).get(type_.dtype, type_) if type_.shape is None else type_


def bind(frame, block, value, type_):
    """A tensor as a block sees it: with axes called like the dims that they bind."""
    if value.dtype != type_.dtype:
        raise Problem(f"{block.name} takes {type_.dtype}, not {value}")
    count = len(value.axes) - len(type_.shape)
    if count < 0:
        raise Problem(f"{block.name} takes more axes than {value} has")
    names = {}
    for axis, expr in zip(value.axes[count:], type_.shape):
        if isinstance(expr, Path) and expr.name in block.dims and expr.name not in frame.dims:
            own = axis.renamed(expr.name + frame.tag, expr.name)
            frame.dims[expr.name] = own
            frame.outer[own] = axis
        inner = axis_of(expr, frame)
        if frame.outer.get(inner, inner) != axis and not (spells_own(expr, block) and inner.count == axis.count):
            raise Problem(f"{block.name} takes {inner.key}, not {axis.key}")
        if frame.outer.get(inner, inner) != axis:
            frame.outer[inner] = axis
        names[axis] = inner
    for axis in value.axes[:count]:
        # The block may have an axis of its own of the same name.
        inner = axis.renamed(axis.key + "^" + frame.tag, axis.name)
        if inner not in frame.lifted:
            frame.lifted.append(inner)
            frame.outer[inner] = axis
        names[axis] = inner
    return value.renamed(names)


def spells_own(expr, block):
    """Whether an axis is written as an expression in dims of the block's own."""
    if isinstance(expr, Binary):
        return spells_own(expr.left, block) or spells_own(expr.right, block)
    return isinstance(expr, Path) and expr.name in block.dims


def released(frame, result, type_):
    """A result as the caller sees it; what the block was lifted over stands before the axes of its type."""
    axes = frame.lifted + [axis_of(expr, frame) for expr in type_.shape]
    shape = [axis.count for axis in axes]
    result = Tensor(axes, np.broadcast_to(result.spread(axes), shape), result.dtype)
    names = dict(frame.outer)
    for axis, expr in zip(axes[len(frame.lifted):], type_.shape):
        if isinstance(expr, Binary):  # a sum or product of dims is that of the caller's
            key = spelled(expr, lambda path: outer_key(frame, path.name))
            names[axis] = axis.renamed(key, key)
    return result.renamed(names)


def outer_key(frame, name):
    axis = frame.axis_named(name)
    return frame.outer.get(axis, axis).key
