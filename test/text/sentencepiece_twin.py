# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares ids and decoded texts with SentencePiece's (Debian's python3-sentencepiece): for models of both kinds trained here,
with several settings, the same in GGUF files, and for a published one.

usage: sentencepiece_twin.py DRIVER FOLDER SEED COUNT [FILE.model...]
"""
import json
import pathlib
import struct
import sys

import sentencepiece
from driver import Driver
from make_tokenizers import TEXT, fields, make_texts

SETTINGS = {
    "unigram": {"model_type": "unigram"},
    "unigram-bytes": {"model_type": "unigram", "byte_fallback": True, "add_dummy_prefix": False, "vocab_size": 520},
    "unigram-plain": {"model_type": "unigram", "normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "unigram-symbols": {"model_type": "unigram", "user_defined_symbols": ["new word", "▁▁", "<mask>", "é"], "control_symbols": ["<end>"]},
    "bpe": {"model_type": "bpe"},
    "bpe-bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 520, "normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "bpe-lower": {"model_type": "bpe", "normalization_rule_name": "nmt_nfkc_cf", "treat_whitespace_as_suffix": True},
    "bpe-symbols": {"model_type": "bpe", "user_defined_symbols": ["new word", "new", "<mask>"]},
    "bpe-across": {"model_type": "bpe", "split_by_whitespace": False},
}


def train(folder):
    corpus = folder / "corpus.txt"
    corpus.write_text(TEXT * 3)
    for name, settings in SETTINGS.items():
        options = {"vocab_size": 300, "character_coverage": 0.98, "minloglevel": 2, "num_threads": 1, "hard_vocab_limit": False, **settings}
        sentencepiece.SentencePieceTrainer.train(input=str(corpus), model_prefix=str(folder / name), **options)
        yield folder / f"{name}.model"


def write_gguf(path, processor):
    """The model of a processor as GGUF has it: its name with .gguf behind."""
    def text(value):
        return struct.pack("<Q", len(value.encode())) + value.encode()

    def array(kind, values):
        code = {4: "B", 6: "f", 5: "i"}.get(kind)
        packed = b"".join(map(text, values)) if kind == 8 else struct.pack(f"<{len(values)}{code}", *values)
        return struct.pack("<IIQ", 9, 0 if kind == 4 else kind, len(values)) + packed

    def kind_of(i):
        tests = (processor.is_unknown, 2), (processor.is_control, 3), (processor.is_unused, 5), (processor.is_byte, 6)
        return next((kind for test, kind in tests if test(i)), 1)

    count, settings = processor.vocab_size(), SETTINGS[path.stem]
    normalizer = next(value for number, value in fields(path.read_bytes()) if number == 3)
    charsmap = next((value for number, value in fields(normalizer) if number == 2), b"")
    members = {
        "model": struct.pack("<I", 8) + text("t5" if settings["model_type"] == "unigram" else "llama"),
        "tokens": array(8, [processor.id_to_piece(i) for i in range(count)]),
        "scores": array(6, [processor.get_score(i) for i in range(count)]),
        "token_type": array(5, [kind_of(i) for i in range(count)]),
        "add_space_prefix": struct.pack("<I?", 7, settings.get("add_dummy_prefix", True)),
        "remove_extra_whitespaces": struct.pack("<I?", 7, settings.get("remove_extra_whitespaces", True)),
    }
    if charsmap:
        members["precompiled_charsmap"] = array(4, charsmap)
    body = b"".join(text("tokenizer.ggml." + key) + value for key, value in members.items())
    gguf = path.with_name(path.name + ".gguf")
    gguf.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(members)) + body)
    return gguf


def compare(program, path, texts, file=None):
    """Of `file` where it is given, with special tokens as text, the ids of `path`'s model."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    path = file or path
    driver, wrong = Driver(program, path, 2 if file else 0), 0
    ids = driver.ids(texts)
    for text, got in zip(texts, ids):
        want = processor.encode(text)
        if got != want:
            wrong += 1
            if wrong <= 3:
                print(f"{path.name}: ids of {text!a}:\n   {got}\n   expected {want}")
    if file:  # which does not say what stands for the unknown token
        ids = [got for got in ids if processor.unk_id() not in got]
    for got, (whole, parts) in zip(ids, driver.decode(ids)):
        want = processor.decode(got).encode()
        if whole != want or b"".join(parts) != whole:
            wrong += 1
            if wrong <= 3:
                print(f"{path.name}: {got} decoded:\n   {whole}\n   {parts}\n   expected {want}")
    print(f"{path.name}: {len(texts)} texts, {wrong} wrong")
    return wrong


def compare_marian(program, path, texts, folder):
    """The model of a Marian folder, with numbers that are in another order, and some pieces that are not among them."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = [processor.id_to_piece(i) for i in range(3, processor.vocab_size()) if i % 7]
    names = ["</s>", "<unk>", *reversed(pieces), ">>fra<<", "\u00b5 is of the other language", "<pad>"]
    numbers = {name: i for i, name in enumerate(names)}
    folder.mkdir(exist_ok=True)
    (folder / "source.spm").write_bytes(path.read_bytes())
    (folder / "vocab.json").write_text(json.dumps(numbers))
    driver, wrong = Driver(program, folder, 1), 0
    for text, got in zip(texts, driver.ids([f">>fra<< {text}" for text in texts])):
        want = [numbers[">>fra<<"], *(numbers.get(piece, 1) for piece in processor.encode(text, out_type=str)), 0]
        wrong += got != want
        if got != want and wrong <= 3:
            print(f"Marian: ids of {text!a}:\n   {got}\n   expected {want}")
    known = [[numbers[piece] for piece in processor.encode(text, out_type=str) if numbers.get(piece, 1) > 1] for text in texts]
    for ids, (whole, _) in zip(known, driver.decode(known)):
        want = processor.decode([names[i] for i in ids]).encode()
        wrong += whole != want
        if whole != want and wrong <= 3:
            print(f"Marian: {ids} decoded:\n   {whole}\n   expected {want}")
    print(f"Marian: {len(texts)} texts, {wrong} wrong")
    return wrong


def main():
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    texts = make_texts(int(sys.argv[3]), int(sys.argv[4]))
    print(f"seed {sys.argv[3]}")
    paths = [*train(folder), *filter(pathlib.Path.exists, map(pathlib.Path, sys.argv[5:]))]
    wrong = [compare(sys.argv[1], path, texts) for path in paths]
    for name in ("unigram", "unigram-bytes", "bpe", "bpe-bytes"):
        path = folder / f"{name}.model"
        gguf = write_gguf(path, sentencepiece.SentencePieceProcessor(model_file=str(path)))
        wrong.append(compare(sys.argv[1], path, texts, gguf))
    wrong.append(compare_marian(sys.argv[1], folder / "unigram.model", texts, folder / "marian"))
    sys.exit(any(wrong))


if __name__ == "__main__":
    main()
