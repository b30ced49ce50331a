#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks at the hot loops in an assembly file of x86-64 or AArch64: innermost ones with 8 vector FMAs (or products of
bytes or bf16) or more, every sixth instruction one.

Prints for each its function, instructions, FMAs, vector accesses to the stack, and calls; exits with 1 where a loop has one of
the latter two, or where there is no such loop at all.
"""
import re
import sys

LABEL = re.compile(r"^([\w.\"$]+):")
JUMP = re.compile(r"^\s+(?:j\w+|b|b\.\w+|cbn?z\s+\w+,|tbn?z\s+\w+, #\w+,)\s+(\.\w+)")
PRODUCT = re.compile(r"vfmadd|vdpbf16ps|vpdpbusd|\t(fmla|sdot|bfdot|smmla|bfmmla)\t")
FRAME = re.compile(r"movq\s+%rsp, %rbp")  # else %rbp is a register like others

lines = [line for line in open(sys.argv[1]) if not re.match(r"^\s*(#|\.p2align|\.loc|\.cfi|\.Ltmp\d+:|$)", line)]
function, labels, loops, framed = None, {}, [], set()
for number, line in enumerate(lines):
    if label := LABEL.match(line):
        if not label[1].startswith(".L"):
            function = label[1]
        labels[label[1]] = number
    elif FRAME.search(line):
        framed.add(function)
    elif (jump := JUMP.match(line)) and jump[1] in labels:
        loops.append((labels[jump[1]] + 1, number + 1, function))

found, bad = 0, False
for begin, end, function in loops:
    if any(begin <= other[0] and other[1] <= end for other in loops if other != (begin, end, function)):
        continue  # not the innermost
    body = lines[begin:end]
    products = sum(bool(PRODUCT.search(line)) for line in body)
    if products < 8 or 6 * products < len(body):
        continue
    stack = sum("mm" in line and ("(%rsp" in line or ("(%rbp" in line and function in framed)) for line in body)
    stack += sum(bool(re.search(r"\t(ldr|str|ldp|stp|ldur|stur)\t[qd].*\[sp", line)) for line in body)
    calls = sum(bool(re.search(r"\t(call|blr?\t)", line)) for line in body)
    print(f"{function}: {len(body)} instructions, {products} FMAs, {stack} on the stack, {calls} calls")
    found += 1
    bad |= stack > 0 or calls > 0
print(f"{found} hot loops")
sys.exit(1 if bad or found == 0 else 0)
