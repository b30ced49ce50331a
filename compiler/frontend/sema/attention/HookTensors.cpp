// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a formula reads from tensors: the params and inputs of its hook, and elements of them at
// positions that are shown to be inside.
#include "compiler/frontend/sema/attention/HookTensors.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/attention/Formulas.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/parameters/Params.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;
using Kind = FormulaValue::Kind;
using Side = FormulaValue::Side;

//===-- what the `with` of a hook names -----------------------------------------------------===//

/// Declares the parameters of a hook, where it is first applied: one that is not has none.
static void setUpWith(Sema &sema, Decl &decl) {
  auto &hook = *llvm::cast<HookDecl>(decl.item);
  Scope &outer = decl.withScope ? *decl.withScope : sema.names.modelScope;
  llvm::SaveAndRestore scope(sema.names.scope, &outer);
  decl.with = std::make_shared<Scope>();
  decl.with->parent = &outer;
  for (const ItemPtr &item : hook.with) {
    auto *param = llvm::dyn_cast<ParamDecl>(item.get());
    if (!param || param->role == ParamDecl::Role::Param)
      declareItem(sema, *decl.with, *item);
  }
  sema.names.scope = decl.with.get();
  setUpParameters(sema, *decl.with, decl.withOwner ? *decl.withOwner : Owner());
}

static mlir::Value madeUpInput(Formula &inside, const Type &type) {
  llvm::SmallVector<mlir::StringAttr> names;
  for (const ExprPtr &dim : type.dims)
    names.push_back(mlir::StringAttr::get(&inside.sema.mlirContext, canonicalText(*dim)));
  mlir::Type element = elementType(type.word ? type.word->text : "f32", &inside.sema.mlirContext);
  llvm::SmallVector<int64_t> shape(names.size(), 1009);
  return inside.regions->scratch->addArgument(
      axesTensor(element ? element : inside.sema.builder.getF32Type(), shape, names), inside.loc);
}

/// How many axes stand before the last `own` of a tensor that is read, if its block speaks of none
/// of them and the query has them all; else 0.
static size_t liftedInFront(const Formula &formula, llvm::ArrayRef<Axis> axes, size_t own) {
  if (formula.sema.function.homes || !formula.regions)
    return 0;
  size_t lifted = liftedBefore(formula.sema.function, axes, own);
  bool hasAll = llvm::all_of(axes.take_front(lifted), [&](const Axis &axis) {
    return findAxis(formula.regions->queryAxes, axis.name) >= 0;
  });
  return hasAll ? lifted : 0;
}

