// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations -> the text of a spec: sizes, parameters under the names of their tensors, a block for
// layers, the entry.
#pragma once

#include "compiler/import/SpecNames.h"
#include "compiler/import/onnx/graph/Repeats.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

namespace attn::importer {

/// A value as the spec writes it, and its axes in their order; several axes may be one.
struct Written {
  Formula formula;
  llvm::SmallVector<AxisList, 4> axes;

  /// All axes, those that are one among them.
  AxisList all() const {
    AxisList every;
    for (const AxisList &group : axes)
      llvm::append_range(every, group);
    return every;
  }
};

/// A string of the language.
std::string quoted(llvm::StringRef text);

/// The declaration of a parameter.
struct Declared {
  std::string kind, path, rest;
  bool isAlone; ///< its rest says where its tensor is
};

/// The model with its entry, or the block of layers, under construction.
struct SpecScope {
  std::vector<Declared> declarations;
  std::string body;
  std::map<int, Written> values;
  std::map<std::string, std::string> declared; ///< paths of parameters, by what they are
  std::map<std::string, std::string> holders;  ///< of tensors, the parameter that is bound to each
  const Repeat *layers = nullptr;              ///< whose first layer a block is
  std::string prefix; ///< that names of its tensors have and its declarations lack
  SpecNames names;    ///< of its values and parameters
};

/// Writes the spec of a graph. It is used once.
class GraphWriter {
public:
  GraphWriter(Graph &graph, Axes &axes, const Views &views, std::vector<Operation> operations,
              std::vector<Misfit> &misfits, std::vector<OnnxOrigin> &origins)
      : graph(graph), axes(axes), views(views), operations(std::move(operations)), misfits(misfits),
        origins(origins) {}
  /// The text, not formatted yet; `weights` is where the spec finds them.
  std::string write(llvm::StringRef weights);

private:
  //===-- GraphWriter.cpp: the model ----------------------------------------------------------===//
  /// Finds layers, and makes what each takes and gives the same.
  void findLayers();
  /// Names the inputs that are used.
  void writeInputs(SpecScope &entry);
  /// Writes the entry around its body.
  void writeEntry(SpecScope &entry, llvm::raw_ostream &os);
  /// Writes the block of layers, and applies their stack.
  void writeLayers(const Repeat &repeat, SpecScope &entry);
  std::string dims();
  /// Writes the operations of a range.
  void writeRange(size_t begin, size_t end, SpecScope &scope);

  //===-- WriteOperations.cpp -----------------------------------------------------------------===//
  /// Writes an operation, in a line of its own where it needs one.
  void writeOperation(const Operation &operation, SpecScope &scope);
  /// Keeps a value for where it is used, named by a `let` where that is better.
  void settle(int value, Written written, llvm::StringRef name, SpecScope &scope);
  /// An operation as an expression; nothing of a view, and after an error.
  std::optional<Written> written(const Operation &operation, SpecScope &scope);
  /// What works element by element, where one side has all axes.
  Written writtenFormula(const Operation &operation, SpecScope &scope);
  /// A convolution: a linear map of patches, or of windows.
  Written writtenWindows(const Operation &operation, SpecScope &scope);
  /// Parts one behind the other.
  Written writtenConcat(const Operation &operation, SpecScope &scope);
  /// Rows of a table.
  Written writtenEmbedding(const Operation &operation, SpecScope &scope);
  /// An element of an axis, or some of them.
  Written writtenPart(const Operation &operation, SpecScope &scope);
  /// Rotary positions.
  Written writtenRotary(const Operation &operation, SpecScope &scope);
  /// A result of a scan (WriteRecurrent.cpp).
  std::optional<Written> writtenRecurrent(const Operation &operation, SpecScope &scope);
  /// A value with these axes last, each by itself.
  Written ending(int value, llvm::ArrayRef<int> last, SpecScope &scope);
  /// A reduction along axes.
  Written writtenReduce(const Operation &operation, SpecScope &scope);

