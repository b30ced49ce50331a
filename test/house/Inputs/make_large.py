# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a class of 41 methods, one of them of 81 lines and one of 80, and a class of 40 methods; a file of 501
lines, and a header whose guard is a macro.

usage: make_large.py FOLDER
"""
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])


def declarations(name, names):
    return [f"class {name} {{", "public:", *(f"  void {method}();" for method in names), "};"]


def definition(method, lines):
    return [f"void Large::{method}() {{", *["  ++count;"] * (lines - 2), "}"]


small = [f"method{i}" for i in range(40)]
(folder / "Large.h").write_text("\n".join(
    ["#pragma once", "namespace some {", *declarations("Large", ["longest", "long_", *small[:39]]), *declarations("Small", small), "}", ""]))
(folder / "Large.cpp").write_text("\n".join(
    ['#include "Large.h"', "using namespace some;", *definition("longest", 81), *definition("long_", 80), ""]))
(folder / "Long.cpp").write_text("//\n" * 501)
(folder / "Guarded.h").write_text("#ifndef GUARDED\n#define GUARDED\n#endif\n")
(folder / "Named.cpp").write_text("//\nstatic constexpr int kMost = 3;\n")
(folder.parent / "tools" / "Tool.cpp").write_text('//\nauto text = llvm::formatv("{0}", 1);\n')
