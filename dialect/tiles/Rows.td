// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of kernels that work on rows: one row each, or a piece of one.
#ifndef ATTN_ROWS_TILES_TD
#define ATTN_ROWS_TILES_TD

include "dialect/AttnKernelOps.td"

def Attn_Row : MemRefRankOf<[F32, BF16, F16], [1]>;
/// What linears and attentions multiply.
def Attn_FactorRow : MemRefRankOf<[F32, BF16, F16, I16], [1]>;
def Attn_AnyRow : MemRefRankOf<[F32, BF16, F16, I8, I16, I32, I64], [1]>;

class AttnRowOp<string mnemonic, list<Trait> traits = []> : AttnKernelOp<mnemonic, [RowTileOpInterface] # traits>;

def Attn_NormRowOp : AttnRowOp<"norm_row", [AttrSizedOperandSegments]> {
  let summary = "norm of a row (#attn.norm)";
  let arguments = (ins Attn_Row:$input, Optional<Attn_Row>:$weight, Optional<Attn_Row>:$bias, Attn_FactorRow:$out, Attn_NormAttr:$norm);
  let assemblyFormat = [{
    $input (`weight` $weight^)? (`bias` $bias^)? `into` $out $norm attr-dict `:` type($input) (`weight` type($weight)^)? (`bias` type($bias)^)? `into` type($out)
  }];
}

def Attn_QuantizeRowOp : AttnRowOp<"quantize_row"> {
  let summary = "a row as unsigned bytes, and its scale and zero (attn.quantize_kernel)";
  let description = [{ With `alone` no row follows that is read next. }];
  let arguments = (ins Attn_FactorRow:$input, MemRefRankOf<[I8], [1]>:$out, Attn_Row:$range, UnitAttr:$alone);
  let assemblyFormat = "$input `into` $out `range` $range (`alone` $alone^)? attr-dict `:` type($input) `,` type($out) `,` type($range)";
}

def Attn_RoundRowOp : AttnRowOp<"round_row"> {
  let summary = "a row in bf16, zeros behind it (attn.round_kernel)";
  let arguments = (ins Attn_Row:$input, MemRefRankOf<[I16], [1]>:$out);
  let assemblyFormat = "$input `into` $out attr-dict `:` type($input) `,` type($out)";
}

def Attn_MapRowOp : AttnRowOp<"map_row"> {
  let summary = "out[n] = a scalar function of input[n]...";
  let arguments = (ins Variadic<Attn_AnyRow>:$inputs, Attn_AnyRow:$out);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` `into` $out attr-dict `:` `(` type($inputs) `)` `,` type($out) $body";
  let hasVerifier = 1;
}

def Attn_ReduceRowOp : AttnRowOp<"reduce_row"> {
  let summary = "out[n] = sum, mean, ... over s of body(input[s, n]...)";
  let description = [{ Inputs are [s..., columns], or with `across` [s...] for one element of output. }];
  let arguments = (ins Variadic<MemRefOf<[F32, BF16, F16]>>:$inputs, MemRefRankOf<[F32, I32], [1]>:$out, Attn_ReductionAttr:$kind, UnitAttr:$across);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = "$kind `(` $inputs `)` `into` $out (`across` $across^)? attr-dict `:` `(` type($inputs) `)` `,` type($out) ($body^)?";
}

def Attn_SoftmaxRowOp : AttnRowOp<"softmax_row"> {
  let summary = "softmax of a row";
  let arguments = (ins Attn_Row:$input, Attn_Row:$out);
  let assemblyFormat = "$input `into` $out attr-dict `:` type($input) `,` type($out)";
}

def Attn_RotaryRowOp : AttnRowOp<"rotary_row"> {
  let summary = "pairs of a row's columns turned by angles";
  let arguments = (ins Attn_Row:$input, Attn_Row:$cos, Attn_Row:$sin, Attn_FactorRow:$out, UnitAttr:$interleaved);
  let assemblyFormat = [{
    $input `by` $cos `,` $sin `into` $out (`interleaved` $interleaved^)? attr-dict `:` type($input) `,` type($cos) `,` type($sin) `,` type($out)
  }];
}

#endif // ATTN_ROWS_TILES_TD
