# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random blocks, in the model and in used files, and their application: directly, as parts, as stacks."""
from gen_hooks import Pairs
from gen_ops import add_table, binary, linear, norm, rotary, static_axes, unary
from gen_scans import scan
from gen_scope import BLOCK_NAMES, DIM_NAMES, Scope, Value
from gen_views import OPS, ends, relabel, split_moves


BARE_OPS = [(op, weight) for op, weight in OPS if op in (unary, binary, split_moves, ends, relabel, add_table, rotary)]


def new_block(caller, values, is_stacked, body, home=None):
    """A block for these values of the caller; (name, scope, {own dim: caller's axis}, dims that no axis binds)."""
    spec, rng = caller.spec, caller.rng
    if home is None:
        home = caller.home
        if caller.home.is_model and spec.files and rng.chance(0.5):
            home = rng.pick(spec.files)
    name = home.new_name(BLOCK_NAMES, is_seen_outside=home is not caller.home)
    spec.names_in(caller).add(name)
    scope = Scope(spec, home, block={"stacked": is_stacked})
    scope.depth = caller.depth + 1
    # How many axes in front the block does not speak of: the same of all values, which is what they are lifted over.
    shared = 0
    while rng.chance(0.5) and all(len(v.axes) > shared + 1 for v in values) and len({v.axes[shared] for v in values}) == 1:
        shared += 1
    scope.lifted = values[0].axes[:shared]
    scope.bound = {}
    for n, value in enumerate(values):
        own = bind_axes(scope, caller, value.axes[shared:], renames=n > 0)
        parameter = Value(spec.fresh("x"), own, value.dtype)
        scope.feed(parameter.text, parameter)
        scope.values.append(parameter)
    body(scope)
    return name, scope, scope.bound


def bind_axes(scope, caller, axes, renames):
    """What the block calls the caller's axes: dims in its brackets, or the model's where the block is of the model.

    A second tensor may call an axis by another name than the first: then they are two axes for the block."""
    rng, kept, own = scope.rng, scope.spec.kept_in(scope), []
    for axis in axes:
        known = [mine for mine, other in scope.bound.items() if other == axis and mine not in own]
        if axis.isdigit() or axis in kept:
            own.append(axis)
        elif known and not (renames and rng.chance(0.3)):
            own.append(rng.pick(known))
        elif (scope.home.is_model and axis in caller.spec.dims and axis not in caller.own and axis not in scope.own
              and not known and rng.chance(0.45)):
            kept.add(axis)
            own.append(axis)
        else:
            taken = set(scope.own) | kept | set(axes)
            free = [name for name in DIM_NAMES if name not in taken] or [scope.spec.fresh("N")]
            name = rng.pick(free)
            scope.own[name] = caller.size(axis)
            scope.brackets.append(name)
            scope.bound[name] = axis
            own.append(name)
    return own


def header(name, scope, results):
    statics = ", ".join(f"{static} = {default}" if default is not None else static for static, _, default in scope.statics)
    parameters = ", ".join(f"{text}: {value.type()}" for text, value in scope.parameters)
    if scope.cache:
        parameters += f", {scope.cache}: cache"
    if scope.memory_cache:
        parameters += f", {scope.memory_cache}: cache"
    dims = f"[{', '.join(scope.brackets)}]" if scope.brackets else ""
    return (f"block {name}{dims}({parameters}{'; ' + statics if statics else ''}) -> "
            f"{', '.join(value.type() for value in results)} {{")


def write_block(name, scope, results):
    rng = scope.rng
    lines = scope.lines[:]
    if rng.chance(0.3):
        lines = rng.some(lines, len(lines))  # declarations stand in any order
    body = lines + scope.lets + [f"return {', '.join(value.text for value in results)}"]
    scope.home.lines.append("\n".join([header(name, scope, results)] + ["  " + line for line in body] + ["}"]))


def random_body(count, is_bare=False):
    """is_bare: without parameters and statics."""
    def body(scope):
        if not is_bare:
            statics(scope)
        elif scope.depth == 1 and not scope.home.is_model:
            apply_bare(scope)
        for _ in range(count):
            random_op(scope, is_bare)
        number_static(scope)
    return body


