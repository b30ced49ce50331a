# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small tokenizers of every kind of component, as tokenizer.json has them, trained on the text below; and texts for them.

usage: make_tokenizers.py FOLDER [SEED COUNT]   writes NAME.json for each tokenizer and, with SEED, texts.json
"""
import base64
import collections
import io
import json
import math
import pathlib
import random
import sys
import unicodedata

import sentencepiece

TEXT = """The quick brown fox jumps over the lazy dog, and the dog doesn't mind. We've seen that they're sleeping in 2024; I'd
say it's 10.5 degrees outside, isn't it? A tokenizer turns texts into tokens: words, parts of words, and single bytes.
Voilà un élève français qui mange à Noël ; où êtes-vous allés cet été ? Ein schönes Mädchen grüßt die Straße größer als je.
El niño comió piñas en España mañana. Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń. İstanbul'da ılık bir gün.
Съешь же ещё этих мягких французских булок, да выпей чаю. Жебракують філософи при ґанку церкви в Гадячі.
Η αλεπού πηδάει πάνω από τον τεμπέλη σκύλο. ΟΔΟΣ οδός. 敏捷的棕色狐狸跳过懒狗。 今日は東京でラーメンを食べました。 빠른 갈색 여우가 게으른 개를 뛰어넘는다.
الثعلب البني السريع يقفز فوق الكلب الكسول. तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है। สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ
for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }   // 😀 👍🏽 🦙 1234567890 @user #tag http://example.org/path?x=1&y=2"""

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"

POOLS = [
    "abcdefghijklmnopqrstuvwxyz" * 3 + "ABCDEFGHIJ" + " " * 12, "0123456789 .,", "éàüßñçøåÀÉÎõ ", "абвгдеёжзийклмн ПРСТ",
    "你好世界漢字日本語の東京カタカナ、。", "한국어조선말 ᄀ각ᆨ", "العربية مرحبا ", "हिन्दी नमस्ते ", "ไทยสวัสดี", "😀👍🏽👨‍👩‍👧‍👦🇩🇪🦙❤️",
    "\u0301\u0300\u0323\u0308e\u0301o\u0302\u0301aAI\u0307", "'s't're've'm'll'd'S'LL don't we're I'm ", " \t\n\r  \n\n   ",
    "\x00\x01\x07\x1b\x7f\x85\xa0\u200b\u200d\u2028\u3000\ufeff\ufffd", "{}[]()<>=+-*/&|!?;:\"#$%^~`@\\_", "ﬁﬂﷺ①②½Ⅷ㎏ＡＢＣ｡ﾊﾟﾊﾟｶﾞﾡￂㄱㅏㄴ", "İıſẞΣςσ", "▁▁ ▁",
]  # fmt: skip
SPECIALS = ["<|end|>", "[MASK]", " [MASK] ", "<mask>", "  <mask>  ", "</s>", "[CLS]", "new word", "new", "renewed", "Grün", "grün", "Ġ", "<0x0A>", "##"]


def is_old(c):
    """Whether a character has been in Unicode for long: what newer ones are depends on a library's tables."""
    return unicodedata.ucd_3_2_0.category(c) != "Cn"


def make_texts(seed, count):
    rng = random.Random(seed)
    words = TEXT.split()
    texts = ["", " ", "  ", "\n", "a", " a", "a ", "Hello world", TEXT]
    while len(texts) < count:
        kind = rng.random()
        if kind < 0.3:
            text = " ".join(rng.choice(words) for _ in range(rng.randint(1, 10)))
        elif kind < 0.4:
            begin = rng.randrange(len(TEXT))
            text = TEXT[begin : begin + rng.randint(1, 80)]
        elif kind < 0.9:
            parts = []
            for _ in range(rng.randint(1, 6)):
                pool = rng.choice(POOLS)
                parts.append("".join(rng.choice(pool) for _ in range(rng.randint(1, 10))))
                if rng.random() < 0.2:
                    parts.append(rng.choice(SPECIALS))
            text = "".join(parts)
        else:
            blocks = [(0x20, 0x250), (0x250, 0x3000), (0x3000, 0xD800), (0xE000, 0x10000), (0x10000, 0x1FA00)]
            text = "".join(filter(is_old, (chr(rng.randrange(*rng.choice(blocks))) for _ in range(rng.randint(1, 40)))))
        texts.append(text)
    return texts


