// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax tree -> attn-stage module. Names are resolved, sizes computed, axes checked and ops built
// in one walk: an expression becomes a `SemaValue`, and one that was reported as wrong an error
// value, about which nothing more is said. A block is checked and built where it is applied, once
// for each set of sizes.
//
//   Sema.cpp          diagnostics, the file, the module; Limits.cpp: what may be too much
//   Declarations.cpp  names into scopes; dims, parameters and stacks of the model
//   Dims.cpp          sizes: --set and arithmetic; Config.cpp: config.json
//   Axes.cpp          axes and their names
//   Params.cpp        parameters and where they are in the checkpoint
//   Uses.cpp          the files that a spec uses
//   Blocks.cpp        blocks and stacks; Instances.cpp: their functions; Parts.cpp: parts;
//                     Bodies.cpp: bodies
//   Statics.cpp       what a block is given when compiling
//   Taps.cpp          named intermediates as outputs
//   Entries.cpp       entries and `forward`; Caches.cpp: caches; Images.cpp: pictures
//   Exprs.cpp         expressions; Tensors.cpp: their types, moves of axes
//   Apply.cpp         application; Functions.cpp: the functions that there are
//   Rearrange.cpp     pack, first, last, mean, relabel; Split.cpp: split
//   Types.cpp         element types; Lookups.cpp: embeddings and their indices
//   Tables.cpp        tables by formula; Rotary.cpp: rotary; Resize.cpp: resize
//   Attention.cpp     attend; AttendLines.cpp: its lines; Groups.cpp: heads in groups
//   Hooks.cpp         its hooks; Scores.cpp: scores; Elements.cpp: tensors in hooks
//   Formulas.cpp      what hooks consist of; FormulaValues.cpp: its values; Vectors.cpp: vectors;
//                     Outside.cpp: what is computed outside; AttentionRegions.cpp: the regions
#ifndef ATTN_COMPILER_FRONTEND_SEMA_SEMAIMPL_H
#define ATTN_COMPILER_FRONTEND_SEMA_SEMAIMPL_H

#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/syntax/Ast.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <set>

namespace attn::frontend {

/// The element type that a dtype names; null where it names none.
mlir::Type elementType(llvm::StringRef dtype, mlir::MLIRContext *context);

/// A size: `offset`, or `scale * dim + offset` in one dim that is known only when running.
struct Size {
  std::string dim;
  int64_t scale = 0, offset = 0;
  bool error = false;     ///< Reported already.
  std::string label = ""; ///< Of a dim that is another name for one known only when running.

  static Size of(int64_t value) { return {"", 0, value, false}; }
  static Size wrong() { return {"", 0, 1, true}; }
  bool isStatic() const { return dim.empty(); }
};

/// An axis: its name is its identity. `size` is mlir::ShapedType::kDynamic for a dynamic one, whose
/// name is its size, with what it is called and a colon before that where it differs.
struct Axis {
  std::string name;
  int64_t size = 1;

  bool isDynamic() const { return mlir::ShapedType::isDynamic(size); }
  bool operator==(const Axis &other) const { return name == other.name && size == other.size; }
  bool operator!=(const Axis &other) const { return !(*this == other); }
};
using Axes = llvm::SmallVector<Axis, 4>;

/// Of an axis, in letters.
constexpr size_t longestName = 1000;
/// `[B, T, D]`
std::string showAxes(llvm::ArrayRef<Axis> axes);
/// `[B, T, D]` of a tensor of f32, `i32[B, T]` of another.
std::string showTensor(mlir::Value value);
/// `H, E`
std::string listAxes(llvm::ArrayRef<Axis> axes);
/// The position of the axis that is called like `name`, or -1.
int findAxis(llvm::ArrayRef<Axis> axes, llvm::StringRef name);
/// What `inner`, an axis of a block that was written `expr`, is outside of it, where the block's
/// dims are `bound`.
Axis outerAxis(const Axis &inner, const ast::Expr &expr, const std::map<std::string, Axis> &bound);
/// The axes of a tensor.
Axes axesOfType(mlir::Type tensor);
Axes axesOfValue(mlir::Value value);
/// The product of sizes, nothing where it exceeds 2^48.
std::optional<int64_t> productOf(llvm::ArrayRef<int64_t> sizes);

/// What `op` makes of two numbers, where it makes a number; `a % b` has the sign of b.
std::optional<double> foldNumbers(ast::BinaryOp op, double a, double b);
/// The expression as one writes it, `1 + Y*X`: the name of an axis of that size. `rename` gives
/// other names to dims.
std::string canonicalText(const ast::Expr &expr,
                          llvm::function_ref<std::string(llvm::StringRef)> rename = nullptr);

/// How tightly an operator binds; 1 for those that give a truth value and for `??`.
unsigned precedence(const ast::Expr &expr);
/// Where the values of the first `return` stand.
std::vector<SourceRange> returnPlaces(const std::vector<ast::ItemPtr> &items);
/// The type of a tensor's elements.
mlir::Type elementOf(mlir::Value value);
/// `value` as an f32.
mlir::Value constantOf(mlir::OpBuilder &builder, mlir::Location loc, double value);

struct Decl;

/// What an expression is.
struct SemaValue {
  enum class Kind { Error, Number, Tensor, Cache };
  Kind kind = Kind::Error;
  double number = 0;
  mlir::Value tensor;
  Decl *cache = nullptr;

