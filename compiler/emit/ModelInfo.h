// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a module says about the model in it, as the description and the header need it.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace attn {

/// "0.1.0"
llvm::StringRef compilerVersion();

/// The name of the model in the spec, "FashionViT".
llvm::StringRef modelName(mlir::ModuleOp model);

/// Whether an argument of an entry may be given as a picture.
bool takesImage(mlir::ModuleOp model);

/// "f32", "i32", ... as the C API names element types.
llvm::StringRef dtypeName(mlir::Type type);

/// An axis of an entry's input or output: its name, and its size or largest size.
struct AxisInfo {
  std::string name;
  int64_t size = 0;
  bool isDynamic = false;
};
/// The axes of a tensor type with #attn.axes. A dynamic axis ("B", "2*T + 1") is bounded by its
/// dim.
llvm::SmallVector<AxisInfo> axesOf(mlir::ModuleOp model, mlir::Type tensor);

/// Parameters of the checkpoint: tensors (one per layer of a stack) and their elements. A tensor
/// that several parameters of the spec share counts once.
struct ParameterCount {
  int64_t tensors = 0;
  int64_t elements = 0;
};
ParameterCount countParameters(mlir::ModuleOp model);

/// A CamelCase name in snake_case: "FashionViT" -> "fashion_vit".
std::string snakeCase(llvm::StringRef name);

} // namespace attn
