# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches: the keys and values of all positions so far, of each push in each layer, in the cache's dtype. What stays the same
(`once`) is computed again in each call, from the inputs that were given last."""
import numpy as np

from attention import key_axis
from sizes import Axis, Problem, Size, size_of
from values import Tensor
from weights import rounded


class CacheUse:
    """A cache in a call that adds the positions of the axis `new`. `state`: {cache: {"length": n, push: (k, v)}}."""

    def __init__(self, declaration, state, new, frame):
        self.declaration, self.new = declaration, new
        self.kept = state.setdefault(declaration.name, {"length": 0})
        self.parts = {}
        self.capacity = size_of(declaration.capacity, frame.model.root).constant
        self.is_once = False
        total = self.kept["length"] + new.count
        size = new.size + Size(self.kept["length"])
        self.axis = Axis(f"cache {declaration.name}", declaration.name, total, size)

    def finish(self):
        """The positions become part of the cache when the call has succeeded."""
        self.kept.update(self.parts)
        if not self.is_once:
            self.kept["length"] += self.new.count


def once(frame, use, expr, keys, values, along):
    """Keys and values [..., S, ...] under the name of the cache's axis."""
    memory, name = frame.axis_named(along[0]), along[1] or along[0]
    if memory.count > use.capacity:
        raise Problem(f"the cache {use.declaration.name} has no room for {memory.count}")
    use.is_once = True
    use.axis = Axis(use.axis.key, use.axis.name, memory.count, memory.size)
    named = key_axis(frame, name, None)
    total = Axis(named.key, named.name, memory.count, memory.size)
    return tuple(Tensor([total if axis == memory else axis for axis in x.axes], rounded(x.data, use.declaration.dtype))
                 for x in (keys, values))


def push(frame, use, expr, keys, values, along):
    """Keys and values [..., S, ...] of all positions for those [..., T, ...] of the new ones."""
    new, name = frame.axis_named(along[0]), along[1] or along[0]
    if use.axis.count > use.capacity:
        raise Problem(f"the cache {use.declaration.name} has no room for {use.new.count} more")
    place = frame.instance + (expr.line,)
    if place in use.parts:
        raise Problem(f"line {expr.line}: a second push to the same keys and values")
    found = []
    for which, x in enumerate((keys, values)):
        x.place(new)
        data = rounded(x.data, use.declaration.dtype)
        if place in use.kept:
            data = np.concatenate([use.kept[place][which], data], x.place(new))
        found.append(data)
    use.parts[place] = tuple(found)
    named = key_axis(frame, name, None)
    total = Axis(named.key, named.name, use.axis.count, use.axis.size)
    return tuple(Tensor([total if axis == new else axis for axis in x.axes], data) for x, data in zip((keys, values), found))