  static SemaValue wrong() { return {}; }
  static SemaValue of(double number) { return {Kind::Number, number, {}}; }
  static SemaValue of(mlir::Value tensor) { return {Kind::Tensor, 0, tensor}; }
  static SemaValue of(Decl *cache) { return {Kind::Cache, 0, {}, cache}; }
  bool isCache() const { return kind == Kind::Cache; }
  bool isError() const { return kind == Kind::Error; }
  bool isNumber() const { return kind == Kind::Number; }
  bool isTensor() const { return kind == Kind::Tensor; }
};

/// Whose parameters: the model's own, or those of the layers of a stack.
struct Owner {
  std::string prefix;            ///< Of tensor names: "", "blocks.{n}.", "layers."
  std::string stackPrefix;       ///< The same without the layer, for patterns that hold `{n}`.
  std::string symbolPrefix;      ///< Of the names of attn.param: "", "blocks."
  std::optional<int64_t> layers; ///< Where every layer has its own.
  int64_t layerCount = 1;        ///< Of the stack.
  bool inStack = false;
};

/// A parameter as an attn.param. Without a type: reported as wrong.
struct ParamRef {
  std::string symbol;
  mlir::RankedTensorType type;
  bool perLayer = false;
  SourceAttr source;
};

struct TableFormula;

/// A name and what it stands for.
struct Scope;
struct Decl {
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
  /// Of a block or a hook outside of the model: where its names are looked up, which the model's
  /// hide from the model alone. Of a static: where its `expr` was written.
  Scope *home = nullptr;

  // Dim, Static
  const ast::Expr *expr = nullptr; ///< Null for a block's dim, which is bound by what is applied.
  enum class State { New, Active, Done } state = State::New;
  Size size;
  bool dynamic = false;
  bool overridden = false; ///< By --set.
  bool isNew = false;      ///< The positions that the running entry adds to its cache.

  // Linear: weight and bias. Norm: gamma and beta. Param, Embedding: weight.
  const ast::Path *path = nullptr;
  const ast::Binding *binding = nullptr;
  const ast::Type *type = nullptr; ///< Of a Param.
  Axes from, to;
  ParamRef weight, bias;
  double eps = 0;
  bool wrong = false; ///< Reported already: uses of it stay silent.

  mlir::Type element; ///< Of a cache.

  std::shared_ptr<TableFormula> formula; ///< Of a table, whose axes are `to`.
  std::shared_ptr<Scope> with;           ///< Of a hook: its own parameters, once they are set up.

  // Value
  SemaValue value;
  bool clashing = false;    ///< Another was declared by this name: uses may mean that one.
  bool isParameter = false; ///< Of a block or an entry: no warning where it is unused.
};

struct Scope {
  Scope *parent = nullptr;
  llvm::StringMap<std::unique_ptr<Decl>> names;
  std::vector<Decl *> order;
  unsigned number = 0; ///< Of a body: no other has it.
  /// Of what stands outside of the model in its file: where dims are found that it does not have.
  Scope *model = nullptr;
  /// By the name of a packed tensor and the last word of a path: its parts. Once they were asked
  /// for.
  using Parts = llvm::StringMap<const Decl *>;
  std::optional<std::map<std::pair<Decl::Kind, std::string>, Parts>> packed;

  /// The parameters of the same packed tensor as `decl`, which is one.
  const Parts &partsBeside(const Decl &decl);
  Decl *find(llvm::StringRef name);
};

/// The named intermediates that a function gives beside its results.
struct Taps {
  std::vector<std::pair<std::string, mlir::Value>> list;
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> counts; ///< Of each name, how often it came again.
};

/// One function made of a block.
struct Instance {
  mlir::func::FuncOp function;
  std::vector<Axes> parameters, results;
  std::vector<std::string> taps; ///< Names of the function's further results.
  /// Axes that the block does not speak of: of each parameter, and of every result. Inside, and as
  /// they are called outside.
  std::vector<Axes> lifted;
  Axes everyLifted, everyLiftedOutside;
  /// What axes of its parameters are where the block is applied, by what they are called in it.
  std::map<std::string, Axis> outerAxes;
  /// Tensors of the caller that a static reads: the function's last arguments.
  std::vector<mlir::Value> captures;
  bool wrong = false;
  bool active = false; ///< Being built.
};

struct Formula;
struct FormulaValue;
class AttentionRegions;

class Sema {
public:
  Sema(SourceFile &source, const FrontendOptions &options, mlir::MLIRContext &context,
       DiagnosticEngine &diagnostics);
  mlir::OwningOpRef<mlir::ModuleOp> run(const ast::File &file);
  /// The files that the spec uses, after `run`.
  std::vector<std::unique_ptr<ast::File>> takeUses() { return std::move(usedFiles); }

private:
  // Diagnostics. One about the same thing at the same place is said once, however often a block is
  // built.
  Diagnostic &error(DiagCode code, SourceRange range, const llvm::Twine &message);
  Diagnostic &warning(DiagCode code, SourceRange range, const llvm::Twine &message);
  /// `meanwhile`: what to write instead, if there is something.
  void unsupported(SourceRange range, const llvm::Twine &what, const llvm::Twine &meanwhile = "");
  /// Adds "did you mean" where a name in scope is near.
  void suggest(Diagnostic &diagnostic, llvm::StringRef name,
               llvm::function_ref<bool(const Decl &)> filter = nullptr);
  /// "D = 768 (line 4), H = 12 (line 4)": the dims that axes consist of.
  std::string whereSizes(llvm::ArrayRef<Axis> axes);
  /// Adds how axes differ that are called alike: "`T` is 4 here and 5 there".
  static void noteSameNames(Diagnostic &diagnostic, llvm::ArrayRef<Axis> here,
                            llvm::ArrayRef<Axis> there);
  bool isFirst(DiagCode code, SourceRange range);
  /// Tells an editor.
  void recordType(SourceRange range, const SemaValue &value);
  bool isQuiet(DiagCode code) const;

