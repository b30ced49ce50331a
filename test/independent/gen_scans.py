# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random cells, with and without parameters of their own, and scans of them."""
from gen_ops import mapped
from gen_scope import Value

GATES = ["sigmoid", "tanh", "sin", "abs", "silu"]


def scan(scope):
    """A cell of the model, scanned along an axis of a value; what its steps give."""
    rng, spec = scope.rng, scope.spec
    if not scope.is_entry or scope.cache:
        return None
    x = scope.pick_value(lambda value: len(value.axes) > 1 and scope.is_simple(value.axes[-1]) and scope.is_static(value.axes[-1])
                         and any(scope.is_simple(axis) for axis in value.axes[:-1]))
    if x is None:
        return None
    along = rng.pick([axis for axis in x.axes[:-1] if scope.is_simple(axis)])
    feature, place = x.axes[-1], x.axes.index(along)
    lifted = [axis for axis in x.axes[:-1] if axis != along]
    is_bare = rng.chance(0.3)
    wide = feature if is_bare else scope.static_dim(without=x.axes, largest=33)
    if not scope.fits(x.axes[:-1] + (wide,)):
        return None
    cell = Cell(scope, feature, wide, is_bare)
    name = cell.name
    if cell.has_parameters or rng.chance(0.3):
        name = spec.fresh("rec")
        given = f"({cell.static} = {rng.pick([0.5, 2])})" if cell.static else ""
        binding = f' = "{spec.fresh("moved.")}"' if rng.chance(0.25) else ""
        scope.declare(f"part {name}: {cell.name}{given}{binding}", True)
    elif cell.static:
        name += f"({cell.static} = {rng.pick([0.25, 1])})"
    text = f"scan {name} over {x.text} along {along}" + rng.pick(["", " reverse"]) + beginning(scope, cell, lifted, wide)
    if lifted and rng.chance(0.4):
        rows = rng.some(lifted, rng.whole(1, len(lifted)))
        text += f" lengths {scope.tensor_input(rows, 'i32')}"
    stacked = lambda axes: list(axes)[:place] + [along] + list(axes)[place:]
    own = lifted + [wide]
    given = [Value(spec.fresh("hs"), stacked(own)) for _ in range(max(cell.outputs, 1))]
    if rng.chance(0.4) and len(given) == 1:
        scope.let_values(given, text)
        return given[0]
    last = [Value(spec.fresh("h"), own) for _ in range(cell.states)]
    bracket = lambda values: values[0].text if len(values) == 1 else f"({', '.join(value.text for value in values)})"
    scope.lets.append(f"let {bracket(given)}, {bracket(last)} = {text}")
    scope.values += last + given
    return given[0]


def beginning(scope, cell, lifted, wide):
    """Behind `from`: zeros, or for each state zeros, a parameter, or a tensor of some of the axes."""
    rng = scope.rng
    if rng.chance(0.5):
        return rng.pick(["", " from zeros"])
    words = []
    for _ in range(cell.states):
        kind = rng.pick(["zeros", "param", "input"])
        if kind == "param":
            words.append(scope.spec.fresh("start"))
            scope.declare(f"param {words[-1]}: [{wide}]", True)
        elif kind == "input":
            words.append(scope.tensor_input(lifted + [wide] if rng.chance(0.7) else [wide], "f32"))
        else:
            words.append("zeros")
    return f" from {words[0]}" if len(words) == 1 else f" from ({', '.join(words)})"


class Cell:
    """Written into the model: `name`, how many states it has and what else a step gives."""

    def __init__(self, scope, feature, wide, is_bare):
        rng, spec = scope.rng, scope.spec
        self.name = spec.fresh("Cell")
        self.states, self.outputs = rng.whole(1, 2), rng.pick([0, 0, 0, 1, 2])
        self.has_parameters = not is_bare
        self.static = spec.fresh("s") if rng.chance(0.25) else None
        x, states = spec.fresh("x"), [spec.fresh("h") for _ in range(self.states)]
        lines = []
        if is_bare:
            inner, mix = f"0.5 * {x}", lambda h: f"0.7 * {h}"
        else:
            of_x, of_h = spec.fresh("ih"), spec.fresh("hh")
            lines += [f"linear {of_x}: {feature} -> {wide}{rng.pick(['', ' bias'])}",
                      f"linear {of_h}: {wide} -> {wide}{rng.pick(['', ' bias'])}"]
            inner, mix = f"{of_x}({x})", lambda h: f"{of_h}({h})"
            if rng.chance(0.3):
                norm = spec.fresh("ln")
                lines.append(f"layernorm {norm}: {wide}")
                inner = f"{norm}({inner})"
        if self.static:
            inner = f"{self.static} * {inner}"
        sums = spec.fresh("sum")
        lines.append(f"let {sums} = {inner} + {mix(states[0])}")
        new = [mapped(rng.pick(["tanh", "sigmoid", "sin"]), sums)]
        if self.states == 2:
            gate = f"sigmoid({sums} - 0.3)"
            new.append(f"{gate} * {states[1]} + (1 - {gate}) * tanh({sums})")
            new[0] = rng.pick([new[0], f"sigmoid({sums}) * tanh({states[1]})"])
        results = [("[" + wide + "]", f"{mapped(rng.pick(GATES), sums)} + {n}") for n in range(self.outputs)] + list(zip(states, new))
        results = rng.some(results, len(results))
        lines.append(f"return {', '.join(value for _, value in results)}")
        behind = f"; {self.static} = 1" if self.static else ""
        parameters = [f"{x}: [{feature}]"] + [f"{h}: [{wide}]" for h in states]
        head = f"cell {self.name}({', '.join(parameters)}{behind}) -> {', '.join(type_ for type_, _ in results)} {{"
        scope.home.lines.append("\n".join([head] + ["  " + line for line in lines] + ["}"]))
