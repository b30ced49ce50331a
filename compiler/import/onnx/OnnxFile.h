// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An ONNX file's graph as it stands in the file: names, shapes, attributes. What they mean is the
// business of OnnxAttention.h.
#pragma once

#include "compiler/import/Import.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace attn::importer {

/// Element types by their numbers in the format; others have no name here.
enum class OnnxType : int32_t {
  None = 0,
  F32 = 1,
  I32 = 6,
  I64 = 7,
  Bool = 9,
  F16 = 10,
  F64 = 11,
  BF16 = 16
};

/// Whether elements are floats.
inline bool isFloating(OnnxType type) {
  return type == OnnxType::F32 || type == OnnxType::F16 || type == OnnxType::BF16 ||
         type == OnnxType::F64;
}

/// Whether elements are whole numbers.
inline bool isInteger(OnnxType type) { return type == OnnxType::I32 || type == OnnxType::I64; }

/// An axis of known size, or one with a name, or neither.
struct OnnxAxis {
  int64_t size = -1; ///< -1 where it is not known
  std::string name;
};

/// An input or output of a graph, or of a node. Its shape is null where the file says none.
struct OnnxValue {
  std::string name;
  OnnxType type = OnnxType::None;
  std::optional<std::vector<OnnxAxis>> shape;
};

/// A tensor that stands in the file, or whose bytes are in another.
struct OnnxTensor {
  std::string name;
  OnnxType type = OnnxType::None;
  std::vector<int64_t> shape;
  std::string bytes;       ///< raw, row-major and little-endian; empty where they are elsewhere
  bool isExternal = false; ///< they are in another file
  bool isInBranch = false; ///< it stands in a graph of a node, where no checkpoint is looked for
  bool isReadable = true;  ///< false: they are not as many as the shape says, or of another kind
};

struct OnnxGraph;

/// An attribute of a node.
struct OnnxAttribute {
  std::string name;
  /// Nothing: a type that is not read.
  std::variant<std::monostate, int64_t, float, std::string, std::vector<int64_t>,
               std::vector<float>, OnnxTensor, std::shared_ptr<const OnnxGraph>,
               std::vector<std::string>>
      value;
};

/// A node of the graph: one operator with its inputs and outputs by name.
struct OnnxNode {
  std::string name, type, domain;
  std::vector<std::string> inputs, outputs; ///< "" stands for one that is left out
  std::vector<OnnxAttribute> attributes;
  std::string problem; ///< why an operator that is known is not read as it stands here

  /// The value of an attribute of this kind; null where there is none.
  template <typename T> const T *attribute(llvm::StringRef name) const {
    for (const OnnxAttribute &candidate : attributes)
      if (candidate.name == name)
        return std::get_if<T>(&candidate.value);
    return nullptr;
  }
  int64_t integer(llvm::StringRef name, int64_t otherwise) const {
    auto *value = attribute<int64_t>(name);
    return value ? *value : otherwise;
  }
  /// The values that graphs in its attributes take from outside of them.
  std::vector<std::string> outerValues() const;
};

/// The graph of a file.
struct OnnxGraph {
  std::string name;
  int64_t opset = 0; ///< of the standard operators; 0 where none is said
  std::vector<OnnxNode> nodes;
  std::vector<OnnxValue> inputs, outputs;
  std::vector<OnnxTensor> constants; ///< initializers
  std::vector<OnnxValue> pasts;      ///< inputs that a cache is in the place of, of length 0
  std::vector<std::string> assumed;  ///< what other inputs have become because of it
  int64_t capacity = 0;              ///< of the cache; 0: there is none
  std::vector<int64_t> stops;        ///< the tokens that end a text
};

/// Reads a file's bytes, whatever they are.
llvm::Expected<OnnxGraph> readOnnx(llvm::StringRef bytes);

/// Text of a file in a message: printable, and not too long.
std::string shown(llvm::StringRef name);
/// What a message calls a node: its name, or that of its first output, and its operator.
std::string labelOf(const OnnxNode &node);

} // namespace attn::importer
