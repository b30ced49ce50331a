#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what single PTX instructions compute, to pin the interpreter of PTX (test/gpu) to a real GPU.

    python3 instructions.py record FILE.npz    on the GPU: inputs and outputs, bit by bit
    python3 instructions.py compare FILE.npz   with ATTN_CUDA_PATH=build/test/gpu: the same inputs on the interpreter

Needs NumPy and a CUDA driver. An instruction that fails is a line, and costs itself alone. compare prints for each in how many words the two differ
and by how many f32 units in the last place at most; exit code 1 where one differs that the manual says to be exact.
"""
import ctypes
import sys

import numpy as np

from devices import Driver

BLOCKS = 8


class Case:
    """`body` computes %d0.. of %a0.., words of 32 bits, in each of `threads` threads of a block. `draw` makes the inputs. `map`, sizes and box of a
    tensor of bf16, innermost first, is what the inputs are as a tensor, too, whose map is a parameter of that name."""

    def __init__(self, name, inputs, outputs, body, draw, exact=True, threads=32, capability=80, floats=True, globals="", directives="", map=None):
        self.name, self.inputs, self.outputs, self.body, self.draw, self.exact = name, inputs, outputs, body, draw, exact
        self.threads, self.capability, self.floats, self.globals, self.directives, self.map = threads, capability, floats, globals, directives, map

    def text(self, target):
        loads = "\n".join(f"  ld.global.b32 %a{i}, [%rd4+{4 * i}];" for i in range(self.inputs))
        stores = "\n".join(f"  st.global.b32 [%rd5+{4 * i}], %d{i};" for i in range(self.outputs))
        return f"""
.version 8.0
.target {target}
.address_size 64
{self.globals}
.visible .entry k(.param .u64 in, .param .u64 out{", .param .align 64 .b8 map[128]" if self.map else ""})
{self.directives}
{{
  .reg .b32 %a<{self.inputs + 1}>; .reg .b32 %d<{self.outputs + 1}>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>; .reg .b16 %h<8>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mad.lo.s32 %r2, %r1, {self.threads}, %r0;
  mul.wide.u32 %rd3, %r2, {4 * self.inputs};
  add.s64 %rd4, %rd1, %rd3;
  mul.wide.u32 %rd3, %r2, {4 * self.outputs};
  add.s64 %rd5, %rd2, %rd3;
{loads}
{self.body}
{stores}
  ret;
}}
"""


# ---- Inputs: [words] of uint32 ------------------------------------------------------------------------------------------------------------

SPECIALS = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0**-126, 2.0**-130, -(2.0**-149), 3.4e38, 0.5, 127.0, 128.0, -126.5, -150.0],
                    np.float32)


def floats(numbers, count):
    """Of all sizes, and the special ones."""
    values = (numbers.standard_normal(count) * 2.0 ** numbers.integers(-20, 20, count)).astype(np.float32)
    places = numbers.integers(0, count, count // 8)
    values[places] = numbers.choice(SPECIALS, len(places))
    return values.view(np.uint32)


def small_floats(numbers, count):
    return (numbers.standard_normal(count) * 8).astype(np.float32).view(np.uint32)


def words(numbers, count):
    return numbers.integers(0, 2**32, count, np.uint32)


def bf16_pairs(numbers, count):
    values = numbers.standard_normal(2 * count).astype(np.float32).view(np.uint32) >> 16
    return values.astype(np.uint16).view(np.uint32)


def f16_pairs(numbers, count):
    return numbers.standard_normal(2 * count).astype(np.float16).view(np.uint32)


# ---- Instructions -------------------------------------------------------------------------------------------------------------------------


def plain(name, inputs, draw, **more):
    """One output, all operands registers."""
    operands = ", ".join(["%d0"] + [f"%a{i}" for i in range(inputs)])
    return Case(name, inputs, 1, f"  {name} {operands};", draw, **more)


def with_tail(name, inputs, tail, draw, **more):
    operands = ", ".join(["%d0"] + [f"%a{i}" for i in range(inputs)] + [tail])
    return Case(f"{name} {tail}", inputs, 1, f"  {name} {operands};", draw, **more)


def mma(kind, types, a, b, c, draw, **more):
    """D = A B + C, fragments as they are."""
    names = lambda first, count: "{" + ", ".join(f"%a{first + i}" for i in range(count)) + "}"
    results = "{" + ", ".join(f"%d{i}" for i in range(c)) + "}"
    name = f"mma.sync.aligned.{kind}.row.col.{types}"
    body = f"  {name} {results}, {names(0, a)}, {names(a, b)}, {names(a + b, c)};"

    def both(numbers, count):
        rows = count // (a + b + c)
        sums = (numbers.standard_normal(rows * c).astype(np.float32).view(np.uint32) if "f32" in types
                else numbers.integers(-1000, 1000, rows * c, np.int32).view(np.uint32))
        return np.concatenate([draw(numbers, rows * (a + b)).reshape(rows, -1), sums.reshape(rows, c)], axis=1).ravel()

    return Case(name, a + b + c, c, body, both, **more)


SHARED = ".shared .align 1024 .b8 smem[8192];"


def through_shared(inputs, first=0):
    """Each thread's words from `first` on lie one after the other, thread by thread."""
    stores = "\n".join(f"  st.shared.b32 [%r4+{4 * i}], %a{first + i};" for i in range(inputs))
    return f"  mov.u32 %r3, smem;\n  mad.lo.s32 %r4, %r0, {4 * inputs}, %r3;\n{stores}\n  bar.sync 0;"


