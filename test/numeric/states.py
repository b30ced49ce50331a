#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`state`: what a model keeps from call to call, against NumPy in double precision, over random sequences of calls. Then a loop over
tokens that keeps a state, with and without beams, beside the same loop with tensors that are passed on by name."""
import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compiled_model import Model, ModelError
from generate import build
from measured import measured
from vit_twin import write_safetensors

I, U, V, LIMIT = 5, 7, 11, 9
WEIGHTS = {"ih.weight": (U, I), "hh.weight": (U, U), "hh.bias": (U,), "head.weight": (V, U), "wte.weight": (V, I)}
SPEC = """attn 1
model States {
  dim I = 5, U = 7, V = 11
  dyn B <= 24, T <= 16
  state h: [B, U], steps: i32[B]
  linear ih: I -> U
  linear hh: U -> U bias
  linear head: U -> V
  embedding wte: V -> I
  entry step(x: [B, I]) -> y: [B, V], h: [B, U] {
    let n = tanh(ih(x) + hh(h))
    return head(n), n
  }
  entry look(x: [B, I]) -> [B, V] = head(h) + sum(I, x)
  entry count(n: i32[B]) -> steps: i32[B], before: i32[B] = (n, steps)
  entry start(x: [B, T, I]) -> h: [B, U] = tanh(ih(sum(T, x)))
  entry next(token: i32[B]) -> scores: [B, V], h: [B, U] {
    let n = tanh(ih(wte(token)) + hh(h))
    return head(n), n
  }
  entry write = unfold(start, next, begin = 1, stop = 0, limit = 9)
  entry begin(token: i32[B]) -> scores: [B, V] = head(tanh(ih(wte(token))))
  entry continue = unfold(begin, next, stop = 0, limit = 9, token = token)
}
"""
# The same, with a tensor that goes from entry to entry by its name.
PLAIN = """attn 1
model States {
  dim I = 5, U = 7, V = 11
  dyn B <= 24, T <= 16
  linear ih: I -> U
  linear hh: U -> U bias
  linear head: U -> V
  embedding wte: V -> I
  entry start(x: [B, T, I]) -> h: [B, U] = tanh(ih(sum(T, x)))
  entry next(token: i32[B], h: [B, U]) -> scores: [B, V], h: [B, U] {
    let n = tanh(ih(wte(token)) + hh(h))
    return head(n), n
  }
  entry write = unfold(start, next, begin = 1, stop = 0, limit = 9)
  entry begin(token: i32[B], zero: [B, U]) -> scores: [B, V], h: [B, U] = (head(tanh(ih(wte(token)))), zero)
  entry continue = unfold(begin, next, stop = 0, limit = 9, token = token)
}
"""


def worst(got, wanted):
    return np.sqrt(((got - wanted) ** 2).sum() / (wanted ** 2).sum())


def check_calls(model, rng, w, rounds, bound):
    """Random calls one after the other: each entry reads what those before have left."""
    largest = 0
    for _ in range(rounds):
        batch = int(rng.integers(1, 8))
        model.reset()
        h, steps = np.zeros((batch, U)), np.zeros(batch, np.int32)
        draw = lambda *shape: rng.standard_normal((batch, *shape)).astype(np.float32)
        for _ in range(12):
            kind = rng.choice(["step", "given", "look", "start", "count", "reset"], p=[0.35, 0.15, 0.2, 0.1, 0.15, 0.05])
            if kind in ("step", "given"):
                x = draw(I)
                if kind == "given":
                    h = draw(U)
                y, got = model.run("step", [x, h.astype(np.float32) if kind == "given" else None])
                h = np.tanh(x @ w["ih.weight"].T + h @ w["hh.weight"].T + w["hh.bias"])
                errors = [worst(y, h @ w["head.weight"].T), worst(got, h)]
            elif kind == "look":
                x = draw(I)
                errors = [worst(model.run("look", [x, None])[0], h @ w["head.weight"].T + x.astype(np.float64).sum(-1, keepdims=True))]
            elif kind == "start":
                x = draw(3, I)
                (got,), h = model.run("start", [x]), np.tanh(x.astype(np.float64).sum(1) @ w["ih.weight"].T)
                errors = [worst(got, h)]
            elif kind == "count":
                n = rng.integers(-2**31, 2**31, batch, dtype=np.int32)
                assert (model.run("count", [n, None])[1] == steps).all()
                steps, errors = n, [0]
            else:
                model.reset()
                h, steps, errors = np.zeros((batch, U)), np.zeros(batch, np.int32), [0]
            largest = max(largest, *errors)
            assert largest <= bound, f"{kind}: relative L2 {largest:.2e}"
    measured("states", largest)
    print(f"{rounds} sequences of 12 calls: relative L2 at most {largest:.1e}")


def check_errors(model, rng):
    """What is refused leaves the states as they were."""
    model.reset()
    x = rng.standard_normal((3, I)).astype(np.float32)
    model.run("step", [x, None])
    before = model.run("look", [x, None])[0].copy()
    for inputs, expected in [
            ([x[:2], None], "error[R0213]: state `h` has 3 along axis 0, `B`, but entry `step` is called with 2"),
            ([x, np.zeros((2, U), np.float32)], "error[R0204]: input `h` of entry `step` has 2 along axis 0, `B`, expected 3"),
            ([x, np.zeros((3, U + 1), np.float32)], "error[R0203]: input `h` of entry `step` has 8 along axis 1, `U`, expected 7")]:
        try:
            model.run("step", inputs, [(len(inputs[0]), V), (len(inputs[0]), U)])
            raise AssertionError(f"this was not refused: {expected}")
        except ModelError as error:
            assert expected in str(error), error
    assert (model.run("look", [x, None])[0] == before).all()
    model.reset()
    model.run("step", [x[:2], None])


def check_generation(model, plain, rng):
    """A loop begins with zeros, whatever was left before, and carries its states through steps and beams."""
    for batch in 1, 5:
        x, tokens = rng.standard_normal((batch, 4, I)).astype(np.float32), rng.integers(0, V, batch, dtype=np.int32)
        model.reset()
        model.run("step", [x[:, 0], None])
        for beams in 1, 4:
            for entry, inputs, twin in [("write", [x], [x]), ("continue", [tokens, None], [tokens, np.zeros((batch, U), np.float32)])]:
                got = model.run(entry, inputs, generation=model.generation(entry, beams=beams, stopCount=0))
                wanted = plain.run(entry, twin, generation=plain.generation(entry, beams=beams, stopCount=0))
                assert all((a == b).all() for a, b in zip(got[:2], wanted[:2])), (entry, beams, got, wanted)
    print("loops over tokens: the same as where tensors are passed on by name")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--target", default="native")
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--bound", type=float, default=1e-5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--gpu", action="store_true", help="on the GPU, for which --target has a level, too")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    weights = {name: (0.7 * rng.standard_normal(shape)).astype(np.float32) for name, shape in WEIGHTS.items()}
    file = os.path.join(options.folder, "weights.safetensors")
    write_safetensors(file, weights)
    flags = [f"--target={options.target}", f"--precision={options.precision}"]
    model, plain = (Model(build(options.folder, name, spec, flags), "attn_model_states", file, options.threads)
                    for name, spec in [("states", SPEC), ("plain", PLAIN)])
    if options.gpu:
        model.move(0), plain.move(0)
    check_calls(model, rng, {name: value.astype(np.float64) for name, value in weights.items()}, options.rounds, options.bound)
    check_errors(model, rng)
    check_generation(model, plain, rng)


if __name__ == "__main__":
    main()
