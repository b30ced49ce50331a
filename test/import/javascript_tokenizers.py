# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small tokenizers of published classes with random options, as tokenizer.json and tokenizer_config.json have them."""
import functools
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "text"))
from make_tokenizers import (CLIP, QWEN, TEXT, added, bpe, byte_bpe, byte_level, frame, piece_words, regex_split, sequence, string_replace, unigram,
                             word_piece, ALPHABET)

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
ENDS = [f"<|end{i}|>" for i in range(6)]
METASPACE = dict(type="Metaspace", replacement="\u2581", prepend_scheme="always", split=True)


@functools.lru_cache(None)
def trained(kind):
    """Models of each kind, which are trained once."""
    if kind.startswith("words"):
        return word_piece(kind == "words-lower")
    if kind == "bytes":
        return byte_bpe(as_pairs=True, ignore_merges=False)
    if kind == "bytes-roberta":
        return byte_bpe(first=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    if kind == "unigram-t5":
        return unigram(["<pad>", "</s>", "<unk>"])
    if kind == "unigram-xlm":
        return unigram(["<s>", "<pad>", "</s>", "<unk>"])
    if kind == "pieces":
        return bpe(piece_words(), 150, first=["<unk>", "<s>", "</s>", *BYTES], unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    if kind == "gemma":
        return bpe(piece_words(), 150, first=["<pad>", "<eos>", "<bos>", "<unk>", *BYTES], unk_token="<unk>", fuse_unk=True, byte_fallback=True,
                   as_pairs=True)
    assert kind == "clip"
    words = [[*(ALPHABET[byte] for byte in word[:-1].encode()), ALPHABET[word[-1:].encode()[0]]] for word in TEXT.lower().split() if word.isascii()]
    words = [[*word[:-1], word[-1] + "</w>"] for word in words]
    alphabet = [*sorted(ALPHABET.values()), *(c + "</w>" for c in sorted(ALPHABET.values()))]
    return bpe(words, 120, alphabet=alphabet, unk_token="<|endoftext|>", end_of_word_suffix="</w>")


def special(*names):
    return [(name, {"special"}) for name in names]


def assembled(model, tokens, config, **parts):
    """The two files, with the ends of generated texts among the added tokens, and how many rows a model needs."""
    tokens = added(model, *tokens, *special(*ENDS))
    standard = dict(version="1.0", truncation=None, padding=None, normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None)
    rows = 1 + max([token["id"] for token in tokens] + [len(model["vocab"]) - 1])
    names = {token["content"]: token["id"] for token in tokens}
    return {"tokenizer.json": {**standard, "added_tokens": tokens, **parts, "model": model}, "tokenizer_config.json": config}, rows, names


def number_of(model, *tokens):
    """The id that the first of these added tokens gets."""
    return {token["content"]: token["id"] for token in added(model, *tokens)}[tokens[0][0]]


def bert(rng, name="BertTokenizer", **more):
    lower = bool(rng.integers(2))
    accents = [None, True, False][rng.integers(3)]
    model, chinese = trained("words-lower" if lower else "words"), bool(rng.integers(2))
    tokens = special("[PAD]", "[UNK]", "[CLS]", "[SEP]") + [("[MASK]", {"special", "lstrip"} if rng.integers(2) else {"special"})]
    normalizer = dict(type="BertNormalizer", clean_text=True, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower)
    config = dict(tokenizer_class=name, do_lower_case=lower, strip_accents=accents, tokenize_chinese_chars=chinese, pad_token="[PAD]",
                  unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]",
                  clean_up_tokenization_spaces=bool(rng.integers(2)), **more)
    return assembled(model, tokens, config, normalizer=normalizer, pre_tokenizer=dict(type="BertPreTokenizer"),
                     post_processor=frame(("[CLS]", 2), ("[SEP]", 3)), decoder=dict(type="WordPiece", prefix="##", cleanup=True))


def roberta(rng, name="RobertaTokenizer", **more):
    model, space = trained("bytes-roberta"), bool(rng.integers(2))
    tokens = special("<s>", "<pad>", "</s>", "<unk>") + [("<mask>", {"special", "lstrip"})]
    config = dict(tokenizer_class=name, add_prefix_space=space, bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>",
                  unk_token="<unk>", pad_token="<pad>", mask_token="<mask>", clean_up_tokenization_spaces=bool(rng.integers(2)), **more)
    return assembled(model, tokens, config, pre_tokenizer=byte_level(add_prefix_space=space), decoder=byte_level(),
                     post_processor=dict(type="RobertaProcessing", sep=["</s>", 2], cls=["<s>", 0], trim_offsets=True, add_prefix_space=space))


def xlm_roberta(rng, name="XLMRobertaTokenizer", **more):
    model = trained("unigram-xlm")
    config = dict(tokenizer_class=name, bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>", unk_token="<unk>", pad_token="<pad>",
                  mask_token="<mask>", clean_up_tokenization_spaces=bool(rng.integers(2)), **more)
    tokens = special("<s>", "<pad>", "</s>", "<unk>") + [("<mask>", {"special", "lstrip"})]
    return assembled(model, tokens, config, normalizer=sequence("normalizers", dict(type="NFKC")) if rng.integers(2) else None,
                     pre_tokenizer=METASPACE, decoder=METASPACE, post_processor=frame(("<s>", 0), ("</s>", 2)))


def modernbert(rng, **more):
    model = trained("bytes")
    tokens = special("[CLS]", "[SEP]", "[PAD]", "[UNK]") + [("[MASK]", {"special", "lstrip"})]
    at = {token["content"]: token["id"] for token in added(model, *tokens)}
    config = dict(tokenizer_class="PreTrainedTokenizerFast", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]",
                  mask_token="[MASK]", clean_up_tokenization_spaces=bool(rng.integers(2)), **more)
    return assembled(model, tokens, config, normalizer=dict(type="NFC"), pre_tokenizer=byte_level(), decoder=byte_level(),
                     post_processor=frame(("[CLS]", at["[CLS]"]), ("[SEP]", at["[SEP]"])))


