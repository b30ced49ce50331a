#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of compiled models against NumPy in double precision: a case for each score, bias, mask, normaliser and result.

Cases are the entries of a few specs, with random sizes and tensors. The seed is printed with what differs, and the spec is
left in the folder.
"""
import argparse
import sys

import numpy as np

from attention_math import INF, additive, dot, l1, scaled, unit
from attention_pairs import Pairs
from attention_spec import Setting, case, odd, problems


class Scores(Setting):
    """Section 1: score functions."""

    @staticmethod
    def draw(rng):
        return dict(B=odd(rng, 1, 4), H=odd(rng, 1, 5), T=odd(rng, 1, 70), S=odd(rng, 1, 130), E=odd(rng, 1, 80), F=odd(rng, 1, 80),
                    D=odd(rng, 81, 100), R=odd(rng, 1, 20))

    def matrix(self, rows, columns):
        return self.normal(self.sizes[rows], self.sizes[columns]) / np.float32(self.sizes[columns] ** 0.5)

    def wide_keys(self):
        return self.normal(*self.k.shape[:-1], self.sizes["D"])

    @case
    def dot(self):
        return self.attend("score dot", raw=dot)

    @case
    def scaled_dot(self):
        return self.attend("score scaled_dot")

    @case
    def by_all_heads(self):
        """Divided by the root of all heads' features."""
        root = (self.sizes["H"] * self.sizes["E"]) ** 0.5
        return self.attend("score by_all_heads", "score by_all_heads(q, k) = dot(q, k) / sqrt(H * E)",
                           raw=lambda q, k: scaled(dot(q, k), 1 / root))

    @case
    def by_an_argument(self):
        return self.attend("score divided(3)", "score divided(q, k; divisor) = dot(q, k) / divisor",
                           raw=lambda q, k: scaled(dot(q, k), 1 / 3))

    @case
    def cosine(self):
        q, k = self.q.copy(), self.k.copy()
        q[:, :, ::5], k[:, :, ::7] = 0, 0
        return self.attend("score cosine", raw=lambda q, k: dot(unit(q), unit(k)), q=q, k=k, returns=("out", "scores(raw)"))

    @case
    def bilinear(self):
        W, k = self.matrix("D", "E"), self.wide_keys()
        return self.attend("score bilinear", "score bilinear(q, k) with linear W: E -> D = dot(W(q), k)",
                           weights={"W.weight": W}, k=k, raw=lambda q, k: dot(q @ W.T.astype(float), k))

    @case
    def reduced_rank(self):
        U, V, k = self.matrix("R", "E"), self.matrix("R", "D"), self.wide_keys()
        return self.attend("score reduced",
                           "score reduced(q, k) with linear U: E -> R, linear V: D -> R = dot(U(q), V(k))",
                           weights={"U.weight": U, "V.weight": V}, k=k,
                           raw=lambda q, k: dot(q @ U.T.astype(float), k @ V.T.astype(float)))

    @case
    def additive(self):
        A, C, u, k = self.matrix("R", "E"), self.matrix("R", "D"), self.normal(self.sizes["R"]), self.wide_keys()
        return self.attend("score additive",
                           "score additive(q, k) with linear A: E -> R, linear C: D -> R, param u: [R] = dot(u, tanh(A(q) + C(k)))",
                           weights={"A.weight": A, "C.weight": C, "u": u}, k=k, returns=("out", "lse", "scores(raw)"),
                           raw=lambda q, k: additive(u.astype(float), q @ A.T.astype(float), k @ C.T.astype(float)))

    @case
    def distance(self):
        """One of the user's own, that is no inner product."""
        return self.attend("score distance", "score distance(q, k) = -0.3 * sum(abs(q - k))",
                           raw=lambda q, k: (-0.3 * l1(q, k)[0], 0.3 * l1(q, k)[1]))

    @case
    def curved(self):
        """One of the user's own, of an inner product and the head."""
        scale = 1 + 0.5 * self.normal(self.sizes["H"])
        def raw(q, k):
            s, size = scaled(dot(unit(q), unit(k)), scale.astype(float)[:, None, None])
            return np.exp(s) - 1, np.exp(size)
        return self.attend("score curved",
                           "score curved(q, k, h) with param scale: [H] = exp(dot(unit(q), unit(k)) * scale[h]) - 1",
                           weights={"scale": scale}, raw=raw)


