# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of attention_twin.py on pairs of queries and keys: masks, biases and caps."""
import numpy as np

from attention_math import INF
from attention_spec import Setting, case, odd


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