static mlir::Value bindInput(Formula &inside, const Path &name, const Type &type,
                             const HookDecl &hook, SourceRange place) {
  if (inside.regions->scratch)
    return madeUpInput(inside, type);
  llvm::StringRef what = inside.what();
  mlir::Value value = tensorInScope(inside.sema, PathExpr(name));
  if (!value) {
    Decl *decl = inside.sema.names.scope->find(name.str());
    if (decl && (decl->wrong || (decl->kind == Decl::Kind::Value && decl->value.isError())))
      return nullptr;
    inside.sema.report
        .error(DiagCode::HookInput, place,
               "the " + what + " `" + hook.name.text + "` takes `" + name.str() +
                   "`, but no tensor is called that here")
        .at(name.range, "declared here")
        .help("name a tensor so before the `attend`: a parameter, or `let " + name.str() + " = …`");
    return nullptr;
  }
  Axes declared, axes = axesOfValue(value);
  for (const ExprPtr &dim : type.dims) {
    // What a block was given knows the dims of its own place by their names, and only then its
    // keys.
    std::string name = canonicalText(*dim);
    bool isOwn = inside.sema.function.homes && inside.sema.names.scope->find(name);
    const Axes &keys = inside.regions->along.keys;
    if (int at = findAxis(keys, name); !isOwn && at >= 0) {
      declared.push_back(keys[at]);
      continue;
    }
    std::optional<Axis> axis = axisOf(inside.sema, *dim);
    if (!axis)
      return nullptr;
    declared.push_back(*axis);
  }
  size_t lifted = liftedInFront(inside, axes, declared.size());
  Axes whole(axes.begin(), axes.begin() + lifted);
  llvm::append_range(whole, declared);
  mlir::Value ordered =
      axes.size() == whole.size() ? withLast(inside.sema, value, whole, inside.loc) : mlir::Value();
  auto element = llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
  // Floats of all widths are f32 inside of a model.
  mlir::Type asked =
      type.word ? elementType(type.word->text, &inside.sema.mlirContext) : mlir::Type();
  bool fits = !type.word || asked == element ||
              (llvm::isa<mlir::FloatType>(element) && asked && llvm::isa<mlir::FloatType>(asked));
  if (ordered && fits) {
    inside.lifted[name.str()] = lifted;
    return ordered;
  }
  std::string is = showAxes(axes);
  if (!fits)
    llvm::raw_string_ostream(is) << " of " << element;
  Diagnostic &diagnostic = inside.sema.report.error(
      DiagCode::HookInput, place,
      "the " + what + " `" + hook.name.text + "` takes `" + name.str() + ": " +
          inside.sema.source.text(type.range).str() + "`, but it is " + is);
  diagnostic.at(name.range, "declared here");
  llvm::append_range(axes, declared);
  if (std::string where = whereSizes(inside.sema, axes); !where.empty())
    diagnostic.note(where);
  return nullptr;
}

bool bindWith(Formula &inside, Decl &decl, const HookDecl &hook, SourceRange place) {
  if (!decl.with)
    setUpWith(inside.sema, decl);
  for (Decl *own : decl.with->order) {
    own->used = true;
    if (own->wrong)
      return false;
    if (own->kind == Decl::Kind::Linear) {
      inside.maps[own->name] = own;
      continue;
    }
    mlir::Value &value = inside.regions->known[{own, nullptr}];
    if (!value)
      value = getParam(inside.sema, own->weight, locate(inside.sema, own->range, own->name));
    inside.tensors[own->name] = value;
  }
  for (const ItemPtr &item : hook.with) {
    auto *input = llvm::dyn_cast<ParamDecl>(item.get());
    if (!input || input->role != ParamDecl::Role::Input)
      continue;
    for (const auto &group : input->groups)
      for (const Path &name : group.names) {
        mlir::Value value = bindInput(inside, name, group.type, hook, place);
        if (!value)
          return false;
        inside.tensors[name.str()] = value;
      }
  }
  return true;
}

mlir::Value tensorInScope(Sema &sema, const PathExpr &path) {
  Decl *decl = sema.names.scope->find(path.path.str());
  if (!decl || decl->wrong)
    return nullptr;
  if (decl->kind == Decl::Kind::Value && decl->value.isTensor()) {
    decl->used = true;
    return here(sema, decl->value.tensor);
  }
  if (decl->kind != Decl::Kind::Param)
    return nullptr;
  decl->used = true;
  return getParam(sema, decl->weight, locate(sema, path.range, decl->name));
}

//===-- elements ----------------------------------------------------------------------------===//

int64_t mostOf(Sema &sema, const Axis &axis) {
  if (!axis.isDynamic())
    return axis.size;
  auto size = parseLinearSize(axis.name);
  auto bound = size ? boundOfDim(sema, size->dim) : std::nullopt;
  return bound ? std::min(size->scale * *bound + size->offset, Interval::unbounded)
               : Interval::unbounded;
}

/// Whether a position lies on an axis: it is one along an axis of its size, or its interval says
/// so.
static bool isInside(const FormulaValue &index, const Axis &axis) {
  auto size = axis.isDynamic() ? parseLinearSize(axis.name) : std::nullopt;
  if (index.axis.isDynamic() && axis.isDynamic()) {
    auto own = parseLinearSize(index.axis.name);
    if (own && size && own->dim == size->dim && own->scale <= size->scale &&
        own->offset <= size->offset)
      return true;
  }
  // What is known only when running is at least 1.
  int64_t least = axis.isDynamic() ? (size ? size->scale + size->offset : 0) : axis.size;
  return Formula::rangeOf(index).isWithin(0, least - 1);
}

