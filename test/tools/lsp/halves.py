# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs while they are typed: pieces are missing, and every request is answered. No answer may be an error.

    halves.py SEED COUNT FILES...
"""
import random
import sys

from client import WHOLE, Client, read_text

PLACES = ("hover", "definition", "completion", "prepareRename")


def cut(dice, text):
    """A text without its end, a line or a few letters, or with something added."""
    kind, at = dice.randrange(4), dice.randrange(len(text) + 1)
    if kind == 0:
        return text[:at]
    if kind == 1:
        lines = text.split("\n")
        del lines[dice.randrange(len(lines))]
        return "\n".join(lines)
    if kind == 2:
        return text[:at] + text[at + dice.randrange(1, 9):]
    return text[:at] + dice.choice(["(", "{", "[", "\"", "=", "let ", "attend ", ".", "ä", "💡", "}", "\r\n", "along "]) + text[at:]


def ask(dice, client, uri, text):
    """All requests about a document, at places in it and outside of it."""
    lines = text.split("\n")
    for _ in range(3):
        line = dice.randrange(len(lines) + 2)
        width = len(lines[line]) if line < len(lines) else 0
        place = (line, dice.randrange(width + 5))
        for method in PLACES:
            client.at(method, uri, *place)
        client.at("references", uri, *place, context={"includeDeclaration": True})
        answer = client.answer("textDocument/rename", textDocument={"uri": uri},
                               position=dict(zip(("line", "character"), place)), newName="fresh_name")
        assert "result" in answer or answer["error"]["code"] == -32803, answer
    for method, more in (("codeAction", {"range": WHOLE, "context": {"diagnostics": []}}),
                         ("inlayHint", {"range": WHOLE}), ("documentSymbol", {}), ("formatting", {"options": {}})):
        client.about(method, uri, **more)


def main():
    seed, count, paths = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    dice, client, hints = random.Random(seed), Client(), 0
    for number in range(count):
        path = dice.choice(paths)
        text = cut(dice, cut(dice, read_text(path)))
        print(f"seed {seed}, text {number} of {path}", file=sys.stderr)
        uri = f"untitled:/{number}.attn"
        client.show(uri, text)
        ask(dice, client, uri, text)
        hints += bool(client.about("inlayHint", uri, range=WHOLE))
        client.notify("textDocument/didClose", textDocument={"uri": uri})
        client.read()
    client.close()
    print(f"{count} texts, {hints} with hints")


main()
