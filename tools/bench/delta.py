#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the recurrence of a gated delta net (delta.attn) beside causal attention of as many heads and features, which it stands in
for. Both take turns, at each level and length. ONNX Runtime has no operator for it.

Exit codes: 0 measured, 1 wrong input, 2 usage, 4 something is missing here.
"""
import datetime
import os
import subprocess
import tempfile

import numpy as np

import commandline
import measure
import report
from engines import PEERS, ROOT, Engine, build_runners, input_word, output_word
from failure import Failure

SPEC = os.path.join(ROOT, "tools", "bench", "delta.attn")
KEYS, VALUES, FEATURES = 16, 32, 128  # heads of keys, of values, features of both


def arguments():
    options = commandline.parser(__doc__, 10)
    options.add_argument("--lengths", type=commandline.numbers, default=[512, 2048], metavar="N,...")
    options.add_argument("--levels", default="x86-64-v3,x86-64-v4")
    options.add_argument("--threads", type=commandline.numbers, default=[1, 2], metavar="N,...")
    return options.parse_args()


def inputs_of(folder, length):
    """By entry: the words that name its inputs, drawn so that states stay of their size."""
    random = np.random.default_rng(15)
    draw = lambda *shape: random.standard_normal(shape, np.float32)
    tensors = {"q": draw(length, KEYS, FEATURES) / FEATURES, "k": draw(length, KEYS, FEATURES) * np.float32(FEATURES ** -0.5),
               "v": draw(length, KEYS, 2, FEATURES), "decay": -np.abs(draw(length, KEYS, 2)), "beta": np.abs(draw(length, KEYS, 2)).clip(0, 1)}
    asked = {"q": draw(length, VALUES, FEATURES), "k": draw(length, KEYS, FEATURES), "v": draw(length, KEYS, FEATURES)}
    words = {}
    for entry, of in (("delta", tensors), ("attention", asked)):
        words[entry] = []
        for name, values in of.items():
            path = os.path.join(folder, f"{entry}-{name}.bin")
            values.astype(np.float32).tofile(path)
            words[entry].append(input_word(name, "f32", values.shape, path))
        words[entry].append(output_word("y", of["v" if entry == "delta" else "q"].shape))
    return words


def measure_case(options, folder, runners, level, length, threads):
    library = os.path.join(folder, f"{level}-{length}.so")
    done = subprocess.run([options.product, "compile", SPEC, f"--set=T={length}", f"--target={level}", "--emit=shared", "-o", library],
                          capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.returncode, done.stderr.strip())
    words = inputs_of(folder, length)
    start = lambda entry: Engine(entry, [runners["run_attn"], library, "attn_model_delta", "-", str(threads), entry, *words[entry]])
    with start("delta") as delta, start("attention") as attention:
        load = measure.OtherLoad([delta, attention])
        times = [measure.summarize(found) for found in measure.interleave([delta, attention], options.rounds)]
        return *times, load.share()


def main():
    options = arguments()
    commandline.check_product(options)
    runners = build_runners(os.path.join(PEERS, "bin"))
    lines = [f"A gated delta net's recurrence, {VALUES} heads of {FEATURES} x {FEATURES}, on {report.cpu_name()}, least ms.", "",
             "| level | tokens | threads | delta net | causal attention | ratio of least | ratio of medians | other load |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for level in options.levels.split(","):
            for length in options.lengths:
                for threads in options.threads:
                    delta, attention, load = measure_case(options, folder, runners, level, length, threads)
                    lines.append(f"| {level} | {length:,} | {threads} | {delta.minimum:.1f} | {attention.minimum:.1f} | "
                                 f"{delta.minimum / attention.minimum:.2f} | {delta.median / attention.median:.2f} | {load:.0%} |")
                    print(lines[-1], flush=True)
    if options.write:
        report.keep(commandline.results("delta", str(datetime.date.today())) + ".md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    commandline.run(main)
