#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled specs against an evaluator that was written from the language's manual alone.

    run_specs.py FOLDER --seeds 0:300              generated specs; FOLDER gets what a failing one consists of
    run_specs.py FOLDER --seeds 17 --all           one of them, with every lowering of attention
    run_specs.py FOLDER --spec a.attn b.attn       specs of yours, with random weights and inputs
    run_specs.py FOLDER --spec a.attn --range ids=0:50 --weights w.safetensors --config config.json --set D=8

Exit codes: 0 all results agree, 1 some differ or a spec is refused, 2 usage.
"""
import argparse
import os
import shutil
import sys
import time

from cases import Case, isolated
from compiled import machine_levels
from generator import generate

LOWERINGS = ("auto", "strip", "online", "unfused")


def seeds_of(text):
    begin, _, end = text.partition(":")
    return range(int(begin), int(end) if end else int(begin) + 1)


def configurations(number, options):
    """(level, lowering) of a case: one of each by its number, so that all meet, or all."""
    levels = [options.level] if options.level else machine_levels()
    lowerings = [options.lowering] if options.lowering else LOWERINGS
    every = [(level, lowering) for level in levels for lowering in lowerings]
    if options.all:
        return every
    if options.some:
        return [every[(3 * number + part * len(every) // options.some) % len(every)] for part in range(options.some)]
    return [(levels[number // len(lowerings) % len(levels)], lowerings[number % len(lowerings)])]


def read_range(text):
    name, _, span = text.partition("=")
    low, _, high = span.partition(":")
    return name, (int(low), int(high))


def cases_of(options):
    """(title, command that runs it again, number, function that makes the case in a folder)"""
    here = os.path.relpath(__file__)
    if options.seeds:
        for seed in seeds_of(options.seeds):
            yield (f"seed {seed}", f"{here} FOLDER --seeds {seed}", seed,
                   lambda folder, seed=seed: generate(seed).write(folder, seed))
    settings = dict(item.split("=") for item in options.set)
    for number, spec in enumerate(options.spec):
        case = Case(spec, ranges=dict(map(read_range, options.range)), weights=options.weights, config=options.config,
                    settings={name: int(value) for name, value in settings.items()}, plans=options.plans,
                    dtypes=("F32",))
        others = [word for word in sys.argv[2:] if word not in options.spec or word == spec]
        yield (spec, f"{here} FOLDER {' '.join(others)}", options.seed + number,
               lambda folder, case=case: case.in_folder(folder, options.seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="where specs, weights and libraries are written")
    parser.add_argument("--seeds", help="N or BEGIN:END")
    parser.add_argument("--spec", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=0, help="of the weights and inputs of --spec")
    parser.add_argument("--range", nargs="*", default=[], help="NAME=LOW:HIGH of an input of whole numbers")
    parser.add_argument("--weights")
    parser.add_argument("--config")
    parser.add_argument("--set", nargs="*", default=[])
    parser.add_argument("--plans", type=int, default=2, help="calls of each entry")
    parser.add_argument("--attn", default="attn")
    parser.add_argument("--level", help="default: those of this machine in turn")
    parser.add_argument("--lowering", choices=LOWERINGS, help="default: all in turn")
    parser.add_argument("--all", action="store_true", help="each case on all levels with all lowerings")
    parser.add_argument("--some", type=int, metavar="N", help="each case on N of these pairs, others from case to case")
    parser.add_argument("--keep", action="store_true", help="keep the folders of what agrees, too")
    parser.add_argument("-O", help="of the compiler; default: 0, and 3 for a case in eight, which takes twice as long")
    options = parser.parse_args()
    if not options.seeds and not options.spec:
        parser.error("--seeds or --spec is needed")
    began, passed, failed = time.time(), 0, 0
    for title, command, number, make in cases_of(options):
        folder = os.path.join(options.folder, title.replace(" ", "-").replace("/", "_").removesuffix(".attn"))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        optimised = options.O or ("3" if number // 16 % 8 == number % 8 else "0")
        problem = isolated(make, folder, configurations(number, options), options.attn, optimised)
        if problem:
            failed += 1
            print(f"FAILED {title}: {problem}\n  spec: {folder}/spec.attn\n  again: {command}\n", flush=True)
        else:
            passed += 1
            if not options.keep:
                shutil.rmtree(folder)
    print(f"{passed} passed, {failed} failed, {time.time() - began:.0f} s")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