def statics(scope):
    rng, spec = scope.rng, scope.spec
    if rng.chance(0.3):
        scope.statics.append((spec.fresh("s"), "number", rng.pick([None, 0.5, 2])))
    if rng.chance(0.25):
        scope.statics.append((spec.fresh("is"), "truth", rng.pick([None, "true", "false"])))
    if rng.chance(0.35):
        scope.statics.append((spec.fresh("allowed"), "mask", "true"))
    if rng.chance(0.2):
        scope.statics.append((spec.fresh("added"), "bias", "0"))


def number_static(scope):
    """Uses the statics that are numbers and truth values."""
    for static, kind, _ in scope.statics:
        x = scope.pick_value()
        if x is None:
            continue
        if kind == "number":
            scope.let(f"{x.text} * {static}", x.axes)
        elif kind == "truth":
            text = f"if {static} then {x.text} else tanh({x.text})"
            features = static_axes(scope, x)
            if features and scope.rng.chance(0.5):
                gain = scope.spec.fresh("gain")
                scope.declare(f"param {gain}: [{features[-1]}] if {static}", True)
                text = f"if {static} then {x.text} * {gain} else {x.text}"
            scope.let(text, x.axes)


def random_op(scope, is_bare=False):
    """One operation that fits, of any kind; is_bare: without parameters."""
    from gen_attention import attention
    for _ in range(8):
        total = BARE_OPS[:] if is_bare else OPS + [(attention, 8), (scan, 4)]
        if scope.depth < 3 and not scope.cache:
            total.append((apply_bare if is_bare else apply, 12 if scope.is_entry else 6))
        weights = [weight for _, weight in total]
        op = total[scope.rng.rng.choice(len(total), p=[w / sum(weights) for w in weights])][0]
        made = op(scope)
        if made is not None:
            return made
    return None


def twin(entry, name, inner, axes, lifted):
    """A block of the model with the name and the signature of one that a used file's blocks apply, and its application.

    name, inner: of that block, and its scope; axes: {its dims: the entry's axes}; lifted: what it is lifted over."""
    spec, taken = entry.spec, entry.spec.model.taken
    if name in taken or any(name in file.pinned for file in spec.files):
        return
    given = [list(lifted) + [axes.get(axis, axis) for axis in value.axes] for _, value in inner.parameters]
    if any(len(set(own)) < len(own) for own in given):
        return
    taken.add(name)
    spec.names_in(entry).add(name)
    scope = Scope(spec, spec.model, block={"stacked": False})
    scope.depth, scope.own, scope.brackets, scope.lifted = 3, {dim: inner.own[dim] for dim in inner.brackets}, list(inner.brackets), lifted
    for text, value in inner.parameters:
        scope.feed(text, value)
        scope.values.append(value)
    random_body(2, is_bare=True)(scope)
    fitting = [value for value in scope.values if value.dtype == "f32" and value.axes and all(map(scope.returnable, value.axes))
               and scope.is_fed(value)]
    if not fitting:
        return
    write_block(name, scope, [fitting[-1]])
    tensors = []
    for own, (_, value) in zip(given, inner.parameters):
        same = [other for other in entry.values if list(other.axes) == own and other.dtype == value.dtype]
        tensors.append(entry.rng.pick(same).text if same else entry.tensor_input(own, value.dtype))
    entry.let(f"{name}({', '.join(tensors)})", outer_axes(scope, axes, fitting[-1]))


