# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the files of compiler/, dialect/, runtime/ and tools/ that have no head, and the declarations in headers that have
no comment, and fails where one is no known exception.

usage: comments.py SOURCE KNOWN

A head is a comment behind the line of the licence that says what the file turns into what. Functions, methods, types,
aliases and constants need a comment: `///` above, or above the run of declarations that they stand in without an empty
line between, or `///<` behind. Constructors, operators, `classof`, overrides, data members and a class's short names `Value` and `Values` need none: the comment of the type
speaks for them. In C headers, `/*` counts as `///` does.

KNOWN lists exceptions, a line each, "head NAME" or "declarations NAME", where NAME is that of a file without its folder; "#"
begins a comment. It only gets shorter: an entry without a cause is stale, and fails. The exit code is 1 after a failure.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOTS = ("compiler", "dialect", "runtime", "tools")
SOURCES = (".c", ".cpp", ".h")
CTAGS = ["ctags", "--languages=C++", "--langmap=C++:+.h", "--output-format=json", "--fields=+neKsSat", "--c++-kinds=+p",
         "--sort=no", "-f", "-", "-R", *ROOTS]
KINDS = ("prototype", "function", "struct", "class", "union", "enum", "typedef", "variable")


def has_head(lines):
    """Whether a comment of words follows the licence, or is its further lines."""
    first = next((number for number, line in enumerate(lines) if "SPDX" not in line), 0)
    for line in lines[first:]:
        if not re.match(r"\s*(//|/?\*)", line):
            return False
        if re.search(r"\w", line):
            return True
    return False


def read_tags(source):
    """The declarations in headers that need a comment, as ctags sees them."""
    output = subprocess.run(CTAGS, cwd=source, check=True, capture_output=True, text=True).stdout
    tags = [json.loads(line) for line in output.splitlines()]
    structs = {(tag["path"], tag["name"]): tag["line"] for tag in tags if tag["name"].startswith("__anon")}
    for tag in tags:
        if tag["kind"] not in KINDS or not tag["path"].endswith(".h") or tag["name"].startswith("__anon"):
            continue
        if tag["name"] == tag.get("scope", "").split("::")[-1] or tag["name"].startswith(("~", "operator", "classof")):
            continue
        if tag["kind"] == "typedef" and tag["name"] in ("Value", "Values"):
            continue
        if tag["kind"] == "typedef" and "__anon" in tag.get("typeref", ""):
            tag["line"] = structs[tag["path"], tag["typeref"].split(":", 1)[1]]
        yield tag


def statement_end(lines, begin):
    """The line in which the declaration that begins at `begin` ends, or its body begins."""
    for number in range(begin, len(lines)):
        if re.search(r"[;{]\s*(///?<?.*|/\*.*)?$", lines[number]):
            return number
    return begin


def is_commented(lines, tag):
    begin = tag["line"] - 1
    end = statement_end(lines, begin)
    text = " ".join(lines[begin : end + 1])
    if re.search(r"///<|/\*|\boverride\b|=\s*(delete|default)\s*;", text):
        return True
    if end + 1 < len(lines) and lines[end + 1].lstrip().startswith("///<"):
        return True
    for line in reversed(lines[:begin]):
        stripped = line.strip()
        if stripped.startswith("///") or stripped.endswith("*/"):
            return True
        if not stripped or re.match(r"(public|private|protected):|#|//", stripped) or re.search(r"\b(struct|class|enum|namespace|union)\b[^;]*\{$", stripped):
            return False
    return False


def find(source):
    """{("head" or "declarations", file): [what is missing]}"""
    missing = collections.defaultdict(list)
    for root in ROOTS:
        for path in sorted((source / root).rglob("*")):
            if path.suffix in SOURCES and not has_head(path.read_text().split("\n")):
                missing["head", str(path.relative_to(source))].append("no head")
    texts = {}
    for tag in read_tags(source):
        file = tag["path"]
        if file not in texts:
            texts[file] = (source / file).read_text().split("\n")
        if not is_commented(texts[file], tag):
            scope = tag["scope"] + "::" if "scope" in tag and tag.get("scopeKind") != "namespace" else ""
            missing["declarations", file].append(f"{file}:{tag['line']}: {tag['kind']} {scope}{tag['name']} has no comment")
    return missing


def read_known(path):
    lines = (line.split("#")[0].split() for line in path.read_text().splitlines())
    return {tuple(words) for words in lines if words}


def main():
    source, known = pathlib.Path(sys.argv[1]), read_known(pathlib.Path(sys.argv[2]))
    missing = find(source)
    problems = []
    for (kind, file), found in sorted(missing.items()):
        if (kind, pathlib.Path(file).name) not in known:
            problems += [f"{file}: no head"] if kind == "head" else found
    causes = {(kind, pathlib.Path(file).name) for kind, file in missing}
    problems += [f"stale exception: {kind} {name}" for kind, name in sorted(known - causes)]
    print("\n".join(problems) if problems else f"{len(known)} known exceptions, no others")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
