# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of every tokenizer class without a tokenizer.json, and some with one that the config changes: random vocabularies, random
settings, random texts with special tokens in them. Ids of one text and of two, and decoded texts, are those of the twin.

usage: folders.py DRIVER FOLDER SEED COUNT
"""
import collections
import json
import pathlib
import random
import sys
import unicodedata

import sentencepiece

import folders_twin as twin
from driver import Driver
from make_tokenizers import ALPHABET, CLIP, GPT2, QWEN, TEXT

POOLS = ["abcdefgh the cat ran", "ABC Hello World", "éàüßñ Grün Noël", "жизнь ПРСТ", "你好世界", "0123456789 1, 22,", " \t\n  ", "'s't n't'll", ".,!?;:-\"``''"]
SAID = {"bos": "bos_token", "eos": "eos_token", "unk": "unk_token", "sep": "sep_token", "pad": "pad_token", "cls": "cls_token", "mask": "mask_token"}


def texts_of(rng, specials, count):
    texts = ["", " ", "Hello world", " the cat", "the  cat ", "1,234 cats, don't"]
    while len(texts) < count:
        parts = []
        for _ in range(rng.randint(1, 5)):
            pool = rng.choice(POOLS)
            at = rng.randrange(len(pool))
            parts.append(pool[at : at + rng.randint(1, 9)])
            if rng.random() < 0.25:
                parts.append(rng.choice(["", " "]) + rng.choice(specials) + rng.choice(["", " "]))
        texts.append("".join(parts))
    return texts


def write(folder, name, value):
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=rng_ascii.random() < 0.5))


rng_ascii = random.Random(7)


def learn_pairs(rng, suffix, normal=lambda text: text, words=None):
    """Byte pairs of the text above, in the order in which they are merged, and their vocabulary."""
    vocabulary = {c: i for i, c in enumerate(rng.sample(list(ALPHABET.values()), 256))}
    if suffix:
        vocabulary.update({c + suffix: len(vocabulary) + i for i, c in enumerate(list(vocabulary))})
    counts = collections.Counter(words or normal(TEXT).split(" "))
    symbols = {word: [ALPHABET[byte] for byte in (("" if suffix else " ") + word).encode()] for word in counts if word}
    for word in symbols.values():
        word[-1] += suffix
    merges = []
    for _ in range(rng.randint(20, 90)):
        pairs = collections.Counter(pair for word in symbols.values() for pair in zip(word, word[1:]))
        if not pairs:
            break
        pair = rng.choice(pairs.most_common(4))[0]
        merges.append(pair)
        vocabulary.setdefault("".join(pair), len(vocabulary))
        for word in symbols.values():
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == pair:
                    word[at : at + 2] = ["".join(pair)]
                at += 1
    return vocabulary, merges


class Case:
    """A folder that is being made, with what the twin needs of it."""

    def __init__(self, rng, folder, name, kind):
        self.rng, self.folder, self.kind = rng, folder / name, kind
        self.folder.mkdir(parents=True)
        self.config, self.added, self.plain, self.size = {}, {}, set(), 0

    def flag(self, key, share=0.6):
        """A random flag: None where the config does not say it."""
        value = self.rng.choice([True, False]) if self.rng.random() < share else None
        if value is not None:
            self.config[key] = value
        return value

    def name_class(self, name, model):
        """Names the class, by itself or by the model's type."""
        way = self.rng.random()
        if way < 0.5:
            self.config["tokenizer_class"] = name + self.rng.choice(["", "Fast"])
        elif way < 0.75:
            write(self.folder, "config.json", {"model_type": model})
        else:
            write(self.folder, "config.json", {"model_type": "other", "tokenizer_class": name})

    def add_roles(self, roles, ids, masks_left):
        """Special tokens under the ids that they have, or the next ones; in any of the files that may say so."""
        where = self.rng.choice(["config", "map", "class", "decoder", "added"])
        size, decoder, flags, behind = self.size, {}, {}, {}
        roles_seen = {}
        for role, token in roles.items():
            strips = role == "mask" and masks_left
            value = token
            if token in roles_seen:
                value = roles_seen[token]
            elif where != "class" and self.rng.random() < 0.3:
                strips = self.rng.random() < 0.5
                value = {"content": token, "lstrip": strips, "rstrip": False, "single_word": False, "normalized": False}
            flags[role] = roles_seen[token] = value
            if token not in self.added:
                id = ids.get(token, -1)
                if id < 0:
                    id, size = size, size + 1
                    behind[token] = id
                self.added[token] = (id, strips)
            if where == "decoder":
                strips = self.rng.random() < 0.3
                self.added[token] = (self.added[token][0], strips)
                decoder[str(self.added[token][0])] = {"content": token, "lstrip": strips, "rstrip": False, "single_word": False, "normalized": False, "special": True}
        if where in ("config", "decoder"):
            self.config.update({SAID[role]: value for role, value in flags.items()})
        if where in ("map", "added"):
            write(self.folder, "special_tokens_map.json", {SAID[role]: value for role, value in flags.items()})
        if where == "decoder":
            self.config["added_tokens_decoder"] = decoder
        self.size = size
        extra = f"<extra{self.rng.randrange(99)}>"
        if where == "added":
            write(self.folder, "added_tokens.json", {**behind, extra: self.size})
            self.added[extra] = (self.size, False)
            self.plain.add(extra)
            self.size += 1
        elif where in ("config", "map") and self.rng.random() < 0.4:
            self.config["additional_special_tokens"] = [extra]
            self.added[extra] = (self.size, False)
            self.size += 1

    def finish(self, encoder, single, pair, number=None):
        self.config["model_max_length"] = 512
        splits = self.flag("split_special_tokens", 0.1)
        if self.config or self.rng.random() < 0.5:
            write(self.folder, "tokenizer_config.json", self.config)
        number = number or (lambda token: self.added[token][0])
        frames = [[item if item in "AB" else number(item) for item in frame] for frame in (single, pair)]
        found = {token: value for token, value in self.added.items() if not splits or token in self.plain}
        return twin.Folder(encoder, found, *frames)