/// The name of the position that `expr`, a dim or another position, was to be: the one that lies
/// along `axis`. Empty where the attention has none.
static std::string positionMeant(const Formula &formula, const Expr &expr, const Axis &axis) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  if (!path)
    return "";
  std::string small = llvm::StringRef(path->path.str()).lower();
  const auto &names = formula.positions ? *formula.positions : formula.names;
  // Over a cache `i` counts all positions, `i.row` those of this call.
  auto row = names.find(small + ".row");
  if (row != names.end() && row->second.axis == axis)
    return row->first;
  std::string along;
  for (const auto &[name, value] : names) {
    if (value.kind != Kind::Position || value.axis != axis || llvm::StringRef(name).contains('.'))
      continue;
    if (name == small)
      return name;
    along = along.empty() ? name : along;
  }
  return along;
}

/// `table[h, i]`: the whole of `expr` with another index in the place of one.
static std::string withIndex(const Formula &formula, const IndexExpr &expr, const Expr &index,
                             llvm::StringRef other) {
  const SourceFile &source = formula.sema.source;
  llvm::StringRef whole = source.text(expr.range);
  size_t at = index.range.begin - expr.range.begin;
  return (whole.take_front(at) + other + whole.drop_front(at + source.text(index.range).size()))
      .str();
}

/// Says of a dim or a position which position stands for a place along `axis`; false where that
/// is not known.
static bool helpWithPosition(Diagnostic &diagnostic, const Formula &formula, const IndexExpr &expr,
                             const Expr &index, const Axis &axis) {
  std::string meant = positionMeant(formula, index, axis);
  if (meant.empty())
    return false;
  std::string text = formula.sema.source.text(index.range).str(),
              mend = "`" + withIndex(formula, expr, index, meant) + "`";
  std::optional<Edit> edit = Edit{index.range, meant};
  if (!formula.names.count(meant) && meant.find('.') == std::string::npos) {
    mend +=
        ", with `" + meant + "` among the names in the parentheses of the " + formula.what().str();
    edit.reset();
  }
  diagnostic.help(llvm::StringRef(text).lower() == meant
                      ? "positions are written in small letters: " + mend
                      : "the position along `" + axisLabel(axis.name).str() + "` is `" + meant +
                            "`: " + mend,
                  edit);
  return true;
}

static bool checkIndex(const Formula &formula, const IndexExpr &whole, const Expr &expr,
                       const FormulaValue &index, const Axis &axis, const std::string &tensor) {
  Sema &sema = formula.sema;
  llvm::StringRef label = axisLabel(axis.name);
  bool isNumber = index.kind == Kind::Number;
  if (isInside(index, axis)) {
    // One place for all pairs: of what has the name of a position, hardly what was meant.
    std::string small = sema.source.text(expr.range).lower();
    auto *path = llvm::dyn_cast<PathExpr>(&expr);
    const auto &names = formula.positions ? *formula.positions : formula.names;
    if (path && isNumber && names.count(small) && !formula.names.count(path->path.str()))
      helpWithPosition(sema.report
                           .warning(DiagCode::DimAsPosition, expr.range,
                                    "this index of `" + tensor +
                                        "` is a dim, the same for all "
                                        "pairs")
                           .says("this is " + Formula::rangeOf(index).text()),
                       formula, whole, expr, axis);
    return true;
  }
  Diagnostic &diagnostic = sema.report.error(DiagCode::IndexOutside, expr.range,
                                             "this index of `" + tensor +
                                                 "` is not known to be inside of `" + label + "`");
  diagnostic.says("this is " + Formula::rangeOf(index).text());
  if (axis.isDynamic())
    diagnostic.note("the size of `" + label + "` is known only when running");
  else
    diagnostic.note(llvm::formatv("`{0}` has the positions 0 to {1}", label, axis.size - 1).str());
  if (helpWithPosition(diagnostic, formula, whole, expr, axis) || isNumber)
    return false;
  if (axis.isDynamic())
    diagnostic.help("index it by the position along `" + label + "`");
  else
    diagnostic.help(
        llvm::formatv(
            "where what lies outside is to count as the end, write `min(max({0}, 0), {1})`",
            sema.source.text(expr.range), axis.size - 1)
            .str(),
        Edit{expr.range,
             llvm::formatv("min(max({0}, 0), {1})", sema.source.text(expr.range), axis.size - 1)
                 .str()});
  return false;
}

