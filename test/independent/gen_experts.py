# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random mixtures of experts: a stack whose layers rows choose, alone or in each layer of another stack, and stacks in stacks."""
from gen_ops import mapped
from gen_scope import Value


def expert(spec, rows, hidden, out):
    """A block that computes rows by themselves, one at a time or `rows` of them; its name."""
    rng, name = spec.rng, spec.fresh("Expert")
    act = mapped(rng.pick(["gelu", "relu", "silu", "tanh"]), "up(n)")
    body = [f"linear up: D -> {hidden}{rng.pick(['', ' bias'])}", f"linear down: {hidden} -> {out}{rng.pick(['', ' bias'])}"]
    n = "let n = x"
    if rng.chance(0.3):
        body.append(rng.pick(["layernorm norm: D", "rmsnorm norm: D"]) + " eps 1e-5")
        n = "let n = norm(x)"
    if rng.chance(0.5):
        body.append(f"linear gate: D -> {hidden}")
        act += " * gate(n)"
    shape = f"[{rows}, D]" if rows else "[D]"
    made = f"[{rows}, {out}]" if rows else f"[{out}]"
    dims = f"[{rows}]" if rows else ""
    lines = rng.some(body, len(body)) + [n, f"return down({act})"]
    spec.lines.append("\n".join([f"block {name}{dims}(x: {shape}) -> {made} {{"] + ["  " + line for line in lines] + ["}"]))
    return name


def routed(spec, experts, gate, x, out):
    """The lets that route rows, and the result."""
    rng = spec.rng
    scores, values, places = (spec.fresh(stem) for stem in ("scores", "best", "at"))
    soft = rng.chance(0.5)
    lets = [f"let {scores} = {gate}({x})", f"let {values}, {places} = topk(X, {f'softmax(X, {scores})' if soft else scores}, A)"]
    weights = rng.pick([values, f"{values} / sum(A, {values})", f"0.5 * {values}"] if soft else [f"softmax(A, {values})", f"tanh({values})"])
    text = f"route({experts}, {x}, {places}, {weights})"
    return lets, f"{x} + {text}" if out == "D" else text


def entry_of_experts(spec, name):
    """Experts beside an entry, or in each layer of a stack, which may be of stacks."""
    rng = spec.rng
    count, out = rng.whole(2, 6), rng.pick(["D", "D", "O"])
    lines = spec.lines
    lines += [f"dim X = {count}, A = {rng.whole(1, min(count, 3))}, D = {rng.size(24)}, F = {rng.size(24)}"]
    nested = rng.pick(["alone", "stack", "stacks"])
    if nested == "alone" and out == "O":
        lines.append(f"dim O = {rng.size(9)}")
    else:
        out = "D"
    lines.append(f"dyn T <= {rng.pick([7, 16, 33])}" if rng.chance(0.7) else f"dim T = {rng.size(16)}")
    axes = rng.pick([["T", "D"], ["B", "T", "D"], ["T", "D"]])
    if "B" in axes:
        lines.append(rng.pick(["dyn B <= 3", "dim B = 2"]))
    block = expert(spec, rng.pick(["N", ""]), "F", out)
    parts = [f"linear gate: D -> X{rng.pick(['', ' bias'])}", f"stack experts: X of {block}"]
    x = spec.fresh("x")
    if nested == "alone":
        lines += parts
        lets, result = routed(spec, "experts", "gate", x, out)
    else:
        lets, result = routed(spec, "experts", "gate", "x", out)
        layer, outer = spec.fresh("Mixture"), spec.fresh("Outer")
        lines.append("\n".join([f"block {layer}(x: [T, D]) -> [T, D] {{"] + [f"  {line}" for line in parts + lets] + [f"  return {result}", "}"]))
        if nested == "stacks":
            lines.append(f"block {outer}(x: [T, D]) -> [T, D] {{\n  stack inner: {rng.whole(1, 3)} of {layer}\n  return inner(x)\n}}")
        lines.append(f"stack layers: {rng.whole(1, 3)} of {outer if nested == 'stacks' else layer}")
        lets, result = [], f"layers({x})"
    made = Value("", axes[:-1] + [out])
    entry = [f"entry {name}({x}: {Value(x, axes).type()}) -> {made.type()} {{"] + ["  " + line for line in lets] + [f"  return {result}", "}"]
    lines.append("\n".join(entry))
