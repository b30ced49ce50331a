# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random decoders: a stack of layers with a cache, and entries that add positions to it."""
from gen_blocks import write_block
from gen_hooks import Pairs
from gen_ops import add_table, linear, norm, rotary_text, unary
from gen_attention import heads_and_features, hook_lines, letters_of, projected
from gen_scope import BLOCK_NAMES, DIM_NAMES, Scope, Value
from sizes import Size

NEW = "N0"  # the dim of the positions that a call adds
MEMORY = "M0"  # that of what is computed once


def cached_attention(scope, x, along):
    """x + o(attend ...) over what is pushed; the positions of `along` are the new ones."""
    rng, feature = scope.rng, x.axes[-1]
    n = norm(scope, x) if rng.chance(0.5) else x
    heads, groups, features, values = heads_and_features(scope, x, set(x.axes))
    q = projected(scope, n, feature, heads, features)
    k = projected(scope, n, feature, groups or heads, features)
    v = projected(scope, n, feature, groups or heads, values)
    if not (q and k and v):
        return None
    if scope.size(features).rest % 2 == 0 and rng.chance(0.6):
        q = scope.let(rotary_text(scope, q.text, along), q.axes)
        k = scope.let(rotary_text(scope, k.text, along), k.axes)
    if rng.chance(0.3):
        k = add_table(scope, k, along) or k
    letters = {letter: axis for letter, axis in letters_of(scope, q.axes[:-1]).items() if axis != along}
    pairs = Pairs(scope, letters, None, along, groups, cached=True, axes=set(q.axes) | set(k.axes))
    lines, _ = hook_lines(scope, pairs, q, features, False)
    lines = [line for line in lines if not line.startswith("return")]
    if not any(line.startswith("mask") for line in lines):
        lines.append("mask none")
    if rng.chance(0.5):
        lines = [f"mask causal and ({line[5:]})" if line.startswith("mask") and line != "mask none" else line for line in lines]
    group = f" group {heads} by {groups}" if groups else ""
    key = scope.spec.fresh("Keys")
    out = Value(scope.spec.fresh("o"), q.axes[:-1] + (v.axes[-1],))
    if rng.chance(0.3):
        keys, rows = scope.spec.fresh("k"), scope.spec.fresh("v")
        scope.lets.append(f"let {keys}, {rows} = {scope.cache}.push({k.text}, {v.text}) along {along} as {key}")
        over = f"{keys}, {rows} along {key}"
        if pairs.along:
            over = f"{keys}, {rows} along {key}"
    else:
        over = f"{scope.cache}.push({k.text}, {v.text}) along {along} as {key}"
    scope.let_values([out], f"attend {q.text} over {over}{group} {{ {'  '.join(lines)} }}")
    y = linear(scope, out, ([heads] if heads else []) + [v.axes[-1]], [feature])
    return y and scope.let(f"{x.text} + {y.text}", x.axes)


def kept_attention(scope, x, memory, rows):
    """x + o(attend ...) over keys and values of a memory, which are computed once."""
    rng, feature = scope.rng, x.axes[-1]
    heads, groups, features, values = heads_and_features(scope, x, set(x.axes) | {rows})
    q = projected(scope, x, feature, heads, features)
    k = projected(scope, memory, feature, groups or heads, features)
    v = projected(scope, memory, feature, groups or heads, values)
    if not (q and k and v):
        return None
    key, out = scope.spec.fresh("Keys"), Value(scope.spec.fresh("o"), q.axes[:-1] + (v.axes[-1],))
    group = f" group {heads} by {groups}" if groups else ""
    line = rng.pick(["", " { mask none }", " { score cosine }", " { mask j % 3 != 1 }"])
    scope.let_values([out], f"attend {q.text} over {scope.memory_cache}.once({k.text}, {v.text}) along {rows} as {key}{group}{line}")
    y = linear(scope, out, ([heads] if heads else []) + [v.axes[-1]], [feature])
    return y and scope.let(f"{x.text} + {y.text}", x.axes)


def layer_block(spec, axes, has_memory):
    """A block [B, T, D] with a cache, and a memory [B, M, D] that another one keeps; its name."""
    rng = spec.rng
    home = rng.pick(spec.used) if spec.used and rng.chance(0.3) else spec.model
    name = home.new_name(BLOCK_NAMES, is_seen_outside=not home.is_model)
    scope = Scope(spec, home, block={"stacked": True})
    scope.cache, scope.depth = rng.pick(["kv", "store"]), 1
    lifted = 1 if len(axes) > 2 and rng.chance(0.15) else 0
    scope.lifted = tuple(axes[:lifted])
    own = []
    for axis in axes[lifted:]:
        if home.is_model and axis != NEW and rng.chance(0.5):
            own.append(axis)
            spec.kept_in(scope).add(axis)
            continue
        free = [word for word in DIM_NAMES if word not in scope.own and word not in axes]
        word = NEW if axis == NEW and rng.chance(0.5) else rng.pick(free)
        scope.own[word] = spec.cached_sizes[axis]
        scope.brackets.append(word)
        own.append(word)
    x = Value("x", own)
    scope.feed("x", x)
    scope.values.append(x)
    along = own[len(axes) - 2 - lifted]
    if has_memory:
        rows = rng.pick([word for word in DIM_NAMES if word not in scope.own and word not in axes + own])
        scope.own[rows] = Size(0, 1, MEMORY)
        scope.brackets.append(rows)
        memory = Value("memory", own[:-2] + [rows, own[-1]])
        scope.feed("memory", memory)
        scope.memory_cache = rng.pick(["far0", "store0"])
    made = x
    if rng.chance(0.4):
        made = add_table(scope, made, along) or made
    made = cached_attention(scope, made, along) or cached_attention(scope, made, along)
    if made is None:
        return None
    if has_memory:
        made = kept_attention(scope, made, memory, rows) or made
    if rng.chance(0.6):
        hidden = linear(scope, made, [own[-1]], [scope.static_dim(without=own, largest=40)])
        if hidden:
            y = linear(scope, unary(scope, hidden), [hidden.axes[-1]], [own[-1]])
            made = y and scope.let(f"{made.text} + {y.text}", made.axes) or made
    if rng.chance(0.3):
        made = add_table(scope, made, along) or made
    write_block(name, scope, [Value(made.text, own)])
    return name


