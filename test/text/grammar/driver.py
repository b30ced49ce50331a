# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program grammar_driver, and a tokenizer of single bytes for it."""
import json
import subprocess

JSON_SCHEMA, JSON_OBJECT, REGEX, GBNF, LARK = range(5)
END = 256


def characters_of_bytes():
    """The characters by which GPT-2's vocabulary writes bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def write_tokenizer(path, words=()):
    """A tokenizer of all bytes, of END, and of words, which pairs of tokens are merged to."""
    characters = characters_of_bytes()
    vocabulary = {characters[byte]: byte for byte in range(256)}
    merges = []
    for word in words:
        letters = [characters[byte] for byte in word.encode()]
        for size in range(2, len(letters) + 1):
            pair = ["".join(letters[:size - 1]), letters[size - 1]]
            if "".join(pair) not in vocabulary:
                vocabulary["".join(pair)] = len(vocabulary) + 1
                merges.append(pair)
    end = {"id": END, "content": "<|end|>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokenizer = {"added_tokens": [end], "normalizer": None,
                 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
                 "post_processor": None, "decoder": {"type": "ByteLevel"},
                 "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                           "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                           "vocab": vocabulary, "merges": merges}}
    with open(path, "w") as file:
        json.dump(tokenizer, file)


class Driver:
    """The program, with a grammar at a time."""

    def __init__(self, program, tokenizer, end=END):
        self.process = subprocess.Popen([program, tokenizer, str(end)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _send(self, command, data=b""):
        self.process.stdin.write(command.encode() + b"\n" + data)
        self.process.stdin.flush()

    def _line(self):
        line = self.process.stdout.readline()
        assert line, f"the driver has ended with {self.process.wait()}"
        return line.decode().rstrip("\n")

    def make(self, kind, text):
        """Makes a grammar: None, or what is wrong with it."""
        data = text.encode()
        self._send(f"grammar {kind} {len(data)}", data)
        line = self._line()
        return None if line == "ok" else line

    def fits(self, text):
        """Whether all of a text follows the grammar."""
        data = text if isinstance(text, bytes) else text.encode()
        self._send(f"text {len(data)}", data)
        return self._line().split()[0] == "1"

    def walk(self, seed, count):
        """A random text that follows it; from `count` tokens on it ends as soon as it can; None where that is
        not soon."""
        self._send(f"walk {seed} {count}")
        size = int(self._line())
        return None if size < 0 else self.process.stdout.read(size).decode()

    def times(self, seed, count):
        """The microseconds that each mask of such a text takes."""
        self._send(f"time {seed} {count}")
        return [float(time) for time in self._line().split()[1:]]

    def check(self, seed, count):
        """Holds each mask of a random text against taking each token: how many tokens there were, and were allowed."""
        self._send(f"check {seed} {count}")
        line = self._line()
        assert "wrong" not in line, line
        return [int(number) for number in line.split()]

    def forced(self):
        """The tokens that have to come first."""
        self._send("forced")
        return [int(token) for token in self._line().split()]
