#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chat templates against Jinja (Debian's python3-jinja2), set as the published libraries set it.

usage: templates.py DRIVER FOLDER SEED COUNT [TEMPLATE...]

Each template in FOLDER, and each TEMPLATE (a .jinja, a tokenizer_config.json, or a folder of npm's packages with some), makes texts of
chats: with and without tools, with turns that a template refuses. CASES are
expressions and statements one by one. COUNT more are put together at random from their parts. What Jinja makes of it has to come out, and
where Jinja reports an error, an error with a line and a column."""
import glob
import json
import os
import random
import re
import subprocess
import sys
import warnings
from datetime import datetime

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

TOOLS = [{"type": "function", "function": {
    "name": "weather", "description": "The weather of a place", "return": "nothing", "parameters": {
        "type": "object", "required": ["place"], "properties": {
            "place": {"type": "string", "description": "Straße <b>\"Ü\"</b> & 'so'"}, "unit": {"enum": ["C", "F"]},
            "days": {"type": "array", "items": {"type": "integer"}}, "more": {"type": "object", "properties": {"x": {"type": ["a", "b"]}}}}}}},
    {"type": "function", "function": {"name": "none", "description": "", "parameters": {"type": "object", "properties": {}}}}]
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "weather", "arguments": {"place": "Köln", "n": 1.5}}}]}
CHATS = [[{"role": "user", "content": " Hello \n"}],
         [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes 😀"},
          {"role": "user", "content": "a\n\nb"}],
         [{"role": "user", "content": "What of it?"}, CALL, {"role": "tool", "content": "{\"t\": 3}"}, {"role": "tool", "content": "more"}],
         [{"role": "user", "content": "1"}, {"role": "user", "content": "2"}],
         [{"role": "assistant", "content": "first"}], [{"role": "tool", "content": "x"}], [{"role": "other", "content": "x"}],
         [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " seen "}]}],
         [{"role": "user", "content": None}], [{"role": "user"}], []]

EXPRESSIONS = r"""
1 + 2 * 3 - -4|abs
7 // 2 ~ '|' ~ -7 // 2 ~ '|' ~ 7 % -3 ~ '|' ~ 7 / 2 ~ '|' ~ 2 ** 10 ~ '|' ~ 2 ** -1
1.0 ~ 1e20 ~ 1e-7 ~ 0.1 + 0.2 ~ 123456789.123 ~ 1e16 ~ 1e15 ~ 12.0 // 5
'a' * 3 + 'b' ~ [1] * 2 ~ ('x', 1) ~ (1,) ~ ()
none ~ True ~ false ~ [none, true, 'q"', "it's", 'a\nb\\', 1.5, {'k': [1]}]
'ab' in 'cabd' and 'x' not in ['y'] and 'k' in {'k': 1} and not 1 in []
1 < 2 < 3 ~ (1 < 3 < 2) ~ ('a' < 'b') ~ ([1, 2] < [1, 3])
1 == 1.0 ~ (true == 1) ~ ('1' == 1) ~ (none == false) ~ ([1] == (1,)) ~ (nope == nada)
'yes' if 0 else 'no'
'yes' if 1
(text)[1:4] ~ '|' ~ text[-3:] ~ '|' ~ text[::-1] ~ '|' ~ text[:2] ~ text[5:2] ~ text[-100:100:3] ~ text[3]
numbers.0 ~ numbers.1.0 ~ people.0.name ~ text.0 ~ [[1, 2]].0.1 ~ thing.0 ~ numbers.9
range(*[1, 4])|list ~ dict(**{'a': 1})|tojson ~ dict(b=2, **thing)|length ~ 'a-b'.split(*['-', 1]) ~ dict(**[1])
dict(a=1, **{'a': 2})
range(*3)
range(*[1], 2)
dict(**thing, a=1)
none|map('upper')|list ~ ''|selectattr('x')|list ~ 0|select|list ~ none|rejectattr('x', 'defined')|list
5|map('upper')|list
numbers[1:] ~ numbers[::-2] ~ numbers[-1] ~ numbers[10] ~ numbers[-10]
text.upper() ~ text.lower() ~ text.title() ~ text.capitalize() ~ 'ß'|upper
'  a b  '.strip() ~ '|' ~ 'xxaxx'.strip('x') ~ '|' ~ 'xyaxy'.lstrip('yx') ~ '|' ~ ' a '.rstrip() ~ '|'
'a,b,,c'.split(',') ~ 'a b  c'.split() ~ 'a,b,c'.split(',', 1) ~ 'a,b,c'.rsplit(',', 1) ~ ''.split(',') ~ ''.split() ~ ' a b c'.split(None, 1)
'abcabc'.replace('b', 'XX') ~ 'abc'.replace('', '-') ~ 'aaa'.replace('a', 'b', 2) ~ 'abc'|replace('c', 'd')
'abc'.startswith('ab') ~ 'abc'.endswith(('x', 'c')) ~ 'abcb'.find('b') ~ 'abcb'.rfind('b') ~ 'abc'.find('x') ~ 'üab'.find('b')
'a-b'.join(['1', '2']) ~ ', '.join('abc') ~ 'aXbX'.count('X') ~ 'a\nb\r\nc\n'.splitlines() ~ 'abc'.removeprefix('a') ~ 'abc'.removesuffix('bc')
'12'.isdigit() ~ ''.isdigit() ~ ' \t'.isspace() ~ 'ab1'.isalpha() ~ 'ab1'.isalnum()
thing.name ~ thing['name'] ~ thing.get('name') ~ thing.get('no') ~ thing.get('no', 5) ~ thing.missing ~ thing['missing']
thing.keys()|list ~ thing.values()|list ~ thing.items()|list ~ thing|items|list
thing.items is defined ~ thing['items'] ~ (thing.items is callable)
thing|length ~ text|length ~ numbers|count ~ nope|length
thing|tojson ~ numbers|tojson ~ text|tojson ~ none|tojson ~ 1.0|tojson ~ true|tojson
thing|tojson(indent=2)
thing|tojson(indent=None, separators=(',', ':'))
[[], {}, [1]]|tojson(indent=1) ~ {'b': 1, 'a': [2]}|tojson(sort_keys=true) ~ 'é😀\x7f\x01"'|tojson(ensure_ascii=true)
'<b> & \'q\' "d"'|tojson
nope|default('d') ~ ''|default('d') ~ ''|default('d', true) ~ none|default('d') ~ ''|d('e', boolean=true)
numbers|first ~ numbers|last ~ text|first ~ []|first ~ thing|first
numbers|join ~ numbers|join(', ') ~ people|join('+', attribute='name') ~ nope|join
people|map(attribute='name')|join(',') ~ ['a', 'b']|map('upper')|list ~ people|map(attribute='age', default=0)|list
people|selectattr('age')|list|length ~ people|selectattr('name', 'equalto', 'Bo')|map(attribute='age')|list ~ people|rejectattr('age', 'defined')|list
[0, 1, none, 2]|select|list ~ [1, 2, 3]|select('odd')|list ~ [1, 2, 3]|reject('gt', 1)|list
[3, 1, 2]|sort ~ ['b', 'A', 'c']|sort ~ ['b', 'A', 'c']|sort(case_sensitive=true) ~ [3, 1]|sort(reverse=true) ~ people|sort(attribute='name')|map(attribute='name')|list
[1, 2, 1, 3]|unique|list ~ [1, 5, 2]|max ~ [1, 5, 2]|min ~ [1, 2.5]|sum ~ people|sum(attribute='n')
thing|dictsort ~ {'b': 1, 'A': 2}|dictsort ~ {'b': 1, 'A': 2}|dictsort(by='value')
'3'|int + '4.7'|int ~ 'x'|int ~ 'x'|int(9) ~ '2.5'|float ~ 3.9|int ~ true|int
text|trim ~ '  x '|trim ~ 'xax'|trim('x') ~ 5|string + 'a' ~ [1]|string
'a\nb\n\nc'|indent(2) ~ 'a\nb'|indent(1, true) ~ 'a\n\nb'|indent(first=false, blank=true)
'abc'|reverse ~ [1, 2]|reverse|list ~ 'ab'|list
text is string ~ (1 is number) ~ (true is number) ~ (true is integer) ~ (1 is integer) ~ (1.5 is float) ~ (true is boolean) ~ (none is none)
thing is mapping ~ (numbers is iterable) ~ (text is iterable) ~ (1 is iterable) ~ (numbers is sequence) ~ (thing is sequence) ~ (nope is iterable)
nope is defined ~ (text is defined) ~ (nope is undefined) ~ (thing.no is defined) ~ (thing.name is defined)
3 is odd ~ (4 is even) ~ (6 is divisibleby 3) ~ (1 is in [1]) ~ (1 is eq 1) ~ (2 is gt(1)) ~ (1 is ne 2) ~ (true is true) ~ (1 is true) ~ (text is not string)
range(3)|list ~ range(1, 7, 2)|list ~ range(3, 0, -1)|list
dict(a=1, b=2) ~ dict({'a': 1}, a=3)
namespace(a=1).a ~ namespace({'q': 2}).q
not nope ~ (nope or 'x') ~ (text and 'y') ~ (0 or none or '')
'a' 'b' ~ "c\x41\u00e9\t|\q|\101"
nope.x
nope['x']
nope + 1
nope()
1 + 'a'
'a' + 1
1 / 0
'a' < 1
none.x ~ 'after'
none.x.y
5|length
5|first
[1] + 'a'
{}['x'] ~ {}.x
{'a': 1, 'a': 2} ~ {1: 'x', 1.0: 'y'}
thing.name.first
text|nofilter
text is notest
[].append(1)
thing.update({})
thing.pop('name')
raise_exception('no ' ~ 'more')
strftime_now('%Y-%m-%d') ~ strftime_now('%d %b %Y')
(1
1 +
'abc
a b
{'a' 1}
[1 2]
.x
text.5x
'x' is
text|
""".strip("\n").split("\n")

STATEMENTS = [
    "{% for x in numbers %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ x }},{% endfor %}",
    "{% for x in numbers %}{{ loop.previtem }}<{{ loop.nextitem }};{% else %}none{% endfor %}",
    "{% for x in [] %}{{ x }}{% else %}none{% endfor %}{% for x in nope %}x{% else %}nothing{% endfor %}",
    "{% for k, v in thing.items() %}{{ k }}={{ v }};{% endfor %}{% for k in thing %}{{ k }}{% endfor %}{% for c in 'üb' %}[{{ c }}]{% endfor %}",
    "{% for x in numbers if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}",
    "{% for x in numbers %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for a in numbers %}{% for b in [1, 2] %}{{ loop.index }}{{ loop.depth }}{% if b == 1 %}{% continue %}{% endif %}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% set x = 1 %}{% for y in numbers %}{% set x = x + y %}{{ x }} {% endfor %}{{ x }}",
    "{% set n = namespace(x=1) %}{% for y in numbers %}{% set n.x = n.x + y %}{% endfor %}{{ n.x }}{{ n.no }}",
    "{% set a, b = 1, 'z' %}{{ a }}{{ b }}{% set a, b = [1, 2, 3] %}",
    "{% set x %}in {{ text }}{% endset %}[{{ x }}]{% set y | upper | trim %} low {% endset %}{{ y }}{% set z = 1, 2 %}{{ z }}",
    "{% if nope %}a{% elif text == 'x' %}b{% elif numbers %}c{% else %}d{% endif %}{% if 0 %}{% else %}e{% endif %}",
    "{% if 1 %}{% set inner = 5 %}{% endif %}{{ inner }}{% for i in [1] %}{% set gone = 5 %}{% endfor %}{{ gone }}",
    "{% macro m(a, b=2, c=a) %}<{{ a }}{{ b }}{{ c }}>{% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m(b=4, a=5) }}{{ m() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, b=2) }}",
    "{% macro m(a, b=2) %}<{{ a }}{{ b }}>{% endmacro %}{{ m(*[1]) }}{{ m(*[3, 4]) }}{{ m(**{'a': 5}) }}{{ m(*'xy') }}{{ m(b=1, *[2]) }}{{ m(*nope) }}",
    "{% macro m(*a) %}{% endmacro %}",
    "{% macro m(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call m('a') %}in {{ text }}{% endcall %}{% call m('b') -%}  x  {%- endcall %}",
    "{% macro m(l) %}{% for x in l %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(v, i=0) m(numbers) %}[{{ i }}:{{ v }}]{% endcall %}",
    "{% macro m() %}{% set n = namespace(f=caller()) %}{{ n.f|upper }}{% endmacro %}{% for x in [1, 2] %}{% call m() %}a{{ x }}{% endcall %}{% endfor %}",
    "{% macro o() %}({{ caller() }}){% endmacro %}{% macro m() %}{% call o() %}{{ caller() }}{% endcall %}{% endmacro %}{% call m() %}z{% endcall %}",
    "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ 'y' if caller is defined else 'n' }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}",
    "{% call text %}{% endcall %}", "{% call m() %}", "{% call nope() %}{% endcall %}", "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call m() %}{% endcall %}",
    "{% for x in [1] %}{% call dict() %}{% break %}{% endcall %}{% endfor %}",
    "{% set top = 'T' %}{% macro m(d) %}{{ top }}{{ d }}{% if d %}{{ m(d - 1) }}{% endif %}{% endmacro %}{{ m(3) }}{{ m(1)|length }}",
    "{% macro m() %}{% for x in numbers %}{{ x }}{% endfor %}{% endmacro %}{% for i in [1, 2] %}{{ m() }}{% endfor %}",
    "a  {%- if 1 -%}  b  {%- endif -%}  c",
    "  {% if 1 %}\n  b\n  {% endif %}\nc\n",
    "  {%+ if 1 +%}\n  b\n{% endif %}  \n\nc\n\n",
    "x {# a comment #} y\n  {# on its line #}\nz {#- strips -#} w\n  {#+ keeps +#}\nv",
    "  {{ text }}\n  {{- text -}}\n  {{ text }}  \n",
    "\n\n{% set x = 1 %}\n\n{{ x }}\n",
    "{% for x in [1, 2] %}\n    {% if x == 1 %}\none\n    {% else %}\ntwo\n    {% endif %}\n{% endfor %}\nend",
    "  {% set x = 1 %}{% set y = 2 %}\n  {% set z = 3 %}  {{ x + y + z }}",
    "a\r\nb\rc\n{% if 1 %}\r\nd{% endif %}\r\n",
    "{% generation %}in{{ text }}{% endgeneration %}",
    "{{ '{{' }}{{ '%}' }}{{ {'a': {'b': 1}}['a'] }}{ % { { }} %}",
    "{% set x = {'a': {'b': {}}} %}{{ x.a.b }}{{ {}}}{{ {'x': {}}}}",
    "{% if 1 %}", "{% endif %}", "{% for x in %}{% endfor %}", "{% for in x %}{% endfor %}", "{% nonsense %}", "{{ 1", "{% set x %}", "{# open",
    "{% break %}", "{% if 1 %}{% else %}{% else %}{% endif %}", "{% set 1 = 2 %}", "{% set text.x = 2 %}", "{{ }}", "{% %}", "{% macro %}{% endmacro %}",
    "a\n bc {{ nope.x }}", "{% if %}{% endif %}", "{% for x in 5 %}{% endfor %}", "}} %} #}", "{% endfor %}", "{% set x = %}", "{% set = 1 %}",
]
VARIABLES = {"text": "Hé llo\twörld ", "numbers": [1, 2, 3, 4], "thing": {"name": "N", "items": [1], "ok": True, "none": None, "f": 1.5},
             "people": [{"name": "Bo", "age": 3, "n": 1}, {"name": "al", "n": 2.5}], "bos_token": "<s>", "eos_token": "</s>"}


class Generation(jinja2.ext.Extension):
    """The block that marks what a model has written: its body."""
    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda format: datetime.now().strftime(format)
    return made


def wanted(jinja, source, variables):
    """The text, or None where Jinja reports an error."""
    try:
        return jinja.from_string(source).render(**variables)
    except Exception as error:  # errors of Python, too, end a template
        return None


def got(driver, cases):
    data = b""
    for source, variables in cases:
        for text in (source, json.dumps(variables)):
            data += f"{len(text.encode())}\n".encode() + text.encode()
    out = subprocess.run([driver], input=data, capture_output=True, check=True).stdout
    results, at = [], 0
    for _ in cases:
        end = out.index(b"\n", at)
        status, size = map(int, out[at:end].split())
        results.append((status, out[end + 1 : end + 1 + size].decode()))
        at = end + 1 + size
    return results


def random_template(rng):
    """Parts of expressions in statements, some of which fit together."""
    def atom():
        return rng.choice(["1", "-2", "0.5", "'a b'", "''", "none", "true", "nope", "text", "numbers", "thing", "people", "thing.name", "people[0]",
                           "[1, 'x']", "{'k': 2}", "x", "loop.index0", "loop.last", "n.v"])

    def expression(depth):
        if depth == 0:
            return atom()
        a, b = expression(depth - 1), expression(rng.randrange(depth))
        forms = [f"{a} + {b}", f"{a} ~ {b}", f"({a} and {b})", f"({a} or {b})", f"not {a}", f"({a} if {b} else {atom()})", f"({a})[{b}]", f"text[:({a})|length]", f"numbers[({a})|length:]",
                 f"({a})|length", f"({a})|string", f"({a})|tojson", f"({a})|default({b})", f"({a})|join({b})", f"({a})|first", f"({a})|list",
                 f"({a})|trim", f"({a})|upper", f"({a}) in ({b})", f"({a}) == ({b})", f"({a}) < ({b})", f"({a}) is string", f"({a}) is defined",
                 f"({a}) is iterable", f"({a}).name", f"({a}).split({b})", f"({a}).get({b})", f"({a}) * ({b})", f"({a})|length % 3 - ({b})|length", f"m({a})",
                 f"({a})|replace('a', {b})", f"({a})|last", f"({a})|sort", f"({a}).strip({b})", f"({a}).startswith({b})"]
        return rng.choice(forms)

    def block(depth):
        space = lambda: rng.choice(["", "", " ", "\n", "  \n  "])
        dash = lambda: rng.choice(["", "", "-"])
        open_, close = "{%" + dash() + " ", " " + dash() + "%}"
        e = lambda: expression(rng.randint(0, 2))
        if depth == 0 or rng.random() < 0.5:
            return space() + rng.choice(["{{" + dash() + " " + e() + " " + dash() + "}}", "word", open_ + "set x = " + e() + close,
                                         open_ + "set n.v = " + e() + close, "{#" + dash() + " c " + dash() + "#}"]) + space()
        body = "".join(block(depth - 1) for _ in range(rng.randint(1, 3)))
        return space() + rng.choice([f"{open_}if {e()}{close}{body}{open_}else{close}{block(0)}{open_}endif{close}",
                                     f"{open_}for x in {e()}{close}{body}{open_}endfor{close}",
                                     f"{open_}set x{close}{body}{open_}endset{close}"]) + space()

    return "{% macro m(v) %}<{{ v }}>{% endmacro %}{% set n = namespace(v=1) %}" + "".join(block(rng.randint(0, 2)) for _ in range(rng.randint(1, 3)))


# What Jinja prints and no chat template does: where an object lies in memory, a generator.
UNLIKE = re.compile(r"<[^<>]* at 0x[0-9a-f]+>|<(Macro|Namespace|LoopContext|AsyncLoop|class) |dict_(items|keys|values)|<jinja2|Undefined")


def compare(driver, jinja, cases, what):
    texts, errors, wrong = 0, 0, []
    for (source, variables), (status, text) in zip(cases, got(driver, cases)):
        want = wanted(jinja, source, variables)
        if want is not None and UNLIKE.search(want):
            continue
        if want is None:
            if status != 3 or not re.match(r"error\[R070[567]\]: the chat template:\d+:\d+: .", text):
                wrong.append(f"{source!r}: an error in Jinja, but {text!r}")
            errors += 1
            continue
        if status != 0 or text != want:
            wrong.append(f"{source!r}:\n{text!r}\nexpected\n{want!r}")
        texts += 1
    assert not wrong, "\n\n".join([f"{what}: {len(wrong)} differ", *wrong[:20]])
    print(f"{what}: {texts} texts, {errors} errors")


def read_templates(path):
    """Pairs of a name and a template."""
    if os.path.isdir(path):
        files = glob.glob(f"{path}/*/models/tokenizer_config.json")
        return [pair for file in sorted(files) for pair in read_templates(file)]
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if not path.endswith(".json"):
        return [(path.split("/")[-1], text)]
    found = json.loads(text).get("chat_template") or []
    name = path.split("/")[-3]
    return [(name, found)] if isinstance(found, str) else [(f"{name} {one['name']}", one["template"]) for one in found]


def main():
    driver, folder, seed, count = sys.argv[1:5]
    warnings.simplefilter("ignore", SyntaxWarning)  # of the code that Jinja makes
    jinja, rng = environment(), random.Random(int(seed))
    variables = []
    for chat in CHATS:
        for more in ({}, {"add_generation_prompt": True}, {"tools": TOOLS, "add_generation_prompt": True}, {"tools": None, "enable_thinking": False}):
            variables.append({"messages": chat, "bos_token": "<s>", "eos_token": "</s>", **more})
    sources = [pair for path in sorted(glob.glob(f"{folder}/*.jinja")) + sys.argv[5:] for pair in read_templates(path)]
    assert sources
    for name, source in sources:
        compare(driver, jinja, [(source, one) for one in variables], name)
    compare(driver, jinja, [("{{ " + one + " }}", VARIABLES) for one in EXPRESSIONS], "expressions")
    compare(driver, jinja, [(one, VARIABLES) for one in STATEMENTS], "statements")
    compare(driver, jinja, [(random_template(rng), VARIABLES) for _ in range(int(count))], f"random templates, seed {seed}")


if __name__ == "__main__":
    main()