def byte_alphabet():
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{byte: chr(byte) for byte in printable}, **{byte: chr(0x100 + i) for i, byte in enumerate(others)}}


ALPHABET = byte_alphabet()


def train_bpe(words, steps, prefix=""):
    """Merges of the most frequent neighbours; words are lists of symbols."""
    counts = collections.Counter(tuple(word) for word in words)
    merges = []
    for _ in range(steps):
        pairs = collections.Counter()
        for word, count in counts.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        joined = best[0] + best[1][len(prefix) :]
        merged = collections.Counter()
        for word, count in counts.items():
            out, i = [], 0
            while i < len(word):
                if word[i : i + 2] == best:
                    out.append(joined)
                    i += 2
                else:
                    out.append(word[i])
                    i += 1
            merged[tuple(out)] += count
        counts = merged
    return merges


def bpe(words, steps, first=(), alphabet=(), prefix="", as_pairs=False, **options):
    merges = train_bpe(words, steps, prefix)
    tokens = list(dict.fromkeys([*first, *alphabet, *sorted({s for word in words for s in word}), *(a + b[len(prefix) :] for a, b in merges)]))
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": prefix or None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": [list(pair) if as_pairs else " ".join(pair) for pair in merges], **options}  # fmt: skip


def byte_words():
    return [[ALPHABET[byte] for byte in (" " + word).encode()] for word in TEXT.split()]


def byte_bpe(steps=150, **options):
    return bpe(byte_words(), steps, alphabet=sorted(ALPHABET.values()), **options)


def piece_words(space="▁"):
    return [list(space + word) for word in TEXT.split()]


def unigram(first, **options):
    counts = collections.Counter()
    for word in piece_words():
        for begin in range(len(word)):
            for end in range(begin + 1, min(len(word), begin + 6) + 1):
                counts["".join(word[begin:end])] += 1
    kept = [piece for piece, count in counts.most_common() if count > 2 or len(piece) == 1]
    total = sum(counts[piece] for piece in kept)
    vocab = [[piece, 0.0] for piece in first] + [[piece, math.log(counts[piece] / total)] for piece in kept if piece not in first]
    return {"type": "Unigram", "unk_id": first.index("<unk>"), "vocab": vocab, "byte_fallback": False, **options}


def word_piece(lower):
    words = [(word.lower() if lower else word) for word in TEXT.split()]
    symbols = [[word[0], *("##" + c for c in word[1:])] for word in words]
    merges = train_bpe(symbols, 120, "##")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({s for word in symbols for s in word}), *(a + b[2:] for a, b in merges)]
    return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20,
            "vocab": {token: i for i, token in enumerate(dict.fromkeys(tokens))}}  # fmt: skip


def fields(message):
    """The fields of a message of protobuf that are bytes, as (number, bytes)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 2:
            size = varint()
            at += size
            yield key >> 3, message[at - size : at]
        elif key & 7 == 0:
            varint()
        else:
            at += 4 if key & 7 == 5 else 8


def charsmap(rule):
    """The table of characters of one of SentencePiece's rules, from a model that is trained for it."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXT.split("\n")), model_writer=model, vocab_size=400, minloglevel=2,
                                             normalization_rule_name=rule, hard_vocab_limit=False)  # fmt: skip
    normalizer = next(value for number, value in fields(model.getvalue()) if number == 3)
    return base64.b64encode(next(value for number, value in fields(normalizer) if number == 2)).decode()


def added(model, *tokens):
    """Added tokens: (content, flags), with their ids in the model, or behind it."""
    vocab = model["vocab"] if isinstance(model["vocab"], dict) else {piece: i for i, (piece, _) in enumerate(model["vocab"])}
    behind, out = max(vocab.values()) + 1, []
    for content, flags in tokens:
        token = vocab.get(content)
        if token is None:
            token, behind = behind, behind + 1
        out.append({"id": token, "content": content, **{name: name in flags for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}})
    return sorted(out, key=lambda token: token["id"])


def sequence(key, *parts):
    return {"type": "Sequence", key: list(parts)}


