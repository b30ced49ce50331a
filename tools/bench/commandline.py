# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the command lines of the benchmarks have in common."""
import argparse
import os
import sys

import report
from engines import ROOT
from failure import ENVIRONMENT, Failure


def parser(description, rounds):
    """With --rounds, --product and --write."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=positive, default=rounds, help=f"turns of each; default: {rounds}")
    options.add_argument("--product", default=os.path.join(ROOT, "build", "bin", "attn"), metavar="PATH",
                         help="the compiler; default: build/bin/attn")
    options.add_argument("--write", action="store_true", help="keep the table under results/")
    return options


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("expected a number from 1 on")
    return int(text)


def numbers(text):
    """Of a list with commas between."""
    return [positive(word) for word in text.split(",")]


def check_product(options):
    if not os.access(options.product, os.X_OK):
        raise Failure(ENVIRONMENT, f"{options.product} is not there; tools/build.sh builds it")


def results(name, date):
    """The path, less its ending, of a table measured on this machine."""
    stem = "-".join([name] * bool(name) + [report.file_name(report.cpu_name(), date)])
    return os.path.join(ROOT, "tools", "bench", "results", stem)


def run(main):
    """Runs a program to its exit code."""
    try:
        main()
    except Failure as failure:
        print(f"{os.path.basename(sys.argv[0])}: error: {failure}", file=sys.stderr)
        sys.exit(failure.code)
    except KeyboardInterrupt:
        sys.exit(130)
