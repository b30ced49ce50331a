# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a plan in compiled code and in the evaluator, and compares every result.

The bound is a relative L2 norm of 1e-5 for results of f32: a sum of a few hundred products in f32 is off by about 1e-7 of
its parts, and a few such operations lie behind each other. A result that is a small difference of large numbers may be off by
more: where the evaluator itself, run again with each operation rounded to f32, is off by d, the bound is the larger of
1e-5 and 20 d. A cache of f16 or bf16 rounds up where f64 rounds down now and then: half the distance of two of its
numbers is the bound then. Results of f16 and bf16 are rounded once more, by at most 2^-11 and 2^-8 of each element. Integers and
truth values are equal, and so are the bits of all results on 1, 2 and 5 threads.
"""
import numpy as np

from values import Precision
from weights import rounded

BOUND = 1e-5
ROUNDING = {"f32": 0.0, "f16": 2.0 ** -11, "bf16": 2.0 ** -8}
THREADS = (1, 2, 5)


class Difference(Exception):
    """Compiled code gives something else: what, where and by how much."""


def arrays_of(step):
    """The inputs as the evaluator takes them: f16 and bf16 as the numbers that they are."""
    made = {}
    for name, (dtype, array) in step.inputs.items():
        made[name] = rounded(array, dtype) if dtype in ("f16", "bf16") else array
    return made


def evaluate(model, steps):
    """Of each step {result: Tensor}. `rounds` of Precision may be set."""
    caches = {}
    return [model.run(step.entry, arrays_of(step), caches) for step in steps]


def expected(model, steps):
    """[{result: (array, bound)}], and whether all results are as sure as the bound says."""
    Precision.fragile.clear()
    exact = evaluate(model, steps)
    is_fragile = bool(Precision.fragile)
    Precision.rounds = True
    try:
        rough = evaluate(model, steps)
    finally:
        Precision.rounds = False
    wanted = []
    for step, right, near in zip(steps, exact, rough):
        entry, _, _ = model.entry_of(step.entry)
        results = {}
        for (name, tensor), (_, type_) in zip(right.items(), entry.results):
            bound = 0.0
            if tensor.dtype == "f32":
                least = max([BOUND] + [ROUNDING[item.dtype] / 2 for item in model.items if item.kind == "cache"])
                bound = max(least, 20 * relative(near[name].data, tensor.data)) + ROUNDING[type_.dtype]
                is_fragile |= bound > 0.05
            results[name] = tensor.data, bound, type_.dtype
        wanted.append(results)
    return wanted, is_fragile


def relative(found, right):
    """The L2 norm of the difference over that of what is right; infinities have to be equal."""
    found, right = np.asarray(found, float), np.asarray(right, float)
    endless = np.isinf(right)
    if not np.array_equal(endless, np.isinf(found)) or not np.array_equal(right[endless], found[endless]):
        return np.inf
    with np.errstate(invalid="ignore"):
        difference = np.where(endless, 0, found - right)
    norm = np.linalg.norm(np.where(endless, 0, right))
    error = np.linalg.norm(difference)
    if not np.isfinite(error):
        return np.inf
    return error / norm if norm > 0 else float(error > 0) * np.inf if error > 0 else 0.0


def compare(library, steps, wanted, threads=THREADS):
    """Raises Difference where compiled code gives other results, or other bits on another number of threads."""
    before = None
    for count in threads:
        context = library.context(count)
        try:
            bits = []
            for step, results in zip(steps, wanted):
                outputs = context.run(step.entry, list(step.inputs.values()), [dtype for _, _, dtype in results.values()])
                for output, (name, (right, bound, dtype)) in zip(outputs, results.items()):
                    check(step, name, output, right, bound, dtype, count)
                    bits.append((step, name, output.tobytes()))
        finally:
            context.close()
        if before is not None:
            for (step, name, one), (_, _, other) in zip(before[1], bits):
                if one != other:
                    raise Difference(f"{where(step)}: `{name}` has other bits on {count} threads than on {before[0]}")
        before = before or (count, bits)


def where(step):
    sizes = " ".join(f"{dim} = {size}" for dim, size in step.sizes.items())
    return f"entry {step.entry} {sizes}".strip()


def check(step, name, output, right, bound, dtype, threads):
    if output.shape != right.shape:
        raise Difference(f"{where(step)}: `{name}` has shape {output.shape}, right is {right.shape}")
    if dtype not in ROUNDING:
        if not np.array_equal(output, right):
            count = np.sum(output != right)
            raise Difference(f"{where(step)}: `{name}` differs in {count} of {right.size} {dtype}, threads {threads}")
        return
    error = relative(output, right)
    if not error <= bound:
        worst = np.unravel_index(np.argmax(np.nan_to_num(np.abs(output - right), nan=np.inf)), right.shape)
        raise Difference(f"{where(step)}: `{name}` {list(right.shape)} differs by {error:.2e} (relative L2, bound {bound:.1e}), most at "
                         f"{[int(n) for n in worst]}: {output[worst]:.6g}, right is {right[worst]:.6g}; threads {threads}")
