// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of the later stages: kernels on buffers (`memory`), and their tiles (`tiled`). A buffer is a strided memref [rows..., columns...];
// an operand that is repeated along an axis has stride 0 there. What a kernel writes is marked; it overlaps no other operand, except where an op says so.
#ifndef ATTN_KERNEL_OPS_TD
#define ATTN_KERNEL_OPS_TD

include "dialect/AttnDialect.td"
include "dialect/KernelInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class AttnKernelOp<string mnemonic, list<Trait> traits = []> : Op<AttnDialect, mnemonic, traits>;

/// 16 bits where GPUs keep what is only multiplied so (planning::elementFor); CPUs' kernels have f32.
def Attn_Buffer : MemRefOf<[F32, BF16, F16]>;

/// What linears and attentions multiply; i16, on CPUs, are the bits of bf16.
def Attn_FactorBuffer : MemRefOf<[F32, BF16, F16, I16]>;

/// A truth value is a byte in memory, anything but 0 is true; a parameter of bf16 its 16 bits.
def Attn_AnyBuffer : MemRefOf<[F32, BF16, F16, I8, I16, I32, I64]>;
def Attn_IndexBuffer : MemRefOf<[I32, I64]>;

/// Weights in f32, in the bits of bf16, in f16, or in int8 (runtime/include/attn/abi.h).
def Attn_PanelBuffer : MemRefOf<[F32, I16, F16, I8]>;

def Attn_SlotOp : AttnKernelOp<"slot", [Symbol]> {
  let summary = "where parameters lie in the packed block, and in which layout";
  let description = [{
    Bytes [offset + layer * layer_stride, + bytes). `width` 0: [k][columns] row-major, of f32, bf16 or f16; else panels [columns / width][k][width], the last padded
    with zeros. `params` fill the columns one after the other; without any, elements are `angles`. Panels of another `precision` than f32: runtime/include/attn/abi.h.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$params, OptionalAttr<Attn_AnglesAttr>:$angles, I64Attr:$k, I64Attr:$columns, I64Attr:$width,
                       DefaultValuedAttr<Attn_PrecisionAttr, "::attn::Precision::F32">:$precision, I64Attr:$bytes, I64Attr:$layers,
                       I64Attr:$offset, I64Attr:$layer_stride);
  let assemblyFormat = [{
    $sym_name $params (`of` custom<Elements>($angles)^)? `k` $k `columns` $columns `width` $width (`in` $precision^)? `bytes` $bytes `layers` $layers `at` $offset `+` $layer_stride attr-dict
  }];
  let hasVerifier = 1;
}

def Attn_AddressOp : AttnKernelOp<"address", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a slot's place in the packed block, of one layer where it belongs to a stack";
  let arguments = (ins FlatSymbolRefAttr:$slot, AnyMemRef:$packed, Optional<Index>:$layer);
  let results = (outs Attn_AnyBuffer:$result);
  let assemblyFormat = "$slot (`[` $layer^ `]`)? `in` $packed attr-dict `:` type($packed) `->` type($result)";
}

def Attn_CostOp : AttnKernelOp<"cost", [Symbol]> {
  let summary = "what a kernel computes and moves, for profiles";
  let description = [{
    `flop` counts operations of numbers, two for a multiply-add, `bytes` the operands and results once each. Both are sums of products: a term
    is a factor and the names of dims, `[[768, "B", "T"], [3]]` is 768 * B * T + 3. The location is that of the kernel.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$title, ArrayAttr:$flop, ArrayAttr:$bytes);
  let assemblyFormat = "$sym_name $title `flop` $flop `bytes` $bytes attr-dict";
  let hasVerifier = 1;
}

def Attn_BarrierOp : AttnKernelOp<"barrier", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "all threads of the team pass together, after a kernel";
  let arguments = (ins AnyMemRef:$call, Index:$thread, OptionalAttr<FlatSymbolRefAttr>:$cost);
  let assemblyFormat = "$call `,` $thread (`after` $cost^)? attr-dict `:` type($call)";
  let hasVerifier = 1;
}

def Attn_ClaimOp : AttnKernelOp<"claim"> {
  let summary = "the next pieces [from, to) of a kernel that the thread is to compute; none where all are taken";
  let description = [{
    A kernel is so many pieces for each thread (ATTN_PIECES in abi.h), first those of thread 0. A thread takes its own, then some of the others' that
    have not come to them, `least` at a time where so many are left. All threads claim until there are none, once between two barriers.
  }];
  let arguments = (ins AnyMemRef:$call, Index:$thread, Index:$least);
  let results = (outs Index:$from, Index:$to);
  let assemblyFormat = "$least `of` $call `,` $thread attr-dict `:` type($call)";
}

//===-- kernels -------------------------------------------------------------------------------------------------===//

