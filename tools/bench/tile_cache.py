#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a linear of 197 rows in bf16 asks of the second-level cache while it is computed in tile registers, in bytes for each
cycle of its products (16 a product): the loads of compiler/cpu/LinearAmx.cpp against a simulated first level of 48 KB in 12
ways, of which the least recently used line makes room. Nothing is timed; the table is that of compiler/cpu/README.md.

    tools/bench/tile_cache.py [STEPS ...]        chunks of so many steps of 64 bytes of k; default: 6 12 96
"""
import sys
from collections import OrderedDict

ROWS, BLOCK, TILE, LINE, PANEL_TILES, PANELS = 197, 32, 16, 64, 3, 4
WAYS, SETS = 12, 64


def bytes_per_cycle(k, chunk, is_odd, keeps_rows):
    """`is_odd`: rows lie an odd number of lines apart; `keeps_rows`: lines of rows, which are read once, stay in the cache."""
    sets, missed, products = [OrderedDict() for _ in range(SETS)], 0, 0

    def load(region, first, stride, is_kept=True):
        misses = 0
        for row in range(TILE):
            line = (region << 30) + (first + row * stride) // LINE
            ways = sets[line % SETS]
            if line in ways:
                ways.move_to_end(line)
                continue
            misses += 1
            if is_kept:
                ways[line] = None
                if len(ways) > WAYS:
                    ways.popitem(last=False)
        return misses

    steps, pitch, panel = k // 32, 2 * k, LINE * PANEL_TILES
    if is_odd and pitch // LINE % 2 == 0:
        pitch += LINE
    chunks = -(-steps // chunk)
    for number in range(PANELS):
        if number == PANELS // 2:  # the first ones fill the cache
            missed = products = 0
        for part in range(chunks):
            begin, end = part * steps // chunks, (part + 1) * steps // chunks
            for row in range(0, ROWS, BLOCK):
                tiles = range(row, min(row + BLOCK, ROWS), TILE)
                sums = [(t * panel + v * LINE, panel) for t in tiles for v in range(PANEL_TILES)]
                missed += sum(load(3, *place) for place in sums) if part else 0
                for step in range(begin, end):
                    for t in tiles:
                        missed += load(1, t * pitch + step * LINE, pitch, keeps_rows)
                        for v in range(PANEL_TILES):
                            missed += load(2, (number * steps + step) * TILE * panel + v * LINE, panel)
                            products += 1
                missed += sum(load(3, *place) for place in sums)
    return missed * LINE / products / 16


def main():
    chunks = [int(word) for word in sys.argv[1:]] or [6, 12, 96]
    print("| steps of a chunk | rows apart | 768 -> n | 3072 -> n |\n| ---: | --- | ---: | ---: |")
    for chunk in chunks:
        for is_odd in (False, True):
            cells = [", ".join(f"{bytes_per_cycle(k, chunk, is_odd, keeps):.0f}" for keeps in (True, False)) for k in (768, 3072)]
            print(f"| {chunk} | {'an odd number of lines' if is_odd else 'as long as they are'} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main()
