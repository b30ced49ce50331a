# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions as entries of a spec, each with what it must give."""
from types import SimpleNamespace

import numpy as np

from attention_math import attention, difference, scaled_dot
from measured import measured
from program import Failed, Program


class Case:
    """An entry, `run_` and its name: what is declared for it, its inputs {name: (type, array)}, its expression, and its
    results [(what, type, wanted, magnitude)]."""

    def __init__(self, declarations, inputs, body, results, weights, bound):
        self.name, self.declarations, self.inputs, self.body = "", declarations, inputs, body
        self.results, self.weights, self.bound = results, weights or {}, bound

    def text(self):
        takes = ", ".join(f"{name}: {type_}" for name, (type_, _) in self.inputs.items())
        gives = ", ".join(result[1] for result in self.results)
        names = [f"r{n}" for n in range(len(self.results))]
        lines = "".join(f"  {line.strip()}\n" for line in self.declarations.splitlines() if line.strip())
        lines += f"  entry run_{self.name}({takes}) -> {gives} {{\n"
        if len(names) == 1:
            return lines + f"    return {self.body}\n  }}\n"
        return lines + f"    let {', '.join(names)} = {self.body}\n    return {', '.join(names)}\n  }}\n"

    def problem(self, program):
        """What is wrong, None where nothing is."""
        try:
            given = program.run(f"run_{self.name}", {name: x for name, (_, x) in self.inputs.items()}, len(self.results))
        except Failed as failed:
            return str(failed)
        for got, (what, _, wanted, magnitude) in zip(given, self.results):
            if got.shape != wanted.shape:
                return f"{what} is {got.shape}, expected {wanted.shape}"
            error = difference(got, wanted, magnitude)
            if not error <= self.bound:
                return f"{what} differs by {error:.1e} (relative L2, bound {self.bound:.0e})"
            measured(self.name, error)
        return None


def spec_of(head, cases):
    return "attn 1\nmodel Cases {\n" + head + "".join(case.text() for case in cases) + "}\n"


def problems(folder, head, cases, flags=()):
    """Compiles the cases into one program and runs each: {name: what is wrong}."""
    weights = {name: x for case in cases for name, x in case.weights.items()}
    try:
        program = Program(folder, spec_of(head, cases), weights, flags)
    except Failed as failed:
        if len(cases) == 1:
            return {cases[0].name: str(failed)}
        return {name: problem for case in cases for name, problem in problems(folder, head, [case], flags).items()}
    found = {case.name: case.problem(program) for case in cases}
    return {name: problem for name, problem in found.items() if problem}


def moved(x, axes, order):
    """An array with axes called `axes` in another order; of axes that are not in it, the first element."""
    x = x[tuple(slice(None) if axis in order else 0 for axis in axes)]
    axes = [axis for axis in axes if axis in order]
    return np.ascontiguousarray(x.transpose([axes.index(axis) for axis in order]))


def case(method):
    """Marks a method of a setting that makes a case."""
    method.is_case = True
    return method


def odd(rng, low, high):
    """A number that is drawn: of sizes, most of which fill no vector."""
    return int(rng.integers(low, high))


class Setting:
    """Sizes, and tensors of them: a query [B, H, T, E], keys [B, H, S, E] and values [B, H, S, F]."""

    def __init__(self, rng, sizes, dynamic=(), whole=False):
        self.rng, self.sizes, self.dynamic = rng, sizes, dynamic
        B, H, T, S, E, F = (sizes[name] for name in "BHTSEF")
        draw = (lambda *shape: rng.integers(-2, 3, shape).astype(np.float32)) if whole else self.normal
        self.q, self.k, self.v = draw(B, H, T, E), draw(B, H, max(S, T), E), self.normal(B, H, max(S, T), F)

    def normal(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def positions(self, own=False):
        """b, h, i and j of all pairs."""
        B, H, T, S = (self.sizes[name] for name in ("BHTT" if own else "BHTS"))
        return SimpleNamespace(**dict(zip("bhij", np.ogrid[:B, :H, :T, :S])))

    def head(self):
        """The dims, dynamic ones with a bound of a little more than they are."""
        fixed = [f"{name} = {size}" for name, size in self.sizes.items() if name not in self.dynamic] + ["Z = T"]
        open_ = [f"{name} <= {self.sizes[name] + 3}" for name in self.dynamic]
        return (f"  dyn {', '.join(open_)}\n" if open_ else "") + f"  dim {', '.join(fixed)}\n"

    def attend(self, lines="", declarations="", inputs=None, weights=None, raw=None, returns=("out",), axes="BHT",
               keys="BHS", own=False, q=None, k=None, v=None, bound=1e-5, **hooks):
        """A case: `axes` is the order of the query's axes, `keys` that of the keys'; G in it are groups. With `own`, the
        keys lie along T like the queries. `raw(q, k)` is the score, scaled_dot where it is not given; `hooks` are what
        attention_math.attention takes, or functions of the positions."""
        q, k, v = (x if given is None else given for x, given in [(self.q, q), (self.k, k), (self.v, v)])
        rows, heads = self.sizes["T" if own else "S"], "G" if "G" in keys else "H"
        used = {"G": self.sizes.get("G"), "H": self.sizes["H"] if "H" in keys else 1}[heads]
        k, v = k[:, :used, :rows], v[:, :used, :rows]
        feature = "E" if k.shape[-1] == q.shape[-1] else "D"
        types = {"q": (q, "BHT", axes, "E"), "k": (k, f"B{heads}S", keys, feature), "v": (v, f"B{heads}S", keys, "F")}
        given = {}
        for tensor, (x, names, order, last) in types.items():
            shape = ", ".join([*order, last])
            if tensor != "q" and own:
                shape = shape.replace("S", "T")
            given[tensor] = (f"[{shape}]", moved(x, [*names, last], [*order, last]))
        k, v = (np.repeat(x[: self.sizes["B"] if "B" in keys else 1].astype(float), q.shape[1] // used, 1) for x in (k, v))
        place = self.positions(own)
        hooks = {hook: value(place) if callable(value) else value for hook, value in hooks.items()}
        results = attention((raw or scaled_dot)(q.astype(float), k), v, **hooks)
        gives = []
        for what in returns:
            end = {"out": ["F"], "lse": []}.get(what, ["Z" if own else "S"])
            wanted, magnitude = (moved(x, [*"BHT", *end], [*axes, *end]) for x in results[what])
            gives.append((what, f"[{', '.join([*axes, *end])}]", wanted, magnitude))
        body = f"attend q over k, v along {'T as Z' if own else 'S'}{' group H by G' if heads == 'G' else ''} {{\n"
        body += "".join(f"      {line.strip()}\n" for line in lines.splitlines() if line.strip())
        body += f"      return {', '.join(returns)}\n" if returns != ("out",) else ""
        return Case(declarations, {**given, **(inputs or {})}, body + "    }", gives, weights, bound)
