#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every reader is given a pipe that nobody writes to, an endless device, a folder, a file of 100 GB without bytes, and where
its format has a header one that claims 100 GB: exit code 1 or 4, in bounded time and memory.

usage: kinds.py INPUTS STORY FASHION FOLDER [WORD], the folder of this file, examples/story and fashion-vit, and one to work
in; a word chooses readers"""
import json
import os
import shutil
import struct
import subprocess
import sys
import time

import numpy as np

HUGE = 100 * 10**9
MOST_SECONDS, MOST_KILOBYTES = 60, 1200 * 1000  # a second where nothing else runs


def claims(suffix):
    """The beginning of a file whose header claims as much; nothing where the format has none."""
    if suffix == ".npy":
        return b"\x93NUMPY\x01\x00v\x00" + f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({HUGE // 64}, 4, 4), }}".ljust(117).encode() + b"\n"
    if suffix == ".safetensors":
        header = json.dumps({"x": {"dtype": "F32", "shape": [HUGE // 64, 4, 4], "data_offsets": [0, HUGE]}}).encode()
        return struct.pack("<Q", len(header)) + header
    if suffix == ".wav":
        return b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16) + b"data\xff\xff\xff\xff"
    return b""


def make(kind, path):
    """A file of this kind; whether there is one."""
    if os.path.lexists(path):
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "endless":
        os.symlink("/dev/zero", path)
    elif kind == "folder":
        os.mkdir(path)
    else:
        head = claims(os.path.splitext(path)[1]) if kind == "claims" else b""
        if kind == "claims" and not head:
            return False
        with open(path, "wb") as file:
            file.write(head)
            file.truncate(len(head) + HUGE)
    return True


def read(command, kind):
    before = time.monotonic()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while child.poll() is None and time.monotonic() - before < MOST_SECONDS:
        time.sleep(0.01)
        with open(f"/proc/{child.pid}/status") as status:
            size = [int(line.split()[1]) for line in status if line.startswith("VmHWM")]
        if size and size[0] > MOST_KILOBYTES:
            break
    child.kill()
    said = child.communicate()[1].decode(errors="replace")
    assert child.returncode in (1, 4), f"{' '.join(command)}, {kind}: {child.returncode}\n{said}"
    assert "error" in said and "no memory" not in said, f"{' '.join(command)}, {kind}: {said}"


def main():
    inputs, story, fashion, folder = map(os.path.abspath, sys.argv[1:5])
    os.chdir(folder)
    for name in ("small.attn", "parts.attn"):
        shutil.copy(f"{inputs}/{name}", name)
    open("config.json", "w").write('{"width": 4}')
    np.save("x.npy", np.ones((1, 4, 4), np.float32))
    level = ["-O0", "--target=x86-64-v3"]
    small = ["small.attn", "--config=config.json"]
    subprocess.run(["attn", "compile", *small, *level, "-o", "program"], check=True)
    vit = f"{fashion}/fashion_vit.attn"
    subprocess.run(["attn", "compile", vit, *level, "-o", "vit"], check=True)
    for name in ("import", "uses"):
        os.mkdir(name)
    shutil.copy(f"{story}/story.safetensors", "import")
    shutil.copy("small.attn", "uses")
    # What reads the file, which is called X with the suffix.
    readers = [
        ("X.attn", ["attn", "check", "X.attn"]),
        ("X.attn", ["attn", "fmt", "X.attn"]),
        ("X.attn", ["attn", "run", "X.attn"]),
        ("uses/parts.attn", ["attn", "check", "uses/small.attn", "--config=config.json"]),
        ("X.json", ["attn", "check", "small.attn", "--config=X.json"]),
        ("X.safetensors", ["attn", "check", *small, "--weights=X.safetensors"]),
        ("X.gguf", ["attn", "check", *small, "--weights=X.gguf"]),
        ("X", ["attn", "inspect", "X"]),
        ("X.onnx", ["attn", "import", "X.onnx"]),
        ("import/config.json", ["attn", "import", "import"]),
        ("X.json", ["attn", "compile", *small, "--tuning=X.json", "--emit=header"]),
        ("tokenizer.json", ["attn", "tokenize", "tokenizer.json", "text"]),
        ("X.txt", ["attn", "tokenize", f"{story}/tokenizer.json", "--file", "X.txt"]),
        ("X.npy", ["./program", "--weights=random", "--input", "x=X.npy"]),
        ("X.safetensors", ["./program", "--weights=random", "--input", "x=X.safetensors"]),
        ("X.safetensors", ["./program", "--weights=X.safetensors", "--input", "x=x.npy"]),
        ("X.png", ["./vit", "--weights=random", "--input", "image=X.png"]),
        ("X.npy", ["attn", "verify", *small, *level[:1], "--weights=random", "--input=x=x.npy", "--against=X.npy"]),
        ("X.txt", ["attn", "run", *small, *level[:1], "--weights=random", "--input=x=random", "--map=y=-", "--map-labels=X.txt"]),
    ]
    if len(sys.argv) > 5:
        readers = [reader for reader in readers if sys.argv[5] in " ".join(reader[1])]
    runs = 0
    for path, command in readers:
        for kind in ("pipe", "endless", "folder", "sparse", "claims"):
            if make(kind, path):
                # A pipe without a writer is empty: a spec that is formatted, a text without tokens. Folders may be inputs.
                if kind == "pipe" and ("fmt" in command or "--file" in command) or kind == "folder" and "inspect" in command:
                    continue
                read(command, kind)
                runs += 1
        make("folder", path)
        os.rmdir(path)
        if path == "uses/parts.attn":
            shutil.copy("parts.attn", path)
    print(f"{len(readers)} readers refuse what is no file of theirs")


if __name__ == "__main__":
    main()