def same_shape_body(scope):
    """Operations that keep the axes of the first parameter: for stacks."""
    from gen_attention import attention, usable
    rng = scope.rng
    statics(scope)
    x = scope.values[0]
    for _ in range(rng.whole(1, 3)):
        kind = rng.pick(["attention", "mlp", "norm", "table", "map", "rotary", "binary"])
        made = None
        if kind == "attention" and usable(scope, x):
            n = norm(scope, x) if rng.chance(0.4) else x
            made = attention(scope, n, residual=True)
        elif kind == "mlp" and x.axes[-1] in static_axes(scope, x):
            hidden = linear(scope, x, [x.axes[-1]], [scope.static_dim(without=x.axes, largest=48)])
            if hidden:
                act = unary(scope, hidden)
                y = linear(scope, act, [act.axes[-1]], [x.axes[-1]])
                made = y and scope.let(f"{x.text} + {y.text}", x.axes)
        elif kind == "norm" and static_axes(scope, x):
            made = norm(scope, x)
        elif kind == "table":
            made = add_table(scope, x)
        elif kind == "map":
            made = unary(scope, x)
        x = made if made and list(made.axes) == list(scope.values[0].axes) else x
    if x is scope.values[0]:
        x = scope.let(f"{x.text} * 0.5 + sin({x.text})", x.axes)
    scope.last = x
    # number_static changes no axes: it takes the last value of the same axes.
    for static, kind, _ in scope.statics:
        if kind == "number":
            scope.last = scope.let(f"{scope.last.text} * {static}", x.axes)
        elif kind == "truth":
            scope.last = scope.let(f"if {static} then {scope.last.text} else tanh({scope.last.text})", x.axes)


def given_statics(caller, scope, bound):
    """What the caller gives behind the tensors, by name."""
    rng, given = caller.rng, []
    for static, kind, default in scope.statics:
        if default is not None and rng.chance(0.4):
            continue
        if kind == "number":
            own = [name for name, what, _ in caller.statics if what == "number"]
            given.append(f"{static} = {rng.pick([0.25, 3, 1.5] + own * 2)}")
        elif kind == "truth":
            own = [name for name, what, _ in caller.statics if what == "truth"]
            given.append(f"{static} = {rng.pick(['true', 'false', '2 > 1'] + own * 2)}")
        else:
            # Positions of the caller's axes: those in front stand in every query of the block.
            # Not where the block may have an axis of that name, or a query that stems from a parameter alone.
            letters = {axis.lower(): axis for axis in scope.lifted if caller.is_simple(axis) and axis not in scope.own
                       and axis.lower() not in ("i", "j", "q", "k", "g") and not scope.has_other_queries}
            pairs = Pairs(caller, letters, None, None)
            own = [name for name, what, _ in caller.statics if what == kind]
            if kind == "mask":
                text = pairs.mask()
                text = rng.pick([text, f"{text} or causal_", f"not ({text})"] + [f"{name} and {text}" for name in own])
                text = text.replace(" or causal_", " or j == 0")
            else:
                text = rng.pick([pairs.bias()] + own * 2)
            given.append(f"{static} = {text}")
    return given


def dim_arguments(scope, bound):
    """Dims that the stack or part gives: some of those that axes bind, too."""
    chosen = [name for name in scope.brackets if name in bound and scope.rng.chance(0.2) and scope.size(name).dyn is None]
    return "[" + ", ".join(f"{name}: {bound[name]}" for name in chosen) + "]" if chosen else ""


def apply(caller, is_bare=False):
    """A new block, applied in one of the ways. is_bare: directly, without parameters."""
    rng, spec = caller.rng, caller.spec
    if spec.block_budget <= 0:
        return None
    x = caller.pick_value(lambda value: caller.is_fed(value)
                          and all(caller.is_simple(axis) or axis.isdigit() for axis in value.axes))
    if x is None:
        return None
    spec.block_budget -= 1
    is_stacked = caller.is_entry and rng.chance(0.4)
    is_bare = is_bare or not is_stacked and rng.chance(0.55)
    values = [x]
    others = [v for v in caller.values if v is not x and set(v.axes) & set(x.axes) and not v.is_endless and caller.is_fed(v)
              and all(caller.is_simple(axis) for axis in v.axes)]
    if others and rng.chance(0.4):
        values.append(rng.pick(others))
    body = same_shape_body if is_stacked else random_body(rng.whole(2, 4), is_bare)
    name, scope, bound = new_block(caller, values, is_stacked, body)
    if is_stacked:
        results = [scope.last]
    else:
        fitting = [value for value in scope.values[len(values):] if all(map(scope.returnable, value.axes)) and value.axes
                   and scope.is_fed(value)]
        if not fitting:
            fitting = [unary(scope, scope.values[0])] if scope.values[0].dtype == "f32" else []
        if not fitting:
            return abandon(caller, name, scope)
        results = [fitting[-1]] if rng.chance(0.6) else rng.some(fitting, rng.whole(1, 3))
        if not any(value.axes for value in results):
            return abandon(caller, name, scope)
    write_block(name, scope, results)
    return applied(caller, name, scope, bound, values, results, is_stacked)


