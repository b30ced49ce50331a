// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of attention kernels. Queries are the lanes of vectors: a block of queries is transposed, [feature][query], its scores are a strip
// [key][query], and statistics [4][query] hold per query the running maximum, the sum of weights, the factor of the last rescaling, and the maximum
// before it. Scores are in base 2: a weight is exp2(score - maximum).
//
// `pairs`: where products are of pairs of bf16, a word, which has the place of an f32, holds two neighbours along what is summed over, the first one in its
// lower half: blocks are [features / 2][query], rounded keys [key][features / 2], weights [keys / 2][query], turned values [feature][keys / 2]. Sums are
// [feature][query] then. Behind the last pair, words up to a multiple of 16 hold zeros.
#ifndef ATTN_ATTENTION_TILES_TD
#define ATTN_ATTENTION_TILES_TD

include "dialect/AttnKernelOps.td"

def Attn_RangeTileOp : AttnKernelOp<"range_tile", [AttrSizedOperandSegments]> {
  let summary = "the least and the greatest element of a box of a tensor, [from, to] along each axis";
  let description = [{
    What of the box lies outside of the tensor is left out. Elements are as attn.element reads them; of truth values, `least` is whether all hold,
    `greatest` whether one does. Both are NaN if an element is.
  }];
  let arguments = (ins AnyMemRef:$tensor, Variadic<Index>:$from, Variadic<Index>:$to);
  let results = (outs AnyType:$least, AnyType:$greatest);
  let assemblyFormat = "$tensor `[` $from `]` `to` `[` $to `]` attr-dict `:` type($tensor) `->` type($least) `,` type($greatest)";
}

def Attn_QueryTileOp : AttnKernelOp<"query_tile"> {
  let summary = "block[e][lane + i] = scale * query[min(row + i, rows - 1)][e], i < queries";
  let arguments = (ins Attn_FactorBuffer:$query, Index:$row, Attn_Buffer:$block, Index:$lane, I64Attr:$queries, F32Attr:$scale, UnitAttr:$pairs);
  let assemblyFormat = [{
    $query `[` $row `]` `into` $block `[` $lane `]` `queries` $queries `scale` $scale (`pairs` $pairs^)? attr-dict `:` type($query) `,` type($block)
  }];
  let hasVerifier = 1;
}

def Attn_ResetTileOp : AttnKernelOp<"reset_tile"> {
  let summary = "statistics of no keys: maxima the lowest of all floats, sums 0, factors 1; of the sink alone where there is one";
  let description = [{
    `sink` maps positions (of the batch dims, of the query) to a score in natural units. `positions` are those of the batch dims, of the first query,
    and of the last one: lanes beyond repeat it.
  }];
  let arguments = (ins Attn_Buffer:$statistics, Index:$lane, Variadic<Index>:$positions, I64Attr:$queries);
  let regions = (region MaxSizedRegion<1>:$sink);
  let assemblyFormat = [{
    $statistics `[` $lane `]` `queries` $queries (`at` `(` $positions^ `)`)? attr-dict `:` type($statistics) (`sink` $sink^)?
  }];
  let hasVerifier = 1;
}

def Attn_ScoreTileOp : AttnKernelOp<"score_tile", [AttrSizedOperandSegments]> {
  let summary = "strip[row + j][lane + i] = score(sum_e block[e][lane + i] * key[row + j][e]), j < keys, i < queries, and their maxima";
  let description = [{
    `combine` (query, key, vectors...: elements at e) takes the place of the product; `vectors` have an element for each e. The result of `score` is
    multiplied by `factor`. Where it is absent, the block holds queries times all factors already.
    `positions` are further arguments of `score`: of the batch dims, of the block's first query, of its last one, of the first key; it gets those of the
    batch dims, of the query, lanes beyond the last repeating it, and of the key. `repeats`: rows beyond the key's last repeat it. `summed`: the strip holds
    the sums already.
    `weighs`: while products are computed, the scores of so many keys above the row, if there are keys above, become weights as by `softmax_tile more`.
    Where a maximum then grows by more than 8, weights above, sums and factors are multiplied by exp2(maximum before - maximum); else it stays.
  }];
  let arguments = (ins Attn_Buffer:$block, Attn_Buffer:$key, Attn_Buffer:$strip, Attn_Buffer:$statistics, Index:$row, Index:$lane,
                       Variadic<Attn_Buffer>:$vectors, Variadic<Index>:$positions, I64Attr:$keys, I64Attr:$queries, UnitAttr:$repeats,
                       UnitAttr:$summed, DefaultValuedAttr<I64Attr, "0">:$weighs, DefaultValuedAttr<F32Attr, "1.0f">:$factor);
  let regions = (region MaxSizedRegion<1>:$combine, MaxSizedRegion<1>:$score);
  let assemblyFormat = [{
    $block `,` $key `into` $strip `[` $row `,` $lane `]` `maximum` $statistics `keys` $keys `queries` $queries (`repeats` $repeats^)? (`summed` $summed^)? (`weighs` $weighs^)?
    (`vectors` `(` $vectors^ `)`)?
    (`at` `(` $positions^ `)`)? attr-dict `:` type($block) `,` type($key) `,` type($strip) `,` type($statistics) (`vectors` `(` type($vectors)^ `)`)?
    (`combine` $combine^)? (`score` $score^)?
  }];
  let hasVerifier = 1;
}

