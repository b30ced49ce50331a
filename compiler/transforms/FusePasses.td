// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes from functions of a spec to fused ones, and the check of these.
#ifndef ATTN_FUSE_PASSES_TD
#define ATTN_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

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

def RowsApartPass : Pass<"attn-rows-apart", "mlir::ModuleOp"> {
  let summary = "lets the rows of an entry be of different lengths";
  let description = [{
    The positions of all rows lie one behind the other. What computes each position by itself takes them all; what knows of positions is done row by row, by
    a function that is called for each. What has one result for each row has a place for each.

    `attn-opt -attn-rows-apart` turns

    ```mlir
    !x = tensor<?x?x8xf32, #attn.axes<"B", "T", "D">>
    !y = tensor<?x8xf32, #attn.axes<"B", "D">>
    attn.dim @B dyn 4
    attn.dim @kv dyn 16 cache
    attn.dim @T dyn 16
    func.func @run(%x: !x) -> !y attributes {attn.caches = [{cache = @kv, rows = "T", use = "push"} ], attn.entry, attn.rows = "B"} {
      %n = attn.norm %x <rms, eps = 1.000000e-06 : f64> over 1 : !x
      %y = attn.slice %n axis 1 at 0 end drop : !x -> !y
      return %y : !y
    }
    ```

    into

    ```mlir
    ...
    func.func private @run.row(%r: !x) -> !y attributes {attn.rows = "B"} {
      %y = attn.slice %r axis 1 at 0 end drop : !x -> !y
      return %y : !y
    }
    func.func @run(%x: tensor<1x?x8xf32, #attn.axes<"B", "T", "D">>) -> !y ... {
      %n = attn.norm %x ...
      %y = attn.by_row @run.row single @run.row.one(%n) of "B", "T" : ...
      return %y : !y
    }
    func.func private @run.row.one(%r: tensor<?x1x8xf32, #attn.axes<"B", "T", "D">>) -> !y attributes {attn.rows = "B"} {
      ...
    }
    ```
  }];
  let dependentDialects = ["attn::AttnDialect", "mlir::func::FuncDialect"];
}

def SplitAlongPass : Pass<"attn-split-along", "mlir::ModuleOp"> {
  let summary = "makes linears of sums of products with weights of each place along axes";
  let description = [{
    A linear map along heads or groups has weights of its own for each of them: a linear for each, whose weights are packed as those of others are.

    `attn-opt -attn-split-along` turns

    ```mlir
    !x = tensor<?x2x8xf32, #attn.axes<"T", "H", "N">>
    !w = tensor<8x2x4xf32, #attn.axes<"N", "H", "K">>
    !y = tensor<?x2x4xf32, #attn.axes<"T", "H", "K">>
    attn.param @w : !w from <"w", [8, 16], offset = 0, strides = [8, 64, 1]>
    func.func @heads(%x: !x) -> !y {
      %w = attn.get @w : !w
      %y = attn.reduce sum(%x, %w) over ["N"] : (!x, !w) -> !y {
      ^bb0(%a: f32, %b: f32):
        %p = arith.mulf %a, %b : f32
        attn.yield %p : f32
      }
      return %y : !y
    }
    ```

    into

    ```mlir
    attn.param @w.H0 : tensor<4x8xf32, #attn.axes<"K", "N">> from <"w", [8, 16], offset = 0, strides = [1, 8]> in f32
    attn.param @w.H1 : tensor<4x8xf32, #attn.axes<"K", "N">> from <"w", [8, 16], offset = 64, strides = [1, 8]> in f32
    func.func @heads(%x: !x) -> !y {
      %x0 = attn.slice %x axis 1 at 0 : ...
      %w0 = attn.get @w.H0 : ...
      %y0 = attn.linear %x0, %w0 contract 1 : ...
      ...
      %y = attn.concat(%y0, %y1) axis 1 along [1, 1] : ...
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

#endif // ATTN_FUSE_PASSES_TD
