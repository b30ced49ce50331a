// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax tree -> attn-stage module. Names are resolved, sizes computed, axes checked and ops built
// in one walk: an expression becomes a `SemaValue`, and one that was reported as wrong an error
// value, about which nothing more is said. A block is checked and built where it is applied, once
// for each set of sizes.
//
// The walk is functions, a header for each topic. What they share is `Sema`, whose parts are the
// state of one topic each; a function that needs one part takes that alone.
#pragma once

#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/sema/Reporter.h"
#include "compiler/frontend/sema/Scopes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <set>

namespace attn::frontend {

/// A named intermediate.
struct Tap {
  std::string name;
  mlir::Value value;
  mlir::Location place; ///< What computes it, however many calls are around that.
};

/// The named intermediates that a function gives beside its results.
struct Taps {
  std::vector<Tap> list;
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> counts; ///< Of each name, how often it came again.
};

/// One function made of a block.
struct Instance {
  mlir::func::FuncOp function;
  std::vector<Axes> parameters, results;
  std::vector<Tap> taps; ///< The function's further results; values are those inside.
  /// Axes that the block does not speak of: of each parameter, and of every result. Inside, and as
  /// they are called outside.
  std::vector<Axes> lifted;
  Axes everyLifted, everyLiftedOutside;
  /// What axes of its parameters are where the block is applied, by what they are called in it.
  std::map<std::string, Axis> outerAxes;
  std::vector<Decl *> caches; ///< Of each parameter, null where that takes a tensor.
  /// Tensors of the caller that a static reads: the function's last arguments.
  std::vector<mlir::Value> captures;
  bool wrong = false;
  bool active = false; ///< Being built.
};

/// Something that is warned of where nothing uses it.
struct Usage {
  std::string what, name;
  bool isParameter, used;
};

/// The names of the spec, and the scope in which they are looked up.
struct Names {
  Names() {
    library.parent = &used;
    modelScope.parent = &library;
    library.model = &modelScope;
    scope = &modelScope;
  }
  // Scopes point at each other.
  Names(const Names &) = delete;
  Names &operator=(const Names &) = delete;

  const ast::ModelDecl *model = nullptr;
  const ast::ImageDecl *image = nullptr;
  const ast::SoundDecl *sound = nullptr;
  bool imageUsed = false, soundUsed = false;
  const ast::EntryDecl *forward = nullptr;
  std::vector<std::unique_ptr<ast::File>> usedFiles;
  Scope used;    ///< What stands in files that are used.
  Scope library; ///< What stands outside of the model.
  Scope modelScope;
  Scope *scope = nullptr;                                ///< Where names are looked up now.
  std::map<std::pair<uint32_t, uint32_t>, Usage> usages; ///< By the place of the name.
};

/// What sizes are computed from.
struct Sizes {
  std::optional<llvm::json::Value> config; ///< config.json, once something of it was asked for.
  bool configFailed = false;               ///< It could not be read, which was reported.
  std::vector<const Decl *> computing;     ///< Dims, each needed by the one before.
  llvm::StringMap<int64_t> entryDims; ///< Dims of entries known only when running; their bounds.
};

/// An entry whose function is built.
struct BuiltEntry {
  mlir::func::FuncOp function;
  const ast::EntryDecl *entry;
  llvm::SmallVector<Decl *> caches;
  Decl *counter; ///< EntryState::counter
  Axis rows;     ///< The positions that it adds, where there is a counter.
};

/// The entry that is built, and what all of them do with caches.
struct EntryState {
  const ast::EntryDecl *entry = nullptr; ///< Null where a block is built that nothing applies.
  const ast::Name *name = nullptr;       ///< Of its signature.
  llvm::SmallVector<Decl *> caches;      ///< What the entry takes.
  /// The first of them, whose positions the dim in the entry's brackets counts; null without one.
  Decl *counter = nullptr;
  std::vector<Axes> parameters, results;
  llvm::SmallVector<mlir::Type> inputs, outputs;
  /// Where attn.pushes and attn.kepts were written.
  llvm::DenseMap<mlir::Operation *, SourceRange> pushes;
  std::vector<BuiltEntry> built;

