# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same vocabularies in other files: of GPT-2 as tiktoken has it, of BERT as a vocab.txt, made from GGUF files here, give
the ids of llama.cpp's test vectors; the tokenizer of llama2.c gives those of an encoder written after its rule, here.

usage: formats.py DRIVER FOLDER WEIGHTS SEED COUNT
"""
import base64
import pathlib
import struct
import sys

from driver import Driver
from make_tokenizers import ALPHABET, make_texts

FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def read_gguf(path):
    """The metadata of a GGUF file."""
    data, at, values = path.read_bytes(), 8, {}

    def take(code):
        nonlocal at
        at += struct.calcsize("<" + code)
        return struct.unpack_from("<" + code, data, at - struct.calcsize("<" + code))[0]

    def value(kind):
        nonlocal at
        if kind == 8:
            size = take("Q")
            at += size
            return data[at - size : at].decode()
        if kind == 9:
            element, count = take("I"), take("Q")
            return [value(element) for _ in range(count)]
        return take(FORMATS[kind])

    take("Q")
    for _ in range(take("Q")):
        key = value(8)
        values[key] = value(take("I"))
    return values


def write_tiktoken(path, values):
    back = {c: byte for byte, c in ALPHABET.items()}
    with path.open("w") as file:
        for rank, token in enumerate(values["tokenizer.ggml.tokens"][:50256]):
            file.write(f"{base64.b64encode(bytes(back[c] for c in token)).decode()} {rank}\n")


def write_vocabulary(path, values):
    lines = []
    for token, kind in zip(values["tokenizer.ggml.tokens"], values["tokenizer.ggml.token_type"]):
        lines.append(token if kind != 1 else token[1:] if token[0] == "▁" else "##" + token)
    path.write_text("\n".join(lines) + "\n")


def vectors(path):
    texts = pathlib.Path(f"{path}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    return texts, [[int(word) for word in line.split()] for line in pathlib.Path(f"{path}.out").read_text().split("\n")]


def encode_llama2(data, text):
    """Ids by llama2.c's rule: of all neighbours that are a token together, the one of the largest score, until there is none."""
    at, tokens, scores = 4, [], []
    while at < len(data):
        score, size = struct.unpack_from("<fi", data, at)
        tokens.append(data[at + 8 : at + 8 + size])
        scores.append(score)
        at += 8 + size
    find = {token: i for i, token in enumerate(tokens) if i >= 259}
    ids = []
    for c in " " + text if text else "":
        ids += [find[c.encode()]] if c.encode() in find else [byte + 3 for byte in c.encode()]
    while True:
        best = None
        for i, (a, b) in enumerate(zip(ids, ids[1:])):
            joined = find.get(tokens[a] + tokens[b]) if a >= 259 and b >= 259 else None
            if joined is not None and (best is None or scores[joined] > scores[best[0]]):
                best = (joined, i)
        if best is None:
            return [1, *ids]
        ids[best[1] : best[1] + 2] = [best[0]]


def compare(name, texts, got, want):
    wrong = [(text, a, b) for text, a, b in zip(texts, got, want) if a != b]
    for text, a, b in wrong[:3]:
        print(f"{name}: {text!a}:\n   {a}\n   expected {b}")
    print(f"{name}: {len(texts)} texts, {len(wrong)} wrong")
    return bool(wrong)


def main():
    program, folder, weights = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    wrong = False
    for name, write, gguf in (("gpt2.tiktoken", write_tiktoken, "gpt-2"), ("vocab.txt", write_vocabulary, "bert-bge")):
        path = weights / f"tokenizers/ggml-vocab-{gguf}.gguf"
        write(folder / name, read_gguf(path))
        texts, want = vectors(path)
        wrong |= compare(name, texts, Driver(program, folder / name).ids(texts), want)
    texts = make_texts(int(sys.argv[4]), int(sys.argv[5]))
    path = weights / "stories260K/tok512.bin"
    data = path.read_bytes()
    wrong |= compare(path.name, texts, Driver(program, path, 1).ids(texts), [encode_llama2(data, text) for text in texts])
    sys.exit(wrong)


if __name__ == "__main__":
    main()
