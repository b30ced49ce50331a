# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what the map of a folder lacks: sources that its README.md does not name, and names in its table of files that are no source.

usage: map.py FOLDER

The table is the one whose head ends with `| files |`. A source is named by its file name without `.cpp` or `.h`, in backticks. The exit
code is 1 where the map and the folder differ.
"""
import pathlib
import re
import sys


def main():
    folder = pathlib.Path(sys.argv[1])
    lines = (folder / "README.md").read_text().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("|") and line.endswith("| files |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(re.sub(r"\([^)]*\)", "", line))
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    sources = {path.stem for path in folder.iterdir() if path.suffix in (".cpp", ".h")}
    problems = [f"{name} is in no group" for name in sorted(sources - set(named))]
    problems += [f"{name} is no source" for name in sorted(set(named) - sources)]
    problems += [f"{name} is in several groups" for name in sorted(set(named)) if named.count(name) > 1]
    print("\n".join(problems) if problems else f"the map names all {len(sources)} sources")
    sys.exit(bool(problems))


main()
