// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What patterns look for in a graph: a node behind those that change nothing, an initializer, the
// factors of a product.
#pragma once

#include "compiler/import/onnx/graph/Operations.h"
#include <cmath>

namespace attn::importer {

/// Whether a constant of a formula is this number, as floats keep it.
inline bool isNear(double a, double b) { return std::fabs(a - b) <= 2e-4 * std::fabs(b); }

/// Looks at a graph without changing it.
class Patterns {
public:
  explicit Patterns(const Graph &graph) : looked(graph) {}

  /// What a value is of, behind nodes that change nothing: Identity, Dropout, Cast among floats.
  int strip(int value) const;
  /// The node that gives a value behind those; null where it is of another type.
  const GraphNode *from(int value, llvm::StringRef type) const;
  /// An initializer, perhaps turned by a Transpose or behind an Identity.
  std::optional<Weight> weightOf(int value) const;
  /// The same with one axis of this size, or none of more than one element beside it.
  std::optional<Weight> vectorOf(int value, const Quantity &size) const;
  /// Of a node of two inputs, that beside this number; -1 where none is.
  int besideNumber(const GraphNode &node, double number) const;
  /// The node `Push` behind views of what it gives; null where there is none.
  const GraphNode *pushBehind(int value) const;
  /// Whether two values are one, or given by equal nodes.
  bool areSame(int a, int b) const;

  /// A product: a number, and the values that are no numbers.
  struct Product {
    double number = 1;
    llvm::SmallVector<int, 4> factors;
  };
  /// The factors of a value.
  Product productOf(int value, unsigned depth = 0) const;
  /// Whether a product is this number times this power of `x`.
  bool isPower(const Product &product, int x, unsigned power, double number) const;

  /// The x of what is x less its mean, divided by its deviation; with `isRms` its mean is not
  /// taken off.
  struct Normed {
    int x;
    double eps;
    bool isRms;
  };
  /// What a value is the normed form of.
  std::optional<Normed> normed(int value) const;
  /// Whether a value is what GELU's form by tanh takes the tanh of.
  bool isTanhArgument(int value, int x) const;
  /// Whether the product of queries and keys is somewhere behind a value.
  bool leadsToProduct(int value) const;

  /// The base of rotary positions whose cosines and sines are these, for as many pairs; nothing
  /// where they are no such.
  std::optional<double> rotaryBase(int cosines, int sines, size_t pairs) const;
  /// The x of which a value is the halves in the other order, the second one negative; -1 where it
  /// is none.
  int turnedOf(int value) const;

private:
  /// What a value is of, behind views, parts from the beginning on and rows at their positions.
  int behindViews(int value) const;
  /// The frequencies that positions are multiplied by; empty where a value is no such product.
  std::vector<double> computedFrequencies(int angles, size_t pairs) const;
  /// The same, looking at no more nodes than are left.
  bool leadsToProduct(int value, unsigned &left) const;
  /// Of a quotient or a product, what is divided and what root it is divided by; -1 where it is
  /// none.
  std::pair<int, int> dividedByRoot(int value) const;

  const Graph &looked;
  mutable std::vector<int> stripped; ///< of each value that was asked for; -1: not yet
};

} // namespace attn::importer
