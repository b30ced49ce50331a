#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the choice of a lowering for attention: at each length, every lowering and the chosen one take turns.

    lowerings.py                                  lengths 16 to 4096, heads of 64 features
    lowerings.py --lengths 16384 --rounds 30
    lowerings.py --features 64 --values 512       values wider than keys

Exit codes: 0 each choice is within the bound of the best, 1 wrong input, 2 usage, 3 one is not, 4 something is missing.
"""
import datetime
import os
import subprocess
import tempfile

import numpy as np

import commandline
import measure
import report
from engines import PEERS, Engine, build_runners, input_word, output_word
from failure import DIFFERENT, Failure

LOWERINGS = ("strip", "online", "unfused")
BOUND = 1.15  # the choice over the best
HOPELESS = 1.5  # times the best in its first turn: takes no further ones
SPEC = """attn 1
model Lowerings {{
  dim H = {heads}, E = {features}, V = {values}, T = {length}
  entry full(q: [T, H, E], k: [T, H, E], v: [T, H, V]) -> [T, H, V] {{
    return attend q over k, v along T as S {{ mask none }}
  }}
}}
"""


def compile_lowering(options, length, lowering, folder):
    """The library; what `explain` says of it."""
    spec = os.path.join(folder, "lowerings.attn")
    with open(spec, "w") as file:
        file.write(SPEC.format(heads=options.heads, features=options.features, values=options.values, length=length))
    library = os.path.join(folder, lowering + ".so")
    words = [options.product, "compile", spec, "--attention", lowering, "--emit=shared", "-o", library]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.returncode, done.stderr.strip())
    return library


def measure_length(options, length, runners):
    """Least milliseconds by lowering; `auto` is the one that was chosen."""
    with tempfile.TemporaryDirectory() as folder:
        inputs = os.path.join(folder, "qkv.bin")
        widest = max(options.features, options.values)
        np.random.default_rng(14).standard_normal((3, length, options.heads, widest), np.float32).tofile(inputs)
        shapes = [(length, options.heads, width) for width in (options.features, options.features, options.values)]
        words = [input_word(name, "f32", shape, inputs, 4 * n * length * options.heads * widest)
                 for n, (name, shape) in enumerate(zip("qkv", shapes))]
        words.append(output_word("full", shapes[2]))
        names = LOWERINGS + ("auto",)
        engines = []
        try:
            for name in names:
                library = compile_lowering(options, length, name, folder)
                engines.append(Engine(name, [runners["run_attn"], library, "attn_model_lowerings", "-",
                                             str(options.threads), "full", *words]))
            once = [min(engine.run(1, 2)) for engine in engines]
            racing = [engine for engine, time in zip(engines, once) if time < HOPELESS * min(once)]
            times = dict(zip(racing, measure.interleave(racing, options.rounds)))
            least = [min(times.get(engine, [time])) for engine, time in zip(engines, once)]
        finally:
            for engine in engines:
                engine.close()
    return dict(zip(names, least))


def main():
    parser = commandline.parser(__doc__, rounds=30)
    parser.add_argument("--lengths", type=commandline.numbers, metavar="N,N",
                        default=[16, 32, 64, 128, 197, 256, 512, 1024, 2048, 4096], help="default: 16 to 4096")
    parser.add_argument("--heads", type=commandline.positive, default=12)
    parser.add_argument("--features", type=commandline.positive, default=64)
    parser.add_argument("--values", type=commandline.positive, help="features of values; default: as many")
    parser.add_argument("--threads", type=commandline.positive, default=2)
    options = parser.parse_args()
    options.values = options.values or options.features
    commandline.check_product(options)
    runners = build_runners(os.path.join(PEERS, "bin"))
    date = datetime.date.today().isoformat()
    lines = [
        "# Lowerings of attention",
        "",
        f"{report.cpu_name()}, {options.threads} threads, {date}. {options.heads} heads, keys of {options.features} and "
        f"values of {options.values} features, f32, milliseconds: the least of {options.rounds} turns, or "
        f"the first one's where that is {HOPELESS} times the best.",
        "",
        "| length | " + " | ".join(LOWERINGS) + " | chosen | over the best |",
        "| ---: |" + " ---: |" * (len(LOWERINGS) + 2),
    ]
    print("\n".join(lines), flush=True)
    worst = 0
    for length in options.lengths:
        least = measure_length(options, length, runners)
        over = least["auto"] / min(least[name] for name in LOWERINGS)
        worst = max(worst, over)
        lines.append(f"| {length} | " + " | ".join(f"{least[name]:.3f}" for name in LOWERINGS) +
                     f" | {least['auto']:.3f} | {over:.2f} |")
        print(lines[-1], flush=True)
    if options.write:
        path = commandline.results(f"lowerings-{options.features}-{options.values}", date) + ".md"
        report.keep(path, "\n".join(lines) + "\n")
    if worst > BOUND:
        raise Failure(DIFFERENT, f"a choice takes {worst:.2f} times the best lowering's time, the bound is {BOUND}")


if __name__ == "__main__":
    commandline.run(main)
