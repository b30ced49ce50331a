# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tokenizer classes of Hugging Face's library do with a folder, written from their documentation in plain Python: BERT's
cutting and WordPiece (Devlin et al. 2018), byte pairs (Radford et al. 2019), and SentencePiece's own encoder between added tokens."""
import unicodedata

import regex

from make_tokenizers import ALPHABET


def sections(text, tokens):
    """Cuts a text at added tokens, {content: strips the space before it}: pairs (text, None) and (None, token), with places."""
    at, parts = 0, []
    names = sorted(tokens, key=len, reverse=True)
    pattern = regex.compile("|".join(map(regex.escape, names))) if names else None
    for match in pattern.finditer(text) if pattern else ():
        before = text[at : match.start()]
        if tokens[match.group()]:
            before = before.rstrip()
        if before:
            parts.append((before, None, at))
        parts.append((None, match.group(), match.start()))
        at = match.end()
    if text[at:]:
        parts.append((text[at:], None, at))
    return parts


class Bert:
    """vocab.txt."""

    def __init__(self, vocabulary, lowers, strips, chinese, unknown):
        self.ids = {token: i for i, token in enumerate(vocabulary)}
        self.lowers, self.strips, self.chinese, self.unknown = lowers, strips, chinese, unknown

    def normal(self, text):
        out = []
        for c in text:
            category = unicodedata.category(c)
            if c in "\0\ufffd" or (category[0] == "C" and c not in "\t\n\r"):
                continue
            if self.chinese and any(a <= ord(c) <= b for a, b in ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0xF900, 0xFAFF))):
                c = f" {c} "
            out.append(" " if c.isspace() else c)
        text = "".join(out)
        if self.strips:
            text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        return "".join(c.lower() for c in text) if self.lowers else text

    def encode(self, text, _):
        words, ids = [], []
        for word in self.normal(text).split():
            words += [w for w in regex.split(r"([!-/:-@\[-`{-~]|\p{P})", word) if w]
        for word in words:
            at, pieces = 0, []
            while at < len(word) and len(word) <= 100:
                end = next((e for e in range(len(word), at, -1) if ("##" if at else "") + word[at:e] in self.ids), None)
                if end is None:
                    break
                pieces.append(self.ids[("##" if at else "") + word[at:end]])
                at = end
            ids += pieces if at == len(word) else [self.ids[self.unknown]]
        return ids


class Pairs:
    """vocab.json and merges.txt."""

    def __init__(self, vocabulary, merges, pattern, prefix=False, suffix="", unknown=None, normal=lambda text: text, isInner=False):
        self.ids, self.ranks = vocabulary, {pair: rank for rank, pair in enumerate(merges)}
        self.pattern, self.prefix, self.suffix, self.unknown, self.normal = regex.compile(pattern), prefix, suffix, unknown, normal
        self.isInner = isInner  # the space goes before each word that the expression cuts

    def encode(self, text, _):
        text, ids = self.normal(text), []
        if self.prefix and not self.isInner and text and text[0] != " ":
            text = " " + text
        for word in self.pattern.findall(text):
            if self.prefix and self.isInner and word[0] != " ":
                word = " " + word
            symbols = [ALPHABET[byte] for byte in word.encode()]
            symbols[-1] += self.suffix
            while len(symbols) > 1:
                rank, at = min((self.ranks.get(pair, 1 << 30), i) for i, pair in enumerate(zip(symbols, symbols[1:])))
                if rank == 1 << 30:
                    break
                symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
            for symbol in symbols:
                if symbol in self.ids:
                    ids.append(self.ids[symbol])
                elif self.unknown is not None:
                    ids.append(self.ids[self.unknown])
        return ids


class Pieces:
    """A .model: `with_space` puts a space before each text, `without` none. The first scheme has it before the text alone."""

    def __init__(self, with_space, without, scheme, number, before=lambda text: text, strips=True):
        self.with_space, self.without, self.scheme, self.number, self.before, self.strips = with_space, without, scheme, number, before, strips

    def encode(self, text, place):
        text = self.before(text)
        prefixes = self.scheme == "always"
        if self.scheme == "first":
            prefixes = place == 0 or text[0].isspace() if self.strips else place == 0 and text[0] not in " ▁"
        processor = self.with_space if prefixes else self.without
        return [self.number(i, processor) for i in processor.encode(text)]


def change_model(data, prefix, removes):
    """The bytes of a .model whose normalizer has other flags: what comes later in a message of protobuf replaces what was there."""
    return data + bytes([3 << 3 | 2, 4, 3 << 3, prefix, 4 << 3, removes])


def case_of(lowers, keeps):
    """ALBERT's and XLNet's change of a text."""
    def change(text):
        text = text.replace("``", '"').replace("''", '"')
        if not keeps:
            text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.category(c).startswith("M"))
        return text.lower() if lowers else text

    return change


class Folder:
    """An encoder with added tokens, {content: (id, strips before)}, and the frames around one text and two, of ids, "A" and "B"."""

    def __init__(self, encoder, added, single, pair):
        self.encoder, self.added, self.single, self.pair = encoder, added, single, pair

    def text(self, text):
        ids = []
        for part, token, place in sections(text, {t: strips for t, (_, strips) in self.added.items()}):
            ids += [self.added[token][0]] if token else self.encoder.encode(part, place)
        return ids

    def encode(self, first, second=None):
        parts = {"A": self.text(first), "B": self.text(second) if second is not None else []}
        return [i for item in (self.single if second is None else self.pair) for i in (parts[item] if item in parts else [item])]
