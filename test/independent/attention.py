# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`attend q over k, v along S group H by G { ... }`: scores, hooks, weights and what is returned, in the manual's order."""
import numpy as np

from formulas import Formula, Site, Vector, dot
from sizes import Axis, Problem
from syntax import Binary, Call, Path
from values import Precision, Tensor


def attend(frame, expr):
    """The values that the form gives, as a list."""
    model = frame.model
    q = model.tensor(expr.query, frame)
    k, v, keys = keys_and_values(frame, expr)
    queries = q.axes[:-1]
    if set(keys) & set(queries):
        raise Problem(f"line {expr.line}: the query has a key axis of {keys}")
    groups = None
    if expr.group:
        heads, group = (frame.axis_named(name) for name in expr.group)
        groups = heads, group, heads.count // group.count
        k, v = (repeated(x, *groups) for x in (k, v))
    site = Site(frame, queries, rows_of(frame, expr, q, k), keys, groups, [frame.axis_named(name) for name, _ in expr.along]
                if len(expr.along) > 1 else [])
    if q.axes[-1].count != k.axes[-1].count and "score" not in expr.lines:
        raise Problem(f"line {expr.line}: query and keys do not end in the same axis")
    pairs = list(queries) + keys
    rows = Vector(q.data.reshape(q.data.shape[:-1] + (1,) * len(keys) + q.data.shape[-1:]), q.axes[-1])  # [queries..., 1..., E]
    columns = Vector(k.spread(pairs + [k.axes[-1]]), k.axes[-1])  # [queries... or 1, keys..., E]
    values = v.spread(pairs + [v.axes[-1]])
    shape = tuple(axis.count for axis in pairs)
    flat = shape[:len(queries)] + (-1,)  # all keys of a query, row by row

    raw = kept(score(frame, site, expr.lines.get("score"), rows, columns), shape)
    biased = capped = raw
    if "bias" in expr.lines:
        biased = capped = kept(raw + Formula(frame, site).number(expr.lines["bias"]), shape)
    if "cap" in expr.lines:
        limit = Formula(frame, site).number(expr.lines["cap"])
        capped = kept(limit * np.tanh(biased / limit), shape)
    live = np.ones(shape, bool)
    if "mask" in expr.lines and not (isinstance(expr.lines["mask"], Path) and expr.lines["mask"].name == "none"):
        live = np.broadcast_to(np.asarray(Formula(frame, site).number(expr.lines["mask"]), bool), shape)
    weights, lse = normalise(frame, site, expr.lines.get("weight"), capped.reshape(flat), live.reshape(flat))
    weights = kept(weights.reshape(shape), shape)
    values = values.reshape(values.shape[:len(queries)] + (-1, values.shape[-1]))
    features = v.axes[-1]
    found = {
        "out": lambda: Tensor(list(queries) + [features], np.einsum("...s,...sf->...f", weights.reshape(flat), values)),
        "lse": lambda: Tensor(queries, lse()),
        "weights": lambda: Tensor(pairs, weights),
        "raw": lambda: Tensor(pairs, raw),
        "biased": lambda: Tensor(pairs, biased),
        "capped": lambda: Tensor(pairs, capped),
    }
    return [found[returned_name(item)]() for item in expr.lines.get("return", [Path(("out",))])]


def returned_name(item):
    """`scores(raw)` -> "raw"; "out", "lse" and "weights" are what they are."""
    if isinstance(item, Call):
        if item.function.name != "scores":
            raise Problem(f"line {item.line}: an attention returns no {item.function.name}")
        return item.arguments[0].value.name
    return item.name


def kept(numbers, shape):
    """Numbers of all pairs, as f32 would keep them where roundings are asked for."""
    numbers = np.broadcast_to(np.asarray(numbers, float), shape)
    return numbers.astype(np.float32).astype(float) if Precision.rounds else numbers


def rows_of(frame, expr, q, k):
    """The axes of the query that `i` counts along, or None: those that the keys' were named after, or the only one of its own."""
    named = [frame.axis_named(along) for along, name in expr.along if name]
    if len(named) == len(expr.along):
        return [q.axes[q.place(axis)] for axis in named] if all(q.has(axis) for axis in named) else None
    alone = [axis for axis in q.axes[:-1] if not k.has(axis)]
    return alone if len(alone) == 1 else None


def keys_and_values(frame, expr):
    """k: [..., S, E]; v: [..., S, F]; the axes that are attended along."""
    model = frame.model
    if len(expr.over) == 1:
        given = model.evaluate(expr.over[0], frame, along=expr.along[0])
        if isinstance(given, Tensor) or len(given) != 2:
            raise Problem(f"line {expr.line}: keys and values are needed")
        k, v = given
    else:
        k, v = (model.tensor(over, frame) for over in expr.over)
    keys = []
    for along, name in expr.along:
        k, v, key = named_key(frame, expr, k, v, along, name)
        keys.append(key)
    return k, v, keys


