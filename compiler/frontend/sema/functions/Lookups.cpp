// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embeddings: rows of a table by integers, and where these come from.
#include "compiler/frontend/sema/functions/Lookups.h"
#include "compiler/frontend/sema/entries/CacheAxes.h"
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/parameters/Params.h"
#include "compiler/frontend/sema/parameters/Tables.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

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

} // namespace attn::frontend
