// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embeddings: rows of a table by integers, and where these come from.
#include "compiler/frontend/sema/Lookups.h"
#include "compiler/frontend/sema/Apply.h"
#include "compiler/frontend/sema/Axes.h"
#include "compiler/frontend/sema/Caches.h"
#include "compiler/frontend/sema/Exprs.h"
#include "compiler/frontend/sema/Params.h"
#include "compiler/frontend/sema/Tables.h"
#include "compiler/frontend/sema/Tensors.h"
#include "compiler/frontend/sema/Types.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

void setUpEmbedding(Sema &sema, Decl &decl, const Owner &owner, Scope &owned) {
  auto &embedding = *llvm::cast<EmbeddingDecl>(decl.item);
  if (decl.wrong)
    return;
  decl.wrong = true;
  if (decl.from.size() != 1) {
    sema.report
        .error(DiagCode::NotIndices, embedding.from.front()->range.to(embedding.from.back()->range),
               "an embedding takes one integer for each row, but this has " +
                   llvm::Twine(decl.from.size()) + " axes")
        .help("write `embedding " + decl.name + ": V -> " + listAxes(decl.to) + "`");
    return;
  }
  decl.weight =
      wholeParam(sema, decl, owner, owned, embedding.binding, "weight", embedding.names.size());
  decl.wrong = !decl.weight.type;
}

SemaValue applyEmbedding(Sema &sema, Decl &decl, const CallExpr &call) {
  if (!plainArguments(sema.report, call, decl.name, 1, 1, decl.name + "(ids)"))
    return SemaValue::wrong();
  const Expr &argument = *call.arguments[0].value;
  mlir::Value indices =
      evalTensor(sema, argument, "what `" + decl.name + "` is applied to", /*anyElement=*/true);
  if (!indices || decl.wrong)
    return SemaValue::wrong();
  if (mlir::Type element = elementOf(indices); !element.isInteger(32) && !element.isInteger(64)) {
    sema.report
        .error(DiagCode::NotIndices, argument.range,
               "`" + decl.name + "` has a row for each of " + llvm::Twine(decl.from[0].size) +
                   " integers, but this is " + showTensor(indices))
        .at(decl.range, "declared here")
        .help("integers are an entry's input, `ids: i32[" + listAxes(axesOfValue(indices)) +
              "]`, or `positions(T)`");
    return SemaValue::wrong();
  }
  Axes result = axesOfValue(indices);
  for (const Axis &axis : decl.to) {
    if (findAxis(result, axis.name) >= 0) {
      sema.report
          .error(DiagCode::DuplicateAxis, call.range,
                 "the result of `" + decl.name + "` would have the axis `" + axis.name + "` twice")
          .at(argument.range, "this is " + showTensor(indices))
          .at(decl.range, "gives " + listAxes(decl.to));
      return SemaValue::wrong();
    }
    result.push_back(axis);
  }
  mlir::RankedTensorType type = tensorType(sema, result, call.range);
  if (!type)
    return SemaValue::wrong();
  Location loc = locate(sema, call.range, decl.name);
  auto op = LookupOp::create(sema.builder, loc, type, getParam(sema, decl.weight, loc), indices);
  sema.output.lookups[op] = {decl.name, decl.range, call.range};
  return SemaValue::of(op.getResult());
}

mlir::Value positionsAlong(Sema &sema, const Axis &along, SourceRange range) {
  auto compute = [&](llvm::ArrayRef<int64_t> shape) -> Constants {
    auto all = llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(shape.front())));
    auto type = mlir::RankedTensorType::get(shape, sema.builder.getI32Type());
    return {mlir::DenseElementsAttr::get(type, llvm::ArrayRef<int32_t>(all))};
  };
  auto elements = constantsOf(sema, {along}, 1, "positions", range, compute);
  return elements.empty() ? mlir::Value()
                          : makeTable(sema, {along}, elements.front(), locate(sema, range));
}

SemaValue callPositions(Sema &sema, const CallExpr &call) {
  if (!plainArguments(sema.report, call, "positions", 1, 1, "positions(T)"))
    return SemaValue::wrong();
  std::optional<Axis> axis = axisOf(sema, *call.arguments[0].value);
  if (!axis)
    return SemaValue::wrong();
  bool isNew = isNewAxis(sema, *axis);
  Axis along = isNew ? cacheAxis(sema.entry) : *axis;
  mlir::Value table = positionsAlong(sema, along, call.range);
  if (!table)
    return SemaValue::wrong();
  return SemaValue::of(isNew ? newRows(sema, table, *axis, call.range) : table);
}

//===------------------------------------------------------------------------------------------===//
// Bounds of indices
//===------------------------------------------------------------------------------------------===//

