#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts on AArch64: tokenizers of all kinds give the ids and texts that they give on this machine, and a program goes on from texts as here.

usage: text.py NATIVE EMULATED DRIVER DRIVER_AARCH64 TOKENIZERS QEMU..."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "text"))
from driver import Driver
from make_tokenizers import make_texts


def main():
    native, emulated, here, there, folder, *qemu = sys.argv[1:]
    for text in ("And it came to pass", "W\u00e9ird t\u00ebxt: 12 \u20ac, \u6f22\u5b57 \U0001f999", "  spaces"):
        options = ["--prompt", text, "--temperature", "0", "--max-tokens", "24"]
        wanted, got = (subprocess.run([*command, *options], check=True, capture_output=True).stdout for command in ([native], [*qemu, emulated]))
        assert got == wanted and len(got) > 10, f"{text}: {got}, but here {wanted}"
    texts, count = make_texts(5, 120), 0
    step = 1 if os.environ.get("ATTN_FULL_TESTS") == "1" else 4
    for name in sorted(os.listdir(folder))[::step]:
        if name == "tiktoken":  # has no tokens for most texts
            continue
        drivers = Driver(here, f"{folder}/{name}", 1), Driver(there, f"{folder}/{name}", 1)
        drivers[1].command[:0] = qemu
        wanted, got = (driver.encode(texts) for driver in drivers)
        assert got == wanted and any(wanted), name
        ids = [[token[0] for token in tokens] for tokens in wanted]
        assert drivers[0].decode(ids) == drivers[1].decode(ids), name
        count += 1
    print(f"{count} tokenizers, {len(texts)} texts: as on this machine")


if __name__ == "__main__":
    main()