  // Limits.cpp
  /// Counts expressions and declarations, those of a block each time that it is built. False where
  /// there are too many; the first time, that is reported.
  bool spend(size_t count, SourceRange range);
  /// False, and reported, where a tensor would have too many axes.
  bool checkRank(size_t count, SourceRange range);
  /// False, and reported, where a signature names too many tensors.
  bool checkLength(const ast::Signature &signature);
  /// False, and reported, where a call of an entry would never end.
  bool checkOperations(mlir::func::FuncOp entry, SourceRange place);
  double operationsOf(mlir::func::FuncOp function);

  // Sema.cpp
  void checkFile(const ast::File &file);
  /// Remembers what of `scope` is unused; said at the end, if there are no errors.
  void noteUnused(Scope &scope);
  void warnUnused();
  /// Lets `paramBuilder` go on behind the last dim or parameter.
  void headerHere();
  std::string uniqueSymbol(llvm::StringRef name);

  // Uses.cpp
  /// Declares what the files hold that `file` uses, and those that they use; false after an error.
  bool declareUses(const ast::File &file);
  std::unique_ptr<ast::File> readUse(const ast::UseDecl &use, std::set<std::string> &seen);

  // Declarations.cpp
  void declareModel(const ast::ModelDecl &model);
  void declareStack(Decl &stack);
  Decl *declare(Scope &scope, Decl::Kind kind, const ast::Item *item, llvm::StringRef name,
                SourceRange range);
  void declareItem(Scope &scope, const ast::Item &item);
  /// Those with an `if` or those without.
  void declareItems(Scope &scope, const std::vector<ast::ItemPtr> &items, bool conditional);
  Decl *findBlock(const ast::Name &name);

  // Entries.cpp, Images.cpp
  void buildEntries();
  void buildEntry(const ast::EntryDecl &entry);
  /// `entry`, or the `forward` that it is made from; null after an error.
  const ast::EntryDecl *entryTemplate(const ast::EntryDecl &entry);
  bool bindEntryDims(const ast::EntryDecl &entry, const ast::Signature &signature, Scope &inside);
  bool readSignature(const ast::EntryDecl &entry, const ast::Signature &signature, Scope &inside);
  void buildEntryBody(const ast::EntryDecl &entry, const ast::EntryDecl &body, Scope &inside);
  std::vector<SemaValue> takeLast(const ast::EntryDecl &entry, std::vector<SemaValue> values);
  void nameEntry(const ast::EntryDecl &entry, const ast::Signature &signature,
                 mlir::func::FuncOp function);
  mlir::DictionaryAttr imageAttr(const ast::EntryDecl &entry, const ast::Parameter &parameter,
                                 llvm::ArrayRef<Axis> axes);
  void checkImage();
  std::optional<std::vector<double>> imageChannels(const std::vector<ast::ExprPtr> &values,
                                                   llvm::StringRef what, double byDefault);

  // Caches.cpp
  void declareCache(Decl &cache);
  /// The cache that a signature takes, its name and declaration; false after an error.
  bool findEntryCache(const ast::Signature &signature);
  /// Whether an axis counts the positions that the running entry adds to its cache.
  bool isNewAxis(const Axis &axis);
  /// The axis of all positions in the cache of the running entry.
  Axis cacheAxis() const;
  /// Of a table along all positions in the cache, those that are new.
  mlir::Value newRows(mlir::Value table, const Axis &axis, SourceRange range);
  /// The cache that `expr` names; null where it is something else.
  Decl *cacheNamed(const ast::Expr &expr);
  /// The cache that `expr` pushes to: `kv.push(k, v)`; null where it is no such call.
  Decl *pushedTo(const ast::Expr &expr);
  /// Keys and values with all that the cache holds, or nothing after an error.
  std::vector<SemaValue> evalPush(const ast::CallExpr &call, const ast::AlongAxis &along);
  mlir::Value pushRows(mlir::Value rows, llvm::StringRef part, const ast::CallExpr &call,
                       const ast::Expr &expr, const ast::AlongAxis &along);
  /// Whether a key axis is that of a cache.
  bool isCacheAxis(const Axis &axis) const;
  void checkPushes(mlir::func::FuncOp entry, SourceRange place);

  // Bodies.cpp
  std::vector<SemaValue> buildBody(const std::vector<ast::ItemPtr> &items, SourceRange end,
                                   const ast::Signature &signature);
  void buildLet(const ast::LetStmt &let);
  /// The values of an expression that may give several; one wrong one stands for all.
  std::vector<SemaValue> evalSeveral(const ast::Expr &expr);
  /// Takes from `declared` the axes that the block being built does not speak of and a result of
  /// `axes` does not have: it depends on none of the parameters that have them.
  void dropLifted(Axes &declared, llvm::ArrayRef<Axis> axes);
  std::vector<mlir::Value> checkResults(llvm::ArrayRef<SemaValue> values,
                                        llvm::ArrayRef<SourceRange> places,
                                        const ast::Signature &signature,
                                        llvm::MutableArrayRef<Axes> declared,
                                        llvm::ArrayRef<mlir::Type> types);

