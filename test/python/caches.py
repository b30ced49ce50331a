# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts that are copied, saved, loaded and cut, against one that runs from the beginning. Usage: caches.py EXAMPLES FOLDER"""
import os
import struct
import subprocess
import sys

import attn
import numpy as np
from tiny import TINY

examples, folder = sys.argv[1:3]
rng = np.random.default_rng(7)

# A window that slides over its positions, and a second cache whose positions come in other numbers, of another dtype's input.
WINDOW = """attn 1
model Window {
  dim D = 8, H = 2, E = 4
  dyn B <= 3
  cache kv capacity 24
  linear q, k, v: D -> H, E
  linear o: H, E -> D
  entry step[T](x: [B, T, D], kv: cache) -> [B, T, D] {
    return o(attend q(x) over kv.push(k(x), v(x)) along T as S { mask window(4, 0) })
  }
}
"""
TWO = """attn 1
model Two {
  dim D = 4, H = 2, E = 2
  dyn B <= 3
  cache long capacity 40
  cache short capacity 9
  linear fc: D -> H, E
  entry a[T](x: [B, T, D], long: cache) -> [B, T, H, E] {
    return attend fc(x) over long.push(fc(x), fc(x)) along T as S { mask causal }
  }
  entry b[T](x: [B, T, D], short: cache) -> [B, T, H, E] {
    return attend fc(x) over short.push(fc(x), fc(x)) along T as S { mask causal }
  }
}
"""


def same(a, b):
    assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def ways(context, make_other, path):
    """The context by each way of keeping what it holds; each goes on by itself."""
    copied = context.copy(threads=2)
    loaded = make_other()
    loaded.load(context.save())
    assert context.save(path) is None
    filed = context.context(1)
    filed.load(path)
    again = loaded.save()
    assert again == context.save() == bytes(memoryview(again))
    return [context, copied, loaded, filed]


def go_on(spec, weights, run, first, later, name, seed=None):
    """`run(context, input)` of `first` inputs, then of `later` ones in contexts that were kept between."""
    def load():
        return attn.compile(spec, weights=weights, threads=1, optimize=1)
    model, whole = load(), load()
    for value in first:
        run(model, value)
        run(whole, value)
    expected = [run(whole, value) for value in later]
    for context in ways(model, load, f"{folder}/kept"):
        for value, wanted in zip(later, expected):
            same(run(context, value), wanted)
    return model, whole, expected


# Tokens of the story: also from a cache that is cut to where it was.
spec, weights = f"{examples}/story/story.attn", f"{examples}/story/story.safetensors"
ids = rng.integers(0, 1024, (2, 20)).astype(np.int32)
later = [ids[:, i:i + 1] for i in range(12, 20)]
model, whole, expected = go_on(spec, weights, lambda c, v: c.decode(v) if v.shape[1] == 1 else c.prefill(v), [ids[:, :12]], later, "story")
assert len(model.caches["kv"]) == 20
model.caches["kv"].truncate(12)
for value, wanted in zip(later, expected):
    same(model.decode(value), wanted)
copy = model.copy()
copy.caches["kv"].truncate(15)
same(copy.decode(later[3]), expected[3])
same(model.copy().save(), model.save())
# Rewound within a prompt, it is as one that has read the beginning alone.
short = model.context(1)
short.prefill(ids[:, :7])
model.caches["kv"].truncate(7)
assert model.save() == short.save()
# A process of its own, and generated tokens.
model.save(f"{folder}/story.kept")
code = f"""import attn, sys
model = attn.compile({spec!r}, weights={weights!r}, threads=2, optimize=1)
model.load({f'{folder}/story.kept'!r})
sys.stdout.buffer.write(model.decode([[5], [6]]).tobytes())"""
done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
same(np.frombuffer(done.stdout, np.float32), model.decode([[5], [6]]))
prompt = ids[:1, :5]
generated = model.tell.generate(prompt, limit=12)
fresh = model.context(2)
fresh.prefill(np.zeros((1, 9), np.int32))
same(fresh.copy().tell.generate(prompt, limit=12)[0], generated[0])
print(f"story: {len(later)} tokens, the same bits")

x = rng.standard_normal((3, 22, 8), np.float32)
steps = [x[:, i:i + 1] for i in range(9, 22)]
model, _, expected = go_on(WINDOW, "random:3", lambda c, v: c.step(v), [x[:, :5], x[:, 5:9]], steps, "window")
model.caches["kv"].truncate(11)
for value, wanted in zip(steps[2:], expected[2:]):
    same(model.step(value), wanted)
print(f"window: {len(steps)} steps, the same bits")

