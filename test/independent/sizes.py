# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes, which are linear in at most one dim known when running, and axes, which are told apart by what is written for them."""
from dataclasses import dataclass, field

from syntax import Binary, Call, If, Index, Number, Path, Text, Unary, spelled


class Problem(Exception):
    """The spec has no meaning here, as far as this evaluator knows the language."""


@dataclass(frozen=True)
class Size:
    """factor * dyn + rest. Of a size known when compiling `dyn` is None and `factor` 0."""
    rest: int
    factor: int = 0
    dyn: str = None

    def __add__(self, other):
        if self.dyn and other.dyn and self.dyn != other.dyn:
            raise Problem("a size of two dims that are known when running")
        factor = self.factor + other.factor
        return Size(self.rest + other.rest, factor, (self.dyn or other.dyn) if factor else None)

    def __mul__(self, other):
        if self.dyn and other.dyn:
            raise Problem("a product of sizes that are known when running")
        if other.dyn:
            return other * self
        return Size(self.rest * other.rest, self.factor * other.rest, self.dyn if self.factor * other.rest else None)

    def __sub__(self, other):
        return self + Size(-1) * other

    def divide(self, other):
        if other.dyn or not other.rest or self.rest % other.rest or self.factor % other.rest:
            raise Problem(f"{self} divided by {other} is no whole number")
        return Size(self.rest // other.rest, self.factor // other.rest, self.dyn)

    def at(self, sizes):
        return self.rest + (self.factor * sizes[self.dyn] if self.dyn else 0)

    @property
    def constant(self):
        if self.dyn:
            raise Problem("a size that is known only when running, where a number is needed")
        return self.rest


@dataclass(frozen=True)
class Axis:
    """`key` says which axis it is, `name` what it is called where it belongs. Positions along it count from `offset`."""
    key: str
    name: str = field(compare=False)
    count: int = field(compare=False)
    size: Size = field(compare=False)
    offset: int = field(compare=False, default=0)

    def renamed(self, key, name):
        return Axis(key, name, self.count, self.size, self.offset)


COMPARE = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
           ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


def size_of(expr, frame):
    """The size that an expression of dims is in this frame."""
    if isinstance(expr, Number):
        return Size(expr.value)
    if is_configured(expr):
        value = configured(expr, frame)
        if value is None:
            raise Problem(f"line {expr.line}: the configuration lacks a value")
        return Size(value)
    if isinstance(expr, Path):
        return frame.axis_named(expr.name).size
    if isinstance(expr, Unary) and expr.sign == "-":
        return Size(-1) * size_of(expr.of, frame)
    if isinstance(expr, If):
        return size_of(expr.yes if holds(expr.condition, frame) else expr.no, frame)
    if isinstance(expr, Binary):
        if expr.sign == "??":
            value = configured(expr.left, frame)
            return size_of(expr.right, frame) if value is None else Size(value)
        left, right = size_of(expr.left, frame), size_of(expr.right, frame)
        if expr.sign == "+":
            return left + right
        if expr.sign == "-":
            return left - right
        if expr.sign == "*":
            return left * right
        if expr.sign == "/":
            return left.divide(right)
        if expr.sign == "%":
            return Size(left.constant % right.constant)
        if expr.sign == "**":
            return Size(left.constant ** right.constant)
    if isinstance(expr, Call) and isinstance(expr.function, Path) and expr.function.name in ("min", "max"):
        numbers = [size_of(argument.value, frame).constant for argument in expr.arguments]
        return Size(min(numbers) if expr.function.name == "min" else max(numbers))
    raise Problem(f"line {expr.line}: an expression that is no size")


def holds(expr, frame):
    """Whether a condition of sizes and statics holds."""
    if isinstance(expr, Unary) and expr.sign == "not":
        return not holds(expr.of, frame)
    if isinstance(expr, Binary):
        if expr.sign == "and":
            return holds(expr.left, frame) and holds(expr.right, frame)
        if expr.sign == "or":
            return holds(expr.left, frame) or holds(expr.right, frame)
        if expr.sign in COMPARE:
            texts = [text_of(side, frame) for side in (expr.left, expr.right)]
            if None not in texts:
                return COMPARE[expr.sign](*texts)
            try:
                return COMPARE[expr.sign](size_of(expr.left, frame).constant, size_of(expr.right, frame).constant)
            except Problem:
                pass
    value = frame.model.evaluate(expr, frame)
    if not isinstance(value, (bool, int)):
        raise Problem(f"line {expr.line}: a condition that is neither true nor false")
    return bool(value)


def configured(expr, frame):
    """The value of `config.name` or `config.name[n]`, None where there is none."""
    if isinstance(expr, Index):
        value = configured(expr.of, frame)
        at = size_of(expr.at[0], frame).constant
        return value[at] if isinstance(value, list) and at < len(value) else None
    return frame.model.config_value(expr.parts[1:])


def is_configured(expr):
    return is_configured(expr.of) if isinstance(expr, Index) else isinstance(expr, Path) and expr.parts[0] == "config"


def text_of(expr, frame):
    """The string that an expression is, None where it is none."""
    if isinstance(expr, Text):
        return expr.value
    if is_configured(expr):
        value = configured(expr, frame)
        return value if isinstance(value, str) else None
    if isinstance(expr, Binary) and expr.sign == "??":
        return text_of(expr.left if configured(expr.left, frame) is not None else expr.right, frame)
    if isinstance(expr, If):
        return text_of(expr.yes if holds(expr.condition, frame) else expr.no, frame)
    found = frame.find(expr.name) if isinstance(expr, Path) else None
    return text_of(found[1].expr, found[1].frame) if found and found[0] == "static" else None


def axis_of(expr, frame):
    """The axis that an expression names in this frame."""
    if isinstance(expr, Path):
        return frame.axis_named(expr.name)
    size = size_of(expr, frame)
    key = spelled(expr, lambda path: frame.axis_named(path.name).key)
    offset = 0
    return Axis(key, spelled(expr), size.at(frame.model.sizes), size, offset)
