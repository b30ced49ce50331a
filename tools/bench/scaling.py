#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times attention against its length, and takes its memory: without a mask, under masks (masks.attn), in Swin's windows
(scaling.attn), and of one new token over its caches (decode.attn).

Of a system, one length comes right after the other, so that what is said of growth is that of the same seconds: the median
of the turns' ratios.

Exit codes: 0 measured, 1 wrong input, 2 usage, 4 something is missing here.
"""
import contextlib
import datetime
import json
import os
import subprocess
import tempfile

import numpy as np

import chart
import commandline
import measure
import report
from engines import HERE, PEERS, Engine, build_runners, input_word, output_word
from failure import USAGE, Failure

HEADS, FEATURES, WIDTH, LAYERS = 12, 64, 96, 4
MASKS = {"full": "full attention", "causally": "causal mask", "windows": "sliding window of 256, causal",
         "documents": "eight documents"}
SWIN, DECODE = "two blocks of Swin, 8 x 8", f"a new token, {LAYERS} layers"


def compile_spec(product, spec, sizes, *words):
    done = subprocess.run([product, "compile", os.path.join(HERE, spec), *(f"--set={name}={size}" for name, size in sizes.items()),
                           *words], capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.returncode, done.stderr.strip())


def draw(folder, name, shape):
    path = os.path.join(folder, name)
    np.random.default_rng(14).standard_normal(shape, np.float32).tofile(path)
    return path


class Decoding:
    """One new token over its caches: a compiled program, which `attn bench` times."""

    def __init__(self, options, folder, length):
        self.length, path = length, os.path.join(folder, f"decode-{length}")
        compile_spec(options.product, "decode.attn", {"P": length, "L": LAYERS}, "-o", path)
        self.words = [options.product, "bench", path, "--entry", "decode", "--cached", str(length - 1), "--threads",
                      str(options.threads), "--json", "--repeat"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, _, count):
        done = subprocess.run([*self.words, str(count + 2)], capture_output=True, text=True)
        if done.returncode:
            raise Failure(done.returncode, done.stderr.strip())
        return [json.loads(done.stdout)["minimum_ms"]]

    def peak_memory(self):
        """Bytes of its caches."""
        return 2 * 4 * LAYERS * HEADS * FEATURES * self.length


def engines(options, folder, length, runners):
    """What is timed at one length, by the name of the system."""
    def engine(title, library, symbol, weights, entry, inputs, output):
        return title, Engine(title, [runners["run_attn"], library, symbol, weights, str(options.threads), entry, *inputs, output])

    masks, swin = (os.path.join(folder, f"{name}-{length}.so") for name in ("masks", "swin"))
    compile_spec(options.product, "masks.attn", {"T": length}, "--emit=shared", "-o", masks)
    shape = (length, HEADS, FEATURES)
    rows = draw(folder, f"rows-{length}", (3, *shape))
    inputs = [input_word(name, "f32", shape, rows, 4 * n * length * HEADS * FEATURES) for n, name in enumerate(("query", "key", "value"))]
    for entry, title in MASKS.items():
        yield engine(title, masks, "attn_model_masks", "-", entry, inputs, output_word("logits", shape))
    height = 1 << (length.bit_length() - 1) // 2
    grid = (height, length // height, WIDTH)
    compile_spec(options.product, "scaling.attn", {"Y": grid[0], "X": grid[1]}, "--emit=shared", "-o", swin)
    yield engine(SWIN, swin, "attn_model_scaling", "random:1", "swin",
                 [input_word("x", "f32", grid, draw(folder, f"grid-{length}", grid))], output_word("logits", grid))
    yield DECODE, Decoding(options, folder, length)


def measure_all(options, folder, runners):
    """For each system and length: the least time of each turn, in milliseconds, and bytes."""
    found = {}
    with contextlib.ExitStack() as stack:
        cases = {(title, length): stack.enter_context(engine) for length in options.lengths
                 for title, engine in engines(options, folder, length, runners)}
        order = sorted(cases, key=lambda case: [*MASKS.values(), SWIN, DECODE].index(case[0]))  # stable: by length
        times = measure.interleave([cases[case] for case in order], options.rounds)
        for case, milliseconds in zip(order, times):
            found[case] = np.array(milliseconds).reshape(options.rounds, -1).min(1), cases[case].peak_memory()
    return found


def table(found, lengths):
    yield "| system | tokens | least ms | median ms | of half the tokens | MB |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for (title, length), (turns, memory) in found.items():
        half = found.get((title, length // 2))
        growth = f"{np.median(turns / half[0]):.2f}" if half else "-"
        yield f"| {title} | {length} | {turns.min():.2f} | {np.median(turns):.2f} | {growth} | {memory / 1e6:.0f} |"


def main():
    parser = commandline.parser(__doc__, rounds=5)
    parser.add_argument("--lengths", type=commandline.numbers, default=[1024, 2048, 4096, 8192, 16384], metavar="N,N",
                        help="powers of two; default: 1024 to 16384")
    parser.add_argument("--threads", type=commandline.positive, default=2, metavar="N", help="default: 2")
    options = parser.parse_args()
    commandline.check_product(options)
    if wrong := [length for length in options.lengths if length < 64 or length & (length - 1)]:
        raise Failure(USAGE, f"--lengths {wrong[0]}: expected powers of two from 64 on")
    runners = build_runners(os.path.join(PEERS, "bin"))
    subtitle = f"{report.cpu_name()}, {options.threads} threads, {datetime.date.today()}"
    with tempfile.TemporaryDirectory() as folder:
        found = measure_all(options, folder, runners)
    lines = ["# Time and memory against the number of tokens", "",
             f"{subtitle}. f32, {options.rounds} turns. Attention has {HEADS} heads of {FEATURES} features; Swin's blocks have {WIDTH} features. "
             "Memory is the peak of a C program with inputs, output and the library; that of a new token is its caches.", "",
             *table(found, options.lengths)]
    print("\n".join(lines))
    if options.write:
        base = commandline.results("scaling", str(datetime.date.today()))
        titles = dict.fromkeys(title for title, _ in found)
        series = lambda pick: {title: [(length, pick(found[title, length])) for length in options.lengths] for title in titles}
        panels = [("milliseconds", series(lambda case: case[0].min())), ("MB", series(lambda case: case[1] / 1e6))]
        report.keep(base + ".svg", chart.curves("Time and memory against the number of tokens", subtitle, "tokens", panels))
        lines[3:3] = ["", f"![Two charts with logarithmic axes]({os.path.basename(base)}.svg)"]
        report.keep(base + ".md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    commandline.run(main)
