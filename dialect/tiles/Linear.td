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
    are not stored. Of the outermost contracted dim, elements [start, start + depth) are summed: a tile that does not begin with the first one
    adds to what `out` holds, one that does not end with the last one leaves its sums there, without bias and epilogue.
    While a step of k is computed, `pace` elements of `panels` are fetched ahead of their time, from element `ahead` on.
  }];
  let arguments = (ins Attn_Buffer:$input, Attn_Buffer:$panels, Optional<Attn_Buffer>:$bias, Variadic<Attn_Buffer>:$captures,
                       Attn_Buffer:$out, Index:$row, Index:$column, Index:$start, Optional<Index>:$ahead, I64Attr:$rows, I64Attr:$columns,
                       I64Attr:$depth, I64Attr:$contract, I64Attr:$pace);
  let regions = (region MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    $input `,` $panels (`bias` $bias^)? (`captures` `(` $captures^ `)`)? `into` $out `at` $row `,` $column `,` $start
    `size` $rows `x` $columns `x` $depth `contract` $contract (`ahead` $ahead^)? `pace` $pace attr-dict `:`
    type($input) `,` type($panels) (`bias` type($bias)^)? (`captures` `(` type($captures)^ `)`)? `into` type($out)
    ($epilogue^)?
  }];
  let hasVerifier = 1;
}

#endif // ATTN_LINEAR_TILES_TD