  /// Whether the entry does only a part of what `forward` says.
  bool isPart() const { return entry && (!entry->without.empty() || !entry->only.empty()); }
};

/// A function that is built.
struct Frame {
  mlir::func::FuncOp function;
  Instance *instance; ///< Null for an entry.
  const Scope *scope; ///< Of its body.
};

/// The functions that are built, and of the innermost what its body needs.
struct FunctionState {
  std::vector<Frame> frames;    ///< Each inside of the one before.
  Taps taps;                    ///< Of the function being built.
  mlir::Value layer;            ///< The number of the layer, in a block of a stack.
  const Owner *owner = nullptr; ///< Of the block being built.
  unsigned depth = 0;           ///< Of blocks applied in blocks.
  unsigned bodies = 0;          ///< Scopes of bodies so far.
  unsigned homes = 0;           ///< Of statics whose expressions are being evaluated.
};

/// The functions that blocks have become.
struct Blocks {
  std::map<std::string, Instance> instances; ///< By block, owner, sizes and statics.
  std::set<const ast::BlockDecl *> applied;  ///< Blocks that were built, or could not be.
};

/// The statement that is built.
struct Statement {
  std::string context;                           ///< The `let`, block or entry that it is in.
  std::map<std::string, SourceRange> namedLater; ///< By the `let`s of the body being built.
  unsigned evalDepth = 0;                        ///< Of expressions, through blocks.
};

/// The parameters, and the tensors of the checkpoint that they are bound to.
struct Checkpoint {
  /// A parameter that is bound to a tensor.
  struct Bound {
    std::string path, symbol;
    SourceRange range;
  };
  /// Two parameters that no layer may read both of: their symbols, and the error otherwise.
  struct Apart {
    std::string first, second;
    std::function<void()> report;
  };
  /// By path: one, or several that are of different layers.
  llvm::StringMap<llvm::SmallVector<ParamRef, 1>> params;
  int64_t tensors = 0; ///< Of the checkpoint, each layer's counted.
  /// By tensor and offset in it: who is bound there.
  std::map<std::pair<std::string, int64_t>, std::vector<Bound>> bindings;
  std::vector<Apart> apart; ///< What is decided when it is known which layers read what.
};

/// Constants that one function gives together: elements of attn.table.
using Constants = llvm::SmallVector<mlir::Attribute, 2>;

/// Tables and other constants that were computed.
struct ConstantTables {
  std::map<std::string, Constants> constants; ///< By what they are, and their sizes.
  int64_t elements = 0;
  double steps = 0; ///< Of formulas of tables.
};

/// What was spent so far.
struct Limits {
  size_t spent = 0;                                     ///< Expressions and declarations.
  llvm::DenseMap<mlir::Operation *, double> operations; ///< Of functions.
};

/// Where an attn.lookup or an attn.pick was written.
struct Lookup {
  std::string name; ///< Of the embedding, or of the axis.
  SourceRange table, place;
};

/// The module that is built. Dims and parameters are its header, before all functions.
struct Output {
  explicit Output(mlir::MLIRContext &context) : header(&context) {}

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder header;                ///< Of dims and parameters.
  mlir::Operation *lastHeader = nullptr; ///< The last of them.
  std::set<std::string> symbols;
  llvm::DenseMap<mlir::Operation *, Lookup> lookups; ///< The attn.lookups and attn.picks.
};

/// What the walk over a spec shares. It lives as long as that: `buildModel` makes it.
struct Sema {
  Sema(SourceFile &source, const FrontendOptions &options, mlir::MLIRContext &context,
       DiagnosticEngine &diagnostics)
      : source(source), options(options), mlirContext(context), report(source, diagnostics),
        output(context), builder(&context) {}

  SourceFile &source;
  const FrontendOptions &options;
  mlir::MLIRContext &mlirContext;
  Reporter report;
  Names names;
  Sizes sizes;
  Checkpoint checkpoint;
  Blocks blocks;
  EntryState entry;
  FunctionState function;
  Statement statement;
  ConstantTables tables;
  Limits limits;
  Output output;
  mlir::OpBuilder builder; ///< In the function being built.
};

} // namespace attn::frontend
