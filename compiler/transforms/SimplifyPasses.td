// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that make functions of a spec smaller or give them another form, before anything is fused.
#ifndef ATTN_SIMPLIFY_PASSES_TD
#define ATTN_SIMPLIFY_PASSES_TD

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

#endif // ATTN_SIMPLIFY_PASSES_TD
