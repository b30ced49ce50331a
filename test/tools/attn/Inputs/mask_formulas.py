# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random masks: what `attn explain` says of them as formulas, written into a spec, gives the same verdicts. Usage: mask_formulas.py SEED FOLDER"""
import json
import random
import subprocess
import sys

seed, folder = int(sys.argv[1]), sys.argv[2]
random.seed(seed)
COUNT = 60


def number(depth):
    """A whole number."""
    if depth == 0:
        return random.choice(["i", "j", "i", "j", "h", "T", "N", "P", str(random.randint(0, 40))])
    a, b, size = number(depth - 1), number(depth - 1), random.choice(["3", "16", "N"])
    return random.choice([f"{a} + {b}", f"{a} - ({b})", f"({a}) * {random.randint(1, 3)}", f"({a}) % {size}", f"floor(({a}) / {size})",
                          f"min({a}, {b})", f"max({a}, {b})", f"abs({a})", f"-({a})", f"(if {random.choice('ij')} < {random.randint(0, 150)} then {a} else {b})"])


def truth(depth):
    """A truth value."""
    if depth == 0:
        compared = random.choice(["==", "!=", "<", "<=", ">", ">="])
        real = random.choice(["", "", " / 7", " * 0.5"])
        return f"{number(random.randint(0, 2))}{real} {compared} {number(random.randint(0, 2))}"
    a, b = truth(depth - 1), truth(depth - 1)
    return random.choice([f"({a}) and ({b})", f"({a}) or ({b})", f"not ({a})", "causal", f"window({random.randint(0, 60)}, 4) and ({a})", f"(if {a} then {b} else causal)"])


def explain(masks, name):
    """The facts of an attention under each mask. T is known when running, N when compiling; P is a static of a block."""
    path = f"{folder}/{name}.attn"
    with open(path, "w") as spec:
        spec.write("attn 1\nmodel Masks {\n  dim N = 24, H = 2, E = 16, P = 5\n  dyn T <= 200\n")
        for at, mask in enumerate(masks):
            spec.write(f"  entry e{at}(q: [H, T, E], k: [H, T, E], v: [H, T, E]) -> [H, T, E] = attend q over k, v along T as S {{ mask {mask} }}\n")
        spec.write("}\n")
    run = subprocess.run(["attn", "explain", path, "--target=x86-64-v3", "--json", "--set-size=T=150"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    kernels = json.loads(run.stdout)["targets"][0]["kernels"]
    return {kernel["function"].split(".")[0]: kernel["facts"] for kernel in kernels if kernel["facts"]["kind"] == "attention"}


masks = [truth(random.randint(0, 2)) for _ in range(COUNT)]
facts = explain(masks, "written")
formulas = {name: fact["formula"]["mask"] for name, fact in facts.items() if "mask" in fact}
assert all("formula" in fact for fact in facts.values() if "mask" in fact)
again = explain([formulas.get(f"e{at}", mask) for at, mask in enumerate(masks)], "printed")
judged = 0
for name, fact in facts.items():
    if formulas.get(name) == "true":  # which the front end takes for no mask
        continue
    mask, other = masks[int(name[1:])], again[name]
    assert fact.get("verdicts") == other.get("verdicts"), (mask, formulas[name], fact.get("verdicts"), other.get("verdicts"))
    judged += "verdicts" in fact
print(f"{len(formulas)} formulas, {judged} judged")
assert len(formulas) > COUNT // 2 and judged > COUNT // 2