  // Taps.cpp. Without FrontendOptions::taps they do nothing.
  void addTap(const llvm::Twine &name, mlir::Value value);
  void tapPattern(const ast::Pattern &pattern);
  void tapLet(const ast::LetStmt &let);
  /// The callee's taps are the caller's too, `name` before theirs.
  void tapCall(const Instance &instance, mlir::func::CallOp call, const llvm::Twine &name);
  /// A stack's layers as calls one after the other; its result.
  mlir::Value tapLayers(const Instance &instance, llvm::ArrayRef<mlir::Value> operands,
                        int64_t layers, llvm::StringRef name, mlir::Location loc);
  /// Ends `function` with its results and its taps.
  void buildReturn(mlir::func::FuncOp function, SourceRange place,
                   std::vector<mlir::Value> results);

  // Instances.cpp, Blocks.cpp
  /// What a stack or a part says of its block, and where.
  struct Given {
    llvm::ArrayRef<ast::DimArgument> dims;
    llvm::ArrayRef<ast::Argument> statics;
    Scope *scope = nullptr;
  };
  Instance *instantiate(Decl &decl, const Owner &owner, llvm::ArrayRef<SemaValue> arguments,
                        const ast::CallExpr &call, const Given &given,
                        std::map<std::string, Axis> &bound);
  bool bindBlockDims(const ast::BlockDecl &block, llvm::ArrayRef<SemaValue> arguments,
                     const ast::CallExpr &call, std::map<std::string, Axis> &bound,
                     std::vector<Axes> &lifted);
  bool checkBlockArguments(const Instance &instance, const ast::BlockDecl &block,
                           llvm::ArrayRef<SemaValue> arguments, const ast::CallExpr &call,
                           const std::map<std::string, Axis> &bound);
  /// Names for lifted axes that a block does not use itself.
  void nameLifted(Instance &instance, const ast::BlockDecl &block);
  void buildInstance(Instance &instance, const ast::BlockDecl &block, const Owner &owner,
                     Scope &scope);
  SemaValue applyStack(Decl &decl, const ast::CallExpr &call);
  llvm::SmallVector<mlir::Value> blockOperands(const Instance &instance, const ast::CallExpr &call,
                                               llvm::ArrayRef<SemaValue> arguments);
  std::vector<SemaValue> applyBlock(Decl &decl, const ast::CallExpr &call);
  SemaValue outside(mlir::Value result, const Instance &instance, const ast::BlockDecl &block,
                    size_t number, const std::map<std::string, Axis> &bound, SourceRange range);
  /// The tensors that a call gives; those of its arguments that have names are statics.
  std::optional<std::vector<SemaValue>> tensorArguments(const ast::CallExpr &call,
                                                        llvm::StringRef name);

  // Parts.cpp
  void declarePart(Decl &part);
  std::vector<SemaValue> applyPart(Decl &part, const ast::CallExpr &call);
  std::optional<Owner> ownerOfPart(const Decl &part);
  std::vector<SemaValue> callBlock(Decl &block, llvm::StringRef name, const Owner &owner,
                                   const ast::CallExpr &call, const Given &given);

  // Statics.cpp
  /// Declares a block's statics in the scope of its body; what tells them from others, or nothing
  /// and reported.
  std::optional<std::string> bindStatics(const ast::BlockDecl &block, const ast::CallExpr &call,
                                         const Given &given, Scope &inside);
  /// What `evaluate` makes of a static's expression, where that was written.
  template <typename Evaluate> auto atHome(const Decl &decl, Evaluate evaluate) {
    Scope *outer = std::exchange(scope, decl.home);
    ++homes;
    auto value = evaluate(*decl.expr);
    --homes;
    scope = outer;
    return value;
  }
  /// `true`, `false` and statics that are, `not`, `and`, `or` of them; reports nothing.
  std::optional<bool> knownTruth(const ast::Expr &expr);
  /// How many axes stand before the last `own`, if all of them are lifted ones; else 0.
  size_t liftedBefore(llvm::ArrayRef<Axis> axes, size_t own);
  /// A value of a function around the one being built, as an argument of this.
  mlir::Value here(mlir::Value value);
  mlir::Value here(mlir::Value value, size_t frame);
  mlir::Value toParameter(mlir::Value value, const Axes &axes, SourceRange range);

  /// Finds what is wrong, whatever the sizes, in blocks that nothing applies and in scores that no
  /// attention names.
  void checkUnapplied();
  void checkUnapplied(const Decl &decl);

  // Dims.cpp, Config.cpp, Axes.cpp
  void applySets();
  void loadConfig();
  const Size &sizeOf(Decl &dim);
  Size evalSize(const ast::Expr &expr);
  Size evalSizeBinary(const ast::BinaryExpr &binary);
  Size evalSizePath(const ast::PathExpr &path);
  Size divide(const ast::BinaryExpr &binary, const Size &left, const Size &right);
  bool isConfig(const ast::Expr &expr);
  const llvm::json::Value *configValue(const ast::PathExpr &path);
  std::optional<double> configNumber(const ast::PathExpr &path);
  std::optional<bool> evalCondition(const ast::Expr &expr);
  /// Nothing where it was reported.
  std::optional<Axis> axisOf(const ast::Expr &expr);
  std::optional<Axes> axesOf(const std::vector<ast::ExprPtr> &exprs, SourceRange range,
                             bool sizesOnly = false);
  Axis axisOfSize(const std::string &name, const Size &size);
  /// "D = 8 (line 3), H = 2 (--set)": the dims in an expression.
  std::string describeSizes(const ast::Expr &expr);
  void noteSizes(Diagnostic &diagnostic, const ast::Expr &expr);
  void emitDim(const Decl &decl, int64_t size, bool isDynamic);
  void emitDims(Scope &scope);

