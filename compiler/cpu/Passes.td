// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that know the CPU level. Order and reasons: compiler/Pipeline.cpp.
#ifndef ATTN_CPU_PASSES_TD
#define ATTN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

class CpuPass<string name> : Pass<name, "mlir::ModuleOp"> {
  let options = [Option<"level", "level", "std::string", "\"x86-64-v4\"", "a CPU level of compiler/target/CpuTarget.cpp">];
  let dependentDialects = ["attn::AttnDialect", "mlir::arith::ArithDialect", "mlir::scf::SCFDialect", "mlir::memref::MemRefDialect",
                           "mlir::vector::VectorDialect", "mlir::math::MathDialect", "mlir::LLVM::LLVMDialect", "mlir::func::FuncDialect",
                           "mlir::ub::UBDialect"];
}

def TilePass : CpuPass<"attn-tile"> {
  let summary = "memory -> tiled: a function per kernel, with its loops, its parallelism and its tiles";
  let description = [{
    Every kernel becomes a function, named after its layer. A thread computes some pieces of the
    units of work, here its own, and each unit is tiles that fit the registers of the CPU level.

    `attn-opt -attn-tile=level=x86-64-v3 -canonicalize -cse` turns

    ```mlir
    !rows = memref<100x64xf32, strided<[64, 1]>>
    !row = memref<64xf32, strided<[1], offset: ?>>
    func.func @run(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>, %thread: index,
                   %threads: index, %in: memref<f32>, %to: memref<f32>) {
      %x = memref.reinterpret_cast %in to offset: [0], sizes: [100, 64], strides: [64, 1]
        : memref<f32> to !rows
      %y = memref.reinterpret_cast %to to offset: [0], sizes: [100, 64], strides: [64, 1]
        : memref<f32> to !rows
      attn.map_kernel (%x) into %y : (!rows), !rows {
      ^bb0(%a: f32):
        %r = arith.negf %a : f32
        attn.yield %r : f32
      }
      return
    }
    ```

    into

    ```mlir
    func.func private @run.map_kernel(%in: memref<f32>, %to: memref<f32>, %first: index,
                                      %last: index, %thread: index, %threads: index) {
      ...
      %begin = arith.divui %before, %pieces : index
      ...
      %end = arith.divui %after, %pieces : index
      scf.for %i = %begin to %end step %one {
        %xi = memref.subview %x[%i, 0] [1, 64] [1, 1] : !rows to !row
        %yi = memref.subview %y[%i, 0] [1, 64] [1, 1] : !rows to !row
        attn.map_row(%xi) into %yi : (!row), !row {
        ^bb0(%a: f32):
          %r = arith.negf %a : f32
          attn.yield %r : f32
        }
      }
      return
    }
    func.func @run(...) {
      ...
      call @run.map_kernel(...) : ...
      return
    }
    ```
  }];
}

def MergeKernelsPass : Pass<"attn-merge-kernels", "mlir::ModuleOp"> {
  let summary = "calls of equal functions become calls of one";
  let description = [{
    Private functions that call none are equal where their types and bodies are, whatever their names and locations. The one with the shortest
    name stays.

    `attn-opt -attn-merge-kernels` turns

    ```mlir
    func.func private @prefill.output(%x: memref<f32>) {
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %x[] : memref<f32>
      return
    }
    func.func private @decode.output(%x: memref<f32>) {
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %x[] : memref<f32>
      return
    }
    func.func @prefill(%x: memref<f32>) {
      call @prefill.output(%x) : (memref<f32>) -> ()
      return
    }
    func.func @decode(%x: memref<f32>) {
      call @decode.output(%x) : (memref<f32>) -> ()
      return
    }
    ```

    into

    ```mlir
    func.func private @decode.output(%x: memref<f32>) {
      ...
    }
    func.func @prefill(%x: memref<f32>) {
      call @decode.output(%x) : (memref<f32>) -> ()
      return
    }
    func.func @decode(%x: memref<f32>) {
      call @decode.output(%x) : (memref<f32>) -> ()
      return
    }
    ```
  }];
}

def CheckTiledPass : Pass<"attn-check-tiled", "mlir::ModuleOp"> {
  let summary = "fails if a kernel is left that was not tiled";
  let description = [{
    `attn-opt -attn-check-tiled` refuses

    ```mlir
    !rows = memref<8x16xf32>
    func.func @run(%x: !rows, %y: !rows) {
      attn.map_kernel(%x) into %y : (!rows), !rows {
      ^bb0(%a: f32):
        attn.yield %a : f32
      }
      return
    }
    ```

    with

    ```text
    error: tiled stage: a kernel is left that was not tiled
    ```
  }];
}

def VectorizePass : CpuPass<"attn-vectorize"> {
  let summary = "tiled -> kernels: tiles become vector code";
  let description = [{
    Each tile becomes the vector code of its summary in dialect/tiles. Element-wise functions are computed
    at vector width, and vectors that end within a row are masked.

    `attn-opt -attn-vectorize=level=x86-64-v3 -canonicalize -cse` turns

    ```mlir
    !row = memref<16xf32>
    func.func @negate(%in: !row, %out: !row) {
      attn.map_row(%in) into %out : (!row), !row {
      ^bb0(%a: f32):
        %r = arith.negf %a : f32
        attn.yield %r : f32
      }
      return
    }
    ```

    into

    ```mlir
    func.func @negate(%in: !row, %out: !row) {
      %c8 = arith.constant 8 : index
      %c0 = arith.constant 0 : index
      %a = vector.load %in[%c0] : !row, vector<8xf32>
      %r = arith.negf %a : vector<8xf32>
      vector.store %r, %out[%c0] : !row, vector<8xf32>
      %b = vector.load %in[%c8] : !row, vector<8xf32>
      %s = arith.negf %b : vector<8xf32>
      vector.store %s, %out[%c8] : !row, vector<8xf32>
      return
    }
    ```
  }];
}

def ExpandMathPass : CpuPass<"attn-expand-math"> {
  let summary = "exp, exp2, erf, tanh and the like on vectors become polynomials, with stated errors";
  let description = [{
    compiler/cpu/functions.md states the error and the method of each function.

    `attn-opt -attn-expand-math=level=x86-64-v3` turns

    ```mlir
    func.func @rsqrt(%x: vector<8xf32>) -> vector<8xf32> {
      %y = math.rsqrt %x : vector<8xf32>
      return %y : vector<8xf32>
    }
    ```

    into

    ```mlir
    func.func @rsqrt(%x: vector<8xf32>) -> vector<8xf32> {
      %one = arith.constant dense<1.000000e+00> : vector<8xf32>
      %root = math.sqrt %x : vector<8xf32>
      %y = arith.divf %one, %root : vector<8xf32>
      return %y : vector<8xf32>
    }
    ```
  }];
}

def CheckKernelsPass : Pass<"attn-check-kernels", "mlir::ModuleOp"> {
  let summary = "fails if a tile is left, or a call into libm; remarks where an element-wise function runs element by element";
  let description = [{
    Compiled models call no function of libm on vectors: such a call would run element by element, with
    errors that depend on the system.

    `attn-opt -attn-check-kernels` refuses

    ```mlir
    func.func @angle(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
      %a = math.atan2 %x, %y : vector<8xf32>
      return %a : vector<8xf32>
    }
    ```

    with

    ```text
    error: kernels stage: 'math.atan2' would become a call of libm
    ```
  }];
}

#endif // ATTN_CPU_PASSES_TD
