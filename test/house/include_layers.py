# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the `#include "..."` lines of compiler/, dialect/, runtime/ and tools/, and fails where folders include each
other in a circle, or where a file of the runtime includes one of a layer above its own. A folder is a directory, but sema
with all below it is the front end's: its walk is recursive. What does not lie in one of the four (LLVM, generated files) is
left out.

usage: include_layers.py SOURCE KNOWN

SOURCE is the root of the sources. KNOWN lists the includes that close circles of folders today, a line "FROM TO" each;
"#" begins a comment. Without these includes there is no circle. An entry that is not there any more, or closes no
circle, is stale, and fails until it is deleted. Prints each violation with the includes that make it; the exit code is 1
where there is one.
"""
import collections
import pathlib
import re
import sys

# What counts as a part of another folder, with all below it.
PARTS = {"compiler/frontend/sema": "compiler/frontend"}

ROOTS = ("compiler", "dialect", "runtime", "tools")

# The layers of the runtime: what a file of a folder may include besides its own folder and runtime/include.
LAYERS = {
    "base": (),
    "io": ("base",),
    "weights": ("base", "io"),
    "cuda": ("base",),
    "text": ("base", "io"),
    "run": ("base", "io", "weights", "cuda"),
    "schedule": ("base", "io", "weights", "cuda", "run"),
    "session": ("base", "io", "text", "weights", "cuda", "run", "schedule"),
    "main": ("base", "io", "weights", "cuda", "run"),
    "serve": ("base", "io", "text", "weights", "cuda", "run", "main"),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def find(source, file, name):
    """The path of an included file below `source`, or None: beside its includer, or in the folders of -I."""
    for folder in (file.parent, source, source / "runtime", source / "runtime" / "include"):
        path = (folder / name).resolve()
        if path.is_file() and source in path.parents:
            return path.relative_to(source)
    return None


def folder_of(file):
    folder = str(file.parent)
    for part, whole in PARTS.items():
        if folder == part or folder.startswith(part + "/"):
            return whole
    return folder


def read_includes(source):
    """{(folder, included folder): ["FILE includes FILE", ...]}, of different folders below ROOTS."""
    edges = collections.defaultdict(list)
    for root in ROOTS:
        for file in sorted((source / root).rglob("*")):
            if file.suffix not in (".c", ".cpp", ".h"):
                continue
            for name in INCLUDE.findall(file.read_text()):
                target = find(source, file, name)
                if target is None or target.parts[0] not in ROOTS:
                    continue
                own = file.relative_to(source)
                if folder_of(own) != folder_of(target):
                    edges[folder_of(own), folder_of(target)].append(f"{own} includes {target}")
    return edges


def circles_of(edges):
    """Sets of folders each of which reaches all others of its set (Tarjan's components of more than one folder)."""
    targets = collections.defaultdict(list)
    for begin, end in edges:
        targets[begin].append(end)
    index, low, stack, circles = {}, {}, [], []

    def visit(folder):
        index[folder] = low[folder] = len(index)
        stack.append(folder)
        for target in targets[folder]:
            if target not in index:
                visit(target)
            if target in stack:
                low[folder] = min(low[folder], low[target])
        if low[folder] == index[folder]:
            at = stack.index(folder)
            if len(stack) - at > 1:
                circles.append(set(stack[at:]))
            del stack[at:]

    for folder in sorted(targets):
        if folder not in index:
            visit(folder)
    return circles


def layer_of(folder):
    """The layer of a folder of the runtime; None where it has none, as what all may include."""
    parts = pathlib.PurePath(folder).parts
    return parts[1] if parts[0] == "runtime" and len(parts) > 1 and parts[1] != "include" else None


def check_layers(edges):
    problems = []
    for (begin, end), includes in sorted(edges.items()):
        lower, upper = layer_of(begin), layer_of(end)
        if lower and lower not in LAYERS:
            problems.append(f"{begin}: no layer of the runtime")
        elif lower and (upper and upper not in (lower, *LAYERS[lower]) or not end.startswith("runtime")):
            problems += [f"upwards: {include}" for include in includes]
    return problems


def check_circles(edges, known):
    problems = []
    whole = circles_of(edges)
    for begin, end in sorted(known):
        if (begin, end) not in edges:
            problems.append(f"stale exception: {begin} does not include {end}")
        elif not any({begin, end} <= circle for circle in whole):
            problems.append(f"stale exception: {begin} includes {end}, but that closes no circle")
    rest = {edge: includes for edge, includes in edges.items() if edge not in known}
    for circle in circles_of(rest):
        problems.append("circle: " + ", ".join(sorted(circle)))
        for (begin, end), includes in sorted(rest.items()):
            if begin in circle and end in circle:
                problems += [f"  {include}" for include in includes[:3]]
                if len(includes) > 3:
                    problems.append(f"  and {len(includes) - 3} more from {begin} to {end}")
    return problems


def read_known(path):
    return {tuple(line.split("#")[0].split()) for line in path.read_text().splitlines() if line.split("#")[0].strip()}


def main():
    source, known = pathlib.Path(sys.argv[1]).resolve(), read_known(pathlib.Path(sys.argv[2]))
    edges = read_includes(source)
    problems = check_layers(edges) + check_circles(edges, known)
    print("\n".join(problems) if problems else f"{len(known)} known exceptions, no circles, no includes upwards")
    sys.exit(bool(problems))


main()
