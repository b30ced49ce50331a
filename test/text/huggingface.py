# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares ids, offsets, types and decoded texts with those of Hugging Face's library, for a tokenizer of every kind of
component (make_tokenizers.py).

usage: huggingface.py DRIVER FOLDER EXPECTED.json            compares with what the library said once
       huggingface.py DRIVER FOLDER --oracle SEED COUNT      asks it now, on random texts; node finds it by NODE_PATH
       huggingface.py DRIVER FOLDER --oracle SEED COUNT FILE...   the same for further files that are there
       huggingface.py --write FOLDER EXPECTED.json           asks it, and keeps the answers
"""
import json
import pathlib
import random
import subprocess
import sys
import unicodedata

from driver import Driver
from make_tokenizers import TEXT, make_texts, make_tokenizers

ORACLE = pathlib.Path(__file__).with_name("oracle.js")
ADD_SPECIAL, TRUNCATE, PAD = 1, 4, 8


def ask(folder, path, texts):
    (folder / "texts.json").write_text(json.dumps(texts))
    subprocess.run(["node", ORACLE, path, folder / "texts.json", folder / "out.json"], check=True)
    return json.loads((folder / "out.json").read_text())


def write_tokenizers(folder):
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, tokenizer in make_tokenizers().items():
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps(tokenizer, ensure_ascii=False))
    return paths


def make_pairs(texts, seed):
    """Some of the texts, two in one."""
    rng = random.Random(seed)
    return texts + [f"{a}\x1f{b}" for a, b in zip(rng.sample(texts, len(texts) // 5), rng.sample(texts, len(texts) // 5))]


def byte_offsets(text, offsets):
    at = [0]
    for c in text:
        at.append(at[-1] + len(c.encode()))
    return [at[offset] if offset < len(at) else None for offset in offsets]


def expected_tokens(text, answer):
    first = text.split("\x1f")[0]
    begins, ends = byte_offsets(first, answer["offsets"][::2]), byte_offsets(first, answer["offsets"][1::2])
    return list(zip(answer["ids"], begins, ends, answer["types"]))


def is_aligned(name, text):
    """Whether the library's offsets are right: of Precompiled they are not behind characters that the table takes away."""
    return name != "xlm" or all(unicodedata.category(c) not in ("Cc", "Cf") for c in text)


def compare(driver, name, texts, answers):
    """Prints and counts what differs."""
    known = [(text, answer) for text, answer in zip(texts, answers) if answer is not None]
    wrong = 0

    def complain(what, text, got, want):
        nonlocal wrong
        wrong += 1
        if wrong <= 3:
            print(f"{name}: {what} of {text!a}:\n   {got}\n   expected {want}")

    for (text, answer), got in zip(known, driver.encode([text for text, _ in known])):
        want = expected_tokens(text, answer)
        if "\x1f" in text or not is_aligned(name, text):
            got, want = ([(token, kind) for token, _, _, kind in tokens] for tokens in (got, want))
        if got != want:
            complain("tokens", text, got, want)
    decoded = driver.decode([answer["ids"] for _, answer in known])
    for (text, answer), (whole, parts) in zip(known, decoded):
        if whole != answer["decoded"].encode():
            complain("ids decoded", text, whole, answer["decoded"].encode())
        if b"".join(parts) != whole:
            complain("ids decoded one by one", text, parts, whole)
    print(f"{name}: {len(known)} texts, {wrong} wrong")
    return wrong


def driver_of(program, path):
    content = json.loads(path.read_text())
    flags = ADD_SPECIAL + (TRUNCATE if content["truncation"] else 0) + (PAD if content["padding"] else 0)
    return Driver(program, path, flags)


def main():
    if sys.argv[1] == "--write":
        folder = pathlib.Path(sys.argv[2])
        texts = make_pairs([text if text != TEXT else TEXT[:150] for text in make_texts(7, 26)], 7)
        answers = {path.stem: ask(folder, path, texts) for path in write_tokenizers(folder)}
        lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(answer, separators=(',', ':'))}" for name, answer in answers.items())
        pathlib.Path(sys.argv[3]).write_text(f'{{"texts":{json.dumps(texts)},\n{lines}}}\n')
        return
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    paths = write_tokenizers(folder)
    if sys.argv[3] == "--oracle":
        paths += [path for path in map(pathlib.Path, sys.argv[6:]) if path.exists()]
        texts = make_pairs(make_texts(int(sys.argv[4]), int(sys.argv[5])), int(sys.argv[4]))
        print(f"seed {sys.argv[4]}")
        wrong = sum(compare(driver_of(program, path), path.stem, texts, ask(folder, path, texts)) for path in paths)
    else:
        answers = json.loads(pathlib.Path(sys.argv[3]).read_text())
        texts = answers.pop("texts")
        assert set(answers) == {path.stem for path in paths}
        wrong = sum(compare(driver_of(program, path), path.stem, texts, answers[path.stem]) for path in paths)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
