// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and what they stand for: a `Decl` for each declaration, in the `Scope` of its body.
#pragma once

#include "compiler/frontend/sema/Values.h"
#include "compiler/frontend/syntax/Ast.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <memory>

namespace attn::frontend {

struct TableFormula;
struct Scope;

/// A name and what it stands for.
struct Decl {
  /// What the name was declared as.
  enum class Kind {
    Dim,
    Linear,
    Embedding,
    Norm,
    Param,
    Table,
    Stack,
    Part,
    Block,
    Hook,
    Cache,
    State,
    Entry,
    Value,
    Static,
    Unsupported
  };
  Kind kind;
  const ast::Item *item = nullptr;
  SourceRange range; ///< Of the name.
  std::string name;
  bool used = false;
  /// Where names are looked up: those of a block or a hook outside of the model, which the model's
  /// names hide from the model alone; those of a static's `expr`, where it was written.
  Scope *home = nullptr;

  // Dim, Static
  const ast::Expr *expr = nullptr; ///< Null for a block's dim, which is bound by what is applied.
  /// How far the size of a dim has been found out: Active while it is, so that circles are seen.
  enum class State { New, Active, Done } state = State::New;
  Size size;
  bool dynamic = false;
  bool overridden = false; ///< By --set.
  bool isNew = false;      ///< The positions that the running entry adds to its cache.

  // Linear: weight and bias. Norm: those that it has. Param, Embedding: weight.
  const ast::Path *path = nullptr;
  const ast::Binding *binding = nullptr;
  const ast::Type *type = nullptr; ///< Of a Param.
  Axes from, to;
  Axes along; ///< Of a Linear: axes that its weights and what it is applied to share.
  ParamRef weight, bias;
  double eps = 0, offset = 0; ///< Of a norm.
  bool wrong = false;         ///< Reported already: uses of it stay silent.

  // Cache, whose capacity is `expr`.
  const ast::Name *dtype = nullptr; ///< As written; null: f32.
  mlir::Type element;               ///< Of a State: the type of the tensor.
  bool isSet = false;               ///< Of a State: by an entry.
  bool isOnce = false;              ///< It is filled by `once`, and not pushed to.
  SourceRange firstFilled;          ///< Where that was seen first.

  std::shared_ptr<TableFormula> formula;  ///< Of a table, whose axes are `to`.
  std::shared_ptr<Scope> with;            ///< Of a hook: its own parameters, once they are set up.
  std::shared_ptr<const Owner> withOwner; ///< Of a hook of a block: whose they are, and where it
  Scope *withScope = nullptr;             ///< is declared. Of a hook of the model, null.

  // Value
  SemaValue value;
  bool clashing = false;    ///< Another was declared by this name: uses may mean that one.
  bool isParameter = false; ///< Of a block or an entry: no warning where it is unused.
};

/// The names of a body, a model or a file, in the order of their declarations.
struct Scope {
  Scope *parent = nullptr;
  llvm::StringMap<std::unique_ptr<Decl>> names;
  std::vector<Decl *> order;
  unsigned number = 0; ///< Of a body: no other has it.
  /// Where dims are found that a declaration outside of the model, in its file, does not have
  /// itself.
  Scope *model = nullptr;
  /// By the name of a packed tensor and the last word of a path: its parts. Once they were asked
  /// for.
  using Parts = llvm::StringMap<const Decl *>;
  std::optional<std::map<std::pair<Decl::Kind, std::string>, Parts>> packed;

  /// The parameters of the same packed tensor as `decl`, which is one.
  const Parts &partsBeside(const Decl &decl);
  /// What a name stands for here or in the scopes around; null where it is unknown.
  Decl *find(llvm::StringRef name);
};

} // namespace attn::frontend
