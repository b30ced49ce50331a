#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings are written down by small folders of wav2vec 2 and HuBERT with random weights, and by NumPy in double precision: samples, frames, the
letter of each, and the text that the published tokenizer makes of these. Both print the same. Letters of random frames are compared, too.

usage: recordings.py FOLDER DRIVER"""
import itertools
import json
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "numeric"), os.path.join(HERE, "..", "text")]
from driver import Driver
from make import make
from program import call
from sound_twin import wav
from sounds import results
import speech

SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]


def vocabulary(rng, size, delimiter, case):
    letters = [case(letter) for letter in "etaonihsrdlumwcfgyp"]
    tokens = [*SPECIAL, delimiter, "ch", "'", *letters, "ß", "é", "人"][:size]
    return {token: int(i) for token, i in zip(tokens, rng.permutation(len(tokens)))}


def written(ids, tokens, settings):
    """What Wav2Vec2CTCTokenizer decodes: neighbours that are the same are one, the padding token is nothing, words have a character between."""
    names = {number: token for token, number in tokens.items()}
    each = [name for name, _ in itertools.groupby(names.get(int(number), "<unk>") for number in ids)]
    space = settings.get("replace_word_delimiter_char", " ")
    text = "".join(space if name == settings.get("word_delimiter_token", "|") else name for name in each if name != "<pad>").strip(" ")
    return text.lower() if settings.get("do_lower_case") else text


def folder_of(folder, family, seed, settings):
    rng = np.random.default_rng(seed)
    config, weights = make(family, folder, seed)
    case = str.upper if settings.get("do_lower_case") else str
    tokens = vocabulary(rng, config["vocab_size"], settings.get("word_delimiter_token", "|"), case)
    language = settings.get("target_lang")
    with open(f"{folder}/vocab.json", "w") as file:
        json.dump({"xxx": {"a": 0}, language: tokens} if language else tokens, file)
    with open(f"{folder}/tokenizer_config.json", "w") as file:
        json.dump({"tokenizer_class": "Wav2Vec2CTCTokenizer", "pad_token": "<pad>", "unk_token": "<unk>", **settings}, file)
    return config, {name: value.astype(np.float64) for name, value in weights.items()}, tokens


def check_letters(driver, folder, tokens, settings, rng):
    """Of random frames, of which many say the same as the one before."""
    rows = [np.repeat(rng.integers(0, len(tokens) + 2, 12), rng.integers(1, 4, 12)) for _ in range(150)]
    rows += [[], [tokens["<pad>"]] * 3]
    for row, (text, parts) in zip(rows, Driver(driver, folder).decode(rows)):
        wanted = written(row, tokens, settings).encode()
        assert text == wanted, (list(row), text, wanted)
        assert b"".join(parts) in (wanted, wanted + b" "), (list(row), parts, wanted)


def check_pieces(driver, folder, rng):
    """A tokenizer.json whose class says that its tokens are those of frames: Parakeet's."""
    os.makedirs(folder)
    with open(f"{folder}/tokenizer.json", "w") as file:
        json.dump(speech.tokenizer(), file)
    with open(f"{folder}/tokenizer_config.json", "w") as file:
        json.dump({"tokenizer_class": "ParakeetTokenizerFast", "pad_token": "<|nospeech|>", "unk_token": "<|endoftext|>"}, file)
    blank = speech.END + speech.SPECIAL.index("<|nospeech|>")
    rows = [np.repeat(rng.choice([*speech.ASCII[:9], blank], 12), rng.integers(1, 4, 12)) for _ in range(60)]
    for row, (text, _) in zip(rows, Driver(driver, folder).decode(rows)):
        kept = [number for number, _ in itertools.groupby(int(number) for number in row) if number != blank]
        assert text == bytes(speech.LETTER[number] for number in kept), (list(row), text)


def main():
    folder, driver = sys.argv[1:]
    count = 0
    for n, (family, settings) in enumerate([("wav2vec2", {"target_lang": "eng"}), ("hubert", {"do_lower_case": True, "word_delimiter_token": "/"}),
                                            ("unispeech-sat", {"replace_word_delimiter_char": "_"})]):
        own, rng = f"{folder}/{family}", np.random.default_rng(n)
        config, weights, tokens = folder_of(own, family, 3 + n, settings)
        check_letters(driver, own, tokens, settings, rng)
        if n == 2:  # letters alone
            continue
        call(["attn", "import", own, "-o", f"{own}/spec.attn"])
        unit, sounds, wanted = config["model_type"] == "wav2vec2", [], []
        for i, size in enumerate((900, 331, 2500)):
            samples = np.clip(0.2 * rng.standard_normal(size) + 0.1, -1, 1)
            heard = wav(f"{own}/{i}.wav", samples[:, None], 16000, "16")
            heard = (heard - heard.mean()) / np.sqrt(heard.var() + 1e-7) if unit else heard
            tokens_of = results(config, weights, heard)["tokens"]
            wanted.append(written(tokens_of, tokens, settings))
            sounds += ["--input", f"samples={own}/{i}.wav"]
        run = ["attn", "run", f"{own}/spec.attn", "--weights", own, "-O0", *sounds]
        said = subprocess.run(run, capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
        assert said.stdout == "".join(line + "\n" for line in wanted), (said.stdout, wanted)
        count += len(wanted)
    check_pieces(driver, f"{folder}/parakeet", np.random.default_rng(9))
    print(f"{count} recordings as NumPy writes them")


if __name__ == "__main__":
    main()