def apply_bare(caller):
    return apply(caller, is_bare=True)


def abandon(caller, name, scope):
    """A block that is not applied: it stands in its home all the same."""
    return None


def outer_axes(scope, bound, value):
    """The axes of a result as the caller calls them."""
    def outer(axis):
        for sign in (" + ", "*"):
            if sign in axis:
                return sign.join(outer(part) for part in axis.split(sign))
        return bound.get(axis, axis) if axis in scope.own else axis
    return list(scope.lifted) + [outer(axis) for axis in value.axes]


def by_layer(rng, given, scope):
    """What a stack gives its block, which may be told by the number of the layer."""
    name, value = given.split(" = ", 1)
    kind = next(kind for static, kind, _ in scope.statics if static == name)
    when = rng.pick(["n % 2 == 1", "n > 0", "n == 1", "n % 3 != 2 and n < 4"])
    other = "n" if kind == "number" else rng.pick(["true", "false", "n != 2"])
    return f"{name} = {rng.pick([value, f'if {when} then {value} else {other}', f'if {when} then {other} else {value}'])}"


def applied(caller, name, scope, bound, values, results, is_stacked):
    rng, spec = caller.rng, caller.spec
    tensors = [value.text for value in values]
    given = given_statics(caller, scope, bound)
    needs = scope.has_parameters
    at_part = []
    if is_stacked or needs or rng.chance(0.2):
        path = spec.fresh(rng.pick(["part", "at.part", "layer"]))
        binding = f' = "{spec.fresh("moved.")}"' if rng.chance(0.25) else ""
        if is_stacked:
            shared = "shared " if rng.chance(0.25) else ""
            if binding and not shared:
                binding = binding[:-1] + rng.pick(['.l{n}"', '{n}.x"', '.{n}"'])
            plain = [static for static, kind, _ in scope.statics if kind in ("number", "truth")]
            at_part = [by_layer(rng, text, scope) for text in given if text.split()[0] in plain and rng.chance(0.6)]
            given = [text for text in given if text.split()[0] not in {part.split()[0] for part in at_part}]
            arguments = f"({', '.join(at_part)})" if at_part else ""
            caller.declare(f"stack {path}: {rng.whole(1, 5)} of {shared}{name}{dim_arguments(scope, bound)}{arguments}{binding}", True)
        else:
            # What is given to the part is not given where it is applied.
            plain = [static for static, kind, _ in scope.statics if kind in ("number", "truth")]
            at_part = [text for text in given if text.split()[0] in plain and rng.chance(0.3)]
            arguments = f"({', '.join(at_part)})" if at_part else ""
            caller.declare(f"part {path}: {name}{dim_arguments(scope, bound)}{arguments}{binding}", True)
        function = path
    else:
        function = name
    text = f"{function}({', '.join(tensors + [word for word in given if word not in at_part])})"
    is_plain = function == name and not scope.statics
    if is_plain and not scope.lifted and not caller.home.is_model:
        caller.applied.append((name, scope, bound))
    made = [Value(spec.fresh("r"), outer_axes(scope, bound, value), value.dtype, value.is_endless) for value in results]
    if any(len(set(value.axes)) < len(value.axes) for value in made):
        return None
    caller.let_values(made, text)
    if is_plain and caller.is_entry:
        for inner_name, inner, own in scope.applied:
            if set(own.values()) <= set(bound):
                twin(caller, inner_name, inner, {dim: bound[axis] for dim, axis in own.items()}, scope.lifted)
    return made[0]
