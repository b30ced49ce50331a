#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the attention of one new token over its caches beside reading as many bytes of memory.

decode.attn has the caches of 20 layers, so that none of it is left in the CPU's caches from the token before. Readings and decoding
take turns; what counts is the ratio of the least times.

Exit codes: 0 measured, 1 wrong input, 2 usage, 4 something is missing here.
"""
import datetime
import json
import os
import subprocess
import tempfile

import commandline
import report
from engines import ROOT
from failure import Failure

BENCH = os.path.join(ROOT, "tools", "bench")
HEADS, FEATURES, LAYERS = 12, 64, 20


def run(*words):
    result = subprocess.run(words, capture_output=True, text=True)
    if result.returncode:
        raise Failure(result.returncode, result.stderr.strip())
    return result.stdout


def measure(product, groups, positions, threads, rounds, folder):
    """The least milliseconds of reading the keys and values, and of decoding; and their bytes."""
    model, reader = os.path.join(folder, "decode"), os.path.join(folder, "run_read")
    layers = LAYERS * HEADS // groups  # as many bytes
    run(product, "compile", os.path.join(BENCH, "decode.attn"), f"--set=P={positions}", f"--set=G={groups}", f"--set=L={layers}",
        "-o", model)
    run("gcc", "-O2", "-march=native", "-pthread", os.path.join(BENCH, "run_read.c"), "-o", reader)
    size = 2 * 4 * layers * groups * positions * FEATURES
    reading = decoding = float("inf")
    for _ in range(rounds):
        megabytes = 512
        reading = min(reading, float(run(reader, str(threads), str(megabytes), "6")) * size / (megabytes << 20))
        line = run(product, "bench", model, "--entry", "decode", "--cached", str(positions - 1), "--threads", str(threads),
                   "--repeat", "12", "--json")
        decoding = min(decoding, json.loads(line)["minimum_ms"])
    return reading, decoding, size


def main():
    parser = commandline.parser(__doc__, rounds=4)
    parser.add_argument("--positions", type=commandline.positive, default=4096,
                        help="in the caches, the new one included; default: 4096")
    options = parser.parse_args()
    commandline.check_product(options)
    date = datetime.date.today().isoformat()
    lines = [
        "# Decoding one token",
        "",
        f"{report.cpu_name()}, {date}. {HEADS} heads of {FEATURES} features over {options.positions} positions, f32: the least of "
        f"{options.rounds} turns. Reading is that of as many bytes, by a program that does nothing else.",
        "",
        "| heads of keys | threads | keys and values | reading | decoding | ratio |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for groups in (12, 3):
            for threads in (1, 2):
                reading, decoding, size = measure(options.product, groups, options.positions, threads, options.rounds, folder)
                lines.append(f"| {groups} | {threads} | {size / 1e6:.0f} MB | {reading:.1f} ms, {size / reading / 1e6:.1f} GB/s | "
                             f"{decoding:.1f} ms | {decoding / reading:.2f} |")
                print(lines[-1], flush=True)
    if options.write:
        report.keep(commandline.results("decode", date) + ".md", "\n".join(lines) + "\n")


if __name__ == "__main__":
    commandline.run(main)