def ldmatrix(suffix):
    name = f"ldmatrix.sync.aligned.m8n8.x4{suffix}.shared.b16"
    body = through_shared(4) + f"\n  shl.b32 %r5, %r0, 4;\n  add.s32 %r5, %r3, %r5;\n  {name} {{%d0, %d1, %d2, %d3}}, [%r5];"
    return Case(name, 4, 4, body, words, floats=False, globals=SHARED)


def describe(swizzle, stride, leading):
    """%rd6 becomes the descriptor of the matrix in shared memory, which is %r3: address and byte offsets are in 16 bytes; bits 62 and 63 are the swizzle
    (PTX ISA, matrix descriptor)."""
    return f"""
  fence.proxy.async.shared::cta;
  bar.sync 0;
  and.b32 %r5, %r3, 262143;
  shr.u32 %r5, %r5, 4;
  cvt.u64.u32 %rd6, %r5;
  or.b64 %rd6, %rd6, {swizzle << 62 | (stride >> 4) << 32 | (leading >> 4) << 16};
"""


def wgmma(swizzle, stride, leading):
    """Random bf16 for 64 x 16 of A and 8 x 16 of B in shared memory, wherever the swizzle finds them: places are compared, too. 16 words a
    thread fill the 8 kB that the swizzle of 128 bytes reaches."""
    inputs = 16
    body = through_shared(inputs) + describe(swizzle, stride, leading) + """\
  mov.b32 %d0, %a0;
  mov.b32 %d1, 0;
  mov.b32 %d2, 0;
  mov.b32 %d3, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, %rd6, %rd6, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;"""
    name = f"wgmma.mma_async.m64n8k16.bf16 swizzle {swizzle}"
    return Case(name, inputs, 4, body, bf16_pairs, exact=False, threads=128, capability=90, globals=SHARED)


