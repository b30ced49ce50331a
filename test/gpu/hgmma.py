#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that each `wgmma.mma_async` of a PTX file is one HGMMA in the cubin that ptxas made of it: hgmma.py PTX CUBIN

NVIDIA documents no encoding of SASS. An instruction is 16 bytes whose lowest 12 bits are the opcode; that 0x9f0 and 0xdf0 are
HGMMA, with its first factor in shared memory and in registers, was found by kernels that have 4 of the one and 13 of the
other. Sections of a cubin are those of ELF (64 bits).
"""

import collections
import re
import struct
import sys

SHARED, REGISTERS = 0x9F0, 0xDF0


def code_of(cubin):
    """{kernel: its opcodes, counted}"""
    (start,) = struct.unpack_from("<Q", cubin, 0x28)
    count, names = struct.unpack_from("<HH", cubin, 0x3C)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + 64 * i) for i in range(count)]
    strings = cubin[sections[names][4] :]
    code = {}
    for name, _, _, _, offset, size, *_ in sections:
        text = strings[name : strings.index(b"\0", name)].decode()
        if text.startswith(".text."):
            words = (struct.unpack_from("<Q", cubin, at)[0] for at in range(offset, offset + size, 16))
            code[text[len(".text.") :]] = collections.Counter(word & 0xFFF for word in words)
    return code


def products_of(ptx):
    """{kernel: how many products have their first factor in (shared memory, registers)}"""
    products = {}
    for entry in re.finditer(r"\.entry (\w+)\((.*?)\n}\n", ptx, re.DOTALL):
        calls = re.findall(r"wgmma\.mma_async[^;]*;", entry[2])
        registers = sum(len(re.findall(r"\{", call)) > 1 for call in calls)  # behind those of the sums
        products[entry[1]] = (len(calls) - registers, registers)
    return products


def main():
    ptx, cubin = sys.argv[1:]
    code = code_of(open(cubin, "rb").read())
    products = products_of(open(ptx).read())
    for kernel, expected in products.items():
        found = (code[kernel][SHARED], code[kernel][REGISTERS])
        if found != expected:
            sys.exit(f"{kernel}: {expected[0]} + {expected[1]} wgmma are {found[0]} + {found[1]} HGMMA")
    print(f"{sum(map(sum, products.values()))} HGMMA")


if __name__ == "__main__":
    main()
