#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files whose names and texts hold control characters: what is said of them moves no terminal. Of each command all output is
looked through; the characters are there as `\\x1b`.

usage: control_characters.py STORY FASHION FOLDER, examples/story and fashion-vit, and one to work in"""
import json
import os
import shutil
import struct
import subprocess
import sys

# An escape, its form in UTF-8's C1, a bell, a mark that turns the direction.
EVIL = "\x1b]0;title\x07\x1b[2J\u009b2J\u202e"


def run(command, codes, expected="\\x1b"):
    done = subprocess.run(command, capture_output=True)
    for stream in (done.stdout, done.stderr):
        text = stream.decode()
        bad = [c for c in text if c not in "\n\t" and (ord(c) < 32 or 0x7f <= ord(c) < 0xa0 or c == "\u202e")]
        assert not bad, f"{command}: {bad} in {text!r}"
    said = (done.stdout + done.stderr).decode()
    assert done.returncode in codes, f"{command}: exit {done.returncode}\n{said}"
    assert expected in said, f"{command}: expected {expected} in {said}"


def safetensors(path, names):
    header = json.dumps({name: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i, name in enumerate(names)}).encode()
    open(path, "wb").write(struct.pack("<Q", len(header)) + header + bytes(4 * len(names)))


def main():
    story, fashion, folder = map(os.path.abspath, sys.argv[1:])
    os.chdir(folder)
    evil = EVIL.replace("/", "")
    spec = f"attn 1\nmodel M {{\n  dim D = 4\n  linear w: D -> D\n  entry e(x: f32[D]) -> [D] {{ return w(x) }} // {EVIL}\n}}\n"
    open("good.attn", "w").write(spec)
    open("bad.attn", "w").write(spec.replace("return w(x)", "return v(x)"))
    open("use.attn", "w").write(f'attn 1\nuse "{EVIL}.attn"\n' + spec[7:])
    shutil.copy("bad.attn", evil + ".attn")
    safetensors("w.safetensors", [EVIL, "w.weight"])
    open(evil, "w").write("text")
    # Names of files, of each verb.
    for verb in ("check", "compile", "run", "bench", "verify", "explain", "fmt", "inspect", "import"):
        run(["attn", verb, evil + ".none"], [1, 4])
    run(["attn", "tokenize", evil + ".none", "text"], [1, 4])
    run(["attn", "tokenize", evil, "text"], [1, 4])
    run(["attn", "inspect", evil], [1])
    run(["attn", "import", evil], [1])
    run(["attn", "check", evil + ".attn"], [1])
    # Texts of files.
    run(["attn", "check", "bad.attn"], [1], "error[A")
    run(["attn", "check", "use.attn"], [1])
    run(["attn", "inspect", "w.safetensors"], [0])
    run(["attn", "check", "good.attn", "--weights", "w.safetensors"], [1])
    run(["attn", "check", "good.attn", "--weights", evil], [1])
    run(["attn", "check", "good.attn", "--weights", evil + ".none"], [4])
    run(["attn", "check", "good.attn", "--config", evil + ".none"], [4])
    # A program: names of files, and labels.
    shutil.copytree(fashion, "vit")
    config = json.load(open("vit/config.json"))
    key = "id2label" if "id2label" in config else "label_names"
    labels = config[key]
    config[key] = {k: v + EVIL for k, v in labels.items()} if isinstance(labels, dict) else [v + EVIL for v in labels]
    json.dump(config, open("vit/config.json", "w"))
    subprocess.run(["attn", "compile", "-O0", "vit/fashion_vit.attn", "-o", "program"], check=True, capture_output=True)
    run(["./program", "--weights", "vit", "--input", "image=vit/boot.png"], [0])
    run(["./program", "--weights", "vit", "--input", f"image={evil}.png"], [4])
    run(["./program", "--weights", "vit", "--input", f"image={evil}"], [1])
    run(["./program", "--weights", evil, "--input", "image=random"], [1])
    run(["./program", "--weights", "vit", "--input", f"{EVIL}=random"], [2])
    run(["./program", "--weights", "vit", "--input", "image=vit/boot.png", "--output", f"classify=none/{evil}.npy"], [2, 4])
    run(["./program", f"--{EVIL}"], [2])
    print("nothing moves the terminal")


if __name__ == "__main__":
    main()
