# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the generator keeps of a spec while it is being written: dims, values, scopes, names that may be hidden."""
import re

import numpy as np

from sizes import Size

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 19, 20, 24, 31, 32, 33, 40, 47, 48, 49, 64, 65]
LARGEST = 12000  # elements of a tensor
DIM_NAMES = "A B C D E F H L M N O P R T U V W X Y Z".split()
# Few names for blocks and hooks, so that those of a model often hide those of a used file.
BLOCK_NAMES = "Mix Step Fold Gate Turn Core Rim Hub Arc Bow Cog Dam".split()
HOOK_NAMES = "near far even tilt pull push slant rise fall ring band comb".split()


class Random:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def chance(self, share):
        return self.rng.random() < share

    def pick(self, items):
        items = list(items)
        return items[self.rng.integers(len(items))]

    def some(self, items, count):
        items = list(items)
        return [items[n] for n in self.rng.permutation(len(items))[:count]]

    def whole(self, low, high):
        """low and high included"""
        return int(self.rng.integers(low, high + 1))

    def size(self, largest=65):
        return self.pick([size for size in SIZES if size <= largest])


class Value:
    """A tensor that can be named here: its text, its axes (as they are called here) and its dtype."""

    def __init__(self, text, axes, dtype="f32", is_endless=False):
        self.text, self.axes, self.dtype = text, tuple(axes), dtype
        self.is_endless = is_endless  # may hold infinities, and is not calculated with

    def type(self, dtype=None):
        dtype = dtype or self.dtype
        return ("" if dtype == "f32" else dtype) + "[" + ", ".join(self.axes) + "]"


class Home:
    """Where blocks and hooks are declared: the model, or a used file. `pinned` are names that the model reads of a file."""

    def __init__(self, spec, path=None):
        self.spec, self.path = spec, path
        self.lines, self.taken, self.pinned = [], set(), set()
        self.blocks, self.hooks = {}, {}

    @property
    def is_model(self):
        return self.path is None

    def new_name(self, pool, is_seen_outside=False, without=()):
        """A name for a declaration here. A model's often hides one of a used file; one of a used file that is named from
        the model hides nothing and is not hidden."""
        rng, spec = self.spec.rng, self.spec
        files = spec.files
        if self.is_model:
            forbidden = self.taken | set().union(*(file.pinned for file in files)) | set(without)
            hiding = [name for file in files for name in file.taken if name in pool and name not in forbidden]
        else:
            forbidden = set().union(*(file.taken for file in files)) | set(without)
            if is_seen_outside:
                forbidden |= spec.model.taken
            hiding = [] if is_seen_outside else [name for name in spec.model.taken if name in pool and name not in forbidden]
        free = [name for name in pool if name not in forbidden]
        name = rng.pick(hiding) if hiding and rng.chance(0.5) else rng.pick(free) if free else spec.fresh(pool[0])
        self.taken.add(name)
        if is_seen_outside:
            self.pinned.add(name)
        return name


