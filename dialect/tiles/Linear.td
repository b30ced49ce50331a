// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of linear kernels.
#ifndef ATTN_LINEAR_TILES_TD
#define ATTN_LINEAR_TILES_TD

include "dialect/AttnKernelOps.td"

def Attn_LinearTileOp : AttnKernelOp<"linear_tile", [AttrSizedOperandSegments]> {
  let summary = "`rows` x `columns` elements of a linear kernel, from [row, column] on, held in registers while k runs";
  let description = [{
    The buffers are those of the whole kernel; `row` counts over all its row dims. Columns lie within one panel; those past the last one of `out`
    are not stored. Of the outermost contracted dim, steps [start, start + depth) are summed, of one element each (of as many of the innermost
    dim as lie side by side in a panel: 2 of 16 bits, 4 of bytes, 8 of half bytes): a tile that does not begin with the first one
    adds to what `out` holds, one that does not end with the last one leaves its sums there, without bias and epilogue.
    An input of i16 are the bits of bf16.
    An iteration of the loop over the innermost contracted dim takes `unroll` steps, where it is given.
    With `widened`, the tile's part of its panel is there in f32 (attn.widen_tile), or of half bytes as int8 (attn.widen_bytes_tile), whose scales and sums
    `quantization` has then, or as bytes with the scales of their groups (attn.widen_numbers_tile), and `panels` are only fetched from.
    While a step of k is computed, `pace` elements of `panels` are fetched ahead of their time, from element `ahead` on: into the
    second-level cache, or where they are `near` in time, into the first.
  }];
  let arguments = (ins MemRefOf<[F32, I8, I16]>:$input, Attn_PanelBuffer:$panels, Variadic<MemRefOf<[F32, I32, F16]>>:$quantization,
                       Optional<MemRefRankOf<[F32], [1]>>:$widened, Optional<Attn_Buffer>:$bias, Variadic<Attn_Buffer>:$captures,
                       Attn_FactorBuffer:$out, Index:$row, Index:$column, Index:$start, Optional<Index>:$ahead, I64Attr:$rows, I64Attr:$columns,
                       I64Attr:$depth, I64Attr:$contract,
                       DefaultValuedAttr<Attn_PrecisionAttr, "::attn::Precision::F32">:$precision, I64Attr:$pace, UnitAttr:$near,
                       OptionalAttr<I64Attr>:$unroll);
  let regions = (region MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    $input `,` $panels (`quantized` `(` $quantization^ `)`)? (`widened` $widened^)? (`bias` $bias^)? (`captures` `(` $captures^ `)`)? `into` $out `at` $row `,` $column `,` $start
    `size` $rows `x` $columns `x` $depth `contract` $contract (`in` $precision^)? (`ahead` $ahead^)? `pace` $pace attr-dict `:`
    type($input) `,` type($panels) (`quantized` `(` type($quantization)^ `)`)? (`widened` type($widened)^)? (`bias` type($bias)^)? (`captures` `(` type($captures)^ `)`)? `into` type($out)
    ($epilogue^)?
  }];
  let hasVerifier = 1;
}

def Attn_WidenTileOp : AttnKernelOp<"widen_tile"> {
  let summary = "`steps` steps of a panel of 16 bits, from element `from` of `panels` on, in f32: [2 * steps][48]";
  let arguments = (ins MemRefRankOf<[I16, F16], [1]>:$panels, MemRefRankOf<[F32], [1]>:$widened, Index:$from, I64Attr:$steps);
  let assemblyFormat = "$panels `into` $widened `at` $from `steps` $steps attr-dict `:` type($panels) `into` type($widened)";
}

def Attn_WidenBytesTileOp : AttnKernelOp<"widen_bytes_tile"> {
  let summary = "`groups` times 32 elements along k of a panel of half bytes, or of int8 in groups, from element `from` of `panels` on, as int8: [8 * groups][48] words of four bytes";
  let description = [{
    The first line is at `line` of `lines`, the scale of the first column at `column` of `scales`; abi.h says which byte a number becomes. With `padded`,
    32 zeros of each column follow.
  }];
  let arguments = (ins MemRefRankOf<[I8], [1]>:$panels, MemRefRankOf<[F16], [1]>:$lines, MemRefRankOf<[F32], [1]>:$scales,
                       MemRefRankOf<[F32], [1]>:$widened, Index:$from, Index:$line, Index:$column, Index:$groups, Attn_PrecisionAttr:$precision, UnitAttr:$padded);
  let assemblyFormat = [{
    $panels `,` $lines `,` $scales `into` $widened `at` $from `,` $line `,` $column `groups` $groups `of` $precision (`padded` $padded^)? attr-dict `:`
    type($panels) `,` type($lines) `,` type($scales) `into` type($widened)
  }];
}

