// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler asks ops of the later stages, in place of lists of them.
#ifndef ATTN_KERNEL_INTERFACES_TD
#define ATTN_KERNEL_INTERFACES_TD

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::attn";
  let description = [{
    A kernel on buffers, of the `memory` stage: it becomes a function of its own, whose units the workers of a team or a grid divide.
  }];
}

def RowKernelOpInterface : OpInterface<"RowKernelOpInterface", [KernelOpInterface]> {
  let cppNamespace = "::attn";
  let description = [{
    A kernel that computes rows one by one, each by one worker. Its tile is one row of all operands, a RowTileOpInterface.
  }];
  let methods = [
    InterfaceMethod<"What it computes, in a word or two for people: `norm`.", "::std::string", "title">,
    InterfaceMethod<"More of that, behind the sizes: `, halves`.", "::std::string", "detail", (ins), "", "return {};">,
    InterfaceMethod<"The buffer [rows..., columns] whose rows are computed.", "::mlir::Value", "getRows", (ins), "", "return $_op.getOut();">,
    InterfaceMethod<"Creates the tile of a row. `rows.of(buffer)` is that row of an operand, `rows.own(scratch)` the worker's row.",
                    "void", "createRow", (ins "::mlir::OpBuilder &":$builder, "const ::attn::RowOperands &":$rows)>,
  ];
}

def RowTileOpInterface : OpInterface<"RowTileOpInterface"> {
  let cppNamespace = "::attn";
  let description = [{ A row of a kernel on rows, or a piece of it, in the `tiled` stage: memrefs of rank 1. }];
}

#endif // ATTN_KERNEL_INTERFACES_TD