  //===-- WriteAttend.cpp ---------------------------------------------------------------------===//
  /// An attention with its lines.
  std::optional<Written> writtenAttend(const Operation &operation, SpecScope &scope);
  /// What is added to scores, or with `isMask` which of them stay.
  std::optional<std::string> termText(const ScoreTerm &term, const Operation &operation,
                                      SpecScope &scope, bool &isMask);
  /// The name of the score, declared where it is no usual one.
  std::string scoreLine(const Operation &operation);

  //===-- WriteValues.cpp: names, axes, values ------------------------------------------------===//
  /// A value where it is used.
  Written valueOf(int value, SpecScope &scope);
  /// The same with each axis by itself.
  Written flat(int value, SpecScope &scope);
  /// A value with these axes in this order; empty lists stand for axes of one element.
  std::string arranged(Written value, llvm::ArrayRef<AxisList> wanted);
  /// The same, repeated along axes that it lacks.
  Written repeated(Written value, llvm::ArrayRef<int> wanted);
  std::string axisName(int axis);
  std::string axisName(llvm::ArrayRef<int> axes);
  std::string typeOf(llvm::ArrayRef<AxisList> places);
  /// Names a value in the body.
  void let(int value, Written written, llvm::StringRef name, SpecScope &scope);

  //===-- WriteParameters.cpp -----------------------------------------------------------------===//
  /// The path of a linear map, declared where it is not yet.
  std::string linear(const Operation &operation, SpecScope &scope);
  /// The same of a norm.
  std::string norm(const Operation &operation, SpecScope &scope);
  /// The same of a table.
  std::string embedding(const Operation &operation, SpecScope &scope);
  /// A weight as a tensor; an axis of one element at `place` stays.
  Written parameter(int value, SpecScope &scope, int place = -1);
  /// A slice of a vector of weights, of which others are the rest, as a parameter; nothing where it
  /// is none.
  std::optional<Written> slicedParameter(const Operation &operation, SpecScope &scope);
  /// The name of a tensor in the scope, with `{n}` for layers.
  std::string tensorName(int value, const SpecScope &scope) const;
  /// A path for a parameter, and where its tensors are: nothing where that follows from the path.
  struct PlaceOfTensors {
    std::string path, binding;
    bool isNatural; ///< the binding follows from the path
  };
  /// A path, and where the tensors are.
  PlaceOfTensors place(const GraphNode *node, int weight, int bias, llvm::StringRef kind,
                       SpecScope &scope);
  /// What a linear map is called that has no name.
  llvm::StringRef roleOf(const Operation &linear) const;
  /// A path that the language allows and nothing has.
  std::string freePath(llvm::StringRef wanted, SpecScope &scope);

  Graph &graph;
  Axes &axes;
  const Views &views;
  std::vector<Operation> operations;
  std::vector<Misfit> &misfits;
  std::vector<Repeat> repeats;
  Users users;
  SpecNames names; ///< of the model: its sizes, blocks, scores
  std::map<int, std::string> axisNames;
  std::vector<int> axisOrder;    ///< in which axes were named
  std::map<int, int64_t> bounds; ///< of sizes that are only named, by tables of positions
  std::map<std::string, std::string> scores;
  std::set<int> bound;
  std::string blocks;
  std::vector<OnnxOrigin> &origins; ///< of each line that names a value
  std::vector<std::string> caches;  ///< of each attention that pushes, by the order of writing
  std::map<const GraphNode *, std::string> scans; ///< what the results of each scan are called
  std::string cachedKeys;             ///< the axis of what caches hold; empty where there is none
  int cachedAxis = -1;                ///< the axis of what is pushed
  const GraphNode *current = nullptr; ///< whose operation is written
  std::map<int, std::string> packedWords; ///< the words of the parts of packed maps, by group
};

} // namespace attn::importer
