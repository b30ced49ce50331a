// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops that choose: the largest elements of an axis, experts for rows. Constraints as of AttnOps.td.
#ifndef ATTN_CHOICE_OPS_TD
#define ATTN_CHOICE_OPS_TD

include "dialect/AttnOps.td"

def Attn_TopkOp : AttnComputeOp<"topk", ["workTensor", "flopPerElement"]> {
  let summary = "the places of the largest elements along one axis, the largest first";
  let description = [{
    Of equal elements, the one at the lower place comes first; a NaN counts as -inf, as for the place of the largest (attn.reduce argmax). The result
    has an axis of choices where the input has `axis`.
  }];
  let arguments = (ins Attn_Tensor:$input, I64Attr:$axis);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_RouteOp : AttnOp<"route", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "rows to experts: the weighted sum of what those that a row chooses make of it";
  let description = [{
    `y[t..., o...] = sum over a of weights[t..., a] * f(places[t..., a], x[t...])[o...]`, in the order of a. The body is f: it takes the number of an expert and
    all rows that have chosen it, [rows, d...], computes each of them by itself, and ends with attn.routed of [rows, o...]. How many rows there are is known
    only when running; their axis is named by a size of its own, which no attn.dim declares. An expert that no row has chosen computes nothing; a place
    outside of the experts has no meaning.
  }];
  let arguments = (ins Attn_Tensor:$input, Attn_Tensor:$places, Attn_Tensor:$weights, I64Attr:$experts);
  let results = (outs Attn_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$input `to` $places `by` $weights `of` $experts attr-dict `:` functional-type(operands, results) $body";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// How many axes of the input number rows: those in front of its features.
    int64_t rowAxes();
    /// How many experts a row chooses.
    int64_t choices();
    /// The body's arguments: the number of the expert, and its rows.
    ::mlir::BlockArgument expert() { return getBody().getArgument(0); }
    ::mlir::BlockArgument rows() { return getBody().getArgument(1); }
    /// What the body gives.
    ::mlir::Value routed();
    /// The size that the rows' axis is named by.
    ::llvm::StringRef rowsName();
  }];
}

def Attn_RoutedOp : AttnOp<"routed", [Pure, Terminator, HasParent<"RouteOp">]> {
  let summary = "ends the body of a route: what an expert makes of its rows";
  let arguments = (ins Attn_Tensor:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

//===-- kernels -------------------------------------------------------------------------------------------------===//

def Attn_GroupKernelOp : AttnKernelOp<"group_kernel", [KernelOpInterface]> {
  let summary = "the rows that choose each expert: a stable counting sort";
  let description = [{
    Choice c, counted row-major over `places` [rows..., choices], goes to place `slots[c]` of all choices sorted by expert, those of one expert in their
    order: `tokens[slots[c]]` = c / choices, its row. Expert e has `counts[e]` of them from `firsts[e]` on.
  }];
  let arguments = (ins Attn_IndexBuffer:$places, Arg<MemRefRankOf<[I32], [1]>, "", [MemWrite]>:$firsts, Arg<MemRefRankOf<[I32], [1]>, "", [MemWrite]>:$counts,
                       Arg<MemRefRankOf<[I32], [1]>, "", [MemWrite]>:$tokens, Arg<MemRefRankOf<[I32], [1]>, "", [MemWrite]>:$slots);
  let assemblyFormat = [{
    $places `firsts` $firsts `counts` $counts `tokens` $tokens `slots` $slots attr-dict `:` type($places) `,` type($firsts) `,` type($counts) `,` type($tokens) `,` type($slots)
  }];
  let hasVerifier = 1;
}

def Attn_TopkKernelOp : AttnRowKernelOp<"topk_kernel"> {
  let summary = "out[r, j] = the place of the j-th largest element of row r (attn.topk)";
  let arguments = (ins Attn_Buffer:$input, Arg<MemRefOf<[I32]>, "", [MemWrite]>:$out);
  let assemblyFormat = "$input `into` $out attr-dict `:` type($input) `,` type($out)";
  let hasVerifier = 1;
}

def Attn_RowsOp : AttnKernelOp<"rows", [MemoryEffects<[MemRead]>]> {
  let summary = "a number that a kernel has computed, as a size or a place";
  let description = [{ Where the host of a GPU would need it, it takes `most`, which is no less. }];
  let arguments = (ins MemRefRankOf<[I32], [0]>:$pointer, Index:$most);
  let results = (outs Index:$result);
  let assemblyFormat = "$pointer `most` $most attr-dict `:` type($pointer)";
}

def Attn_TopkRowOp : AttnRowOp<"topk_row"> {
  let summary = "the places of a row's largest elements (attn.topk)";
  let arguments = (ins Attn_Row:$input, MemRefRankOf<[I32], [1]>:$out);
  let assemblyFormat = "$input `into` $out attr-dict `:` type($input) `,` type($out)";
}

#endif // ATTN_CHOICE_OPS_TD
