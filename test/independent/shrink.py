#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a failing spec smaller: drops lines, and puts the operands of a `let` in its place, as long as it fails alike.

    shrink.py FOLDER SPEC [--command "attn compile {} --emit=fused -o /dev/null" --exit 70]

FOLDER/spec.attn is the smallest spec found; used files are copied beside it and made smaller, too. Without --command a spec
fails alike where the compiled results differ from the evaluator's; with it, where the command exits so.
"""
import argparse
import os
import re
import shutil
import subprocess

from cases import Case, isolated
from compiled import machine_levels


def fails(folder, options):
    spec = os.path.join(folder, "spec.attn")
    if options.command:
        done = subprocess.run(options.command.replace("{}", spec), shell=True, capture_output=True, text=True)
        return done.returncode == options.exit
    ranges = {}
    for item in options.range:
        name, span = item.split("=")
        ranges[name] = tuple(map(int, span.split(":")))
    config = os.path.join(folder, "config.json")
    case = Case(spec, ranges=ranges, config=config if os.path.exists(config) else None)
    configurations = [(machine_levels()[-1], options.lowering)]
    problem = isolated(lambda folder: case.in_folder(folder, 0), folder, configurations, options.attn, options.O)
    return bool(problem) and any(word in problem for word in ("differs by", "other bits", "differs in", "a crash", "has shape"))


# What a line may do without: flags and bindings, lines of an attention, parameters, statics, last items.
DROPPED = (r" bias if [^=@]*(?=$| =| @)", r" @conv1d", r"  (score|bias|mask|weight|cap) [^{}]*?(?=  | \})", r" eps \S+",
           r", \w+: [^,\[\]]*\[[^\]]*\](?=\))", r' = ".*"', r"; [^)]*(?=\))", r" (and|or) [^{}]*?(?=  | \})", r", [^,]*$")


def candidates(lines):
    """Lists of lines, each a little smaller."""
    count = max(len(lines) // 2, 1)
    while count:
        for begin in range(0, len(lines), count):
            yield lines[:begin] + lines[begin + count:]
        count //= 2
    for n, line in enumerate(lines):
        let = re.match(r"\s*let (\w+) = (.*)", line)
        if let:
            for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", let.group(2))):
                yield [re.sub(rf"\b{let.group(1)}\b", name, other) for other in lines[:n] + lines[n + 1:]]
        for pattern in DROPPED:
            for match in re.finditer(pattern, line):
                yield lines[:n] + [line[:match.start()] + line[match.end():]] + lines[n + 1:]


def shrink(folder, file, options):
    path = os.path.join(folder, file)
    lines = open(path).read().rstrip("\n").split("\n")
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in candidates(lines):
            with open(path, "w") as out:
                out.write("\n".join(smaller) + "\n")
            if fails(folder, options):
                lines, is_smaller = smaller, True
                print(f"{file}: {len(lines)} lines", flush=True)
                break
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("spec")
    parser.add_argument("--command")
    parser.add_argument("--exit", type=int, default=70)
    parser.add_argument("--range", nargs="*", default=[])
    parser.add_argument("--lowering", default="auto")
    parser.add_argument("--attn", default="attn")
    parser.add_argument("-O", default="0")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    shutil.copy(options.spec, os.path.join(options.folder, "spec.attn"))
    beside = os.path.dirname(os.path.abspath(options.spec))
    files = [name for name in os.listdir(beside) if name.startswith("used") or name == "config.json"]
    for name in files:
        shutil.copy(os.path.join(beside, name), options.folder)
    if not fails(options.folder, options):
        parser.error("the spec does not fail")
    for name in ["spec.attn"] + [name for name in files if name.endswith(".attn")]:
        shrink(options.folder, name, options)
    print(open(os.path.join(options.folder, "spec.attn")).read())


if __name__ == "__main__":
    main()
