# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that is shared with NumPy and PyTorch, conversions, what entries look like, threads, caches and states.
Usage: sharing.py FOLDER"""
import ast
import inspect
import os
import pickle
import sys
import threading
import warnings

import attn
import numpy as np
import torch
from attn import tensors
from tiny import TINY, compile_tiny, run

folder = sys.argv[1]
path = compile_tiny(folder)
rng = np.random.default_rng(2)
weights = {"fc.weight": rng.standard_normal((4, 4), np.float32), "wte.weight": rng.standard_normal((11, 4), np.float32)}
model = attn.load(path, weights=weights, threads=1)
x = rng.standard_normal((3, 4), np.float32)
expected = model.apply(x)
np.testing.assert_allclose(expected, x @ weights["fc.weight"].T, rtol=1e-5)

# What is dense and of the right type is used where it lies.
for value, pointer in ((x, x.ctypes.data), (torch.from_numpy(x), x.ctypes.data)):
    assert tensors.view_of_input(value, tensors.F32, "x").pointer == pointer
ids = torch.randint(0, 11, (3, 5), dtype=torch.int32)
assert tensors.view_of_input(ids, tensors.I32, "ids").pointer == ids.data_ptr()
flags = torch.tensor([True, False, True])[:, None].repeat(1, 4)
assert tensors.view_of_input(flags, tensors.BOOL, "keep").pointer == flags.data_ptr()
half = torch.randn(3, 4).to(torch.bfloat16)
assert tensors.view_of_input(half, tensors.BF16, "x").pointer == half.data_ptr()
assert tensors.view_of_weight(half, "w").pointer == half.data_ptr()
parameter = torch.nn.Parameter(torch.from_numpy(x))
assert tensors.view_of_input(parameter, tensors.F32, "x").pointer == parameter.data_ptr()
print("inputs are not copied")

# All of these are the same input.
wide = np.zeros((3, 8), np.float32)
wide[:, ::2] = x
for value in (x.astype(np.float64), x.tolist(), wide[:, ::2], np.asfortranarray(x), x.astype(">f4"), torch.from_numpy(x).double(),
              torch.from_numpy(x.T.copy()).T, parameter, tuple(map(tuple, x.tolist()))):
    assert model.apply(value).tobytes() == expected.tobytes(), type(value)
rows = model.look(ids)
assert rows.rows.tobytes() == model.look(ids=ids.numpy().astype(np.int64)).rows.tobytes() == model.look(ids.tolist()).rows.tobytes()
assert rows._fields == ("rows", "total") and np.allclose(rows.rows, weights["wte.weight"][ids.numpy()])
assert model.apply([[1, 2, 3, 4]]).shape == (1, 4)  # whole numbers of a list are floats
print("inputs are converted as the command line does")

# Outputs go to arrays of the caller's.
out = np.empty((3, 4), np.float32)
assert model.apply(x, out=out) is out and out.tobytes() == expected.tobytes()
target = torch.empty(3, 4)
place = target.data_ptr()
assert model.apply(torch.from_numpy(x), out=target) is target
assert target.data_ptr() == place and target.numpy().tobytes() == expected.tobytes()
assert torch.from_numpy(model.apply(x)).numpy().tobytes() == expected.tobytes()
assert torch.from_dlpack(model.apply(x)).numpy().tobytes() == expected.tobytes()
total = np.empty((3, 4), np.float32)
model.look(ids, out={"total": total})
assert total.tobytes() == rows.total.tobytes()
print("outputs are written where they are wanted")

# bf16, which NumPy lacks, is float32 there, and itself in PyTorch.
y, z = model.halves(half, flags)
assert y.dtype == np.float32 and z.dtype == np.float16 and y.shape == (3, 4)
made = torch.empty(3, 4, dtype=torch.bfloat16), np.empty((3, 4), np.float16)
model.halves(half, flags, out=made)
assert made[0].float().numpy().tobytes() == y.tobytes() and made[1].tobytes() == z.tobytes()
numbers = rng.standard_normal(10000, np.float32) * np.float32(2) ** rng.integers(-140, 127, 10000)
numbers = np.concatenate([numbers, [np.inf, -np.inf, np.nan, 0, -0.0, 3.3895314e38]]).astype(np.float32)
rounded = torch.from_numpy(numbers).to(torch.bfloat16)
assert np.array_equal(tensors.from_bf16(tensors.to_bf16(numbers)), rounded.float().numpy(), equal_nan=True)
print("bf16 as PyTorch rounds it")

# Weights of a module of PyTorch.
module = torch.nn.Linear(4, 4, bias=False)
state = {"fc.weight": module.weight, "wte.weight": torch.from_numpy(weights["wte.weight"].T.copy()).T}
model.bind(state)
assert np.allclose(model.apply(x), module(torch.from_numpy(x)).detach().numpy(), atol=1e-6)
model.bind({name: torch.from_numpy(value).to(torch.bfloat16) for name, value in weights.items()})
assert np.allclose(model.apply(x), expected, atol=0.1) and model.apply(x).tobytes() != expected.tobytes()
model.bind(weights)
assert model.apply(x).tobytes() == expected.tobytes()
print("weights of a state_dict")

# What entries look like.
assert str(inspect.signature(model.apply)) == "(x: 'f32[B <= 8, D = 4]', *, out=None) -> 'f32[B <= 8, D = 4]'"
assert "indices from 0 to 10" in model.look.__doc__ and "look" in dir(model) and model.step.__doc__.startswith("step(x: f32")
assert model.name == "Tiny" and list(model.entries) == ["apply", "halves", "look", "step", "push"] and "apply" in repr(model)
assert model.apply.infer_shapes(x) == {"y": (3, 4)}
assert attn.load(path).has_weights is False and model.has_weights

# Caches and states belong to a context.
tokens = rng.standard_normal((1, 6, 2, 2), np.float32)
whole = model.push(tokens)
cache, other = model.caches["kv"], model.context(1)
assert len(cache) == 6 and len(other.caches["kv"]) == 0 and cache.capacity == 6
cache.truncate(2)
assert np.allclose(model.push(tokens[:, 2:]), whole[:, 2:], atol=1e-6)
model.reset()
assert len(cache) == 0
first = model.step(x)
second = model.step(x)
assert first.y.tobytes() != second.y.tobytes()
assert other.step(x).y.tobytes() == first.y.tobytes() == model.step(x, h=np.zeros((3, 4), np.float32)).y.tobytes()
assert other.step(x, first.h).y.tobytes() == second.y.tobytes()
print("caches and states of contexts")

# Threads: with a context of their own each, and with one for all.
inputs = [rng.standard_normal((int(rng.integers(1, 9)), 4), np.float32) for _ in range(200)]
wanted = [model.apply(value).tobytes() for value in inputs]
failures = []


def work(context):
    for value, bits in zip(inputs * 5, wanted * 5):
        if context.apply(value).tobytes() != bits:
            failures.append(value)


threads = [threading.Thread(target=work, args=(context,)) for context in (model, model, other, model.context(2))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures
print("threads: the same bits")

# In a child of a fork, and through pickle.
child = os.fork()
if child == 0:
    os._exit(model.apply(inputs[0]).tobytes() != wanted[0])
assert os.waitpid(child, 0)[1] == 0
try:
    model.apply(x[:, :2])
except attn.InputError as error:
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.code == "R0203" and type(again) is type(error)
try:
    attn.load("nix.so")
except OSError as error:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)

# Stubs of types.
stub = run(sys.executable, "-m", "attn.stubs", path)
assert "def step(self, x: ArrayLike, h: Optional[ArrayLike] = ..., *, out: Any = ...) -> _step:" in stub
tree = ast.parse(stub)
classes = {node.name: [item.name for item in node.body if isinstance(item, ast.FunctionDef)] for node in tree.body
           if isinstance(node, ast.ClassDef)}
assert classes["Tiny"] == list(model.entries) and "_look" in classes and "_apply" not in classes

# Compiled from a text; loaded anew after the file has changed.
compiled = attn.compile(TINY, weights=weights, optimize=0, set={"B": 2})
assert compiled.apply(x[:2]).tobytes() == expected[:2].tobytes() and compiled.apply.inputs[0].axes[0].size == 2
written = attn.compile(f"{folder}/tiny.attn", output=f"{folder}/out.so", optimize=0)
run("cc", "-xc", "/dev/null", "-shared", "-o", f"{folder}/no.so")
assert attn.load(written, weights=weights).apply(x).tobytes() == expected.tobytes()
print("compiled")
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    attn.compile("attn 1\nmodel W {\n  dim D = 4\n  dim unused = 3\n  entry run(x: [D]) -> y: [D] = x + 1\n}\n", optimize=0)
assert len(warned) == 1 and warned[0].category is attn.CompileWarning and "unused" in str(warned[0].message)
with attn.load(path, weights=weights) as short:
    short.apply(x)
