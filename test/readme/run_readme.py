#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the ```sh, ```attn and ```diff blocks of a Markdown file, in order, and compares what they print with what the file shows.

A ```text block right after a ```sh block is the output of that block's last command, standard output and standard error
together; without one a block only has to succeed, or to end with the code of a last comment `# exit code 1`. Numbers stand
for any number, `...` for any text. A block that follows the line `<!-- set-up -->` is run by continuous integration instead.

A ```attn block that has a line `attn 1` is a whole spec: `attn check` must accept it without a warning, and it must be formatted. Where its
first line is a comment with nothing but a file's name, `// tiny.attn`, it is written to that file. Any other ```attn block is a part of a
spec, of which only the syntax is checked: of a file where it has a line `use`, of a block where it has a line `let`, else of a model.

A ```diff block changes the file that its first line names, `--- tiny.attn`. Its hunks are separated by `@@`, and the old lines of
each must be in the file exactly once. The changed file must be accepted and formatted, too.

All blocks run in one folder whose entries are links to those of the source tree, so that paths are as the file shows them
and new files do not touch the tree.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

FENCE = re.compile(r"^```(\w*)$")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
ANY_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?"


def read_blocks(text):
    """[(line, language, lines, is_setup, follows)]; `follows`: nothing but blank lines since the block before."""
    blocks, current, setup, follows = [], None, False, False
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line)
        if current is not None:
            if line == "```":
                blocks.append(current)
                current, setup, follows = None, False, True
            else:
                current[2].append(line)
        elif fence:
            current = (number, fence[1], [], setup, follows)
        elif line == "<!-- set-up -->":
            setup = True
        elif line:
            follows = False
    return blocks


def pattern_of(shown):
    """A regular expression for the lines that the file shows."""
    parts = []
    for piece in re.split(r"(\.\.\.)", "\n".join(line.rstrip() for line in shown)):
        if piece == "...":
            parts.append(r"[\s\S]*?")
            continue
        end = 0
        for number in NUMBER.finditer(piece):
            parts += [escape(piece[end : number.start()]), ANY_NUMBER]
            end = number.end()
        parts.append(escape(piece[end:]))
    return re.compile("".join(parts) + r"\s*\Z")


def escape(text):
    """Columns move with the numbers in them: several spaces stand for one or more."""
    return re.sub(r"(?:\\ ){2,}", " +", re.escape(text))


def link_tree(source, folder):
    """Makes `folder`, with a link to every entry of the source tree that git knows, and to build."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = {path.name for path in source.iterdir() if path.name != ".git"}
    for name in sorted(names | {"build"}):
        (folder / name).symlink_to(source / name)


def run_block(script, folder, environment):
    """Exit code and output; what a block exports, later ones see."""
    before = "if [[ -e .exported ]]; then source ./.exported; fi\ntrap 'export -p >.exported' EXIT\n"
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", before + script],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.returncode, "\n".join(line.rstrip() for line in result.stdout.rstrip().split("\n"))


class Page:
    """Runs the blocks of a page in one folder. Each function gives (what is wrong, what was printed); nothing is wrong where the first is empty."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "NO_COLOR": "1"}

    def attn(self, *arguments, **options):
        result = subprocess.run(
            ["attn", *arguments], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        return result.returncode, result.stdout

    def run_commands(self, lines, shown):
        code, printed = run_block("\n".join(lines), self.folder, self.environment)
        expected = re.search(r"# exit code (\d+)$", lines[-1])
        if code != int(expected[1] if expected else 0):
            return f"exit code {code}", printed
        is_other = shown is not None and not pattern_of(shown).match(printed)
        return "printed something else than the lines after it" if is_other else "", printed

    def check_spec(self, name):
        code, printed = self.attn("check", name)
        if code or "warning" in printed:
            return "is not accepted without a warning", printed
        code, printed = self.attn("fmt", "--check", name)
        return "is not formatted" if code else "", printed

    def run_spec(self, lines):
        if "attn 1" not in lines:
            return self.parse_part(lines)
        named = re.fullmatch(r"// ([\w-]+\.attn)", lines[0])
        name = named[1] if named else ".block.attn"
        (self.folder / name).write_text("\n".join(lines) + "\n")
        return self.check_spec(name)

    def parse_part(self, lines):
        words = {line.split(" ")[0] for line in lines}
        before, after = ("model Part {", "}")
        if "use" in words:
            before, after = "", ""
        elif "let" in words:
            before, after = "model Part { block Part(x: [D]) -> [D] {", "return x } }"
        code, printed = self.attn("fmt", "-", input="\n".join(["attn 1", before, *lines, after, ""]))
        return "has an error of syntax" if code else "", printed

    def run_diff(self, lines):
        name = lines[0].removeprefix("--- ")
        text = (self.folder / name).read_text()
        for hunk in "\n".join(lines[1:]).split("\n@@\n"):
            old, new = ["".join(line[1:] + "\n" for line in hunk.split("\n") if not line.startswith(other)) for other in "+-"]
            count = ("\n" + text).count("\n" + old)
            if count != 1:
                return f"has old lines that are {count} times in {name}, not once", old
            text = ("\n" + text).replace("\n" + old, "\n" + new)[1:]
        (self.folder / name).write_text(text)
        return self.check_spec(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path, required=True, help="the root of the source tree")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="where to run; made anew")
    options = parser.parse_args()

    blocks = read_blocks(options.file.read_text())
    link_tree(options.source.resolve(), options.folder)
    page = Page(options.folder)
    run, failed = 0, 0
    for index, (line, language, lines, setup, _) in enumerate(blocks):
        if language not in ("sh", "attn", "diff") or setup:
            continue
        run += 1
        following = blocks[index + 1] if index + 1 < len(blocks) else None
        shown = following[2] if following and following[1] == "text" and following[4] else None
        if language == "sh":
            problem, printed = page.run_commands(lines, shown)
        else:
            problem, printed = page.run_spec(lines) if language == "attn" else page.run_diff(lines)
        if not problem:
            print(f"{options.file.name}:{line}: ok")
            continue
        failed += 1
        print(f"{options.file.name}:{line}: {problem}:\n{printed}\n-- shown:\n" + "\n".join(shown or ["(nothing)"]))
    print(f"{run - failed} of {run} blocks as shown")
    return 1 if failed or run == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