namespace {
/// Where the indices of a lookup come from: through views, blocks and stacks to inputs of entries
/// and to tables.
class IndexSources {
public:
  explicit IndexSources(mlir::ModuleOp module) : symbols(module) {
    module.walk([&](mlir::func::CallOp call) { calls[call.getCallee()].push_back(call); });
  }

  void trace(mlir::Value value) {
    inputs.clear(), tables.clear(), seen.clear();
    reach(value);
    while (!open.empty()) {
      mlir::Value next = open.pop_back_val();
      if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(next))
        traceArgument(argument);
      else
        traceResult(llvm::cast<mlir::OpResult>(next));
    }
  }

  llvm::SmallVector<mlir::BlockArgument> inputs; ///< of entries
  llvm::SmallVector<TableOp> tables;

private:
  void reach(mlir::Value value) {
    if (seen.insert(value).second)
      open.push_back(value);
  }

  void traceResult(mlir::OpResult result) {
    mlir::Operation *op = result.getOwner();
    unsigned number = result.getResultNumber();
    if (auto table = llvm::dyn_cast<TableOp>(op))
      tables.push_back(table);
    else if (llvm::isa<RelabelOp, SliceOp, RearrangeOp>(op))
      reach(op->getOperand(0));
    else if (auto loop = llvm::dyn_cast<mlir::scf::ForOp>(op))
      traceLoop(loop, number);
    else if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
      traceCall(symbols.lookup<mlir::func::FuncOp>(call.getCallee()), number);
  }

  void traceCall(mlir::func::FuncOp function, unsigned result) {
    if (function.front().mightHaveTerminator()) // a block with an error does not return
      reach(function.front().getTerminator()->getOperand(result));
  }

  void traceLoop(mlir::scf::ForOp loop, unsigned result) {
    reach(loop.getInitArgs()[result]);
    reach(loop.getBody()->getTerminator()->getOperand(result));
  }

  void traceArgument(mlir::BlockArgument argument) {
    mlir::Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = llvm::dyn_cast<mlir::scf::ForOp>(parent))
      return traceLoop(loop, argument.getArgNumber() - loop.getNumInductionVars());
    if (auto scan = llvm::dyn_cast<ScanOp>(parent)) // states are no integers
      return reach(scan.getInputs()[argument.getArgNumber()]);
    auto function = llvm::cast<mlir::func::FuncOp>(parent);
    if (function->hasAttr("attn.entry"))
      inputs.push_back(argument);
    for (mlir::func::CallOp call : calls.lookup(function.getSymName()))
      reach(call.getOperand(argument.getArgNumber()));
  }

  mlir::SymbolTable symbols;
  llvm::StringMap<llvm::SmallVector<mlir::func::CallOp>> calls; ///< by what they call
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value> open; ///< seen, not looked at
};
} // namespace

static int64_t largestOf(TableOp table) {
  auto elements = llvm::cast<mlir::DenseElementsAttr>(table.getElements()).getValues<int32_t>();
  return *std::max_element(elements.begin(), elements.end());
}

void boundIndices(Sema &sema) {
  llvm::SmallVector<LookupOp> ops;
  sema.output.module->walk([&](LookupOp op) { ops.push_back(op); });
  IndexSources sources(*sema.output.module);
  llvm::DenseMap<mlir::Attribute, int64_t> largest; // of the elements of tables
  for (LookupOp op : ops) {
    int64_t rows = llvm::cast<mlir::RankedTensorType>(op.getTable().getType()).getDimSize(0);
    sources.trace(op.getIndices());
    for (mlir::BlockArgument input : sources.inputs) {
      auto function = llvm::cast<mlir::func::FuncOp>(input.getOwner()->getParentOp());
      unsigned i = input.getArgNumber();
      auto known = function.getArgAttrOfType<mlir::IntegerAttr>(i, "attn.below");
      int64_t below = known ? std::min(known.getInt(), rows) : rows;
      function.setArgAttr(i, "attn.below", sema.builder.getI64IntegerAttr(below));
    }
    for (TableOp table : sources.tables) {
      auto [most, isFirst] = largest.insert({table.getElements(), 0});
      if (isFirst)
        most->second = largestOf(table);
      const Lookup &lookup = sema.output.lookups[op];
      if (most->second >= rows)
        sema.report
            .error(DiagCode::IndicesBeyondTable, lookup.place,
                   "`" + lookup.name + "` has " + llvm::Twine(rows) +
                       " rows, but positions go up to " + llvm::Twine(most->second))
            .at(lookup.table, "declared here")
            .note("the first row is that of position 0");
    }
  }
}

} // namespace attn::frontend
