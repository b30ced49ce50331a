# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scopes: what names mean in a file, in a model, and in each application of a block."""
import itertools
from dataclasses import dataclass

from sizes import Axis, Problem, Size, holds, size_of
from syntax import Expr

HOOKS = ("score", "bias", "mask")
SCOPED = HOOKS + ("dim", "dyn", "linear", "embedding", "param", "layernorm", "rmsnorm", "l2norm", "stack", "part", "block", "table", "cache")
_numbers = itertools.count(1)


@dataclass
class Static:
    """What was given behind the `;` of a block: an expression, which means what it means in `frame`."""
    expr: Expr
    frame: "Frame"


class Frame:
    """A scope with what its names stand for. `prefix` is where its parameters are in the checkpoint, `instance` which
    application of which layers this is, `layer` the number of the innermost layer."""

    def __init__(self, model, parent, items, prefix="", instance=(), layer=None, caller=None, is_block=False):
        self.model, self.parent, self.caller = model, parent, caller
        self.prefix, self.instance, self.layer = prefix, instance, layer
        self.tag = f"#{next(_numbers)}" if is_block else ""
        self.values, self.statics, self.dims = {}, {}, {}
        self.outer = {}  # an axis of a dim that this block binds -> the caller's axis
        self.lifted = []  # axes of the caller that this block does not speak of
        self.items, self.declarations = items, {}

    def declare(self):
        """Takes the declarations whose conditions hold. Conditions speak of dims and statics, so these come first."""
        conditional = []
        for item in self.items:
            if item.kind not in SCOPED:
                continue
            if getattr(item, "binding", None) and item.binding.condition:
                conditional.append(item)
            elif item.name in self.declarations:
                raise Problem(f"{item.name} is declared twice")
            else:
                self.declarations[item.name] = item
        for item in conditional:
            if holds(item.binding.condition, self):
                self.declarations[item.name] = item
        return self

    def find(self, name):
        """(kind, what, frame): kind is "value", "static", "axis" or that of a declaration; None where there is nothing."""
        frame = self
        while frame:
            for kind, names in (("value", frame.values), ("static", frame.statics), ("axis", frame.dims)):
                if name in names:
                    return kind, names[name], frame
            if name in frame.declarations:
                return frame.declarations[name].kind, frame.declarations[name], frame
            frame = frame.parent
        return None

    def axis_named(self, name):
        found = self.find(name)
        if found is None:
            raise Problem(f"no size is called {name}")
        kind, what, frame = found
        if kind == "axis":
            return what
        if kind == "value" and hasattr(what, "axis"):  # a cache names the axis of its positions
            return what.axis
        if kind == "static":
            number = self.model.evaluate(what.expr, what.frame)
            return Axis(str(number), str(number), number, Size(number))
        if kind == "dyn":
            size = Size(0, 1, name)
        elif kind == "dim":
            given = self.model.settings.get(name) if frame is self.model.root else None
            size = Size(given) if given is not None else size_of(what.value, frame)
        else:
            raise Problem(f"{name} is no size")
        known = self.model.sizes
        return Axis(name + frame.tag, name, size.at(known) if not size.dyn or size.dyn in known else None, size)

    def callers(self, last):
        """The frames from this one to `last`, each the caller of the one before."""
        frame = self
        while frame is not None:
            yield frame
            if frame is last:
                return
            frame = frame.caller
