#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the ```sh blocks of a Markdown file, in order, and compares what they print with what the file shows.

A ```text block right after a ```sh block is the output of that block's last command, standard output and standard error
together; without one a block only has to succeed, or to end with the code of a last comment `# exit code 1`. Numbers stand for any number, `...` for any text. A block that follows
the line `<!-- set-up -->` is run by continuous integration instead.

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path, required=True, help="the root of the source tree")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="where to run; made anew")
    options = parser.parse_args()

    blocks = read_blocks(options.file.read_text())
    link_tree(options.source.resolve(), options.folder)
    environment = {**os.environ, "NO_COLOR": "1"}
    run, failed = 0, 0
    for index, (line, language, lines, setup, _) in enumerate(blocks):
        if language != "sh" or setup:
            continue
        run += 1
        following = blocks[index + 1] if index + 1 < len(blocks) else None
        shown = following[2] if following and following[1] == "text" and following[4] else None
        code, printed = run_block("\n".join(lines), options.folder, environment)
        expected = re.search(r"# exit code (\d+)$", lines[-1])
        if code != int(expected[1] if expected else 0):
            problem = f"exit code {code}"
        elif shown is not None and not pattern_of(shown).match(printed):
            problem = "printed something else than the lines after it"
        else:
            print(f"{options.file.name}:{line}: ok")
            continue
        failed += 1
        print(f"{options.file.name}:{line}: {problem}:\n{printed}\n-- shown:\n" + "\n".join(shown or ["(nothing)"]))
    print(f"{run - failed} of {run} blocks as shown")
    return 1 if failed or run == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
