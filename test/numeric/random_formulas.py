# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random scores, biases and masks, each as text of the language and as a function of the positions b, h, i and j.

A part that reads a tensor declares it, as an input or a parameter, where it is drawn. Numbers in comparisons are whole, so
that rounding decides nothing.
"""
import numpy as np

from attention_math import INF, additive, dot, l1, scaled, scaled_dot, unit


class Formulas:
    """Of an attention of `sizes` whose query has the axes `axes`; `own`: its keys are called Z, and are as many as T."""

    def __init__(self, rng, sizes, axes, own, prefix):
        self.rng, self.sizes, self.axes, self.prefix = rng, sizes, axes, prefix
        self.key = "Z" if own else "S"
        self.declarations, self.inputs, self.weights = [], {}, {}
        self.indices = {"T": ("i", lambda p: p.i), self.key: ("j", lambda p: p.j)}
        self.indices.update({axis: (axis.lower(), lambda p, a=axis.lower(): getattr(p, a)) for axis in "BH" if axis in axes})

    def one_of(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def chance(self, of):
        return self.rng.random() < of

    def size(self, axis):
        return self.sizes["T" if axis == "Z" else axis]

    # Tensors.

    def axes_to_read(self, *needed):
        """Some of the pair's axes, in any order, `needed` among them."""
        axes = [axis for axis in self.indices if axis in needed or self.chance(0.5)] or [self.key]
        return [axes[n] for n in self.rng.permutation(len(axes))]

    def called(self, name):
        return f"{self.prefix}{name}{len(self.inputs) + len(self.weights)}"

    def element(self, name, dtype, values, *needed):
        """An element of an input, which `values(shape)` fills, at the pair's positions."""
        axes, name = self.axes_to_read(*needed), self.called(name)
        tensor = values([self.size(axis) for axis in axes])
        self.inputs[name] = (f"{dtype}[{', '.join(axes)}]", tensor)
        words, places = zip(*(self.indices[axis] for axis in axes))
        return f"{name}[{', '.join(words)}]", lambda p: tensor[tuple(place(p) for place in places)]

    def parameter(self, name, axes, values, places, words):
        name = self.called(name)
        self.declarations.append(f"param {name}: [{', '.join(axes)}]")
        self.weights[name] = values.astype(np.float32)
        values = self.weights[name].astype(float)
        return f"{name}[{', '.join(words)}]", lambda p: values[tuple(place(p) for place in places)]

    # Whole numbers.

    def whole(self, depth):
        kind = self.one_of("i", "j", "difference", "head", "number", "sum", "abs", "extremum", "remainder", "times", "quotient", "tensor",
                           "choice")
        if depth == 0 or kind in "ij":
            return self.one_of(self.indices["T"], self.indices[self.key])
        if kind == "difference":
            return "(i - j)", lambda p: p.i - p.j
        if kind == "head" and "H" in self.axes:
            return self.indices["H"]
        if kind in ("number", "head"):
            n = int(self.one_of(0, 1, 7, 64, 100, 300))
            return str(n), lambda p: n
        if kind == "tensor":
            dtype, word = self.one_of((np.int32, "i32"), (np.int64, "i64"))
            return self.element("n", word, lambda shape: self.rng.integers(-20, 150, shape).astype(dtype))
        a, x = self.whole(depth - 1)
        if kind == "abs":
            return f"abs({a})", lambda p: np.abs(x(p))
        if kind == "remainder":
            n = int(self.one_of(2, 3, 50, 64, 128))
            return f"({a} % {n})", lambda p: x(p) % n
        if kind == "quotient":
            n = int(self.one_of(4, 33, 64, 100))
            return f"floor({a} / {n})", lambda p: x(p) // n
        if kind == "times":
            n = int(self.one_of(-3, -1, 2, 5))
            return f"({n} * {a})", lambda p: n * x(p)
        b, y = self.whole(depth - 1)
        if kind == "choice":
            c, z = self.comparison(depth - 1)
            return f"(if {c} then {a} else {b})", lambda p: np.where(z(p), x(p), y(p))
        if kind == "extremum":
            word, function = self.one_of(("min", np.minimum), ("max", np.maximum))
            return f"{word}({a}, {b})", lambda p: function(x(p), y(p))
        if self.chance(0.5):
            return f"({a} + {b})", lambda p: x(p) + y(p)
        return f"({a} - {b})", lambda p: x(p) - y(p)

    # Truth values.

    def comparison(self, depth=2):
        (a, x), (b, y) = self.whole(depth), self.whole(depth)
        word, function = self.one_of(("<", np.less), ("<=", np.less_equal), (">", np.greater), (">=", np.greater_equal),
                                     ("==", np.equal), ("!=", np.not_equal))
        return f"{a} {word} {b}", lambda p: function(x(p), y(p))

    def mask(self, depth, named=True):
        """`named`: causal and window are known."""
        kind = self.one_of("comparison", "comparison", *(["causal", "window"] if named else []), "bits", "lengths", "documents", "reals", "and", "or", "and",
                           "or", "not", "if")
        if kind == "causal":
            return "causal", lambda p: p.j <= p.i
        if kind == "window":
            left, right = int(self.one_of(0, 3, 40, 130)), int(self.one_of(0, 1, 64))
            return f"window({left}, {right})", lambda p: (p.i - left <= p.j) & (p.j <= p.i + right)
        if kind == "bits":
            share = self.one_of(0.02, 0.5, 0.9)
            return self.element("m", "bool", lambda shape: self.rng.random(shape) < share)
        if kind == "lengths" and "B" in self.axes:
            name, n = self.called("l"), self.rng.integers(0, self.size(self.key) + 1, self.size("B")).astype(np.int32)
            self.inputs[name] = ("i32[B]", n)
            return f"j < {name}[b]", lambda p: p.j < n[p.b]
        if kind == "documents":
            far = int(self.one_of(1, 2**40))
            ids = lambda shape: np.sort(self.rng.integers(-3, 3, shape), -1).astype(np.int64) * far
            (a, x), (b, y) = self.element("id", "i64", ids, "T"), self.element("id", "i64", ids, self.key)
            return f"{a} == {b}", lambda p: x(p) == y(p)
        if kind == "reals":
            def values(shape):
                x = self.rng.standard_normal(shape).astype(np.float32)
                x.ravel()[:: int(self.one_of(3, 40))] = self.one_of(np.nan, INF, 0)
                return x
            (a, x), (b, y) = self.element("x", "f32", values), self.element("y", "f32", values)
            word, function = self.one_of(("<", np.less), (">=", np.greater_equal), ("!=", np.not_equal), ("==", np.equal))
            return f"{a} {word} {b}", lambda p: function(x(p), y(p))
        if depth == 0 or kind in ("comparison", "lengths"):
            return self.comparison()
        a, x = self.mask(depth - 1, named)
        if kind == "not":
            return f"not ({a})", lambda p: np.logical_not(x(p))
        b, y = self.mask(depth - 1, named)
        if kind == "if":
            c, z = self.comparison()
            return f"(if {c} then {a} else {b})", lambda p: np.where(z(p), x(p), y(p))
        function = np.logical_and if kind == "and" else np.logical_or
        return f"({a} {kind} {b})", lambda p: function(x(p), y(p))

    # Real numbers.

    def bias(self, depth, endless):
        """`endless`: some may be -inf."""
        kind = self.one_of("slope", "line", "table", "given", "choice", "function", "sum", "product")
        if kind == "slope" and "H" in self.axes:
            a, x = self.parameter("slope", "H", 0.1 * np.abs(self.rng.standard_normal(self.size("H"))), [lambda p: p.h], "h")
            return f"-{a} * abs(i - j)", lambda p: -x(p) * np.abs(p.i - p.j)
        if kind == "table":
            at, x = self.whole(2)
            rows = int(self.one_of(1, 5, 33))
            values = self.rng.standard_normal((rows, self.size("T")))
            return self.parameter("table", [str(rows)], values[:, 0], [lambda p: np.clip(x(p), 0, rows - 1)],
                                  [f"min(max({at}, 0), {rows - 1})"])
        if kind == "given":
            def values(shape):
                x = self.rng.standard_normal(shape).astype(dtype)
                x.ravel()[:: int(self.one_of(2, 17))] = self.one_of(0, -INF) if endless else 0
                return x
            word, dtype = self.one_of(("f32", np.float32), ("f16", np.float16))
            a, x = self.element("m", word, values)
            return a, lambda p: x(p).astype(float)
        if depth == 0 or kind in ("slope", "line"):
            a, x = self.whole(2)
            return f"0.01 * {a}", lambda p: 0.01 * x(p)
        a, x = self.bias(depth - 1, endless)
        if kind == "choice":
            c, z = self.mask(1, named=False)
            if endless and self.chance(0.5):
                return f"(if {c} then {a} else -inf)", lambda p: np.where(z(p), x(p), -INF)
            b, y = self.bias(depth - 1, endless)
            return f"(if {c} then {a} else {b})", lambda p: np.where(z(p), x(p), y(p))
        if kind == "function":
            return self.one_of((f"tanh({a})", lambda p: np.tanh(x(p))), (f"exp(-abs({a}))", lambda p: np.exp(-np.abs(x(p)))),
                               (f"rsqrt(1 + abs({a}))", lambda p: 1 / np.sqrt(1 + np.abs(x(p)))),
                               (f"max({a}, -0.5)", lambda p: np.maximum(x(p), -0.5)))
        b, y = self.bias(depth - 1, False)
        if kind == "product":
            return f"(0.5 * {a} - {b})", lambda p: 0.5 * x(p) - y(p)
        return f"({a} + {b})", lambda p: x(p) + y(p)

    # Scores.

    def score(self, kind):
        """Text, and the scores of q and k as attention_math has them. Of `bilinear`, `reduced` and `additive`, keys have the
        features D."""
        rng, name, E, D, R = self.rng, self.called("score"), *(self.sizes[axis] for axis in "EDR")
        takes = "q, k, h" if "H" in self.axes else "q, k"

        def matrix(word, rows, columns):
            self.weights[f"{name}{word}.weight"] = x = (rng.standard_normal((rows, columns)) / columns**0.5).astype(np.float32)
            return x.astype(float).T

        def vector(word, *shape):
            self.weights[f"{name}{word}"] = x = rng.standard_normal(shape).astype(np.float32)
            return x.astype(float)

        def declared(body, words=""):
            words = words.replace("$", name)
            self.declarations.append(f"score {name}({takes}) {'with ' + words if words else ''} = {body.replace('$', name)}")
            return name

        if kind in ("dot", "scaled_dot"):
            return kind, dot if kind == "dot" else scaled_dot
        if kind == "cosine":
            return "cosine", lambda q, k: dot(unit(q), unit(k))
        if kind == "bilinear":
            W = matrix("W", D, E)
            return declared("dot($W(q), k)", "linear $W: E -> D"), lambda q, k: dot(q @ W, k)
        if kind == "reduced":
            U, V = matrix("U", R, E), matrix("V", R, D)
            return (declared("dot($U(q), $V(k)) * 0.5", "linear $U: E -> R, linear $V: D -> R"),
                    lambda q, k: scaled(dot(q @ U, k @ V), 0.5))
        if kind == "additive":
            A, C, u = matrix("A", R, E), matrix("C", R, D), vector("u", R)
            return (declared("dot($u, tanh($A(q) + $C(k)))", "linear $A: E -> R, linear $C: D -> R, param $u: [R]"),
                    lambda q, k: additive(u, q @ A, k @ C))
        if kind == "distance":
            return declared("-0.3 * sum(abs(q - k))"), lambda q, k: tuple(scaled(l1(q, k), f)[0] for f in (-0.3, 0.3))
        if kind == "shifted":
            r = vector("r", E)
            return declared("dot(q + $r, k) * rsqrt(dim(k))", "param $r: [E]"), lambda q, k: scaled_dot(q + r, k)
        if "H" not in self.axes:
            return declared("exp(dot(unit(q), unit(k)))"), lambda q, k: tuple(map(np.exp, dot(unit(q), unit(k))))
        s = vector("s", self.size("H"))
        return (declared("dot(unit(q), unit(k)) * max($s[h], 0.01)", "param $s: [H]"),
                lambda q, k: scaled(dot(unit(q), unit(k)), np.maximum(s, 0.01)[:, None, None]))

    SCORES = ["dot", "scaled_dot", "scaled_dot", "cosine", "bilinear", "reduced", "additive", "distance", "shifted", "learnt"]
