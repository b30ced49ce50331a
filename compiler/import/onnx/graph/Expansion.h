// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One operator of com.microsoft as standard ones.
#pragma once

#include "compiler/import/onnx/OnnxFile.h"
#include "llvm/ADT/StringSet.h"

namespace attn::importer {

/// Writes the nodes in the place of one.
class Expansion {
public:
  Expansion(const OnnxGraph &graph, const llvm::StringSet<> &used, const OnnxNode &node,
            std::vector<OnnxNode> &nodes)
      : graph(graph), used(used), node(node), nodes(nodes) {}
  /// Whether the node is known, and has been replaced.
  bool run();
  /// Why a node that is known could not be replaced.
  std::string problem;

private:
  using Values = llvm::ArrayRef<std::string>;
  /// SkipLayerNormalization, SkipSimplifiedLayerNormalization.
  bool skipNorm(bool isRms);
  /// Gelu, BiasGelu, FastGelu.
  bool gelu(bool isTanh);
  /// QuickGelu.
  bool quickGelu();
  //===-- ContribAttention.cpp ----------------------------------------------------------------===//
  /// Attention.
  bool attention();
  /// MultiHeadAttention.
  bool multiHeadAttention();
  /// GroupQueryAttention.
  bool groupQueryAttention();
  /// FusedMatMul, GemmFastGelu, BiasAdd.
  bool fusedProduct();
  /// EmbedLayerNormalization.
  bool embedNorm();
  /// RotaryEmbedding.
  bool rotary();
  /// Adds a node; its output, which is called `result` where that is given.
  std::string add(llvm::StringRef type, Values inputs, std::vector<OnnxAttribute> attributes = {},
                  llvm::StringRef result = "");
  std::string number(float value);
  /// What is added to scores: a mask of keys, 1 where a key is seen, and a bias.
  std::string mask(const std::string &ofKeys, const std::string &bias);
  /// A mask of lengths, [B], as one of keys.
  std::string lengthsAsMask(const std::string &lengths);
  /// The attention itself.
  void attend(Values parts, const std::string &added, std::vector<OnnxAttribute> attributes);
  /// The same of [B, H, T, E], whose result is joined.
  void attendApart(Values parts, const std::string &added, std::vector<OnnxAttribute> attributes);
  /// [B, T, H * E] -> [B, H, T, E].
  std::string apart(const std::string &value, int64_t heads);
  /// A constant of whole numbers.
  std::string integers(std::vector<int64_t> list);
  /// Keys or values behind those before, `output` of the node; without those before, as they are.
  std::string pushed(const std::string &past, const std::string &value, size_t output);
  /// Notes why the node is not read.
  bool refuse(llvm::StringRef why) {
    problem = why.str();
    return false;
  }
  /// How many axes an input of the graph or an initializer has; -1 of other values.
  int rankOf(llvm::StringRef value) const;
  std::string input(size_t i) const { return i < node.inputs.size() ? node.inputs[i] : ""; }
  /// Whether anything takes an output.
  bool isUsed(size_t i) const { return hasOutput(i) && used.contains(node.outputs[i]); }
  bool hasOutput(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }

  const OnnxGraph &graph;
  const llvm::StringSet<> &used;
  const OnnxNode &node;
  std::vector<OnnxNode> &nodes;
  unsigned count = 0;
};

} // namespace attn::importer
