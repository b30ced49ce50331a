def SinkMapPass : Pass<"attn-sink-map"> {
  let summary = "has none";
}

def ExpandMathPass : Pass<"attn-expand-math"> {
  let summary = "divides";
  let description = [{
    `attn-opt -attn-expand-math` turns

    ```mlir
    func.func @rsqrt(%x: vector<8xf32>) -> vector<8xf32> {
      %y = math.rsqrt %x : vector<8xf32>
      return %y : vector<8xf32>
    }
    ```

    into

    ```mlir
    func.func @rsqrt(%x: vector<8xf32>) -> vector<8xf32> {
      ...
      %y = arith.mulf %one, %root : vector<8xf32>
      ...
    }
    ```
  }];
}

def FuseNormPass : Pass<"attn-fuse-norm"> {
  let summary = "returns something else";
  let description = [{
    `attn-opt -attn-fuse-norm` turns

    ```mlir
    func.func @second(%x: f32, %y: f32) -> f32 {
      return %y : f32
    }
    ```

    into

    ```mlir
    func.func @second(%x: f32, %y: f32) -> f32 {
      return %x : f32
    }
    ```
  }];
}

def CheckTiledPass : Pass<"attn-check-tiled"> {
  let summary = "refuses nothing";
  let description = [{
    `attn-opt -attn-check-tiled` refuses

    ```mlir
    func.func @nothing() {
      return
    }
    ```

    with

    ```text
    error: tiled stage
    ```
  }];
}

def CheckFusedPass : Pass<"attn-check-fused"> {
  let summary = "is not run";
  let description = [{
    `attn-opt -attn-check-tiled` refuses

    ```mlir
    func.func @nothing()
    ```

    with

    ```text
    error
    ```
  }];
}

def CheckMemoryPass : Pass<"attn-check-memory"> {
  let summary = "shows lines and parts that are left out";
  let description = [{
    `attn-opt -attn-check-memory` turns

    ```mlir
    func.func @same(%x: memref<f32>) -> memref<f32> {
      %c = arith.constant 1 : index
      %d = arith.constant 2 : index
      return %x : memref<f32>
    }
    ```

    into

    ```mlir
    func.func @same(%a: ...) -> memref<f32> {
      ...
      return %a : memref<f32>
    }
    ```
  }];
}
