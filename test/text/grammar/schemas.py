# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random texts that follow schemas, validated by a small validator of this file, which is written after the specification, and, where MODULES
is given, by ajv; and damaged ones, which fit only where they are valid.
usage: schemas.py PROGRAM FOLDER SEED WALKS RANDOM [MODULES]

WALKS texts of each schema of schemas.json and of RANDOM random ones."""
import json
import os
import random
import re
import subprocess
import sys
from fractions import Fraction

from driver import JSON_SCHEMA, Driver, write_tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"null": lambda v: v is None, "boolean": lambda v: isinstance(v, bool), "string": lambda v: isinstance(v, str),
         "number": lambda v: isinstance(v, Fraction), "integer": lambda v: isinstance(v, Fraction) and v.denominator == 1,
         "array": lambda v: isinstance(v, list), "object": lambda v: isinstance(v, dict)}


def number(text):
    return Fraction(text)


def read(text):
    """A text of JSON, with exact numbers."""
    return json.loads(text, parse_int=number, parse_float=number)


def exact(value):
    """A keyword's value, with exact numbers."""
    return read(json.dumps(value))


def is_same(a, b):
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def is_valid(schema, value, root):
    """Whether a value fits a schema, by what the specification says of each keyword."""
    if isinstance(schema, bool):
        return schema
    fits = lambda other, part: is_valid(other, part, root)
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].split("/")[1:]:
            target = target[part]
        if not fits(target, value):
            return False
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    good = [not types or any(TYPES[name](value) for name in types),
            all(fits(part, value) for part in schema.get("allOf", [])),
            "anyOf" not in schema or any(fits(part, value) for part in schema["anyOf"]),
            "oneOf" not in schema or sum(fits(part, value) for part in schema["oneOf"]) == 1,
            "const" not in schema or is_same(exact(schema["const"]), value),
            "enum" not in schema or any(is_same(exact(one), value) for one in schema["enum"])]
    if isinstance(value, str):
        good += [len(value) >= schema.get("minLength", 0), len(value) <= schema.get("maxLength", 1e9),
                 "pattern" not in schema or re.search(schema["pattern"].replace("$", r"\Z"), value) is not None]
    if TYPES["number"](value):
        good += [value >= exact(schema.get("minimum", value.numerator // value.denominator)), value > exact(schema.get("exclusiveMinimum", -10**199)),
                 value <= exact(schema.get("maximum", 10**199)), value < exact(schema.get("exclusiveMaximum", 10**199)),
                 (value / exact(schema.get("multipleOf", 1))).denominator == 1 if "multipleOf" in schema else True]
    if isinstance(value, list):
        prefix = schema.get("prefixItems", [])
        good += [len(value) >= schema.get("minItems", 0), len(value) <= schema.get("maxItems", 1e9),
                 all(fits(one, part) for one, part in zip(prefix, value)),
                 all(fits(schema.get("items", True), part) for part in value[len(prefix):])]
    if isinstance(value, dict):
        good += [len(value) >= schema.get("minProperties", 0), len(value) <= schema.get("maxProperties", 1e9),
                 all(name in value for name in schema.get("required", []))]
        for name, part in value.items():
            own = [schema["properties"][name]] if name in schema.get("properties", {}) else []
            own += [one for pattern, one in schema.get("patternProperties", {}).items() if re.search(pattern, name)]
            good += [fits(one, part) for one in own or [schema.get("additionalProperties", True)]]
    return all(good)


def random_schema(draw, depth):
    """A schema of what is read, mostly closed."""
    kind = draw.randrange(11 if depth else 7)
    if kind == 0:
        return {"enum": draw.sample(["a", "ab", "b\"", "", 1, 2.5, None, False], draw.randint(1, 4))}
    if kind == 1:
        low = draw.randint(-300, 300)
        schema = {"type": "integer", "minimum": low}
        return schema | ({"maximum": low + draw.choice([0, 3, 90, 5000])} if draw.random() < 0.7 else {})
    if kind == 2:
        low = round(draw.uniform(-20, 20), draw.randrange(4))
        schema = {"type": "number", draw.choice(["minimum", "exclusiveMinimum"]): low}
        return schema | ({draw.choice(["maximum", "exclusiveMaximum"]): low + draw.choice([0.001, 0.5, 7, 100.25])} if draw.random() < 0.7 else {})
    if kind == 3:
        low = draw.randrange(5)
        return {"type": "string", "minLength": low} | ({"maxLength": low + draw.choice([0, 1, 5, 60])} if draw.random() < 0.6 else {})
    if kind == 4:
        return {"type": "string", "pattern": draw.choice(["^[a-f]+$", "x", "^a|b$", "^(ab|c){2,5}$", r"^\d{3}-\w*$", "^.{2}$", r"\\"])}
    if kind == 5:
        return {"type": draw.sample(["null", "boolean", "integer", "number", "string"], draw.randint(1, 3))}
    if kind == 6:
        return {"const": draw.choice(["x y", 0, [1, "a"], {"b": None}])}
    inner = lambda: random_schema(draw, depth - 1)
    if kind == 7:
        low = draw.randrange(3)
        schema = {"type": "array", "items": inner(), "minItems": low}
        if draw.random() < 0.4:
            schema["prefixItems"] = [inner() for _ in range(draw.randint(1, 2))]
        return schema | ({"maxItems": low + draw.choice([0, 1, 40])} if draw.random() < 0.6 else {})
    if kind == 8:
        return {"anyOf": [inner() for _ in range(draw.randint(1, 3))]}
    names = draw.sample(["a", "b", "name", "a\"b", "é", "ab"], draw.randrange(5))
    schema = {"type": "object", "properties": {name: inner() for name in names}, "required": draw.sample(names, draw.randint(0, len(names)))}
    if draw.random() < 0.7:
        schema["additionalProperties"] = False
    elif draw.random() < 0.5:
        schema["additionalProperties"] = inner()
    if draw.random() < 0.3:
        schema["maxProperties"] = max(len(schema["required"]), 1) + draw.randrange(3)
    return schema


def damage(draw, text):
    at = draw.randrange(len(text) + 1)
    other = draw.choice(['0', '9', '-', '"', 'a', ',', '}', '[', '.', 'e', ':', '\\', ' ', 'é'])
    return draw.choice([text[:at] + text[at + 1:], text[:at] + other + text[at:], text[:at] + other + text[at + 1:]])


def main():
    program, folder, seed, walks, count, *modules = sys.argv[1:]
    words = ['":', '", "', '"]', '"}', "}}", "[[", "true", "null", "\n    ", "name", "0000", "1234", "    ", "aaaaaaaa", "\\\"", "\\u00", "ab", "é,"]
    write_tokenizer(f"{folder}/words.json", words)
    driver = Driver(program, f"{folder}/words.json")
    draw = random.Random(int(seed))
    schemas = json.load(open(f"{HERE}/schemas.json"))
    for _ in range(int(count)):
        schemas.append(random_schema(draw, 3))
    answers, damaged, fitting = [], 0, 0
    for schema in schemas:
        problem = driver.make(JSON_SCHEMA, json.dumps(schema, ensure_ascii=False))
        if problem and "no text fits" in problem:
            continue
        assert not problem, (schema, problem)
        texts = [driver.walk(draw.randrange(1 << 20), draw.choice([0, 20, 60])) for _ in range(int(walks))]
        texts = [text for text in texts if text is not None]
        answers.append((schema, texts))
        for text in texts:
            assert is_valid(schema, read(text), schema), (schema, text)
            other = damage(draw, text)
            try:
                expected = is_valid(schema, read(other), schema)
            except ValueError:
                expected = False
            fits = driver.fits(other)
            # What is valid may have another order or more space than is made.
            assert expected or not fits, (schema, other)
            damaged += 1
            fitting += fits
    print(f"{len(answers)} schemas, {sum(len(texts) for _, texts in answers)} answers, {damaged} damaged, {fitting} of which are valid")
    if modules:
        with open(f"{folder}/answers.json", "w") as file:
            json.dump(answers, file)
        subprocess.run(["node", f"{HERE}/validate.mjs", modules[0], f"{folder}/answers.json"], check=True)


if __name__ == "__main__":
    main()
