# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs to models, by the compiler's program."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
import warnings
from typing import Any, Mapping, Optional, Union, overload

from ._library import describe, encode_path, find_executable, whole_number
from .errors import ArgumentError, CompileError, CompileWarning, FileError
from .model import Model, Weights, load


def _spec_of(spec: Any) -> tuple[str, Optional[bytes]]:
    """What `attn` is given: a path, or `-` and a text."""
    if isinstance(spec, os.PathLike):
        return os.fsdecode(encode_path(spec, "the path of a spec")), None
    if not isinstance(spec, str):
        raise ArgumentError(f"a spec is {describe(spec)}, expected a path or a text", code="R0101", help="pass a str or a pathlib.Path")
    if "\n" in spec or "{" in spec:
        return "-", spec.encode("utf-8", "surrogatepass")
    return os.fsdecode(encode_path(spec, "the path of a spec")), None


def _sizes(values: Any, what: str) -> list[str]:
    if not isinstance(values, Mapping):
        raise ArgumentError(f"{what} is {describe(values)}, expected a mapping of dims to sizes", code="R0101",
                            help=f'pass {what}{{"B": 8}}')
    return [f"--set={name}={value}" for name, value in values.items()]


def _error_of(diagnostic: Mapping[str, Any]) -> CompileError:
    place = diagnostic.get("range", {}).get("start", {})
    helps = [line if isinstance(line, str) else str(line.get("message", line)) for line in diagnostic.get("helps", ())]
    message = diagnostic["message"]
    if diagnostic.get("label"):
        message += ": " + diagnostic["label"]
    return CompileError(message, code=diagnostic.get("code"), file=diagnostic.get("file"), line=place.get("line"),
                        column=place.get("column"), help="\n".join(helps) or None,
                        notes=[*diagnostic.get("lines", ()), *diagnostic.get("notes", ())])


def _report(said: str, code: int) -> None:
    """Raises the first error of what `attn --diagnostics=json` has said, and warns of the warnings."""
    diagnostics, other = [], []
    for line in said.splitlines():
        try:
            diagnostics.append(json.loads(line))
        except ValueError:
            other.append(line)
    for diagnostic in diagnostics:
        if diagnostic["severity"] == "warning":
            warnings.warn(str(_error_of(diagnostic)), CompileWarning, stacklevel=4)
    if not code:
        return
    failed = [diagnostic for diagnostic in diagnostics if diagnostic["severity"] == "error"]
    error = _error_of(failed[0]) if failed else CompileError("\n".join(other) or f"`attn` has ended with code {code}")
    error.diagnostics = diagnostics
    raise error


@overload
def compile(spec: Any, *, output: None = None, weights: Weights = None, **options: Any) -> Model: ...
@overload
def compile(spec: Any, *, output: Union[str, "os.PathLike[str]"], **options: Any) -> pathlib.Path: ...


def compile(spec: Any, *, output: Any = None, weights: Weights = None, threads: int = 0, device: Optional[str] = None,
            target: Any = None, precision: Optional[str] = None, set: Mapping[str, int] = {}, config: Any = None,
            optimize: Optional[int] = None, embed_weights: bool = False, tokenizer: Any = None, cache: bool = True,
            attn_executable: Any = None) -> Union[Model, pathlib.Path]:
    """Compiles a spec, a path or a text, and loads the model; where `output` is given, writes a shared library there instead and
    returns its path.

    `target`: levels of CPUs and GPUs, a str or a list ("native"). `precision`: that of linears. `set`: other sizes of dims.
    `config`: the config.json that `config.` refers to. `optimize`: 0 to 3. `embed_weights`: put `weights`, a path then, into the
    library, and the tokenizer where it takes text. `cache`: take the code of the same spec from a compilation before, as `attn run`
    does. `weights`, `threads` and `device` as `load` takes them. Errors of the spec are CompileErrors."""
    path, text = _spec_of(spec)
    command = [find_executable(attn_executable), "compile", path, "--emit=shared", "--diagnostics=json", *_sizes(set, "set=")]
    if embed_weights:
        if not isinstance(weights, (str, os.PathLike)):
            raise ArgumentError(f"embed_weights: weights= is {describe(weights)}, expected a path", code="U0003",
                                help="name a file or folder")
        command += ["--embed-weights", f"--weights={os.fspath(weights)}"]
        weights = None
    if isinstance(target, (list, tuple)):
        target = ",".join(map(str, target))
    for name, value in (("target", target), ("precision", precision), ("config", config), ("tokenizer", tokenizer)):
        if value is not None:
            command.append(f"--{name}={os.fsdecode(encode_path(value, name + '='))}")
    if optimize is not None:
        command.append(f"-O{whole_number(optimize, 0, 3, 'optimize=', '3 is what it is without')}")
    if cache:
        command.append("--cache")
    with tempfile.TemporaryDirectory(prefix="attn-") as folder:
        made = os.path.join(folder, "model.so") if output is None else os.fsdecode(encode_path(output, "output="))
        try:
            ran = subprocess.run([*command, "-o", made], input=text, capture_output=True, check=False)
        except OSError as error:
            raise FileError(f"cannot run `{command[0]}`: {error}",
                            help="pass attn_executable=, or put the folder of `attn` into PATH") from None
        _report(ran.stderr.decode(errors="replace"), ran.returncode)
        if output is not None:
            return pathlib.Path(made)
        return load(made, weights, threads, device=device)  # the file may go: it is mapped
