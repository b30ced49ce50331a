// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// route -> attn.route, whose body applies the block of a stack to the rows of one expert. The rows'
// axis has a size of its own, which is known only while the model runs.
#include "compiler/frontend/sema/functions/Routes.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/blocks/Blocks.h"
#include "compiler/frontend/sema/blocks/Instances.h"
#include "compiler/frontend/sema/blocks/StackLayers.h"
#include "compiler/frontend/sema/blocks/Stacks.h"
#include "compiler/frontend/sema/checks/RowByRow.h"
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/parameters/LayerScopes.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "dialect/Choices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

static constexpr llvm::StringLiteral usage = "route(experts, x, places, weights)";

namespace {
/// A route whose arguments have been evaluated, and how its op is built.
class RouteBuilder {
public:
  RouteBuilder(Sema &sema, const CallExpr &call)
      : sema(sema), call(call), loc(locate(sema, call.range)), blockCall(call.range, nullptr) {}

  SemaValue build();

private:
  bool findExperts();
  bool readTensors();
  bool readAxes();
  bool readWeights();
  Instance *instantiateExpert(mlir::Value rows);
  bool checkRows(const Instance &instance);
  mlir::Value buildBody(mlir::Block *body);

  const Expr &argument(size_t i) const { return *call.arguments[i].value; }
  const StackDecl &stack() const { return *llvm::cast<StackDecl>(experts->item); }
  /// A size that no dim has the name of, at most as large as all choices.
  std::string nameRows();
  Diagnostic &notExperts(SourceRange range, const llvm::Twine &message) {
    return sema.report.error(DiagCode::NotExperts, range, message);
  }

  Sema &sema;
  const CallExpr &call;
  Location loc;
  CallExpr blockCall; ///< Of the block, with the place of its argument.
  Decl *experts = nullptr, *block = nullptr;
  mlir::Value x, places, weights; ///< [rows..., features], [rows..., choices] twice.
  Axes rowAxes;
  Axis choices, features, rows; ///< `rows` is the axis of an expert's.
  std::map<std::string, Axis> bound;
};
} // namespace

bool RouteBuilder::findExperts() {
  auto *path = llvm::dyn_cast<PathExpr>(&argument(0));
  experts = path ? sema.names.scope->find(path->path.str()) : nullptr;
  if (!experts || experts->kind != Decl::Kind::Stack) {
    std::string text = sema.source.text(argument(0).range).str();
    Diagnostic &diagnostic = notExperts(
        argument(0).range, "`route` takes a stack of experts first, and `" + text + "` is none");
    if (experts)
      diagnostic.at(experts->range, "declared here");
    diagnostic.help("declare `stack experts: 8 of Expert`, and write `" + usage + "`");
    return false;
  }
  experts->used = true;
  if (experts->wrong)
    return false;
  if (stack().shared) {
    notExperts(argument(0).range, "the experts of a shared stack are all the same")
        .at(experts->range, "declared here");
    return false;
  }
  block = declaringScope(*sema.names.scope, *experts).find(stack().block.text);
  return block;
}

bool RouteBuilder::readTensors() {
  x = evalTensor(sema, argument(1), "what is routed");
  places = evalTensor(sema, argument(2), "the places of experts", /*anyElement=*/true);
  weights = evalTensor(sema, argument(3), "the weights of experts");
  if (!x || !places || !weights)
    return false;
  mlir::Type element = elementOf(places);
  if (element.isInteger(32) || element.isInteger(64))
    return true;
  sema.report
      .error(DiagCode::NotIndices, argument(2).range, "the places of experts consist of integers")
      .says("this is " + showTensor(places))
      .help("write `let weights, places = topk(X, scores, 2)`, and `" + usage + "`");
  return false;
}

