#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a spec with an entry for each of so many random masks, half of them with a random bias.

Lengths are such that tiles of keys are empty, full and partial, and that the last ones are short.
"""
import argparse
import random


def position(depth):
    """An expression of whole numbers."""
    kind = random.choice(["i", "j", "i - j", "h", "number", "sum", "abs", "min", "remainder", "scaled"])
    if depth == 0 or kind in ("i", "j"):
        return random.choice(["i", "j"])
    if kind == "i - j":
        return "(i - j)"
    if kind == "h":
        return "h"
    if kind == "number":
        return str(random.choice([0, 1, 7, 64, 100, 300]))
    a = position(depth - 1)
    if kind == "abs":
        return f"abs({a})"
    if kind == "remainder":
        return f"({a} % {random.choice([2, 3, 50, 64, 128])})"
    if kind == "scaled":
        return f"({random.choice([-3, -1, 2, 5])} * {a})"
    b = position(depth - 1)
    if kind == "min":
        return f"{random.choice(['min', 'max'])}({a}, {b})"
    return f"({a} {random.choice('+-')} {b})"


def comparison():
    a, b = position(2), position(2)
    if random.random() < 0.3:
        size = random.choice([4, 33, 64, 100])
        a, b = f"floor({a} / {size})", f"floor({b} / {size})"
    return f"{a} {random.choice(['<', '<=', '>', '>=', '==', '!='])} {b}"


def mask(depth):
    kind = random.choice(["comparison", "comparison", "causal", "window", "and", "or", "not", "if"])
    if depth == 0 or kind == "comparison":
        return comparison()
    if kind == "causal":
        return "causal"
    if kind == "window":
        return f"window({random.choice([0, 3, 40, 130])}, {random.choice([0, 1, 64])})"
    if kind == "not":
        return f"not ({mask(depth - 1)})"
    if kind == "if":
        return f"(if {comparison()} then {mask(depth - 1)} else {mask(depth - 1)})"
    return f"({mask(depth - 1)} {kind} {mask(depth - 1)})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--masks", type=int, required=True)
    options = parser.parse_args()
    random.seed(options.seed)
    print(f"attn 1\nmodel RandomMasks {{\n  dim H = 2, E = 7, T = {random.randint(150, 260)}, M = {random.randint(60, 330)}")
    for n in range(options.masks):
        keys = random.choice("TM")
        along = "T as S" if keys == "T" else "M"
        bias = f"bias 0.01 * {position(2)}" if random.random() < 0.5 else ""
        print(f"  entry masked{n}(q: [T, H, E], k: [{keys}, H, E], v: [{keys}, H, E]) -> [T, H, E] {{")
        print(f"    return attend q over k, v along {along} {{\n      {bias}\n      mask {mask(3)}\n    }}\n  }}")
    print("}")


if __name__ == "__main__":
    main()
