# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what the map of a folder lacks: sources that its README.md does not name, names in its table of files that are no source, and
rows that are no folder.

usage: map.py FOLDER

The table is the one whose head ends with `| files |`. A row begins with the name of a folder, in backticks, or `.` for FOLDER itself. A
source is named by its file name without `.cpp` or `.h`, in backticks. The exit code is 1 where the map and the folder differ.
"""
import pathlib
import re
import sys


def sources_of(folder):
    return {path.stem for path in folder.iterdir() if path.suffix in (".cpp", ".h")}


def main():
    folder = pathlib.Path(sys.argv[1])
    lines = (folder / "README.md").read_text().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("|") and line.endswith("| files |"))
    problems, mapped, count = [], set(), 0
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        row = re.sub(r"\([^)]*\)", "", line)
        room = re.match(r"\| `([\w.]+)/?`", row)
        if not room or not (folder / room[1]).is_dir():
            problems.append(f"no folder: {line}")
            continue
        named = re.findall(r"`(\w+)`", row[room.end() :])
        sources = sources_of(folder / room[1])
        mapped.add(room[1])
        count += len(sources)
        problems += [f"{room[1]}: {name} is not named" for name in sorted(sources - set(named))]
        problems += [f"{room[1]}: {name} is no source" for name in sorted(set(named) - sources)]
    rooms = {path.name for path in folder.iterdir() if path.is_dir() and sources_of(path)} | ({"."} if sources_of(folder) else set())
    problems += [f"{room} has no row" for room in sorted(rooms - mapped)]
    print("\n".join(problems) if problems else f"the map names all {count} sources")
    sys.exit(bool(problems))


main()
