#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the masks of structured text: for each schema of test/text/grammar/schemas.json, how long a grammar takes to make, and the masks of
random texts, the first ones, which are made then, and all.

usage: tools/bench/grammars.py TOKENIZER STOP [TEXTS]

TOKENIZER is a file or folder as `attn tokenize` takes it, STOP the token that ends a text. build/test/unit/grammar_driver has to be there."""
import json
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/text/grammar"))
from driver import JSON_OBJECT, JSON_SCHEMA, Driver  # noqa: E402


def at(times, part):
    return times[min(len(times) - 1, int(len(times) * part))]


def main():
    tokenizer, stop, *texts = sys.argv[1:]
    texts = int(texts[0]) if texts else 20
    driver = Driver(str(ROOT / "build/test/unit/grammar_driver"), tokenizer, int(stop))
    schemas = json.load(open(ROOT / "test/text/grammar/schemas.json"))
    cases = [(JSON_OBJECT, "", "any object")] + [(JSON_SCHEMA, json.dumps(schema), schema["title"]) for schema in schemas]
    print("| schema | made in ms | masks | median µs | p99 µs | first text: mean µs | most µs |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    all_times, all_made = [], []
    for kind, grammar, title in cases:
        begin = time.time()
        problem = driver.make(kind, grammar)
        made = 1e3 * (time.time() - begin)
        assert not problem, problem
        walks = [driver.times(seed, 100) for seed in range(texts)]
        times = sorted(sum(walks, []))
        all_times += times
        all_made.append(made)
        if times:
            first = walks[0] or [0]
            print(f"| {title} | {made:.2f} | {len(times)} | {statistics.median(times):.1f} | {at(times, 0.99):.1f} | {statistics.mean(first):.1f} | {times[-1]:.0f} |")
    all_times.sort()
    print(f"| all | {statistics.median(all_made):.2f} | {len(all_times)} | {statistics.median(all_times):.1f} | {at(all_times, 0.99):.1f} | | {all_times[-1]:.0f} |")


if __name__ == "__main__":
    main()
