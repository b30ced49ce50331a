# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the ten longest files, and the ten longest functions and the ten classes with most methods of compiler/, dialect/, runtime/
and tools/, as universal-ctags sees them, and fails where one is above the limit and no known exception, and where a file has another
habit than the rest of the house (HABITS).

usage: sizes.py SOURCE KNOWN

SOURCE is the root of the sources. KNOWN lists what is above a limit today, a line each, "file PATH", "function NAME" or
"class NAME", names without namespaces; "#" begins a comment. It only gets shorter: an entry that nothing above the limit bears is
stale, and fails. The exit code is 1 after a failure.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOTS = ("compiler", "dialect", "runtime", "tools")

# Lines of a function from its name to its last brace; methods that a class declares, inherited ones left out.
LIMITS = {"file": 500, "function": 80, "class": 40}
UNITS = {"file": "lines", "function": "lines", "class": "methods"}
FILE_ROOTS = (*ROOTS, "examples", "test")
SOURCES = (".cpp", ".c", ".h", ".td", ".def", ".py")

# What files write in one way: those below a root whose names end so, an expression that none of them may match, and what to write.
HABITS = (
    ("", ".h", r"\A(?!(.|\n)*^#pragma once$)", "`#pragma once`"),
    ("", (".h", ".cpp"), r"\bconst(expr)?\b[^;(){}\n=]* k[A-Z]\w*(\[\w*\])* ?[={]", "a constant without `k` in front: `maxDepth`"),
    ("tools/", (".h", ".cpp"), r"\bformatv\(|\bsnprintf\(|\bstringstream\b", "`fmt::format`"),
)

CTAGS = ["ctags", "--languages=C,C++", "--langmap=C++:+.h", "--output-format=json", "--fields=+neKsS", "--c++-kinds=+p",
         "--sort=no", "-f", "-", "-R", *ROOTS]


def read_tags(source):
    """What ctags finds, one dictionary for each definition or declaration."""
    output = subprocess.run(CTAGS, cwd=source, check=True, capture_output=True, text=True).stdout
    return [tag for tag in map(json.loads, output.splitlines()) if "end" in tag or tag["kind"] == "prototype"]


def name_of(tag, namespaces):
    """The name with its classes, without namespaces, named or not."""
    parts = tag.get("scope", "").split("::") if tag.get("scope") else []
    return "::".join([part for part in parts if part not in namespaces and not part.startswith("__anon")] + [tag["name"]])


def measure(tags):
    """Functions and classes as (size, name, "PATH:LINE"), by kind."""
    namespaces = {part for tag in tags if tag["kind"] == "namespace" for part in tag["name"].split("::")}
    # A method is declared between the braces of its class, a definition in a .cpp file is that of one declared there.
    members = collections.defaultdict(list)
    for tag in tags:
        if tag["kind"] in ("function", "prototype") and tag.get("scopeKind") in ("class", "struct"):
            members[tag["path"], tag["scope"]].append(tag["line"])
    found = {"function": [], "class": []}
    for tag in tags:
        place, name = f"{tag['path']}:{tag['line']}", name_of(tag, namespaces)
        if tag["kind"] == "function":
            found["function"].append((tag["end"] - tag["line"] + 1, name, place))
        elif tag["kind"] in ("class", "struct"):
            scope = f"{tag['scope']}::{tag['name']}" if "scope" in tag else tag["name"]
            lines = members[tag["path"], scope]
            found["class"].append((sum(tag["line"] <= line <= tag["end"] for line in lines), name, place))
    return found


def read_files(source):
    """Files as (lines, path, path), and what is wrong with the guards of headers."""
    sizes, problems = [], []
    for path in sorted(path for root in FILE_ROOTS for path in (source / root).rglob("*") if path.suffix in SOURCES):
        text, name = path.read_text(), str(path.relative_to(source))
        sizes.append((text.count("\n"), name, name))
        for root, suffixes, other, habit in HABITS:
            if name.startswith(root) and name.endswith(suffixes) and (found := re.search(other, text, re.MULTILINE)):
                problems.append(f"{name}:{text.count(chr(10), 0, found.start()) + 1}: expected {habit}")
    return sizes, problems


def read_known(path):
    lines = (line.split("#")[0].split(None, 1) for line in path.read_text().splitlines())
    return {(kind, name.strip()) for kind, name in filter(None, lines)}


def main():
    source, known = pathlib.Path(sys.argv[1]), read_known(pathlib.Path(sys.argv[2]))
    files, problems = read_files(source)
    above = set()
    for kind, sizes in {"file": files, **measure(read_tags(source))}.items():
        sizes.sort(key=lambda entry: (-entry[0], entry[2]))
        print(f"largest of kind {kind}, in {UNITS[kind]} (limit {LIMITS[kind]}):")
        for size, name, place in sizes[:10]:
            print(f"  {size:4} {name} ({place})")
        for size, name, place in sizes:
            if size > LIMITS[kind]:
                above.add((kind, name))
                if (kind, name) not in known:
                    problems.append(f"{place}: {kind} {name} has {size} {UNITS[kind]}, at most {LIMITS[kind]} are allowed")
    problems += [f"stale exception: no {kind} {name} is above the limit" for kind, name in sorted(known - above)]
    print("\n".join(problems) if problems else f"{len(known)} known exceptions, no others")
    sys.exit(bool(problems))


main()
