// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of a tensor that is made of positions, constants and inputs, as a formula: the masks
// of attentions, and the positions that choose rows of embeddings.
//
//   Where(LessOrEqual(Range(0, T, 1), Unsqueeze(Range(0, T, 1))), 0, -inf)[i, j]
//     -> if j <= i then 0 else -inf
#pragma once

#include "compiler/import/onnx/graph/Graph.h"

namespace attn::importer {

/// Text of the language, and how tightly its outermost operator binds.
struct Formula {
  /// Operators from the one that binds least tightly.
  enum Level { Choice, Or, And, Not, Comparison, Sum, Product, Minus, Power, Primary };
  std::string text;
  Level level = Primary;

  /// The text, in parentheses where it binds less tightly than `least`.
  std::string at(Level least) const { return level < least ? "(" + text + ")" : text; }
};

/// Where an element is along an axis: a formula, and the axis of the whole that it counts along;
/// -1 where it is a number.
struct Place {
  std::string text;
  int axis;
};
/// Where an element is.
using Places = llvm::SmallVector<Place, 4>;

/// What reads an input of the graph at places.
using InputReader = llvm::function_ref<std::optional<Formula>(int value, llvm::ArrayRef<Place>)>;

/// The element of a value at places; nothing where it is made of more than positions, constants
/// and inputs.
std::optional<Formula> formulaOf(const Graph &graph, int value, llvm::ArrayRef<Place> places,
                                 InputReader read);

/// A number as the language writes it, as short as a float of 32 bits needs.
std::string floatText(double number);

} // namespace attn::importer