def Attn_SoftmaxTileOp : AttnKernelOp<"softmax_tile"> {
  let summary = "weights = exp2(strip - maximum), in place where both are one, and the sums";
  let description = [{
    `online`: the sums of earlier tiles and what was made of their weights are to be multiplied by factor = exp2(maximum before - maximum); a maximum that
    grew by 8 or less stays what it was before, with factor 1, so that weights are 256 at most. Where all scores are -inf, weights and factor are 0.
    `more`: maxima are what they are to be, and weights are added to the sums.
    `hard`: the first of the largest scores gets weight 1, all others 0. With `pairs`, words of two keys are the weights, which the first half of the strip may
    hold; sums are of those before they are rounded.
  }];
  let arguments = (ins Attn_Buffer:$strip, Attn_Buffer:$weights, Attn_Buffer:$statistics, Index:$lane, Index:$keys, I64Attr:$queries, UnitAttr:$online,
                       UnitAttr:$more, UnitAttr:$hard, UnitAttr:$pairs);
  let assemblyFormat = [{
    $strip `[` $lane `]` `into` $weights `,` $statistics `keys` $keys `queries` $queries (`online` $online^)? (`more` $more^)? (`hard` $hard^)? (`pairs` $pairs^)?
    attr-dict `:` type($strip) `,` type($weights) `,` type($statistics)
  }];
  let hasVerifier = 1;
}

def Attn_StoreTileOp : AttnKernelOp<"store_tile"> {
  let summary = "out[i][column + j] = strip[j][i], j < keys, i < rows of out: a tile of scores or weights, returned";
  let arguments = (ins Attn_Buffer:$strip, Attn_Buffer:$out, Index:$column, Index:$keys);
  let assemblyFormat = "$strip `into` $out `[` $column `]` `keys` $keys attr-dict `:` type($strip) `,` type($out)";
  let hasVerifier = 1;
}

def Attn_WeightRowsOp : AttnKernelOp<"weight_rows"> {
  let summary = "rows[i] = exp2(rows[i] - maximum) / sum: scores in base 2 become weights, once their statistics are known";
  let description = [{ Where the sum is 0, weights are 0. `hard`: the first of the largest scores gets weight 1, all others 0. }];
  let arguments = (ins Attn_Buffer:$rows, Attn_Buffer:$statistics, UnitAttr:$hard);
  let assemblyFormat = "$rows `,` $statistics (`hard` $hard^)? attr-dict `:` type($rows) `,` type($statistics)";
  let hasVerifier = 1;
}

