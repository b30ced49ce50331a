# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in double precision: bodies of blocks and entries, and what expressions in them are."""
import math
import os

import numpy as np

from attention import attend
from blocks import apply_block, apply_part, apply_stack
from caches import CacheUse, once, push
from choices import CHOICES, EXTREMA
from declarations import read_file
from formulas import table
from forms import FORMS
from frames import Frame, Static
from parameters import apply_embedding, apply_linear, apply_norm, param, read_all
from sizes import COMPARE, Axis, Problem, Size, axis_of, holds, size_of
from scans import scan
from syntax import Attend, Binary, Call, If, Number, Path, Scan, Several, Unary
from values import MAPS, Tensor, choose, combine, converted, is_number

def negated(value, expr):
    if expr.sign == "not":
        if value.dtype != "bool":
            raise Problem(f"line {expr.line}: not of {value}")
        return Tensor(value.axes, ~value.data, "bool")
    return combine("*", -1, value)


LIBRARY = os.path.join(os.path.dirname(__file__), "..", "..", "compiler", "std")


class Model:
    """A spec with its used files; `weights` gives a tensor for a name and a shape (weights.py).

    `settings` puts numbers in the place of dims."""

    def __init__(self, path, weights, config=None, settings=None):
        self.weights, self.config, self.settings = weights, config or {}, settings or {}
        self.sizes = {}
        main = read_file(path)
        files, seen = [], set()
        self.read_uses(main, os.path.dirname(path), files, seen)
        self.library = Frame(self, None, [item for file in files for item in file.items])
        self.library.has_dims = False
        self.library.declare()
        self.file = Frame(self, self.library, main.items)
        self.file.has_dims = False
        self.file.declare()
        self.items = main.model.items
        self.entries = {item.name: item for item in self.items if item.kind in ("entry", "variant", "forward")}

    def read_uses(self, file, folder, files, seen):
        """All files that this one uses, or that those use, each once."""
        for use in file.uses:
            path = (os.path.join(folder, use) if isinstance(use, str)
                    else os.path.join(LIBRARY, *use[1:]) + ".attn")
            path = os.path.realpath(path)
            if path not in seen:
                seen.add(path)
                used = read_file(path)
                files.append(used)
                self.read_uses(used, os.path.dirname(path), files, seen)

    def config_value(self, parts):
        value = self.config
        for part in parts:
            value = value.get(part) if isinstance(value, dict) else None
        return value

    # Entries

    def entry_of(self, name):
        """The entry's signature and body, {dim: size} of a variant, and the axis of which it keeps the last."""
        entry = self.entries[name]
        if entry.kind != "variant":
            return entry, {}, None
        return self.entries["forward"], dict(entry.sizes), entry.last

    def lacking(self, name):
        """The inputs of `forward` that an entry lacks."""
        return getattr(self.entries[name], "without", [])

    def new_root(self):
        """The scope of the model."""
        self.root = Frame(self, self.file, self.items)
        self.root.has_dims = True
        return self.root.declare()

    def run(self, name, inputs, caches=None):
        """inputs: {name: array}; caches: what `caches.py` keeps, changed -> {name of the result: Tensor}."""
        entry, given, last = self.entry_of(name)
        caches = {} if caches is None else caches
        # What an entry lacks is what another one was given last.
        known = caches.setdefault("", {})
        inputs = {**inputs, **{own: known[own] for own in self.lacking(name)}}
        known.update(inputs)
        self.sizes = {}
        self.root = self.new_root()
        frame = Frame(self, self.root, entry.items)
        frame.has_dims = True
        self.bind_sizes(frame, entry, given, inputs, caches)
        read_all(self.root)
        for parameter, type_ in entry.parameters:
            if type_.shape is None:
                new = frame.dims[entry.dims[0]]
                frame.values[parameter] = CacheUse(self.root.find(parameter)[1], caches, new, frame)
                continue
            axes = [axis_of(expr, frame) for expr in type_.shape]
            dtype = "f32" if type_.dtype in ("f16", "bf16") else type_.dtype
            frame.values[parameter] = Tensor(axes, inputs[parameter], dtype)
        results = self.body(frame)
        if len(results) != len(entry.results):
            raise Problem(f"{name} returns {len(results)} values")
        made = {}
        for n, (result, (own, type_)) in enumerate(zip(results, entry.results)):
            result = result.in_order([axis_of(expr, frame) for expr in type_.shape])
            if last is not None and result.has(frame.axis_named(last)):
                place = result.place(frame.axis_named(last))
                axes = result.axes[:place] + result.axes[place + 1:]
                result = Tensor(axes, np.take(result.data, -1, place), result.dtype)
            made[own or (name if len(results) == 1 else f"{name}.{n}")] = result
        for use in frame.values.values():
            if isinstance(use, CacheUse):
                use.finish()
        return made

    def bind_sizes(self, frame, entry, given, inputs, caches):
        """Gives each dim known when running its size, by the shapes of the inputs."""
        for dim in entry.dims:
            known = size_of(given[dim], self.root) if dim in given else None
            count = known.constant if known else None
            frame.dims[dim] = Axis(dim, dim, count, known or Size(0, 1, dim))
        for parameter, type_ in entry.parameters:
            for place, expr in enumerate(type_.shape or []):
                size = size_of(expr, frame)
                if size.dyn and size.dyn not in self.sizes:
                    self.sizes[size.dyn] = (np.shape(inputs[parameter])[place] - size.rest) // size.factor
        for dim in entry.dims:
            cache = next(name for name, type_ in entry.parameters if type_.shape is None)
            size = frame.dims[dim].size
            offset = caches.get(cache, {}).get("length", 0)
            frame.dims[dim] = Axis(dim, dim, size.at(self.sizes), size, offset)

    # Bodies

    def body(self, frame):
        """The values that the body of a block or entry returns."""
        frame.declare()
        read_all(frame)
        for item in frame.items:
            if item.kind == "let":
                if isinstance(item.value, Scan) and len(item.names) > 1:
                    value = sum(scan(self, item.value, frame), [])
                else:
                    value = self.evaluate(item.value, frame, along=item.along)
                values = [value] if len(item.names) == 1 else list(value)
                if len(values) != len(item.names):
                    raise Problem(f"line {item.line}: {len(values)} values for {len(item.names)} names")
                frame.values.update(zip(item.names, values))
            elif item.kind == "return":
                values = []
                for expr in item.values:
                    value = self.evaluate(expr, frame)
                    values += value if isinstance(value, tuple) else [value]
                return values
        raise Problem("a body without return")

    def tensor(self, expr, frame):
        value = self.evaluate(expr, frame)
        if not isinstance(value, Tensor):
            raise Problem(f"line {expr.line}: a tensor is needed")
        return value

    def evaluate(self, expr, frame, along=None):
        """A Tensor, a number, a truth value, or a tuple of several values. `along` is of a push."""
        if isinstance(expr, Number):
            return expr.value
        if isinstance(expr, Path):
            return self.named(expr, frame)
        if isinstance(expr, Several):
            return tuple(self.evaluate(item, frame) for item in expr.items)
        if isinstance(expr, Unary):
            value = self.evaluate(expr.of, frame)
            if isinstance(value, Tensor):
                return negated(value, expr)
            return not value if expr.sign == "not" else -value
        if isinstance(expr, If):
            condition = self.tensor_condition(expr.condition, frame)
            if condition is not None:
                return choose(condition, self.side(expr.yes, frame), self.side(expr.no, frame), frame.lifted)
            return self.evaluate(expr.yes if holds(expr.condition, frame) else expr.no, frame, along)
        if isinstance(expr, Binary):
            return self.binary(expr, frame)
        if isinstance(expr, Attend):
            values = attend(frame, expr)
            return values[0] if len(values) == 1 else tuple(values)
        if isinstance(expr, Scan):
            values, _ = scan(self, expr, frame)
            return values[0] if len(values) == 1 else tuple(values)
        if isinstance(expr, Call):
            return self.call(expr, frame, along)
        raise Problem(f"line {expr.line}: no value")

    def side(self, expr, frame):
        """A side of an operator: a size that is known only when running is a whole number, too."""
        if isinstance(expr, (Path, Binary)):
            try:
                size = size_of(expr, frame)
            except Problem:
                size = None
            if size and size.dyn:
                return size.at(self.sizes)
        return self.evaluate(expr, frame)

    def tensor_condition(self, expr, frame):
        """The tensor that a condition is; None for one of sizes and statics."""
        return self.evaluate(expr, frame) if self.speaks_of_tensors(expr, frame) else None

    def speaks_of_tensors(self, expr, frame):
        if isinstance(expr, Unary):
            return self.speaks_of_tensors(expr.of, frame)
        if isinstance(expr, Binary):
            return self.speaks_of_tensors(expr.left, frame) or self.speaks_of_tensors(expr.right, frame)
        if isinstance(expr, If):
            return any(self.speaks_of_tensors(part, frame) for part in (expr.condition, expr.yes, expr.no))
        if isinstance(expr, Call):
            return True
        if not isinstance(expr, Path):
            return False
        kind, what, owner = frame.find(expr.name) or (None, None, None)
        if kind == "static":
            return self.speaks_of_tensors(what.expr, what.frame)
        return kind in ("param", "table") or kind == "value" and isinstance(what, Tensor)

    def binary(self, expr, frame):
        if expr.sign in ("and", "or") and not self.speaks_of_tensors(expr, frame):
            return holds(expr, frame)
        if expr.sign == "??":
            return size_of(expr, frame).constant
        left, right = self.side(expr.left, frame), self.side(expr.right, frame)
        if not (is_number(left) and is_number(right)):
            return combine(expr.sign, left, right, frame.lifted)
        if expr.sign in COMPARE:
            return COMPARE[expr.sign](left, right)
        if expr.sign == "**":
            return left ** right
        return {"+": left + right, "-": left - right, "*": left * right, "/": left / right if right else math.nan,
                "%": left - right * math.floor(left / right) if right else math.nan}[expr.sign]

    def named(self, path, frame):
        found = frame.find(path.name)
        if found is None:
            constants = {"true": True, "false": False, "inf": math.inf}
            if path.name in constants:
                return constants[path.name]
            if path.parts[0] == "config":
                return self.config_value(path.parts[1:])
            raise Problem(f"line {path.line}: {path.name} stands for nothing")
        kind, what, owner = found
        if kind == "value":
            return what
        if kind == "static":
            return self.evaluate(what.expr, what.frame)
        if kind in ("axis", "dim", "dyn"):
            return owner.axis_named(path.name).size.constant
        if kind == "param":
            return param(what, owner)
        if kind == "table":
            return table(what, owner)
        raise Problem(f"line {path.line}: {path.name} is no value")

    def whole_quotient(self, expr, frame):
        """`a / b` of integers, rounded down; None of anything else."""
        if not (isinstance(expr, Binary) and expr.sign == "/"):
            return None
        left = self.evaluate(expr.left, frame)
        if not (isinstance(left, Tensor) and left.dtype in ("i32", "i64")):
            return None
        return combine("floor", left, self.evaluate(expr.right, frame), frame.lifted)

    # Applications

    def names_axis(self, call, frame):
        """Whether `max(P, x)` is along an axis: its first argument is the name of a size, its last is none."""
        def is_size(expr):
            return isinstance(expr, Path) and (frame.find(expr.name) or [None])[0] in ("axis", "dim", "dyn")
        return is_size(call.arguments[0].value) and not is_size(call.arguments[-1].value)

    def call(self, expr, frame, along):
        path = expr.function
        use = frame.find(str(path.parts[0]))
        if len(path.parts) == 2 and use and isinstance(use[1], CacheUse):
            keys, rows = (self.tensor(argument.value, frame) for argument in expr.arguments)
            return {"push": push, "once": once}[path.parts[1]](frame, use[1], expr, keys, rows, along)
        found = frame.find(path.name)
        if found and found[0] in ("linear", "layernorm", "rmsnorm", "l2norm", "embedding"):
            apply = {"linear": apply_linear, "embedding": apply_embedding}.get(found[0], apply_norm)
            return apply(found[1], found[2], self.tensor(expr.arguments[0].value, frame))
        if found and found[0] in ("block", "part", "stack"):
            values = [self.evaluate(a.value, frame) for a in expr.arguments if a.name is None]
            statics = {a.name: Static(a.value, frame) for a in expr.arguments if a.name}
            apply = {"block": apply_block, "part": apply_part, "stack": apply_stack}[found[0]]
            results = apply(self, found[1], found[2], values, statics, frame, expr)
            return results[0] if len(results) == 1 else tuple(results)
        if path.name in FORMS:
            return FORMS[path.name](frame, expr)
        if path.name == "floor" and (quotient := self.whole_quotient(expr.arguments[0].value, frame)):
            return quotient
        if path.name in CHOICES:
            return CHOICES[path.name](frame, expr)
        if path.name in EXTREMA and self.names_axis(expr, frame):
            return EXTREMA[path.name](frame, expr)
        values = [self.side(argument.value, frame) for argument in expr.arguments]
        if path.name == "dropout":
            return values[0]
        if path.name in ("float", "int"):
            return converted(values[0], path.name)
        if path.name in ("min", "max") and not all(is_number(value) for value in values):
            return combine(path.name, *values, frame.lifted)
        if path.name in ("abs", "floor") and isinstance(values[0], Tensor) and values[0].dtype in ("i32", "i64"):
            return values[0] if path.name == "floor" else Tensor(values[0].axes, np.abs(values[0].data), values[0].dtype)
        if all(is_number(value) for value in values):
            number = {"min": min, "max": max, "floor": math.floor}.get(path.name)
            return number(*values) if number else float(MAPS[path.name](np.float64(values[0])))
        if path.name not in MAPS:
            raise Problem(f"line {expr.line}: no function {path.name}")
        return Tensor(values[0].axes, MAPS[path.name](values[0].data))
