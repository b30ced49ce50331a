# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds what programs, `attn` and runtime/OPTIONS.md say of options to the rows of runtime/main/ProgramOptions.def.

usage: options.py PROGRAM PRELOAD OUT   # PROGRAM is a compiled model called `program`, PRELOAD the library of arguments.c
       options.py --write               # writes runtime/OPTIONS.md

Each option of the table stands in the help of programs, is parsed by them, stands in the help of the verbs that the table names, is passed on by
`attn run` or `attn bench` to the program, and has its row in OPTIONS.md. An option that programs or the verbs show and the table lacks is an error, too.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "runtime/OPTIONS.md"
# Where the columns of the table stand in a row of each kind: name, what stands for its value, verbs, help.
COLUMNS = {
    "ATTN_FLAG": (1, None, 3, 4),
    "ATTN_PROGRAM_FLAG": (1, None, None, 3),
    "ATTN_PROGRAM_TEXT": (1, 3, None, 4),
    "ATTN_TEXT": (1, 3, 4, 5),
    "ATTN_TEXTS": (1, 3, 4, 5),
    "ATTN_PAIRS": (1, 3, 5, 6),
    "ATTN_PLACES": (1, 3, 5, 6),
    "ATTN_COUNT": (1, "N", 6, 7),
    "ATTN_DEVICE": (1, 3, 5, 6),
    "ATTN_SETTING": (1, 3, 4, 5),
    "ATTN_SETTING_OPTION": (1, 2, "run", 3),
}


def arguments_of(text):
    """The arguments of a macro up to its closing parenthesis, texts without quotes and joined."""
    arguments, depth = [""], 0
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|[(),]|[^"(),]+', text):
        if token == ")" and depth == 0:
            return arguments
        depth += (token == "(") - (token == ")")
        if token == "," and depth == 0:
            arguments.append("")
        elif token.startswith('"'):
            arguments[-1] += token[1:-1].replace('\\"', '"')
        else:
            arguments[-1] += token.strip()
    raise ValueError(text)


def read_table():
    """The groups with their options: (name, meta, verbs, help)."""
    settings = (ROOT / "runtime/include/attn/settings.def").read_text()
    text = (ROOT / "runtime/main/ProgramOptions.def").read_text().replace('#include "attn/settings.def"', settings)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.M)
    groups = []
    for kind, rest in re.findall(r"^(ATTN_\w+)\((.*?)(?=^ATTN_|\Z)", text, flags=re.S | re.M):
        if kind == "ATTN_GROUP":
            groups.append((arguments_of(rest)[1], []))
        if kind not in COLUMNS:
            continue
        row = arguments_of(rest)
        name, meta, verbs, help_text = (row[column] if isinstance(column, int) else column for column in COLUMNS[kind])
        groups[-1][1].append((name, meta, re.findall(r"\w+", verbs or ""), help_text))
    return groups


def page_of(groups):
    """The text of OPTIONS.md."""
    lines = [
        "# Options of programs",
        "",
        "Every compiled program takes these options. `attn run` and `attn bench` pass them on. A value stands behind the name or, with `=` between, in the same",
        "word. This page is written by `test/tools/attn/options.py --write` from [ProgramOptions.def](main/ProgramOptions.def).",
    ]
    for title, options in groups:
        lines += ["", f"## {title}", "", "| option | meaning | verbs of `attn` |", "| --- | --- | --- |"]
        for name, meta, verbs, help_text in options:
            help_text = re.sub(r"(--[a-z][a-z-]*(?:\[[^]]*\])?|<\|\w+\|>)", r"`\1`", help_text.replace("`", "\0")).replace("\0", "`")
            help_text = help_text.replace("|", "\\|")
            lines.append(f"| `--{name}{' ' + meta if meta else ''}` | {help_text} | {', '.join(f'`{verb}`' for verb in verbs)} |")
    return "\n".join(lines) + "\n"