class Swin(Setting):
    """Section 5: a window of Swin, whose table holds a bias for each distance of rows and columns."""

    @staticmethod
    def draw(rng):
        M = odd(rng, 2, 10)
        return dict(B=odd(rng, 1, 4), H=odd(rng, 1, 5), M=M, T=M * M, S=M * M, E=odd(rng, 1, 40), F=odd(rng, 1, 40),
                    R=(2 * M - 1) ** 2)

    def table_of(self, p):
        M = self.sizes["M"]
        return (p.i // M - p.j // M + M - 1) * (2 * M - 1) + p.i % M - p.j % M + M - 1

    @case
    def swin(self):
        table = self.normal(self.sizes["R"], self.sizes["H"])
        return self.attend("bias swin", """
            bias swin(h, i, j) with param table: [R, H]
              = table[(floor(i / M) - floor(j / M) + M - 1) * (2*M - 1) + i % M - j % M + M - 1, h]""",
                           weights={"table": table}, own=True, bias=lambda p: table.astype(float)[self.table_of(p), p.h])

    @case
    def swin_by_index(self):
        """The index is given with the call, as checkpoints hold it."""
        table = self.normal(self.sizes["R"], self.sizes["H"])
        place = self.positions(own=True)
        index = self.table_of(place)[0, 0]
        return self.attend("bias indexed", """
            bias indexed(h, i, j) with param table2: [R, H], input index: i64[T, Z] = table2[min(max(index[i, j], 0), R - 1), h]""",
                           {"index": ("i64[T, Z]", index.astype(np.int64))}, weights={"table2": table}, own=True,
                           bias=table.astype(float)[index].transpose(2, 0, 1)[None])


class Weights(Setting):
    """Section 5: sinks, hard attention and the other normalisers; section 4: groups of heads."""

    @staticmethod
    def draw(rng):
        G = odd(rng, 1, 4)
        return dict(B=odd(rng, 1, 4), H=G * odd(rng, 1, 4), G=G, T=odd(rng, 1, 110), S=odd(rng, 2, 150), E=odd(rng, 1, 50),
                    F=odd(rng, 1, 70))

    @case
    def sink_for_each_head(self):
        s = self.normal(self.sizes["H"]) * 3
        return self.attend("mask window(7, 30)\nweight softmax(sink = s[h])", "param s: [H]", weights={"s": s},
                           sink=s.astype(float)[:, None, None], live=lambda p: (p.i - 7 <= p.j) & (p.j <= p.i + 30),
                           returns=("out", "lse", "weights"))

    @case
    def sink_of_zero(self):
        """As with a key of zeros (add_zero_attn)."""
        return self.attend("weight softmax(sink = 0)", sink=0.0)

    @case
    def sink_of_query(self):
        s = self.normal(self.sizes["B"], self.sizes["T"])
        s.ravel()[::3] = -INF
        return self.attend("mask j < i\nweight softmax(sink = s[b, i])", inputs={"s": ("[B, T]", s)},
                           sink=s.astype(float)[:, None, :, None], live=lambda p: p.j < p.i, returns=("out", "lse"))

    @case
    def sink_of_nothing(self):
        """No sink and no key: tiles of keys that the mask empties are not looked at."""
        return self.attend("mask j < i - 200\nweight softmax(sink = -inf)", sink=-INF, live=False, returns=("out", "lse"))

    @case
    def hard(self):
        return self.attend("weight hardmax", weight="hardmax", returns=("out", "weights"))

    @case
    def hard_under_a_mask(self):
        """Equal scores, of which the first counts; rows without a key."""
        whole = Setting(self.rng, self.sizes, whole=True)
        return whole.attend("score dot\nmask j < i - 3\nweight hardmax", weight="hardmax", raw=dot, live=lambda p: p.j < p.i - 3,
                            returns=("out", "weights"))

    @case
    def sigmoid(self):
        return self.attend("bias -1\nweight sigmoid", bias=-1.0, weight="sigmoid", returns=("out", "weights"))

    @case
    def sigmoid_under_a_mask(self):
        return self.attend("mask causal\nweight sigmoid", weight="sigmoid", live=lambda p: p.j <= p.i)

    @case
    def relu(self):
        return self.attend("mask causal\nweight relu", weight="relu", live=lambda p: p.j <= p.i, returns=("out", "weights"))

    @case
    def relu_mean(self):
        return self.attend("mask i != j\nweight relu / n", weight="relu / n", live=lambda p: p.i != p.j)

    @case
    def linear(self):
        return self.attend("mask causal\nweight none", weight="none", live=lambda p: p.j <= p.i)

    @case
    def groups(self):
        slope = np.abs(self.normal(self.sizes["H"]))
        return self.attend("bias -slope[h] * abs(i - j)\nmask causal", "param slope: [H]", weights={"slope": slope},
                           keys="BGS", bias=lambda p: -slope.astype(float)[p.h] * abs(p.i - p.j), live=lambda p: p.j <= p.i,
                           returns=("out", "lse", "weights"))

    @case
    def groups_inside(self):
        return self.attend("mask g * 5 <= j", axes="BTH", keys="BSG", own=False,
                           live=lambda p: p.h // (self.sizes["H"] // self.sizes["G"]) * 5 <= p.j)

    @case
    def one_key_head(self):
        """Keys and values without an axis of heads."""
        return self.attend("mask causal", own=True, keys="BS", live=lambda p: p.j <= p.i)

    @case
    def without_a_batch(self):
        return self.attend("mask causal", axes="TH", keys="SH", own=True, live=lambda p: p.j <= p.i)


class NotFinite(Setting):
    """Values and scores that are NaN or infinite reach the queries that may see them, and no other."""

    @staticmethod
    def draw(rng):
        return dict(B=2, H=2, T=odd(rng, 70, 150), S=odd(rng, 130, 200), E=odd(rng, 1, 40), F=odd(rng, 1, 40))

    def values(self):
        v = self.v.copy()
        for place in self.rng.integers(0, v.shape, (5, 4)):
            v[tuple(place)] = self.rng.choice([np.nan, INF, -INF])
        v[:, :, 0, 0] = np.nan
        return v

    @case
    def behind_a_window(self):
        return self.attend("mask window(20, 3)", v=self.values(), live=lambda p: (p.i - 20 <= p.j) & (p.j <= p.i + 3))

    @case
    def behind_a_tensor(self):
        m = self.rng.random((self.sizes["T"], self.sizes["S"])) < 0.5
        return self.attend("mask m[i, j]\nweight sigmoid", "", {"m": ("bool[T, S]", m)}, v=self.values(), live=m,
                           weight="sigmoid")

    @case
    def before_the_cause(self):
        return self.attend("mask causal", v=self.values(), live=lambda p: p.j <= p.i, own=True)

    @case
    def keys(self):
        """Keys whose scores are NaN, behind the mask."""
        n = np.array([self.sizes["S"] - 9, 5], np.int32)
        k = self.k.copy()
        k[0, :, n[0]:], k[1, :, n[1]:] = np.nan, INF
        return self.attend("bias m[i, j]\ncap 3\nmask j < n[b]", "", k=k, live=lambda p: p.j < n[p.b], cap=3.0, bias=0.0,
                           inputs={"n": ("i32[B]", n), "m": ("[T, S]", np.zeros((self.sizes["T"], self.sizes["S"]), np.float32))},
                           returns=("out", "lse"), raw=finite_scores)

    @case
    def given_in_another_order(self):
        """A mask whose axes are declared the other way round, which puts them in order first."""
        m = self.rng.random((self.sizes["S"], self.sizes["T"])) < 0.5
        return self.attend("mask shown", "mask shown(i, j) with input m: bool[T, S] = m[i, j]", {"m": ("bool[S, T]", m)},
                           live=m.T, v=self.values())

    @case
    def compared(self):
        """A mask that compares numbers some of which are NaN: no order holds, and only `!=`."""
        a, b = (self.normal(self.sizes["T"]), self.normal(self.sizes["S"]))
        b[::3] = np.nan
        a[5] = INF
        with np.errstate(invalid="ignore"):
            live = (a[:, None] < b) | (a[:, None] != b) & (np.arange(len(b)) > 70) & ~(b < 0)
        return self.attend("mask a[i] < b2[j] or a[i] != b2[j] and j > 70 and not b2[j] < 0", "",
                           {"a": ("[T]", a), "b2": ("[S]", b)}, live=live, returns=("out", "lse"))


def finite_scores(q, k):
    """Scaled; of keys that are not finite, 0."""
    value, size = scaled(dot(q, np.where(np.isfinite(k), k, 0)), q.shape[-1] ** -0.5)
    return value, size


SETTINGS = [Scores, Pairs, Swin, Weights, NotFinite]
# Queries whose number is not known take the compiler much longer than keys.
DYNAMIC = {Scores: "BS", Pairs: "BS", Swin: "B", Weights: "BS", NotFinite: "TS"}


def cases(setting):
    for name, method in vars(type(setting)).items():
        if getattr(method, "is_case", False):
            made = method(setting)
            made.name = name
            yield made


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--dynamic", action="store_true", help="sizes of batch and keys are known only when running")
    parser.add_argument("--only", nargs="+", help="settings, of " + ", ".join(kind.__name__ for kind in SETTINGS))
    options, flags = parser.parse_known_args()
    failures = count = 0
    for n, kind in enumerate(SETTINGS):
        if options.only and kind.__name__ not in options.only:
            continue
        rng = np.random.default_rng([options.seed, n])
        setting = kind(rng, kind.draw(rng), DYNAMIC[kind] if options.dynamic else "")
        with np.errstate(invalid="ignore", over="ignore"):
            all_ = list(cases(setting))
            folder = f"{options.folder}/{kind.__name__}"
            found = problems(folder, setting.head(), all_, flags)
        for name, problem in found.items():
            print(f"{kind.__name__} {name}, seed {options.seed}: {problem}\n  {folder}/spec.attn, {setting.sizes}")
        failures += len(found)
        count += len(all_)
    print(f"{count - failures} passed, {failures} failed")
    sys.exit(1 if failures or not count else 0)


if __name__ == "__main__":
    main()