def wgmma_of_registers(n, begins):
    """A in registers, B down the columns of boxes of 64 columns and 16 rows, swizzled by 128 bytes, as attention multiplies weights and values. `begins`:
    sums are not read, which are NaN before."""
    words_of_b, sums = 16, n // 2
    registers = ", ".join(f"%d{i}" for i in range(sums))
    body = through_shared(words_of_b, first=4) + describe(1, 1024, 2048) + f"""\
  setp.ne.b32 %p1, 0, {int(not begins)};
""" + "\n".join(f"  mov.b32 %d{i}, {'0x7fc00000' if begins else f'%a{i % 20}'};" for i in range(sums)) + f"""
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16 {{{registers}}}, {{%a0, %a1, %a2, %a3}}, %rd6, %p1, 1, 1, 1;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;"""
    name = f"wgmma.mma_async.m64n{n}k16.bf16 of registers, B transposed" + (", scale-d false" if begins else "")
    return Case(name, 4 + words_of_b, sums, body, bf16_pairs, exact=False, threads=128, capability=90, globals=SHARED)


def box():
    """Boxes of 64 x 8 of a tensor of 40 x 20, which leave it on every side and at every corner."""
    body = """
  mov.u32 %r3, smem;
  mov.u32 %r4, bar;
  and.b32 %r5, %r1, 1;
  mad.lo.s32 %r5, %r5, 32, -8;
  shr.u32 %r6, %r1, 1;
  and.b32 %r6, %r6, 1;
  mad.lo.s32 %r6, %r6, 19, -3;
  setp.ge.u32 %p1, %r1, 4;
  @%p1 add.s32 %r5, %r5, 8;
  @%p1 add.s32 %r6, %r6, 4;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra READY;
  mbarrier.init.shared::cta.b64 [%r4], 1;
  fence.mbarrier_init.release.cluster;
  mov.b64 %rd6, map;
  cvta.param.u64 %rd6, %rd6;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 1024;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd6, {%r5, %r6}], [%r4];
READY:
  bar.sync 0;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r4], 0;
  @!%p3 bra WAIT;
  mad.lo.s32 %r7, %r0, 8, %r3;
  ld.shared.b32 %d0, [%r7];
  ld.shared.b32 %d1, [%r7+4];"""
    return Case("cp.async.bulk.tensor.2d beyond each side", 1, 2, body, bf16_pairs, threads=128, capability=90, floats=False,
                globals=SHARED + " .shared .align 8 .b64 bar;", map=((40, 20), (64, 8)))


def registers_and_barrier():
    """Warp groups give registers back and take some, and exchange words by a named barrier: each has its neighbour's."""
    body = """
  mov.u32 %r3, smem;
  mad.lo.s32 %r4, %r0, 4, %r3;
  st.shared.b32 [%r4], %a0;
  xor.b32 %r5, %r0, 32;
  mad.lo.s32 %r5, %r5, 4, %r3;
  setp.lt.u32 %p1, %r0, 128;
  @%p1 bra FIRST;
  setmaxnreg.inc.sync.aligned.u32 232;
  bar.sync 1, 384;
  ld.shared.b32 %d0, [%r5];
  bra END;
FIRST:
  setmaxnreg.dec.sync.aligned.u32 40;
  bar.sync 1, 384;
  ld.shared.b32 %d0, [%r5];
END:"""
    return Case("setmaxnreg beside bar.sync 1", 1, 1, body, words, threads=384, capability=90, floats=False, globals=SHARED,
                directives=".maxntid 384, 1, 1\n.minnctapersm 1")


