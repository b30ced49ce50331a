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
from attention_spec import Setting, problems


def case(method):
    method.is_case = True
    return method


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


class Pairs(Setting):
    """Sections 3 and 5: cross-attention with M != N and dk != dv, masks, biases and caps."""

    @staticmethod
    def draw(rng):
        T = odd(rng, 2, 150)
        return dict(B=odd(rng, 1, 4), H=odd(rng, 1, 5), T=T, S=T + odd(rng, 1, 150), E=odd(rng, 1, 40), F=odd(rng, 41, 80))

    def bits(self, *axes, chance=0.6):
        return self.rng.random([self.sizes[axis] for axis in axes]) < chance

    def lengths(self, longest, dtype=np.int32):
        """One for each of a batch, the whole and nothing among them."""
        n = self.rng.integers(0, longest + 1, self.sizes["B"])
        n[-1] = 0
        n[0] = longest
        return n.astype(dtype)

    @case
    def plain(self):
        return self.attend(returns=("out", "lse", "weights", "scores(raw)", "scores(biased)", "scores(capped)"))

    @case
    def scores_first(self):
        return self.attend("mask causal", own=True, live=lambda p: p.j <= p.i,
                           returns=("scores(raw)", "lse", "scores(capped)", "weights", "out"))

    @case
    def heads_inside(self):
        return self.attend(axes="BTH", keys="BSH", returns=("out", "weights"))

    @case
    def causal(self):
        return self.attend("mask causal", own=True, live=lambda p: p.j <= p.i)

    @case
    def bottom_right(self):
        """The last query sees the last key."""
        n = np.full(self.sizes["B"], self.sizes["S"] - self.sizes["T"], np.int32)
        made = self.attend("mask j <= i + shift[b]", inputs={"shift": ("i32[B]", n)},
                           live=lambda p: p.j <= p.i + self.sizes["S"] - self.sizes["T"])
        if not self.dynamic:
            made.body = made.body.replace("shift[b]", "S - T")
            del made.inputs["shift"]
        return made

    @case
    def padding(self):
        n = self.lengths(self.sizes["S"])
        return self.attend("mask padding", "mask padding(b, j) with input lengths: i32[B] = j < lengths[b]",
                           {"lengths": ("i32[B]", n)}, live=lambda p: p.j < n[p.b], returns=("out", "lse"))

    @case
    def padding_of_queries(self):
        """Rows and columns, lengths of 64 bits."""
        n = self.lengths(self.sizes["T"], np.int64)
        return self.attend("mask max(i, j) < lengths[b]", "", {"lengths": ("i64[B]", n)}, own=True,
                           live=lambda p: np.maximum(p.i, p.j) < n[p.b], returns=("out", "lse"))

    @case
    def boolean(self):
        m = self.bits("B", "H", "T", "S")
        return self.attend("mask m[b, h, i.row, j.row]", inputs={"m": ("bool[B, H, T, S]", m)}, live=m)

    @case
    def boolean_for_all_heads(self):
        m = self.bits("T", "S")
        return self.attend("mask shown", "mask shown(i, j) with input m: bool[T, S] = m[i, j]",
                           {"m": ("bool[T, S]", m)}, live=m)

    def regions(self):
        """[T, S], true in half of the pairs, some of which lie in tiles of nothing else."""
        i, j = np.ogrid[:self.sizes["T"], :self.sizes["S"]]
        return (j <= i) ^ (j >= self.sizes["T"])

    @case
    def boolean_in_regions(self):
        m = self.regions()
        return self.attend("mask m[i, j]", inputs={"m": ("bool[T, S]", m)}, live=m, returns=("out", "lse"))

    @case
    def positive_in_regions(self):
        """A comparison of floats, with a NaN here and there."""
        m = np.where(self.regions(), np.float32(2), np.float32(-2)) + np.float32(0.25) * self.normal(self.sizes["T"], self.sizes["S"])
        m[self.rng.random(m.shape) < 0.001] = np.nan
        return self.attend("mask m[i, j] > 0.0", inputs={"m": ("[T, S]", m)}, live=m > 0)

    @case
    def kinds_in_regions(self):
        """Whole numbers for each of a batch, of 64 bits: those that are equal in their low 32 bits differ."""
        kinds = np.stack([self.regions() * 2**(32 * (b % 2)) + 3 for b in range(self.sizes["B"])])
        return self.attend("mask kinds[b, i, j] > 3", inputs={"kinds": ("i64[B, T, S]", kinds.astype(np.int64))},
                           live=kinds[:, None] > 3)

    @case
    def boolean_for_keys(self):
        m = self.bits("B", "S", chance=0.3)
        return self.attend("mask not hidden[b, j]", inputs={"hidden": ("bool[B, S]", m)},
                           live=~m[:, None, None])

    @case
    def added(self):
        m = np.where(self.bits("B", "H", "T", "S"), self.normal(*self.q.shape[:3], self.sizes["S"]), np.float32(-INF))
        return self.attend("bias given", "bias given(b, h, i, j) with input m: f32[B, H, T, S] = m[b, h, i.row, j.row]",
                           {"m": ("[B, H, T, S]", m)}, bias=m, returns=("out", "lse"))

    @case
    def added_for_all_heads(self):
        m = np.where(self.bits("T", "S"), np.float32(0), np.float32(-INF))
        return self.attend("bias m[i, j]", inputs={"m": ("[T, S]", m)}, bias=m)

    @case
    def window(self):
        return self.attend("mask window(11, 5)", own=True, live=lambda p: (p.i - 11 <= p.j) & (p.j <= p.i + 5))

    @case
    def prefix(self):
        n = self.lengths(self.sizes["T"])
        return self.attend("mask causal or prefix", "mask prefix(b, j) with input n: i32[B] = j < n[b]",
                           {"n": ("i32[B]", n)}, own=True, live=lambda p: (p.j <= p.i) | (p.j < n[p.b]))

    @case
    def documents(self):
        """Packed one after the other; of any numbers, any order."""
        ids = np.sort(self.rng.integers(-5, 5, (self.sizes["B"], self.sizes["T"])), 1).astype(np.int32)
        ids[0] = self.rng.permutation(ids[0])
        return self.attend("mask document and causal",
                           "mask document(b, i, j) with input id: i32[B, T] = id[b, i] == id[b, j]", {"id": ("i32[B, T]", ids)},
                           own=True, live=lambda p: (ids[:, None, :, None] == ids[:, None, None]) & (p.j <= p.i))

    @case
    def documents_of_long_numbers(self):
        """Equal in their low 32 bits."""
        ids = (self.rng.integers(-2, 2, (self.sizes["B"], self.sizes["T"])) * 2**32 + 7).astype(np.int64)
        return self.attend("mask id[b, i] == id[b, j]", "", {"id": ("i64[B, T]", ids)}, own=True,
                           live=ids[:, None, :, None] == ids[:, None, None])

    @case
    def block_diagonal(self):
        return self.attend("mask blocks(13)", "mask blocks(i, j; size) = floor(i / size) == floor(j / size)",
                           own=True, live=lambda p: p.i // 13 == p.j // 13)

    @case
    def dilated(self):
        return self.attend("mask (i - j) % 3 == 0 and window(31, 31)", own=True,
                           live=lambda p: ((p.i - p.j) % 3 == 0) & (abs(p.i - p.j) <= 31))

    @case
    def others(self):
        return self.attend("mask others", "mask others(i, j) = i != j", own=True, live=lambda p: p.i != p.j,
                           returns=("out", "lse", "weights"))

    @case
    def combined(self):
        m = self.bits("B", "T")
        return self.attend("mask causal and (window(9, 0) or j < 2 or not (strong[b, j] and h % 2 == 0)) and not i % 7 == 3",
                           "", {"strong": ("bool[B, T]", m)}, own=True, returns=("out", "lse", "weights"),
                           live=lambda p: (p.j <= p.i) & ((p.i - 9 <= p.j) | (p.j < 2) | ~(m[:, None, None] & (p.h % 2 == 0)))
                           & (p.i % 7 != 3))

    @case
    def alibi(self):
        slope = np.abs(self.normal(self.sizes["H"]))
        return self.attend("bias alibi\nmask causal", "bias alibi(h, i, j) with param slope: [H] = -slope[h] * abs(i - j)",
                           weights={"slope": slope}, own=True, live=lambda p: p.j <= p.i,
                           bias=lambda p: -slope.astype(float)[p.h] * abs(p.i - p.j), returns=("out", "scores(biased)"))

    @case
    def t5_buckets(self):
        """As in T5's encoder: 32 buckets, distances of up to 128."""
        table = self.normal(32, self.sizes["H"])
        def bucket(p):
            n = abs(p.j - p.i)
            far = 8 + np.floor(np.log(np.maximum(n, 1) / 8) / np.log(128 / 8) * 8 + 1e-9).astype(int)
            return np.where(p.j > p.i, 16, 0) + np.where(n < 8, n, np.minimum(far, 15))
        return self.attend("bias t5", """
            bias t5(h, i, j) with param buckets: [32, H] = buckets[(if j > i then 16 else 0) + (if abs(i - j) < 8 then min(abs(i - j), 7)
              else min(max(8 + floor(log(abs(i - j) / 8) / log(16) * 8), 8), 15)), h]""", weights={"buckets": table}, own=True,
                           bias=lambda p: table.astype(float)[bucket(p), p.h])

    @case
    def t5_decoder(self):
        """As in T5's decoder: 32 buckets of what came before."""
        table = self.normal(32, self.sizes["H"])
        def bucket(p):
            n = np.maximum(p.i - p.j, 0)
            far = 16 + np.floor(np.log(np.maximum(n, 1) / 16) / np.log(128 / 16) * 16 + 1e-9).astype(int)
            return np.where(n < 16, n, np.minimum(far, 31))
        return self.attend("bias before\nmask causal", """
            bias before(h, i, j) with param decoder_buckets: [32, H] = decoder_buckets[
              if i - j < 16 then min(max(i - j, 0), 15)
              else min(max(16 + floor(log((i - j) / 16) / log(8) * 16), 16), 31), h]""", weights={"decoder_buckets": table},
                           own=True, bias=lambda p: table.astype(float)[bucket(p), p.h], live=lambda p: p.j <= p.i)

    @case
    def log_of_distance(self):
        slope = np.abs(self.normal(self.sizes["H"]))
        return self.attend("bias near + far", """
            bias far(h, i, j) with param log_slope: [H] = if close(5) then 0 else -log_slope[h] * log(1 + abs(i - j))
            bias near(i, j) = if close(5) and not causal then sin(0.3 * j) else cos(0.2 * i)
            mask close(i, j; reach) = window(reach, reach)""", weights={"log_slope": slope}, own=True,
                           bias=lambda p: np.where(abs(p.i - p.j) <= 5, 0, -slope.astype(float)[p.h] * np.log(1 + abs(p.i - p.j)))
                           + np.where((abs(p.i - p.j) <= 5) & (p.j > p.i), np.sin(0.3 * p.j), np.cos(0.2 * p.i)))

    @case
    def whole_numbers_of_tensors(self):
        """Rows of a table by numbers that are rounded, some of them NaN or infinite."""
        x, table = self.normal(self.sizes["S"]) * 4, self.normal(9)
        x[::5] = self.rng.choice([np.nan, INF, -INF], x[::5].shape)
        row = np.where(np.isnan(x), 0, np.clip(np.floor(np.nan_to_num(x, posinf=99, neginf=-99)) + 4, 0, 8)).astype(int)
        return self.attend("bias rows", """
            bias rows(i, j) with input x: [S], param nine: [9] = nine[min(max(floor(x[j]) + 4, 0), 8)]""", {"x": ("[S]", x)},
                           weights={"nine": table}, bias=table.astype(float)[row])

    @case
    def masks_of_masks(self):
        n = self.lengths(self.sizes["T"])
        return self.attend("mask causal_prefix(3)", """
            mask causal_prefix(b, i, j; step) = (causal or prefix2) and not every(step, 1) and not (every(step + 1, 0) and prefix2)
            mask every(i, j; step, rest) = (i + j) % step == rest and not near
            mask near(i, j) = window(4, 4)
            mask prefix2(b, j) with input n: i32[B] = j < n[b]""", {"n": ("i32[B]", n)}, own=True,
                           live=lambda p: ((p.j <= p.i) | (p.j < n[p.b])) & ~(((p.i + p.j) % 3 == 1) & (abs(p.i - p.j) > 4))
                           & ~(((p.i + p.j) % 4 == 0) & (abs(p.i - p.j) > 4) & (p.j < n[p.b])), returns=("out", "lse", "weights"))

    @case
    def shifted_windows(self):
        """Windows of 16, shifted by 8: tokens attend to those of their window, and, in the last, which wraps around, to
        those of their part."""
        T = self.sizes["T"]
        def region(x):
            return np.where(x >= T - 8, 1, 0)
        return self.attend("mask same_window and same_region", """
            mask same_window(i, j) = floor(i / 16) == floor(j / 16)
            mask same_region(i, j) = (i >= T - 8 and j >= T - 8) or (i < T - 8 and j < T - 8)""", own=True,
                           live=lambda p: (p.i // 16 == p.j // 16) & (region(p.i) == region(p.j)))

    @case
    def capped(self):
        n = self.lengths(self.sizes["S"])
        return self.attend("bias 0.1 * (i - j)\ncap 1.5\nmask j < n[b]", inputs={"n": ("i32[B]", n)}, cap=1.5,
                           bias=lambda p: 0.1 * (p.i - p.j), live=lambda p: p.j < n[p.b])

    @case
    def capped_scores(self):
        return self.attend("bias 0.1 * (i - j)\ncap 30", cap=30.0, bias=lambda p: 0.1 * (p.i - p.j),
                           returns=("out", "scores(raw)", "scores(biased)", "scores(capped)"))


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


def odd(rng, low, high):
    return int(rng.integers(low, high))


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
