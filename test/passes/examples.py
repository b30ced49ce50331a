#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the example in the description of every pass and compares its result with what the description shows.

usage: examples.py PASSES.td...

A description shows one of two things. What a pass makes of a module:

    `attn-opt -attn-fuse-norm` turns
    ```mlir            a module
    into
    ```mlir            what attn-opt prints then

or what it refuses, with a part of the error:

    `attn-opt -attn-check-fused` refuses
    ```mlir            a module
    with
    ```text            error: fused stage: ...

In the printed module, names of values stand for any names, but one name always for the same value; any run of white space
stands for any other; type aliases of the first block hold in the second; `...` stands for any part of a line, and a line
of its own for any lines. Prints a line for each pass; the exit code is 1 where one has no example or another result.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

PASS = re.compile(r'^def (\w+) : \w+<"([\w-]+)".*?^}', re.MULTILINE | re.DOTALL)
DESCRIPTION = re.compile(r"let description = \[\{\n(.*?)\n  \}\];", re.DOTALL)
EXAMPLE = re.compile(
    r"^`(attn-opt [^`]+)` (turns|refuses)\n\n```mlir\n(.*?)\n```\n\n(into|with)\n\n```(?:mlir|text)\n(.*?)\n```", re.MULTILINE | re.DOTALL)
ALIAS = re.compile(r"^(!\w+) = (.*)$", re.MULTILINE)
TOKEN = re.compile(r"(?P<lines>(?:^|\n) *\.\.\.(?=\n|\Z))|(?P<part>\.\.\.)|(?P<name>%[\w$.-]+)|(?P<space>\s+)|(?P<scope>(?:func|llvm|gpu)\.func\b)")
PRINTED_NAME = r"%[\w$.#-]+"


def pattern_of(shown, aliases):
    """A regular expression for the printed module that `shown` stands for."""
    for alias, type_ in reversed(aliases):
        shown = re.sub(re.escape(alias) + r"\b", lambda _: type_, shown)
    groups, count, parts, end = {}, 0, [], 0
    for token in TOKEN.finditer(shown):
        parts.append(re.escape(shown[end : token.start()]))
        end = token.end()
        if token.lastgroup == "lines":
            parts.append(r"[\s\S]*?")
        elif token.lastgroup == "part":
            parts.append(r"[^\n]*?")
        elif token.lastgroup == "space":
            parts.append(r"\s+")
        elif token.lastgroup == "scope":  # a function has names of its own
            groups = {}
            parts.append(re.escape(token[0]))
        elif token[0] in groups:
            parts.append(rf"(?P={groups[token[0]]})(?![\w$.#-])")
        else:
            groups[token[0]] = f"v{count}"
            count += 1
            parts.append(rf"(?P<{groups[token[0]]}>{PRINTED_NAME})")
    body = "".join(parts) + re.escape(shown[end:])
    return body if shown.startswith("module") else r"module \{\s+" + body + r"\s+\}"


def problem_of(name, description):
    """What is wrong with a pass's example; nothing where all is well."""
    example = EXAMPLE.search(textwrap.dedent(description)) if description else None
    if not example:
        return "no example in its description"
    command, verb, before, _, after = example.groups()
    if "-" + name not in command:
        return f"its example runs another pass: {command}"
    result = subprocess.run(shlex.split(command), input=before, capture_output=True, text=True)
    if verb == "refuses":
        return None if result.returncode == 1 and after in result.stderr else f"it does not end with the error shown:\n{result.stderr}"
    if result.returncode:
        return result.stderr
    if not re.fullmatch(pattern_of(after, ALIAS.findall(before)), result.stdout.strip()):
        return f"it prints:\n{result.stdout}-- shown:\n{after}"
    return None


def main():
    failed = 0
    for path in map(pathlib.Path, sys.argv[1:]):
        for match in PASS.finditer(path.read_text()):
            description = DESCRIPTION.search(match[0])
            problem = problem_of(match[2], description and description[1])
            print(f"{match[2]}: {problem or 'ok'}")
            failed += problem is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
