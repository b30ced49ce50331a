// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of others -> the text of a spec.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <string>
#include <vector>

namespace attn::importer {

/// What a person is told: what was found and expected, and how it is mended.
class ImportError : public llvm::ErrorInfo<ImportError> {
public:
  ImportError(std::string message, std::string help)
      : message(std::move(message)), help(std::move(help)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  static char ID;
  const std::string message, help;
};

/// An ImportError; `help` may be empty.
llvm::Error importError(const llvm::Twine &message, const llvm::Twine &help = "");

/// Gives the bytes of an initializer that an ONNX file keeps in another file.
using TensorLoader = std::function<llvm::Expected<std::string>(llvm::StringRef name)>;

/// What an importer of ONNX files needs beside the file.
struct OnnxSource {
  std::string weights;        ///< where the spec says that its weights are; empty: it says nothing
  TensorLoader load;          ///< may be null: nothing is read but the file
  std::vector<int64_t> stops; ///< the tokens that end a text, by the config beside the file
};

/// A line of a spec before it was formatted, and the node of the graph that it is of.
struct OnnxOrigin {
  std::string line, node;
};

/// The formatted spec of an ONNX model, and whether it has weights.
struct OnnxSpec {
  std::string text;
  bool hasWeights;
  std::vector<OnnxOrigin> origins; ///< for messages about what does not pass
  std::vector<std::string> notes;  ///< what was assumed

  /// The node that a line of the text is of; empty where none is known.
  std::string nodeOf(llvm::StringRef line) const;
};

/// The spec of an ONNX model: of a graph that is made of known patterns, or that is one Attention
/// operator of opset 23, 24 or 25. `sizes` gives those that the model only names.
llvm::Expected<OnnxSpec> importOnnx(llvm::StringRef bytes,
                                    const llvm::StringMap<int64_t> &sizes = {},
                                    const OnnxSource &source = {});

} // namespace attn::importer
