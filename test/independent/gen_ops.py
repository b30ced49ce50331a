# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random operations on tensors: each takes values of a scope and adds a `let`, or returns None where none fits."""
import math

from gen_scope import Value

MAPS = ["gelu", "gelu_tanh", "relu", "silu", "sigmoid", "tanh", "sin", "cos", "abs", "exp_", "sqrt_", "rsqrt_", "log_"]


def mapped(name, text):
    """A map that is finite everywhere."""
    return {"exp_": f"exp(-abs({text}))", "sqrt_": f"sqrt(abs({text}) + 0.1)", "rsqrt_": f"rsqrt(0.5 + abs({text}))",
            "log_": f"log(1.5 + abs({text}))"}.get(name, f"{name}({text})")


def static_axes(scope, value):
    return [axis for axis in value.axes if scope.is_simple(axis) and scope.is_static(axis)]


def word_of(scope, axis):
    """The word of an axis in a pattern of `split`, or None: a sum has no word."""
    if "*" in axis:
        return "(" + " ".join(name.lower() for name in axis.split("*")) + ")"
    return axis.lower() if scope.is_simple(axis) or axis == "1" else None


def parameter_path(scope, stem):
    spec, rng = scope.spec, scope.rng
    return spec.fresh(rng.pick([stem, f"{stem}.inner_", f"att.{stem}", f"{stem}.0.w"]))


def binding_of(scope, stem):
    rng = scope.rng
    text = ""
    if rng.chance(0.25):
        name = scope.spec.fresh(rng.pick(["stored.", "ck.a.", "x_"]))
        if rng.chance(0.4):
            name += ".{weight|bias}"
        text += f' = "{name}"'
    if rng.chance(0.25):
        text += " @conv1d"
    return text


def linear(scope, x=None, taken=None, given=None):
    """One linear map, or a packed pair; its value, and the declared name for `tied`."""
    rng = scope.rng
    x = x or scope.pick_value(lambda value: static_axes(scope, value))
    if x is None:
        return None
    static = static_axes(scope, x)
    taken = taken or rng.some(static, 2 if len(static) > 1 and rng.chance(0.2) else 1)
    rest = [axis for axis in x.axes if axis not in taken]
    if given is None:
        given = []
        for _ in range(2 if rng.chance(0.25) else 1):
            given.append(scope.static_dim(without=rest + given, largest=33 if given else 65))
    if not scope.fits(rest + given) or not scope.fits(taken + given) and set(taken).isdisjoint(given):
        return None
    arrow = f"{', '.join(taken)} -> {', '.join(given)}"
    bias = rng.pick(["", "", " bias", " bias", " bias if 2 > 1", " bias if 1 == 2"])
    earlier = [name for name, other in scope.spec.linears.get(scope_key(scope), []) if other == arrow]
    if earlier and rng.chance(0.5):
        name = parameter_path(scope, "tie")
        scope.declare(f"linear {name}: {arrow} = tied({rng.pick(earlier)})", True)
        return scope.let(f"{name}({x.text})", rest + given)
    if rng.chance(0.2):
        return packed_pair(scope, x, rest, given, arrow)
    name = parameter_path(scope, "fc")
    scope.declare(f"linear {name}: {arrow}{bias}{binding_of(scope, name)}", True)
    scope.spec.linears.setdefault(scope_key(scope), []).append((name, arrow))
    return scope.let(f"{name}({x.text})", rest + given)


def scope_key(scope):
    return scope if scope.block is not None else None


def packed_pair(scope, x, rest, given, arrow):
    """Two maps in one packed tensor, one part after the other or head by head."""
    rng, spec = scope.rng, scope.spec
    stem = spec.fresh("pk")
    by_head = len(given) == 2 and rng.chance(0.5)
    words = [spec.fresh("a"), spec.fresh("b")]
    order = rng.some(words, 2)
    text = rng.pick([stem + ".{weight|bias}", stem + "_{weight|bias}"])
    outside = given[0].lower() + " " if by_head else ""
    layout = " @conv1d" if rng.chance(0.25) else ""
    bias = rng.pick(["", " bias"])
    if not by_head and rng.chance(0.4):  # the same by the rows of each
        rows, gap = math.prod(scope.size(axis).rest for axis in given), rng.whole(0, 2)
        begins = dict(zip(order, (gap, gap + rows)))
        for word, name in zip(words, (words[0], f"m.{words[1]}")):
            of = f" of {gap + 2 * rows + gap}" if gap else ""
            scope.declare(f'linear {name}: {arrow}{bias} = slice("{text}", {begins[word]} to {begins[word] + rows}{of}){layout}', True)
    else:
        scope.declare(f'linear {words[0]}, m.{words[1]}: {arrow}{bias} = split("{text}", {outside}{" ".join(order)}){layout}', True)
    left = scope.let(f"{words[0]}({x.text})", rest + given)
    return scope.let(f"{left.text} * tanh(m.{words[1]}({x.text}))", rest + given)