def Attn_WidenNumbersTileOp : AttnKernelOp<"widen_numbers_tile"> {
  let summary = "`groups` times 32 elements along k of a panel of half bytes, from element `from` of `panels` on, as bytes: [8 * groups][width of a panel] words of four";
  let arguments = (ins MemRefRankOf<[I8], [1]>:$panels, MemRefRankOf<[F32], [1]>:$widened, Index:$from, Index:$groups);
  let assemblyFormat = "$panels `into` $widened `at` $from `groups` $groups attr-dict `:` type($panels) `into` type($widened)";
}

/// What the sums that tiles have left become: those of `pending` [4], which holds how many rows these are, the first of them in `sums` [rows][48] and in
/// `out`, and their first column.
class AttnAmxOp<string mnemonic> : AttnKernelOp<mnemonic, [AttrSizedOperandSegments]> {
  dag finished = (ins Variadic<MemRefOf<[F32, I32]>>:$quantization, Optional<Attn_Buffer>:$bias, Variadic<Attn_Buffer>:$captures,
                      Attn_FactorBuffer:$out, MemRefRankOf<[F32], [1]>:$sums, MemRefOf<[Index]>:$pending);
  let regions = (region MaxSizedRegion<1>:$epilogue);
}

def Attn_LinearAmxTileOp : AttnAmxOp<"linear_amx_tile"> {
  let summary = "sums of 16 * `tiles` rows and a panel's 48 columns over 64-byte steps [from, to) of k, in tile registers";
  let description = [{
    `input` are bytes or bf16, of which 16 * `tiles` rows from `row` on are read; their products are added to rows of `sums` from `place` on, or to zeros if `from`
    is 0. Meanwhile pending rows become those of `out`, as by attn.linear_tile, `pace` of them with a step. When it is done, none of these is left, and `count` of
    its own rows are pending if `to` is the last step. With `widened`, the part [from, to) of the panel is there, and `panels` are only fetched from. With each step, `each` cache lines of each of `streams` of `panels`,
    which begin at element `ahead` and lie `apart`, come ahead of their time. k has `all` steps.
  }];
  let arguments = !con((ins MemRefRankOf<[I8, I16], [2]>:$input, MemRefOf<[I8, I16]>:$panels, Optional<MemRefRankOf<[F32], [1]>>:$widened), finished,
                       (ins Index:$row, Index:$count, Index:$column, Index:$place, Index:$from, Index:$to, Index:$ahead, Index:$each, I64Attr:$tiles,
                        I64Attr:$pace, I64Attr:$streams, I64Attr:$apart, I64Attr:$all));
  let assemblyFormat = [{
    $input `,` $panels (`widened` $widened^)? (`quantized` `(` $quantization^ `)`)? (`bias` $bias^)? (`captures` `(` $captures^ `)`)? `into` $out `by` $sums `,` $pending
    `at` $row `,` $column `in` $place `rows` $count `of` $tiles `steps` $from `to` $to `pace` $pace `ahead` $ahead `fetched` $each `x` $streams `apart` $apart `all` $all attr-dict `:`
    type($input) `,` type($panels) (`widened` type($widened)^)? (`quantized` `(` type($quantization)^ `)`)? (`bias` type($bias)^)? (`captures` `(` type($captures)^ `)`)? `into` type($out)
    `by` type($sums) `,` type($pending) ($epilogue^)?
  }];
}

def Attn_LinearAmxFinishOp : AttnAmxOp<"linear_amx_finish"> {
  let summary = "pending rows become those of `out`, as with a tile";
  let arguments = finished;
  let assemblyFormat = [{
    (`quantized` `(` $quantization^ `)`)? (`bias` $bias^)? (`captures` `(` $captures^ `)`)? `into` $out `by` $sums `,` $pending attr-dict `:`
    (`quantized` `(` type($quantization)^ `)`)? (`bias` type($bias)^)? (`captures` `(` type($captures)^ `)`)? `into` type($out) `by` type($sums) `,` type($pending)
    ($epilogue^)?
  }];
}

#endif // ATTN_LINEAR_TILES_TD
