# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts from Python: tokenizers as `attn tokenize` has them, what a model writes as its program writes it, chats, vectors.
Usage: texts.py EXAMPLES TEMPLATE ENCODER FOLDER"""
import itertools
import json
import os
import shutil
import sys
import threading

import attn
import numpy as np
from tiny import run

examples, template, encoder, folder = sys.argv[1:5]
os.environ.update(ATTN_CACHE_SIZE="1g", ATTN_CACHE_DIR=f"{folder}/cache")
story, file = f"{examples}/story", f"{examples}/story/tokenizer.json"

# Tokenizers and templates, without a model.
tokenizer = attn.Tokenizer(file)
for text in ("In the beginning", "Straße 🙂 \n", "a" * 1000):
    tokens = tokenizer.encode(text)
    said = run("attn", "tokenize", file, text, "--ids").split()
    assert tokens.ids.tolist() == list(map(int, said)), text
    assert tokenizer.decode(tokens.ids) == text
    if text.isascii():
        assert "".join(text[begin:end] for begin, end in tokens.offsets) == text
    decoding = tokenizer.decoding()
    assert "".join(decoding.add(int(token)) for token in tokens.ids) + decoding.finish() == text
with open(file, "rb") as stream:
    assert attn.Tokenizer(stream.read()).encode("In the beginning").ids.tolist() == tokenizer.encode("In the beginning").ids.tolist()
word = int(tokenizer.encode("In").ids[0])
assert tokenizer.find(tokenizer.token(word)) == word and tokenizer.find("no such token") is None and tokenizer.token(1 << 20) is None
assert len(tokenizer) == 1024 and not tokenizer.is_special(word)
assert attn.ChatTemplate(b"{% for m in messages %}{{ m.role }}: {{ m.content }};{% endfor %}{{ x }}").render(
    [{"role": "user", "content": "é"}], x=3) == "user: é;3"
print("tokenizers and templates")

# A text, piece by piece, as the command line writes it.
model = attn.compile(f"{story}/story.attn", weights=f"{story}/story.safetensors", optimize=0)
options = ["--weights", f"{story}/story.safetensors", "--tokenizer", file, "--prompt", "And it came to pass"]
for named, flags in (({"temperature": 0, "limit": 20}, ["--temperature", "0", "--max-tokens", "20"]), ({"seed": 3}, ["--seed", "3"]),
                     ({"temperature": 0, "beams": 3, "limit": 9}, ["--temperature", "0", "--beams", "3", "--max-tokens", "9"])):
    text = attn.Text(model, file)
    pieces = list(text.generate("And it came to pass", **named))
    assert "".join(pieces).rstrip("\n") == run("attn", "run", "-O0", f"{story}/story.attn", *options, *flags).rstrip("\n"), named
    assert len(pieces) > 3 or "beams" in named
text = attn.Text(model, tokenizer)
stream = text.generate("In the beginning", temperature=0, limit=12)
whole = stream.read()
assert stream.result.written == 12 and stream.result.ending == "limit" and stream.text == whole
assert text.generate("In the beginning" + whole, temperature=0, limit=1).read()
stream = text.generate("In the beginning", temperature=0, stop=[" of"], limit=20)
assert stream.read() == "" and stream.result.ending == "stop" and stream.result.kept > 0
stream = text.generate("And", temperature=0)  # ended by the caller
pieces = [next(stream), next(stream)]
stream.close()
assert text.generate("And", temperature=0, limit=8).read().startswith("".join(pieces))
ids = tokenizer.encode("In the beginning").ids[None]
written, rows = [], []
tokens, counts = model.tell.generate(ids, temperature=0, limit=12, on_tokens=lambda chosen: written.append(int(chosen[0])),
                                     on_scores=lambda scores: rows.append(scores.shape))
assert tokenizer.decode(tokens[0, :counts[0]]) == whole and written[:12] == tokens[0, :12].tolist() and rows[0] == (1, 1024)
banned = model.tell.generate(ids, temperature=0, limit=12, suppressed=[int(tokens[0, 0])])[0]
assert int(banned[0, 0]) != int(tokens[0, 0])


def forbid(scores):
    scores[:, int(tokens[0, 0])] = -np.inf


assert np.array_equal(model.tell.generate(ids, temperature=0, limit=12, on_scores=forbid)[0][0, :1], banned[0, :1])
try:
    model.tell.generate(ids, on_scores=lambda scores: scores[0, 99999])
    raise SystemExit("nothing is raised")
except IndexError:
    pass
# Two at once, piece by piece, and other work meanwhile: runs do not hold Python's lock.
one, other = (attn.Text(model, tokenizer).generate(start, temperature=0, limit=12) for start in ("In the beginning", "And it came"))
for _ in itertools.zip_longest(one, other):
    pass
assert one.text == whole and other.text == attn.Text(model, tokenizer).generate("And it came", temperature=0, limit=12).read()
running, counted = threading.Thread(target=model.tell, args=(np.tile(ids, (8, 1)),)), 0
running.start()
while running.is_alive():
    counted += 1
assert counted > 100

# The program may end while a text is written.
attn.compile(f"{story}/story.attn", output=f"{folder}/story.so", optimize=0)
with open(f"{folder}/ends.py", "w") as stream:
    stream.write(f"import attn\nmodel = attn.load({folder + '/story.so'!r}, {story + '/story.safetensors'!r})\n"
                 f"stream = attn.Text(model, {file!r}).generate('And')\nprint(len(next(stream)))\n")
assert int(run(sys.executable, f"{folder}/ends.py")) > 0
print("texts are those of the command line")

# A chat: the folder has the template; what has been said is kept.
os.makedirs(f"{folder}/talk")
shutil.copy(file, f"{folder}/talk")
shutil.copy(template, f"{folder}/talk/chat_template.jinja")
chat = attn.Chat(attn.Text(model, f"{folder}/talk"))
answer = chat.answer("Who is the king?", temperature=0, limit=12)
assert "verily, and the king's mother's" in answer.read() and answer.result.kept == 0
answer = chat.answer("What did he say?", temperature=0, limit=12)
assert "immediately the king's son" in answer.read() and (answer.result.kept, answer.result.read) == (19, 10)
print("chats")

# With embedded weights, the tokenizer and the template go along.
shutil.copy(f"{story}/story.safetensors", f"{folder}/talk/model.safetensors")
embedded = attn.compile(f"{story}/story.attn", weights=f"{folder}/talk", embed_weights=True, optimize=0)
assert embedded.has_weights and attn.Text(embedded).generate("In the beginning", temperature=0, limit=12).read() == whole
assert attn.Chat(attn.Text(embedded)).answer("Who is the king?", temperature=0, limit=12).read()
print("embedded")

# Vectors of texts.
lines = ["a man eats", "the cat sat, slowly, in the kitchen of a large house."]
with open(f"{encoder}/config.json") as stream:
    count = json.load(stream)["vocab_size"]
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "man", "eat", "##s", "the", "cat", "sat", ",", "."]
with open(f"{encoder}/vocab.txt", "w") as stream:
    stream.write("\n".join(words + [f"word{i}" for i in range(count - len(words))]) + "\n")
with open(f"{folder}/lines.txt", "w") as stream:
    stream.write("\n".join(lines) + "\n")
run("attn", "import", encoder, "-o", f"{folder}/encoder.attn")
encoding = attn.compile(f"{folder}/encoder.attn", weights=encoder, optimize=0)
entry = next(entry.name for entry in encoding.entries.values() if entry.outputs[0].name == "embedding")
run("attn", "run", "-O0", f"{folder}/encoder.attn", "--weights", encoder, "--entry", entry, "--embed", "--file", f"{folder}/lines.txt",
    f"--output=embedding={folder}/embedding.npy")
vectors = attn.Embedder(encoding, encoder)(lines)
expected = np.load(f"{folder}/embedding.npy")
assert vectors.shape == expected.shape and np.allclose(vectors, expected, atol=1e-6), (vectors, expected)
assert attn.Embedder(encoding, encoder)(lines[0]).tobytes() == vectors[0].tobytes()
print("vectors of texts")
