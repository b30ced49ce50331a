# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The syntax tree: one class for expressions of each form, and one for all declarations."""
from dataclasses import dataclass, field


@dataclass(eq=False)
class Expr:
    line: int = field(default=0, kw_only=True)


@dataclass(eq=False)
class Number(Expr):
    value: float


@dataclass(eq=False)
class Text(Expr):
    value: str


@dataclass(eq=False)
class Path(Expr):
    parts: tuple

    @property
    def name(self):
        return ".".join(map(str, self.parts))


@dataclass(eq=False)
class Several(Expr):
    items: list


@dataclass(eq=False)
class Unary(Expr):
    sign: str
    of: Expr


@dataclass(eq=False)
class Binary(Expr):
    sign: str
    left: Expr
    right: Expr


@dataclass(eq=False)
class Argument:
    name: str  # of `name = value`, else None
    value: Expr
    by: Expr = None
    at: Expr = None
    where: Expr = None
    span: tuple = None  # of `T from 1 to 5`
    named: Expr = None  # behind `as`


@dataclass(eq=False)
class Call(Expr):
    function: Expr
    arguments: list


@dataclass(eq=False)
class Index(Expr):
    of: Expr
    at: list


@dataclass(eq=False)
class If(Expr):
    condition: Expr
    yes: Expr
    no: Expr


@dataclass(eq=False)
class Attend(Expr):
    query: Expr
    over: list
    along: list  # (axis, its name in the attention or None) of `along T as S`, `along (Y as V, X as U)`
    group: tuple  # (H, G) or None
    lines: dict  # score, bias, cap, mask, weight: an expression; return: a list of them


@dataclass(eq=False)
class Scan(Expr):
    cell: Expr  # a name, or a call of it with what is given by name
    over: Expr
    along: str
    reverse: bool
    start: Expr  # behind `from`, or None
    lengths: Expr  # or None


@dataclass(eq=False)
class Type:
    dtype: str
    shape: list  # of expressions; None for `cache` and for a state among the results of a cell


@dataclass(eq=False)
class Binding:
    kind: str = None  # "path", "split", "slice", "tied"
    text: str = None
    parts: tuple = ()
    rows: tuple = None  # of a slice: where it begins, where it ends, of how many
    layout: str = None
    optional: bool = False
    condition: Expr = None


class Declaration:
    """What stands in a model, a block or a file; `kind` is its first word, the other fields depend on that."""

    def __init__(self, kind, line, **fields):
        self.kind, self.line = kind, line
        self.__dict__.update(fields)

    def __repr__(self):
        return f"{self.kind} {getattr(self, 'name', '')} (line {self.line})"


PRECEDENCE = {"??": 1, "or": 2, "and": 3, "not": 4, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5, "+": 6, "-": 6, "*": 7,
              "/": 7, "%": 7, "neg": 8, "**": 9}


def spelled(expr, name=lambda path: path.name):
    """The expression as text without needless parentheses; `name` writes its names."""
    return _spelled(expr, name)[0]


def _spelled(expr, name):
    if isinstance(expr, Number):
        return str(expr.value), 10
    if isinstance(expr, Path):
        return name(expr), 10
    if isinstance(expr, Several) and len(expr.items) == 1:
        return _spelled(expr.items[0], name)
    if isinstance(expr, Unary):
        text, level = _spelled(expr.of, name)
        return f"-{text}" if level >= 8 else f"-({text})", 8
    if isinstance(expr, Binary):
        own = PRECEDENCE[expr.sign]
        left, low = _spelled(expr.left, name)
        right, high = _spelled(expr.right, name)
        left = left if low >= own else f"({left})"
        right = right if high > own else f"({right})"
        return f"{left}{expr.sign}{right}", own
    raise ValueError(f"line {expr.line}: an expression that names no axis")