def named_key(frame, expr, k, v, along, name):
    """Keys and values with one axis under its name in the attention, and that axis."""
    if not name:
        # A push names the axis for whoever reads the keys, which no dim has to do.
        found = frame.find(along)
        key = frame.axis_named(along) if found and found[0] in ("dim", "dyn", "axis", "value") else None
        named = [axis for axis in k.axes if axis == key or axis.name == along]
        if not named:
            raise Problem(f"line {expr.line}: the keys {k} lack {along}")
        return k, v, named[0]
    pushed = [axis for axis in k.axes if axis.key == key_axis(frame, name, None).key]
    if pushed:
        return k, v, pushed[0]
    shared = frame.axis_named(along)
    key = key_axis(frame, name, k.axes[k.place(shared)])
    return k.renamed({shared: key}), v.renamed({shared: key}), key


def key_axis(frame, name, like):
    """The axis called `name` for keys along `like`: that of a dim or cache of this name, else a new one."""
    found = frame.find(name)
    if found and (found[0] in ("dim", "axis", "dyn") or found[0] == "value" and hasattr(found[1], "axis")):
        return frame.axis_named(name)
    key = f"{name} of keys{frame.tag}"
    return Axis(key, name, None, None) if like is None else Axis(key, name, like.count, like.size)


def repeated(x, heads, group, ratio):
    """Keys or values of groups -> those of each head."""
    if not x.has(group):
        return x
    data = np.repeat(x.data, ratio, x.place(group))
    return Tensor([heads if axis == group else axis for axis in x.axes], data, x.dtype)


def score(frame, site, line, rows, columns):
    """line: None, a name, or a name and statics -> the scores of all pairs."""
    name = "scaled_dot" if line is None else (line.function if isinstance(line, Call) else line).name
    found = frame.find(name)
    if found and found[0] == "static":
        static = found[1]
        return score(static.frame, site, static.expr, rows, columns)
    if found and found[0] == "score":
        arguments = line.arguments if isinstance(line, Call) else []
        return Formula(frame, site).apply_hook(found[1], found[2], arguments, {"q": rows, "k": columns})
    if rows.axis != columns.axis:
        raise Problem("query and keys do not end in the same axis")
    if name == "cosine":
        def unit(x):
            length = np.sqrt((x.data ** 2).sum(-1, keepdims=True))
            return x.data / np.where(length == 0, 1, length)
        return dot(unit(rows), unit(columns))
    if name in ("dot", "scaled_dot"):
        return dot(rows.data, columns.data) * (rows.axis.count ** -0.5 if name == "scaled_dot" else 1)
    raise Problem(f"no score is called {name}")


def normalise(frame, site, line, scores, live):
    """The weights of all pairs, and a function that gives lse: [queries...]."""
    name, sink, divides = "softmax", None, False
    while isinstance(line, Call) and line.function.name == "dropout":
        line = line.arguments[0].value
    if isinstance(line, Binary):
        line, divides = line.left, True  # relu / n
    if isinstance(line, Call):
        name = line.function.name
        sink = sink_of(frame, site, line.arguments[0].value)
    elif line is not None:
        name = line.name
    live = live & (scores > -np.inf)
    with np.errstate(all="ignore"):
        if name == "none":
            return np.where(live, scores, 0), None
        if name == "sigmoid":
            return np.where(live, 1 / (1 + np.exp(-scores)), 0), None
        if name == "relu":
            return np.where(live, np.maximum(scores, 0), 0) / (scores.shape[-1] if divides else 1), None
        masked = np.where(live, scores, -np.inf)
        if name == "hardmax":
            return hardmax(masked), None
        if name != "softmax":
            raise Problem(f"no weight is called {name}")
        most = masked.max(-1)
        if sink is not None:
            sink = np.broadcast_to(np.asarray(sink, float), scores.shape[:-1] + (1,))[..., 0]
            most = np.maximum(most, sink)
        safe = np.where(np.isfinite(most), most, 0)
        weights = np.exp(masked - safe[..., None])
        total = weights.sum(-1)
        if sink is not None:
            total = total + np.exp(sink - safe)
        weights = weights / np.where(total == 0, 1, total)[..., None]
        return weights, lambda: np.log(total) + safe


def sink_of(frame, site, expr):
    """A number for each query: [queries..., 1]."""
    if isinstance(expr, Path):
        found = frame.find(expr.name)
        if found and found[0] in ("value", "param"):
            value = frame.model.evaluate(expr, frame)
            if isinstance(value, Tensor):
                return value.spread(list(site.axes))[..., None]
    # A number for each query, whatever the number of the key axes is.
    found = np.asarray(Formula(frame, site).number(expr))
    return found.reshape(found.shape[:len(site.axes)] + (1,)) if found.ndim > len(site.axes) else found


def hardmax(scores):
    """1 for the first of the largest, 0 for the others, and for all where no key is live."""
    best = scores.argmax(-1)[..., None]
    weights = np.zeros(scores.shape)
    np.put_along_axis(weights, best, 1, -1)
    if scores.shape[-1] > 1:
        two = np.partition(scores, -2, -1)[..., -2:]
        if np.any((two[..., 0] != two[..., 1]) & (two[..., 1] - two[..., 0] < 1e-5 * np.maximum(np.abs(two[..., 1]), 1e-2))):
            Precision.fragile.append("hardmax")
    return weights * (scores.max(-1, keepdims=True) > -np.inf)
