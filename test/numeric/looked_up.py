#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of tables that are only looked up are those that NumPy rounds, to the bit: to bf16 in bf16, to f16 in what is narrower, not at all in f32, where a
spec says f32 of a table, and where something else than a lookup reads it. Widths have tails.

usage: looked_up.py FOLDER [FLAG...]"""
import sys

import numpy as np
from program import Program, optimised

ROWS, PLACES = 300, 11
SPEC = """attn 1
model Tables {{
  dim D = {width}, V = {rows}, P = {places}
  dyn T <= P
  embedding words: V -> D
  embedding exact: V -> D
  embedding places: P -> D
  {precision}

  entry rows(ids: i32[T]) -> [T, D] = words(ids)
  entry exact_rows(ids: i32[T]) -> [T, D] = exact(ids)
  entry first_rows(ids: i32[T]) -> [T, D] = places(positions(T)) + 0 * words(ids)
}}
"""


def to_bf16(x):
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


ROUNDED = {"f32": lambda x: x, "bf16": to_bf16, **dict.fromkeys(["f16", "int8", "int8_groups", "int4"], lambda x: x.astype(np.float16).astype(np.float32))}


def main():
    folder, *flags = sys.argv[1:]
    random = np.random.default_rng(91)
    for precision, rounded in ROUNDED.items():
        width = int(random.integers(1, 70))
        # From what f16 has only as subnormals to what it holds just so.
        tables = {name: (random.standard_normal((rows, width)) * 2.0 ** random.integers(-20, 12, (rows, width))).astype(np.float32)
                  for name, rows in (("words", ROWS), ("exact", ROWS), ("places", PLACES))}
        say = f'precision {precision}\n  precision f32 for "exact.weight"'
        program = Program(f"{folder}-{precision}", SPEC.format(width=width, rows=ROWS, places=PLACES, precision=say),
                          {f"{name}.weight": table for name, table in tables.items()}, optimised(flags))
        ids = random.integers(0, ROWS, PLACES).astype(np.int32)
        for entry, wanted in (("rows", rounded(tables["words"])[ids]), ("exact_rows", tables["exact"][ids]), ("first_rows", tables["places"])):
            got, = program.run(entry, {"ids": ids}, 1)
            assert np.array_equal(got, wanted), f"{precision}, {entry}, width {width}: {np.abs(got - wanted).max()}"
        assert precision == "f32" or not np.array_equal(rounded(tables["words"]), tables["words"])


if __name__ == "__main__":
    main()
