#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the compiler makes of specs, as a table of hashes: run it before and after a change that should change nothing.
#
#   tools/outputs.py before.txt                  # assembly and PTX of all examples x levels x chips x precisions: 10 minutes
#   tools/outputs.py --quick before.txt [SPEC...]  # the code before LLVM optimises it: 2 minutes
#   tools/outputs.py --compare before.txt after.txt
#
# A line is `SPEC TARGET PRECISION HASH BYTES`; where the compiler refuses a combination, HASH is that of its message.
# `--keep DIR` writes the outputs themselves, too, so that `diff` can say what a difference is.
"""Hashes of the code of specs, to compare compilers with."""
import argparse
import concurrent.futures
import hashlib
import itertools
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ATTN = ROOT / "build/bin/attn"
PRECISIONS = ["f32", "bf16", "f16", "int8", "int8_groups", "int4", "int4_groups"]


def targets():
    """The levels and chips of this compiler, from its own help."""
    text = subprocess.run([ATTN, "compile", "--help"], capture_output=True, text=True, check=True).stdout
    line = next(line for line in text.splitlines() if line.strip().startswith("--target"))
    names = line.split("native (default), ")[1].split(";")[0]
    return names.replace(" or ", ", ").split(", ")


def compiled(spec, target, precision, quick, keep):
    """One line of the table."""
    gpu = target.startswith("sm_")
    kind = "ptx" if gpu else "llvm-ir" if quick else "asm"
    command = [ATTN, "compile", spec, f"--target={target}", f"--precision={precision}", f"--emit={kind}", "-o", "-"]
    if quick and gpu:
        command.append("-O0")
    run = subprocess.run(command, capture_output=True, cwd=ROOT)
    output = run.stdout if run.returncode == 0 else run.stderr
    if keep:
        name = f"{str(spec).replace('/', '_')}.{target}.{precision}"
        (keep / name).write_bytes(output)
    digest = hashlib.sha256(output).hexdigest()[:16]
    return f"{spec} {target} {precision} {digest} {len(output)}{'' if run.returncode == 0 else ' refused'}"


def write(options):
    """The table of all combinations, written in their order."""
    examples = sorted((ROOT / "examples").glob("*/*.attn"))
    specs = options.specs or [path.relative_to(ROOT) for path in examples]
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    combinations = itertools.product(specs, options.targets.split(",") if options.targets else targets(), PRECISIONS)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        lines = pool.map(lambda one: compiled(*one, options.quick, options.keep), combinations)
        options.table.write_text("".join(line + "\n" for line in lines))


def read(path):
    """A table: the rest of a line by its combination."""
    rows = {}
    for line in path.read_text().splitlines():
        spec, target, precision, *rest = line.split()
        rows[spec, target, precision] = rest
    return rows


def compare(before, after):
    """Print what differs; whether nothing does. Combinations that only one table has are told, and differ not."""
    old, new = read(before), read(after)
    common = old.keys() & new.keys()
    different = sorted(key for key in common if old[key] != new[key])
    for key in different:
        print(*key, "bytes", old[key][1], "->", new[key][1])
    print(f"{len(common)} outputs in both tables, {len(different)} differ; "
          f"{len(old.keys() - common)} only in the first, {len(new.keys() - common)} only in the second")
    return not different


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compare", action="store_true", help="two tables instead of writing one")
    parser.add_argument("--quick", action="store_true", help="LLVM's text before its optimisation, PTX by -O0")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the outputs themselves")
    parser.add_argument("--targets", help="levels and chips, joined by commas; all that there are")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("specs", nargs="*", type=pathlib.Path, help="specs, or the second table")
    options = parser.parse_args()
    if options.compare:
        if len(options.specs) != 1:
            parser.error("--compare takes two tables")
        return 0 if compare(options.table, options.specs[0]) else 1
    write(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
