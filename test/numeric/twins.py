# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What twins share: random numbers for the parameters of a module of torch, and a spec that is run with them and compared."""
import numpy as np
import torch

from program import Failed, optimised, run, write_model, write_weights


class Wrong(Exception):
    """A result that is not the one wanted: how."""


def normal(rng, *shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def draw(rng, module, gain=1.0):
    """Random values, which f32 holds, for all that a module's state_dict has. Maps keep the size of what they are given: their
    weights are N(0, gain / fan-in); those of norms are near 1, and variances above 0."""
    for name, value in module.state_dict().items():
        kind = name.rsplit(".")[-1]
        if not value.is_floating_point():
            continue
        if value.ndim > 1:
            drawn = normal(rng, *value.shape, scale=np.sqrt(gain / np.prod(value.shape[1:])))
        elif kind == "running_var":
            drawn = rng.uniform(0.5, 1.5, value.shape).astype(np.float32)
        else:
            drawn = normal(rng, *value.shape, scale=0.1) + np.float32(kind == "weight")
        value.copy_(torch.from_numpy(drawn))
    return module.eval()


def tensors_of(module):
    """The tensors of a checkpoint."""
    return {name: value.numpy() for name, value in module.state_dict().items() if value.is_floating_point()}


def parameters_of(module):
    return sum(parameter.numel() for parameter in module.parameters())


def double(array):
    """A tensor for a module in double precision; truth values and integers are kept."""
    return torch.from_numpy(array.astype(np.float64) if array.dtype == np.float32 else array)


def relative_l2(got, wanted):
    return np.linalg.norm(got - wanted) / max(np.linalg.norm(wanted), 1e-30)


def of_largest(got, wanted):
    """The largest difference as a part of the largest element."""
    return np.abs(got - wanted).max() / np.abs(wanted).max()


def compare_command(command, folder, inputs, wanted, bound, measure=relative_l2):
    """The largest error of what a command gives, of `attn run` or a compiled program; `wanted` are arrays by name."""
    try:
        results = run(command, folder, inputs, wanted)
    except Failed as failed:
        raise Wrong(str(failed)) from None
    worst = 0
    for (name, value), got in zip(wanted.items(), results):
        if got.shape != value.shape:
            raise Wrong(f"{name} is {got.shape}, expected {value.shape}")
        error = measure(got, value)
        if not error <= bound:
            raise Wrong(f"{name} has an error of {error:.2e}, bound {bound:.0e}")
        worst = max(worst, error)
    return worst


def compare(folder, spec, tensors, inputs, wanted, bound, flags=(), measure=relative_l2):
    """The same of a spec, a file or a text, that is run with a checkpoint of `tensors`."""
    source = [spec, "--weights", write_weights(folder, tensors)] if spec.endswith(".attn") else write_model(folder, spec, tensors)
    return compare_command(["attn", "run", *source, *optimised(flags)], folder, inputs, wanted, bound, measure)
