# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares ids and decoded texts with SentencePiece's (Debian's python3-sentencepiece): for models of both kinds trained here,
with several settings, and for a published one.

usage: sentencepiece_twin.py DRIVER FOLDER SEED COUNT [FILE.model...]
"""
import pathlib
import sys

import sentencepiece
from driver import Driver
from make_tokenizers import TEXT, make_texts

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


def compare(program, path, texts):
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    driver, wrong = Driver(program, path), 0
    ids = driver.ids(texts)
    for text, got in zip(texts, ids):
        want = processor.encode(text)
        if got != want:
            wrong += 1
            if wrong <= 3:
                print(f"{path.name}: ids of {text!a}:\n   {got}\n   expected {want}")
    for got, (whole, parts) in zip(ids, driver.decode(ids)):
        want = processor.decode(got).encode()
        if whole != want or b"".join(parts) != whole:
            wrong += 1
            if wrong <= 3:
                print(f"{path.name}: {got} decoded:\n   {whole}\n   {parts}\n   expected {want}")
    print(f"{path.name}: {len(texts)} texts, {wrong} wrong")
    return wrong


def main():
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    texts = make_texts(int(sys.argv[3]), int(sys.argv[4]))
    print(f"seed {sys.argv[3]}")
    paths = [*train(folder), *filter(pathlib.Path.exists, map(pathlib.Path, sys.argv[5:]))]
    sys.exit(any([compare(sys.argv[1], path, texts) for path in paths]))


if __name__ == "__main__":
    main()
