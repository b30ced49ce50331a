// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An expert gets the rows that have chosen it: which others are among them means nothing. Ops along
// the rows' axis are what it must not have.
#include "compiler/frontend/sema/checks/RowByRow.h"
#include "dialect/Choices.h"

#include "llvm/ADT/TypeSwitch.h"

namespace attn::frontend {

namespace {
/// Looks at ops.
struct RowFinder {
  llvm::StringRef rows;

  /// Whether an axis is that of rows, or is made of it.
  bool isOfRows(llvm::StringRef axis) const {
    auto size = parseLinearSize(axis);
    return size && size->dim == rows;
  }
  bool isRows(mlir::Type type, int64_t axis) const {
    auto tensor = llvm::cast<mlir::RankedTensorType>(type);
    return tensor.isDynamicDim(axis) && isOfRows(attn::axesOf(type)[axis].getValue());
  }
  bool hasRows(mlir::Type type) const {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return tensor && llvm::any_of(llvm::seq<int64_t>(0, tensor.getRank()),
                                  [&](int64_t axis) { return isRows(type, axis); });
  }
  /// Whether rows are an axis that was changed: longer, or joined with another.
  bool hasChanged(mlir::Type type) const {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    for (int64_t axis = 0; tensor && axis < tensor.getRank(); ++axis)
      if (isRows(type, axis)) {
        auto size = parseLinearSize(attn::axesOf(type)[axis].getValue());
        if (size->scale != 1 || size->offset != 0)
          return true;
      }
    return false;
  }
  bool isAcross(mlir::Operation *op) const;
};
} // namespace

bool RowFinder::isAcross(mlir::Operation *op) const {
  if (llvm::any_of(op->getResultTypes(), [&](mlir::Type type) { return hasChanged(type); }))
    return true;
  auto input = [&](auto of) { return of.getInput().getType(); };
  return llvm::TypeSwitch<mlir::Operation *, bool>(op)
      .Case([&](SizeOp size) { return size.getDim() == rows; })
      .Case<SoftmaxOp, TopkOp, PickOp, SliceOp>(
          [&](auto of) { return isRows(input(of), static_cast<int64_t>(of.getAxis())); })
      .Case([&](ReduceOp reduce) {
        return llvm::any_of(reduce.getOver().getAsRange<mlir::StringAttr>(),
                            [&](mlir::StringAttr axis) { return isOfRows(axis.getValue()); });
      })
      .Case([&](AttentionOp attention) {
        mlir::Type key = attention.getKey().getType();
        return isRows(key, axisIndex(key, attention.getKeyAxis()));
      })
      .Case([&](WindowsOp windows) {
        return llvm::any_of(windows.getAxes(),
                            [&](int64_t axis) { return isRows(input(windows), axis); });
      })
      .Case([&](ConcatOp concat) {
        return isRows(concat.getResult().getType(), static_cast<int64_t>(concat.getAxis()));
      })
      .Case([&](ScanOp scan) { return isOfRows(scan.getAxis()); })
      .Case([&](TableOp table) { return hasRows(table.getResult().getType()); })
      .Case<PushOp, RouteOp>([](auto) { return true; })
      .Default(false);
}

mlir::Operation *findAcrossRows(mlir::ModuleOp module, mlir::func::FuncOp function,
                                llvm::StringRef rows) {
  RowFinder finder{rows};
  mlir::Operation *found = nullptr;
  llvm::SmallVector<mlir::func::FuncOp> open{function};
  llvm::DenseSet<mlir::Operation *> seen{function};
  while (!open.empty() && !found)
    open.pop_back_val().walk([&](mlir::Operation *op) {
      if (finder.isAcross(op)) {
        found = op;
        return mlir::WalkResult::interrupt();
      }
      auto call = llvm::dyn_cast<mlir::func::CallOp>(op);
      auto callee =
          call ? module.lookupSymbol<mlir::func::FuncOp>(call.getCallee()) : mlir::func::FuncOp();
      if (callee && seen.insert(callee).second)
        open.push_back(callee);
      return mlir::WalkResult::advance();
    });
  return found;
}

} // namespace attn::frontend
