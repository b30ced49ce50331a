// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a module says about the model in it, as the description and the header need it.
#pragma once

#include "dialect/Caches.h"
#include "dialect/Unfold.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// "0.1.0"
llvm::StringRef compilerVersion();

/// The name of the model in the spec, "FashionViT".
llvm::StringRef modelName(mlir::ModuleOp model);
/// The name of the model's table symbol, `attn_model_<name>`.
std::string modelSymbol(mlir::ModuleOp model);

/// Whether an argument of an entry may be given as a picture.
bool takesImage(mlir::ModuleOp model);

/// Whether an entry is a detector of objects in pictures: it takes some, and gives `logits` and
/// `boxes`.
bool findsObjects(mlir::ModuleOp model);

/// Whether an entry may be given a sound.
bool takesSound(mlir::ModuleOp model);

/// Whether an entry reads or writes texts: it takes rows of tokens alone and, perhaps, how many
/// each row has, and generates, or gives an `embedding` or the `scores` of classes, [B, D]; or it
/// writes down a picture or a sound.
bool takesText(mlir::ModuleOp model);

/// "f32", "i32", ... as the C API names element types.
llvm::StringRef dtypeName(mlir::Type type);

/// An axis of a tensor: its name and size. A dynamic one has scale * dim + offset elements of a
/// dynamic dim ("2*T + 1"), and `size` is the largest.
struct AxisInfo {
  std::string name;
  int64_t size = 0;
  std::string dim; ///< empty where the size is static
  int64_t scale = 1, offset = 0;

  /// Whether the size is known only when the model runs.
  bool isDynamic() const { return !dim.empty(); }
};
/// An axis by its name, which says its size where that is dynamic.
AxisInfo axisOf(mlir::ModuleOp model, llvm::StringRef name, int64_t size);
/// The axes of a tensor type with #attn.axes.
llvm::SmallVector<AxisInfo> axesOf(mlir::ModuleOp model, mlir::Type tensor);

/// Parameters of the checkpoint: tensors (one per layer of a stack) and their elements. A tensor
/// that several parameters of the spec share counts once.
struct ParameterCount {
  int64_t tensors = 0;
  int64_t elements = 0;
};
/// Counts the parameters of a model.
ParameterCount countParameters(mlir::ModuleOp model);

/// A CamelCase name in snake_case: "FashionViT" -> "fashion_vit".
std::string snakeCase(llvm::StringRef name);

/// Integers from `least` to `most`, both included, which may follow a size as axes do, and now and
/// then one of `notable`.
struct InputRange {
  AxisInfo least, most;
  llvm::SmallVector<int64_t> notable;
};

/// An input or output of an entry.
struct TensorInfo {
  std::string name;
  mlir::Type elementType;
  llvm::SmallVector<AxisInfo> axes;
  int64_t below = 0;               ///< bound of what are indices; 0 where elements may be anything
  int32_t state = -1;              ///< the number of the state that it is or sets; -1: of none
  mlir::DictionaryAttr sound = {}; ///< how a sound becomes it; null where none is taken
  mlir::DictionaryAttr image = {}; ///< how a picture becomes it; null where none is taken
  std::optional<InputRange> range = {}; ///< of random inputs; none: 0 and 1, or as `below` says
};

/// How an entry runs two others in a loop over tokens (attn.unfold); entries by their numbers.
struct UnfoldInfo {
  UnfoldOp op;
  int32_t first = 0, step = 0;
  UnfoldWiring wiring;
  int32_t shared = -1; ///< by which many users share steps; -1: none
};

/// What an entry does with a cache, and the positions that it adds.
struct CacheInfo {
  std::string name;
  CacheUse::Kind use;
  AxisInfo rows;
};

/// What can be called from outside: a function, or an attn.unfold.
struct EntryInfo {
  std::string name;
  std::vector<TensorInfo> inputs, outputs;
  std::vector<CacheInfo> caches;         ///< that it takes
  std::string batch;                     ///< the dim that counts a batch (BatchDim.h), or nothing
  std::string rows;                      ///< the dim of rows that are by themselves, or nothing
  std::optional<UnfoldInfo> unfold = {}; ///< of what has no code of its own
};

/// The entries of a model, in the order of the module, those that have no code of their own last.
std::vector<EntryInfo> entriesOf(mlir::ModuleOp model);

/// How many states there are, of which each is read or set by an entry.
int32_t countStates(llvm::ArrayRef<EntryInfo> entries);

} // namespace attn