/// A kernel on rows: its tile is one row of its operands.
class AttnRowKernelOp<string mnemonic, list<string> more = [], list<Trait> traits = []>
    : AttnKernelOp<mnemonic, [DeclareOpInterfaceMethods<RowKernelOpInterface, more>] # traits>;

def Attn_LinearKernelOp : AttnKernelOp<"linear_kernel", [KernelOpInterface, AttrSizedOperandSegments]> {
  let summary = "out[rows, n] = epilogue(sum_k input[rows, k] * panels[n / width][k][n % width] + bias[n], captures[rows, n]...)";
  let description = [{
    `out` overlaps no other operand, since parts of long sums are kept in it; but with `in_place` it may be one of the captures. `precision` says what
    panels are stored in; tf32 are panels of f32 whose products are rounded to it. In int8, the input's rows are int8, too (attn.quantize_kernel), and
    `quantization` is their [rows..., 2] with scale and zero, then the scale of each column and the sum of its weights, both with the panels' padding:
    the sum over k is rowScale * columnScale * sum_k (input - zero) * weight. In int4, two numbers are in a byte, and instead of scales there are lines
    in f16 of 32 along k, [columns / 48][k / 32][2][48]: the scale and 16 times the offset, weight = scale * (number + offset); the sums of weights are
    f32, and behind these are scales and sums as of int8, of the bytes that many rows may be multiplied with (abi.h). Other formats of groups have the same
    without offsets, and maybe of numbers that are bytes. For offsets, rows have the sums of each 32 of their bytes behind scale and zero, except on GPUs. With panels of bf16, `rounded` may be the same rows in bf16
    (attn.round_kernel), for machines that multiply these; where all machines do, `input` may be in bf16 itself. Bytes and rounded rows have room for 15 rows more behind the last. `scratch` [threads, floats]
    has a row for every thread: machines that multiply f32 only keep there the part of a panel of 16 bits that many rows are multiplied with, those with tile
    registers the sums of 32 rows, and behind the threads' rows, where k comes in parts (TargetModel), sums of a group of 256 for all panels.
  }];
  let arguments = (ins MemRefOf<[F32, BF16, F16, I8, I16]>:$input, Attn_PanelBuffer:$panels, Variadic<MemRefOf<[F32, I32, F16]>>:$quantization,
                       Optional<MemRefOf<[I16]>>:$rounded, Arg<Optional<MemRefRankOf<[F32], [2]>>, "", [MemWrite]>:$scratch, Optional<Attn_Buffer>:$bias,
                       Variadic<Attn_Buffer>:$captures, Arg<Attn_FactorBuffer, "", [MemWrite]>:$out, I64Attr:$contract,
                       DefaultValuedAttr<Attn_PrecisionAttr, "::attn::Precision::F32">:$precision, UnitAttr:$in_place);
  let regions = (region MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    $input `,` $panels (`quantized` `(` $quantization^ `)`)? (`rounded` $rounded^)? (`scratch` $scratch^)? (`bias` $bias^)?
    (`captures` `(` $captures^ `)`)? `into` $out `contract` $contract (`in` $precision^)? (`in_place` $in_place^)? attr-dict `:`
    type($input) `,` type($panels) (`quantized` `(` type($quantization)^ `)`)? (`rounded` type($rounded)^)? (`scratch` type($scratch)^)? (`bias` type($bias)^)? (`captures` `(` type($captures)^ `)`)? `into` type($out)
    ($epilogue^)?
  }];
  let hasVerifier = 1;
}

def Attn_QuantizeKernelOp : AttnRowKernelOp<"quantize_kernel", ["getRows"]> {
  let summary = "rows as unsigned bytes: out[r, j] = clamp(round(input[r, j] / scale) + zero, 0, 255)";
  let description = [{
    `range` [rows..., 2] gets scale and zero of each row: scale = (max - min) / 255 and zero = round(-min / scale), where min and max are those of
    the row and 0 (ONNX DynamicQuantizeLinear, row by row). Halves round to even. If it has more columns, those behind get the sums of each 32 bytes, as
    signed or unsigned as the machine's bytes are. `input` of i16 is the bits of bf16. `out` has padding, whole vectors at the end of each row.
  }];
  let arguments = (ins Attn_FactorBuffer:$input, Arg<MemRefOf<[I8]>, "", [MemWrite]>:$out, Arg<Attn_Buffer, "", [MemWrite]>:$range);
  let assemblyFormat = "$input `into` $out `range` $range attr-dict `:` type($input) `,` type($out) `,` type($range)";
  let hasVerifier = 1;
}

