# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The structs and prototypes of the Python package, held against the headers: the structs by a C compiler, the prototypes by reading them.
Usage: layouts.py SOURCE FOLDER"""
import ctypes
import re
import subprocess
import sys

from attn import _library

source, folder = sys.argv[1:3]
headers = [open(f"{source}/runtime/include/attn/{name}.h").read() for name in ("attn", "caches", "rows", "schedule", "text", "compiler")]
text = re.sub(r"/\*.*?\*/", "", "".join(headers), flags=re.S)

lines = ["#include <attn/compiler.h>", "#include <attn/schedule.h>", "#include <attn/text.h>", "#include <stddef.h>"]
for name, struct in _library.STRUCTS.items():
    lines.append(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(struct)}, "{name}");')
    for field, kind in struct._fields_:
        place = getattr(struct, field)
        lines.append(f'_Static_assert(offsetof({name}, {field}) == {place.offset}, "{name}.{field}");')
        lines.append(f'_Static_assert(sizeof((({name} *)0)->{field}) == {place.size}, "{name}.{field}");')
    body = re.search(r"typedef struct \{([^}]*)\} " + name + ";", text)[1]
    known = re.findall(r"(\w+)(?:\[\w+\])?(?:\)\([^;]*\))?\s*[,;]", body)
    assert len(known) >= len(struct._fields_), (name, known)
for constant, value in [("ATTN_MAX_RANK", _library.MAX_RANK), ("ATTN_FILE_TOKENIZER", _library.FILE_TOKENIZER),
                        ("ATTN_FILE_CHAT_TEMPLATE", _library.FILE_CHAT_TEMPLATE), ("ATTN_FILE_LABELS", _library.FILE_LABELS),
                        ("ATTN_DEVICE_CPU", _library.CPU), ("ATTN_DEVICE_CUDA", _library.CUDA),
                        ("ATTN_TEXT_ADD_SPECIAL", _library.TEXT_ADD_SPECIAL),
                        ("ATTN_TEXT_SPECIAL_AS_TEXT", _library.TEXT_SPECIAL_AS_TEXT), ("ATTN_TEXT_TRUNCATE", _library.TEXT_TRUNCATE),
                        ("ATTN_TEXT_PAD", _library.TEXT_PAD), ("ATTN_COMPILER_ERROR", _library.ERROR),
                        ("ATTN_COMPILER_WARNING", _library.WARNING), ("ATTN_TEXT_ENDED_BY_CONTEXT", len(_library.ENDINGS) - 1)]:
    lines.append(f'_Static_assert({constant} == {value}, "{constant}");')
with open(f"{folder}/layouts.c", "w") as file:
    file.write("\n".join(lines) + "\n")
subprocess.run(["cc", "-std=c11", "-fsyntax-only", f"-I{source}/runtime/include", f"{folder}/layouts.c"], check=True)

# Of a parameter, what ctypes may pass: pointers stand for each other.
SCALARS = {"int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t,
           "attn_status": ctypes.c_int32, "void": None} | _library.STRUCTS


def fits(declared, given):
    declared = declared.replace("const ", "").strip()
    if "*" in declared or "[" in declared:
        return given in (ctypes.c_void_p, ctypes.c_char_p) or issubclass(given, ctypes._Pointer)
    kind = SCALARS[declared.split()[0]]
    return given is kind or (kind is not None and given is not None and ctypes.sizeof(given) == ctypes.sizeof(kind))


declared = {name: (result, arguments) for result, name, arguments in
            re.findall(r"ATTN_API\s+([\w\s]+?[\s*]+)(attn_\w+)\(([^)]*)\);", text)}
for name, (result, *arguments) in _library.PROTOTYPES.items():
    assert name in declared, f"{name}: not in the headers"
    kind, parameters = declared[name]
    assert fits(kind, result), f"{name}: gives {kind}"
    parameters = [parameter.strip() for parameter in re.sub(r"\s+", " ", parameters).split(",")]
    if name == "attn_run":
        continue
    assert len(parameters) == len(arguments), f"{name}: {parameters}"
    for parameter, argument in zip(parameters, arguments):
        assert fits(parameter, argument), f"{name}: {parameter}"
print(f"{len(_library.STRUCTS)} structs, {len(_library.PROTOTYPES)} functions")
