# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grammars that are made to take all memory or time: each is read, or refused with a reason, soon.
usage: hostile.py PROGRAM FOLDER"""
import json
import resource
import sys
import time

from driver import GBNF, JSON_SCHEMA, REGEX, Driver, write_tokenizer

CHAIN = 20000


def chain(body, last='"z"', count=CHAIN, root="r0"):
    return "\n".join([f"root ::= {root}"] + [f"r{i} ::= " + body.replace("next", f"r{i + 1}") for i in range(count)] + [f"r{count} ::= {last}"])


def nested(count):
    """Definitions each of which refers to the next twice."""
    twice = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(count)}
    return {"$defs": twice | {f"d{count}": {"type": "null"}}, "$ref": "#/$defs/d0"}


# Kind, grammar, what is said, or None; a text that fits, or None.
CASES = [
    (REGEX, "(a{1,1000000}b){0,1000000}", None, "aab" * 50),
    (REGEX, "|".join(f"w{i}" for i in range(5000)), None, "w4999"),
    (REGEX, "(((((a*)*)*)*)*)*b", None, "aaaaab"),
    (GBNF, chain('"(" next'), None, None),
    (GBNF, chain('next "x" | next "y"', count=40), None, "z" + "xy" * 20),
    (GBNF, chain('next? "x"? next?', '"z"?', 12, "r0*"), None, "zx"),
    (GBNF, 'root ::= "a" root "b"? | "a" root | ""', None, "aaab"),
    (GBNF, 'root ::= "' + "a" * 2000000 + '"', "too large", None),
    (JSON_SCHEMA, json.dumps({"enum": [f"value {i}" for i in range(5000)]}), None, '"value 4999"'),
    (JSON_SCHEMA, json.dumps({"type": "object", "properties": {f"n{i}": {"type": "integer"} for i in range(1000)}}), None, '{"n5":1,"n777":2}'),
    (JSON_SCHEMA, json.dumps({"type": "object", "properties": {f"n{i}": {} for i in range(6000)}}), "more than 5000 properties", None),
    (JSON_SCHEMA, json.dumps({"type": "object", "properties": {"n" * 50000: {}}}), "names of its other properties are too many", None),
    (JSON_SCHEMA, json.dumps({"allOf": [{"anyOf": [{"title": f"{i} {j}"} for j in range(10)]} for i in range(6)]}), "more than 20000 branches", None),
    (JSON_SCHEMA, '{"items":' * 40 + "{}" + "}" * 40, "nested too deeply", None),
    (JSON_SCHEMA, json.dumps({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}), None, "1"),
    (JSON_SCHEMA, json.dumps(nested(60)), None, "null"),
    (JSON_SCHEMA, json.dumps({"type": "array", "prefixItems": [{}] * 2000}), "more than 1000 schemas of elements", None),
    (JSON_SCHEMA, json.dumps({"type": "array", "items": {"type": "null"}, "minItems": 1000000000}), None, None),
    (JSON_SCHEMA, json.dumps({"type": "object", "patternProperties": {"(a|b)*a(a|b){14}": {}, "^x.{100}y": {}}}), "are too many", None),
]


def main():
    program, folder = sys.argv[1:]
    write_tokenizer(f"{folder}/bytes.json", ["aaaa", "zx"])
    driver = Driver(program, f"{folder}/bytes.json")
    for kind, grammar, expected, text in CASES:
        begin = time.time()
        problem = driver.make(kind, grammar)
        assert (problem is None) if expected is None else (problem and expected in problem), (grammar[:200], problem)
        assert text is None or driver.fits(text), (grammar[:200], text)
        seconds = time.time() - begin
        assert seconds < 20, (grammar[:200], seconds)
    driver.process.stdin.close()
    assert driver.process.wait() == 0
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    assert most < 1000, most
    print(f"{len(CASES)} hostile grammars")


if __name__ == "__main__":
    main()