def Attn_LseTileOp : AttnKernelOp<"lse_tile"> {
  let summary = "out[i] = log(sum over keys of exp(score)), i < rows of out; -inf for a query without a live key";
  let description = [{ `out` has one axis. The statistics' third row is used up. }];
  let arguments = (ins Attn_Buffer:$statistics, Attn_Buffer:$out, I64Attr:$queries);
  let assemblyFormat = "$statistics `into` $out `queries` $queries attr-dict `:` type($statistics) `,` type($out)";
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
  let summary = "sums[row + i][column + d] = sum over keys j of strip[j][row + i] * value[j][column + d], i < rows, d < columns";
  let description = [{
    `accumulate`: to what `sums` hold. Over no keys, it sets `sums` to 0. `selects`: a value of weight 0 adds nothing, not even 0 * inf. A row of `sums`
    has room for whole vectors.
  }];
  let arguments = (ins Attn_Buffer:$strip, Attn_Buffer:$value, Attn_Buffer:$sums, Index:$row, Index:$column, Index:$keys, I64Attr:$rows, I64Attr:$columns,
                       UnitAttr:$accumulate, UnitAttr:$selects);
  let assemblyFormat = [{
    $strip `,` $value `into` $sums `[` $row `,` $column `]` `keys` $keys `rows` $rows `columns` $columns
    (`accumulate` $accumulate^)? (`selects` $selects^)? attr-dict `:` type($strip) `,` type($value) `,` type($sums)
  }];
  let hasVerifier = 1;
}

def Attn_OutputTileOp : AttnKernelOp<"output_tile"> {
  let summary = "out[i][d] = sums[i][d], i < rows of out, d < its columns";
  let description = [{
    `normalise`: divided by the query's sum of weights, 0 where that is 0. `turned`: of sums [feature][query], for up to `turned` queries.
  }];
  let arguments = (ins Attn_Buffer:$sums, Attn_Buffer:$statistics, Attn_FactorBuffer:$out, UnitAttr:$normalise, OptionalAttr<I64Attr>:$turned);
  let assemblyFormat = [{
    $sums `,` $statistics `into` $out (`normalise` $normalise^)? (`turned` $turned^)? attr-dict `:` type($sums) `,` type($statistics) `,` type($out)
  }];
  let hasVerifier = 1;
}

def Attn_RoundKeysTileOp : AttnKernelOp<"round_keys_tile"> {
  let summary = "rounded[j] = pairs of the features of key[j], j < keys";
  let arguments = (ins Attn_FactorBuffer:$key, Attn_Buffer:$rounded, Index:$keys);
  let assemblyFormat = "$key `into` $rounded `keys` $keys attr-dict `:` type($key) `,` type($rounded)";
  let hasVerifier = 1;
}

def Attn_TurnValuesTileOp : AttnKernelOp<"turn_values_tile"> {
  let summary = "turned[d][j] = pair of value[2 j][d] and value[2 j + 1][d], 2 j < keys";
  let description = [{ `areFinite`: whether all of them are, once rounded. }];
  let arguments = (ins Attn_FactorBuffer:$value, Attn_Buffer:$turned, Index:$keys);
  let results = (outs I1:$areFinite);
  let assemblyFormat = "$value `into` $turned `keys` $keys attr-dict `:` type($value) `,` type($turned)";
  let hasVerifier = 1;
}

def Attn_PairTileOp : AttnKernelOp<"pair_tile"> {
  let summary = "sums[row + i][lane + l] = sum over words from <= w < to of a[row + i][w] * b[w][lane + l], both pairs of bf16, i < rows, l < queries";
  let description = [{
    `accumulate`: to what `sums` hold. `selects`: a pair's half of `b` that is 0 adds nothing, not even 0 * inf. In tile registers, `from` is a
    multiple of 16, and words up to one are read.
  }];
  let arguments = (ins Attn_Buffer:$a, Attn_Buffer:$b, Attn_Buffer:$sums, Index:$row, Index:$lane, Index:$from, Index:$to, I64Attr:$rows, I64Attr:$queries,
                       UnitAttr:$accumulate, UnitAttr:$selects);
  let assemblyFormat = [{
    $a `,` $b `into` $sums `[` $row `,` $lane `]` `words` $from `to` $to `rows` $rows `queries` $queries (`accumulate` $accumulate^)? (`selects` $selects^)?
    attr-dict `:` type($a) `,` type($b) `,` type($sums)
  }];
  let hasVerifier = 1;
}

def Attn_FactorTileOp : AttnKernelOp<"factor_tile"> {
  let summary = "whether the factor of one of the queries is not 1";
  let arguments = (ins Attn_Buffer:$statistics, I64Attr:$queries);
  let results = (outs I1:$isOther);
  let assemblyFormat = "$statistics `queries` $queries attr-dict `:` type($statistics)";
  let hasVerifier = 1;
}

def Attn_RescaleTileOp : AttnKernelOp<"rescale_tile"> {
  let summary = "sums[i] *= the query's factor, i < queries, and factors are 1 from then on";
  let description = [{ `turned`: sums are [feature][query]. }];
  let arguments = (ins Attn_Buffer:$sums, Attn_Buffer:$statistics, I64Attr:$queries, UnitAttr:$turned);
  let assemblyFormat = "$sums `,` $statistics `queries` $queries (`turned` $turned^)? attr-dict `:` type($sums) `,` type($statistics)";
  let hasVerifier = 1;
}

#endif // ATTN_ATTENTION_TILES_TD