def Attn_RoundKernelOp : AttnRowKernelOp<"round_kernel", ["getRows"]> {
  let summary = "rows in bf16, zeros behind each; nothing at all for machines that multiply f32 only";
  let arguments = (ins Attn_Buffer:$input, Arg<MemRefOf<[I16, BF16]>, "", [MemWrite]>:$out);
  let assemblyFormat = "$input `into` $out attr-dict `:` type($input) `,` type($out)";
  let hasVerifier = 1;
}

def Attn_NormKernelOp : AttnRowKernelOp<"norm_kernel", [], [AttrSizedOperandSegments]> {
  let summary = "norm of every row (#attn.norm)";
  let arguments = (ins Attn_Buffer:$input, Optional<Attn_Buffer>:$weight, Optional<Attn_Buffer>:$bias, Arg<Attn_FactorBuffer, "", [MemWrite]>:$out, Attn_NormAttr:$norm);
  let assemblyFormat = [{
    $input (`weight` $weight^)? (`bias` $bias^)? `into` $out $norm attr-dict `:` type($input) (`weight` type($weight)^)? (`bias` type($bias)^)? `into` type($out)
  }];
  let hasVerifier = 1;
}

def Attn_NormBytesKernelOp : AttnRowKernelOp<"norm_bytes_kernel", ["getRows"], [AttrSizedOperandSegments]> {
  let summary = "norm of every row (attn.norm_kernel), then bytes of it (attn.quantize_kernel)";
  let description = [{ `scratch` [threads, columns or more] has room for a normed row for every thread; of i16 it is the bits of bf16. }];
  let arguments = (ins Attn_Buffer:$input, Optional<Attn_Buffer>:$weight, Optional<Attn_Buffer>:$bias, Arg<Attn_FactorBuffer, "", [MemWrite]>:$scratch, Arg<MemRefOf<[I8]>, "", [MemWrite]>:$out, Arg<Attn_Buffer, "", [MemWrite]>:$range, Attn_NormAttr:$norm);
  let assemblyFormat = [{
    $input (`weight` $weight^)? (`bias` $bias^)? `scratch` $scratch `into` $out `range` $range $norm attr-dict `:`
    type($input) (`weight` type($weight)^)? (`bias` type($bias)^)? `scratch` type($scratch) `into` type($out) `,` type($range)
  }];
  let hasVerifier = 1;
}