CASES = [
    *[plain(name, 2, floats) for name in ("add.rn.f32", "sub.rn.f32", "mul.rn.f32", "min.f32", "max.f32", "max.NaN.f32", "div.rn.f32", "add.rn.ftz.f32")],
    plain("fma.rn.f32", 3, floats),
    *[plain(name, 1, floats) for name in ("sqrt.rn.f32", "rcp.rn.f32", "abs.f32", "neg.f32")],
    *[plain(name, 1, floats, exact=False) for name in ("ex2.approx.f32", "ex2.approx.ftz.f32", "lg2.approx.f32", "rcp.approx.f32", "rcp.approx.ftz.f32",
                                                       "rsqrt.approx.f32", "sqrt.approx.f32", "tanh.approx.f32")],
    *[plain(name, 1, small_floats, exact=False) for name in ("sin.approx.f32", "cos.approx.f32")],
    *[plain(name, 2, floats, floats=False) for name in ("cvt.rn.bf16x2.f32", "cvt.rn.f16x2.f32")],
    *[plain(name, 1, floats, floats=False) for name in ("cvt.rni.s32.f32", "cvt.rzi.s32.f32")],
    plain("cvt.rn.f32.s32", 1, words),
    plain("cvt.rna.tf32.f32", 1, floats),
    *[plain(name, 3, bf16_pairs, floats=False) for name in ("fma.rn.bf16x2",)],
    plain("fma.rn.f16x2", 3, f16_pairs, floats=False),
    *[plain(name, 2, words, floats=False) for name in ("mul.hi.u32", "mul.lo.s32", "div.s32", "rem.u32")],
    *[plain(name, 3, words, floats=False) for name in ("prmt.b32", "bfe.u32", "mad.lo.s32", "shf.l.wrap.b32", "shf.r.clamp.b32")],
    *[plain(name, 3, words, floats=False) for name in ("dp4a.u32.s32", "dp4a.s32.s32")],
    *[plain(name, 1, words, floats=False) for name in ("popc.b32", "clz.b32", "brev.b32", "bfind.u32")],
    plain("bfi.b32", 4, words, floats=False),
    with_tail("lop3.b32", 3, "0x6a", words, floats=False),
    with_tail("shfl.sync.bfly.b32", 1, "5, 31, -1", words, floats=False),
    with_tail("shfl.sync.up.b32", 1, "3, 0, -1", words, floats=False),
    with_tail("shfl.sync.down.b32", 1, "3, 7191, -1", words, floats=False),
    with_tail("shfl.sync.idx.b32", 2, "31, -1", words, floats=False),
    with_tail("redux.sync.add.s32", 1, "-1", words, floats=False),
    with_tail("redux.sync.max.u32", 1, "-1", words, floats=False),
    mma("m16n8k16", "f32.bf16.bf16.f32", 4, 2, 4, bf16_pairs, exact=False),
    mma("m16n8k8", "f32.bf16.bf16.f32", 2, 1, 4, bf16_pairs, exact=False),
    mma("m16n8k16", "f32.f16.f16.f32", 4, 2, 4, f16_pairs, exact=False),
    mma("m16n8k8", "f32.tf32.tf32.f32", 4, 2, 4, small_floats, exact=False),
    mma("m16n8k32", "s32.s8.s8.s32", 4, 2, 4, words, floats=False),
    mma("m16n8k32", "s32.u8.s8.s32", 4, 2, 4, words, floats=False),
    ldmatrix(""),
    ldmatrix(".trans"),
    wgmma(0, 256, 128),
    wgmma(1, 1024, 16),
    wgmma(2, 512, 16),
    wgmma(3, 256, 16),
    *[wgmma_of_registers(n, begins) for n in (128, 208) for begins in (False, True)],
    box(),
    registers_and_barrier(),
]


# ---- Running ------------------------------------------------------------------------------------------------------------------------------


