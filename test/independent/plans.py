# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a spec's entries are run on: sizes that are known when running, inputs, and sequences cut into calls of a cache."""
import numpy as np

from frames import Frame
from sizes import Axis, Size, size_of

SIZES = [1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 31, 33]


class Step:
    """A call of an entry: inputs are {name: (dtype, array)}."""

    def __init__(self, entry, inputs, sizes):
        self.entry, self.inputs, self.sizes = entry, inputs, sizes


class Planner:
    """Draws the calls of a model's entries. `ranges`: {input: (least, beyond the largest)} of whole numbers."""

    def __init__(self, model, rng, ranges, largest=24):
        self.model, self.rng, self.ranges, self.largest = model, rng, ranges, largest
        model.sizes = {}
        self.root = model.new_root()

    def drawn(self, bound):
        fitting = [size for size in SIZES if size <= min(bound, self.largest)]
        return int(self.rng.choice(fitting + [min(bound, self.largest)]))

    def inputs(self, entry, sizes, dims, without=()):
        """Arrays of the shapes that an entry takes at these sizes."""
        self.model.sizes = sizes
        frame = Frame(self.model, self.root, entry.items)
        frame.dims.update(dims)
        made = {}
        for name, type_ in entry.parameters:
            if type_.shape is None or name in without:
                continue
            shape = [size_of(expr, frame).at(sizes) for expr in type_.shape]
            made[name] = type_.dtype, self.array(entry.name, name, type_.dtype, shape)
        return made

    def array(self, entry, name, dtype, shape):
        if dtype == "bool":
            return self.rng.random(shape) < 0.7
        if dtype in ("i32", "i64"):
            low, high = self.ranges.get(f"{entry}.{name}", self.ranges.get(name, (0, 2)))
            return self.rng.integers(low, high, shape, dtype=np.int64 if dtype == "i64" else np.int32)
        x = self.rng.standard_normal(shape).astype(np.float32)
        return x.astype(np.float16).astype(np.float32) if dtype == "f16" else x

    def dyns(self, entry):
        """{dyn: bound} of the sizes in the types of an entry's inputs."""
        frame = Frame(self.model, self.root, entry.items)
        frame.dims.update({dim: Axis(dim, dim, None, Size(0, 1, dim)) for dim in entry.dims})
        found = {}
        for _, type_ in entry.parameters:
            for expr in type_.shape or []:
                dyn = size_of(expr, frame).dyn
                if dyn and dyn not in entry.dims:
                    found[dyn] = size_of(self.root.find(dyn)[1].bound, self.root).constant
        return found

    def independent(self, name, count):
        """`count` calls of an entry without a cache, on other sizes each: lists of one step."""
        entry, _, _ = self.model.entry_of(name)
        bounds = self.dyns(entry)
        for n in range(count if bounds else 1):
            sizes = {dyn: self.drawn(bound) for dyn, bound in bounds.items()}
            yield [Step(name, self.inputs(entry, dict(sizes), {}), sizes)]

    def sequence(self, names, cache):
        """Calls of entries that share a cache, which together fill a part of it."""
        capacity = size_of(self.root.find(cache)[1].capacity, self.root).constant
        batch, length, steps = {}, 0, []
        for _ in range(4):
            name = names[self.rng.integers(len(names))]
            lacking = self.model.lacking(name)
            if lacking and not steps:
                continue
            entry, given, _ = self.model.entry_of(name)
            dim = entry.dims[0]
            room = capacity - length
            fixed = size_of(given[dim], self.root).constant if dim in given else None
            count = fixed or self.drawn(max(room, 1))
            if count > room:
                continue
            for dyn, bound in self.dyns(entry).items():
                if dyn not in batch:
                    batch[dyn] = self.drawn(min(bound, 5))
            sizes = {**batch, dim: count}
            dims = {dim: Axis(dim, dim, count, Size(count) if fixed else Size(0, 1, dim))}
            steps.append(Step(name, self.inputs(entry, sizes, dims, lacking), sizes))
            length += count
        return steps

    def plan(self, count=2):
        """Lists of steps; the steps of one share a context and its caches."""
        plan, cached = [], {}
        for name, entry in self.model.entries.items():
            if entry.kind == "forward":
                continue
            signature, _, _ = self.model.entry_of(name)
            cache = next((parameter for parameter, type_ in signature.parameters if type_.shape is None), None)
            if cache:
                cached.setdefault(cache, []).append(name)
            else:
                plan += self.independent(name, count)
        for cache, names in cached.items():
            for _ in range(count):
                plan.append(self.sequence(names, cache))
        return plan
