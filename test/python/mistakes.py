# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes, and what each exception says: its kind, its code, and words of its message and of its mend.
Usage: mistakes.py EXAMPLES FOLDER"""
import os
import sys

import attn
import numpy as np
import torch
from tiny import TINY, compile_tiny

examples, folder = sys.argv[1:3]
tiny = compile_tiny(folder)
model = attn.load(tiny, weights="random:1", threads=1)
unbound = attn.load(tiny)
closed = attn.load(tiny, weights="random:1")
closed.close()
vit_weights = f"{examples}/fashion-vit/fashion_vit.safetensors"
story = attn.compile(f"{examples}/story/story.attn", weights=f"{examples}/story/story.safetensors", optimize=0)
tokenizer = attn.Tokenizer(f"{examples}/story/tokenizer.json")
text = attn.Text(story, tokenizer)
x, ids = np.zeros((2, 4), np.float32), np.zeros((2, 3), np.int32)
weights = {"fc.weight": np.zeros((4, 4), np.float32), "wte.weight": np.zeros((11, 4), np.float32)}
frozen = np.empty((2, 4), np.float32)
frozen.flags.writeable = False
open(f"{folder}/text.so", "w").write("no library")
wrong = TINY.replace("= fc(x)", "= fcc(x)", 1)


def full(length):
    for _ in range(length):
        model.push(np.zeros((1, 3, 2, 2), np.float32))


# A mistake, the kind of its exception, its code, and what the text holds.
MISTAKES = [
    # Loading
    (lambda: attn.load(f"{folder}/nix.so"), attn.FileError, "R0501", ["nix.so", "attn compile"]),
    (lambda: attn.load(7), attn.ArgumentError, "R0101", ["path of a model", "an int", "pathlib"]),
    (lambda: attn.load("a\0b"), attn.ArgumentError, "R0101", ["NUL"]),
    (lambda: attn.load(f"{folder}/tiny.attn"), attn.FileError, None, ["is a spec", "attn.compile"]),
    (lambda: attn.load(f"{folder}/text.so"), attn.FileError, None, ["text.so", "--emit=shared"]),
    (lambda: attn.load(np.core._multiarray_umath.__file__), attn.FileError, None, ["no symbol `attn_model`", "--emit=shared"]),
    (lambda: attn.load(tiny, threads=-1), attn.ArgumentError, "R0101", ["threads= is -1", "0 to 1024"]),
    (lambda: attn.load(tiny, threads="two"), attn.ArgumentError, "R0101", ["threads= is 'two'", "whole number"]),
    (lambda: attn.load(tiny, device="gpu"), attn.ArgumentError, "R0101", ["device='gpu'", "cuda:0"]),
    (lambda: attn.load(tiny, device="cuda:0"), attn.DeviceError, "R0404", ["no code for GPUs", "sm_80"]),
    (lambda: attn.load(tiny, options="levle=x"), attn.ArgumentError, "R0103", ["levle", "level"]),
    # Weights
    (lambda: model.bind(f"{folder}/nix.safetensors"), attn.FileError, "R0501", ["nix.safetensors"]),
    (lambda: model.bind(vit_weights), attn.WeightsError, "W0105", ["fc.weight"]),
    (lambda: model.bind(b"bytes"), attn.WeightsError, None, []),
    (lambda: model.bind("random:x"), attn.ArgumentError, "R0101", ["random:1"]),
    (lambda: model.bind([1, 2]), attn.ArgumentError, "R0101", ["a list", "state_dict"]),
    (lambda: model.bind({}), attn.WeightsError, "W0105", ["fc.weight"]),
    (lambda: model.bind({**weights, "fc.wieght": x}), attn.WeightsError, "W0105", ["fc.wieght"]),
    (lambda: model.bind({**weights, "fc.weight": x}), attn.WeightsError, "W0105", ["[2, 4]", "[4, 4]"]),
    (lambda: model.bind({**weights, "fc.weight": "text"}), attn.WeightsError, "R0201", ["`fc.weight`", "a str", "NumPy"]),
    (lambda: model.bind({3: x}), attn.WeightsError, "R0101", ["names are strings"]),
    (lambda: unbound.apply(x), attn.WeightsError, "R0105", ["weights"]),
    # Entries and arguments
    (lambda: model.aply(x), attn.UnknownNameError, "R0102", ["`aply`", "did you mean `apply`"]),
    (lambda: model.entries["nix"], attn.NotFoundError, "R0102", ["`nix`", "`apply`, `halves`"]),
    (lambda: model.caches["vk"], attn.NotFoundError, "R0102", ["`vk`", "kv"]),
    (lambda: model.apply(), attn.InputTypeError, "R0102", ["lacks input `x`", "apply(x)"]),
    (lambda: model.apply(x, x), attn.InputTypeError, "R0102", ["takes 1 inputs, got 2", "`x`"]),
    (lambda: model.halves(x, kepe=x), attn.InputTypeError, "R0102", ["no input `kepe`", "did you mean `keep`"]),
    (lambda: model.apply(x, x=x), attn.InputTypeError, "R0102", ["`x`", "twice", "once"]),
    (lambda: model.apply(None), attn.InputTypeError, "R0102", ["lacks input `x`"]),
    (lambda: model.apply("text"), attn.InputTypeError, "R0201", ["`x`", "array of numbers", "DLPack"]),
    (lambda: model.apply([[1.0], [2.0, 3.0]]), attn.InputTypeError, "R0201", ["`x`", "same length"]),
    (lambda: model.apply(ids), attn.InputTypeError, "R0201", ["int32, expected f32", "numpy.float32"]),
    (lambda: model.apply(x.astype(complex)), attn.InputTypeError, "R0201", ["complex128"]),
    (lambda: model.look(x), attn.InputTypeError, "R0201", ["float32, expected i32", "numpy.int32"]),
    (lambda: model.look(torch.zeros(2, 3)), attn.InputTypeError, "R0201", ["float32, expected i32"]),
    (lambda: model.halves(x, np.zeros((2, 4), np.int64)), attn.InputTypeError, "R0201", ["`keep`", "bool", "x != 0"]),
    (lambda: model.halves(x, np.full((2, 4), 2, np.uint8)), attn.InputTypeError, "R0201", ["`keep`", "bool"]),
    (lambda: model.look([[1 << 40]]), attn.InputError, "R0206", ["1099511627776", "no i32"]),
    (lambda: model.look([[11]]), attn.InputError, "R0206", ["holds 11 at [0, 0], expected 0 to 10"]),
    (lambda: model.apply(x[0]), attn.InputError, "R0202", ["has 1 axes, expected 2", "[B, D]"]),
    (lambda: model.apply(np.zeros((1,) * 9, np.float32)), attn.InputError, "R0202", ["9 axes"]),
    (lambda: model.apply(x[:, :3]), attn.InputError, "R0203", ["3 along axis 1", "expected 4"]),
    (lambda: model.apply(np.zeros((9, 4), np.float32)), attn.InputError, "R0203", ["expected 1 to 8"]),
    (lambda: model.apply(np.zeros((0, 4), np.float32)), attn.InputError, "R0203", ["expected 1 to 8"]),
    (lambda: model.halves(x, np.zeros((3, 4), bool)), attn.InputError, "R0204", ["`keep`", "expected 2", "by `x`"]),
    (lambda: closed.apply(x), attn.ArgumentError, "R0101", ["is closed", "attn.load"]),
    (lambda: closed.reset(), attn.ArgumentError, "R0101", ["is closed"]),
    (lambda: full(3), attn.InputError, "R0207", ["kv", "6"]),
    (lambda: model.caches["kv"].truncate(9), attn.ArgumentError, "R0101", ["9"]),
    (lambda: model.caches["kv"].truncate("all"), attn.ArgumentError, "R0101", ["'all'", "whole number"]),
    # Outputs
    (lambda: model.apply(x, out=[x, x]), attn.InputTypeError, "R0102", ["2 arrays", "gives 1", "`y`"]),
    (lambda: model.look(ids, out={"rwos": x}), attn.InputTypeError, "R0102", ["`rwos`", "did you mean `rows`"]),
    (lambda: model.look(ids, out=[None, x]), attn.InputTypeError, "R0201", ["`rows`", "None", "numpy.empty"]),
    (lambda: model.apply(x, out=7), attn.InputTypeError, "R0201", ["`y`", "an int", "numpy.empty"]),
    (lambda: model.apply(x, out=np.empty((2, 4))), attn.InputTypeError, "R0201", ["`y`", "f64, expected f32"]),
    (lambda: model.apply(x, out=np.empty((2, 5), np.float32)), attn.InputError, "R0203", ["(2, 5)", "(2, 4)", "numpy.empty"]),
    (lambda: model.apply(x, out=np.empty((4, 2), np.float32).T), attn.ArgumentError, "R0101", ["dense", "contiguous"]),
    (lambda: model.apply(x, out=frozen), attn.ArgumentError, "R0101", ["read-only"]),
    (lambda: model.apply(x, out=x), attn.ArgumentError, "R0101", ["overlap"]),
    # Generation and texts
    (lambda: model.apply.generate(x), attn.ArgumentError, "R0102", ["`apply` generates nothing", "unfold"]),
    (lambda: story.tell.generate(ids, temprature=0), attn.ArgumentError, "R0101", ["`temprature`", "did you mean `temperature`"]),
    (lambda: story.tell.generate(ids, limit="ten"), attn.ArgumentError, "R0101", ["`limit`", "'ten'", "number"]),
    (lambda: story.tell.generate(ids, temperature="hot"), attn.ArgumentError, "R0101", ["`temperature`", "'hot'", "a number"]),
    (lambda: story.tell.generate(ids, top_k=1 << 40), attn.ArgumentError, "R0101", ["`top_k`", "2147483647"]),
    (lambda: story.tell.generate(ids, on_tokens=lambda tokens: story.scores(ids)), attn.ArgumentError, "R0101",
     ["generating", "context()"]),
    (lambda: story.tell.generate(ids, stops=7), attn.ArgumentError, "R0101", ["`stops`", "list of tokens"]),
    (lambda: story.tell.generate(ids, limit=0), attn.ArgumentError, "R0101", ["limit"]),
    (lambda: attn.Tokenizer(f"{folder}/nix.json"), attn.FileError, "R0501", ["nix.json"]),
    (lambda: attn.Tokenizer(b"{}"), attn.InputError, None, []),
    (lambda: tokenizer.encode(7), attn.InputTypeError, "R0201", ["an int", "expected a str"]),
    (lambda: tokenizer.decode([[1]]), attn.InputTypeError, "R0201", ["one row"]),
    (lambda: tokenizer.decode([1 << 40]), attn.InputError, "R0704", ["1099511627776"]),
    (lambda: tokenizer.token("a"), attn.ArgumentError, "R0101", ["a token", "'a'", "encode"]),
    (lambda: tokenizer.decode([-1]), attn.InputError, "R0704", ["-1"]),
    (lambda: attn.ChatTemplate(b"{% if %}"), attn.InputError, "R0705", [":1:7:", "expected a value"]),
    (lambda: attn.ChatTemplate(b"{{ x }}").render([{"a": {1}}]), attn.ArgumentError, "R0101", ["JSON", "role"]),
    (lambda: attn.Text(model, tokenizer), attn.NotFoundError, "R0102", ["takes text"]),
    (lambda: attn.Text(story), attn.ArgumentError, "U0003", ["tokenizer="]),
    (lambda: attn.Text(story, tokenizer, entry="tel"), attn.NotFoundError, "R0102", ["did you mean `tell`"]),
    (lambda: text.generate("", special=False).read(), attn.InputError, "R0214", []),
    (lambda: text.generate("a " * 2000).read(), attn.InputError, None, ["768"]),
    (lambda: text.generate("a", stop=7), attn.ArgumentError, "R0101", ["`stop`", "list of them"]),
    (lambda: text.generate("a", stop=["a\0"]), attn.ArgumentError, "R0101", ["`stop`", "list of them"]),
    (lambda: text.generate(7), attn.InputTypeError, "R0201", ["a prompt", "an int"]),
    (lambda: text.generate("a", stopp="b"), attn.ArgumentError, "R0101", ["`stopp`", "did you mean `stop`"]),
    (lambda: attn.Embedder(story, tokenizer), attn.NotFoundError, "R0102", ["embedding"]),
    (lambda: attn.Chat(text), attn.NotFoundError, "R0708", ["chat template"]),
    # Compiling
    (lambda: attn.compile(wrong), attn.CompileError, "A0201", ["`fcc`", "did you mean `fc`"]),
    (lambda: attn.compile(f"{folder}/nix.attn"), attn.CompileError, None, ["nix.attn"]),
    (lambda: attn.compile(7), attn.ArgumentError, "R0101", ["an int", "path or a text"]),
    (lambda: attn.compile(TINY, target="x86-64-v9"), attn.CompileError, None, ["x86-64-v9"]),
    (lambda: attn.compile(TINY, precision="int3"), attn.CompileError, None, ["int3"]),
    (lambda: attn.compile(TINY, optimize=4), attn.ArgumentError, "R0101", ["optimize= is 4", "0 to 3"]),
    (lambda: attn.compile(TINY, precision=8), attn.ArgumentError, "R0101", ["precision=", "an int"]),
    (lambda: attn.compile("a\0b"), attn.ArgumentError, "R0101", ["NUL"]),
    (lambda: attn.compile(TINY, set={"Q": 3}), attn.CompileError, None, ["`Q`"]),
    (lambda: attn.compile(TINY, set=["B"]), attn.ArgumentError, "R0101", ["a list", "mapping"]),
    (lambda: attn.compile(TINY, embed_weights=True), attn.ArgumentError, "U0003", ["weights=", "a path"]),
    (lambda: attn.compile(TINY, output=f"{folder}/nix/tiny.so", optimize=0), attn.CompileError, None, ["nix/tiny.so", "No such file"]),
    (lambda: attn.compile(TINY, set={"B\0": 3}), attn.ArgumentError, "R0101", ["NUL"]),
]

failures = 0
for number, (mistake, kind, code, words) in enumerate(MISTAKES):
    try:
        mistake()
        said = "nothing is raised"
    except attn.Error as error:
        said = str(error)
        if isinstance(error, kind) and (code is None or error.code == code) and all(word in said for word in words):
            if os.environ.get("SHOW"):
                print(f"{type(error).__name__}: {said}\n")
            continue
        said = f"{type(error).__name__} {error.code}: {said}"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    failures += 1
    print(f"mistake {number}, line {mistake.__code__.co_firstlineno}: expected {kind.__name__} {code} with {words}\n  {said}")
try:
    attn.compile(wrong)
except attn.CompileError as error:
    place = (error.file, error.line, error.column)
    assert place == ("<text>", 9, 41) and error.diagnostics, place
# A model is as it was after all of these.
assert model.apply(x).shape == (2, 4) and len(model.caches["kv"]) <= 6
print(f"{len(MISTAKES)} mistakes, {failures} said otherwise")
sys.exit(failures != 0)