  // Types.cpp
  /// What a type may be: of what stands in memory of the caller, of what stays inside of the model,
  /// of a parameter.
  enum class TypePlace { Entry, Block, Param };
  std::optional<Axes> typeAxes(const ast::Type &type, llvm::StringRef what, TypePlace place);
  /// Appends a type of a signature to both lists; false after an error.
  bool readType(const ast::Type &type, std::vector<Axes> &axes,
                llvm::SmallVectorImpl<mlir::Type> &types, llvm::StringRef what, TypePlace place);
  mlir::Type declaredElement(const ast::Type &type);
  /// Whether a tensor can be calculated with; says so where it holds integers or truth values.
  bool isCalculable(mlir::Value value, SourceRange range);
  /// `value` as elements of another float type.
  mlir::Value convert(mlir::Value value, mlir::Type element, mlir::Location loc);

  // Bindings.cpp
  std::optional<std::string> tensorName(const ast::Binding &binding, const Owner &owner,
                                        llvm::StringRef path, llvm::StringRef suffix,
                                        unsigned names);
  bool checkPattern(const ast::Name &pattern, const Owner &owner, bool weightOrBias);
  bool checkLayouts(const ast::Binding &binding, bool linear, bool &conv1d);
  const ParamRef *tiedTarget(const ast::Binding &binding, Scope &scope, const Decl &self);

  // Params.cpp
  void setUpShapes(Scope &scope);
  void setUpParameters(Scope &scope, const Owner &owner);
  void setUpLinear(Decl &decl, const Owner &owner, Scope &scope);
  void setUpNorm(Decl &decl, const Owner &owner, Scope &scope);
  void setUpParam(Decl &decl, const Owner &owner, Scope &scope);
  /// A tensor of the checkpoint that is bound as a whole, or tied to one.
  ParamRef packedParam(Decl &decl, const Owner &owner, Scope &scope, const ast::Binding &binding);
  ParamRef wholeParam(Decl &decl, const Owner &owner, Scope &scope, const ast::Binding &binding,
                      llvm::StringRef suffix, unsigned names);

  // Lookups.cpp
  void setUpEmbedding(Decl &decl, const Owner &owner, Scope &scope);
  SemaValue applyEmbedding(Decl &decl, const ast::CallExpr &call);
  SemaValue callPositions(const ast::CallExpr &call);
  /// Says of every entry's input what its indices must be below; reports those known to be beyond.
  void boundIndices();

  // Tables.cpp, Rotary.cpp
  void setUpTable(Decl &decl);
  SemaValue tableValue(Decl &decl, SourceRange range);
  /// An attn.table of `elements`, which go up to the bounds of dynamic axes.
  mlir::Value makeTable(llvm::ArrayRef<Axis> axes, mlir::DenseElementsAttr elements,
                        mlir::Location loc);
  /// Constants of these axes, dynamic ones at their bounds: `count` of them, which `compute` gives
  /// for their sizes. They are computed once for each `key` and sizes. None after an error: too
  /// many elements in the model, or what `compute` reports.
  using Constants = llvm::SmallVector<mlir::DenseElementsAttr, 2>;
  llvm::ArrayRef<mlir::DenseElementsAttr>
  constantsOf(llvm::ArrayRef<Axis> axes, int64_t count, llvm::StringRef key, SourceRange range,
              llvm::function_ref<Constants(llvm::ArrayRef<int64_t>)> compute);
  SemaValue callRotary(const ast::CallExpr &call);

  // Resize.cpp
  SemaValue callResize(const ast::CallExpr &call);
  /// Null after an error.
  mlir::Value resizeAxis(mlir::Value value, int at, const Axis &to, bool isCubic,
                         SourceRange range);
  struct Packing {
    int64_t total = 0, offset = 0;
    llvm::SmallVector<int64_t, 4> strides;
  };
  std::optional<Packing> packing(const Decl &decl, const ast::LinearDecl &linear, Scope &scope);
  std::optional<Packing> splitPacking(const Decl &decl, const ast::LinearDecl &linear,
                                      Scope &scope);
  ParamRef makeParam(const Owner &owner, llvm::StringRef path, llvm::ArrayRef<Axis> axes,
                     llvm::StringRef pattern, llvm::ArrayRef<int64_t> shape, int64_t offset,
                     llvm::ArrayRef<int64_t> strides, bool optional, SourceRange range,
                     bool isTied = false);
  mlir::Value getParam(const ParamRef &param, mlir::Location loc);

