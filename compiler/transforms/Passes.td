// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The target-independent passes. Order and reasons: compiler/Pipeline.cpp.
#ifndef ATTN_PASSES_TD
#define ATTN_PASSES_TD

include "mlir/Pass/PassBase.td"

def HoistFromScanPass : Pass<"attn-hoist-from-scan", "mlir::ModuleOp"> {
  let summary = "computes what does not depend on the states of a scan before it, for all steps at once";
  let description = [{
    Functions that the body of a scan calls become part of it. Of the body, what depends on neither a state nor the step moves in
    front of the scan; what depends on inputs of the step alone is computed for all steps together, with the axis of
    the steps in front, and becomes an input of the scan. A result that nothing reads is dropped.

    `attn-opt -attn-hoist-from-scan -canonicalize` turns

    ```mlir
    !x = tensor<?x4x8xf32, #attn.axes<"T", "B", "I">>
    !xt = tensor<4x8xf32, #attn.axes<"B", "I">>
    !h = tensor<4x8xf32, #attn.axes<"B", "U">>
    !hs = tensor<?x4x8xf32, #attn.axes<"T", "B", "U">>
    attn.dim @T dyn 16
    attn.param @w : tensor<8x8xf32, #attn.axes<"U", "I">> from #attn.source<"w", [8, 8], offset = 0, strides = [8, 1]>
    func.func @rnn(%x: !x, %h0: !h) -> !h attributes {attn.entry} {
      %hs, %last = attn.scan over(%x) from(%h0) along "T" : (!x, !h) -> (!hs, !h) {
      ^bb0(%xt: !xt, %h: !h):
        %w = attn.get @w : tensor<8x8xf32, #attn.axes<"U", "I">>
        %ih = attn.linear %xt, %w contract 1 : (!xt, tensor<8x8xf32, #attn.axes<"U", "I">>) -> !h
        %next = attn.map(%ih, %h) : (!h, !h) -> !h {
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          attn.yield %c : f32
        }
        attn.next %next, %next : !h, !h
      }
      return %last : !h
    }
    ```

    into

    ```mlir
    ...
    func.func @rnn(%x: !x, %h0: !h) -> !h attributes {attn.entry} {
      %w = attn.get @w : ...
      %ih = attn.linear %x, %w contract 1 : ... -> !hs
      %last = attn.scan over(%ih) from(%h0) along "T" : (!hs, !h) -> !h {
      ^bb0(%iht: !h, %h: !h):
        %next = attn.map(%iht, %h) : ... {
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          attn.yield %c : f32
        }
        attn.next %next : !h
      }
      return %last : !h
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect"];
}

def MaskFromBiasPass : Pass<"attn-mask-from-bias", "mlir::func::FuncOp"> {
  let summary = "makes a mask of a bias that is -inf where a formula says so";
  let description = [{
    A pair whose bias is -inf has no weight. Where constants and choices of the bias say for which pairs that is so, and
    tiles of pairs are empty by it, it becomes part of the mask, so that such tiles are passed by. What else the bias adds stays. A cap,
    weights without a normaliser and returned scores see the number: there it stays a bias.

    `attn-opt -attn-mask-from-bias` turns

    ```mlir
    !q = tensor<128x8xf32, #attn.axes<"T", "E">>
    !k = tensor<128x8xf32, #attn.axes<"S", "E">>
    func.func @late(%q: !q, %k: !k) -> !q {
      %r = attn.attention %q over %k, %k along "S" : (!q, !k, !k) -> !q score {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %i: index, %j: index):
        %s = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
        attn.yield %s : f32
      } bias {
      ^bb0(%s: f32, %i: index, %j: index):
        %dead = arith.constant 0xFF800000 : f32
        %one = arith.constant 1.0 : f32
        %isLate = arith.cmpi sgt, %j, %i : index
        %b = arith.select %isLate, %dead, %one : f32
        %sum = arith.addf %s, %b : f32
        attn.yield %sum : f32
      }
      return %r : !q
    }
    ```

    into

    ```mlir
    func.func @late(%q: !q, %k: !k) -> !q {
      %r = attn.attention %q over %k, %k along "S" : (!q, !k, !k) -> !q score {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %i: index, %j: index):
        %s = attn.dot %a, %b : tensor<8xf32>, tensor<8xf32>
        attn.yield %s : f32
      } bias {
      ^bb0(%score: f32, %query: index, %key: index):
        %one = arith.constant 1.000000e+00 : f32
        %sum = arith.addf %score, %one : f32
        attn.yield %sum : f32
      } mask {
      ^bb0(%row: index, %column: index):
        %isLive = arith.cmpi sle, %column, %row : index
        attn.yield %isLive : i1
      }
      return %r : !q
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect", "mlir::arith::ArithDialect"];
}

def FuseMapPass : Pass<"attn-fuse-map", "mlir::func::FuncOp"> {
  let summary = "one map of maps that follow each other in the body of a scan";
  let description = [{
    What a step of a scan computes element by element from what a map gives is computed with it, where the map's axes are those of the
    result and nothing else reads it: the gates of a cell become one kernel.

    `attn-opt -attn-fuse-map` turns

    ```mlir
    !xs = tensor<16x8xf32, #attn.axes<"T", "U">>
    !x = tensor<8xf32, #attn.axes<"U">>
    func.func @sum(%xs: !xs, %h0: !x) -> !x {
      %h1 = attn.scan over(%xs) from(%h0) along "T" : (!xs, !x) -> !x {
      ^bb0(%x: !x, %h: !x):
        %y = attn.map(%x) : (!x) -> !x {
        ^bb0(%e: f32):
          %f = math.tanh %e : f32
          attn.yield %f : f32
        }
        %z = attn.map(%y, %h) : (!x, !x) -> !x {
        ^bb0(%e: f32, %f: f32):
          %g = arith.mulf %e, %f : f32
          attn.yield %g : f32
        }
        attn.next %z : !x
      }
      return %h1 : !x
    }
    ```

    into

    ```mlir
    func.func @sum(%xs: !xs, %h0: !x) -> !x {
      %h1 = attn.scan over(%xs) from(%h0) along "T" : (!xs, !x) -> !x {
      ^bb0(%x: !x, %h: !x):
        %z = attn.map(%h, %x) : (!x, !x) -> !x {
        ^bb0(%f: f32, %e: f32):
          %t = math.tanh %e : f32
          %g = arith.mulf %t, %f : f32
          attn.yield %g : f32
        }
        attn.next %z : !x
      }
      return %h1 : !x
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect"];
}

def SinkMapPass : Pass<"attn-sink-map", "mlir::func::FuncOp"> {
  let summary = "moves element-wise maps above concats so that they meet their producers, and slices above what need not be computed in full";
  let description = [{
    A map of a concat becomes a concat of maps, so that each map stands behind the op that computes its
    input and can join the epilogue of that op. Slices move up, above what need not be computed in full.

    `attn-opt -attn-sink-map` turns

    ```mlir
    !class = tensor<1x8xf32, #attn.axes<"1", "D">>
    !patches = tensor<?x4x8xf32, #attn.axes<"B", "P", "D">>
    !tokens = tensor<?x5x8xf32, #attn.axes<"B", "T", "D">>
    func.func @tokens(%class: !class, %patches: !patches) -> !tokens {
      %both = attn.concat(%class, %patches) axis 1 along [0, 1] : (!class, !patches) -> !tokens
      %out = attn.map(%both) : (!tokens) -> !tokens {
      ^bb0(%x: f32):
        %y = math.tanh %x : f32
        attn.yield %y : f32
      }
      return %out : !tokens
    }
    ```

    into

    ```mlir
    func.func @tokens(%class: !class, %patches: !patches) -> !tokens {
      %first = attn.map(%class) : (!class) -> ... {
      ^bb0(%x: f32):
        %y = math.tanh %x : f32
        attn.yield %y : f32
      }
      %rest = attn.map(%patches) : (!patches) -> !patches {
      ^bb0(%e: f32):
        %f = math.tanh %e : f32
        attn.yield %f : f32
      }
      %out = attn.concat(%first, %rest) axis 1 along [1, 1] : ...
      return %out : !tokens
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect"];
}

def NarrowStackPass : Pass<"attn-narrow-stack", "mlir::ModuleOp"> {
  let summary = "computes only what is read of a stack's last layer";
  let description = [{
    Where only a slice of a stack's result is read, such as the first token for a classifier, the last
    layer becomes a function of its own that computes no more. Keys and values are still computed in
    full. A slice of what a block computes moves into a copy of the block in the same way, and on into
    the stacks there.

    `attn-opt -attn-narrow-stack -canonicalize` turns

    ```mlir
    !x = tensor<4x8xf32, #attn.axes<"T", "D">>
    !row = tensor<8xf32, #attn.axes<"D">>
    func.func @first_token(%x: !x) -> !row attributes {attn.entry} {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %layers = arith.constant 3 : index
      %y = scf.for %n = %zero to %layers step %one iter_args(%a = %x) -> (!x) {
        %z = func.call @Block(%n, %a) : (index, !x) -> !x
        scf.yield %z : !x
      }
      %token = attn.slice %y axis 0 at 0 drop : !x -> !row
      return %token : !row
    }
    func.func private @Block(%n: index, %x: !x) -> !x {
      %y = attn.map(%x) : (!x) -> !x {
      ^bb0(%e: f32):
        %f = math.tanh %e : f32
        attn.yield %f : f32
      }
      return %y : !x
    }
    ```

    into

    ```mlir
    func.func @first_token(%x: !x) -> !row attributes {attn.entry} {
      ...
      %two = arith.constant 2 : index
      %y = scf.for %n = %zero to %two step %one iter_args(%a = %x) -> (!x) {
        %z = func.call @Block(%n, %a) : (index, !x) -> !x
        scf.yield %z : !x
      }
      %token = call @Block.last(%two, %y) : (index, !x) -> !row
      return %token : !row
    }
    func.func private @Block.last(%m: index, %u: !x) -> !row {
      %r = attn.slice %u axis 0 at 0 drop : !x -> !row
      %v = attn.map(%r) : ...
      ...
      return %v : !row
    }
    ...
    ```
  }];
  let dependentDialects = ["attn::AttnDialect", "mlir::arith::ArithDialect"];
}

def InlineMapsPass : Pass<"attn-inline-maps", "mlir::ModuleOp"> {
  let summary = "a function of maps alone becomes part of its callers";
  let description = [{
    A linear takes the maps behind it into its epilogue, where they stand beside it. This pass puts there what functions of few maps,
    of parameters and of constants do, such as frozen norms.

    `attn-opt -attn-inline-maps` turns

    ```mlir
    !x = tensor<?x8xf32, #attn.axes<"T", "D">>
    func.func @run(%a: !x) -> !x {
      %b = call @Twice(%a) : (!x) -> !x
      return %b : !x
    }
    func.func private @Twice(%x: !x) -> !x {
      %y = attn.map(%x, %x) : (!x, !x) -> !x {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        attn.yield %s : f32
      }
      return %y : !x
    }
    ```

    into

    ```mlir
    func.func @run(%a: !x) -> !x {
      %y = attn.map(%a, %a) : (!x, !x) -> !x {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        attn.yield %s : f32
      }
      return %y : !x
    }
    ```
  }];
}

def MergeArgumentsPass : Pass<"attn-merge-arguments", "mlir::ModuleOp"> {
  let summary = "a function takes a tensor once that it gets several times in every call; one that is called once becomes part of its caller";
  let description = [{
    Projections can be packed where they read the same tensor. This pass shows a function that two of
    its arguments are the same tensor, if they are so in every call. A function with one call is inlined.

    `attn-opt -attn-merge-arguments -canonicalize` turns

    ```mlir
    !x = tensor<?x8xf32, #attn.axes<"T", "D">>
    func.func @run(%a: !x, %b: !x) -> (!x, !x) {
      %c = call @Sum(%a, %a) : (!x, !x) -> !x
      %d = call @Sum(%b, %b) : (!x, !x) -> !x
      return %c, %d : !x, !x
    }
    func.func private @Sum(%x: !x, %y: !x) -> !x {
      %z = attn.map(%x, %y) : (!x, !x) -> !x {
      ^bb0(%e: f32, %f: f32):
        %g = arith.addf %e, %f : f32
        attn.yield %g : f32
      }
      return %z : !x
    }
    ```

    into

    ```mlir
    func.func @run(%a: !x, %b: !x) -> (!x, !x) {
      %c = call @Sum(%a) : (!x) -> !x
      %d = call @Sum(%b) : (!x) -> !x
      return %c, %d : !x, !x
    }
    func.func private @Sum(%x: !x) -> !x {
      %z = attn.map(%x, %x) : (!x, !x) -> !x {
      ...
      return %z : !x
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect"];
}

def PackProjectionsPass : Pass<"attn-pack-projections", "mlir::func::FuncOp"> {
  let summary = "makes one linear of those that read the same tensor: q, k and v in one product";
  let description = [{
    One product reads its input once, has one barrier behind it, and fills panels that are as wide as the
    sum of all outputs. The slices are views, which cost nothing.

    `attn-opt -attn-pack-projections -canonicalize` turns

    ```mlir
    !x = tensor<?x8xf32, #attn.axes<"T", "D">>
    !w = tensor<4x8xf32, #attn.axes<"E", "D">>
    !q = tensor<?x4xf32, #attn.axes<"T", "E">>
    func.func @projections(%x: !x, %wq: !w, %wk: !w) -> (!q, !q) {
      %q = attn.linear %x, %wq contract 1 : (!x, !w) -> !q
      %k = attn.linear %x, %wk contract 1 : (!x, !w) -> !q
      return %q, %k : !q, !q
    }
    ```

    into

    ```mlir
    func.func @projections(%x: !x, %wq: !w, %wk: !w) -> (!q, !q) {
      %both = attn.linear %x, %wq, %wk contract 1 : (!x, !w, !w)
                -> tensor<?x8xf32, #attn.axes<"T", "packed">>
      %left = attn.slice %both axis 1 at 0 : ...
      %q = attn.rearrange %left ...
      %right = attn.slice %both axis 1 at 4 : ...
      %k = attn.rearrange %right ...
      return %q, %k : !q, !q
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect"];
}

def FuseEpiloguePass : Pass<"attn-fuse-epilogue", "mlir::func::FuncOp"> {
  let summary = "puts the element-wise map after a linear into its epilogue: activation, residual, position";
  let description = [{
    The map is computed from the linear's sums while they are still in registers. What else it reads
    becomes a capture. Several maps in a row are fused one after the other. A linear that is read twice
    stays as it is. A map that gives integers or truth values to one other map of its axes becomes part
    of that.

    `attn-opt -attn-fuse-epilogue` turns

    ```mlir
    !x = tensor<?x8xf32, #attn.axes<"T", "D">>
    !w = tensor<8x8xf32, #attn.axes<"D", "D">>
    func.func @residual(%x: !x, %w: !w) -> !x {
      %y = attn.linear %x, %w contract 1 : (!x, !w) -> !x
      %z = attn.map(%x, %y) : (!x, !x) -> !x {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        attn.yield %s : f32
      }
      return %z : !x
    }
    ```

    into

    ```mlir
    func.func @residual(%x: !x, %w: !w) -> !x {
      %z = attn.linear %x, %w contract 1 captures(%x) epilogue {
      ^bb0(%sum: f32, %a: f32):
        %s = arith.addf %a, %sum : f32
        attn.yield %s : f32
      } : (!x, !w, !x) -> !x
      return %z : !x
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect"];
}

def FuseNormPass : Pass<"attn-fuse-norm", "mlir::func::FuncOp"> {
  let summary = "attaches a layer norm to the one linear that reads it";
  let description = [{
    A layer norm that only one linear reads becomes part of that linear, so that a thread norms the rows
    that it multiplies.

    `attn-opt -attn-fuse-norm` turns

    ```mlir
    !x = tensor<?x8xf32, #attn.axes<"T", "D">>
    !d = tensor<8xf32, #attn.axes<"D">>
    !w = tensor<4x8xf32, #attn.axes<"F", "D">>
    !y = tensor<?x4xf32, #attn.axes<"T", "F">>
    func.func @normed(%x: !x, %gain: !d, %shift: !d, %w: !w) -> !y {
      %n = attn.norm %x <layer, eps = 1.0e-5> over 1 weight %gain bias %shift : !x weight !d bias !d
      %y = attn.linear %n, %w contract 1 : (!x, !w) -> !y
      return %y : !y
    }
    ```

    into

    ```mlir
    func.func @normed(%x: !x, %gain: !d, %shift: !d, %w: !w) -> !y {
      %y = attn.linear %x, %w norm <layer, eps = 1.000000e-05 : f64> norm_weight %gain norm_bias %shift contract 1
        : (!x, !w, !d, !d) -> !y
      return %y : !y
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect"];
}

def OrderContractionPass : Pass<"attn-order-contraction", "mlir::ModuleOp"> {
  let summary = "lets linears of windows contract their axes in the order in which they lie in memory";
  let description = [{
    Windows of an axis overlap in memory: a linear reads them where they are. Where the channels of a picture lie side by side, its weights
    are packed in the order of rows, columns and channels, so that a row of a window is one run of memory, whatever their order in the
    checkpoint is.

    `attn-opt -attn-order-contraction` turns

    ```mlir
    !x = tensor<?x9x8xf32, #attn.axes<"B", "T", "C">>
    !windows = tensor<?x7x8x3xf32, #attn.axes<"B", "S", "C", "K">>
    !y = tensor<?x7x4xf32, #attn.axes<"B", "S", "D">>
    attn.param @w : tensor<4x8x3xf32, #attn.axes<"D", "C", "K">> from #attn.source<"w", [4, 8, 3], offset = 0, strides = [24, 3, 1]>
    func.func @convolution(%x: !x) -> !y {
      %w = attn.get @w : tensor<4x8x3xf32, #attn.axes<"D", "C", "K">>
      %windows = attn.windows %x axes [1] by [1] dilated [1] : !x -> !windows
      %y = attn.linear %windows, %w contract 2 : (!windows, tensor<4x8x3xf32, #attn.axes<"D", "C", "K">>) -> !y
      return %y : !y
    }
    ```

    into

    ```mlir
    attn.param @w : tensor<4x3x8xf32, #attn.axes<"D", "K", "C">> from <"w", [4, 8, 3], offset = 0, strides = [24, 1, 3]>
    func.func @convolution(%x: !x) -> !y {
      %windows = attn.windows %x axes [1] by [1] dilated [1] : !x -> !windows
      %w = attn.get @w : tensor<4x3x8xf32, #attn.axes<"D", "K", "C">>
      %ordered = attn.rearrange %windows ...
      %y = attn.linear %ordered, %w contract 2 : ...
      return %y : !y
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect"];
}

def CheckFusedPass : Pass<"attn-check-fused", "mlir::func::FuncOp"> {
  let summary = "fails if an op that the fused stage cannot hold is left";
  let description = [{
    The memory stage expects that every map which can be in an epilogue is there.

    `attn-opt -attn-check-fused` refuses

    ```mlir
    !x = tensor<?x8xf32, #attn.axes<"T", "D">>
    !w = tensor<8x8xf32, #attn.axes<"D", "D">>
    func.func @residual(%x: !x, %w: !w) -> !x {
      %y = attn.linear %x, %w contract 1 : (!x, !w) -> !x
      %z = attn.map(%x, %y) : (!x, !x) -> !x {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        attn.yield %s : f32
      }
      return %z : !x
    }
    ```

    with

    ```text
    error: fused stage: expected the map in the epilogue of the linear before it
    ```
  }];
}

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
                 Option<"precision", "precision", "std::string", "\"f32\"", "the precision of linears: f32, tf32, bf16, f16, int8, int8_groups or int4">,
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

#endif // ATTN_PASSES_TD
