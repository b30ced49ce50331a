# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stubs of types for one model, from its description: what a type checker and an editor know of its entries.

    python3 -m attn.stubs libvit.so > vit.pyi"""
from __future__ import annotations

import keyword
import sys

from .entry import Info
from .model import Model, load

_HEAD = """import attn
import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing import Any, NamedTuple, Optional
"""
# NumPy's types of outputs by dtypes of entries; bf16 comes as float32.
_SCALARS = {"f32": "np.float32", "f16": "np.float16", "bf16": "np.float32", "i32": "np.int32", "i64": "np.int64", "u8": "np.uint8",
            "bool": "np.bool_", "f64": "np.float64"}


def _array(info: Info) -> str:
    return f"NDArray[{_SCALARS[info.dtype]}]"


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def stubs(model: Model) -> str:
    """The text of a stub file with a class for the model, and one for each entry that gives several outputs."""
    results, methods = [], []
    for entry in model.entries.values():
        returns = _array(entry.outputs[0])
        if len(entry.outputs) > 1:
            fields = [f"    {info.name if _is_name(info.name) else f'_{place}'}: {_array(info)}  # {info}"
                      for place, info in enumerate(entry.outputs)]
            returns = f"_{entry.name}"
            results.append("\n".join([f"class {returns}(NamedTuple):", *fields]))
        arguments, is_optional = [], False
        for info in entry.inputs:
            is_optional |= info.is_state  # what is behind an argument that may be left out has a default, too
            kind = "Any" if info.media else "ArrayLike"
            arguments += [f"{info.name}: " + (f"Optional[{kind}] = ..." if is_optional else kind)] if _is_name(info.name) else []
        methods.append(f"    def {entry.name}(self, {', '.join([*arguments, '*', 'out: Any = ...'])}) -> {returns}:\n"
                       f'        """{entry}"""')
    return "\n\n\n".join([_HEAD.rstrip(), *results, "\n".join([f"class {model.name}(attn.Model):", *methods])]) + "\n"


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python3 -m attn.stubs MODEL.so", file=sys.stderr)
        return 2
    print(stubs(load(sys.argv[1])), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
