#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times attention under masks against its length: masks.attn with full, causal, window and document masks, in turns.

Exit codes: 0 measured, 1 wrong input, 2 usage, 4 something is missing here.
"""
import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile

import report
from engines import ROOT
from failure import ENVIRONMENT, Failure

SPEC = os.path.join(ROOT, "tools", "bench", "masks.attn")
ENTRIES = ("full", "causally", "windows", "documents")


def run(*words):
    result = subprocess.run(words, capture_output=True, text=True)
    if result.returncode:
        raise Failure(result.returncode, result.stderr.strip())
    return result.stdout


def measure(product, length, threads, rounds, folder):
    """The least milliseconds of each entry at this length."""
    model = os.path.join(folder, "masks")
    run(product, "compile", SPEC, f"--set=T={length}", "-o", model)
    best = {}
    for _ in range(rounds):
        for entry in ENTRIES:
            line = run(product, "bench", model, "--entry", entry, "--threads", str(threads), "--repeat", "2", "--json")
            time = json.loads(line)["minimum_ms"]
            best[entry] = min(time, best.get(entry, time))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384", help="default: 1024 to 16384")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each; default: 3")
    parser.add_argument("--product", default=os.path.join(ROOT, "build", "bin", "attn"), help="the compiler")
    parser.add_argument("--write", action="store_true", help="keep the table under results/")
    options = parser.parse_args()
    if not os.access(options.product, os.X_OK):
        raise Failure(ENVIRONMENT, f"`{options.product}` is not here: build it with tools/build.sh")
    date = datetime.date.today().isoformat()
    lines = [
        "# Attention under masks",
        "",
        f"{report.cpu_name()}, {options.threads} threads, {date}. 12 heads of 64 features, f32, milliseconds: the least of "
        f"{options.rounds} turns. In brackets: the part of the time without a mask.",
        "",
        "| length | full | causal | window of 256, causal | eight documents |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for length in (int(word) for word in options.lengths.split(",")):
            best = measure(options.product, length, options.threads, options.rounds, folder)
            cells = [f"{best['full']:.1f}"] + [f"{best[e]:.1f} ({best[e] / best['full']:.2f})" for e in ENTRIES[1:]]
            lines.append(f"| {length} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    if options.write:
        path = os.path.join(ROOT, "tools", "bench", "results", "masks-" + report.file_name(report.cpu_name(), date) + ".md")
        with open(path + ".tmp", "w") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(path + ".tmp", path)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"masks.py: error: {failure}", file=sys.stderr)
        sys.exit(failure.code)
