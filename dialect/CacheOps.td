// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of caches that entries read. Constraints as of AttnOps.td.
#ifndef ATTN_CACHE_OPS_TD
#define ATTN_CACHE_OPS_TD

include "dialect/AttnOps.td"

def Attn_KeptOp : AttnOp<"kept", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "all rows that a cache holds, of an entry that adds none";
  let arguments = (ins FlatSymbolRefAttr:$state, Optional<Index>:$layer);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$state (`[` $layer^ `]`)? attr-dict `:` type($result)";
}

//===-- kernels -------------------------------------------------------------------------------------------------===//

def Attn_CachePlaceOp : AttnKernelOp<"cache_place", [Pure]> {
  let summary = "the place of element `at` of a cache that the running entry takes";
  let arguments = (ins FlatSymbolRefAttr:$cache, Index:$at, AnyMemRef:$call);
  let results = (outs Attn_FactorBuffer:$result);
  let assemblyFormat = "$cache `[` $at `]` `in` $call attr-dict `:` type($call) `->` type($result)";
}

#endif // ATTN_CACHE_OPS_TD
