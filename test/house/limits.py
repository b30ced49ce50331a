#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds each row of the limits in SECURITY.md against the constants that it names.

usage: limits.py REPOSITORY"""
import re
import sys

UNITS = {"": 1, "B": 1, "MiB": 1 << 20}


def value_of(folder, path, name):
    """The value of `NAME = EXPRESSION` in a file."""
    text = open(f"{folder}/{path}").read()
    found = re.search(rf"\b{name} = ([^;,]+)[;,]", text)
    assert found, f"{path} has no constant `{name}`"
    expression = re.sub(r"\b(size_t|uint64_t|int64_t)\b", "", found[1]).replace("'", "")
    return eval(re.sub(r"(\d)[uUlL]+\b", r"\1", expression), {"__builtins__": {}})


def main():
    folder, = sys.argv[1:]
    codes = {code for path in ("runtime/README.md", "compiler/frontend/syntax/DiagnosticCodes.def") for code in re.findall(r"\b[ARW]\d{4}\b", open(f"{folder}/{path}").read())}
    rows = 0
    for line in open(f"{folder}/SECURITY.md").read().split("<!-- limits:")[1].split("\n\n")[0].splitlines()[3:]:
        what, most, error, constants = [cell.strip() for cell in line.split("|")[1:-1]]
        number, _, unit = most.partition(" ")
        for name, path in re.findall(r"\[(\w+)\]\(([^)]+)\)", constants):
            value = value_of(folder, path, name)
            assert value == int(number) * UNITS[unit], f"{what}: at most {most}, but {name} in {path} is {value}"
        for code in re.findall(r"[ARW]\d{4}", error):
            assert code in codes or in_range(folder, code), f"{what}: {code} is no code"
        rows += 1
    print(f"{rows} limits are those of the code")


def in_range(folder, code):
    """Whether runtime/README.md names a range of codes that this one is of."""
    ranges = re.findall(r"\b([RW]\d{4}) to ([RW]\d{4})", open(f"{folder}/runtime/README.md").read())
    return any(first[0] == code[0] and first <= code <= last for first, last in ranges)


if __name__ == "__main__":
    main()