class Scope:
    """The body of an entry or a block."""

    def __init__(self, spec, home, block=None):
        self.spec, self.rng, self.home, self.block = spec, spec.rng, home, block
        self.same = {}  # {axis: dims that were declared to be of its size}
        self.own = {}  # dims of the block: in its brackets, then in its body
        self.brackets = []
        self.lines, self.lets = [], []  # declarations of a block's body; its lets
        self.values, self.views = [], []  # views: what may share the memory of another value
        self.parameters = []  # (name, Value)
        self.fed = set()  # names of what stems from these
        self.statics = []  # (name, kind, default)
        self.has_parameters = False
        self.depth = 0
        self.has_other_queries = False  # attentions whose query has no axes that the block is lifted over
        self.cache = self.memory_cache = None
        self.applied = []  # (name, scope, {its dims: axes here}) of blocks that a used file's block applies directly
        self.lifted = ()  # axes of the caller's that the block does not speak of

    @property
    def is_entry(self):
        return self.block is None

    def dims(self):
        """{name: Size} of all that can be named here."""
        outer = self.spec.dims if self.home.is_model else {}
        # What a block is lifted over goes by its name, which the block then does not use for an axis of its own.
        return {**{name: size for name, size in outer.items() if name not in self.lifted}, **self.own}

    def size(self, axis):
        """The size of an axis by its text."""
        if " + " in axis:
            left, right = axis.split(" + ")
            return self.size(left) + self.size(right)
        if "*" in axis:
            size = Size(1)
            for name in axis.split("*"):
                size = size * self.size(name)
            return size
        return Size(int(axis)) if axis.isdigit() else self.dims()[axis]

    def is_static(self, axis):
        return self.size(axis).dyn is None

    def most(self, axis):
        """The largest size of an axis."""
        size = self.size(axis)
        return size.rest + size.factor * self.spec.bounds.get(size.dyn, 0)

    def fits(self, axes):
        count = 1
        for axis in axes:
            count *= self.most(axis)
        return count <= LARGEST and len(axes) <= 6 and len(set(axes)) == len(axes)

    def declare(self, line, is_parameter=False):
        """A declaration in the block's body, or in the model where this is an entry."""
        (self.lines if self.block is not None else self.spec.lines).append(line)
        self.has_parameters |= is_parameter

    def free_dim_name(self):
        """A name for a new dim that means nothing here yet."""
        taken = set(self.dims()) | self.spec.kept_names
        if self.block is not None and self.home.is_model:
            # What the body does not name yet may be hidden.
            pass
        free = [name for name in DIM_NAMES if name not in taken]
        return self.rng.pick(free) if free else self.spec.fresh("D")

    def new_dim(self, size, text=None):
        """size: an int or a Size -> the name of a new dim."""
        name = self.free_dim_name()
        size = size if isinstance(size, Size) else Size(size)
        line = f"dim {name} = {text or size.rest}"
        if self.block is not None:
            self.own[name] = size
        else:
            self.spec.dims[name] = size
        self.declare(line)
        return name

    def dim_like(self, size, without=()):
        """A dim of this size: one that is there, or a new one."""
        found = [name for name, other in self.dims().items() if other == size and name not in without]
        if found and self.rng.chance(0.5):
            return self.rng.pick(found)
        return self.new_dim(size)

    def static_dim(self, without=(), largest=65, even=False):
        """A static dim that is none of `without`."""
        fitting = [name for name, size in self.dims().items()
                   if size.dyn is None and name not in without and size.rest <= largest and not (even and size.rest % 2)]
        if fitting and self.rng.chance(0.45):
            return self.rng.pick(fitting)
        size = self.rng.size(largest)
        return self.new_dim(2 * max(size // 2, 1) if even else size)

    def let(self, text, axes, dtype="f32", prefix="v"):
        value = Value(self.spec.fresh(prefix), axes, dtype)
        self.let_values([value], text)
        return value

    def let_values(self, values, text):
        """Names what an expression gives."""
        self.lets.append(f"let {', '.join(value.text for value in values)} = {text}")
        if self.fed & set(re.findall(r"[A-Za-z_]\w*", text)):
            self.fed |= {value.text for value in values}
        self.values += values

    def feed(self, text, value):
        """A parameter of the block or entry."""
        self.parameters.append((text, value))
        self.fed.add(text)

    def is_fed(self, value):
        """Whether a value stems from a tensor that the block takes, so that it has the axes that the block is lifted over."""
        return not self.lifted or value.text in self.fed

    def floats(self):
        return [value for value in self.values if value.dtype == "f32" and not value.is_endless]

    def any_value(self):
        """One of any dtype."""
        return self.rng.pick([value for value in self.values if not value.is_endless])

    def pick_value(self, condition=lambda value: True):
        """One of the values, later ones more often; None where none fits."""
        fitting = [value for value in self.floats() if condition(value)]
        if not fitting:
            return None
        return fitting[-1] if self.rng.chance(0.55) else self.rng.pick(fitting)

    def is_simple(self, axis):
        return axis in self.dims()

    def returnable(self, axis):
        """Whether a result of this body may have the axis."""
        if " + " in axis or "*" in axis:
            return all(self.returnable(part) for part in axis.replace("*", " + ").split(" + "))
        if self.is_entry or axis.isdigit():
            return True
        return axis in self.brackets or (axis not in self.own and axis in self.dims())

    def same_dim(self, axis, without=()):
        """Another dim of the size of an axis: `dim S = T`."""
        known = [name for name in self.same.get(axis, []) if name not in without and name in self.dims()]
        if known and self.rng.chance(0.7):
            return self.rng.pick(known)
        if self.is_entry and self.is_static(axis) and self.rng.chance(0.3):
            return self.dim_like(self.size(axis), without)
        name = self.new_dim(self.size(axis), axis)
        self.same.setdefault(axis, []).append(name)
        return name

    def tensor_input(self, axes, dtype):
        """The name of a tensor of these axes for a hook: a new input of the entry, or what a block has; None."""
        if self.is_entry:
            name = self.spec.fresh("in")
            self.feed(name, Value(name, axes, dtype))
            return name
        if dtype not in ("f32", "f16"):
            found = [value.text for value in self.values if value.dtype == dtype and set(value.axes) - set(self.lifted) == set(axes)]
            return self.rng.pick(found) if found else None
        found = [value for value in self.floats() if set(value.axes) >= set(axes)]
        if not found:
            return None
        value = self.rng.pick(found)
        rest = [axis for axis in value.axes if axis not in axes and axis not in self.lifted]
        if not rest:
            return value.text
        text = value.text
        for axis in rest:
            text = f"{self.rng.pick(['first', 'last'])}({axis}, {text})"
        return self.let(text, [axis for axis in value.axes if axis not in rest]).text
