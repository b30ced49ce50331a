# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Declarations, blocks, entries, models and files, by recursive descent over the manual's grammar."""
from parser import ExpressionReader
from syntax import Binding, Declaration

STARTS = set("""dim dyn linear embedding param layernorm rmsnorm l2norm stack part block cell score bias mask ignore image entry forward
cache state table let return""".split())


class FileReader(ExpressionReader):
    def file(self):
        """Of a file: its uses, blocks and hooks, and its model or None."""
        self.need("attn")
        if self.need_kind("int") != 1:
            self.fail("version 1 is read")
        file = Declaration("file", 1, uses=[], items=[], model=None)
        while self.token.kind != "end":
            if self.take("use"):
                is_text = self.token.kind == "string"
                file.uses.append(self.need_kind("string") if is_text else self.path())
            elif self.at("model"):
                file.model = self.model()
            else:
                file.items += self.declaration()
        return file

    def model(self):
        line = self.token.line
        self.need("model")
        name = self.name()
        self.need("{")
        items = []
        while not self.take("}"):
            items += self.declaration()
        return Declaration("model", line, name=name, items=items)

    def declaration(self):
        """The declarations that begin here: several where one word declares several names."""
        word, line = self.token.value, self.token.line
        if word not in STARTS:
            self.fail("expected a declaration")
        self.place += 1
        method = {"layernorm": "norm", "rmsnorm": "norm", "l2norm": "norm", "score": "hook", "bias": "hook", "mask": "hook"}.get(word, word + "_")
        made = getattr(self, method)(word, line)
        return made if isinstance(made, list) else [made]

    def dim_(self, word, line):
        def one():
            name = self.name()
            self.need("=")
            return Declaration("dim", line, name=name, value=self.expr())
        return self.some(one)

    def dyn_(self, word, line):
        def one():
            name = self.name()
            self.need("<=")
            return Declaration("dyn", line, name=name, bound=self.expr())
        return self.some(one)

    def arrow(self):
        """The axes taken and the axes given; a comma before the next captured thing ends them."""
        taken = self.some(self.expr)
        self.need("->")
        given = [self.expr()]
        while self.at(",") and self.ahead().value not in ("linear", "param", "input"):
            self.need(",")
            given.append(self.expr())
        return taken, given

    def binding(self):
        made = Binding()
        if self.take("="):
            if self.token.kind == "string":
                made.kind, made.text = "path", self.need_kind("string")
            elif self.take("split"):
                self.need("(")
                made.kind, made.text = "split", self.need_kind("string")
                self.need(",")
                parts = []
                while not self.take(")"):
                    parts.append(self.token.value)
                    self.place += 1
                made.parts = tuple(parts)
            elif self.take("slice"):
                self.need("(")
                made.kind, made.text = "slice", self.need_kind("string")
                self.need(",")
                begin = self.expr()
                self.need("to")
                made.rows = begin, self.expr(), self.expr() if self.take("of") else None
                self.need(")")
            else:
                self.need("tied")
                self.need("(")
                made.kind, made.text = "tied", ".".join(map(str, self.path()))
                self.need(")")
        while sign := self.take("@", "optional"):
            if sign == "@":
                made.layout = self.name()
            else:
                made.optional = True
        if self.take("if"):
            made.condition = self.expr()
        return made

    def paths(self):
        return [".".join(map(str, path)) for path in self.some(self.path)]

    def linear_(self, word, line):
        names = self.paths()
        self.need(":")
        taken, given = self.arrow()
        bias, condition = False, None
        # `bias` and a name that begins no declaration is the next hook.
        if self.at("bias") and not (self.ahead().kind == "name" and self.ahead().value not in STARTS | {"if", "optional"}):
            self.need("bias")
            bias = True
            condition = self.expr() if self.take("if") else None
        binding = self.binding()
        return [Declaration("linear", line, name=name, taken=taken, given=given, bias=bias, bias_if=condition, binding=binding)
                for name in names]

    def embedding_(self, word, line):
        names = self.paths()
        self.need(":")
        taken, given = self.arrow()
        binding = self.binding()
        return [Declaration("embedding", line, name=name, taken=taken, given=given, binding=binding) for name in names]

    def param_(self, word, line):
        made = []
        while True:
            names = self.paths()
            self.need(":")
            type_ = self.type()
            binding = self.binding()
            made += [Declaration("param", line, name=name, type=type_, binding=binding) for name in names]
            if not self.take(","):
                return made

    def norm(self, word, line):
        names = self.paths()
        self.need(":")
        axes = self.some(self.expr)
        eps = self.expr() if self.take("eps") else None
        offset = self.expr() if self.take("offset") else None
        without = []
        while self.take("no"):
            without.append(self.name())
        binding = self.binding()
        return [Declaration(word, line, name=name, axes=axes, eps=eps, offset=offset, without=without, binding=binding) for name in names]

    def dimargs(self):
        if not self.take("["):
            return []
        def one():
            name = self.name()
            self.need(":")
            return name, self.expr()
        made = [] if self.at("]") else self.some(one)
        self.need("]")
        return made

    def arguments(self):
        if not self.take("("):
            return []
        made = [] if self.at(")") else self.some(self.argument)
        self.need(")")
        return made

    def stack_(self, word, line):
        name = self.paths()[0]
        self.need(":")
        count = self.expr()
        self.need("of")
        shared = bool(self.take("shared"))
        return Declaration("stack", line, name=name, count=count, shared=shared, block=self.name(), dims=self.dimargs(),
                           arguments=self.arguments(), binding=self.binding())

    def part_(self, word, line):
        names = self.paths()
        self.need(":")
        block, dims, arguments, binding = self.name(), self.dimargs(), self.arguments(), self.binding()
        return [Declaration("part", line, name=name, block=block, dims=dims, arguments=arguments, binding=binding)
                for name in names]

    def ignore_(self, word, line):
        return Declaration("ignore", line, name=None, patterns=self.some(lambda: self.need_kind("string")))

    def image_(self, word, line):
        self.need("input")
        self.expr()
        self.need("x")
        self.expr()
        if self.token.kind == "name" and self.token.value not in STARTS | {"mean", "std"}:
            self.name()
        for what in ("mean", "std"):
            if self.take(what):
                self.shape() if self.at("[") else self.expr()
        return Declaration("image", line, name=None)

    def cache_(self, word, line):
        def one():
            name = self.name()
            dtype = self.name() if self.take(":") else "f32"
            self.need("capacity")
            return Declaration("cache", line, name=name, dtype=dtype, capacity=self.expr())
        return self.some(one)

    def table_(self, word, line):
        name = self.name()
        axes = self.dimargs()
        self.need("=")
        return Declaration("table", line, name=name, axes=axes, value=self.expr())

    def statics(self):
        """The names behind `;`, with their defaults or None."""
        if not self.take(";") or self.at(")"):
            return []
        def one():
            name = self.name()
            return name, self.expr() if self.take("=") else None
        return self.some(one)

    def hook(self, word, line):
        name = self.name()
        self.need("(")
        positions = [] if self.at(")", ";") else self.some(self.name)
        statics = self.statics()
        self.need(")")
        captured = []
        if self.take("with"):
            captured = self.captured()
        self.need("=")
        return Declaration(word, line, name=name, positions=positions, statics=statics, captured=captured, value=self.expr())

    def captured(self):
        made = []
        while True:
            word, line = self.need("linear", "param", "input"), self.token.line
            if word == "linear":
                names = self.paths()
                self.need(":")
                taken, given = self.arrow()
                bias = bool(self.take("bias"))
                made += [Declaration("linear", line, name=name, taken=taken, given=given, bias=bias, bias_if=None,
                                     binding=Binding()) for name in names]
                if not self.take(","):
                    return made
                continue
            while True:
                names = self.paths()
                self.need(":")
                type_ = self.type()
                made += [Declaration(word, line, name=name, type=type_, binding=Binding()) for name in names]
                if not self.take(","):
                    return made
                if self.at("linear", "param", "input") and self.ahead().value not in (":", ","):
                    break

    def signature(self):
        dims = []
        if self.take("["):
            dims = self.some(self.name)
            self.need("]")
        self.need("(")
        def parameter():
            name = self.name()
            self.need(":")
            return name, self.type()
        parameters = [] if self.at(")", ";") else self.some(parameter)
        statics = self.statics()
        self.need(")")
        self.need("->")
        def result():
            name = None
            if self.token.kind == "name" and self.ahead().value == ":":
                name = self.name()
                self.need(":")
            return name, self.type()
        return dict(dims=dims, parameters=parameters, statics=statics, results=self.some(result))

    def body(self):
        if self.take("="):
            line = self.token.line
            return [Declaration("return", line, values=self.some(self.expr))]
        self.need("{")
        items = []
        while not self.take("}"):
            items += self.declaration()
        return items

    def block_(self, word, line):
        name = self.name()
        return Declaration("block", line, name=name, is_cell=word == "cell", **self.signature(), items=self.body())

    cell_ = block_

    def entry_(self, word, line):
        name = self.name()
        if self.at("=") and self.ahead().value == "forward":
            self.place += 2
            sizes, without = self.dimargs(), self.some(self.name) if self.take("without") else []
            return Declaration("variant", line, name=name, sizes=sizes, without=without, last=self.name() if self.take("last") else None)
        return Declaration("entry", line, name=name, **self.signature(), items=self.body())

    def forward_(self, word, line):
        return Declaration("forward", line, name="forward", **self.signature(), items=self.body())

    def let_(self, word, line):
        def pattern():
            if not self.take("("):
                return [self.name()]
            names = self.some(self.name)
            self.need(")")
            return names
        names = [name for names in self.some(pattern) for name in names]
        self.need("=")
        value = self.expr()
        along = self.axis() if self.at("along") else None
        return Declaration("let", line, names=names, value=value, along=along)

    def return_(self, word, line):
        return Declaration("return", line, values=self.some(self.expr))


def read_file(path):
    with open(path, encoding="utf-8") as file:
        return FileReader(file.read()).file()
