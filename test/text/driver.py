# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Encodes and decodes by the program text_driver, for twins that compare."""
import subprocess


class Driver:
    def __init__(self, program, tokenizer, flags=0):
        self.command = [program, str(tokenizer), str(flags)]

    def run(self, data):
        return subprocess.run(self.command, input=data, stdout=subprocess.PIPE, check=True).stdout

    def encode(self, texts):
        """For each text, str or bytes, the list of its tokens as (id, begin, end, type)."""
        raw = [text.encode() if isinstance(text, str) else text for text in texts]
        lines = self.run(b"".join(b"%d\n%s" % (len(text), text) for text in raw)).decode().split("\n")
        return [[tuple(map(int, token.split(":"))) for token in line.split()] for line in lines[: len(texts)]]

    def ids(self, texts):
        return [[token[0] for token in tokens] for tokens in self.encode(texts)]

    def decode(self, lists):
        """For each list of ids, its text as bytes: at once, and as what came token by token."""
        out = self.run(b"".join(b"%d\n%s\n" % (-1 - len(ids), " ".join(map(str, ids)).encode()) for ids in lists))
        at, decoded = 0, []

        def take():
            nonlocal at
            end = out.index(b"\n", at)
            size = int(out[at:end])
            at = end + 1 + size
            return out[end + 1 : at]

        for ids in lists:
            text = take()
            at += 1
            parts = [take() for _ in range(len(ids) + 1)]
            at += 1
            decoded.append((text, parts))
        return decoded