def frame(before, behind):
    """A template with special tokens before and behind."""
    def item(name, kind):
        return {"SpecialToken": {"id": name, "type_id": kind}}

    def text(name, kind):
        return {"Sequence": {"id": name, "type_id": kind}}

    head = [item(before[0], 0)] if before else []
    tail = [item(behind[0], 0)] if behind else []
    second = [text("B", 1)] + ([item(behind[0], 1)] if behind else [])
    known = {name: {"id": name, "ids": [token], "tokens": [name]} for name, token in filter(None, (before, behind))}
    return {"type": "TemplateProcessing", "single": [*head, text("A", 0), *tail], "pair": [*head, text("A", 0), *tail, *second],
            "special_tokens": known}  # fmt: skip


def byte_level(**options):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True, **options}


def regex_split(expression, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": behavior, "invert": invert}


def string_replace(what, by):
    return {"type": "Replace", "pattern": {"String": what}, "content": by}


def make_tokenizers():
    made = {}

    def add(name, model, tokens=(), **parts):
        standard = {"truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None}
        made[name] = {"version": "1.0", **standard, "added_tokens": added(model, *tokens), **parts, "model": model}

    add("gpt2", byte_bpe(), [("<|end|>", {"special"})], pre_tokenizer=byte_level(add_prefix_space=True), post_processor=byte_level(add_prefix_space=True), decoder=byte_level())
    model = byte_bpe(first=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    add("roberta", model, [(t, {"special"}) for t in ("<s>", "<pad>", "</s>", "<unk>")] + [("<mask>", {"special", "lstrip"})], pre_tokenizer=byte_level(),
        post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False},
        decoder=byte_level())  # fmt: skip
    model = byte_bpe(as_pairs=True, ignore_merges=True)
    add("llama3", model, [("<|begin|>", {"special"}), ("<|end|>", {"special"})], normalizer={"type": "NFC"}, decoder=byte_level(),
        pre_tokenizer=sequence("pretokenizers", regex_split(QWEN), byte_level(use_regex=False)),
        post_processor=sequence("processors", byte_level(trim_offsets=False), frame(("<|begin|>", max(model["vocab"].values()) + 1), None)))  # fmt: skip
    bert = [(token, {"special"}) for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")] + [("[MASK]", {"special", "lstrip"})]
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    add("bert", word_piece(True), bert, normalizer=normalizer, pre_tokenizer={"type": "BertPreTokenizer"}, post_processor=frame(("[CLS]", 2), ("[SEP]", 3)),
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})  # fmt: skip
    add("bert-cased", word_piece(False), bert, normalizer={**normalizer, "lowercase": False, "handle_chinese_chars": False},
        pre_tokenizer={"type": "BertPreTokenizer"}, post_processor={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": False})  # fmt: skip
    for name, side, strategy in (("right", "Right", "LongestFirst"), ("left", "Left", "OnlyFirst"), ("second", "Right", "OnlySecond")):
        truncation = {"direction": side, "max_length": 12, "strategy": strategy, "stride": 0}
        padding = {"strategy": {"Fixed": 14}, "direction": side, "pad_to_multiple_of": 8, "pad_id": 0, "pad_type_id": 2, "pad_token": "[PAD]"}
        add(f"bert-cut-{name}", word_piece(True), bert, normalizer=normalizer, pre_tokenizer={"type": "BertPreTokenizer"}, decoder=None,
            post_processor=frame(("[CLS]", 2), ("[SEP]", 3)), truncation=truncation, padding=padding)  # fmt: skip
    model = unigram(["<pad>", "</s>", "<unk>"])
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    add("t5", model, [(t, {"special"}) for t in ("<pad>", "</s>", "<unk>")], decoder=metaspace,
        normalizer=sequence("normalizers", {"type": "Nmt"}, {"type": "NFKC"}, {"type": "Strip", "strip_left": False, "strip_right": True},
                            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}),
        pre_tokenizer=sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace), post_processor=frame(None, ("</s>", 1)))  # fmt: skip
    add("xlm", unigram(["<s>", "<pad>", "</s>", "<unk>"]), [("<mask>", {"special", "lstrip"})], pre_tokenizer=metaspace, decoder=metaspace,
        normalizer=sequence("normalizers", {"type": "Precompiled", "precompiled_charsmap": charsmap("nmt_nfkc")}, {"type": "StripAccents"}),
        post_processor=frame(("<s>", 0), ("</s>", 2)))  # fmt: skip
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    add("unigram-bytes", unigram(["<unk>", "<s>", *byte_tokens], byte_fallback=True), [("<s>", {"special"}), ("new", {"normalized", "single_word"})],
        pre_tokenizer={**metaspace, "prepend_scheme": "first", "split": False}, decoder=sequence("decoders", {"type": "ByteFallback"}, metaspace))  # fmt: skip
    model = bpe(piece_words(), 150, first=["<unk>", "<s>", "</s>", *byte_tokens], unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    add("llama2", model, [("<unk>", {"special"}), ("<s>", {"special"}), ("</s>", {"special"})],
        normalizer=sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, string_replace(" ", "▁")), post_processor=frame(("<s>", 1), None),
        decoder=sequence("decoders", string_replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                         {"type": "Strip", "content": " ", "start": 1, "stop": 0}))  # fmt: skip
    model = bpe(piece_words(), 150, first=["<pad>", "<bos>", "<unk>"], unk_token="<unk>", fuse_unk=True, as_pairs=True)
    add("gemma", model, [("<bos>", {"special"}), ("<unk>", {"special"}), ("\n\n", {"normalized"}), ("▁▁", set())], normalizer=string_replace(" ", "▁"),
        pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
        post_processor=frame(("<bos>", 1), None), decoder=sequence("decoders", string_replace("▁", " "), {"type": "Fuse"}))  # fmt: skip
    words = [[*(ALPHABET[byte] for byte in word[:-1].encode()), *(ALPHABET[byte] for byte in word[-1].encode())] for word in TEXT.lower().split()]
    words = [[*word[:-1], word[-1] + "</w>"] for word in words]
    alphabet = [*sorted(ALPHABET.values()), *(c + "</w>" for c in sorted(ALPHABET.values()))]
    model = bpe(words, 120, alphabet=alphabet, unk_token="<|end|>", end_of_word_suffix="</w>")
    add("clip", model, [("<|end|>", {"special", "normalized"})], decoder={"type": "BPEDecoder", "suffix": "</w>"},
        normalizer=sequence("normalizers", {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"}),
        pre_tokenizer=sequence("pretokenizers", regex_split(CLIP, "Removed", True), byte_level(use_regex=False)))  # fmt: skip
    words = sorted(set(TEXT.replace(".", " . ").replace(",", " , ").split()))
    level = {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(["[UNK]", *words, *"0123456789"])}, "unk_token": "[UNK]"}
    add("word-level", level, [("[UNK]", {"special"})], pre_tokenizer=sequence("pretokenizers", {"type": "Whitespace"}, {"type": "Digits", "individual_digits": True}))
    symbols = [[word[0], *("@@" + c for c in word[1:])] for word in TEXT.split()]
    model = bpe(symbols, 100, first=["<unk>"], prefix="@@", unk_token="<unk>")
    add("prefix", model, [("<unk>", {"special"}), ("[MASK]", {"lstrip", "rstrip"}), ("new word", {"normalized", "single_word"}), ("Grün", {"normalized"})],
        normalizer=sequence("normalizers", {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Strip", "strip_left": True, "strip_right": True}),
        pre_tokenizer=sequence("pretokenizers", {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Contiguous"},
                               {"type": "Digits", "individual_digits": False}),
        decoder={"type": "WordPiece", "prefix": "@@", "cleanup": True})  # fmt: skip
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for inverted in (False, True):
            add(f"split-{behavior}{'-inverted' * inverted}", byte_bpe(20), decoder={"type": "Fuse"}, normalizer={"type": "NFD"},
                pre_tokenizer=sequence("pretokenizers", regex_split(r"[\s.,]|e", behavior, inverted), {"type": "Punctuation", "behavior": behavior},
                                       byte_level(use_regex=False)))  # fmt: skip
    add("delimiter", byte_bpe(20), pre_tokenizer=sequence("pretokenizers", {"type": "CharDelimiterSplit", "delimiter": "o"}, byte_level(add_prefix_space=True)),
        decoder={"type": "CTC", "pad_token": "l", "word_delimiter_token": "Ġ", "cleanup": True})  # fmt: skip
    return made


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, tokenizer in make_tokenizers().items():
        (folder / f"{name}.json").write_text(json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")))
    if len(sys.argv) > 2:
        (folder / "texts.json").write_text(json.dumps(make_texts(int(sys.argv[2]), int(sys.argv[3]))))


if __name__ == "__main__":
    main()
