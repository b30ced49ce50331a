# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models on a GPU from Python: arrays of the host are copied, caches go along."""
import attn
import numpy as np
from tiny import TINY

model = attn.compile(TINY, weights="random:1", target=["native", "sm_80"], threads=1)
x = np.random.default_rng(4).standard_normal((3, 4), np.float32)
tokens = np.random.default_rng(5).standard_normal((1, 6, 2, 2), np.float32)
expected, pushed = model.apply(x), model.push(tokens)
model.caches["kv"].truncate(2)
assert "sm_" not in model.code
assert model.to("cuda:0") is model and "sm_" in model.code
out = np.empty_like(expected)
assert np.allclose(model.apply(x, out=out), expected, atol=1e-5)
assert len(model.caches["kv"]) == 2 and np.allclose(model.push(tokens[:, 2:]), pushed[:, 2:], atol=1e-5)
other = model.context()  # where the first one is
assert "sm_" in other.code and np.allclose(other.apply(x), expected, atol=1e-5)
assert model.to("cpu").apply(x).tobytes() == expected.tobytes()
print("the same on both")
