# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares ids with llama.cpp's test vectors: FILE.inp holds texts between lines of __ggml_vocab_test__, FILE.out their ids,
a line each. Then decodes them, at once and token by token.

usage: vectors.py DRIVER FILE.gguf [LOSSY]   (LOSSY: the vocabulary does not keep every text)
"""
import sys

from driver import Driver


def main():
    path = sys.argv[2]
    with open(path + ".inp", encoding="utf-8", newline="") as file:
        texts = file.read().split("\n__ggml_vocab_test__\n")
    with open(path + ".out") as file:
        expected = [[int(word) for word in line.split()] for line in file.read().split("\n")[: len(texts)]]
    driver = Driver(sys.argv[1], path)
    ids = driver.ids(texts)
    wrong = [(text, got, want) for text, got, want in zip(texts, ids, expected) if got != want]
    for text, got, want in wrong:
        print(f"{text!a}: ids {got}, expected {want}")
    decoded = driver.decode(ids)
    for text, (whole, parts) in zip(texts, decoded):
        if whole != b"".join(parts) or (len(sys.argv) == 3 and whole.decode() != text):
            wrong.append(text)
            print(f"{text!a} came back as {whole!a}, and in parts as {parts!a}")
    print(f"{len(texts)} texts, {len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
