// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the llvm stage that are Attn's own. Order and reasons: LowerToLlvm.cpp.
#ifndef ATTN_EMIT_PASSES_TD
#define ATTN_EMIT_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetDataLayoutPass : Pass<"attn-set-data-layout", "mlir::ModuleOp"> {
  let summary = "the module gets its triple and layout";
  let description = [{
    `attn-opt -attn-set-data-layout` turns

    ```mlir
    module {
      llvm.func @run()
    }
    ```

    into

    ```mlir
    module attributes {llvm.data_layout = ..., llvm.target_triple = "x86_64-..."} {
      llvm.func @run()
    }
    ```
  }];
  let options = [Option<"level", "level", "std::string", "\"x86-64-v3\"", "the CPU level">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def LowerRuntimePass : Pass<"attn-lower-runtime", "mlir::ModuleOp"> {
  let summary = "places in the packed block become arithmetic, barriers become calls; what only they refer to is dropped";
  let description = [{
    A slot of the packed block is at `offset + layer * layer_stride`, in bytes. A barrier becomes a call
    of the function that the runtime passes in `attn_abi_call` (runtime/include/attn/abi.h).

    `attn-opt -attn-lower-runtime -canonicalize` turns

    ```mlir
    attn.param @b : tensor<64xf32, #attn.axes<"D">>
      from <"h.{n}.bias", [64], offset = 0, strides = [1]> layers 2
    attn.slot @rows.b [@b] k 1 columns 64 width 0 bytes 256 layers 2 at 1024 + 512
    func.func @bias(%packed: memref<i8>, %layer: index) -> memref<f32> {
      %bias = attn.address @rows.b[%layer] in %packed : memref<i8> -> memref<f32>
      return %bias : memref<f32>
    }
    ```

    into

    ```mlir
    func.func @bias(%packed: memref<i8>, %layer: index) -> memref<f32> {
      %offset = arith.constant 1024 : index
      %stride = arith.constant 512 : index
      %from = arith.muli %layer, %stride : index
      %shift = arith.addi %from, %offset : index
      %bytes = memref.reinterpret_cast %packed to ...
      %bias = memref.view %bytes[%shift][] : ...
      return %bias : memref<f32>
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect", "mlir::memref::MemRefDialect"];
}

def ConvertToLlvmPass : Pass<"attn-convert-to-llvm", "mlir::ModuleOp"> {
  let summary = "functions, branches, buffers and scalars become LLVM's, by MLIR's patterns in one conversion";
  let description = [{
    A buffer is passed as a pointer.

    `attn-opt -attn-convert-to-llvm -reconcile-unrealized-casts` turns

    ```mlir
    func.func @twice(%x: memref<f32>) -> f32 {
      %loaded = memref.load %x[] : memref<f32>
      %sum = arith.addf %loaded, %loaded : f32
      return %sum : f32
    }
    ```

    into

    ```mlir
    llvm.func @twice(%x: !llvm.ptr) -> f32 {
      ...
      %place = llvm.extractvalue %buffer[1] : !llvm.struct<(ptr, ptr, i64)>
      %loaded = llvm.load %place : !llvm.ptr -> f32
      %sum = llvm.fadd %loaded, %loaded : f32
      llvm.return %sum : f32
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def WrapEntriesPass : Pass<"attn-wrap-entries", "mlir::ModuleOp"> {
  let summary = "entries get functions with the signatures that the runtime calls";
  let description = [{
    The runtime calls every entry with a pointer to `attn_abi_call` and the number of a thread. The wrapper
    reads all else from the structure: packed parameters, workspace, dims, inputs and outputs. A second
    wrapper gives the bytes of the workspace.

    `attn-opt "-attn-wrap-entries=entries=run:1:1 dims=0"` turns

    ```mlir
    llvm.func @run(%packed: !llvm.ptr, %workspace: !llvm.ptr, %call: !llvm.ptr, %thread: i64,
                   %threads: i64, %B: i64, %x: !llvm.ptr, %y: !llvm.ptr) {
      llvm.return
    }
    llvm.func @workspace.run(%threads: i64, %B: i64) -> i64 {
      llvm.return %B : i64
    }
    ```

    into

    ```mlir
    ...
    llvm.func hidden @entry.run(%call: !llvm.ptr, %thread: i64) {
      ...
      llvm.call @run(%packed, %workspace, %call, %thread, %threads, %B, %x, %y) : ...
      llvm.return
    }
    ...
    llvm.func hidden @size.run(%dims: !llvm.ptr, %team: i64) -> i64 {
      %place = llvm.getelementptr %dims[0] : (!llvm.ptr) -> !llvm.ptr, i8
      %size = llvm.load %place : !llvm.ptr -> i64
      %all = llvm.call @workspace.run(%team, %size) : (i64, i64) -> i64
      llvm.return %all : i64
    }
    ```
  }];
  let options = [ListOption<"dims", "dims", "int64_t", "positions of the dynamic dims within attn_abi_call.dims">,
                 ListOption<"entries", "entries", "std::string", "NAME:INPUTS:OUTPUTS of each entry">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def SetLevelPass : Pass<"attn-set-level", "mlir::ModuleOp"> {
  let summary = "functions get the CPU of a level; private ones become internal";
  let description = [{
    `attn-opt -attn-set-level=level=x86-64-v4` turns

    ```mlir
    llvm.func @entry() {
      llvm.return
    }
    llvm.func @helper() attributes {sym_visibility = "private"} {
      llvm.return
    }
    ```

    into

    ```mlir
    llvm.func @entry() attributes {..., target_cpu = "x86-64-v4"} {
      llvm.return
    }
    llvm.func internal @helper() attributes {..., target_cpu = "x86-64-v4"} {
      llvm.return
    }
    ```
  }];
  let options = [Option<"level", "level", "std::string", "\"x86-64-v3\"", "the CPU level">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

#endif // ATTN_EMIT_PASSES_TD
