# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows with lengths of their own in random schedules, against each sequence alone: the same bits. Usage: rows.py SCHEDULES"""
import sys

import attn
import numpy as np

schedules = int(sys.argv[1])

# Groups of heads, rotary positions, a gated feed-forward layer.
LLAMA = """attn 1
model Llama {
  dim V = 97, D = 64, H = 4, G = 2, E = D / H, L = 2, F = 96
  dyn B <= 32
  cache kv: DTYPE capacity 160
  embedding tokens: V -> D
  stack layers: L of Layer
  rmsnorm norm: D
  linear head: D -> V
  block Layer[T](x: [B, T, D], kv: cache) -> [B, T, D] {
    rmsnorm before, after: D
    linear q: D -> H, E
    linear k, v: D -> G, E
    linear out: H, E -> D
    linear gate, up: D -> F
    linear down: F -> D
    let n = before(x)
    let y = x + out(attend rotary(q(n), T, half) over kv.push(rotary(k(n), T, half), v(n)) along T as S group H by G { mask causal })
    let m = after(y)
    return y + down(silu(gate(m)) * up(m))
  }
  forward[T](ids: i32[B, T], kv: cache) -> [B, T, V] = head(norm(layers(tokens(ids), kv)))
  entry whole = forward
  entry step = forward by B
  entry last = forward by B last T
}
"""
# Learnt positions, a bias of distances beside a window and sink tokens, two caches, and an input for each position.
OTHER = """attn 1
use std.masks
model Other {
  dim V = 61, D = 32, H = 2, E = D / H
  dyn B <= 32
  cache long capacity 160, short capacity 160
  embedding tokens: V -> D
  embedding places: 160 -> D
  stack layers: 2 of Layer
  layernorm norm: D
  linear head: D -> V
  block Layer[T](x: [B, T, D], long: cache, short: cache) -> [B, T, D] {
    layernorm before: D
    linear q, k, v, q2, k2, v2: D -> H, E
    linear out, out2: H, E -> D
    let n = before(x)
    let y = x + out(attend q(n) over long.push(k(n), v(n)) along T as S { bias alibi(heads = H) mask causal })
    return y + out2(attend q2(y) over short.push(k2(y), v2(y)) along T as S { mask j <= i and (i - j <= 7 or j < 2) })
  }
  forward[T](ids: i32[B, T], gain: [B, T, D], long: cache, short: cache) -> [B, T, V]
    = head(norm(layers(tokens(ids) + places(positions(T)) + gain, long, short)))
  entry whole = forward
  entry step = forward by B
  entry last = forward by B last T
}
"""


class Sequences:
    """Sequences of a model, each in a row, and what it gives alone."""

    def __init__(self, model, rng, takes_gain, width, threads):
        self.model, self.rng, self.takes_gain, self.width = model, rng, takes_gain, width
        self.context = model.context(threads)
        self.live = []  # [row, ids, gain, scores so far]

    def arrive(self):
        length = int(self.rng.integers(2, 120))
        vocabulary = self.context.step.inputs[0].below
        self.live.append([self.model.row(), self.rng.integers(0, vocabulary, length).astype(np.int32),
                          self.rng.standard_normal((length, self.width), np.float32), []])

    def alone(self, ids, gain):
        return self.model.step([self.model.row()], *([[ids], [gain]] if self.takes_gain else [[ids]]))[0]

    def call(self):
        """A call of some rows, with a piece of each; what has become whole is compared."""
        chosen = [s for s in self.live if self.rng.random() < 0.7] or self.live[:1]
        self.rng.shuffle(chosen)
        ends, room = [], 160 - len(chosen)  # positions of a call
        for row, ids, _, _ in chosen:
            left = len(ids) - len(row)
            added = min(left, 1 if self.rng.random() < 0.6 else int(self.rng.integers(1, 40)), room + 1)
            room -= added - 1
            ends.append(len(row) + added)
        given = [[s[1][len(s[0]):end] for s, end in zip(chosen, ends)], [s[2][len(s[0]):end] for s, end in zip(chosen, ends)]]
        made = self.context.step([s[0] for s in chosen], *given[:1 + self.takes_gain])
        for sequence, scores in zip(chosen, made):
            sequence[3].append(scores)
            assert len(sequence[0]) == sum(map(len, sequence[3]))
            if len(sequence[0]) == len(sequence[1]):
                self.compare(sequence)

    def compare(self, sequence):
        row, ids, gain, scores = sequence
        assert np.concatenate(scores).tobytes() == self.alone(ids, gain).tobytes(), (len(ids), [len(part) for part in scores])
        self.live = [other for other in self.live if other is not sequence]
        row.close()

    KINDS = "preempted", "copied", "cut"

    def disturb(self, kind):
        """Throws a row away, which comes again, lets two go on from one, or cuts it."""
        row, ids, gain, scores = sequence = self.live[int(self.rng.integers(len(self.live)))]
        kept = int(self.rng.integers(0, len(row) + 1))
        parts = np.concatenate([*scores, np.zeros((0, self.model.step.outputs[0].axes[-1].size), np.float32)])[:kept]
        if kind == "preempted":  # all is computed again
            sequence[0], sequence[3] = self.model.row(), []
        elif kind == "copied":
            copied = row.copy()
            copied.truncate(kept)
            self.live.append([copied, np.concatenate([ids[:kept], np.roll(ids[kept:], 1)]), gain, [parts]])
        else:
            row.truncate(kept)
            sequence[3] = [parts]


