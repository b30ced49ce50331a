# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attentions: over the same tensor or another, with heads or without, grouped, with what is returned."""
from gen_hooks import Pairs
from gen_ops import can_rotate, linear, rotary_text, static_axes
from gen_scope import Value
from sizes import Size

FORBIDDEN_LETTERS = {"i", "j", "q", "k", "g"}


def letters_of(scope, axes):
    """{letter: axis} of the query's axes that are dims here."""
    return {axis.lower(): axis for axis in axes if scope.is_simple(axis) and axis.lower() not in FORBIDDEN_LETTERS}


def heads_and_features(scope, x, without):
    rng = scope.rng
    ratio, groups = 1, None
    heads = None
    if rng.chance(0.7):
        if rng.chance(0.35):
            groups = scope.static_dim(without=without, largest=4)
            ratio = rng.pick([1, 2, 3])
            heads = scope.dim_like(Size(scope.most(groups) * ratio), without=list(without) + [groups])
        else:
            heads = scope.static_dim(without=without, largest=6)
    taken = list(without) + [dim for dim in (heads, groups) if dim]
    features = scope.static_dim(without=taken, largest=33, even=rng.chance(0.4))
    values = features if rng.chance(0.6) else scope.static_dim(without=taken, largest=33)
    return heads, groups, features, values


def projected(scope, x, feature, heads, features):
    given = ([heads] if heads else []) + [features]
    return linear(scope, x, [feature], given)


def attention(scope, x=None, residual=None):
    """One attention; its first result, or the result projected back and added to `x`."""
    rng = scope.rng
    x = x or scope.pick_value(lambda value: usable(scope, value))
    if x is None or not usable(scope, x):
        return None
    scope.has_other_queries |= not scope.is_fed(x)
    feature = x.axes[-1]
    others = [axis for axis in x.axes[:-1] if scope.is_simple(axis)]
    along = rng.pick(others)
    z, key = x, None
    crossing = [value for value in scope.floats() if crossed(scope, x, along, value)]
    if crossing and rng.chance(0.5):
        z = rng.pick(crossing)
        key = rng.pick([axis for axis in z.axes[:-1] if axis not in x.axes])
    if rng.chance(0.12) and (key is None or z.axes[-1] == feature):
        q, k, v, heads, groups, features = x, z, z, None, None, feature
    else:
        taken = set(x.axes) | set(z.axes)
        heads, groups, features, values = heads_and_features(scope, x, taken)
        q = projected(scope, x, feature, heads, features)
        k = projected(scope, z, z.axes[-1], groups or heads, features)
        v = projected(scope, z, z.axes[-1], groups or heads, values)
        if not (q and k and v):
            return None
        if key is None and can_rotate(scope, q) and rng.chance(0.4):
            q = scope.let(rotary_text(scope, q.text, along), q.axes)
            k = scope.let(rotary_text(scope, k.text, along), k.axes)
    if rng.chance(0.3):
        q = moved(scope, q)
    if rng.chance(0.3):
        k = moved(scope, k)
    where, name = (f"along {key}", key) if key else key_name(scope, along, set(q.axes) | set(k.axes) | set(v.axes) | {groups})
    if scope_product(scope, q.axes[:-1]) * scope.most(key or along) > 60000:
        return None
    letters = letters_of(scope, q.axes[:-1])
    alone = [axis for axis in q.axes[:-1] if axis not in k.axes and not (axis == heads and groups)]
    counted = along if not key else (alone[0] if len(alone) == 1 else None)
    is_named = name in scope.dims() if name else False
    pairs = Pairs(scope, letters, name if is_named else key, counted, groups, axes=set(q.axes) | set(k.axes))
    lines, returned = hook_lines(scope, pairs, q, features, is_named)
    group = f" group {heads} by {groups}" if groups else ""
    text = f"attend {q.text} over {k.text}, {v.text} {where}{group} {{ {'  '.join(lines)} }}"
    axes = {"out": q.axes[:-1] + (v.axes[-1],), "lse": q.axes[:-1]}
    made = []
    for what in returned:
        # Where a query sees no key its lse is -inf.
        endless = what == "lse" and any(line.startswith(("mask", "bias")) for line in lines)
        made.append(Value(scope.spec.fresh("o"), axes.get(what, q.axes[:-1] + (name,)), is_endless=endless))
    scope.let_values(made, text)
    out = next((value for value, what in zip(made, returned) if what == "out"), None)
    if out is None:
        return made[0]
    if residual or (rng.chance(0.5) and residual is not False):
        back = [v.axes[-1]] + ([heads] if heads else [])
        back.reverse()
        y = linear(scope, out, back, [feature])
        if y is None:
            return out if not residual else None
        return scope.let(f"{x.text} + {y.text}", x.axes)
    return out


def scope_product(scope, axes):
    count = 1
    for axis in axes:
        count *= scope.most(axis)
    return count


def usable(scope, value):
    return (len(value.axes) >= 2 and value.axes[-1] in static_axes(scope, value)
            and any(scope.is_simple(axis) for axis in value.axes[:-1]))