def norm(scope, x=None):
    x = x or scope.pick_value(lambda value: static_axes(scope, value))
    if x is None:
        return None
    static = static_axes(scope, x)
    if not static:
        return None
    axes = scope.rng.some(static, 2 if len(static) > 1 and scope.rng.chance(0.15) else 1)
    name = parameter_path(scope, "ln")
    eps = scope.rng.pick(["", " eps 1e-6", " eps 0.01", " eps 1e-5"])
    kind = scope.rng.pick(["layernorm", "layernorm", "rmsnorm", "l2norm"])
    lacking = scope.rng.pick(["", "", "", "", " no bias", " no weight", " no weight no bias"])
    lacking = {"layernorm": lacking, "rmsnorm": lacking.replace(" no bias", ""), "l2norm": ""}[kind]
    has_weight = kind != "l2norm" and "weight" not in lacking
    offset = scope.rng.pick([" offset 1", " offset 0.5"]) if has_weight and scope.rng.chance(0.15) else ""
    scope.declare(f"{kind} {name}: {', '.join(axes)}{eps}{offset}{lacking}", True)
    return scope.let(f"{name}({x.text})", [axis for axis in x.axes if axis not in axes] + axes)


def unary(scope, x=None):
    x = x or scope.pick_value()
    if x is None:
        return None
    text = mapped(scope.rng.pick(MAPS), x.text)
    if scope.rng.chance(0.3):
        text = scope.rng.pick([f"2 * {text}", f"{text} - 0.5", f"-{text}", f"1 / (2 + abs({text}))", f"dropout({text}, 0.1)",
                               f"{text} / 3 + {x.text}", f"if 2 > 1 then {text} else {x.text}"])
    return scope.let(text, x.axes)


def largest(scope):
    """The largest elements along an axis, their places, or what stands there in another tensor."""
    rng = scope.rng
    x = scope.pick_value(lambda value: static_axes(scope, value))
    if x is None:
        return None
    axis = rng.pick(static_axes(scope, x))
    count = rng.whole(1, min(scope.size(axis).rest, 5))
    choices = scope.new_dim(count)
    axes = [choices if own == axis else own for own in x.axes]
    values, places = Value(scope.spec.fresh("best"), axes), Value(scope.spec.fresh("at"), axes, "i32")
    scope.let_values([values, places], f"topk({axis}, {x.text}, {choices})")
    if rng.chance(0.3) and len(axes) > 1:
        return scope.let(f"sum({choices}, softmax({choices}, {values.text}) * {values.text})", [own for own in axes if own != choices])
    if rng.chance(0.3):
        return scope.let(f"pick({mapped('tanh', x.text)}, {axis} at {places.text})", axes)
    return values


def clamped(scope):
    x = scope.pick_value()
    if x is None:
        return None
    low, high = sorted(rng_number(scope.rng) for _ in range(2))
    return scope.let(scope.rng.pick([f"clamp({x.text}, {low}, {high})", f"clamp({x.text}, {low}, abs({x.text}))"]), x.axes)


def rng_number(rng):
    return rng.whole(-20, 20) / 10


def binary(scope):
    x = scope.pick_value()
    if x is None:
        return None
    others = [value for value in scope.floats() if set(value.axes) <= set(x.axes)]
    if scope.lifted:  # With as many axes, the order of the compiled result depends on what the block is lifted over
        others = [value for value in others if len(value.axes) < len(x.axes) or value.axes == x.axes]
    if not scope.is_fed(x):  # what stems from parameters has not the axes that the block is lifted over
        others = [value for value in others if not scope.is_fed(value)]
    y = scope.rng.pick(others)
    # As many axes on both sides: the result has those of the left one.
    left, right = (x, y) if len(x.axes) > len(y.axes) or scope.rng.chance(0.5) else (y, x)
    axes = left.axes if len(left.axes) >= len(right.axes) else right.axes
    sign = scope.rng.pick(["+", "-", "*"])
    text = f"{left.text} {sign} {right.text}"
    if scope.rng.chance(0.2):
        text = f"{left.text} / (1.5 + abs({right.text}))"
    elif scope.rng.chance(0.3):
        text = mapped(scope.rng.pick(MAPS), f"{text}")
    return scope.let(text, axes)


