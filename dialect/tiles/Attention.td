// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of attention kernels. Queries are the lanes of vectors: a block of queries is transposed, [feature][query], its scores are a strip
// [key][query], and statistics [4][query] hold per query the running maximum, the sum of weights, the factor of the last rescaling, and the maximum
// before it. Scores are in base 2: a weight is exp2(score - maximum).
#ifndef ATTN_ATTENTION_TILES_TD
#define ATTN_ATTENTION_TILES_TD

include "dialect/AttnKernelOps.td"

def Attn_QueryTileOp : AttnKernelOp<"query_tile"> {
  let summary = "block[e][lane + i] = scale * query[min(row + i, rows - 1)][e], i < queries";
  let arguments = (ins Attn_Buffer:$query, Index:$row, Attn_Buffer:$block, Index:$lane, I64Attr:$queries, F32Attr:$scale);
  let assemblyFormat = [{
    $query `[` $row `]` `into` $block `[` $lane `]` `queries` $queries `scale` $scale attr-dict `:` type($query) `,` type($block)
  }];
  let hasVerifier = 1;
}

def Attn_ResetTileOp : AttnKernelOp<"reset_tile"> {
  let summary = "statistics of no keys: maxima -inf, sums 0";
  let arguments = (ins Attn_Buffer:$statistics, Index:$lane, I64Attr:$queries);
  let assemblyFormat = "$statistics `[` $lane `]` `queries` $queries attr-dict `:` type($statistics)";
  let hasVerifier = 1;
}

def Attn_ScoreTileOp : AttnKernelOp<"score_tile"> {
  let summary = "strip[row + j][lane + i] = score(sum_e block[e][lane + i] * key[row + j][e]), j < keys, i < queries, and their maxima";
  let description = [{
    `score` is in natural units and multiplied by log2(e) afterwards. Where it is absent, the block holds queries times all factors already.
    `scaled`: `score` gets products that hold them, too, and its result is not multiplied.
    `positions` are further arguments of it: of the batch dims, of the block's first query, of the first key; the last two count on with i and j.
  }];
  let arguments = (ins Attn_Buffer:$block, Attn_Buffer:$key, Attn_Buffer:$strip, Attn_Buffer:$statistics, Index:$row, Index:$lane,
                       Variadic<Index>:$positions, I64Attr:$keys, I64Attr:$queries, UnitAttr:$scaled);
  let regions = (region MaxSizedRegion<1>:$score);
  let assemblyFormat = [{
    $block `,` $key `into` $strip `[` $row `,` $lane `]` `maximum` $statistics `keys` $keys `queries` $queries (`at` `(` $positions^ `)`)? (`scaled` $scaled^)? attr-dict `:`
    type($block) `,` type($key) `,` type($strip) `,` type($statistics) (`score` $score^)?
  }];
  let hasVerifier = 1;
}

def Attn_SoftmaxTileOp : AttnKernelOp<"softmax_tile"> {
  let summary = "strip = exp2(strip - maximum) in place, and the sums";
  let description = [{
    The sums of earlier tiles and what was made of their weights are to be multiplied by factor = exp2(maximum before - maximum). Where all scores
    are -inf, weights and factor are 0.
  }];
  let arguments = (ins Attn_Buffer:$strip, Attn_Buffer:$statistics, Index:$lane, Index:$keys, I64Attr:$queries, UnitAttr:$online);
  let assemblyFormat = [{
    $strip `[` $lane `]` `,` $statistics `keys` $keys `queries` $queries (`online` $online^)? attr-dict `:` type($strip) `,` type($statistics)
  }];
  let hasVerifier = 1;
}

def Attn_PackTileOp : AttnKernelOp<"pack_tile"> {
  let summary = "packed[j][d] = value[j][d], j < keys: rows that lie far apart brought together, read once for all queries of a block";
  let description = [{ Up to a whole number of vectors, the last one's columns are filled with zeros. }];
  let arguments = (ins Attn_Buffer:$value, Attn_Buffer:$packed, Index:$keys);
  let assemblyFormat = "$value `into` $packed `keys` $keys attr-dict `:` type($value) `,` type($packed)";
  let hasVerifier = 1;
}

def Attn_ValueTileOp : AttnKernelOp<"value_tile"> {
  let summary = "out[row + i][column + d] = sum over keys j of strip[j][row + i] * value[j][column + d], i < rows, d < columns";
  let description = [{
    `accumulate`: to what `out` holds, `rescale`: times the query's factor; `normalise`: in the end divided by the query's sum of weights, 0 where that
    is 0. Over no keys, it sets `out` to 0. `selects`: a value of weight 0 adds nothing, not even 0 * inf.
  }];
  let arguments = (ins Attn_Buffer:$strip, Attn_Buffer:$value, Attn_Buffer:$statistics, Attn_Buffer:$out, Index:$row, Index:$column, Index:$keys,
                       I64Attr:$rows, I64Attr:$columns, UnitAttr:$accumulate, UnitAttr:$rescale,
                       UnitAttr:$normalise, UnitAttr:$selects);
  let assemblyFormat = [{
    $strip `,` $value `into` $out `[` $row `,` $column `]` `sums` $statistics `keys` $keys `rows` $rows `columns` $columns
    (`accumulate` $accumulate^)? (`rescale` $rescale^)? (`normalise` $normalise^)? (`selects` $selects^)? attr-dict `:` type($strip) `,` type($value) `,` type($out) `,` type($statistics)
  }];
  let hasVerifier = 1;
}

#endif // ATTN_ATTENTION_TILES_TD