/// In a score, a tensor of the query's axes can be part of what is computed outside.
static bool isConstantOfQuery(mlir::Value tensor, llvm::ArrayRef<FormulaValue> indices,
                              const Formula &formula) {
  auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
  if (!formula.isScore() || !type.getElementType().isF32())
    return false;
  Axes axes = axesOfValue(tensor);
  for (auto [axis, index] : llvm::zip(axes, indices)) {
    int at = findAxis(formula.regions->queryAxes, index.axis.name);
    if (index.axis.size == 0 || at < 0 || index.axis != axis)
      return false;
  }
  return true;
}

static FormulaValue readElement(Formula &formula, mlir::Value tensor, llvm::StringRef name,
                                llvm::ArrayRef<FormulaValue> indices) {
  auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
  bool isVector = static_cast<int64_t>(indices.size()) < type.getRank();
  Axis feature = isVector ? axesOfValue(tensor).back() : Axis{"", 0};
  Kind kind = isVector                             ? Kind::Vector
              : type.getElementType().isInteger(1) ? Kind::Truth
              : type.getElementType().isInteger()  ? Kind::Position
                                                   : Kind::Scalar;
  if (isConstantOfQuery(tensor, indices, formula))
    return {kind, 0, tensor, Side::Constant, {}, feature};
  mlir::OpBuilder &b = formula.builder;
  mlir::Type result = kind == Kind::Truth      ? mlir::Type(b.getI1Type())
                      : kind == Kind::Position ? mlir::Type(b.getIndexType())
                                               : mlir::Type(b.getF32Type());
  if (isVector)
    result = mlir::RankedTensorType::get({type.getShape().back()}, result);
  llvm::SmallVector<mlir::Value> positions;
  for (const FormulaValue &index : indices)
    positions.push_back(formula.position(index));
  mlir::Value captured = formula.regions->capture(b.getInsertionBlock(), tensor, name);
  mlir::Value element = ElementOp::create(b, formula.loc, result, captured, positions);
  return {kind, 0, element, Side::Pair, {}, feature};
}

/// Where the query is along the first axes of a tensor, those that a block does not speak of.
static std::vector<FormulaValue> liftedIndices(const Formula &formula, mlir::Value tensor,
                                               size_t lifted) {
  std::vector<FormulaValue> indices;
  Axes axes = axesOfValue(tensor);
  mlir::Block *block = formula.builder.getInsertionBlock();
  for (const Axis &axis : llvm::ArrayRef<Axis>(axes).take_front(lifted))
    indices.push_back(FormulaValue::position(formula.regions->positionAlong(block, axis.name),
                                             {0, mostOf(formula.sema, axis) - 1}, axis));
  return indices;
}