def add_param(scope):
    x = scope.pick_value(lambda value: static_axes(scope, value))
    if x is None:
        return None
    axes = scope.rng.some(static_axes(scope, x), scope.rng.whole(1, 2))
    name = parameter_path(scope, "p")
    binding = scope.rng.pick(["", "", f' = "{scope.spec.fresh("stored.p")}"'])
    if scope.rng.chance(0.25):
        words = [scope.spec.fresh("ga"), scope.spec.fresh("sh")]
        text = scope.spec.fresh("packed")
        scope.declare(f'param {words[0]}, {words[1]}: [{", ".join(axes)}] = split("{text}", {words[1]} {words[0]})', True)
        return scope.let(f"{x.text} * {words[0]} + {words[1]}", x.axes)
    scope.declare(f"param {name}: [{', '.join(axes)}]{binding}", True)
    return scope.let(f"{x.text} {scope.rng.pick('+*-')} {name}", x.axes)


def formula_of_table(rng, names, static):
    """names: the indices. Finite everywhere, and moderate."""
    a, b = names[0], names[-1]
    size = static or 7
    return rng.pick([
        f"sin({a} / 10 ** ({b} / {size}))",
        f"if {b} % 2 == 0 then sin({a} * 0.3 + {b}) else cos({a} * 0.3)",
        f"0.05 * {a} - 0.02 * {b}",
        f"min({a}, 5) * 0.1 + tanh({b} - 3)",
        f"exp(-{a} / 9) + floor({b} / 3) * 0.1",
        f"(if {a} > {b} or {a} == 0 then 1 else 0) + 0.1 * ({a} % 3)",
        f"sqrt({a} + 1) * 0.2 + rsqrt({b} + 2) + log({a} + 1) * 0.1 + max({a}, {b}) * 0.01",
    ])


def add_table(scope, x=None, axis=None):
    """A table over one to three of the axes."""
    rng = scope.rng
    x = x or scope.pick_value(lambda value: any(scope.is_simple(axis) for axis in value.axes))
    if x is None:
        return None
    simple = [own for own in x.axes if scope.is_simple(own)]
    axes = rng.some(simple, rng.whole(1, 3))
    if axis and axis not in axes:
        axes = [axis] + axes[:1]
    names = [scope.spec.fresh("t") for _ in axes]
    static = [scope.size(own).rest for own in axes if scope.is_static(own)]
    name = scope.spec.fresh("tab")
    indices = ", ".join(f"{word}: {own}" for word, own in zip(names, axes))
    scope.declare(f"table {name}[{indices}] = {formula_of_table(rng, names, static[0] if static else None)}")
    return scope.let(f"{x.text} {rng.pick('+*')} {name}", x.axes)


def rotary_text(scope, text, axis):
    rng = scope.rng
    settings = rng.pick(["", "", ", base = 500000", ", factor = 4", ", base = 100, factor = 2.5",
                         ", factor = 8, low_freq_factor = 1, high_freq_factor = 4, original_length = 32", ", features = 2",
                         ", features = 2, attention_factor = 1.25"])
    return f"rotary({text}, {axis}, {rng.pick(['half', 'interleaved'])}{settings})"


def can_rotate(scope, value):
    last = value.axes[-1]
    return scope.is_simple(last) and scope.is_static(last) and scope.size(last).rest % 2 == 0


def rotary(scope):
    x = scope.pick_value(lambda value: can_rotate(scope, value) and any(map(scope.is_simple, value.axes[:-1])))
    if x is None:
        return None
    axis = scope.rng.pick([own for own in x.axes[:-1] if scope.is_simple(own)])
    return scope.let(rotary_text(scope, x.text, axis), x.axes)


def add_positions(scope):
    """An embedding of the positions along an axis, added."""
    x = scope.pick_value(lambda value: static_axes(scope, value) and any(map(scope.is_simple, value.axes)))
    if x is None:
        return None
    axis = scope.rng.pick([own for own in x.axes if scope.is_simple(own)])
    features = [own for own in static_axes(scope, x) if own != axis]
    if not features:
        return None
    rows = scope.new_dim(scope.most(axis) + scope.rng.pick([0, 0, 3]))
    name = parameter_path(scope, "wpe")
    scope.declare(f"embedding {name}: {rows} -> {scope.rng.pick(features)}", True)
    return scope.let(f"{x.text} + {name}(positions({axis}))", x.axes)