def verify(name, spec, count, takes_gain, width, **options):
    model = attn.compile(spec, weights="random:3", **options)
    rng = np.random.default_rng(len(name))
    calls, kinds = 0, dict.fromkeys(Sequences.KINDS, 0)
    for schedule in range(count):
        sequences = Sequences(model, rng, takes_gain, width, (1, 2, 5)[schedule % 3])
        for _ in range(int(rng.integers(1, 12))):
            sequences.arrive()
        own = 0
        while sequences.live:
            sequences.call()
            own += 1
            if sequences.live and own < 12 and rng.random() < 0.4:
                kind = min(kinds, key=kinds.get)
                sequences.disturb(kind)
                kinds[kind] += 1
            if own < 12 and len(sequences.live) < 32 and rng.random() < 0.4:
                sequences.arrive()
        calls += own
        sequences.context.close()
    assert all(kinds.values()), f"nothing was {kinds}"
    # Against a batch in one call, whose many rows meet weights of int4 as int8; and the last positions alone.
    ids = rng.integers(0, model.step.inputs[0].below, (3, 30)).astype(np.int32)
    gain = rng.standard_normal((3, 30, width)).astype(np.float32)
    if options.get("precision") == "int4_groups":
        whole = np.stack(model.step([model.row() for _ in range(3)], list(ids)))
    else:
        whole = np.asarray(model.whole(*[ids, gain][:1 + takes_gain]))
    rows = [model.row() for _ in range(3)]
    parts = model.step(rows, *[list(ids[:, :9]), list(gain[:, :9])][:1 + takes_gain])
    ends = model.last(rows, *[list(ids[:, 9:]), list(gain[:, 9:])][:1 + takes_gain])
    for r in range(3):
        assert np.allclose(parts[r], whole[r, :9], atol=1e-4) and np.allclose(ends[r], whole[r, -1], atol=1e-4)
    model.close()
    print(f"{name} {options}: {count} schedules, {calls} calls, {kinds}: the same bits")


each = max(schedules // 8, 1)
for target in ("x86-64-v3", "native"):
    verify("llama", LLAMA.replace(": DTYPE", ""), each, False, 1, target=target)
    verify("other", OTHER, each, True, 32, target=target)
verify("llama", LLAMA.replace("DTYPE", "bf16"), each, False, 1)
for precision in ("int8", "int4_groups", "bf16"):
    verify("llama", LLAMA.replace(": DTYPE", ""), each, False, 1, precision=precision)

model = attn.compile(LLAMA.replace(": DTYPE", ""), weights="random:3")
row, other = model.row(), attn.compile(OTHER, weights="random:3").row()
mistakes = [
    (lambda: model.step([row, row], [[1], [2]]), "entry `step`: row 1 comes twice"),
    (lambda: model.step([other], [[1]]), "entry `step`: row 0 is of another model"),
    (lambda: model.step([row], [[1] * 161]), "input `ids` of entry `step` has 161 along axis 1, `T`, expected 1 to 160"),
    (lambda: model.step([row], [[1], [2]]), "input `ids` of entry `step` has 2 arrays, expected one for each of 1 rows"),
    (lambda: (model.step([row], [[1] * 100]), model.step([row], [[1] * 61])),
     "cache `kv` holds 100 of 160 positions of row 0, entry `step` would add 61"),
    (lambda: model.step([row], [[]]), "expected 1 to 160"),
    (lambda: model.step([row], [[97]]), "input `ids` of entry `step` holds 97 at [0, 0], expected 0 to 96"),
    (lambda: model.step([model.row() for _ in range(33)], [[1]] * 33), "entry `step` gets 33 rows, expected 1 to 32"),
    (lambda: row.truncate(101), "the row holds 100 positions"),
]
for act, expected in mistakes:
    try:
        act()
        raise SystemExit(f"no error: {expected}")
    except attn.Error as error:
        assert expected in str(error), (expected, str(error))
assert len(row) == 100
print(f"{len(mistakes)} mistakes")
