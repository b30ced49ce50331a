# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of a spec -> tokens, by the manual's section "Text"."""
import re
from collections import namedtuple

Token = namedtuple("Token", "kind value line joined")  # joined: nothing stands between it and the token before

RESERVED = set("""model block cell entry stack dim dyn linear param let return attend scan over along as if then else and
or not with optional""".split())
PATTERN = re.compile(r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<string>"(?:\\["\\]|[^"\\\n])*")
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
  | (?P<int>\d+)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>->|\*\*|\?\?|==|!=|<=|>=|[-+*/%<>=(){}\[\],:;.@])
""", re.VERBOSE | re.ASCII)
DIGITS = re.compile(r"\d+")


class SyntaxProblem(Exception):
    """The text is no spec, as far as this reader knows the language."""


def tokens_of(text):
    """The tokens of a file, with one of kind "end" behind them."""
    tokens, place, line, end = [], 0, 1, -1
    while place < len(text):
        # Behind the dot of a path stand words and whole numbers: `blocks.0.weight` holds no float.
        after_dot = len(tokens) > 1 and tokens[-1].value == "." and tokens[-1].kind == "sign" and tokens[-1].joined
        match = after_dot and DIGITS.match(text, place) or PATTERN.match(text, place)
        if not match:
            raise SyntaxProblem(f"line {line}: {text[place]!r} begins no word of the language")
        kind = getattr(match, "lastgroup") or "int"
        value = match.group()
        if kind != "space":
            joined = place == end
            if kind == "string":
                value = re.sub(r"\\(.)", r"\1", value[1:-1])
            elif kind == "int":
                value = int(value)
            elif kind == "float":
                value = float(value)
            tokens.append(Token(kind, value, line, joined))
            end = match.end()
        line += match.group().count("\n")
        place = match.end()
    tokens.append(Token("end", None, line, False))
    return tokens
