# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random lines of an attention: scores, biases, masks, weights, written in place or as hooks with names."""
from gen_scope import HOOK_NAMES


class Pairs:
    """What lines may speak of: `letters` {letter: axis} of the query's axes, the key axis, whether there is an `i`,
    the axis that it counts along. `cached`: positions are those of a cache, which has no tensors of keys."""

    def __init__(self, scope, letters, key, along, group=None, cached=False, axes=()):
        self.axes = axes  # of query and keys, which a map of a score does not give
        self.scope, self.letters, self.key, self.along, self.group = scope, letters, key, along, group
        self.rng, self.cached = scope.rng, cached

    # Formulas of positions: (text, the positions that it names)

    def condition(self, depth=1):
        rng = self.rng
        letter = rng.pick(self.letters) if self.letters else None
        found = [("j < {n}", "j"), ("j % {m} != {r}", "j"), ("not (j % {m} == {r})", "j"), ("j >= {r} or j == 0", "j")]
        if self.along:
            found += [("(i + j) % {m} != {r}", "ij"), ("abs(i - j) <= {n}", "ij"), ("j <= i", "ij"), ("i - j != {r}", "ij"),
                      ("floor(i / {m}) == floor(j / {m})", "ij"), ("i - i % {m} <= j", "ij"), ("j * 0.37 < i + 2.1", "ij"),
                      ("min(i, j) % {m} == {r} or i == j", "ij"), ("if i > {n} then j > {r} else j <= i", "ij")]
        if letter:
            found += [("{c} % 2 == 0 or j > {r}", "cj"), ("j <= {c} + {n}", "cj"), ("(j + {c}) % {m} != {r}", "cj")]
        text, positions = rng.pick(found)
        m = rng.whole(2, 7)
        text = text.format(n=rng.whole(1, 20), m=m, r=rng.whole(0, m - 1), c=letter)
        names = {letter if p == "c" else p for p in positions}
        if depth and rng.chance(0.3):
            other, more = self.condition(0)
            text = f"({text}) {rng.pick(['and', 'or'])} ({other})"
            names |= more
        return text, names

    def amount(self):
        rng = self.rng
        letter = rng.pick(self.letters) if self.letters else None
        found = [("0.03 * j", "j"), ("sin(0.3 * j)", "j"), ("-0.01 * j * j", "j"), ("if j % 3 == 1 then 0.4 else -0.2", "j"),
                 ("1 / (j + 1)", "j"), ("0.2 * (j % {m})", "j"), ("if j % {m} == {r} and j > 0 then -inf else 0.1", "j")]
        if self.along:
            found += [("0.1 * (i - j)", "ij"), ("-0.05 * abs(i - j)", "ij"), ("exp(-abs(i - j))", "ij"), ("0.02 * i", "i"),
                      ("tanh(0.2 * (j - i))", "ij"), ("0.3 * cos(i + j)", "ij"), ("log(1 + abs(i - j)) * 0.2", "ij"),
                      ("max(i - j, {r}) * 0.05", "ij"), ("2 ** (-abs(i - j)) + 0.1", "ij")]
        if letter:
            found += [("-(2 ** (-{c})) * 0.1 * j", "cj"), ("0.1 * {c} - 0.02 * j", "cj")]
        text, positions = rng.pick(found)
        m = rng.whole(2, 7)
        return text.format(m=m, r=rng.whole(0, m - 1), c=letter), {letter if p == "c" else p for p in positions}

    # Named hooks

    def home_of_hook(self):
        """Where a new hook is declared: (home or None for the block's body)."""
        scope = self.scope
        if scope.block is not None and self.rng.chance(0.35):
            return None
        if scope.home.is_model and scope.spec.files and self.rng.chance(0.3):
            return self.rng.pick(scope.spec.files)
        return scope.home

    def declare(self, word, body, positions, statics=(), captured="", is_parameter=False, local=False):
        """A hook of this body; its name where the line stands."""
        scope = self.scope
        home = None if local else self.home_of_hook()
        if captured and home is not None and not home.is_model:
            home = scope.home if scope.home.is_model else None
        if home is None and scope.block is None:
            home = scope.home
        order = self.rng.some(sorted(positions), len(positions))
        inside = ", ".join(order)
        if statics:
            inside += "; " + ", ".join(f"{name} = {default}" if default is not None else name for name, default in statics)
        if home is None:
            taken = scope.spec.names_in(scope)
            free = [name for name in HOOK_NAMES if name not in taken]
            name = self.rng.pick(free) if free else scope.spec.fresh("hook")
            scope.spec.names_in(scope).add(name)
            scope.spec.hidden_in(scope).add(name)
            scope.declare(f"{word} {name}({inside}){captured} = {body}", is_parameter)
            return name
        name = home.new_name(HOOK_NAMES, home is not scope.home, scope.spec.hidden_in(scope))
        home.lines.append(f"{word} {name}({inside}){captured} = {body}")
        scope.spec.names_in(scope).add(name)
        if not captured:
            home.hooks[name] = word, set(positions), list(statics)
        return name

    def named(self, word):
        """A declared mask or bias of plain formulas, new or one that is there."""
        rng, scope = self.rng, self.scope
        letters = set(self.letters) | {"j"} | ({"i"} if self.along else set())
        known = [(name, statics) for name, (kind, positions, statics) in scope.home.hooks.items()
                 if kind == word and positions <= letters and name not in scope.spec.hidden_in(scope)]
        if known and rng.chance(0.5):
            name, statics = rng.pick(known)
            scope.spec.names_in(scope).add(name)
            return self.naming(name, statics)
        text, positions = self.condition() if word == "mask" else self.amount()
        statics = []
        if rng.chance(0.5):
            static = scope.spec.fresh("n")
            default = rng.pick([None, rng.whole(1, 9)])
            statics = [(static, default)]
            text = f"({text}) or j <= {static}" if word == "mask" else f"{text} + 0.01 * {static}"
            positions = positions | ({"j"} if word == "mask" else set())
        inner = [(name, more) for name, (kind, more, needs) in scope.home.hooks.items()
                 if kind == word and more <= letters and not any(default is None for _, default in needs)
                 and name not in scope.spec.hidden_in(scope)]
        if inner and rng.chance(0.4):
            # A hook that names another: in its own home, the other is that home's.
            other, more = rng.pick(inner)
            positions = positions | more
            name = self.declare_at(scope.home, word, f"({text}) and {other}" if word == "mask" else f"{text} + {other}",
                                   positions, statics)
            return self.naming(name, statics)
        return self.naming(self.declare(word, text, positions, statics), statics)

    def declare_at(self, home, word, body, positions, statics):
        order = self.rng.some(sorted(positions), len(positions))
        inside = ", ".join(order)
        if statics:
            inside += "; " + ", ".join(f"{name} = {default}" if default is not None else name for name, default in statics)
        name = home.new_name(HOOK_NAMES, without=self.scope.spec.hidden_in(self.scope))
        home.lines.append(f"{word} {name}({inside}) = {body}")
        home.hooks[name] = word, set(positions), list(statics)
        self.scope.spec.names_in(self.scope).add(name)
        return name

    def naming(self, name, statics):
        rng = self.rng
        if not statics or (statics[0][1] is not None and rng.chance(0.4)):
            return name
        value = rng.whole(1, 12)
        return f"{name}({statics[0][0]} = {value})" if rng.chance(0.4) else f"{name}({value})"

    # Hooks with parameters and tensors

    def with_param(self, word):
        """A bias or mask that reads a parameter: of a head, or of a distance."""
        rng, scope = self.rng, self.scope
        local = scope.block is not None
        fixed = [(letter, axis) for letter, axis in self.letters.items() if scope.is_simple(axis) and scope.is_static(axis)]
        name = scope.spec.fresh("w")
        if fixed and rng.chance(0.5):
            letter, axis = rng.pick(fixed)
            body, positions = rng.pick([f"{name}[{letter}] * 0.1 * j", f"{name}[{letter}] - 0.02 * j"]), {letter, "j"}
            captured = f" with param {name}: [{axis}]"
        else:
            reach = rng.whole(1, 8)
            rows = scope.new_dim(2 * reach + 1)
            if self.along:
                body, positions = f"{name}[min(max(j - i + {reach}, 0), {2 * reach})]", {"i", "j"}
            else:
                body, positions = f"{name}[min(j, {2 * reach})]", {"j"}
            captured = f" with param {name}: [{rows}]"
            if fixed and rng.chance(0.5):
                letter, axis = rng.pick(fixed)
                if axis != rows:
                    body, captured = body[:-1] + f", {letter}]", f" with param {name}: [{rows}, {axis}]"
                    positions = positions | {letter}
        if word == "mask":
            body = f"{body} > -0.05"
        return self.declare(word, body, positions, captured=captured, is_parameter=True, local=local)

    def with_tensor(self, word):
        """A bias or mask that reads an input of the entry or a `let`, at the query's and the key's positions."""
        rng, scope = self.rng, self.scope
        # Of a block, inputs have the axes that it does not speak of without being told so.
        axes = [(letter, axis) for letter, axis in self.letters.items()
                if axis != self.along and axis not in scope.lifted and scope.is_simple(axis)]
        chosen = rng.some(axes, rng.whole(0, min(2, len(axes))))
        if self.along and scope.is_simple(self.along) and rng.chance(0.7):
            chosen.append(("i.row" if self.cached or rng.chance(0.3) else "i", self.along))
        if self.key and not self.cached and scope.is_simple(self.key) and (rng.chance(0.7) or not chosen):
            chosen.append((rng.pick(["j", "j.row"]), self.key))
        if not chosen:
            return None
        chosen = rng.some(chosen, len(chosen))
        if not scope.fits([axis for _, axis in chosen]):
            return None
        dtype = rng.pick(["f32", "f32", "bool", "i32", "i64"]) if word == "mask" else rng.pick(["f32", "f32", "f16", "i32"])
        shape = [axis for _, axis in chosen]
        given = rng.some(shape, len(shape))
        value = scope.tensor_input(given, dtype)
        if value is None:
            return None
        element = f"{value}[{', '.join(letter for letter, _ in chosen)}]"
        body = {"bool": element, "f32": f"{element} > -0.7", "i32": f"j < {element} * 3 + 2", "i64": f"{element} != 0"}[dtype] \
            if word == "mask" else f"0.3 * {element}"
        if word == "mask" and rng.chance(0.3):
            body = f"not ({body})"
        positions = {letter.split(".")[0] for letter, _ in chosen} | ({"j"} if "j <" in body else set())
        type_ = ("" if dtype in ("f32", "f16") else dtype) + "[" + ", ".join(shape) + "]"
        return self.declare(word, body, positions, captured=f" with input {value}: {type_}", local=scope.block is not None)

    # Lines

    def mask(self):
        rng = self.rng
        def atom():
            kinds = ["condition", "named", "named", "tensor", "param"]
            if self.along:
                kinds += ["causal", "causal", "window"]
            kind = rng.pick(kinds)
            if kind == "causal":
                return "causal"
            if kind == "window":
                sides = rng.whole(0, 20), rng.whole(0, 5)
                return "window({}, {})".format(*sides)
            if kind == "named":
                return self.named("mask")
            if kind == "tensor":
                return self.with_tensor("mask") or self.condition()[0]
            if kind == "param":
                return self.with_param("mask")
            return f"({self.condition()[0]})"
        text = atom()
        if rng.chance(0.35):
            text = f"{text} {rng.pick(['and', 'or', 'and not'])} {atom()}"
        return text

    def bias(self):
        rng = self.rng
        def atom():
            kind = rng.pick(["amount", "named", "named", "tensor", "param"])
            if kind == "named":
                return self.named("bias")
            if kind == "tensor":
                return self.with_tensor("bias") or self.amount()[0]
            if kind == "param":
                return self.with_param("bias")
            return f"({self.amount()[0]})"
        text = atom()
        if rng.chance(0.3):
            text = f"{text} {rng.pick('+-')} {atom()}"
        return text

    def score(self, features):
        """A score of vectors that end in the same axis `features`."""
        rng, scope = self.rng, self.scope
        kind = rng.pick(["scaled_dot", "scaled_dot", "dot", "cosine", "static", "formula", "bilinear", "additive", "head"])
        if kind in ("scaled_dot", "cosine"):
            return kind
        if kind == "dot" and scope.most(features) < 10:
            return kind
        local = scope.block is not None
        if kind in ("static", "dot"):
            static = scope.spec.fresh("c")
            name = self.declare_score(f"(q, k; {static} = 0.5)", f"dot(q, k) * {static} * rsqrt(dim(k))", local)
            return rng.pick([name, f"{name}(0.3)", f"{name}({static} = 0.7)"])
        if kind == "formula":
            return self.declare_score("(q, k)", rng.pick([
                "-0.2 * sum(abs(q - k))", "tanh(dot(q, k) * 0.2) * 2", "sum(q * k) / dim(q)", "dot(unit(q), unit(k)) * 3",
                "rsqrt(dot(q, q) + 0.1) * dot(q, k)", "dot(q, k) * rsqrt(dim(q)) + 0.1 * sum(k)"]), local)
        if kind == "head":
            fixed = [(letter, axis) for letter, axis in self.letters.items() if scope.is_simple(axis) and scope.is_static(axis)]
            if not fixed:
                return "scaled_dot"
            letter, axis = rng.pick(fixed)
            if letter in ("q", "k"):
                return "scaled_dot"
            w = scope.spec.fresh("w")
            return self.declare_score(f"(q, k, {letter})", f"dot(unit(q), unit(k)) * max({w}[{letter}], 0.01)", local,
                                      f" with param {w}: [{axis}]")
        other = scope.static_dim(without=[features, *self.axes, *scope.lifted, self.key], largest=24)
        maps = [scope.spec.fresh("W"), scope.spec.fresh("V")]
        u = scope.spec.fresh("u")
        if kind == "bilinear":
            back = rng.chance(0.5)
            if back:
                return self.declare_score("(q, k)", f"dot({maps[0]}(q), {maps[1]}(k))", local,
                                          f" with linear {maps[0]}, {maps[1]}: {features} -> {other}")
            return self.declare_score("(q, k)", f"dot({maps[0]}(q), {maps[1]}(k)) * 0.5", local,
                                      f" with linear {maps[0]}: {features} -> {other}, linear {maps[1]}: {features} -> {other}")
        return self.declare_score("(q, k)", f"dot({u}, tanh({maps[0]}(q) + {maps[1]}(k)))", local,
                                  f" with linear {maps[0]}, {maps[1]}: {features} -> {other}, param {u}: [{other}]")

    def declare_score(self, positions, body, local, captured=""):
        scope = self.scope
        if local:
            taken = scope.spec.names_in(scope)
            free = [name for name in HOOK_NAMES if name not in taken]
            name = self.rng.pick(free) if free else scope.spec.fresh("score")
            taken.add(name)
            scope.spec.hidden_in(scope).add(name)
            scope.declare(f"score {name}{positions}{captured} = {body}", bool(captured))
            return name
        name = scope.home.new_name(HOOK_NAMES, without=scope.spec.hidden_in(scope))
        scope.spec.names_in(scope).add(name)
        scope.home.lines.append(f"score {name}{positions}{captured} = {body}")
        return name
