#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the machine code that ptxas made of a PTX file for sm_90a: sass.py PTX CUBIN CHECK...

    products      each `wgmma.mma_async` of the PTX is one instruction
    overlap       of each tile of an attention, the exponentials lie between the wait for its scores and the wait for the sums before,
                  so that they are computed while these are multiplied
    operands      no register of a product's left factor is written before the wait for the product
    calls         no subroutine is called, which divisions would be
    KERNEL=N      the kernel has at most N instructions

`--break CHECK` spoils the code first, as ptxas might: the check must say so.

NVIDIA documents no encoding of SASS. An instruction is 16 bytes: the lowest 12 bits are the opcode, bits 16 to 23 the destination, 24 to 31 the first
source. What the fields below mean was found by kernels that differ in them alone. Sections of a cubin are those of ELF (64 bits).
"""

import argparse
import re
import struct
import sys
from dataclasses import dataclass, replace

# HGMMA with its first factor in shared memory, and in registers; the wait for products, which is an instruction for other things, too; MUFU; calls.
SHARED, REGISTERS, DEPBAR, MUFU, CALLS = 0x9F0, 0xDF0, 0x9C5, 0x308, (0x343, 0x943, 0x944)
LOADS = (0x980, 0x981, 0x983, 0x984)  # generic, global, local, shared
NONE = 255  # the register that is always 0
# Instructions with no register at bits 16 to 23: stores, barriers, branches, waits, comparisons and moves to predicates and uniform registers.
NO_RESULT = {
    0x20B, 0x80B, 0xC0B, 0x20C, 0x80C, 0xC0C, 0x81C, 0x3C2, 0x2CA, 0x986, 0x988, 0x388, 0x385, 0x844, 0x84A, 0xB1D, 0x51D, 0x918, 0x9C3,
    0x5A7, 0x9A7, 0x5B4, 0x948, 0x947, 0x94D, 0x95D, 0x945, 0x941, 0x943, 0x944, 0x950, 0x890, 0x897, 0x899, 0x882, 0x892, 0x291, 0x5B2, 0x887,
    0x886, 0x287, 0x88C, 0x9AB, 0x992,
}


@dataclass(frozen=True)
class Instruction:
    low: int
    high: int

    @property
    def opcode(self):
        return self.low & 0xFFF

    @property
    def is_product(self):
        return self.opcode in (SHARED, REGISTERS)

    @property
    def left(self):
        """Registers of a product's left factor: 4 words of halves."""
        first = self.low >> 24 & 0xFF
        return set(range(first, first + 4)) if self.opcode == REGISTERS else set()

    @property
    def pending(self):
        """How many groups of products a wait leaves on their way; None for what is no wait for products."""
        return self.high >> 8 & 0xFF if self.opcode == DEPBAR and self.low >> 32 & 0x8000 else None

    @property
    def is_exponential(self):
        return self.opcode == MUFU and self.high >> 10 & 0xF == 2

    @property
    def results(self):
        first = self.low >> 16 & 0xFF
        if first == NONE or self.opcode in NO_RESULT or self.is_product or self.opcode == DEPBAR:
            return set()
        width = {5: 2, 6: 4}.get(self.high >> 9 & 7, 1) if self.opcode in LOADS else 1
        return set(range(first, first + width))

    def writing(self, register):
        return replace(self, low=self.low & ~0xFF0000 | register << 16)


def code_of(cubin):
    """{kernel: its instructions}"""
    (start,) = struct.unpack_from("<Q", cubin, 0x28)
    count, names = struct.unpack_from("<HH", cubin, 0x3C)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + 64 * i) for i in range(count)]
    strings = cubin[sections[names][4] :]
    code = {}
    for name, _, _, _, offset, size, *_ in sections:
        text = strings[name : strings.index(b"\0", name)].decode()
        if text.startswith(".text."):
            code[text[len(".text.") :]] = [Instruction(*struct.unpack_from("<QQ", cubin, at)) for at in range(offset, offset + size, 16)]
    return code


def entries_of(ptx):
    """{kernel: its text}"""
    return {entry[1]: entry[2] for entry in re.finditer(r"\.entry (\w+)\((.*?)\n}\n", ptx, re.DOTALL)}