/// Tells the axes of rows, choices and features apart, and puts them in this order.
bool RouteBuilder::readAxes() {
  Axes axes = axesOfValue(x), chosen, left;
  for (const Axis &axis : axesOfValue(places)) {
    int at = findAxis(axes, axis.name);
    if (at < 0)
      chosen.push_back(axis);
    else if (axes[at] != axis)
      left.push_back(axis);
  }
  for (const Axis &axis : axes)
    (findAxis(axesOfValue(places), axis.name) >= 0 ? rowAxes : left).push_back(axis);
  if (chosen.size() != 1 || left.size() != 1 || rowAxes.empty()) {
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::ElementwiseMismatch, argument(2).range,
        "the places of experts have the axes of the rows, and one of the choices of each");
    diagnostic.says("this is " + showTensor(places))
        .at(argument(1).range, "this is " + showTensor(x))
        .note("rows have one axis that the places lack, that of their features");
    noteSameNames(diagnostic, axesOfValue(places), axes);
    return false;
  }
  choices = chosen.front(), features = left.front();
  for (const Axis *axis : {&choices, &features})
    if (axis->isDynamic()) {
      sema.report
          .error(DiagCode::DynamicAxis, argument(axis == &choices ? 2 : 1).range,
                 "the axis `" + axisLabel(axis->name) + "` of " +
                     (axis == &choices ? "choices" : "features") + " is known only when running")
          .note("what experts compute of each row has a size that is known when compiling");
      return false;
    }
  Axes inOrder = rowAxes;
  inOrder.push_back(choices);
  x = withLast(sema, x, features, loc);
  places = withLast(sema, places, inOrder, loc);
  return true;
}

bool RouteBuilder::readWeights() {
  Axes axes = axesOfValue(places);
  mlir::Value ordered = withLast(sema, weights, axes, loc);
  if (ordered && axesOfValue(ordered) == axes) {
    weights = ordered;
    return true;
  }
  Diagnostic &diagnostic =
      sema.report.error(DiagCode::ElementwiseMismatch, argument(3).range,
                        "each choice has a weight, so that weights have the axes of the places");
  diagnostic.says("this is " + showTensor(weights))
      .at(argument(2).range, "this is " + showTensor(places));
  noteSameNames(diagnostic, axesOfValue(weights), axes);
  return false;
}

std::string RouteBuilder::nameRows() {
  std::string name = "routed_rows";
  for (unsigned i = 2; sema.names.modelScope.find(name) || sema.sizes.entryDims.count(name); ++i)
    name = "routed_rows_" + std::to_string(i);
  llvm::SmallVector<int64_t> sizes{choices.size};
  for (const Axis &axis : rowAxes)
    sizes.push_back(boundOf(sema, axis));
  sema.sizes.entryDims[name] = productOf(sizes).value_or(INT64_MAX / 2);
  return name;
}

/// The function of the block; null after an error.
Instance *RouteBuilder::instantiateExpert(mlir::Value rows) {
  std::optional<Owner> owner =
      ownerOfStack(sema, *experts, sema.function.owner ? *sema.function.owner : Owner());
  if (!owner)
    return nullptr;
  Scope &declaredIn = declaringScope(*sema.names.scope, *experts);
  LayerScopes scopes(sema, stack(), declaredIn, experts->size.offset);
  if (scopes.all().size() > 1) {
    notExperts(stack().name.range,
               "experts that rows are routed to differ in their parameters alone")
        .at(argument(0).range, "routed to here")
        .note("what depends on `n` is not the same for all layers of this stack");
    return nullptr;
  }
  blockCall.arguments.emplace_back();
  blockCall.arguments.back().value = std::make_unique<ErrorExpr>(argument(1).range);
  Instance *instance =
      instantiate(sema, *block, *owner, {SemaValue::of(rows)}, blockCall,
                  {stack().dimArguments, stack().arguments, scopes.all().front()}, bound);
  return instance && checkRows(*instance) ? instance : nullptr;
}

/// Where an op was written in this file; nothing of one in a used file.
static std::optional<SourceRange> placeOf(Sema &sema, mlir::Operation *op) {
  auto place = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
  if (!place || place.getFilename().getValue() != sema.source.name() || place.getLine() < 1 ||
      place.getLine() > sema.source.lineCount())
    return std::nullopt;
  uint32_t begin = sema.source.lineStart(place.getLine()) + place.getColumn() - 1, end = begin;
  llvm::StringRef text = sema.source.text();
  while (end < text.size() && (llvm::isAlnum(text[end]) || text[end] == '_'))
    ++end;
  return SourceRange{begin, std::max(end, begin + 1)};
}

