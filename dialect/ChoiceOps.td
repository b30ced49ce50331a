// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops that choose: the largest elements of an axis. Constraints as of AttnOps.td.
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

//===-- kernels -------------------------------------------------------------------------------------------------===//

def Attn_TopkKernelOp : AttnRowKernelOp<"topk_kernel"> {
  let summary = "out[r, j] = the place of the j-th largest element of row r (attn.topk)";
  let arguments = (ins Attn_Buffer:$input, Arg<MemRefOf<[I32]>, "", [MemWrite]>:$out);
  let assemblyFormat = "$input `into` $out attr-dict `:` type($input) `,` type($out)";
  let hasVerifier = 1;
}

def Attn_TopkRowOp : AttnRowOp<"topk_row"> {
  let summary = "the places of a row's largest elements (attn.topk)";
  let arguments = (ins Attn_Row:$input, MemRefRankOf<[I32], [1]>:$out);
  let assemblyFormat = "$input `into` $out attr-dict `:` type($input) `,` type($out)";
}

#endif // ATTN_CHOICE_OPS_TD