def gpt2(rng, **more):
    space = bool(rng.integers(2))
    config = dict(tokenizer_class="GPT2Tokenizer", add_prefix_space=space, bos_token=ENDS[0], eos_token=ENDS[0], unk_token=ENDS[0],
                  clean_up_tokenization_spaces=bool(rng.integers(2)), **more)
    return assembled(trained("bytes"), [], config, pre_tokenizer=byte_level(add_prefix_space=space), post_processor=byte_level(trim_offsets=False),
                     decoder=byte_level())


def llama3(rng, **more):
    model = trained("bytes")
    begin = number_of(model, *special("<|begin|>", *ENDS))
    config = dict(tokenizer_class="PreTrainedTokenizerFast", bos_token="<|begin|>", eos_token=ENDS[0],
                  clean_up_tokenization_spaces=bool(rng.integers(2)), **more)
    return assembled(model, special("<|begin|>"), config, decoder=byte_level(),
                     pre_tokenizer=sequence("pretokenizers", regex_split(QWEN), byte_level(use_regex=False)),
                     post_processor=sequence("processors", byte_level(trim_offsets=False), frame(("<|begin|>", begin), None)))


def qwen2(rng, **more):
    config = dict(tokenizer_class="Qwen2Tokenizer", add_prefix_space=False, bos_token=None, eos_token=ENDS[0], pad_token=ENDS[1],
                  clean_up_tokenization_spaces=False, **more)
    return assembled(trained("bytes"), [], config, normalizer=dict(type="NFC"), decoder=byte_level(),
                     pre_tokenizer=sequence("pretokenizers", regex_split(QWEN), byte_level(use_regex=False)),
                     post_processor=byte_level(trim_offsets=False))


def llama2(rng, **more):
    config = dict(tokenizer_class="LlamaTokenizer", add_bos_token=True, add_eos_token=False, bos_token="<s>", eos_token="</s>", unk_token="<unk>",
                  legacy=bool(rng.integers(2)), clean_up_tokenization_spaces=bool(rng.integers(2)), **more)
    return assembled(trained("pieces"), special("<unk>", "<s>", "</s>"), config, post_processor=frame(("<s>", 1), None),
                     normalizer=sequence("normalizers", dict(type="Prepend", prepend="\u2581"), string_replace(" ", "\u2581")),
                     decoder=sequence("decoders", string_replace("\u2581", " "), dict(type="ByteFallback"), dict(type="Fuse"),
                                      dict(type="Strip", content=" ", start=1, stop=0)))


def gemma(rng, **more):
    config = dict(tokenizer_class="GemmaTokenizer", add_bos_token=True, add_eos_token=False, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>",
                  unk_token="<unk>", clean_up_tokenization_spaces=False, **more)
    return assembled(trained("gemma"), special("<pad>", "<eos>", "<bos>", "<unk>"), config, normalizer=string_replace(" ", "\u2581"),
                     pre_tokenizer=dict(type="Split", pattern=dict(String=" "), behavior="MergedWithPrevious", invert=False),
                     post_processor=frame(("<bos>", 2), None),
                     decoder=sequence("decoders", string_replace("\u2581", " "), dict(type="ByteFallback"), dict(type="Fuse")))


def t5(rng, name="T5Tokenizer", **more):
    config = dict(tokenizer_class=name, eos_token="</s>", unk_token="<unk>", pad_token="<pad>", extra_ids=0,
                  clean_up_tokenization_spaces=bool(rng.integers(2)), **more)
    return assembled(trained("unigram-t5"), special("<pad>", "</s>", "<unk>"), config, post_processor=frame(None, ("</s>", 1)), decoder=METASPACE,
                     normalizer=sequence("normalizers", dict(type="NFKC"), dict(type="Replace", pattern=dict(Regex=" {2,}"), content=" ")),
                     pre_tokenizer=METASPACE)


def clip(rng, **more):
    model = trained("clip")
    names = special("<|startoftext|>", "<|endoftext|>")
    at = {token["content"]: token["id"] for token in added(model, *names)}
    config = dict(tokenizer_class="CLIPTokenizer", bos_token="<|startoftext|>", eos_token="<|endoftext|>", pad_token="<|endoftext|>",
                  unk_token="<|endoftext|>", clean_up_tokenization_spaces=True, **more)
    return assembled(model, names, config, decoder=byte_level(),
                     normalizer=sequence("normalizers", dict(type="NFC"), dict(type="Replace", pattern=dict(Regex=r"\s+"), content=" "),
                                         dict(type="Lowercase")),
                     pre_tokenizer=sequence("pretokenizers", regex_split(CLIP, "Removed", True), byte_level(use_regex=False)),
                     post_processor=dict(type="RobertaProcessing", sep=["<|endoftext|>", at["<|endoftext|>"]],
                                         cls=["<|startoftext|>", at["<|startoftext|>"]], trim_offsets=False, add_prefix_space=False))
