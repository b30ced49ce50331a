# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks of a vocabulary that is large enough for those that are kept, with tokens that end what they are in, and long ones, held against
taking each token.
usage: masks.py PROGRAM FOLDER SEED TEXTS TOKENS"""
import json
import random
import sys

from driver import GBNF, JSON_OBJECT, JSON_SCHEMA, LARK, REGEX, Driver, write_tokenizer

GRAMMARS = [
    (JSON_OBJECT, ""),
    (JSON_SCHEMA, {"type": "object", "properties": {"ab": {"type": "string", "minLength": 35, "maxLength": 90}, "c": {"type": "array", "items": {"type": "string"}}},
                   "required": ["ab", "c"]}),
    (JSON_SCHEMA, {"type": "array", "items": {"anyOf": [{"type": "string", "pattern": "^[a-m]*$"}, {"type": "string", "maxLength": 40}, {"type": "number"}]}}),
    (REGEX, "([a-z]{3,60}[,\"]|a{40,}){2,5}[A-Z ]*"),
    (REGEX, ".{0,33}(ab|[^a]{1,70})*c"),
    (GBNF, 'root ::= "[" (item ("," item){0,50})? "]"\nitem ::= [a-z"]+ root? | root'),
    (LARK, 'start: word (PUNCT word)*\nword: /[a-z]+/ | "\\"" /[^"]{2,100}/ "\\""\nPUNCT: /[,:\\]]/\n%import common.WS\n%ignore WS\n'),
]


def main():
    program, folder, seed, count, tokens = sys.argv[1:]
    draw = random.Random(int(seed))
    words = ["a" * 200, "b" * 70, " " * 60, "ab" * 40, '"' * 20]
    while len(words) < 900:
        words.append("".join(draw.choice('aaabcdefmnz"",:[]{} \n01.A\\é') for _ in range(draw.randint(2, 7))))
    write_tokenizer(f"{folder}/many.json", words)
    driver = Driver(program, f"{folder}/many.json")
    taken = allowed = 0
    for kind, grammar in GRAMMARS:
        problem = driver.make(kind, grammar if isinstance(grammar, str) else json.dumps(grammar))
        assert not problem, problem
        for walk in range(int(count)):
            numbers = driver.check(draw.randrange(1 << 20), tokens)
            taken, allowed = taken + numbers[0], allowed + numbers[1]
    print(f"{taken} masks are right of each token; {allowed} were allowed")


if __name__ == "__main__":
    main()
