// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes from fused functions to buffers in a workspace, and the check of these.
#ifndef ATTN_MEMORY_PASSES_TD
#define ATTN_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanMemoryPass : Pass<"attn-plan-memory", "mlir::ModuleOp"> {
  let summary = "fused -> memory: every tensor gets a place in the workspace, every parameter one in the packed block";
  let description = [{
    A function on tensors becomes a function on pointers. All threads of the team run all of it, and each
    kernel ends with a barrier. A buffer is a place in the frame of its function, which is free again when
    its last reader has run. A function `workspace.<entry>` computes the bytes that an entry needs.

    `attn-opt -attn-plan-memory -canonicalize -cse` turns

    ```mlir
    !x = tensor<16x8xf32, #attn.axes<"T", "D">>
    !rows = memref<16x8xf32, strided<[8, 1]>>
    func.func @run(%x: !x) -> !x attributes {attn.entry} {
      %a = attn.map(%x) : (!x) -> !x {
      ^bb0(%e: f32):
        %r = arith.negf %e : f32
        attn.yield %r : f32
      }
      %b = attn.map(%a, %x) : (!x, !x) -> !x {
      ^bb0(%e: f32, %f: f32):
        %r = arith.mulf %e, %f : f32
        attn.yield %r : f32
      }
      return %b : !x
    }
    ```

    into

    ```mlir
    ...
    func.func private @run(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>,
        %thread: index, %threads: index, %x: memref<f32>, %out: memref<f32>) attributes {attn.entry} {
      %c0 = arith.constant 0 : index
      %bytes = memref.reinterpret_cast %workspace to ...
      %slot = memref.view %bytes[%c0][] : ...
      %in = memref.reinterpret_cast %x to offset: [0], sizes: [16, 8], strides: [8, 1] : ...
      %a = memref.reinterpret_cast %slot to offset: [0], sizes: [16, 8], strides: [8, 1] : ...
      attn.map_kernel(%in) into %a : (!rows), !rows {
      ^bb0(%e: f32):
        %r = arith.negf %e : f32
        attn.yield %r : f32
      }
      attn.barrier %call, %thread after ...
      %b = memref.reinterpret_cast %out to offset: [0], sizes: [16, 8], strides: [8, 1] : ...
      attn.map_kernel(%a, %in) into %b : (!rows, !rows), !rows {
      ^bb0(%f: f32, %g: f32):
        %m = arith.mulf %f, %g : f32
        attn.yield %m : f32
      }
      attn.barrier %call, %thread after ...
      return
    }
    func.func private @workspace.run(%team: index) -> index {
      ...
    }
    ```
  }];
  let options = [Option<"attention", "attention", "std::string", "", "how attentions are lowered that can be: strip, online or unfused">,
                 Option<"precision", "precision", "std::string", "\"f32\"", "the precision of linears, as `attn --precision` takes it">,
                 Option<"targets", "targets", "std::string", "\"x86-64-v4\"", "the CPU levels that share the plan, or GPUs, joined by commas: where precision is reduced, what one of them multiplies by pairs is rounded to bf16, and what all of them only multiply is kept so">];
  let dependentDialects = ["attn::AttnDialect", "mlir::arith::ArithDialect", "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect"];
}

def MergeBarriersPass : Pass<"attn-merge-barriers", "mlir::ModuleOp"> {
  let summary = "maps that follow each other run without a barrier between them";
  let description = [{
    Where two maps are divided among threads in the same way, and the second reads of what the first writes nothing but the elements at its own
    places, each thread goes on by itself. Profiles show both as one.

    `attn-opt -attn-merge-barriers` turns

    ```mlir
    attn.cost @first "map a" flop [[8]] bytes [[64]]
    attn.cost @second "map b" flop [[8]] bytes [[64]]
    func.func private @run(%call: memref<i8>, %thread: index, %a: memref<f32>, %b: memref<f32>, %c: memref<f32>) {
      %x = memref.reinterpret_cast %a to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<f32> to memref<2x4xf32, strided<[4, 1]>>
      %y = memref.reinterpret_cast %b to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<f32> to memref<2x4xf32, strided<[4, 1]>>
      %z = memref.reinterpret_cast %c to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<f32> to memref<2x4xf32, strided<[4, 1]>>
      attn.map_kernel(%x) into %y : (memref<2x4xf32, strided<[4, 1]>>), memref<2x4xf32, strided<[4, 1]>> {
      ^bb0(%e: f32):
        %f = arith.negf %e : f32
        attn.yield %f : f32
      }
      attn.barrier %call, %thread after @first : memref<i8>
      attn.map_kernel(%y) into %z : (memref<2x4xf32, strided<[4, 1]>>), memref<2x4xf32, strided<[4, 1]>> {
      ^bb0(%e: f32):
        %f = math.absf %e : f32
        attn.yield %f : f32
      }
      attn.barrier %call, %thread after @second : memref<i8>
      return
    }
    ```

    into

    ```mlir
    attn.cost @second "map a; map b" flop [[8], [8]] bytes [[64], [64]]
    func.func private @run(%call: memref<i8>, %thread: index, %a: memref<f32>, %b: memref<f32>, %c: memref<f32>) {
      %x = memref.reinterpret_cast ...
      %y = memref.reinterpret_cast ...
      %z = memref.reinterpret_cast ...
      attn.map_kernel(%x) into %y : ... {
      ^bb0(%e: f32):
        %f = arith.negf %e : f32
        attn.yield %f : f32
      }
      attn.map_kernel(%y) into %z : ... {
      ^bb0(%e: f32):
        %f = math.absf %e : f32
        attn.yield %f : f32
      }
      attn.barrier %call, %thread after @second : memref<i8>
      return
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect"];
}

def CheckMemoryPass : Pass<"attn-check-memory", "mlir::ModuleOp"> {
  let summary = "fails if a tensor is left that has no place, or a kernel may write what it reads";
  let description = [{
    Threads run the parts of a kernel in any order. A buffer that is written may hold what is read only
    where each element is read at its own place, just before it is written there.

    `attn-opt -attn-check-memory` refuses

    ```mlir
    !rows = memref<8x16xf32, strided<[16, 1]>>
    !turned = memref<8x16xf32, strided<[1, 8]>>
    func.func @transposed(%p: memref<f32>) {
      %a = memref.reinterpret_cast %p to offset: [0], sizes: [8, 16], strides: [1, 8]
        : memref<f32> to !turned
      %b = memref.reinterpret_cast %p to offset: [0], sizes: [8, 16], strides: [16, 1]
        : memref<f32> to !rows
      attn.map_kernel(%a) into %b : (!turned), !rows {
      ^bb0(%x: f32):
        attn.yield %x : f32
      }
      return
    }
    ```

    with

    ```text
    error: memory stage: operand 1 is written where operand 0 is read
    ```
  }];
}

#endif // ATTN_MEMORY_PASSES_TD