  // Exprs.cpp, Tensors.cpp, Apply.cpp, Functions.cpp
  SemaValue eval(const ast::Expr &expr);
  SemaValue theOnly(const std::vector<SemaValue> &values, const ast::Expr &expr);
  SemaValue evalNode(const ast::Expr &expr);
  SemaValue evalPath(const ast::PathExpr &path);
  SemaValue evalCall(const ast::CallExpr &call);
  SemaValue evalBinary(const ast::BinaryExpr &binary);
  SemaValue evalUnary(const ast::UnaryExpr &unary);
  SemaValue evalIf(const ast::IfExpr &choice);
  SemaValue callBuiltin(const ast::CallExpr &call, llvm::StringRef name);
  SemaValue callMath(const ast::CallExpr &call, llvm::StringRef name);
  SemaValue applyLinear(Decl &decl, const ast::CallExpr &call);
  /// `decl` of `input`, which is what `call`'s argument is; null after an error.
  mlir::Value applyLinear(Decl &decl, const ast::CallExpr &call, mlir::Value input);
  SemaValue applyNorm(Decl &decl, const ast::CallExpr &call);
  /// The value of an expression that must be a tensor, of numbers unless `anyElement`.
  mlir::Value evalTensor(const ast::Expr &expr, const llvm::Twine &what, bool anyElement = false);
  std::optional<double> evalNumber(const ast::Expr &expr, const llvm::Twine &what);
  /// The single tensor that something is applied to; null where that was wrong.
  mlir::Value theArgument(const ast::CallExpr &call, llvm::StringRef name);
  bool plainArguments(const ast::CallExpr &call, llvm::StringRef name, unsigned least,
                      unsigned most, llvm::StringRef usage);
  /// `value` with `taken` as its last axes, in that order; null and reported where it lacks one.
  mlir::Value withLast(mlir::Value value, llvm::ArrayRef<Axis> taken, mlir::Location loc);
  mlir::Value permute(mlir::Value value, llvm::ArrayRef<int64_t> order, mlir::Location loc);
  mlir::Value relabel(mlir::Value value, llvm::ArrayRef<Axis> axes, mlir::Location loc);
  using ScalarBody =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
  mlir::Value makeMap(llvm::ArrayRef<mlir::Value> inputs, llvm::ArrayRef<Axis> axes,
                      mlir::Location loc, ScalarBody body);
  /// The type of a tensor; null and reported where it is beyond all reason large.
  mlir::RankedTensorType tensorType(llvm::ArrayRef<Axis> axes, SourceRange range,
                                    mlir::Type element = {});
  /// The bound of a dim that is known only when running; nothing where there is none.
  std::optional<int64_t> boundOfDim(llvm::StringRef name) const;
  /// The size of an axis, or the most that it may be.
  int64_t boundOf(const Axis &axis) const;
  mlir::Location locate(SourceRange range, llvm::StringRef name);
  mlir::Location locate(SourceRange range) { return locate(range, context); }
  /// An expression as the spec has it, on one line, a static argument as it was given; shortened
  /// where it is long.
  std::string wordsOf(const ast::Expr &expr);
  /// A side of an operator: what is more than a name or a number is `...`.
  std::string sideWords(const ast::Expr &side);

  // Rearrange.cpp, Split.cpp
  SemaValue callPack(const ast::CallExpr &call);
  SemaValue callSplit(const ast::CallExpr &call);
  /// Whether a call of (axis, tensor) has them the other way round, which is reported.
  bool isSwapped(const ast::CallExpr &call, llvm::StringRef name);
  SemaValue callEnd(const ast::CallExpr &call, llvm::StringRef name);
  /// The first element of an axis, or the last.
  SemaValue takeEnd(mlir::Value value, int at, bool isLast, SourceRange place);
  SemaValue callMean(const ast::CallExpr &call);
  SemaValue callRelabel(const ast::CallExpr &call);
  /// The axis of `value` that a call's first argument names; -1 and reported where there is none.
  int namedAxis(const ast::Expr &expr, mlir::Value value, const ast::Expr &place,
                llvm::StringRef function);

  // AttendLines.cpp
  struct AttendHooks {
    const ast::Expr *score = nullptr, *bias = nullptr, *cap = nullptr, *mask = nullptr,
                    *sink = nullptr;
    bool saysMask = false; ///< `mask none`, too.
    Normaliser normaliser = Normaliser::Softmax;
    /// What is returned, in order: nothing stands for the output.
    std::vector<std::optional<Returned>> returned = {std::nullopt};
  };
  bool readHooks(const ast::AttendExpr &attend, AttendHooks &hooks);
  bool readWeight(const ast::Expr &weight, AttendHooks &hooks);
  /// What `dropout(x, p)` is of; null and reported where that is wrong.
  const ast::Expr *droppedOut(const ast::CallExpr &call);
  bool readReturned(const ast::AttendItem &item, AttendHooks &hooks);

  // Attention.cpp
  struct AttendOperands;
  std::vector<SemaValue> evalAttend(const ast::AttendExpr &attend);
  bool readOperands(const ast::AttendExpr &attend, AttendOperands &operands);
  bool readPushed(const ast::AttendExpr &attend, AttendOperands &operands);
  bool checkAlong(const ast::AttendExpr &attend);
  int findAlong(llvm::ArrayRef<Axis> axes, const ast::Name &name);
  /// With the key axis under the name it has in the attention, `key`; `made`: its name before.
  mlir::Value relabelKey(mlir::Value value, const ast::AlongAxis &along, const ast::Expr &expr,
                         llvm::StringRef what, Axis &key, std::string &made);
  bool checkAlias(const ast::AlongAxis &along, const Axis &key);
  bool groupHeads(const ast::AttendExpr &attend, AttendOperands &operands);
  mlir::Value mergeHeads(mlir::Value value, const AttendOperands &operands, SourceRange range);
  /// Gives a query that all batches share, such as learnt ones, the axes in front of the keys and
  /// values that it lacks: it is repeated along them.
  void repeatQuery(const ast::AttendExpr &attend, AttendOperands &operands);
  bool checkFeatures(const ast::AttendExpr &attend, const AttendOperands &operands,
                     bool comparesRaw);
  bool checkBatch(const ast::AttendExpr &attend, const AttendOperands &operands);
  std::string rowAxisOf(const AttendOperands &operands);
  bool buildLines(const AttendHooks &hooks, AttentionRegions &regions);
  /// Takes away what attentions return and nothing reads.
  void dropUnreturned();
  mlir::RankedTensorType returnedType(Returned kind, const AttentionRegions &regions,
                                      SourceRange range);