def bert(case):
    rng = case.rng
    kind = rng.choice(["Bert", "MPNet", "Funnel"])
    roles = {
        "Bert": dict(unk="[UNK]", sep="[SEP]", pad="[PAD]", cls="[CLS]", mask="[MASK]"),
        "MPNet": dict(bos="<s>", eos="</s>", unk="[UNK]", sep="</s>", pad="<pad>", cls="<s>", mask="<mask>"),
        "Funnel": dict(bos="<s>", eos="</s>", unk="<unk>", sep="<sep>", pad="<pad>", cls="<cls>", mask="<mask>"),
    }[kind]
    alphabet = sorted({c for c in TEXT + "".join(POOLS) if not c.isspace()} - set("Q"))
    words = [word for word in TEXT.split() if rng.random() < 0.4]
    isCased = rng.random() < 0.5
    words += [unicodedata.normalize("NFC", word.lower()) for word in TEXT.split() if rng.random() < 0.4]
    vocabulary = list(dict.fromkeys([*roles.values(), *alphabet, *("##" + c for c in alphabet), *words]))
    if not isCased:
        vocabulary = [v for v in vocabulary if v in roles.values() or not any("A" <= c <= "Z" for c in v)]
    if rng.random() < 0.3:
        vocabulary.remove(roles["mask"])  # the class adds it behind the vocabulary
    (case.folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    case.size = len(vocabulary)
    case.name_class(rng.choice(["BertTokenizer", "ElectraTokenizer"]) if kind == "Bert" else kind + "Tokenizer", kind.lower())
    lowers, strips, chinese = case.flag("do_lower_case"), case.flag("strip_accents", 0.4), case.flag("tokenize_chinese_chars", 0.3)
    hasCapitals = any("A" <= c <= "Z" for token in vocabulary if not (token[0] == "[" and token[-1] == "]") for c in token)
    lowers = not hasCapitals if lowers is None else lowers
    if strips is None and rng.random() < 0.5:
        case.config["strip_accents"] = None
    case.add_roles(roles, {token: i for i, token in enumerate(vocabulary)}, kind == "MPNet")
    encoder = twin.Bert(vocabulary, lowers, lowers if strips is None else strips, chinese is not False, roles["unk"])
    c, s = roles["cls"], roles["sep"]
    pair = [c, "A", s, s, "B", s] if kind == "MPNet" else [c, "A", s, "B", s]
    return case.finish(encoder, [c, "A", s], pair)


def merges(case):
    rng = case.rng
    name, model = rng.choice([("GPT2", "gpt2"), ("Roberta", "roberta"), ("Bart", "bart"), ("Deberta", "deberta"), ("Qwen2", "qwen2"), ("CLIP", "clip"), ("Whisper", "whisper"), ("Blenderbot", "blenderbot")])
    end = "<|endoftext|>"
    fairseq = dict(bos="<s>", eos="</s>", unk="<unk>", sep="</s>", pad="<pad>", cls="<s>", mask="<mask>")
    roles = {
        "GPT2": dict(bos=end, eos=end, unk=end), "Whisper": dict(bos=end, eos=end, unk=end), "Qwen2": dict(eos=end, unk=end, pad=end),
        "CLIP": dict(bos="<|startoftext|>", eos=end, unk=end, pad=end),
        "Deberta": dict(bos="[CLS]", eos="[SEP]", unk="[UNK]", sep="[SEP]", pad="[PAD]", cls="[CLS]", mask="[MASK]"),
    }.get(name, fairseq)  # fmt: skip
    isClip = name == "CLIP"
    clip = (lambda text: twin.regex.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).lower()) if isClip else None
    vocabulary, pairs = learn_pairs(rng, "</w>" if isClip else "", clip or (lambda text: text))
    for token in dict.fromkeys(roles.values()):
        if rng.random() < 0.8 or isClip:
            vocabulary[token] = len(vocabulary)
    if name == "Whisper":
        for token in ("<|startoftranscript|>", "<|en|>", "<|de|>", "<|transcribe|>", "<|notimestamps|>"):
            vocabulary[token] = len(vocabulary)
    case.size = len(vocabulary)
    write(case.folder, "vocab.json", vocabulary)
    version = rng.choice(["#version: 0.2\n", ""])
    (case.folder / "merges.txt").write_text(version + "".join(f"{a} {b}\n" for a, b in pairs))
    case.name_class(name + "Tokenizer", model)
    prefix = case.flag("add_prefix_space", 0.5) if not isClip else None
    prefix = name == "Blenderbot" if prefix is None else prefix
    case.add_roles(roles, vocabulary, "mask" in roles)
    single, pair = ["A"], ["A", "B"]
    if name in ("Roberta", "Bart"):
        single, pair = ["<s>", "A", "</s>"], ["<s>", "A", "</s>", "</s>", "B", "</s>"]
    elif name == "Deberta":
        single, pair = ["[CLS]", "A", "[SEP]"], ["[CLS]", "A", "[SEP]", "B", "[SEP]"]
    elif name == "Blenderbot":
        single = ["A", "</s>"]
    elif isClip:
        single, pair = ["<|startoftext|>", "A", end], ["<|startoftext|>", "A", end, end, "B", end]
    elif name == "Whisper":
        before = ["<|startoftranscript|>"]
        if rng.random() < 0.5:
            case.config["language"], case.config["task"] = "de", "transcribe"
            before += ["<|de|>", "<|transcribe|>"]
        if not case.flag("predict_timestamps"):
            before.append("<|notimestamps|>")
        single, pair = [*before, "A", end], [*before, "A", "B", end]
    else:
        bos = case.flag("add_bos_token") if "bos" in roles else None
        eos = case.flag("add_eos_token", 0.3)
        single = [end] * bool(bos) + ["A"] + [end] * bool(eos)
        pair = single + [end] * bool(bos) + ["B"] + [end] * bool(eos)
    pattern = {"Qwen2": QWEN, "CLIP": CLIP}.get(name, GPT2)
    normal = clip or ((lambda text: unicodedata.normalize("NFC", text)) if name == "Qwen2" else (lambda text: text))
    encoder = twin.Pairs(vocabulary, pairs, pattern, prefix, "</w>" if isClip else "", end if isClip else None, normal, name == "Qwen2")
    return case.finish(encoder, single, pair, lambda token: case.added[token][0] if token in case.added else vocabulary[token])


