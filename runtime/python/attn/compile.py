# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs to models, by the compiler as a library."""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import tempfile
import warnings
from typing import Any, Mapping, Optional, Sequence, Union, overload

from ._library import ERROR, WARNING, CompilerDiagnostic, CompilerFile, Library, compiler_library, describe, encode_path, whole_number
from .errors import ArgumentError, CompileError, CompileWarning
from .model import Model, Weights, load


TEXT = b"<text>"  # what a text that is no file is called


def _spec_of(spec: Any) -> tuple[bytes, Optional[bytes]]:
    """The path of a spec, and its text where it is none of the disk."""
    if not isinstance(spec, (str, os.PathLike)):
        raise ArgumentError(f"a spec is {describe(spec)}, expected a path or a text", code="R0101", help="pass a str or a pathlib.Path")
    if isinstance(spec, str) and ("\n" in spec or "{" in spec):
        return TEXT, spec.encode("utf-8", "surrogatepass")
    return encode_path(spec, "the path of a spec"), None


def _sizes(values: Any, what: str) -> list[bytes]:
    if not isinstance(values, Mapping):
        raise ArgumentError(f"{what} is {describe(values)}, expected a mapping of dims to sizes", code="R0101",
                            help=f'pass {what}{{"B": 8}}')
    return [encode_path(f"--set={name}={value}", what) for name, value in values.items()]


def _error_of(diagnostic: CompilerDiagnostic) -> CompileError:
    def text(value: bytes) -> str:
        return value.decode(errors="replace")

    def texts(values: Any, count: int) -> list[str]:
        return [text(value) for value in values[:count]]

    message = text(diagnostic.message) + (": " + text(diagnostic.label) if diagnostic.label else "")
    return CompileError(message, code=text(diagnostic.code) or None, file=text(diagnostic.file) or None, line=diagnostic.line or None,
                        column=diagnostic.column or None, help="\n".join(texts(diagnostic.helps, diagnostic.helpCount)) or None,
                        notes=texts(diagnostic.notes, diagnostic.noteCount))


def _report(library: Library, result: ctypes.c_void_p, status: int) -> None:
    """Raises the first error, and warns of the warnings."""
    found = [library.attn_compiler_diagnostic_at(result, i)[0] for i in range(library.attn_compiler_diagnostic_count(result))]
    for diagnostic in found:
        if diagnostic.severity == WARNING:
            warnings.warn(str(_error_of(diagnostic)), CompileWarning, stacklevel=4)
    if status:
        failed = [diagnostic for diagnostic in found if diagnostic.severity == ERROR]
        error = _error_of(failed[0]) if failed else CompileError(f"the compiler has ended with status {status}")
        error.diagnostics = [json.loads(diagnostic.json) for diagnostic in found]
        raise error


def _run(arguments: Sequence[bytes], text: Optional[bytes]) -> None:
    library, result = compiler_library(), ctypes.c_void_p()
    words = (ctypes.c_char_p * len(arguments))(*arguments)
    file = CompilerFile(TEXT, text, len(text or b""))
    try:
        status = library.attn_compile(words, len(words), ctypes.byref(file), int(text is not None), ctypes.byref(result))
        _report(library, result, status)
    finally:
        library.attn_compiler_result_destroy(result)


@overload
def compile(spec: Any, *, output: None = None, weights: Weights = None, **options: Any) -> Model: ...
@overload
def compile(spec: Any, *, output: Union[str, "os.PathLike[str]"], **options: Any) -> pathlib.Path: ...


def compile(spec: Any, *, output: Any = None, weights: Weights = None, threads: int = 0, device: Optional[str] = None,
            target: Any = None, precision: Optional[str] = None, set: Mapping[str, int] = {}, config: Any = None,
            optimize: Optional[int] = None, embed_weights: bool = False, tokenizer: Any = None, cache: bool = True) -> Union[Model, pathlib.Path]:
    """Compiles a spec, a path or a text, and loads the model; where `output` is given, writes a shared library there instead and
    returns its path.

    `target`: levels of CPUs and GPUs, a str or a list ("native"). `precision`: that of linears. `set`: other sizes of dims.
    `config`: the config.json that `config.` refers to. `optimize`: 0 to 3. `embed_weights`: put `weights`, a path then, into the
    library, and the tokenizer where it takes text. `cache`: take the code of the same spec from a compilation before, as `attn run`
    does. `weights`, `threads` and `device` as `load` takes them. Errors of the spec are CompileErrors."""
    path, text = _spec_of(spec)
    arguments = [b"--emit=shared", *_sizes(set, "set=")]
    if embed_weights:
        if not isinstance(weights, (str, os.PathLike)):
            raise ArgumentError(f"embed_weights: weights= is {describe(weights)}, expected a path", code="U0003",
                                help="name a file or folder")
        arguments += [b"--embed-weights", b"--weights=" + encode_path(weights, "weights=")]
        weights = None
    if isinstance(target, (list, tuple)):
        target = ",".join(map(str, target))
    for name, value in (("target", target), ("precision", precision), ("config", config), ("tokenizer", tokenizer)):
        if value is not None:
            arguments.append(f"--{name}=".encode() + encode_path(value, name + "="))
    if optimize is not None:
        arguments.append(b"-O%d" % whole_number(optimize, 0, 3, "optimize=", "3 is what it is without"))
    if cache:
        arguments.append(b"--cache")
    with tempfile.TemporaryDirectory(prefix="attn-") as folder:
        made = encode_path(os.path.join(folder, "model.so") if output is None else output, "output=")
        _run([*arguments, b"-o", made, b"--", path], text)
        if output is not None:
            return pathlib.Path(os.fsdecode(made))
        return load(os.fsdecode(made), weights, threads, device=device)  # the file may go: it is mapped