def products(code, text):
    calls = re.findall(r"wgmma\.mma_async[^;]*;", text)
    registers = sum(len(re.findall(r"\{", call)) > 1 for call in calls)  # behind those of the sums
    expected = len(calls) - registers, registers
    found = tuple(sum(instruction.opcode == kind for instruction in code) for kind in (SHARED, REGISTERS))
    if found != expected:
        yield f"{expected[0]} + {expected[1]} wgmma are {found[0]} + {found[1]} HGMMA"


def scores_of_tile(text):
    """Scores of a tile in each thread: those of the products whose factors are in shared memory."""
    widths = {int(call[1]) for call in re.finditer(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16[^{;]*\{[^{;]*;", text)}
    return min(widths) // 2 if widths else 0


def overlaps(code):
    """(exponentials between the products' issue and the first wait, between both waits) for each time that scores and sums are on their way."""
    issued, before, between, waits = set(), 0, 0, False
    for instruction in code:
        if instruction.is_product:
            issued.add(instruction.opcode)
            before = 0
        elif instruction.is_exponential:
            before, between = before + 1, between + waits
        elif instruction.pending is not None:
            if waits:
                yield first, between
            waits = instruction.pending == 1 and issued == {SHARED, REGISTERS}
            first, between, issued = before, 0, issued if instruction.pending else set()


def overlap(code, text):
    scores = scores_of_tile(text)
    if not any(instruction.opcode == REGISTERS for instruction in code):
        return
    seen = list(overlaps(code))
    if not seen and not re.search(r"wgmma\.wait_group\.sync\.aligned\s+1", text):
        return  # all keys are one tile
    if not seen:
        yield "nowhere are scores waited for while sums are multiplied"
    for early, between in seen:
        if early or between < scores:
            yield f"{early} exponentials before the wait for scores, {between} of {scores} before that for sums"


def operands(code, text):
    flying = []
    for number, instruction in enumerate(code):
        if instruction.is_product:
            flying.append(instruction)
        elif instruction.pending is not None:  # scores are issued before sums, and waited for alone
            flying = [product for product in flying if instruction.pending and product.opcode == REGISTERS]
        for product in flying:
            if instruction.results & product.left:
                yield f"instruction {number} writes a register that a product is still reading"


def calls(code, text):
    count = sum(instruction.opcode in CALLS for instruction in code)
    if count:
        yield f"{count} calls"


CHECKS = {"products": products, "overlap": overlap, "operands": operands, "calls": calls}


def spoil(code, check):
    """The code as the check must not have it."""
    wait = next((i for i, instruction in enumerate(code) if instruction.pending == 1), None)
    if check == "calls":
        return [Instruction(CALLS[0], 0), *code]
    if check == "products":
        return [instruction for instruction in code if instruction.opcode != SHARED]
    if wait is None or not any(instruction.opcode == REGISTERS for instruction in code[:wait]):
        return code
    if check == "overlap":  # the second wait directly behind the first
        last = next(i for i in range(wait + 1, len(code)) if code[i].pending == 0)
        return code[: wait + 1] + [code[last]] + code[wait + 1 : last] + code[last + 1 :]
    product = next(instruction for instruction in reversed(code[:wait]) if instruction.opcode == REGISTERS)
    exponential = next(i for i in range(wait, len(code)) if code[i].is_exponential)
    return code[:exponential] + [code[exponential].writing(min(product.left))] + code[exponential + 1 :]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--break", dest="broken", metavar="CHECK")
    parser.add_argument("ptx")
    parser.add_argument("cubin")
    parser.add_argument("checks", nargs="+", metavar="CHECK")
    args = parser.parse_args()
    code = code_of(open(args.cubin, "rb").read())
    faults = []
    for kernel, text in entries_of(open(args.ptx).read()).items():
        own = spoil(code[kernel], args.broken) if args.broken else code[kernel]
        for check in args.checks:
            named, _, most = check.partition("=")
            if not most:
                faults += [f"{kernel}: {fault}" for fault in CHECKS[check](own, text)]
            elif named == kernel and len(own) > int(most):
                faults.append(f"{kernel}: {len(own)} instructions, {most} at most")
    if faults:
        sys.exit("\n".join(faults))
    counted = [instruction for own in code.values() for instruction in own]
    overlapped = sum(bool(list(overlaps(own))) for own in code.values())
    print(f"{len(code)} kernels, {sum(i.is_product for i in counted)} HGMMA, {overlapped} kernels with two waits")


if __name__ == "__main__":
    main()