/// Whether the block gives rows, each of which is computed of one.
bool RouteBuilder::checkRows(const Instance &instance) {
  mlir::func::FuncOp function = instance.function;
  if (!instance.captures.empty()) {
    notExperts(call.range, "an expert reads the rows that have chosen it, and no other tensor, but "
                           "a static gives it one");
    return false;
  }
  bool isOne =
      instance.results.size() == 1 && elementOf(function.getArguments().back()).isF32() &&
      llvm::cast<mlir::RankedTensorType>(function.getResultTypes()[0]).getElementType().isF32();
  if (!isOne) {
    notExperts(stack().block.range, "an expert gives one tensor of numbers")
        .at(llvm::cast<BlockDecl>(block->item)->signature.range, "declared here");
    return false;
  }
  mlir::Operation *across = findAcrossRows(*sema.output.module, function, rows.name);
  if (!across)
    return true;
  std::optional<SourceRange> place = placeOf(sema, across);
  Diagnostic &diagnostic =
      sema.report.error(DiagCode::AcrossRows, place.value_or(call.range),
                        "an expert computes each row by itself, but this depends on others, or on "
                        "how many there are");
  if (place)
    diagnostic.at(call.range, "routed here");
  diagnostic.note("an expert gets the rows that have chosen it, of all batches together");
  return false;
}

/// The body of the op, which is at the builder; what it gives, or null after an error.
mlir::Value RouteBuilder::buildBody(mlir::Block *body) {
  mlir::Value number = body->addArgument(sema.builder.getIndexType(), loc);
  mlir::RankedTensorType type = tensorType(sema, {rows, features}, argument(1).range);
  if (!type)
    return nullptr;
  mlir::Value own = body->addArgument(type, loc);
  Instance *instance = instantiateExpert(own);
  if (!instance)
    return nullptr;
  mlir::OpBuilder::InsertionGuard guard(sema.builder);
  mlir::Value first = firstLayer(sema, experts->size.offset, loc); // in front of the route
  sema.builder.setInsertionPointToEnd(body);
  if (first)
    number = mlir::arith::AddIOp::create(sema.builder, loc, first, number);
  llvm::SmallVector<mlir::Value> operands{number};
  llvm::append_range(operands, blockOperands(sema, *instance, blockCall, {SemaValue::of(own)}));
  auto result = mlir::func::CallOp::create(sema.builder, locate(sema, call.range, experts->name),
                                           instance->function, operands);
  SemaValue value = outside(sema, result.getResult(0), *instance,
                            *llvm::cast<BlockDecl>(block->item), 0, bound, call.range);
  if (!value.isTensor())
    return nullptr;
  Axes axes = axesOfValue(value.tensor);
  int at = findAxis(axes, rows.name);
  bool fits = axes.size() == 2 && at >= 0 && !axes[1 - at].isDynamic() &&
              findAxis(rowAxes, axes[1 - at].name) < 0;
  if (!fits) {
    notExperts(call.range, "an expert gives a row for each that it gets, with one axis of features "
                           "that is none of those of the rows")
        .says("`" + stack().block.text + "` gives " + showTensor(value.tensor) + " of " +
              showTensor(own));
    return nullptr;
  }
  const Axis &made = axes[1 - at];
  mlir::Value given = withLast(sema, value.tensor, made, loc);
  RoutedOp::create(sema.builder, loc, given);
  return given;
}

SemaValue RouteBuilder::build() {
  if (!findExperts() || !readTensors() || !readAxes() || !readWeights())
    return SemaValue::wrong();
  rows = {nameRows(), mlir::ShapedType::kDynamic};
  mlir::Region region;
  mlir::Block *body = &region.emplaceBlock();
  mlir::Value given = buildBody(body);
  Axes axes = rowAxes;
  if (given)
    axes.push_back(axesOfValue(given).back());
  mlir::RankedTensorType type = given ? tensorType(sema, axes, call.range) : nullptr;
  if (!type) {
    for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      op.erase();
    return SemaValue::wrong();
  }
  auto op = RouteOp::create(sema.builder, locate(sema, call.range, experts->name), type, x, places,
                            weights, static_cast<uint64_t>(experts->size.offset));
  op.getBody().takeBody(region);
  sema.output.lookups[op] = {experts->name, experts->range, argument(2).range};
  return SemaValue::of(op.getResult());
}

SemaValue callRoute(Sema &sema, const CallExpr &call) {
  if (!plainArguments(sema.report, call, "route", 4, 4, usage))
    return SemaValue::wrong();
  llvm::SaveAndRestore place(
      sema.report.usedAt, sema.source.isUsed(call.range.begin) ? sema.report.usedAt : call.range);
  return RouteBuilder(sema, call).build();
}

} // namespace attn::frontend