def crossed(scope, x, along, z):
    """Whether keys and values can be of `z`: one axis that `x` lacks, and features of its own."""
    if len(z.axes) < 2 or not scope.is_simple(z.axes[-1]) or not scope.is_static(z.axes[-1]):
        return False
    new = [axis for axis in z.axes[:-1] if axis not in x.axes]
    rest = [axis for axis in z.axes[:-1] if axis in x.axes]
    return (len(new) == 1 and scope.is_fed(x) >= scope.is_fed(z) and scope.is_simple(new[0])
            and along not in rest and z.axes[-1] not in x.axes[:-1]
            and x.axes[-1] not in rest)


def moved(scope, x):
    """The same with its axes but the last in another order."""
    front = scope.rng.some(x.axes[:-1], len(x.axes) - 1)
    if not all(scope.is_simple(axis) for axis in x.axes):
        return x
    order = front + [x.axes[-1]]
    words = " ".join(axis.lower() for axis in x.axes)
    if len(set(words.split())) < len(x.axes):
        return x
    return scope.let(f'split({x.text}, "{words} -> {" ".join(axis.lower() for axis in order)}")', order)


def key_name(scope, along, taken):
    """`along T as S`, S a dim of that size by which types can name it, or a name of its own."""
    if scope.rng.chance(0.6) and not scope.cache:
        same = scope.same_dim(along, taken)
        return f"along {along} as {same}", same
    free = scope.spec.fresh("Keys")
    return f"along {along} as {free}", free


def with_static(scope, statics, word, make):
    """A hook that is made, behind a static of the block where there is one; the static alone, unless a parameter would be left unused."""
    before = len(scope.lines)
    text = make()
    if not statics:
        return text
    alone, both = statics[0], f"{statics[0]} {word} {text}"
    has_parameter = any(" with param " in line for line in scope.lines[before:])
    return both if scope.rng.pick([alone, both]) == both or has_parameter else alone


def hook_lines(scope, pairs, q, features, is_named):
    """The lines of an attention in any order, and what it returns."""
    rng = scope.rng
    lines = []
    kind = rng.pick(["softmax"] * 5 + ["sink", "sink", "sigmoid", "relu", "relu / n", "hardmax", "none", "dropout"])
    score = pairs.score(features) if rng.chance(0.6) else None
    if score:
        lines.append(f"score {score}")
    allowed = [name for name, what, _ in scope.statics if what == "mask"]
    added = [name for name, what, _ in scope.statics if what == "bias"]
    if rng.chance(0.5) or added:
        text = with_static(scope, added, "+", pairs.bias)
        lines.append(f"bias {text}")
    # A bias of -inf leaves no weight, but weights that are scores, and caps, make numbers of it.
    has_named_bias = any(line.startswith("bias") for line in lines)
    if kind == "none" and has_named_bias:
        kind = "softmax"
    if rng.chance(0.2) and not has_named_bias:
        lines.append(f"cap {rng.pick([2, 5.5, 30])}")
    if rng.chance(0.65) or allowed:
        text = with_static(scope, allowed, "and", pairs.mask)
        lines.append(f"mask {text}")
    elif scope.cache:
        lines.append("mask none")
    if kind == "sink":
        lines.append(f"weight softmax(sink = {sink(scope, pairs, q)})")
    elif kind == "dropout":
        lines.append("weight dropout(softmax, 0.1)")
    elif kind != "softmax" or rng.chance(0.2):
        lines.append(f"weight {kind}")
    returned = ["out"]
    if kind in ("softmax", "sink", "dropout") and rng.chance(0.3):
        returned.append("lse")
    if is_named:
        if rng.chance(0.25):
            returned.append("weights")
        if rng.chance(0.1) and not has_named_bias:
            returned.append(rng.pick(["scores(raw)", "scores(biased)", "scores(capped)"]))
        elif rng.chance(0.1):
            returned.append("scores(raw)")
        if len(returned) > 1 and rng.chance(0.1):
            returned.remove("out")
    returned = rng.some(returned, len(returned))
    if returned != ["out"] or rng.chance(0.1):
        lines.append("return " + ", ".join(returned))
    return rng.some(lines, len(lines)), returned


def sink(scope, pairs, q):
    rng = scope.rng
    found = ["0", "0.5", "-0.3"]
    if pairs.along:
        found.append("-0.1 * i")
    for letter, axis in pairs.letters.items():
        found.append(f"0.2 * {letter}")
        if scope.is_static(axis) and scope.is_simple(axis) and rng.chance(0.5):
            found += [(letter, axis)] * 2
    tensors = [value.text for value in scope.floats() if set(value.axes) <= set(q.axes[:-1]) and value.axes]
    if tensors:
        found.append(rng.pick(tensors))
    chosen = rng.pick(found)
    if isinstance(chosen, tuple):
        name = scope.spec.fresh("snk")
        scope.declare(f"param {name}: [{chosen[1]}]", True)
        return f"{name}[{chosen[0]}]"
    return chosen
