#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program of examples/story does with texts, by what it writes without any of these options: a text ends before a stop wherever its
tokens begin, a prompt that is too long is cut to its end, a full context ends the text.

usage: running.py PROGRAM FOLDER TOKENIZER HELD_OUT, where PROGRAM has weights and tokenizer"""
import random
import subprocess
import sys

import numpy as np

CAPACITY, LIMIT = 768, 256


def run(program, *options, code=0):
    done = subprocess.run([program, *options], capture_output=True, text=True)
    assert done.returncode == code, f"{options}: exit {done.returncode}\n{done.stderr}"
    return done.stdout, done.stderr


def check_stops(program, rng, count):
    prompt = "And it came to pass in those days, that"
    whole = run(program, "--prompt", prompt, "--seed", "7", "--max-tokens", "60")[0][:-1]
    for _ in range(count):
        stops = []
        for _ in range(rng.randint(1, 3)):
            at, size = rng.randrange(len(whole)), rng.randint(1, 9)
            stops.append(whole[at : at + size] + rng.choice(["", "", "", "#"]))
        # The first that is complete counts, of those that end together the longest.
        ends = [(whole.index(stop) + len(stop), -len(stop)) for stop in stops if stop in whole]
        wanted = whole[: sum(min(ends))] if ends else whole
        got = run(program, "--prompt", prompt, "--seed", "7", "--max-tokens", "60", *(f"--stop={stop}" for stop in stops))[0]
        assert got == wanted + "\n", f"stops {stops}: {got!r}, expected {wanted!r}"
    print(f"{count} sets of stops: the text ends before them")


def ids_of(tokenizer, text):
    return [int(token) for token in run("attn", "tokenize", tokenizer, text, "--ids")[0].split()]


def check_lengths(program, folder, tokenizer, text):
    ids, greedy = ids_of(tokenizer, text), ("--temperature", "0")
    assert len(ids) > CAPACITY + 100
    open(f"{folder}/long.txt", "w").write(text)
    wrong = run(program, "--file", f"{folder}/long.txt", *greedy, code=1)[1]
    assert f"the prompt has {len(ids)} tokens, but the context has room for {CAPACITY}" in wrong and "--truncate" in wrong, wrong
    for limit, kept in ((20, CAPACITY - 20), (LIMIT, CAPACITY - LIMIT)):
        numbers = (*greedy, "--max-tokens", str(limit))
        said, speed = run(program, "--file", f"{folder}/long.txt", "--truncate", *numbers)
        np.save(f"{folder}/ids.npy", np.array([ids[-kept:]], np.int32))
        run(program, "--entry", "tell", "--input", f"ids={folder}/ids.npy", *numbers, "--output", f"tokens={folder}/tokens.npy")
        tokens = np.load(f"{folder}/tokens.npy")[0, :limit]
        wanted = run("attn", "tokenize", tokenizer, "--decode", " ".join(map(str, tokens)))[0]
        assert said.strip("\n") == wanted.strip("\n"), f"{said}\n--- but of the last {kept} tokens:\n{wanted}"
        assert speed.startswith(f"{kept} tokens read"), speed
    # A prompt that nearly fills the context: as many tokens as there is room for, the last of which takes none.
    near = text
    while len(ids_of(tokenizer, near)) > CAPACITY - 10:
        near = near[:-30]
    room = CAPACITY - len(ids_of(tokenizer, near)) + 1
    speed = run(program, "--prompt", near, *greedy)[1]
    assert f", {room} written" in speed, f"{room}: {speed}"
    print("long prompts: an error, cut, or as far as there is room")


def main():
    program, folder, tokenizer, held_out = sys.argv[1:]
    rng = random.Random(3)
    check_stops(program, rng, 25)
    check_lengths(program, folder, tokenizer, open(held_out).read()[:4000])
    likeliest = run(program, "--prompt", "In the", "--temperature", "0", "--max-tokens", "40")[0]
    assert run(program, "--prompt", "In the", "--temperature", "1", "--min-p", "1", "--max-tokens", "40")[0] == likeliest
    assert run(program, "--prompt", "In the", "--temperature", "1", "--max-tokens", "40")[0] != likeliest


if __name__ == "__main__":
    main()