FormulaValue formulaTensor(Formula &formula, const PathExpr &path) {
  std::string name = path.path.str();
  auto own = formula.tensors.find(name);
  mlir::Value tensor =
      own == formula.tensors.end() ? tensorInScope(formula.sema, path) : own->second;
  auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
  size_t lifted = formula.lifted.count(name) ? formula.lifted[name] : 0;
  bool isVector = type.getRank() == static_cast<int64_t>(lifted) + 1 &&
                  type.getElementType().isF32() && !type.isDynamicDim(type.getRank() - 1);
  if (formula.isScore() && isVector)
    return readElement(formula, tensor, name, liftedIndices(formula, tensor, lifted));
  if (formula.isSink) { // of the query alone: its axes say where
    std::vector<FormulaValue> indices;
    for (const Axis &axis : axesOfValue(tensor))
      for (const auto &[name, value] : formula.names)
        if (value.kind == Kind::Position && value.axis == axis) {
          indices.push_back(value);
          break;
        }
    if (static_cast<int64_t>(indices.size()) == type.getRank())
      return readElement(formula, tensor, name, indices);
  }
  formula.sema.report
      .error(DiagCode::IndexCount, path.range, "`" + name + "` is a tensor, not a number")
      .says("this is " + showAxes(axesOfValue(tensor)))
      .help("read an element of it: `" + name + "[…]`");
  return {};
}

FormulaValue formulaIndex(Formula &formula, const IndexExpr &expr) {
  auto *path = llvm::dyn_cast<PathExpr>(expr.base.get());
  std::string name = path ? path->path.str() : "";
  auto own = formula.tensors.find(name);
  mlir::Value tensor = own != formula.tensors.end() ? own->second
                       : path && formula.isLine     ? tensorInScope(formula.sema, *path)
                                                    : mlir::Value();
  Decl *decl = path ? formula.sema.names.scope->find(name) : nullptr;
  if (!tensor && decl && decl->wrong) // said
    return {};
  if (!tensor) {
    Diagnostic &diagnostic = formula.sema.report.error(
        DiagCode::ScoreExpression, expr.base->range,
        path ? "there is no tensor `" + name + "` in this " + formula.what()
             : llvm::Twine("only a tensor has elements"));
    std::vector<llvm::StringRef> known;
    for (const auto &[other, value] : formula.tensors)
      known.push_back(other);
    if (auto near = nearestName(name, known); near && path)
      diagnostic.didYouMean(*near);
    else if (path && formula.isLine)
      suggest(formula.sema, diagnostic, name, [](const Decl &decl) {
        return decl.kind == Decl::Kind::Param || decl.kind == Decl::Kind::Value;
      });
    diagnostic.note("a hook reads what it names: `with param " + (name.empty() ? "table" : name) +
                    ": [H]`, or `with input …` for a tensor of the attention's place");
    return {};
  }
  size_t count = expr.indices.size();
  // A line names a tensor's axes in front, or leaves out those that its block does not speak of.
  size_t lifted = own != formula.tensors.end() ? formula.lifted[name]
                                               : liftedInFront(formula, axesOfValue(tensor), count);
  Axes whole = axesOfValue(tensor), axes(whole.begin() + lifted, whole.end());
  bool isF32 = llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType().isF32();
  bool isVector =
      formula.isScore() && isF32 && count + 1 == axes.size() && !axes.back().isDynamic();
  if (count != axes.size() && !isVector) {
    formula.sema.report
        .error(DiagCode::IndexCount, expr.range,
               llvm::formatv("`{0}` has {1} axes, but gets {2} {3}", name, axes.size(), count,
                             count == 1 ? "index" : "indices")
                   .str())
        .at(expr.base->range, "this is " + showAxes(axes));
    return {};
  }
  std::vector<FormulaValue> indices = liftedIndices(formula, tensor, lifted);
  for (auto [axis, index] : llvm::zip(axes, expr.indices)) {
    indices.push_back(evalFormula(formula, *index));
    if (indices.back().kind == Kind::Error)
      return {};
    if (!formula.hasNoFraction(indices.back())) {
      formula.sema.report
          .error(DiagCode::IndexCount, index->range, "an index is a position or a whole number")
          .note("positions are " + formula.listNames() + "; `floor(x)` is a whole number");
      return {};
    }
    if (!checkIndex(formula, expr, *index, indices.back(), axis, name))
      return {};
  }
  return readElement(formula, tensor, name, indices);
}

} // namespace attn::frontend
