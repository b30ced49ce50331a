# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The grammar of editors knows all words of the language, and marks those of all specs as what they are.

    grammar.py ATTN.TMLANGUAGE.JSON LEXER.CPP SPECS...
"""
import collections
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "lsp"))
from client import Client, read_text  # noqa: E402


def rules(grammar):
    """The patterns in order, each with its scope, or that of its one capture."""
    for included in grammar["patterns"]:
        rule = grammar["repository"][included["include"][1:]]
        ((group, scope),) = rule.get("captures", {"0": rule}).items()
        yield re.compile(rule["match"]), int(group), scope["name"]


def scopes(all_rules, line):
    """The marked parts of a line, as an editor finds them: at each place the first pattern that matches earliest."""
    at = 0
    while at <= len(line):
        found = [(match.start(group), number, match, group, scope)
                 for number, (pattern, group, scope) in enumerate(all_rules) if (match := pattern.search(line, at))]
        if not found:
            return
        _, _, match, group, scope = min(found, key=lambda one: (one[2].start(), one[1]))
        yield match.group(group), match.start(group), scope
        at = max(match.end(), at + 1)


def words_of_language(lexer):
    """Reserved words, and words that begin items and lines of attentions: the server offers them."""
    reserved = re.findall(r'"(\w+)"', re.search(r"StringSet<> words = \{(.*?)\}", lexer, re.S).group(1))
    client, items = Client(), set()
    for number, text in enumerate(["attn 1\n|", "attn 1\nmodel M {\n  |\n}\n", "attn 1\nblock A(x: [D]) -> [D] {\n  |\n}\n",
                                   "attn 1\nblock A(x: [D]) -> [D] {\n  return attend x over x, x along D as S {\n|\n} }\n"]):
        before = text[:text.index("|")]
        client.show(f"untitled:/{number}.attn", text.replace("|", ""))
        answer = client.at("completion", f"untitled:/{number}.attn", before.count("\n"), len(before.split("\n")[-1]))
        items |= {item["label"] for item in answer["items"]}
    client.close()
    return set(reserved), items


def main():
    grammar = json.loads(pathlib.Path(sys.argv[1]).read_text())
    all_rules = list(rules(grammar))
    reserved, items = words_of_language(pathlib.Path(sys.argv[2]).read_text())
    assert {"model", "let", "linear", "attend"} <= reserved | items and {"cap", "rmsnorm"} <= items, (reserved, items)
    known = "|".join(rule["match"] for rule in grammar["repository"].values())
    missing = [word for word in reserved | items if not re.search(rf"(?<=[(|:]){word}(?=[)|])", known)]
    assert not missing, missing
    counts, wrong = collections.Counter(), 0
    specs = sys.argv[3:]
    for path in specs:
        for number, line in enumerate(read_text(path).splitlines(), 1):
            marked = list(scopes(all_rules, line))
            for text, at, scope in marked:
                counts[scope] += 1
            hidden = [range(at, at + len(text)) for text, at, scope in marked if scope.startswith(("comment", "string"))]
            is_hidden = lambda at: any(at in place for place in hidden)
            keywords = {at for text, at, scope in marked if scope.startswith("keyword")}
            for match in re.finditer(r"(?<![\w.])\w+(?![\w]|\.\w)", line):
                begins = not line[:match.start()].strip() and match.group() in items and line[match.end():].lstrip()[:1] not in (":", ",", ")", "=")
                if (match.group() in reserved or begins) and not is_hidden(match.start()) and match.start() not in keywords:
                    wrong += 1
                    print(f"{path}:{number}: {match.group()} is not marked in: {line}")
    print(len(specs), "specs,", dict(counts))
    assert not wrong and len(counts) > 10, (wrong, counts)


main()
