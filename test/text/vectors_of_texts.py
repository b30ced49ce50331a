#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectors of texts by an imported sentence encoder: those of the same tokens in one padded batch, and cosines by NumPy.

usage: vectors_of_texts.py FOLDER, where FOLDER has the checkpoint of test/import/make.py's minilm, bge or modernbert-embed"""
import json
import os
import subprocess
import sys

import numpy as np

LINES = ["the cat sat", "a cat sits on the mat", "prices rise", "the market is up!", "one", "cat cat cat cat cat cat"]


def run(*command, code=0, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == code, f"{command}: exit {done.returncode}\n{done.stderr}"
    return done.stdout if code == 0 else done.stderr


def check_jobs(folder, program, most, got):
    """Many texts: threads, lines that are errors, what an error leaves behind, JSON."""
    texts, rows, part = f"{folder}/texts.txt", f"{folder}/rows.npy", f"{folder}/rows.npy.part"
    good = [LINES[i % len(LINES)] + " cat" * (i % 7) for i in range(1100)]
    bad = list(good)
    bad[16] = bad[700] = " ".join(["cat"] * (most + 3))
    write = lambda lines: open(texts, "w").write("\n".join(lines) + "\n")
    embed = lambda *options, code=0, name=rows: run(program, "--embed", "--file", texts, "--output", f"embedding={name}", *options, code=code)
    write(good)
    embed("--threads", "1")
    wanted = np.load(rows)
    assert wanted.shape == (1100, got.shape[1]) and (wanted[:len(LINES)][0] == got[0]).all()
    for threads in ("2", "3"):
        os.remove(rows)
        embed("--threads", threads)
        assert (np.load(rows) == wanted).all(), f"other numbers on {threads} threads"
    assert not os.path.exists(part)
    # The place of an error; what was made before it is kept, and gone on with.
    write(bad)
    os.remove(rows)
    said = embed(code=1)
    assert f"error[R0215]: `{texts}:17`: the text has {most + 5} tokens" in said and "--skip-errors" in said, said
    assert not os.path.exists(rows) and "the rows before it (16)" in said and os.path.exists(part), said
    write(bad[:16] + good[16:])
    said = embed("--resume", code=0)
    assert (np.load(rows) == wanted).all() and not os.path.exists(part)
    # A run that is ended in the middle of a row.
    size = os.path.getsize(rows)
    row = 4 * wanted.shape[1]
    open(part, "wb").write(open(rows, "rb").read()[:size - 500 * row - row // 2])
    os.remove(rows)
    done = subprocess.run([program, "--embed", "--file", texts, "--output", f"embedding={rows}", "--resume"], capture_output=True, text=True)
    assert done.returncode == 0 and "599 rows were in" in done.stderr, done.stderr
    assert (np.load(rows) == wanted).all()
    # Rows of other texts are not gone on with.
    open(part, "wb").write(open(rows, "rb").read()[:size - 500 * row])
    write(good[1:] + good[:1])
    assert "error[R0304]" in embed("--resume", code=1)
    write(good[:-1])
    assert "error[R0304]" in embed("--resume", code=1) and os.path.exists(part)
    os.remove(part)
    # A row of NaN for each line that is an error.
    write(bad)
    done = subprocess.run([program, "--embed", "--file", texts, "--output", f"embedding={rows}", "--skip-errors"], capture_output=True, text=True)
    assert done.returncode == 0 and f"note: `{texts}:17`: the text has" in done.stderr and "2 of 1100 lines have no vector" in done.stderr, done.stderr
    skipped = np.load(rows)
    isGood = np.array([i not in (16, 700) for i in range(1100)])
    assert np.isnan(skipped[~isGood]).all() and (skipped[isGood] == wanted[isGood]).all()
    check_json(folder, program, wanted, good)


def check_json(folder, program, wanted, good):
    lines = [json.dumps({"id": [i, f"n\u00e9 {i}"][i % 2], "other": [{}], "text": text}) for i, text in enumerate(good[:40])]
    lines[5] = '{"id": 5, "text": 3}'
    open(f"{folder}/texts.jsonl", "w").write("\n".join(lines) + "\n")
    output = f"{folder}/rows.jsonl"
    embed = [program, "--embed", "--file", f"{folder}/texts.jsonl", "--output", f"embedding={output}"]
    said = run(*embed, code=1)
    assert "texts.jsonl:6`: its `text` is no string" in said, said
    run(*embed, "--resume", "--skip-errors")
    rows = [json.loads(line) for line in open(output)]
    assert [row["id"] for row in rows] == [json.loads(line)["id"] for line in lines]
    assert rows[5]["vector"] is None
    assert all((np.array(row["vector"], np.float32) == vector).all() for i, (row, vector) in enumerate(zip(rows, wanted)) if i != 5)


def main():
    folder, = sys.argv[1:]
    config = json.load(open(f"{folder}/config.json"))
    vocabulary = config["vocab_size"]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "a", "on", "mat", "prices", "is", "up", "!", "##s", "sit", "ris", "##e"]
    words += [f"word{i}" for i in range(vocabulary - len(words))]
    open(f"{folder}/vocab.txt", "w").write("\n".join(words) + "\n")
    open(f"{folder}/lines.txt", "w").write("\n".join(LINES) + "\r\n")
    spec, program, vectors = f"{folder}/spec.attn", f"{folder}/program", f"{folder}/vectors.npy"
    run("attn", "import", folder, "-o", spec)
    run("attn", "compile", "-O0", spec, "--weights", folder, "--embed-weights", "-o", program)
    run(program, "--embed", "--file", f"{folder}/lines.txt", "--output", f"embedding={vectors}")
    got = np.load(vectors)

    tokens = [[int(one) for one in run("attn", "tokenize", f"{folder}/vocab.txt", line, "--ids").split()] for line in LINES]
    longest = max(map(len, tokens))
    for name, array in (("ids", [row + [0] * (longest - len(row)) for row in tokens]), ("segments", np.zeros((len(LINES), longest))),
                        ("lengths", [len(row) for row in tokens])):
        np.save(f"{folder}/{name}.npy", np.array(array, np.int32))
    inputs = [option for name in ("ids", "segments", "lengths") if name != "segments" or "type_vocab_size" in config
              for option in ("--input", f"{name}={folder}/{name}.npy")]
    run(program, *inputs, "--output", f"embedding={folder}/batch.npy")
    wanted = np.load(f"{folder}/batch.npy")
    error = np.linalg.norm(got - wanted) / np.linalg.norm(wanted)
    assert got.shape == wanted.shape and error < 1e-6, f"{got.shape}: a relative L2 of {error:.1e}"
    one = f"{folder}/one.npy"
    run(program, "--embed", "--prompt", LINES[1], "--output", f"embedding={one}")
    assert (np.load(one)[0] == got[1]).all()
    run(program, "--embed", "--prompt", LINES[1].replace(" ", "\n"), "--output", f"embedding={one}")
    assert (np.load(one)[0] == got[1]).all(), "a prompt of several lines is one text"

    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(got[::2].astype(float), got[1::2].astype(float))]
    said = [float(line) for line in run(program, "--pairs", "--file", "-", text="\n".join(LINES)).split()]
    assert np.abs(np.array(said) - cosines).max() < 6e-5, f"{said}, expected {cosines}"
    wrong = run(program, "--pairs", "--file", "-", text="a\nb\nc\n", code=1)
    assert "`-` has 3 lines, expected two for each pair" in wrong, wrong
    long = " ".join(["cat"] * 5000)
    wrong = run(program, "--embed", "--prompt", long, code=1)
    assert "R0215]: the text has 5002 tokens, but entry `embed` takes" in wrong, wrong
    most = int(wrong.split(" takes ")[1].split()[0])
    run(program, "--embed", "--prompt", long, "--truncate", "--output", f"embedding={one}")
    run(program, "--embed", "--prompt", " ".join(["cat"] * (most - 2)), "--output", f"embedding={folder}/cut.npy")
    assert (np.load(one) == np.load(f"{folder}/cut.npy")).all()
    check_jobs(folder, program, most, got)
    print(f"{len(LINES)} lines: the vectors of a padded batch")


if __name__ == "__main__":
    main()
