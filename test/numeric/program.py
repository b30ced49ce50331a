# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs specs, and the executables that are compiled of them, on arrays."""
import itertools
import os
import subprocess

import numpy as np

from vit_twin import write_safetensors


class Failed(Exception):
    """A command that did not end well: what it said."""


_runs = itertools.count()


def optimised(flags):
    """The flags of one more compilation. In every check, three of four go without LLVM's optimisations, which take longer than the rest."""
    if os.environ.get("ATTN_FULL_TESTS") == "1" or any(flag.startswith("-O") for flag in flags):
        return list(flags)
    return [*flags, "-O0" if next(_runs) % 4 else "-O3"]


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"`{' '.join(command)}` exits with {done.returncode}: {done.stderr.strip()}")


def run(command, folder, inputs, results):
    """Runs a command that takes inputs {name: array}: the arrays of its results, which are named. Files lie in `folder`."""
    command = list(command)
    for name, value in inputs.items():
        np.save(f"{folder}/{name}.npy", value)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    for name in results:
        command += ["--output", f"{name}={folder}/{name}.npy"]
    call(command)
    return [np.load(f"{folder}/{name}.npy") for name in results]


def result_names(entry, count):
    return [entry] if count == 1 else [f"{entry}.{n}" for n in range(count)]


def write_weights(folder, weights):
    """The file of a checkpoint."""
    os.makedirs(folder, exist_ok=True)
    weights = {name: np.asarray(x, np.float32, order="C") for name, x in weights.items()}
    write_safetensors(f"{folder}/weights.safetensors", weights)
    return f"{folder}/weights.safetensors"


def write_model(folder, spec, weights):
    """Its arguments for `attn run`."""
    path = write_weights(folder, weights)
    with open(f"{folder}/spec.attn", "w") as file:
        file.write(spec)
    return [f"{folder}/spec.attn", "--weights", path]


class Program:
    """An executable in `folder` of a spec, with the weights that all of its entries read."""

    def __init__(self, folder, spec, weights, flags=()):
        self.folder = folder
        source, *self.weights = write_model(folder, spec, weights)
        call(["attn", "compile", source, "-o", f"{folder}/program", *flags])

    def run(self, entry, inputs, results):
        """The results, whose number is given."""
        command = [f"{self.folder}/program", "--entry", entry, *self.weights]
        return run(command, self.folder, inputs, result_names(entry, results))
