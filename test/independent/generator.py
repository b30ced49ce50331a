# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random specs, each of a seed, well-typed by construction: `generate(seed).write(folder, seed)` makes a case of one."""
import json
import os

from cases import Case
from gen_blocks import random_op
from gen_caches import cached_forward
from gen_experts import entry_of_experts
from gen_ops import binary, norm, unary
from gen_scope import Home, Random, Scope, Value
from gen_views import ends, pack, relabel, resize, split_moves
from sizes import Size


class Spec:
    """A spec that is being written."""

    def __init__(self, seed):
        self.rng = Random([seed, 4242])
        self.dims, self.bounds = {}, {}
        self.model = Home(self)
        self.main = Home(self, "spec.attn")  # what stands beside the model in its file
        self.used = []
        self.linears, self.kept_names, self.ranges, self.config = {}, set(), {}, {}
        self.count, self.block_budget = 0, 5
        self._names, self._hidden, self._kept = {}, {}, {}  # by scope: the id of one that is gone may come again

    @property
    def lines(self):
        return self.model.lines

    @property
    def files(self):
        return self.used + [self.main]

    def fresh(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def names_in(self, scope):
        """Names of hooks and blocks that a body speaks of."""
        return self._names.setdefault(scope, set())

    def hidden_in(self, scope):
        """Names that a body declares of its own."""
        return self._hidden.setdefault(scope, set())

    def kept_in(self, scope):
        """Dims of the model that the signature of a block speaks of."""
        return self._kept.setdefault(scope, set())

    def text(self):
        uses = "".join(f'use "{os.path.basename(file.path)}"\n' for file in self.used)
        beside = "".join(line + "\n" for line in self.main.lines)
        lines = "\n".join(self.rng.some(self.lines, len(self.lines)) if self.rng.chance(0.3) else self.lines)
        return f"attn 1\n{uses}{beside}model M {{\n" + "\n".join("  " + line for line in lines.split("\n")) + "\n}\n"

    def write(self, folder, seed):
        for file in self.used:
            with open(os.path.join(folder, file.path), "w") as out:
                others = "".join(f'use "{other.path}"\n' for other in self.used if other is not file)
                out.write(f"attn 1\n{others if self.rng.chance(0.3) else ''}" + "".join(line + "\n" for line in file.lines))
        spec = os.path.join(folder, "spec.attn")
        with open(spec, "w") as out:
            out.write(self.text())
        config = None
        if self.config:
            config = os.path.join(folder, "config.json")
            with open(config, "w") as out:
                json.dump(self.config, out)
        dtypes = self.rng.pick([("F32",), ("F32",), ("F32", "F16", "BF16"), ("BF16",)])
        return Case(spec, self.ranges, None, config, {}, 2, dtypes).in_folder(folder, seed)


def model_dims(spec):
    """Some static dims and those known when running."""
    rng = spec.rng
    for name, bound in (("B", rng.pick([2, 3, 5])), ("T", rng.pick([7, 16, 24, 33]))):
        if rng.chance(0.75):
            spec.dims[name], spec.bounds[name] = Size(0, 1, name), bound
            spec.lines.append(f"dyn {name} <= {bound}")
        else:
            spec.dims[name] = Size(rng.size(3 if name == "B" else 33))
            spec.lines.append(f"dim {name} = {spec.dims[name].rest}")
    for name in ("D", "Y", "X"):
        size = rng.size(48 if name == "D" else 9)
        spec.dims[name] = Size(size)
        if rng.chance(0.15):
            key = spec.fresh("size_")
            if rng.chance(0.6):
                spec.config[key] = size
            spec.lines.append(f"dim {name} = config.{key} ?? {size}")
        else:
            spec.lines.append(f"dim {name} = {size}")


def entry(spec, name):
    """An entry without a cache."""
    rng = spec.rng
    scope = Scope(spec, spec.model)
    for _ in range(rng.whole(1, 3)):
        add_input(scope)
    for _ in range(rng.whole(2, 6)):
        random_op(scope)
    finish(scope, name)


def entry_of_views(spec, name):
    """An entry whose results share buffers: turned, cut, joined and resized tensors, several of them returned."""
    rng = spec.rng
    scope = Scope(spec, spec.model)
    for _ in range(rng.whole(1, 2)):
        add_input(scope, "floats")
    kinds = [split_moves, split_moves, resize, resize, pack, relabel, ends, unary, norm, binary]
    for op in [rng.pick([pack, resize])] + [rng.pick(kinds) for _ in range(rng.whole(2, 5))] + [resize]:
        op(scope)
    finish(scope, name, rng.whole(2, 4))


def add_input(scope, kind=None):
    rng, spec = scope.rng, scope.spec
    kind = kind or rng.pick(["floats"] * 6 + ["ids", "ids", "image", "passed"])
    text = spec.fresh("x")
    if kind == "ids":
        dtype = rng.pick(["i32", "i64"])
        axes = rng.pick([["B", "T"], ["T"], ["B"], ["B", "Y"]])
        rows = spec.fresh("V")
        count = rng.size(40)
        spec.dims[rows] = Size(count)
        spec.lines.append(f"dim {rows} = {count}")
        table = spec.fresh("wte")
        given = ["D"] if rng.chance(0.8) else ["X", "D"]
        given = [axis for axis in given if axis not in axes]
        spec.lines.append(f"embedding {table}: {rows} -> {', '.join(given)}")
        spec.ranges[text] = (0, count)
        scope.parameters.append((text, Value(text, axes, dtype)))
        scope.values.append(Value(text, axes, dtype))
        scope.let(f"{table}({text})", axes + given)
    elif kind == "image":
        sides = [spec.fresh("P"), spec.fresh("Q")]
        channels = spec.fresh("C")
        for dim, size in zip(sides + [channels], (rng.pick([1, 2, 3, 4]), rng.pick([1, 2, 3, 4]), rng.pick([1, 3]))):
            spec.dims[dim] = Size(size)
            spec.lines.append(f"dim {dim} = {size}")
        axes = ["B", channels, f"Y*{sides[0]}", f"X*{sides[1]}"]
        scope.parameters.append((text, Value(text, axes, "f32")))
        p, q, c = (dim.lower() for dim in sides + [channels])
        patches = scope.let(f'split({text}, "b {c} (y {p}) (x {q}) -> b (y x) {c} {p} {q}")', ["B", "Y*X", channels] + sides)
        proj = spec.fresh("patch")
        spec.lines.append(f"linear {proj}: {channels}, {sides[0]}, {sides[1]} -> D bias")
        scope.let(f"{proj}({patches.text})", ["B", "Y*X", "D"])
    elif kind == "passed":
        dtype = rng.pick(["i32", "i64", "bool"])
        axes = rng.pick([["B", "T"], ["Y", "X"], ["B", "Y", "X"], ["T"]])
        spec.ranges[text] = (-2 ** 62, 2 ** 62) if dtype == "i64" else (-2 ** 30, 2 ** 30)
        scope.parameters.append((text, Value(text, axes, dtype)))
        scope.values.append(Value(text, axes, dtype))
        scope.let(f"{spec_param(scope, axes)}", static_part(scope, axes))
    else:
        axes = rng.pick([["B", "T", "D"]] * 3 + [["T", "D"], ["B", "D"], ["B", "Y", "X", "D"], ["Y", "B", "T"],
                                                  ["B", "X", "T", "D"]])
        if rng.chance(0.25):
            axes = rng.some(axes, len(axes))
        if scope_count(scope, axes) > 12000:
            axes = ["B", "D"]
        dtype = rng.pick(["f32"] * 4 + ["f16", "bf16"])
        scope.parameters.append((text, Value(text, axes, dtype)))
        scope.values.append(Value(text, axes))


def scope_count(scope, axes):
    count = 1
    for axis in axes:
        count *= scope.most(axis)
    return count


def static_part(scope, axes):
    return [axis for axis in axes if scope.is_static(axis)] or ["D"]


def spec_param(scope, axes):
    """A parameter, so that there is something to calculate with beside integers."""
    name = scope.spec.fresh("p")
    scope.declare(f"param {name}: [{', '.join(static_part(scope, axes))}]", True)
    return f"{name} + 0"


def finish(scope, name, count=None):
    """The results: the last value, and others, as they are or turned around."""
    rng, spec = scope.rng, scope.spec
    fitting = [value for value in scope.values if value.axes]
    results = [fitting[-1]] if fitting else [unary(scope)]
    for _ in range(rng.pick([0, 1, 1, 2]) if count is None else count - 1):
        views = [value for value in scope.views if value.axes]
        results.append(rng.pick(views if views and rng.chance(0.6) else fitting))
    results = rng.some(results, len(results))
    named = rng.chance(0.3)
    types = []
    for n, value in enumerate(results):
        dtype = value.dtype if value.dtype != "f32" else rng.pick(["f32"] * 5 + ["f16", "bf16"])
        types.append((f"{name}_{n}: " if named else "") + value.type(dtype))
    parameters = ", ".join(f"{text}: {value.type()}" for text, value in scope.parameters)
    lines = [f"entry {name}({parameters}) -> {', '.join(types)} {{"]
    lines += ["  " + line for line in scope.lets] + [f"  return {', '.join(value.text for value in results)}", "}"]
    spec.lines.append("\n".join(lines))


def generate(seed):
    """Every twelfth spec is of experts; all others are written from the same numbers as without those."""
    spec = Spec(seed)
    if seed % 12 == 7:
        entry_of_experts(spec, "mixed")
        return spec
    rng = spec.rng
    for n in range(rng.pick([0, 1, 1, 1, 2])):
        spec.used.append(Home(spec, f"used{n}.attn"))
    model_dims(spec)
    is_cached = rng.chance(0.3)
    if is_cached:
        cached_forward(spec)
    for n in range(rng.whole(0 if is_cached else 1, 1 if is_cached else 2)):
        entry(spec, f"run{n}")
    if rng.chance(0.4):
        entry_of_views(spec, "views")
    return spec
