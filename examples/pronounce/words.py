# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Words and how they are pronounced: Debian's festlex-cmu, the CMU dictionary in Festival's form.

Letters are numbered from 1 (a) to 26 (z), 0 is behind the end of a word. Phonemes are those of the CMU dictionary, in its
spelling, vowels with their stress; token n is line n of phonemes.txt, 0 the stop and 1 the begin. Of all words a tenth,
chosen by a hash, is held out.
"""
import os
import re
import zlib

DICTIONARY = "/usr/share/festival/dicts/cmu/cmudict-0.4.out"
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "phonemes.txt")) as file:
    PHONEMES = file.read().split()
VOWELS = {name[:-1].lower() for name in PHONEMES if name[-1] in "01"}
NUMBERS = {name: number for number, name in enumerate(PHONEMES)}


def letters(word):
    return [ord(c) - 96 for c in word]


def held_out(word):
    return zlib.crc32(word.encode()) % 10 == 0


def read(path=DICTIONARY):
    """Pronunciations, lists of tokens, by word of small letters, in the order of the file. Festival's schwa `ax` is the
    dictionary's AH0; the stress of a syllable is that of its vowel."""
    words = {}
    with open(path, encoding="latin1") as file:
        for line in file:
            found = re.match(r'\("([a-z]+)" \S+ \((.*)\)\)\s*$', line)
            if not found:
                continue
            tokens = []
            for phones, stress in re.findall(r"\(\(([a-z ]*)\) (\d)\)", found[2]):
                for phone in phones.split():
                    phone = "ah" if phone == "ax" else phone
                    tokens.append(NUMBERS[phone.upper() + (stress if phone in VOWELS else "")])
            several = words.setdefault(found[1], [])
            if tokens and tokens not in several:
                several.append(tokens)
    return {word: several for word, several in words.items() if several}


def distance(a, b):
    """The fewest insertions, deletions and changes that make `b` of `a`."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def plain(tokens):
    """Without stress."""
    return [PHONEMES[t].rstrip("01") for t in tokens]


def errors(said, wanted):
    """The rates of wrong phonemes and wrong words, in %, of lists of tokens against the nearest of each word's
    pronunciations."""
    edits = length = wrong = 0
    for tokens, several in zip(said, wanted):
        best, size = min((distance(tokens, other), len(other)) for other in several)
        edits, length, wrong = edits + best, length + size, wrong + (best > 0)
    return 100 * edits / length, 100 * wrong / len(said)


def report(said, wanted):
    per, wer = errors(said, wanted)
    bare = errors([plain(t) for t in said], [[plain(t) for t in several] for several in wanted])
    return (f"{len(said)} words: {per:.2f}% of phonemes and {wer:.2f}% of words wrong, "
            f"{bare[0]:.2f}% and {bare[1]:.2f}% without stress")


def read_sample(path):
    """As `read`, of lines "word phoneme phoneme …" between those that begin with a #."""
    words = {}
    with open(path) as file:
        for line in file:
            if line.startswith("#"):
                continue
            word, *phonemes = line.split()
            words.setdefault(word, []).append([NUMBERS[p] for p in phonemes])
    return words