class Machine(Driver):
    """The driver's GPU, or the interpreter in its place."""

    def __init__(self):
        super().__init__()
        self.capability = 10 * self.attribute(75) + self.attribute(76)

    def attribute(self, number):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, self.device)
        return value.value

    def encode(self, place, address, sizes, box):
        """A tensor map of bf16, swizzled by 128 bytes."""
        bf16, plain, swizzle_128, promote_256, zeros = 9, 0, 3, 3, 0
        rank, u64, u32 = len(sizes), ctypes.c_uint64, ctypes.c_uint32
        strides = [2 * sizes[0]]
        for size in sizes[1:-1]:
            strides.append(strides[-1] * size)
        self.call("cuTensorMapEncodeTiled", ctypes.c_void_p(place), bf16, rank, ctypes.c_void_p(address), (u64 * rank)(*sizes), (u64 * rank)(*strides),
                  (u32 * rank)(*box), (u32 * rank)(*[1] * rank), plain, swizzle_128, promote_256, zeros)

    def run(self, case, given):
        target = "sm_90a" if self.capability == 90 else "sm_80"
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        log = ctypes.create_string_buffer(4096)
        options, values = (ctypes.c_int * 2)(5, 6), (ctypes.c_void_p * 2)(ctypes.addressof(log), 4096)  # the error log and its size
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), case.text(target).encode(), 2, options, values)
        except RuntimeError as error:
            raise RuntimeError(f"{error} {log.value.decode().strip()}") from None
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        made = np.zeros(BLOCKS * case.threads * case.outputs, np.uint32)
        pointers = [ctypes.c_uint64(), ctypes.c_uint64()]
        for pointer, array in zip(pointers, (given, made)):
            self.call("cuMemAlloc_v2", ctypes.byref(pointer), array.nbytes)
        self.call("cuMemcpyHtoDAsync_v2", pointers[0], given.ctypes.data, given.nbytes, self.stream)
        places = [ctypes.addressof(pointer) for pointer in pointers]
        if case.map:
            room = ctypes.create_string_buffer(128 + 64)
            place = (ctypes.addressof(room) + 63) // 64 * 64
            self.encode(place, pointers[0].value, *case.map)
            places.append(place)
        arguments = (ctypes.c_void_p * len(places))(*places)
        self.call("cuLaunchKernel", function, BLOCKS, 1, 1, case.threads, 1, 1, 0, self.stream, arguments, None)
        self.call("cuMemcpyDtoHAsync_v2", made.ctypes.data, pointers[1], made.nbytes, self.stream)
        self.wait()
        for pointer in pointers:
            self.call("cuMemFree_v2", pointer)
        self.call("cuModuleUnload", module)
        return made


def record(driver, path):
    numbers, found = np.random.default_rng(1), {"gpu": np.array(driver.name)}
    for case in CASES:
        given = np.ascontiguousarray(case.draw(numbers, BLOCKS * case.threads * case.inputs))
        if driver.capability < case.capability:
            print(f"{case.name}: needs sm_{case.capability}a")
            continue
        try:
            found[f"{case.name}/out"], found[f"{case.name}/in"] = driver.run(case, given), given
        except RuntimeError as error:
            print(f"{case.name}: {error}")
        np.savez_compressed(path, **found)  # each time: the next one may end this process
    print(f"{len(found) // 2} instructions of {driver.name}: {path}")


def ordered(bits):
    """f32 as whole numbers in the order of the values."""
    signed = bits.astype(np.int64)
    return np.where(signed < 2**31, signed, 2**31 - signed)


def differences(case, a, b):
    """How many words differ, and by how many units at most; any NaN is like another, and as few as there are."""
    differ = a != b
    if not case.floats:
        return int(differ.sum()), 0
    differ &= ~(np.isnan(a.view(np.float32)) & np.isnan(b.view(np.float32)))
    return int(differ.sum()), int(np.abs(ordered(a) - ordered(b))[differ].max(initial=0))


def compare(driver, path):
    stored, is_good = np.load(path), True
    print(f"{stored['gpu']} against {driver.name}\n| instruction | words | differ | by units at most |\n| --- | ---: | ---: | ---: |")
    for case in CASES:
        if f"{case.name}/in" not in stored or driver.capability < case.capability:
            continue
        try:
            made = driver.run(case, stored[f"{case.name}/in"])
        except RuntimeError as error:
            print(f"| {case.name} | - | {error} | |")
            is_good = False
            continue
        count, units = differences(case, stored[f"{case.name}/out"], made)
        is_good &= count == 0 or not case.exact
        print(f"| {case.name} | {made.size} | {count}{' **exact by the manual**' if count and case.exact else ''} | {units if case.floats else '-'} |")
    return is_good


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    driver = Machine()
    sys.exit(0 if {"record": record, "compare": compare}[sys.argv[1]](driver, sys.argv[2]) in (None, True) else 1)


main()