MODELS = {}


def model(folder, kind):
    """A trained .model: its bytes, and the same with a space before each text and without, as processors."""
    if kind not in MODELS:
        corpus = folder / "corpus.txt"
        corpus.write_text(TEXT * 3)
        settings = {
            "unigram": dict(model_type="unigram"),
            "t5": dict(model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
            "albert": dict(model_type="unigram", pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]", "[MASK]"], vocab_size=280),
            "llama": dict(model_type="bpe", byte_fallback=True, vocab_size=520, normalization_rule_name="identity", remove_extra_whitespaces=False),
            "gemma": dict(model_type="bpe", byte_fallback=True, vocab_size=520, normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False, pad_id=0, pad_piece="<pad>", eos_id=1, eos_piece="<eos>", bos_id=2, bos_piece="<bos>", unk_id=3),
        }[kind]  # fmt: skip
        options = {"vocab_size": 300, "character_coverage": 0.98, "minloglevel": 2, "num_threads": 1, "hard_vocab_limit": False, **settings}
        sentencepiece.SentencePieceTrainer.train(input=str(corpus), model_prefix=str(folder / kind), **options)
        MODELS[kind] = (folder / f"{kind}.model").read_bytes()
    data = MODELS[kind]
    joins = kind not in ("llama", "gemma")
    make = lambda prefix: sentencepiece.SentencePieceProcessor(model_proto=twin.change_model(data, prefix, joins))  # noqa: E731
    return data, make(True), make(False)


def pieces(case):
    rng = case.rng
    name, kind, file, model_type = rng.choice([
        ("T5", "t5", "spiece.model", "t5"), ("T5", "t5", "spiece.model", "mt5"), ("Llama", "llama", "tokenizer.model", "llama"), ("Llama", "llama", "tokenizer.model", "mistral"),
        ("Gemma", "gemma", "tokenizer.model", "gemma2"), ("XLMRoberta", "unigram", "sentencepiece.bpe.model", "xlm-roberta"), ("Camembert", "unigram", "sentencepiece.bpe.model", "camembert"),
        ("MBart", "unigram", "sentencepiece.bpe.model", "mbart"), ("Albert", "albert", "spiece.model", "albert"), ("Pegasus", "t5", "spiece.model", "pegasus")])  # fmt: skip
    data, with_space, without = model(case.folder.parent, kind)
    (case.folder / file).write_bytes(data)
    case.name_class(name + "Tokenizer", model_type)
    size = with_space.vocab_size()
    own = {with_space.id_to_piece(i): i for i in range(size)}
    number, before, scheme, ids = lambda i, _: i, lambda text: text, "always", dict(own)
    fairseq = dict(bos="<s>", eos="</s>", unk="<unk>", sep="</s>", pad="<pad>", cls="<s>", mask="<mask>")
    if name in ("XLMRoberta", "MBart", "Camembert"):
        moved = 4 if name == "Camembert" else 1
        number = lambda i, _: 3 if i == 0 else i + moved  # noqa: E731
        ids = {piece: i + moved for piece, i in own.items() if i > 2}
        ids.update({"<pad>": 1, "<unk>": 3})
        ids.update({"<s>": 5, "</s>": 6} if moved == 4 else {"<s>": 0, "</s>": 2})
        ids["<mask>"] = size + moved + 25 * (name == "MBart")
        case.size = ids["<mask>"] + 1
    elif name == "Pegasus":
        number = lambda i, _: i + 103  # noqa: E731
        ids = {piece: i + 103 for piece, i in own.items() if i > 1}
        ids.update({"<pad>": 0, "</s>": 1, "<mask_1>": 2, "<mask_2>": 3})
        case.size = size + 103
    else:
        case.size = size
    roles = {
        "T5": dict(eos="</s>", unk="<unk>", pad="<pad>"), "Llama": dict(bos="<s>", eos="</s>", unk="<unk>"),
        "Gemma": dict(bos="<bos>", eos="<eos>", unk="<unk>", pad="<pad>"), "Pegasus": dict(eos="</s>", unk="<unk>", pad="<pad>", mask="<mask_2>"),
        "Albert": dict(bos="[CLS]", eos="[SEP]", unk="<unk>", sep="[SEP]", pad="<pad>", cls="[CLS]", mask="[MASK]"),
    }.get(name, fairseq)  # fmt: skip
    if name == "T5":
        count = rng.choice([None, 0, 3])
        if count is not None:
            case.config["extra_ids"] = count
        count = 100 if count is None else count
        for i in range(count):
            case.added[f"<extra_id_{i}>"] = (case.size + count - 1 - i, False)
        case.size += count
    if name in ("T5", "Llama"):
        legacy = case.flag("legacy", 0.6)
        prefix = case.flag("add_prefix_space", 0.3)
        scheme = "never" if prefix is False else "first" if legacy is False else "always"
    elif name == "Gemma":
        scheme = "never"
    if name == "Albert":
        lowers, keeps = case.flag("do_lower_case", 0.5), case.flag("keep_accents", 0.5)
        before = twin.case_of(lowers is not False, keeps is True)
    if name == "Llama" and rng.random() < 0.5:
        case.config["pad_token"] = None
    case.add_roles(roles, ids, "mask" in roles and name != "Pegasus")
    b, e, s = roles.get("bos"), roles["eos"], roles.get("sep")
    single, pair = {
        "T5": (["A", e], ["A", e, "B", e]), "Pegasus": (["A", e], ["A", "B", e]), "Albert": ([b, "A", s], [b, "A", s, "B", s]),
        "MBart": (["A", e, "en_XX"], ["A", "B", e, "en_XX"]),
    }.get(name, ([b, "A", e], [b, "A", e, e, "B", e]))  # fmt: skip
    if name == "MBart":
        language = rng.choice([None, "ar_AR", "fr_XX"])
        if language:
            case.config["src_lang"] = language
            single, pair = (frame[:-1] + [language] for frame in (single, pair))
    if name in ("Llama", "Gemma"):
        bos, eos = case.flag("add_bos_token") is not False, case.flag("add_eos_token") is True
        single = [b] * bos + ["A"] + [e] * eos
        pair = single + [b] * bos + ["B"] + [e] * eos
    languages = {"en_XX": size + 1 + 3, "ar_AR": size + 1, "fr_XX": size + 1 + 7}
    encoder = twin.Pieces(with_space, without, scheme, number, before, kind not in ("llama", "gemma"))
    return case.finish(encoder, single, pair, lambda token: languages[token] if token in languages else case.added[token][0])


def changed(case):
    """A tokenizer.json, and a config that says something else: BERT's normalizer, spaces before texts, tokens around them."""
    rng = case.rng
    isBert, end = rng.random() < 0.5, "<|end|>"
    state = {key: rng.random() < 0.5 for key in ("lowercase", "handle_chinese_chars", "add_prefix_space")}
    state["strip_accents"] = rng.choice([None, True, False])
    name = "BertTokenizer" if isBert else rng.choice(["GPT2Tokenizer", "PreTrainedTokenizer", "LlamaTokenizer"])
    case.config["tokenizer_class"] = name + "Fast"
    if isBert:
        alphabet = sorted({c for c in TEXT + "".join(POOLS) if not c.isspace()})
        vocabulary = {token: i for i, token in enumerate(["[UNK]", "[CLS]", "[SEP]", *alphabet, *("##" + c for c in alphabet)])}
        lowers, strips, chinese = case.flag("do_lower_case"), case.flag("strip_accents", 0.4), case.flag("tokenize_chinese_chars", 0.3)
        own = state["lowercase"] if state["strip_accents"] is None else state["strip_accents"]
        said = lowers is not None or strips is not None
        lowers = state["lowercase"] if lowers is None else lowers
        strips = strips if strips is not None else lowers if said else own
        encoder = twin.Bert(vocabulary, lowers, strips, state["handle_chinese_chars"] if chinese is None else chinese, "[UNK]")
        special = {token: vocabulary[token] for token in ("[CLS]", "[SEP]")}
        items = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
        parts = {
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary},
            "normalizer": {"type": "BertNormalizer", "clean_text": True, **{key: state[key] for key in ("lowercase", "strip_accents", "handle_chinese_chars")}},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "single": items, "pair": [*items, {"Sequence": {"id": "B", "type_id": 1}}, items[-1]],
                               "special_tokens": {token: {"id": token, "ids": [id], "tokens": [token]} for token, id in special.items()}},
        }  # fmt: skip
        single, pair = ["[CLS]", "A", "[SEP]"], ["[CLS]", "A", "[SEP]", "B", "[SEP]"]
    else:
        vocabulary, merged = learn_pairs(rng, "")
        special = {end: len(vocabulary)}
        vocabulary[end] = special[end]
        prefix = case.flag("add_prefix_space", 0.5) if name != "LlamaTokenizer" else None
        prefix = (name != "GPT2Tokenizer" and state["add_prefix_space"]) if prefix is None else prefix
        bos, eos = case.flag("add_bos_token", 0.5), case.flag("add_eos_token", 0.3)
        bos = name == "LlamaTokenizer" if bos is None else bos
        case.config.update(bos_token=end, eos_token=end, unk_token=None)
        encoder = twin.Pairs(vocabulary, merged, GPT2, prefix)
        parts = {
            "model": {"type": "BPE", "vocab": vocabulary, "merges": [f"{a} {b}" for a, b in merged]},
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": state["add_prefix_space"], "trim_offsets": True},
            "post_processor": {"type": "ByteLevel", "trim_offsets": False},
        }
        single = [end] * bool(bos) + ["A"] + [end] * bool(eos)
        pair = single + [end] * bool(bos) + ["B"] + [end] * bool(eos)
    parts["added_tokens"] = [{"id": id, "content": token, "special": True, "normalized": False} for token, id in special.items()]
    case.added, case.size = {token: (id, False) for token, id in special.items()}, len(vocabulary)
    if rng.random() < 0.5:  # one flag of a token that is there, and a new token, which gets the next id whatever the config says
        token = rng.choice(list(special))
        strips = rng.random() < 0.5
        case.added[token] = (special[token], strips)
        case.added["<new>"] = (case.size, False)
        case.config["added_tokens_decoder"] = {str(special[token]): {"content": token, "lstrip": strips, "special": True}, str(case.size): {"content": "<new>", "special": True}}
    write(case.folder, "tokenizer.json", parts)
    return case.finish(encoder, single, pair)


def main():
    driver, folder, seed, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    checked = 0
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        kind = (bert, merges, pieces, changed)[number % 4]
        case = Case(rng, folder, f"{number}-{kind.__name__}", kind)
        expected = kind(case)
        texts = texts_of(rng, sorted(case.added), 60)
        pairs = [(rng.choice(texts), rng.choice(texts)) for _ in range(10)]
        got = Driver(driver, case.folder, 1).ids([*texts, *(f"{a}\x1f{b}" for a, b in pairs)])
        wanted = [expected.encode(text) for text in texts] + [expected.encode(a, b) for a, b in pairs]
        for text, ours, theirs in zip([*texts, *pairs], got, wanted):
            if ours != theirs:
                files = {path.name: path.read_text()[:600] for path in case.folder.glob("*.json") if path.name != "vocab.json"}
                sys.exit(f"seed {seed}, {case.folder}: {text!r}\n  gives  {ours}\n  wanted {theirs}\n  {files}")
        checked += len(got)
    print(f"{count} folders, {checked} texts")


main()
