# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model that says what a test wants: its weights are a table of which token follows which, so that the last token of a prompt, which the chat
template chooses, begins one of SCRIPTS."""
import json
import os
import struct
import subprocess

import numpy as np

SCRIPTS = {
    "<|talk|>": ["Hello", " there", "!", " How", " are", " you", "?"],
    "<|use|>": ["Let me", " see.", "\n", "<tool_call>", "\n{\"name\": \"weather\", \"arguments\": ", "{\"place\": \"Köln\"", ", \"days\": 3}}\n", "</tool_call>"],
    "<|both|>": ["<tool_call", ">{\"name\": \"weather\", \"arguments\": {\"place\": \"Ulm\", \"days\": 1}}", "</tool_call", ">\n<tool_call>{\"name\": \"weather\", \"arguments\": ",
                 "{\"place\": \"Bonn\", \"days\": 2}}</tool_call>"],
    "<|broken|>": ["<tool_", "call>{\"name\": \"weather\", \"argum", "ents\": [}"],
    "<|after|>": ["It", " rains."],
    "<|think|>": ["<think>", "\nHm, ", "yes.\n", "</think>", "\n\n", "Done."],
    "<|long|>": ["la"],
}
SPECIAL = ["<|turn|>", "<|end|>", *SCRIPTS]
MARKS = ["<think>", "</think>", "<tool_call>", "</tool_call>"]  # special, as in some vocabularies

TEMPLATE = """{#- <tool_call> </think> reasoning_effort #}
{%- for tool in tools or [] %}{{ tool|tojson }}
{% endfor %}
{%- for message in messages %}
    {{- '<|turn|>' + message.role + ': ' }}
    {%- if message.content is string %}{{ message.content }}
    {%- else %}{% for part in message.content or [] %}{{ part.text if part.type == 'text' else '<picture>' }}{% endfor %}{% endif %}
    {%- for call in message.tool_calls or [] %}{{ '{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments|tojson + '}' }}{% endfor %}
    {{- '\\n' }}
{%- endfor %}
{%- set last = messages[-1] %}
{%- set text = last.content if last.content is string else '' %}
{%- if 'refuse' in text %}{{ raise_exception('no such turns') }}{% endif %}
{%- if enable_thinking %}<|think|>
{%- elif last.role == 'tool' %}<|after|>
{%- elif 'long' in text %}<|long|>
{%- elif 'broken' in text %}<|broken|>
{%- elif tools and 'both' in text %}<|both|>
{%- elif tools %}<|use|>
{%- else %}<|talk|>{% endif %}"""

SPEC = """attn 1
model Scripted {
  dim V = %d, H = 1, E = 4
  dyn B <= 4, S <= 4096
  cache kv capacity 4096
  embedding table: V -> V
  linear next: V -> V
  linear q, k, v: V -> H, E
  linear o: H, E -> V

  forward[N](ids: i32[B, N], kv: cache) -> [B, N, V] {
    let x = table(ids)
    return next(x + o(attend q(x) over kv.push(k(x), v(x)) along N as T { mask causal }))
  }
  entry prefill = forward last N
  entry decode = forward[N: 1] last N
  entry serve = forward by B last N
  entry tell = unfold(prefill, decode, limit = 400, temperature = 0, stop = %d)
  entry embed(ids: i32[B, S]) -> embedding: [B, V] = mean(S, table(ids))
}
"""


# GPT-2's letters of bytes, some order of them.
LETTERS = [*map(chr, range(33, 127)), *map(chr, range(161, 173)), *map(chr, range(174, 256)), *map(chr, range(256, 324))]


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(value.tobytes())


def make(folder):
    """A program in the folder that serves the model; its path."""
    os.makedirs(folder, exist_ok=True)
    added, places, follows = [], {}, {}

    def add(text, special):
        assert text not in places, text
        places[text] = 256 + len(added)
        added.append({"id": 256 + len(added), "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special})

    for text in SPECIAL:
        add(text, True)
    for begin, pieces in SCRIPTS.items():
        for piece in pieces:
            add(piece, piece in MARKS)
        chain = [begin, *pieces, "<|long|>" if begin == "<|long|>" else "<|end|>"]
        follows.update({places[one]: places[other] for one, other in zip(chain, chain[1:])})
    follows[places["la"]] = places["la"]
    size = 256 + len(added)
    table = np.zeros((size, size), np.float32)
    table[:, places["<|end|>"]] = 0.5
    for one, other in follows.items():
        table[other, one] = 1
    zeros = {f"{name}.weight": np.zeros((4, size), np.float32) for name in "qkv"}
    write_safetensors(f"{folder}/model.safetensors", {"table.weight": np.eye(size, dtype=np.float32), "next.weight": table, **zeros,
                                                      "o.weight": np.zeros((size, 4), np.float32)})
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    with open(f"{folder}/tokenizer.json", "w") as file:
        json.dump({"version": "1.0", "added_tokens": added, "normalizer": None, "post_processor": None, "pre_tokenizer": level, "decoder": level,
                   "model": {"type": "BPE", "vocab": {letter: i for i, letter in enumerate(LETTERS)}, "merges": []}}, file)
    with open(f"{folder}/chat_template.jinja", "w") as file:
        file.write(TEMPLATE)
    with open(f"{folder}/scripted.attn", "w") as file:
        file.write(SPEC % (size, places["<|end|>"]))
    command = ["attn", "compile", "-O0", f"{folder}/scripted.attn", "--weights", folder, "--embed-weights", "--with-server", "-o", f"{folder}/scripted"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return f"{folder}/scripted"
