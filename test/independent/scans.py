# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cells, and scans of them: a step of the block after the other."""
import numpy as np

from blocks import apply_block, bind, entered, prefix_of, released
from frames import Static
from sizes import Problem, axis_of
from syntax import Call, Path
from values import Tensor


def states_of(cell):
    """For each result of a cell the parameter that it is the new state of, or None."""
    names = [name for name, _ in cell.parameters]
    return [names.index(type_.dtype) if type_.shape is None and type_.dtype in names else None for _, type_ in cell.results]


class Cell:
    """What a scan goes through: a cell of no part, or a part of one."""

    def __init__(self, model, expr, caller):
        self.model, self.expr, self.caller = model, expr, caller
        call = expr.cell if isinstance(expr.cell, Call) else None
        kind, found, owner = caller.find((call.function if call else expr.cell).name)
        self.statics, self.place = {}, {}
        if kind == "part":
            prefix = prefix_of(found, owner)
            self.statics = {a.name: Static(a.value, owner) for a in found.arguments}
            self.place = dict(prefix=prefix, instance=owner.instance + (found.name,), layer=owner.layer,
                              dims=[(name, axis_of(size, owner)) for name, size in found.dims])
            _, found, owner = owner.find(found.block)
        if not found.is_cell:
            raise Problem(f"line {expr.line}: {found.name} is no cell")
        self.block, self.home = found, owner
        names = [name for name, _ in found.parameters]
        given = call.arguments if call else []
        self.constant = {names.index(a.name): caller.model.evaluate(a.value, caller) for a in given if a.name in names}
        self.statics |= {a.name: Static(a.value, caller) for a in given if a.name not in names}
        self.results = states_of(found)
        self.states = sorted(state for state in self.results if state is not None)
        self.inputs = [n for n in range(len(names)) if n not in self.states and n not in self.constant]

    def first(self, inputs, given):
        """The states before the first step: of each `given` one, or zeros where that is None."""
        frame = entered(self.model, self.block, self.home, self.statics, self.caller, self.expr, **self.place)
        known = {**self.constant, **dict(zip(self.inputs, inputs)), **dict(zip(self.states, given))}
        bound = {n: bind(frame, self.block, known[n], type_) for n, (_, type_) in enumerate(self.block.parameters)
                 if known[n] is not None}
        zero = Tensor([], 0.0)
        return [released(frame, bound.get(n, zero), self.block.parameters[n][1]) for n in self.states]

    def step(self, inputs, states):
        """What a step gives, and the new states in the order of the parameters."""
        values = {**self.constant, **dict(zip(self.inputs, inputs)), **dict(zip(self.states, states))}
        made = apply_block(self.model, self.block, self.home, [values[n] for n in range(len(values))], self.statics,
                           self.caller, self.expr, **self.place)
        outputs = [result for result, state in zip(made, self.results) if state is None]
        new = {state: result for result, state in zip(made, self.results) if state is not None}
        return outputs, [new[n] for n in self.states]


def several(value):
    return list(value) if isinstance(value, tuple) else [value]


def starts(model, expr, count, frame):
    """What the states begin with; None for zeros."""
    def one(item):
        return None if isinstance(item, Path) and item.name == "zeros" and not frame.find("zeros") else model.tensor(item, frame)
    if expr.start is None or isinstance(expr.start, Path) and one(expr.start) is None:
        return [None] * count
    return [one(item) for item in getattr(expr.start, "items", [expr.start])]


def scan(model, expr, frame):
    """(what the steps give, along the axis; the last states)"""
    cell = Cell(model, expr, frame)
    inputs = several(model.evaluate(expr.over, frame))
    (along,) = {axis for axis in inputs[0].axes if axis.name == expr.along or axis.key == expr.along}
    place = inputs[0].place(along)
    lengths = expr.lengths and model.tensor(expr.lengths, frame)

    def at(x, t):
        return Tensor([axis for axis in x.axes if axis != along], np.take(x.data, t, x.place(along)), x.dtype)

    def where(t, new, old):
        if lengths is None:
            return new
        alive = t < lengths.spread(new.axes)
        return Tensor(new.axes, np.where(alive, new.data, 0 if old is None else old.spread(new.axes)))

    states = cell.first([at(x, 0) for x in inputs], starts(model, expr, len(cell.states), frame))
    steps = list(range(along.count))
    given = [None] * len(steps)
    for t in reversed(steps) if expr.reverse else steps:
        outputs, new = cell.step([at(x, t) for x in inputs], states)
        states = [where(t, n, old) for n, old in zip(new, states)]
        given[t] = [where(t, output, None) for output in outputs or states[:1]]
    stacked = []
    for parts in zip(*given):
        axes = list(parts[0].axes)
        own = min(place, len(axes))
        stacked.append(Tensor(axes[:own] + [along] + axes[own:], np.stack([part.in_order(axes).data for part in parts], own)))
    return stacked, states
