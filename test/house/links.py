# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the links of Markdown files that lead nowhere: to a file that is not there, or to a heading that its file does not
have. Links to other sites, and what stands in code, are left out.

usage: links.py SOURCE

Reads every .md file below SOURCE but those in build folders and in folders named Inputs. The exit code is 1 where a link is
broken.
"""
import pathlib
import re
import sys

FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors_of(text):
    """What GitHub makes of headings: lower case, without punctuation, with `-` for spaces."""
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def broken_links(path):
    text = FENCED.sub("", path.read_text())
    for link in LINK.findall(CODE.sub("", text)):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists():
            yield f"{link} is not there"
        elif anchor and anchor not in anchors_of(FENCED.sub("", target.read_text())):
            yield f"{link}: no such heading"


def main():
    source = pathlib.Path(sys.argv[1])
    count, problems = 0, []
    for path in sorted(source.rglob("*.md")):
        own = path.relative_to(source)
        if own.parts[0].startswith(("build", ".", "node_modules")) or "Inputs" in own.parts:
            continue
        count += 1
        problems += [f"{own}: {problem}" for problem in broken_links(path)]
    print("\n".join(problems) if problems else f"all links of {count} files lead somewhere")
    sys.exit(bool(problems))


main()