  // Scores.cpp, Outside.cpp, Vectors.cpp
  bool isDeclaredScore(const ast::Expr *score);
  /// The static that an expression names; null where it is something else.
  const Decl *staticOf(const ast::Expr *expr);
  bool buildScore(const ast::Expr *score, AttentionRegions &regions, mlir::Value q, mlir::Value k);
  std::optional<FormulaValue> knownScore(llvm::StringRef name, const FormulaValue &q,
                                         const FormulaValue &k, Formula &pair);
  bool finishScore(FormulaValue value, Formula &pair, SourceRange place);
  /// Values of one side, for all queries or all keys.
  FormulaValue mapOutside(llvm::ArrayRef<FormulaValue> values, Formula &formula, ScalarBody body);
  FormulaValue arithmeticOutside(ast::BinaryOp op, const FormulaValue &left,
                                 const FormulaValue &right, Formula &formula);
  FormulaValue sumOutside(const FormulaValue &vector, Formula &formula);
  FormulaValue unitOutside(const FormulaValue &vector, Formula &formula);
  /// Values of one query and one key.
  mlir::Value dotInRegion(mlir::Value a, mlir::Value b, Formula &formula);
  mlir::Value readOutside(mlir::Value tensor, bool isVector, Formula &formula);
  bool intoRegion(FormulaValue &value, Formula &formula, SourceRange range);
  bool sameFeatures(const FormulaValue &a, const FormulaValue &b, SourceRange range);
  std::optional<FormulaValue> scaleDot(ast::BinaryOp op, FormulaValue dot,
                                       const FormulaValue &factor, Formula &formula);
  FormulaValue vectorArithmetic(const ast::BinaryExpr &binary, const FormulaValue &left,
                                const FormulaValue &right, Formula &formula);
  /// Each gives nothing where the formula is one of numbers, which stand in the region then.
  std::optional<FormulaValue> scoreArithmetic(const ast::BinaryExpr &binary, FormulaValue &left,
                                              FormulaValue &right, Formula &formula);
  std::optional<FormulaValue> scoreCall(const ast::CallExpr &call, llvm::StringRef name,
                                        llvm::MutableArrayRef<FormulaValue> arguments,
                                        Formula &formula);
  std::optional<FormulaValue> scoreDot(const ast::CallExpr &call, FormulaValue a, FormulaValue b,
                                       Formula &formula);
  std::optional<FormulaValue> scoreExtremum(const ast::CallExpr &call, llvm::StringRef name,
                                            llvm::MutableArrayRef<FormulaValue> x,
                                            Formula &formula);
  FormulaValue scoreFunction(SourceRange range, llvm::StringRef name, FormulaValue value,
                             Formula &formula);
  FormulaValue scoreSum(const FormulaValue &vector, Formula &formula);
  FormulaValue scoreLinear(Decl &decl, const ast::CallExpr &call, Formula &formula);

  // Elements.cpp
  /// Sets up a hook's own parameters.
  void setUpWith(Decl &decl, const Owner &owner, Scope &outer);
  /// Names a hook's parameters and inputs in `inside`.
  bool bindWith(Decl &decl, const ast::HookDecl &hook, SourceRange place, Formula &inside);
  mlir::Value bindInput(const ast::Path &name, const ast::Type &type, const ast::HookDecl &hook,
                        SourceRange place, Formula &inside);
  mlir::Value madeUpInput(const ast::Type &type, Formula &inside);
  /// The tensor or parameter of that name; null where there is none.
  mlir::Value tensorInScope(const ast::PathExpr &path);
  /// The most elements that an axis may have.
  int64_t mostOf(const Axis &axis);
  bool checkIndex(const ast::Expr &expr, const FormulaValue &index, const Axis &axis,
                  const std::string &tensor);
  FormulaValue readElement(mlir::Value tensor, llvm::ArrayRef<FormulaValue> indices,
                           Formula &formula);
  FormulaValue formulaTensor(const ast::PathExpr &path, Formula &formula);
  FormulaValue formulaIndex(const ast::IndexExpr &expr, Formula &formula);

  // Hooks.cpp
  void checkHook(Decl &decl);
  /// Each fills a region up to its attn.yield; false after an error.
  bool buildSink(const ast::Expr &sink, Formula &line);
  bool buildBias(const ast::Expr &bias, Formula &line, mlir::Value score);
  bool buildCap(const ast::Expr &cap, mlir::OpBuilder &inner, mlir::Location loc,
                mlir::Value score);
  bool buildMask(const ast::Expr &mask, Formula &line);
  /// What names stand for in the region that is built: `j`, `i`, and the query's axes in small
  /// letters.
  std::map<std::string, FormulaValue> positionsOf(const AttentionRegions &regions,
                                                  mlir::OpBuilder &inner);
  /// The hook that a declaration is; null where it is none of this kind.
  static const ast::HookDecl *hookOf(const Decl *decl, ast::HookDecl::Hook hook);
  Diagnostic &unknownHook(const ast::PathExpr &path, ast::HookDecl::Hook hook, const Decl *decl,
                          std::vector<llvm::StringRef> names);
  /// A bias or mask that a line names, with `call`'s arguments if there is one; nothing where it
  /// names something else.
  std::optional<FormulaValue> applyHook(const ast::PathExpr &path, const ast::CallExpr *call,
                                        Formula &line);
  std::optional<FormulaValue> applyKnownMask(const ast::PathExpr &path, const ast::CallExpr *call,
                                             Formula &line);
  FormulaValue applyDeclared(Decl &decl, const ast::HookDecl &hook, const ast::PathExpr &path,
                             const ast::CallExpr *call, Formula &line);
  bool bindStatics(const ast::HookDecl &hook, const ast::CallExpr *call, SourceRange range,
                   Formula &line, Formula &inside);

