# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever is passed, it works or is an attn.Error: no other exception, no crash, and the model is as it was. Usage: hostile.py FOLDER"""
import array
import decimal
import itertools
import sys

import attn
import numpy as np
import torch
from tiny import compile_tiny

path = compile_tiny(sys.argv[1])
model = attn.load(path, weights="random:1", threads=1)
x = np.ones((2, 4), np.float32)
expected = model.apply(x).tobytes()


class Odd:
    """Says that it speaks DLPack."""

    def __init__(self, answer):
        self.answer = answer

    def __dlpack__(self, **_):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


strided = np.lib.stride_tricks.as_strided(x, (2, 4), (0, 4))
VALUES = [
    None, 3, -1, 1 << 70, 2.5, float("nan"), 1j, True, "x", "", b"", b"x", "\0", "\udc80", "\ud800", [], [[]], [[1], [2, 3]], [None],
    [x, None], {}, {"x": x}, set(),
    range(4), iter([1]), object(), type, Ellipsis, decimal.Decimal(1), memoryview(b"abcd"), bytearray(b"ab"),
    array.array("f", [1, 2]), np.float32(1), np.array(1.0), np.empty((0, 4), np.float32), np.empty((2, 0), np.float32),
    np.zeros((1,) * 12, np.float32), x[::-1], x[:, ::-1], x.T, strided, np.broadcast_to(np.float32(1), (2, 4)), np.array([object()]),
    np.array(["a"]), np.zeros(2, "M8[s]"), np.zeros(2, [("a", "f4")]), np.zeros(2, "V3"), np.ma.masked_array(x, x > 0), np.matrix(x),
    np.zeros((2, 4), np.longdouble), np.zeros((2, 4), np.uint64) + (1 << 63), x.view(np.uint8)[:, 1:9],
    np.frombuffer(b"\0" * 33, np.uint8)[1:].view(np.float32).reshape(2, 4), torch.zeros(2, 4), torch.zeros(4, 2).T,
    torch.zeros(2, 4, device="meta"), torch.zeros(2, 4).to_sparse(), torch.zeros(2, 4, dtype=torch.complex64),
    torch.zeros(2, 4, requires_grad=True) * 2, torch.zeros(()), torch.zeros(0, 4), torch.zeros(2, 4).expand(2, 4),
    torch.quantize_per_tensor(torch.zeros(2, 4), 1.0, 0, torch.qint8), torch.zeros(1, 4).expand(2, 4), Odd(None), Odd(7), Odd(object()),
    Odd(BufferError("no")), Odd(KeyError("no"))]
calls = [
    lambda v: model.apply(v), lambda v: model.apply(x=v), lambda v: model.look(v), lambda v: model.halves(x, v),
    lambda v: model.halves(v, x != 0), lambda v: model.step(x, v), lambda v: model.step(x, h=v), lambda v: model.push(v),
    lambda v: model.apply(x, out=v), lambda v: model.look([[1]], out=[v, v]), lambda v: model.apply.infer_shapes(v),
    lambda v: model.bind(v), lambda v: model.bind({"fc.weight": v, "wte.weight": x}), lambda v: attn.load(v),
    lambda v: attn.load(path, v), lambda v: attn.load(path, options=v),
    lambda v: model.bind({v: x} if v.__hash__ else v), lambda v: attn.compile("{", precision=v),
    lambda v: model.context(v), lambda v: model.to(v), lambda v: model.caches["kv"].truncate(v),
    lambda v: attn.Tokenizer(v), lambda v: attn.ChatTemplate(v),
    lambda v: model.apply.generate(v, limit=v), lambda v: model.entries[v], lambda v: model.caches[v]]
TEXT = attn.Tokenizer(b'{"model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"}}')
calls += [TEXT.encode, TEXT.decode, TEXT.find, TEXT.token, TEXT.is_special, lambda v: TEXT.encode("a", v), lambda v: TEXT.decoding(after=v)]
failures = works = 0
for (number, call), value in itertools.product(enumerate(calls), VALUES):
    try:
        call(value)
        works += 1
    except attn.Error as error:
        assert str(error)
    except Exception as error:
        failures += 1
        print(f"call {number} of {type(value).__name__} {str(value)[:40]!r}: {type(error).__name__}: {error}")
model.bind("random:1")
model.reset()
assert model.apply(x).tobytes() == expected
print(f"{len(calls) * len(VALUES)} calls, {works} work, {failures} other exceptions")
sys.exit(failures != 0)
