// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the memory plan and profiles ask ops on tensors, in place of lists of them.
#ifndef ATTN_COMPUTE_INTERFACES_TD
#define ATTN_COMPUTE_INTERFACES_TD

include "mlir/IR/OpBase.td"

def ComputeOpInterface : OpInterface<"ComputeOpInterface"> {
  let cppNamespace = "::attn";
  let description = [{
    An op on tensors that computes: a kernel writes its results to wherever they shall lie. Costs are those of the kernel alone, without copies of its operands.
  }];
  let methods = [
    InterfaceMethod<"Whether it becomes a kernel; else its result is a view of an operand.", "bool", "becomesKernel", (ins), "", "return true;">,
    InterfaceMethod<[{
      Whether its kernels can write 16 bits (on CPUs those of bf16) where the first result is of f32: what is multiplied in them is rounded by who
      computes it. `mapsToo` says whether kernels of attn.map can.
    }], "bool", "writesHalves", (ins "bool":$mapsToo), "", "return false;">,
    InterfaceMethod<"What profiles call the kernel: by default its name and the columns of its first result, `rotary 64`.", "::std::string", "costTitle", (ins), "",
                    "return ::attn::titleWithColumns($_op, $_op->getResult(0).getType());">,
    InterfaceMethod<"The tensor whose elements are work, `flopPerElement` operations each.", "::mlir::Value", "workTensor", (ins), "", "return $_op->getResult(0);">,
    InterfaceMethod<"Operations for an element, 2 for a multiply-add.", "int64_t", "flopPerElement", (ins), "", "return 0;">,
    InterfaceMethod<"The tensors whose bytes are moved, once each: by default operands and results.", "::llvm::SmallVector<::mlir::Value>", "movedTensors", (ins), "",
                    "return ::attn::operandsAndResults($_op);">,
  ];
}

#endif // ATTN_COMPUTE_INTERFACES_TD
