# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grammars in GBNF and Lark's form with texts that fit them, and texts that do not; and what is said of those that are not read.
usage: grammars.py PROGRAM FOLDER"""
import json
import sys

from driver import GBNF, JSON_OBJECT, JSON_SCHEMA, LARK, REGEX, Driver, write_tokenizer

# Kind, grammar, texts that fit, texts that do not.
CASES = [
    (GBNF, r'''# arithmetic
root ::= (expr "=" ws term "\n")+
expr ::= term ([-+*/] term)*
term ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num ::= [0-9]+ ws
ws ::= [ \t\n]*
''', ["a=1\n", "(x_1 +2)*3 = y\n", "1+1=2\n\n3=z\n"], ["a=1", "a=\n", "(a=1\n", "1x=1\n", ""]),
    (GBNF, '''root ::= "a" rest{2,3}
rest ::=
  "b" [^x-z\\n] # a comment
  | "ü" .
''', ["abcbd", "abcücb中"], ["abc", "abxbd", "abcbdbdbd", "ab\nbc"]),
    # A repetition that is counted far.
    (GBNF, 'root ::= ("a" | "bc"){3,10000} "."', ["aaa.", "abcbca.", "a" * 10000 + "."], ["aa.", "a" * 10001 + ".", "abc."]),
    # Rules that begin with themselves, and one that may be empty in front.
    (GBNF, 'root ::= sum\nsum ::= sum "+" digit | sum empty "-" digit | digit\nempty ::= "_"?\ndigit ::= [0-9]\n',
     ["1", "1+2-3", "1_-2+4"], ["", "+1", "1+", "1_+2"]),
    (GBNF, 'root ::= ("" | "a"? "b"?){2,4} "."', [".", "ab.", "abababab.", "bbaa."], ["ababababa.", "bababababab."]),
    # A list that calls itself last does not fill the stack.
    (GBNF, 'root ::= "x" root | "y"', ["y", "x" * 5000 + "y"], ["x", "xyy"]),
    (GBNF, 'root ::= "(" root ")" root | ""', ["", "()", "(()())()", "(" * 300 + ")" * 300], ["(", "())", ")("]),
    (LARK, r'''%llguidance {}
// a calculator
?start: sum
?sum: product | sum "+" product -> add | sum "-" product -> sub
?product: atom
    | product "*" atom -> mul
?atom: NUMBER -> number | "-" atom | "(" sum ")" | NAME "=" sum
%import common.CNAME -> NAME
%import common.NUMBER
%import common (WS_INLINE, INT)
%ignore WS_INLINE
''', ["1", "1 + 2*3", " x = (1.5e3 -y=2)\t", "- -1"], ["", "1 +", "(1", "1 2", "x =\n1"]),
    (LARK, r'''start: KEY ":" value ("," KEY ":" value)~1..2
KEY: /[a-z]+/i
value: "yes"i | "a".."f" | /x\/[0-9]{2}/ | ["(" value ")"]
''', ["a:yes,B:c", "A:YeS,b:x/12,c:(a)", "k:,l:"], ["a:yes", "a:g,b:a", "a:yes,b:a,c:b,d:c"]),
    (LARK, 'start: item+\nitem: "[" [item] "]"\n', ["[]", "[[]][]"], ["", "[", "[]]", "[[][]]"]),
    (JSON_OBJECT, "", ["{}", '{"a": [1, {"b": null}], "c": "\\ud83d\\ude00"}', '{\n  "a": -1.5e-3\n}'],
     ["", "[]", "{a: 1}", '{"a": 01}', '{"a": "\\ud83d"}', '{"a":1,}', '{"a"  :1}', '{"a":1}\n']),
    # Schemas, by the rules of the specification that are easy to get wrong.
    (JSON_SCHEMA, '{"minimum": 3}', ["3", '"x"', "[1]", "3.0", "null"], ["2", "2.9999", "-3"]),
    (JSON_SCHEMA, '{"type": "string", "pattern": "a|b$"}', ['"xab"', '"ax"', '"xb"'], ['"bx"', '""', "1"]),
    (JSON_SCHEMA, '{"type": "string", "minLength": 2, "maxLength": 2}', ['"éü"', '"\U0001f600\U0001f600"', '"\\ud83d\\ude00a"', '"\\n\\""'], ['"é"', '"abc"']),
    (JSON_SCHEMA, '{"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["b"], "type": "object"}',
     ['{"a":1,"b":2}', '{"b":null}', '{"b":1,"c":"x"}', '{"b": 1, "ab": {}, "\\"": 2}'], ['{"a":1}', '{"b":1,"a":"x"}', '{"b":1,"b":2}', "{}"]),
    (JSON_SCHEMA, '{"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": {"type": "string"}, "type": "object"}',
     ['{"a":1}', '{"ab":1,"ba":"x"}', "{}"], ['{"a":"x"}', '{"b":1}']),
    (JSON_SCHEMA, '{"properties": {"ab": {"maximum": 5}}, "patternProperties": {"b$": {"type": "integer"}}, "additionalProperties": false, "type": "object"}',
     ['{"ab":4}', '{"ab":-1,"b":9}'], ['{"ab":6}', '{"ab":4.5}', '{"a":1}']),
    (JSON_SCHEMA, '{"allOf": [{"type": ["integer", "string"]}, {"anyOf": [{"type": "string"}, {"minimum": 10}]}], "maximum": 12}', ["10", "12", '"x"'], ["9", "13", "null"]),
    (JSON_SCHEMA, '{"enum": [1, "a", [2, {"b": 3}]], "type": ["array", "integer"]}', ["1", '[2,{"b":3}]', '[ 2, {"b": 3}]'], ['"a"', "2", "[2]"]),
    (JSON_SCHEMA, '{"prefixItems": [{"type": "null"}, {"type": "integer"}], "items": {"type": "boolean"}, "type": "array", "maxItems": 3}',
     ["[]", "[null]", "[null,1]", "[null, 1, true]"], ["[1]", "[null,1,1]", "[null,1,true,true]"]),
    (JSON_SCHEMA, '{"exclusiveMinimum": -0.5, "maximum": 100.25, "type": "number"}', ["0", "-0.4", "-0.49999", "100.25", "100.250", "99.9", "7"], ["-0.5", "100.251", "101", "-1", "1."]),
    # What zod says of each whole number.
    (JSON_SCHEMA, '{"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991}', ["0", "-1", "9007199254740991", "-9007199254740991", "8999999999999999"],
     ["9007199254740992", "-9007199254740992", "9100000000000000", "10000000000000000"]),
    (JSON_SCHEMA, '{"type": "integer", "minimum": -12, "exclusiveMaximum": 1050}', ["-12", "0", "1049", "-1", "999"], ["-13", "1050", "01", "-0", "2000"]),
    (JSON_SCHEMA, '{"$defs": {"a~b": {"type": "null"}, "x": {"$anchor": "here", "type": "boolean"}}, "anyOf": [{"$ref": "#/$defs/a~0b"}, {"$ref": "#here"}]}', ["null", "true"], ["1"]),
    (JSON_SCHEMA, '{"format": "date", "type": "string"}', ['"2024-02-29"', '"1999-12-31"', '"2000-02-29"'], ['"2023-02-29"', '"1900-02-29"', '"2024-04-31"', '"2024-1-1"']),
    (JSON_SCHEMA, "true", ["1", '{"a":[]}'], ["", "x"]),
    (REGEX, r"(?<year>\d{4})-\p{Lu}\p{Ll}+( [^\s\d]{2,})?", ["2024-Äpfel", "1999-Ab cd"], ["2024-äpfel", "199-Ab", "1999-Ab c"]),
]

# Kind, grammar, what is said.
WRONG = [
    (GBNF, 'root ::= a "x"\na ::= b?\nb ::= a "y"', "the rule `a` begins with itself, by way of `b`"),
    (GBNF, 'root ::= "a" root', "no text fits the grammar"),
    (GBNF, 'root ::= "a" item', "1:14: this rule is not defined: `item`"),
    (GBNF, 'top ::= "a"', "there is no rule for the whole text: `root`"),
    (GBNF, 'root ::= "a"\nroot ::= "b"', "2:1: this rule is there twice: `root`"),
    (GBNF, 'root ::= "a', "1:11: a string has no end"),
    (GBNF, 'root ::= [a', "a set of characters has no end"),
    (GBNF, 'root ::= ("a"', "expected `)`"),
    (GBNF, 'root ::= "a" )', "`)` closes nothing"),
    (GBNF, 'root ::= "a"{3,2}', "least count is above its most"),
    (GBNF, 'root ::= "\\q"', "this escape is not known"),
    (GBNF, "root ::= <|end|>", "tokens by their names or numbers are not read"),
    (GBNF, "root = 1", "expected `::=`"),
    (GBNF, 'root ::= "a"{9999999}', "counted to 1000000 at most"),
    (GBNF, "root ::= " + "(" * 300 + '"a"', "nested too deeply"),
    (LARK, "start: x\nx: y\n", "this rule is not defined: `y`"),
    (LARK, "%import python.NAME\nstart: NAME", "only terminals of `common`"),
    (LARK, "%import common.NOPE\nstart: NOPE", "this terminal of `common` is not known: `NOPE`"),
    (LARK, "%declare X\nstart: X", "expected `%import`, `%ignore` or `%llguidance {}`"),
    (LARK, 'start: x{"a"}\n', "templates are not read"),
    (LARK, "start: /(?=a)b/\n", "looks ahead or behind"),
    (LARK, "start: /a\n", "an expression has no end"),
    (LARK, "X: y\ny: \"a\"\nstart: X", "a terminal has no rules in it"),
    (LARK, "start: <think>", "tokens by their names"),
    (REGEX, "a(b", "a group has no end"),
    (REGEX, "a)b", "`)` closes nothing"),
    (REGEX, "[a", "a set of characters has no end"),
    (REGEX, r"(a)\1", "a reference to a group is not read"),
    (REGEX, r"\bword", "the edge of a word is not read"),
    (REGEX, "a**", "a repetition of a repetition"),
    (REGEX, "a{5,2}", "least count is above its most"),
    (REGEX, "*", "a repetition of nothing"),
    (REGEX, "a^b", "`^` and `$` are read at the beginning and the end"),
    (REGEX, r"\p{Greek}", "expected a general category"),
    (REGEX, "(" * 500 + ")" * 500, "groups are nested too deeply"),
    (JSON_OBJECT, "{}", "has no text"),
    (JSON_SCHEMA, "{", "the schema is no JSON: byte 2"),
    (JSON_SCHEMA, '{"typ": "string"}', "`#/typ`: this keyword is not known"),
    (JSON_SCHEMA, '{"properties": {"a/b": {"not": {}}}}', "`#/properties/a~1b/not`: `not` is not read"),
    (JSON_SCHEMA, '{"type": "text"}', "`#/type`: expected null, boolean"),
    (JSON_SCHEMA, '{"items": {"type": "array", "uniqueItems": true}}', "`#/items/uniqueItems`: that no element is there twice"),
    (JSON_SCHEMA, '{"$ref": "#/$defs/a"}', "`#/$ref`: there is nothing at this place"),
    (JSON_SCHEMA, '{"$ref": "https://example.com/a"}', "only references within the schema"),
    (JSON_SCHEMA, '{"oneOf": [{"type": "integer"}, {"type": "number"}]}', "`#/oneOf`: its branches 0 and 1 may both fit"),
    (JSON_SCHEMA, '{"type": "string", "format": "colour"}', "`#/format`: this format is not known"),
    (JSON_SCHEMA, '{"type": "string", "pattern": "a(?!b)"}', "`#/pattern`: byte 5: an expression that looks ahead"),
    (JSON_SCHEMA, '{"type": "string", "pattern": "^(a|bb)*$", "minLength": 3}', "`#/pattern`: `minLength` or `maxLength` beside it"),
    (JSON_SCHEMA, '{"type": "number", "multipleOf": 0.3}', "`#/multipleOf`: `multipleOf` is read of"),
    (JSON_SCHEMA, '{"type": "integer", "minimum": 5, "maximum": 4}', "no text fits"),
    (JSON_SCHEMA, '{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}', "no text fits"),
    (JSON_SCHEMA, '{"minLength": "1"}', "`#/minLength`: expected a whole number"),
    (JSON_SCHEMA, '{"title": 1, "title": 2}', "`#/title`: this keyword is there twice"),
    (JSON_SCHEMA, '{"nullable": true}', "this is OpenAPI's"),
    (9, "", "kind 9; known are 0 to 4"),
]


def main():
    program, folder = sys.argv[1:]
    write_tokenizer(f"{folder}/bytes.json", ["xxxxxxxx", "aaaaaa", '":', '", "', "((", ")(", "))", "true", "{}", "\n  ", "trues"])
    driver = Driver(program, f"{folder}/bytes.json")
    texts = 0
    for kind, grammar, good, bad in CASES:
        problem = driver.make(kind, grammar)
        assert not problem, (grammar, problem)
        for text in good:
            assert driver.fits(text), (grammar, text)
        for text in bad:
            assert not driver.fits(text), (grammar, text)
        for seed in range(20):
            walk = driver.walk(seed, 20)
            assert walk is None or driver.fits(walk), (grammar, walk)
        texts += len(good) + len(bad)
    # What has to come, in the tokenizer's own tokens, as far as these are certain.
    tokens = {number: token for token, number in json.load(open(f"{folder}/bytes.json"))["model"]["vocab"].items()}
    for grammar, expected in [('root ::= "truexxxxxxxx((" [a-b]', ["true", *["xx"] * 4, "(("]), ('root ::= "xtrue" [a-s]', ["x"]), ('root ::= "a" | "true"', []),
                              ('root ::= "true"', [])]:
        assert driver.make(GBNF, grammar) is None
        assert [tokens[number] for number in driver.forced()] == expected, (grammar, driver.forced())
    for kind, grammar, expected in WRONG:
        problem = driver.make(kind, grammar)
        assert problem and expected in problem, (grammar, problem)
    print(f"{len(CASES)} grammars, {texts} texts, {len(WRONG)} that are refused")


if __name__ == "__main__":
    main()
