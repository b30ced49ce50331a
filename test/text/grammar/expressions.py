# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random regular expressions against Python's `re`, on random texts: as wholes, and as `pattern` of a schema, where a part of the text has to
match.
usage: expressions.py PROGRAM FOLDER SEED COUNT"""
import json
import random
import re
import sys

from driver import JSON_SCHEMA, REGEX, Driver, write_tokenizer

LETTERS = "ab0_ é\"\\"


def atom(draw, depth):
    kind = draw.randrange(9 if depth else 6)
    if kind < 3:
        return re.escape(draw.choice(LETTERS)) if draw.random() < 0.9 else "."
    if kind == 3:
        return draw.choice([r"\d", r"\w", r"\D", r"\W", r"\x61", r"\u00e9"])
    if kind < 6:
        parts = [draw.choice(["a-c", "0-9", "_", "é", r"\d", "x-z", r"\\", '"']) for _ in range(draw.randint(1, 3))]
        return "[" + draw.choice(["", "^"]) + "".join(parts) + "]"
    return draw.choice(["(", "(?:"]) + choice(draw, depth - 1) + ")"


def repeated(draw, depth):
    least = draw.randrange(4)
    count = draw.choice(["*", "+", "?", "{%d}" % least, "{%d,}" % least, "{%d,%d}" % (least, least + draw.randrange(12)), "*?"])
    return atom(draw, depth) + (count if draw.random() < 0.4 else "")


def choice(draw, depth):
    return "|".join("".join(repeated(draw, depth) for _ in range(draw.randrange(4))) for _ in range(draw.randint(1, 3)))


def main():
    program, folder, seed, count = sys.argv[1:]
    write_tokenizer(f"{folder}/bytes.json", ["aaaa", "abab", "00", "a\"", "\",", "éa"])
    driver = Driver(program, f"{folder}/bytes.json")
    draw = random.Random(int(seed))
    texts, fitting = 0, 0
    ends_of_lines = re.compile("[\n\r\u2028\u2029]")  # all of which ECMA-262's `.` leaves out, and Python's one
    for _ in range(int(count)):
        expression = choice(draw, 2)
        whole = re.compile(expression, re.ASCII)
        samples = ["".join(draw.choice(LETTERS) for _ in range(draw.randrange(9))) for _ in range(25)]
        problem = driver.make(REGEX, expression)
        if not problem:
            for seed in range(6):
                walk = driver.walk(seed, 8)
                if walk is None:
                    break
                samples.append(walk)
            samples = [sample for sample in samples + [sample[:-1] for sample in samples[-5:]] if not ends_of_lines.search(sample)]
        assert not problem or "no text fits" in problem, (expression, problem)
        for text in samples:
            expected = whole.fullmatch(text) is not None
            assert (not problem and driver.fits(text)) == expected, (expression, text, expected)
            texts += 1
            fitting += expected
        # As a pattern, with its anchors.
        anchored = draw.choice(["", "^"]) + "(?:" + expression + ")" + draw.choice(["", "$"])
        searched = re.compile(anchored.replace("$", r"\Z"), re.ASCII)
        problem = driver.make(JSON_SCHEMA, json.dumps({"type": "string", "pattern": anchored}))
        assert not problem or "no text fits" in problem, (anchored, problem)
        for text in samples[:35]:
            expected = searched.search(text) is not None
            assert (not problem and driver.fits(json.dumps(text, ensure_ascii=False))) == expected, (anchored, text, expected)
    print(f"{count} expressions, {texts} texts, {fitting} of which fit")


if __name__ == "__main__":
    main()
