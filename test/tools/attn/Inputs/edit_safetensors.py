#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""edit_safetensors.py IN OUT EDIT...: a copy of a checkpoint with one thing wrong.

drop NAME | rename NAME NEW | add NAME | reshape NAME SIZE,SIZE | retype NAME DTYPE | overlap NAME OTHER | cut BYTES
"""
import json
import struct
import sys

source, target, edit, *words = sys.argv[1:]
data = open(source, "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header, body = json.loads(data[8 : 8 + length]), data[8 + length :]

if edit == "drop":  # the other tensors move together: no holes
    begin, end = header.pop(words[0])["data_offsets"]
    body = body[:begin] + body[end:]
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["data_offsets"][0] >= end:
            tensor["data_offsets"] = [offset - (end - begin) for offset in tensor["data_offsets"]]
elif edit == "rename":
    header[words[1]] = header.pop(words[0])
elif edit == "add":
    header[words[0]] = {"dtype": "F32", "shape": [2], "data_offsets": [len(body), len(body) + 8]}
    body += bytes(8)
elif edit == "reshape":
    header[words[0]]["shape"] = [int(size) for size in words[1].split(",")]
elif edit == "retype":
    header[words[0]]["dtype"] = words[1]
elif edit == "overlap":
    header[words[0]]["data_offsets"] = header[words[1]]["data_offsets"]

text = json.dumps(header).encode()
result = struct.pack("<Q", len(text)) + text + body
open(target, "wb").write(result[: int(words[0])] if edit == "cut" else result)