x = rng.standard_normal((2, 30, 4), np.float32)
both = [(entry, x[:, i:i + 1]) for i in range(6) for entry in "ab"]
go_on(TWO, "random:4", lambda c, v: getattr(c, v[0])(v[1]), [("a", x[:, :17]), ("b", x[:, 20:22])], both, "two")
print(f"several caches: {len(both)} steps, the same bits")

# A state cannot be cut; copies and saved ones bring it back.
x = rng.standard_normal((5, 2, 4), np.float32)
model, whole, _ = go_on(TINY, "random:5", lambda c, v: c.step(v)[0], list(x[:2]), list(x[2:]), "states")
empty = model.context(1)
saved = empty.save()
before = empty.step(x[0])[0]
model.load(saved)
same(model.step(x[0])[0], before)
print(f"states: {len(x)} steps, the same bits")


def refused(call, kind, code, *words):
    try:
        call()
    except kind as error:
        assert error.code == code and all(word in str(error) for word in words), error
        return 1
    raise AssertionError(f"{code}: nothing is raised")


tiny = attn.compile(TINY, weights="random:5", threads=1, optimize=1)
tiny.push(np.ones((1, 3, 2, 2), np.float32))
tiny.step(x[0])
saved = tiny.save()
kept = tiny.step(x[1])[0]
tiny.load(saved)
mistakes = 0
for size in (0, 7, 47, 48, len(saved) - 1):
    mistakes += refused(lambda: tiny.load(saved[:size]), attn.InputError, "R0220")
for place in range(48, len(saved), 7):
    damaged = bytearray(saved)
    damaged[place] ^= 0x55
    mistakes += refused(lambda: tiny.load(damaged), attn.InputError, "R0220", "damaged")
mistakes += refused(lambda: tiny.load(saved + b"x"), attn.InputError, "R0220")
other = attn.compile(TINY.replace("capacity 6", "capacity 7"), weights="random:5", optimize=1)
mistakes += refused(lambda: other.load(saved), attn.InputError, "R0221", "another model")
other = attn.compile(TINY, weights="random:6", optimize=1)
mistakes += refused(lambda: other.load(saved), attn.InputError, "R0221", "other weights")
level = attn.compile(TINY, weights="random:5", target="x86-64-v3", optimize=1)
if tiny.level != level.level:
    mistakes += refused(lambda: level.load(saved), attn.InputError, "R0221", "x86-64-v3")
mistakes += refused(lambda: tiny.load(f"{folder}/nix"), attn.FileError, "R0501", "nix")
mistakes += refused(lambda: tiny.save(f"{folder}/nix/kept"), attn.FileError, "R0502", "nix/kept")
mistakes += refused(lambda: tiny.load(7), attn.ArgumentError, "R0101", "an int")
assert not [name for name in os.listdir(folder) if name.endswith(".part")]
# After all of these it is as it was.
assert len(tiny.caches["kv"]) == 3 and tiny.save() == saved
same(tiny.step(x[1])[0], kept)


def digest(data):
    """The hash of runtime/weights/PackCache.h, of less than 1 MB."""
    def mix(value, word):
        value = (value ^ word) * 0x9e3779b97f4a7c15 % (1 << 64)
        return value ^ value >> 29
    start = 0x2545f4914f6cdd1d
    lanes, whole = [start] * 4, len(data) // 32 * 32
    for at, word in enumerate(struct.unpack(f"<{whole // 8}Q", data[:whole])):
        lanes[at % 4] = mix(lanes[at % 4], word)
    for byte in data[whole:]:
        lanes[0] = mix(lanes[0], byte)
    result = mix(start, 0)
    for lane in lanes:
        result = mix(result, lane)
    return result


# With a hash that is right, any bytes are taken or refused.
assert struct.pack("<Q", digest(saved[48:])) == saved[40:48]
taken = 0
for place in range(48, len(saved) - 8, 8):
    for value in (-1, 0, 1, 2, 7, 9, 1 << 20, 1 << 40, -(1 << 63), (1 << 63) - 1):
        rest = saved[48:place] + struct.pack("<q", value) + saved[place + 8:]
        rest = rest[:len(rest) - int(rng.integers(0, 2)) * int(rng.integers(0, 9))]
        try:
            tiny.load(saved[:32] + struct.pack("<QQ", len(rest), digest(rest)) + rest)
            taken += 1
        except attn.InputError as error:
            assert error.code == "R0220", error
            mistakes += 1
        assert len(tiny.caches["kv"]) <= 6
    try:
        tiny.push(np.ones((1, 1, 2, 2), np.float32))
    except attn.InputError as error:
        assert error.code in ("R0207", "R0208"), error
assert taken
tiny.load(saved)
same(tiny.step(x[1])[0], kept)
# Weights that are bound anew are others.
tiny.bind("random:6")
mistakes += refused(lambda: tiny.load(saved), attn.InputError, "R0221", "other weights")
print(f"{mistakes} mistakes")
