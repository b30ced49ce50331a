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
# Caches are copied and saved from device to device.
saved, host = model.save(), model.copy(device="cpu")
assert len(host.caches["kv"]) == 6 and "sm_" not in host.code and host.save() == saved
other.load(saved)
assert len(other.caches["kv"]) == 6 and other.save() == saved and other.copy(device="cuda:0").save() == saved
half = attn.compile(TINY, weights="random:1", target=["native", "sm_80"], precision="f16", threads=1)
half.push(tokens[:, :3])
held = half.save()
try:
    half.context(device="cuda:0").load(held)
    raise AssertionError("a cache in another form was taken")
except attn.InputError as error:
    assert error.code == "R0208", error
assert model.to("cpu").apply(x).tobytes() == expected.tobytes()
print("the same on both")
