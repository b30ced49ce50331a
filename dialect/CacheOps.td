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

def Attn_ByRowOp : AttnOp<"by_row", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a function of each row of a call whose rows are by themselves";
  let description = [{
    The positions of all rows lie one behind the other along an axis of size `positions`, in tensors whose axis `batch` has one place. The callee takes
    of such an operand the positions of its row, of one whose axis `batch` is dynamic the row's place along it, and others whole; its results are put
    together in the same way. In the callee, dims are those of the row: `batch` is 1, `positions` what the call adds to it, a cache what it holds. `single`
    is the same for rows of one position.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, OptionalAttr<FlatSymbolRefAttr>:$single, StrAttr:$batch, StrAttr:$positions, Variadic<AnyType>:$operands);
  let results = (outs Variadic<Attn_Tensor>:$values);
  let assemblyFormat = "$callee (`single` $single^)? `(` $operands `)` `of` $batch `,` $positions attr-dict `:` functional-type($operands, $values)";
  let extraClassDeclaration = [{
    /// How the rows of a call share a tensor: each has some of its positions, or a place along `batch`, or all of it.
    enum class Share { Positions, Place, All };
    Share shareOf(::mlir::Type type);
  }];
}

//===-- kernels -------------------------------------------------------------------------------------------------===//

def Attn_CachePlaceOp : AttnKernelOp<"cache_place", [Pure]> {
  let summary = "the place of element `at` of a cache that the running entry takes";
  let arguments = (ins FlatSymbolRefAttr:$cache, Index:$at, AnyMemRef:$call);
  let results = (outs Attn_FactorBuffer:$result);
  let assemblyFormat = "$cache `[` $at `]` `in` $call attr-dict `:` type($call) `->` type($result)";
}

def Attn_RowCountOp : AttnKernelOp<"row_count", [Pure]> {
  let summary = "how many rows a call has that are by themselves";
  let arguments = (ins AnyMemRef:$call);
  let results = (outs Index:$result);
  let assemblyFormat = "$call attr-dict `:` type($call)";
}

def Attn_RowCallOp : AttnKernelOp<"row_call", [Pure]> {
  let summary = "a row of a call as a call of its own (attn_abi_row)";
  let description = [{
    `begin` is where its positions begin among those of all rows, `place` its place among the rows. The thread `owner` computes it alone; all threads do so together
    where that is below 0.
  }];
  let arguments = (ins AnyMemRef:$call, Index:$row);
  let results = (outs AnyMemRef:$own, Index:$begin, Index:$place, Index:$owner);
  let assemblyFormat = "$row `of` $call attr-dict `:` type($call) `->` type($own)";
}

def Attn_RowSizeOp : AttnKernelOp<"row_size", [Pure]> {
  let summary = "a dim of a row";
  let arguments = (ins FlatSymbolRefAttr:$dim, AnyMemRef:$call);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim `of` $call attr-dict `:` type($call)";
}

def Attn_ShiftOp : AttnKernelOp<"shift", [Pure, AllTypesMatch<["pointer", "result"]>]> {
  let summary = "the pointer to what lies some elements behind";
  let arguments = (ins AnyMemRef:$pointer, Index:$elements);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$pointer `by` $elements attr-dict `:` type($pointer)";
}

#endif // ATTN_CACHE_OPS_TD