def Attn_MapKernelOp : AttnKernelOp<"map_kernel", [KernelOpInterface]> {
  let summary = "out = a scalar function of elements";
  let arguments = (ins Variadic<Attn_AnyBuffer>:$inputs, Arg<Attn_AnyBuffer, "", [MemWrite]>:$out);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` `into` $out attr-dict `:` `(` type($inputs) `)` `,` type($out) $body";
  let hasVerifier = 1;
}

def Attn_ReduceKernelOp : AttnKernelOp<"reduce_kernel", [KernelOpInterface]> {
  let summary = "out[rows, n] = sum, mean, ... over s of body(input[rows, s, n]...)";
  let description = [{
    Inputs are [rows..., s..., columns], with `reduced` dims of s; without a body there is one. `across`: the columns are the last dim of s, and the
    output is [rows..., 1].
  }];
  let arguments = (ins Variadic<Attn_Buffer>:$inputs, Arg<MemRefOf<[F32, I32]>, "", [MemWrite]>:$out, Attn_ReductionAttr:$kind, I64Attr:$reduced, UnitAttr:$across);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind `(` $inputs `)` `into` $out `reduced` $reduced (`across` $across^)? attr-dict `:` `(` type($inputs) `)` `,` type($out) ($body^)?
  }];
  let hasVerifier = 1;
}

def Attn_SoftmaxKernelOp : AttnRowKernelOp<"softmax_kernel"> {
  let summary = "softmax of every row; zeros where all elements are -inf";
  let arguments = (ins Attn_Buffer:$input, Arg<Attn_Buffer, "", [MemWrite]>:$out);
  let assemblyFormat = "$input `into` $out attr-dict `:` type($input) `,` type($out)";
  let hasVerifier = 1;
}

def Attn_LookupKernelOp : AttnKernelOp<"lookup_kernel", [KernelOpInterface]> {
  let summary = "out[rows, n] = table[indices[rows], n], or table[rows, indices[rows], n]";
  let description = "A table of 16 bits (i16: the bits of bf16) may have an output of f32.";
  let arguments = (ins Attn_AnyBuffer:$table, Attn_IndexBuffer:$indices, Arg<Attn_AnyBuffer, "", [MemWrite]>:$out);
  let assemblyFormat = "$table `[` $indices `]` `into` $out attr-dict `:` type($table) `,` type($indices) `,` type($out)";
  let hasVerifier = 1;
}

def Attn_RotaryKernelOp : AttnRowKernelOp<"rotary_kernel", ["detail"]> {
  let summary = "the first pairs of columns turned by angles, cos and sin [rows, pairs]; the other columns are copied";
  let arguments = (ins Attn_Buffer:$input, Attn_Buffer:$cos, Attn_Buffer:$sin, Arg<Attn_FactorBuffer, "", [MemWrite]>:$out, UnitAttr:$interleaved);
  let assemblyFormat = [{
    $input `by` $cos `,` $sin `into` $out (`interleaved` $interleaved^)? attr-dict `:` type($input) `,` type($cos) `,` type($sin) `,` type($out)
  }];
  let hasVerifier = 1;
}

def Attn_AttentionKernelOp : AttnKernelOp<"attention_kernel", [KernelOpInterface, AttrSizedOperandSegments]> {
  let summary = "attention over query [batch..., M, E], key [batch..., S, E], value [batch..., S, EV]";
  let description = [{
    `scratch` [threads, floats] has a row for every thread: its tile of scores and what goes with it. With `partials` [heads, parts, floats], `out` is left alone: the
    keys of a head are divided into parts, each of which has its sums there, for attn.combine_kernel. Regions are those of attn.attention, with
    positions (batch..., m, s) and captures as buffers. `further` are lse [batch..., M], weights and scores [batch..., M, S]. `lowering` is one that
    was asked for (compiler/transforms/AttentionShape.h). `rounds`: the type of 16 bits that queries, keys, values and weights may be rounded to,
    where pairs of it are multiplied fast.
  }];
  let arguments = (ins Attn_FactorBuffer:$query, Attn_FactorBuffer:$key, Attn_FactorBuffer:$value, Variadic<AnyMemRef>:$captures, Arg<Attn_FactorBuffer, "", [MemWrite]>:$out,
                       Arg<Variadic<Attn_Buffer>, "", [MemWrite]>:$further, Arg<Attn_Buffer, "", [MemWrite]>:$scratch, Arg<Optional<Attn_Buffer>, "", [MemWrite]>:$partials, I64Attr:$batch,
                       DefaultValuedAttr<Attn_NormaliserAttr, "::attn::Normaliser::Softmax">:$normaliser,
                       OptionalAttr<Attn_ReturnedArrayAttr>:$returned, OptionalAttr<Attn_AttentionLoweringAttr>:$lowering, OptionalAttr<TypeAttr>:$rounds);
  let regions = (region SizedRegion<1>:$score, MaxSizedRegion<1>:$bias, MaxSizedRegion<1>:$cap, MaxSizedRegion<1>:$mask,
                        MaxSizedRegion<1>:$sink);
  let assemblyFormat = [{
    $query `over` $key `,` $value (`captures` `(` $captures^ `)`)? `into` $out (`returning` `(` $further^ `)`)? `scratch` $scratch (`partials` $partials^)? `batch` $batch attr-dict `:`
    type($query) `,` type($key) `,` type($value) (`captures` `(` type($captures)^ `)`)? `into` type($out) (`returning` `(` type($further)^ `)`)? `,` type($scratch) (`partials` type($partials)^)?
    `score` $score (`bias` $bias^)? (`cap` $cap^)? (`mask` $mask^)? (`sink` $sink^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The kinds of the further results, in their order.
    llvm::SmallVector<::attn::Returned> returnedKinds();
    /// The buffer of a further result; null where it is not returned.
    ::mlir::Value furtherOf(::attn::Returned kind);
  }];
}

def Attn_CombineKernelOp : AttnKernelOp<"combine_kernel", [KernelOpInterface]> {
  let summary = "the output of an attention [batch..., M, EV] whose keys were divided";
  let description = [{ `partials` [heads, parts, floats]: compiler/transforms/FewQueries.h says what a part holds. }];
  let arguments = (ins Attn_Buffer:$partials, Arg<Attn_Buffer, "", [MemWrite]>:$out);
  let assemblyFormat = "$partials `into` $out attr-dict `:` type($partials) `,` type($out)";
  let hasVerifier = 1;
}

//===-- GPUs ----------------------------------------------------------------------------------------------------===//

def Attn_LaunchOp : AttnKernelOp<"launch"> {
  let summary = "runs a kernel on the GPU, after what was launched before it";
  let description = [{
    `kernel` is a gpu.func, number `number` of its module; pointers are those of the device. Its blocks divide the work by their own number and
    count, so that any number of blocks computes the same bits. Operands past the function's own arguments describe the tensors that it copies
    boxes of, each by its pointer, its sizes in elements and its strides in bytes, but for the first (attn_abi_tensor_map).
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<AnyTypeOf<[AnyMemRef, Index]>>:$operands, I64Attr:$number);
  let assemblyFormat = "$kernel `(` $operands `)` `number` $number attr-dict `:` `(` type($operands) `)`";
}

#endif // ATTN_KERNEL_OPS_TD
