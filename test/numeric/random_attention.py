#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attentions, compiled, against NumPy in double precision.

A combination of a score, a bias, a cap, a mask, a normaliser, a sink, groups of heads, results, an order of the axes and
sizes, of which some are known only when running. Several share a program. Of those that differ the spec is printed, and the
command that runs it alone: the seed and the numbers of spec and combination make it.
"""
import argparse
import sys

import numpy as np

from attention_math import INF
from attention_spec import Setting, problems, spec_of
from program import Failed, call
from random_formulas import Formulas

RETURNED = ["out", "lse", "weights", "scores(raw)", "scores(biased)", "scores(capped)"]


def sizes(rng):
    small = lambda *tails: int(rng.choice(tails))
    length = lambda: int(rng.choice([1, 2, 7, 15, 16, 17, 31, 48, 49, 64, 65, 97, 127, 131, 200, rng.integers(1, 330)]))
    G, E = small(1, 2, 3), small(1, 3, 8, 16, 17, 31, 33, 48, 64, 65)
    S = length() if rng.random() < 0.95 else 1024 + length()
    return dict(B=small(1, 2, 3), H=G * small(1, 2, 3), G=G, T=length(), S=S, E=E, F=small(1, 5, 8, 16, 17, 47, 48, 64, 65, 100),
                D=E + small(1, 5), R=small(1, 7, 16, 20))


def combination(rng, sizes, dynamic, name):
    """A case, whose tensors are its own."""
    one_of = lambda *choices: choices[rng.integers(len(choices))]
    weight = one_of("softmax", "softmax", "softmax", "sigmoid", "relu", "relu / n", "hardmax", "none")
    axes = one_of("BHT", "BHT", "BTH", "TBH", "HT", "TH", "BT", "T")
    own = bool(rng.random() < 0.5)
    keys = "".join(rng.permutation(list(axes.replace("T", "S"))))
    if own and rng.random() < 0.2:
        keys = keys.replace(one_of("B", "H"), "")
    if rng.random() < 0.3:
        keys = keys.replace("H", "G")
    formulas = Formulas(rng, sizes, axes, own, name)
    # Whole numbers have equal scores, of which hardmax takes the first.
    whole = weight == "hardmax" and rng.random() < 0.5
    kind = "dot" if whole else one_of(*Formulas.SCORES)
    score, raw = formulas.score(kind)
    lines, hooks = [f"score {score}"], {"raw": raw, "weight": weight}
    endless = weight != "none" and rng.random() < 0.3
    if rng.random() < 0.5 and not whole:
        text, hooks["bias"] = formulas.bias(2, endless)
        lines.append(f"bias {text}")
    if rng.random() < 0.2 and not whole:
        hooks["cap"] = float(one_of(1.5, 30))
        lines.append(f"cap {hooks['cap']}")
    if rng.random() < 0.7:
        text, hooks["live"] = formulas.mask(3)
        lines.append(f"mask {text}")
    returned = ["out"] + [what for what in RETURNED[1:] if rng.random() < 0.15 and (what != "lse" or weight == "softmax")]
    if weight == "softmax" and rng.random() < 0.3:
        text, hooks["sink"] = one_of(("0", 0.0), ("-0.5 * i", lambda p: -0.5 * p.i), ("-inf", -INF))
        lines.append(f"weight softmax(sink = {text})")
    elif weight != "softmax":
        lines.append(f"weight {weight}")
    setting = Setting(rng, sizes, dynamic, whole)
    tensors = {}
    if kind in ("bilinear", "reduced", "additive"):
        tensors["k"] = setting.normal(*setting.k.shape[:-1], sizes["D"])
    if weight in ("softmax", "sigmoid") and not endless and rng.random() < 0.15:
        tensors["v"] = setting.v.copy()
        for place in rng.integers(0, setting.v.shape, (3, 4)):
            tensors["v"][tuple(place)] = one_of(np.nan, INF, -INF)
    order = rng.permutation(len(returned))
    case = setting.attend("\n".join(lines), "\n".join(formulas.declarations), formulas.inputs, formulas.weights,
                          returns=tuple(returned[n] for n in order), axes=axes, keys=keys, own=own, **tensors, **hooks)
    case.name = name
    return setting, case


def draw(seed, number, count, only):
    """The head of a spec and its combinations."""
    rng = np.random.default_rng([seed, number])
    all_ = sizes(rng)
    # Queries whose number is not known take the compiler much longer than keys.
    dynamic = [name for name, share in [("B", 0.3), ("S", 0.3), ("T", 0.1)] if rng.random() < share]
    cases = [combination(np.random.default_rng([seed, number, n]), all_, dynamic, f"c{n}")
             for n in range(count) if only is None or n == only]
    return cases[0][0].head(), [case for _, case in cases]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--specs", type=int, default=1, help="how many")
    parser.add_argument("--spec", type=int, help="this one alone")
    parser.add_argument("--combinations", type=int, default=8, help="how many in a spec")
    parser.add_argument("--combination", type=int, help="this one alone")
    parser.add_argument("--verify", action="store_true", help="compare with the interpreter, too, on other inputs")
    options, flags = parser.parse_known_args()
    failures = count = 0
    for number in range(options.specs) if options.spec is None else [options.spec]:
        with np.errstate(all="ignore"):
            head, cases = draw(options.seed, number, options.combinations, options.combination)
            folder = f"{options.folder}/{number}"
            found = problems(folder, head, cases, flags)
        if options.verify and not found:
            try:
                call(["attn", "verify", f"{folder}/spec.attn", *flags])
            except Failed as failed:
                print(failed)
                failures += 1
        for name, problem in found.items():
            print(f"{problem}\n{spec_of(head, [case for case in cases if case.name == name])}"
                  f"  {sys.argv[0]} FOLDER --seed {options.seed} --spec {number} --combination {name[1:]} {' '.join(flags)}\n", flush=True)
        count += len(cases)
        failures += len(found)
    print(f"seed {options.seed}: {count - failures} passed, {failures} failed")
    sys.exit(1 if failures or not count else 0)


if __name__ == "__main__":
    main()