def shown(help_text):
    """The options that a help lists: name -> (meta, words of the text)."""
    found = {}
    for line in help_text.splitlines():
        if match := re.match(r"  --([a-z-]+)(?: (\S+))? +(\S.*)$", line):
            last = found[match[1]] = [match[2], match[3]]
        elif line.startswith(" " * 26) and found:
            last[1] += " " + line.strip()
    return found


def ask(command):
    """The exit code and all output of a command."""
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return run.returncode, run.stdout


class Checker:
    def __init__(self, groups):
        self.options = [option for _, options in groups for option in options]
        self.problems = []

    def expect(self, is_right, problem):
        if not is_right:
            self.problems.append(problem)

    def check_help(self, command, wanted, is_all):
        """Whether a help has the wanted options with their texts, and where `is_all` no others."""
        found = shown(ask(command)[1])
        where = f"`{pathlib.Path(command[0]).name} {' '.join(command[1:])}`"
        for name, meta, _, help_text in wanted:
            has = found.get(name)
            # Two spaces part a name without value from its text; one with value has one space in front of it.
            self.expect(has and (has[0] == meta or not meta) and " ".join(has[1].split()) == help_text, f"{where}: --{name} should be {meta}: {help_text}, but is {has}")
        for name in set(found) - {name for name, *_ in wanted} if is_all else ():
            self.expect(False, f"{where} lists --{name}, which the table lacks")

    def check_parsing(self, program):
        for name, meta, *_ in self.options:
            wrong = [f"--{name}"] if meta else [f"--{name}=x"]
            code, text = ask([program, *wrong])
            message = f"option `--{name}` {'needs a value' if meta else 'takes no value'}"
            self.expect(code == 2 and message in text, f"`program {wrong[0]}`: expected `{message}`, but got {code}: {text}")
            # The beginning of a name is no name.
            code, text = ask([program, f"--{name}"[:-1], "x"])
            others = {other for other, *_ in self.options}
            self.expect(name[:-1] in others or (code == 2 and "unknown option" in text), f"`program --{name[:-1]}`: expected an unknown option, but got {code}: {text}")

    def check_forwarding(self, program, preload, out):
        for verb in ("run", "bench"):
            given = []
            for name, meta, verbs, _ in self.options:
                if verb in verbs:
                    given += [f"--{name}"] + (["cpu" if name == "device" else f"x-{name}"] if meta else [])
            arguments = out / f"{verb}.txt"
            environment = dict(os.environ, LD_PRELOAD=preload, ATTN_TEST_ARGUMENTS=str(arguments))
            run = subprocess.run(["attn", verb, program, *given], env=environment, capture_output=True, text=True)
            passed = arguments.read_text().splitlines() if arguments.exists() else run.stderr
            wanted = given + (["--bench"] if verb == "bench" else [])
            self.expect(passed == wanted, f"`attn {verb}` should pass on {wanted}, but passes on {passed}")

    def check(self, program, preload, out):
        self.check_help([program, "--help"], self.options, is_all=True)
        for verb in ("check", "compile", "run", "bench", "verify", "explain", "diff", "inspect", "tokenize"):
            self.check_help(["attn", verb, "--help"], [option for option in self.options if verb in option[2]], is_all=False)
        self.check_parsing(program)
        self.check_forwarding(program, preload, out)


def main():
    groups = read_table()
    page = page_of(groups)
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page)
        return 0
    program, preload, out = sys.argv[1:]
    checker = Checker(groups)
    checker.expect(len(checker.options) > 40, f"only {len(checker.options)} rows were read of the table")
    checker.expect(PAGE.exists() and PAGE.read_text() == page, f"{PAGE.name} differs from the table: test/tools/attn/options.py --write writes it")
    checker.check(program, preload, pathlib.Path(out))
    for problem in checker.problems:
        print(problem)
    return bool(checker.problems)


sys.exit(main())
