# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions and types, by recursive descent over the manual's grammar. Declarations are in declarations.py."""
from lexer import RESERVED, SyntaxProblem, tokens_of
from syntax import Argument, Attend, Binary, Call, If, Index, Number, Path, Scan, Several, Text, Type, Unary

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


class Reader:
    """The tokens of a file and how far they are read."""

    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.place = 0

    @property
    def token(self):
        return self.tokens[self.place]

    def ahead(self, count=1):
        return self.tokens[min(self.place + count, len(self.tokens) - 1)]

    def begins_path(self):
        """Whether a path of several parts begins here, in which every word is a name."""
        after = self.ahead()
        return self.token.kind == "name" and after.kind == "sign" and after.value == "." and after.joined

    def at(self, *values):
        return self.token.kind in ("sign", "name") and self.token.value in values and not self.begins_path()

    def take(self, *values):
        """Moves over one of these words or signs; says which it was, or None."""
        if self.at(*values):
            self.place += 1
            return self.tokens[self.place - 1].value
        return None

    def need(self, *values):
        taken = self.take(*values)
        if taken is None:
            self.fail(f"expected {' or '.join(values)}")
        return taken

    def need_kind(self, kind):
        if self.token.kind != kind:
            self.fail(f"expected {kind}")
        self.place += 1
        return self.tokens[self.place - 1].value

    def name(self):
        if self.token.value in RESERVED:
            self.fail("a reserved word is no name")
        return self.need_kind("name")

    def fail(self, message):
        raise SyntaxProblem(f"line {self.token.line}: {message}, but got {self.token.value!r}")

    def some(self, read):
        """One or more, with commas between."""
        items = [read()]
        while self.take(","):
            items.append(read())
        return items

    def path(self):
        parts = [self.need_kind("name") if self.begins_path() else self.name()]
        while self.at(".") and self.token.joined:
            self.place += 1
            if self.token.kind not in ("name", "int"):
                self.fail("expected a word of a path")
            parts.append(self.token.value)
            self.place += 1
        return tuple(parts)


class ExpressionReader(Reader):
    def expr(self):
        return self.binary(0)

    LEVELS = (("??",), ("or",), ("and",), ("not",), COMPARISONS, ("+", "-"), ("*", "/", "%"))

    def binary(self, level):
        if level == len(self.LEVELS):
            return self.unary()
        line = self.token.line
        if self.LEVELS[level] == ("not",):
            if self.take("not"):
                return Unary("not", self.binary(level), line=line)
            return self.binary(level + 1)
        left = self.binary(level + 1)
        while sign := self.take(*self.LEVELS[level]):
            left = Binary(sign, left, self.binary(level + 1), line=line)
            if self.LEVELS[level] == COMPARISONS and self.at(*COMPARISONS):
                self.fail("comparisons do not chain")
        return left

    def unary(self):
        line = self.token.line
        if self.take("-"):
            return Unary("-", self.unary(), line=line)
        left = self.postfix()
        if self.take("**"):
            return Binary("**", left, self.unary(), line=line)
        return left

    def postfix(self):
        expr = self.primary()
        while self.at("(", "["):
            line = self.token.line
            if self.take("("):
                arguments = [] if self.at(")") else self.some(self.argument)
                self.need(")")
                expr = Call(expr, arguments, line=line)
            else:
                self.need("[")
                expr = Index(expr, self.some(self.expr), line=line)
                self.need("]")
        return expr

    def argument(self):
        name = None
        if self.token.kind == "name" and self.ahead().value == "=" and self.ahead().kind == "sign":
            name = self.name()
            self.need("=")
        value = self.expr()
        made = Argument(name, value)
        if word := self.take("by", "at", "where"):
            setattr(made, word, self.expr())
        elif self.take("from"):
            begin = self.expr()
            self.need("to")
            made.span = begin, self.expr()
        if self.take("as"):
            made.named = self.expr()
        return made

    def primary(self):
        line, kind = self.token.line, self.token.kind
        if kind in ("int", "float"):
            return Number(self.need_kind(kind), line=line)
        if kind == "string":
            return Text(self.need_kind(kind), line=line)
        if self.take("("):
            items = self.some(self.expr)
            self.need(")")
            return items[0] if len(items) == 1 else Several(items, line=line)
        if self.take("if"):
            condition = self.expr()
            self.need("then")
            yes = self.expr()
            self.need("else")
            return If(condition, yes, self.expr(), line=line)
        if self.take("attend"):
            return self.attend(line)
        if self.take("scan"):
            return self.scan(line)
        if self.at("dim") and self.ahead().value == "(":  # a function of vectors
            self.place += 1
            return Path(("dim",), line=line)
        return Path(self.path(), line=line)

    def attend(self, line):
        query = self.expr()
        self.need("over")
        over = [self.expr()]
        if self.take(","):
            over.append(self.expr())
        along = self.axes()
        group = None
        if self.take("group"):
            heads = self.name()
            self.need("by")
            group = heads, self.name()
        lines = {}
        if self.take("{"):
            while not self.take("}"):
                word = self.need("score", "bias", "cap", "mask", "weight", "return")
                if word in lines:
                    self.fail(f"{word} is given twice")
                lines[word] = self.some(self.expr) if word == "return" else self.expr()
        return Attend(query, over, along, group, lines, line=line)

    def scan(self, line):
        cell = self.postfix()
        self.need("over")
        over = self.expr()
        self.need("along")
        along = self.name()
        reverse = bool(self.take("reverse"))
        start = self.expr() if self.take("from") else None
        return Scan(cell, over, along, reverse, start, self.expr() if self.take("lengths") else None, line=line)

    def axis(self):
        """`along T as S`: both names, the second None where it is not given."""
        self.need("along")
        return self.named_axis()

    def named_axis(self):
        along = self.name()
        return along, self.name() if self.take("as") else None

    def axes(self):
        """`along T as S`, or `along (Y as V, X as U)`: a pair of names for each."""
        self.need("along")
        if not self.take("("):
            return [self.named_axis()]
        found = self.some(self.named_axis)
        self.need(")")
        return found

    def shape(self):
        self.need("[")
        items = [] if self.at("]") else self.some(self.expr)
        self.need("]")
        return items

    def type(self):
        if self.at("["):
            return Type("f32", self.shape())
        dtype = self.name()
        return Type(dtype, self.shape() if self.at("[") else None)
