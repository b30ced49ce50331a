# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The King James Bible as Debian's bible-kjv has it, and byte pairs (Sennrich, Haddow, Birch 2016) over its bytes.

A chapter is its verses, a line each, and an empty line. Every twentieth chapter is held out. Tokens 0 to 255 are bytes, token
256 + n is the n-th pair of earlier tokens. Pairs do not cross words: a word has the space in front of it, and line ends and marks
are words of their own. The vocabulary's file is a tokenizer.json, as Hugging Face's libraries read it, in which a byte is a
character that can be printed.
"""
import collections
import json
import re
import subprocess

EXPRESSION = r" ?[A-Za-z]+| ?[^A-Za-z\s]+|\s"
WORD = re.compile(EXPRESSION)

# What stands for a byte: itself where it can be printed and is no space, else a character from 256 on.
PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]
LETTERS = [chr(b if b in PRINTED else 256 + sum(c not in PRINTED for c in range(b))) for b in range(256)]


def chapters():
    """The chapters, as Debian's program `bible` prints them."""
    printed = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in printed.splitlines():
        place, _, verse = line.partition(" ")
        found.setdefault(place.partition(":")[0], []).append(verse)
    return ["\n".join(verses) + "\n\n" for verses in found.values()]


def split(chapters):
    """What is learnt from, and what is held out."""
    held = chapters[10::20]
    return "".join(c for n, c in enumerate(chapters) if n % 20 != 10), "".join(held)


def learn_pairs(text, count):
    """The pairs of tokens that are joined, the most frequent first."""
    words = collections.Counter(WORD.findall(text))
    spelt = [list(word.encode()) for word in words]
    often = list(words.values())
    number, where = collections.Counter(), collections.defaultdict(set)
    for n, tokens in enumerate(spelt):
        for pair in zip(tokens, tokens[1:]):
            number[pair] += often[n]
            where[pair].add(n)
    pairs = []
    while len(pairs) < count:
        best = max(number, key=lambda pair: (number[pair], pair))
        for n in where.pop(best):
            for pair in zip(spelt[n], spelt[n][1:]):
                number[pair] -= often[n]
            spelt[n] = join(spelt[n], best, 256 + len(pairs))
            for pair in zip(spelt[n], spelt[n][1:]):
                number[pair] += often[n]
                where[pair].add(n)
        del number[best]
        pairs.append(best)
    return pairs


def join(tokens, pair, new):
    joined, n = [], 0
    while n < len(tokens):
        if tuple(tokens[n : n + 2]) == pair:
            joined.append(new)
            n += 2
        else:
            joined.append(tokens[n])
            n += 1
    return joined


class Vocabulary:
    def __init__(self, pairs):
        self.pairs, self.known = pairs, {}
        self.ranks = {pair: 256 + n for n, pair in enumerate(pairs)}
        self.bytes = [bytes([n]) for n in range(256)]
        for a, b in pairs:
            self.bytes.append(self.bytes[a] + self.bytes[b])

    @classmethod
    def read(cls, path):
        with open(path) as file:
            model = json.load(file)["model"]
        return cls([(model["vocab"][a], model["vocab"][b]) for a, b in model["merges"]])

    def write(self, path):
        names = ["".join(LETTERS[b] for b in token) for token in self.bytes]
        bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        words = {"type": "Split", "pattern": {"Regex": EXPRESSION}, "behavior": "Isolated", "invert": False}
        model = {"type": "BPE", "vocab": {name: n for n, name in enumerate(names)}, "merges": [[names[a], names[b]] for a, b in self.pairs]}
        with open(path, "w") as file:
            json.dump({"version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None,
                       "pre_tokenizer": {"type": "Sequence", "pretokenizers": [words, bytes_]}, "decoder": bytes_, "model": model},
                      file, ensure_ascii=False)
            file.write("\n")

    def tokens(self, text):
        found = []
        for word in WORD.findall(text):
            if word not in self.known:
                own = list(word.encode())
                while pairs := [p for p in zip(own, own[1:]) if p in self.ranks]:
                    best = min(pairs, key=self.ranks.get)
                    own = join(own, best, self.ranks[best])
                self.known[word] = own
            found += self.known[word]
        return found

    def text(self, tokens):
        return b"".join(self.bytes[t] for t in tokens).decode(errors="replace")