def cached_forward(spec):
    """A cache, a stack, `forward` and the entries that it gives."""
    rng = spec.rng
    capacity = rng.pick([5, 16, 23, 40])
    dtype = rng.pick(["", "", "", ": f16", ": bf16"])
    has_memory = rng.chance(0.5)
    length = rng.pick([1, 4, 9, 21])
    far = f", far0{rng.pick(['', ': bf16'])} capacity {length + rng.pick([0, 0, 3])}" if has_memory else ""
    spec.lines.append(f"cache kv{dtype} capacity {capacity}{far}")
    spec.bounds[NEW] = capacity
    batched = rng.chance(0.8)
    scope = Scope(spec, spec.model, block=None)
    scope.cache = "kv"
    scope.own[NEW] = Size(0, 1, NEW)
    spec.cached_sizes = {**spec.dims, NEW: Size(0, 1, NEW)}
    axes = (["B"] if batched else []) + [NEW, "D"]
    if rng.chance(0.5):
        rows = rng.size(40)
        spec.lines.extend([f"dim V0 = {rows}", "embedding wte0: V0 -> D"])
        spec.dims["V0"] = Size(rows)
        spec.ranges["ids0"] = (0, rows)
        scope.parameters.append(("ids0", Value("ids0", axes[:-1], rng.pick(["i32", "i64"]))))
        x = scope.let("wte0(ids0)", axes)
    else:
        scope.parameters.append(("x0", Value("x0", axes)))
        x = Value("x0", axes)
        scope.values.append(x)
    scope.parameters.append(("kv", None))
    if has_memory:
        spec.lines.append(f"dyn {MEMORY} <= {length}")
        spec.bounds[MEMORY] = length
        spec.dims[MEMORY] = Size(0, 1, MEMORY)
        spec.cached_sizes[MEMORY] = spec.dims[MEMORY]
        memory = Value("m0", axes[:-2] + [MEMORY, "D"])
        scope.parameters.extend([("m0", memory), ("far0", None)])
        if rng.chance(0.5):
            memory = unary(scope, memory)
    if rng.chance(0.4):
        spec.dims["P0"] = Size(capacity + rng.pick([0, 5]))
        spec.lines.extend([f"dim P0 = {spec.dims['P0'].rest}", "embedding wpe0: P0 -> D"])
        x = scope.let(f"{x.text} + wpe0(positions({NEW}))", axes)
    if rng.chance(0.4):
        x = in_entry_table(scope, x, capacity)
    name = layer_block(spec, axes, has_memory)
    if name:
        shared = "shared " if rng.chance(0.2) else ""
        binding = rng.pick(["", ' = "blocks"' if shared else ' = "b{n}.x"'])
        if rng.chance(0.85):
            spec.lines.append(f"stack layers: {rng.whole(1, 3)} of {shared}{name}{binding}")
        else:
            spec.lines.append(f"part layers: {name}")
        x = scope.let(f"layers({x.text}, {memory.text}, kv, far0)" if has_memory else f"layers({x.text}, kv)", axes)
    if rng.chance(0.4):
        x = unary(scope, x)
    results = [x]
    if rng.chance(0.5):
        x = linear(scope, x, ["D"], [scope.static_dim(without=axes, largest=40)]) or x
        results = [x] + ([rng.pick(scope.values[-3:])] if rng.chance(0.3) else [])
    results = [value for value in results if value.dtype == "f32"]
    parameters = ", ".join(f"{text}: cache" if value is None else f"{text}: {value.type()}" for text, value in scope.parameters)
    types = ", ".join(value.type(rng.pick(["f32", "f32", "f32", "f16", "bf16"])) for value in results)
    body = ["  " + line for line in scope.lets] + [f"  return {', '.join(value.text for value in results)}", "}"]
    spec.lines.append("\n".join([f"forward[{NEW}]({parameters}) -> {types} {{"] + body))
    fixed = rng.pick([1, 1, 2, 3])
    last = lambda: rng.pick(["", f" last {NEW}"])
    spec.lines.append(f"entry prefill = forward{last()}")
    if rng.chance(0.8):
        without = " without m0" if has_memory and rng.chance(0.8) else ""
        spec.lines.append(f"entry decode = forward[{NEW}: {fixed}]{without}{last()}")


def in_entry_table(scope, x, capacity):
    """A table along the new positions: in the entry it has to be the model's, over the cache's positions."""
    # A table is no statement of an entry: a block without parameters has it.
    spec, rng = scope.spec, scope.rng
    name = spec.model.new_name(BLOCK_NAMES)
    word = rng.pick(["N", NEW, "L"])
    spec.lines.append(f"block {name}[{word}](x: [{word}, D]) -> [{word}, D] {{\n"
                      f"  table pos[t: {word}, c: D] = sin(0.4 * t + 0.1 * c) + 0.01 * t\n  return x + pos\n}}")
    return scope.let(f"{name}({x.text})", x.axes)