  // Formulas.cpp
  FormulaValue evalFormula(const ast::Expr &expr, Formula &formula);
  /// What positions are called at the home of a static: axes by the names that they have there.
  Formula formulaAt(const Decl &fixed, const Formula &formula);
  /// A size that is known only when running, as a whole number.
  FormulaValue formulaSize(Decl &decl, Formula &formula);
  FormulaValue formulaName(const ast::PathExpr &path, Formula &formula);
  FormulaValue formulaCall(const ast::CallExpr &call, Formula &formula);
  FormulaValue formulaUnary(const ast::UnaryExpr &unary, Formula &formula);
  FormulaValue formulaArithmetic(const ast::BinaryExpr &binary, Formula &formula);
  FormulaValue formulaPower(const ast::BinaryExpr &binary, const FormulaValue &left,
                            const FormulaValue &right, Formula &formula);
  FormulaValue formulaComparison(const ast::BinaryExpr &binary, Formula &formula);
  FormulaValue formulaConnective(const ast::BinaryExpr &binary, Formula &formula);
  FormulaValue formulaChoice(const ast::IfExpr &choice, Formula &formula);
  /// An error with what such a formula consists of.
  FormulaValue wrongFormula(SourceRange range, const llvm::Twine &message, const Formula &formula);

  SourceFile &source;
  const FrontendOptions &options;
  mlir::MLIRContext &mlirContext;
  DiagnosticEngine &diagnostics;
  std::set<std::tuple<unsigned, uint32_t, uint32_t>> reported;
  size_t spent = 0;  ///< Expressions and declarations so far.
  Diagnostic unread; ///< Where what was reported already goes.

  std::optional<llvm::json::Value> config;
  bool configFailed = false;

  const ast::ModelDecl *model = nullptr;
  const ast::ImageDecl *image = nullptr;
  bool imageUsed = false;
  std::vector<std::unique_ptr<ast::File>> usedFiles;
  Scope used;    ///< What stands in files that are used.
  Scope library; ///< What stands outside of the model.
  /// In the spec: what applies the block or hook of a used file that is being built.
  std::optional<SourceRange> usedAt;
  Scope modelScope;
  Scope *scope = nullptr;
  const ast::EntryDecl *forward = nullptr;
  /// What the entry being built takes.
  Decl *entryCache = nullptr;
  std::vector<Axes> entryParameters, entryResults;
  llvm::SmallVector<mlir::Type> entryInputs, entryOutputs;
  const Owner *owner = nullptr;       ///< Of the block being built.
  llvm::StringMap<int64_t> entryDims; ///< Dims of entries known only when running; their bounds.
  llvm::DenseMap<mlir::Operation *, SourceRange> pushes; ///< Where attn.pushes were written.
  /// Of each cache: its first entry, and the states that this one pushes to.
  std::map<std::string, std::pair<SourceRange, std::set<std::string>>> cacheParts;
  std::map<std::string, Instance> instances;
  std::set<const ast::BlockDecl *> applied; ///< Blocks that were built, or could not be.
  bool unapplied = false; ///< A block that nothing applies is checked, with sizes made up.
  std::vector<const Decl *> computing; ///< Dims, each needed by the one before.
  unsigned evalDepth = 0;              ///< Of expressions, through blocks.
  llvm::StringMap<ParamRef> params;
  int64_t tensors = 0;                        ///< Of the checkpoint, each layer's counted.
  std::map<std::string, Constants> constants; ///< By what they are, and their sizes.
  int64_t constantElements = 0;
  llvm::DenseMap<mlir::Operation *, double> operations; ///< Of functions.
  double tableSteps = 0;                                ///< Of formulas of tables.
  /// By tensor and offset in it: who is bound there.
  std::map<std::pair<std::string, int64_t>, std::pair<std::string, SourceRange>> bindings;
  std::set<std::string> symbols;
  struct Usage {
    std::string what, name;
    bool isParameter, used;
  };
  std::map<std::pair<uint32_t, uint32_t>, Usage> usages; ///< By the place of the name.

  struct Lookup {
    std::string name;
    SourceRange table, place;
  };
  llvm::DenseMap<mlir::Operation *, Lookup> lookups; ///< Where attn.lookups were written.

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder builder;      ///< In the function being built.
  mlir::OpBuilder paramBuilder; ///< Of dims and parameters, which stand before all functions.
  mlir::Operation *lastHeader = nullptr; ///< The last of them.
  mlir::Value layer;                     ///< The number of the layer, in a block of a stack.
  struct Frame {
    mlir::func::FuncOp function;
    Instance *instance; ///< Null for an entry.
    const Scope *scope; ///< Of its body.
  };
  std::vector<Frame> frames; ///< The functions being built, each inside of the one before.
  unsigned bodies = 0;       ///< Scopes of bodies so far.
  unsigned homes = 0;        ///< Of statics whose expressions are being evaluated.
  Taps taps;                 ///< Of the function being built.
  std::map<std::string, SourceRange> namedLater; ///< By the `let`s of the body being built.
  std::string context; ///< The `let`, block or entry whose expression is built.
  unsigned depth = 0;  ///< Of blocks applied in blocks.
};

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_SEMAIMPL_H
