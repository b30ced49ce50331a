// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dim counts a batch if no op in reach of the entry combines places along it. An op that is not
// known here does.
#include "compiler/emit/BatchDim.h"

#include "compiler/emit/ModelInfo.h"
#include "dialect/AttnDialect.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attn {
namespace {

/// Looks for what combines places along one dim.
class Separation {
public:
  Separation(ModuleOp model, StringRef dim) : model(model), dim(dim) {
    for (DimOp declared : model.getOps<DimOp>())
      dims.insert(declared.getSymName());
  }

  /// Whether nothing in a function, and in what it calls, does.
  bool holdsIn(FunctionOpInterface function);
  /// Whether a type has one axis of the dim, as long as the dim.
  bool hasWholeAxis(Type type) const;

private:
  /// Whether an axis counts elements of the batch. So do the rows of an expert, whose number no dim
  /// of the model is.
  bool isBatch(const AxisInfo &axis) const {
    return axis.isDynamic() && (axis.dim == dim || !dims.contains(axis.dim));
  }
  bool isBatch(Value tensor, int64_t axis) const {
    return isBatch(axesOf(model, tensor.getType())[size_t(axis)]);
  }
  /// Whether a type has no two axes of the dim, and none of one more than that.
  bool isApart(Type type) const;
  bool isApart(Operation *op);
  /// Whether the dim's atom is the outermost one in both axes that it is a part of.
  bool keepsOutermost(RearrangeOp op) const;
  /// Whether elements of tensors with the dim are read at the position of the region's own, which
  /// is used for nothing else.
  bool keepsPositions(AttentionOp op) const;
  bool keepsPositions(AttentionOp op, Region &region, unsigned firstPosition) const;

  ModuleOp model;
  StringRef dim;
  llvm::StringSet<> dims; ///< of the model
  llvm::DenseSet<Operation *> seen;
};

bool Separation::hasWholeAxis(Type type) const {
  auto axes = axesOf(model, type);
  auto isOfDim = [&](const AxisInfo &axis) { return axis.dim == dim; };
  const auto *axis = llvm::find_if(axes, isOfDim);
  return llvm::count_if(axes, isOfDim) == 1 && axis->scale == 1 && axis->offset == 0;
}

bool Separation::isApart(Type type) const {
  auto axes = axesOf(model, type);
  return llvm::count_if(axes, [&](const AxisInfo &axis) { return isBatch(axis); }) <= 1 &&
         llvm::none_of(axes, [&](const AxisInfo &axis) { return isBatch(axis) && axis.offset; });
}

bool Separation::keepsOutermost(RearrangeOp op) const {
  auto isFirst = [&](ArrayRef<int64_t> groups, auto &&atomAt) {
    size_t begin = 0;
    for (int64_t size : groups) {
      for (size_t i = begin + 1; i < begin + size_t(size); ++i)
        if (atomAt(i) < 0)
          return false;
      begin += size_t(size);
    }
    return true;
  };
  bool hasBatch = llvm::any_of(axesOf(model, op.getInput().getType()),
                               [&](const AxisInfo &axis) { return isBatch(axis); });
  ArrayRef<int64_t> atoms = op.getAtoms(), order = op.getOrder();
  return !hasBatch || (isFirst(op.getSplit(), [&](size_t i) { return atoms[i]; }) &&
                       isFirst(op.getMerge(), [&](size_t i) { return atoms[size_t(order[i])]; }));
}

bool Separation::keepsPositions(AttentionOp op, Region &region, unsigned firstPosition) const {
  if (region.empty())
    return true;
  int64_t axes = cast<RankedTensorType>(op.getQuery().getType()).getRank() - 1;
  Value own;
  for (int64_t axis = 0; axis < axes; ++axis)
    if (isBatch(op.getQuery(), axis))
      own = region.getArgument(firstPosition + unsigned(axis));
  WalkResult result = region.walk([&](Operation *inner) {
    auto element = dyn_cast<ElementOp>(inner);
    for (auto [i, operand] : llvm::enumerate(inner->getOperands())) {
      bool isOfBatch = element && i > 0 && isBatch(element.getTensor(), int64_t(i) - 1);
      if (isOfBatch != (own && operand == own))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return !result.wasInterrupted();
}

bool Separation::keepsPositions(AttentionOp op) const {
  return !isBatch(op.getKey(), axisIndex(op.getKey().getType(), op.getKeyAxis())) &&
         keepsPositions(op, op.getScore(), 2) && keepsPositions(op, op.getBias(), 1) &&
         keepsPositions(op, op.getMask(), 0) && keepsPositions(op, op.getSink(), 0);
}

bool Separation::isApart(Operation *op) {
  for (Type type : op->getResultTypes())
    if (!isApart(type))
      return false;
  auto isAlong = [&](Value tensor, StringRef axis) {
    return isBatch(tensor, axisIndex(tensor.getType(), axis));
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<DimOp, GetOp, LinearOp, NormOp, MapOp, LookupOp, RotaryOp, PushOp, TopkOp, RouteOp,
            RoutedOp, NextOp, DotOp, YieldOp, func::FuncOp, func::ReturnOp, scf::ForOp,
            scf::YieldOp>([](Operation *) { return true; })
      .Case([](ElementOp element) { return bool(element->getParentOfType<AttentionOp>()); })
      .Case([&](SizeOp size) { return size.getDim() != dim; })
      .Case([&](TableOp table) {
        return llvm::none_of(axesOf(model, table.getType()),
                             [&](const AxisInfo &axis) { return isBatch(axis); });
      })
      .Case<ConcatOp, SoftmaxOp>(
          [&](auto known) { return !isBatch(known.getResult(), known.getAxis()); })
      .Case([&](SliceOp slice) { return !isBatch(slice.getInput(), slice.getAxis()); })
      .Case([&](PickOp pick) { return !isBatch(pick.getInput(), pick.getAxis()); })
      .Case([&](ReduceOp reduce) {
        return llvm::none_of(reduce.getInputs(), [&](Value input) {
          return llvm::any_of(reduce.getOver().getAsRange<StringAttr>(), [&](StringAttr axis) {
            return axisIndex(input.getType(), axis.getValue()) >= 0 &&
                   isAlong(input, axis.getValue());
          });
        });
      })
      .Case([&](PadOp pad) {
        return llvm::all_of(
            llvm::enumerate(llvm::zip_equal(pad.getLow(), pad.getHigh())), [&](auto border) {
              auto [low, high] = border.value();
              return (low == 0 && high == 0) || !isBatch(pad.getInput(), int64_t(border.index()));
            });
      })
      .Case([&](WindowsOp windows) {
        return llvm::none_of(windows.getAxes(),
                             [&](int64_t axis) { return isBatch(windows.getInput(), axis); });
      })
      .Case([&](RelabelOp relabel) {
        int64_t rank = cast<RankedTensorType>(relabel.getInput().getType()).getRank();
        return llvm::all_of(llvm::seq(rank), [&](int64_t axis) {
          return isBatch(relabel.getInput(), axis) == isBatch(relabel.getResult(), axis);
        });
      })
      .Case([&](RearrangeOp rearrange) { return keepsOutermost(rearrange); })
      .Case([&](AttentionOp attention) { return keepsPositions(attention); })
      .Case([&](ScanOp scan) {
        return llvm::none_of(scan.getInputs(),
                             [&](Value input) { return isAlong(input, scan.getAxis()); });
      })
      .Case([&](func::CallOp call) {
        return holdsIn(model.lookupSymbol<func::FuncOp>(call.getCallee()));
      })
      .Default([](Operation *other) {
        return isa<arith::ArithDialect, math::MathDialect>(other->getDialect());
      });
}

bool Separation::holdsIn(FunctionOpInterface function) {
  if (!seen.insert(function).second)
    return true;
  if (function.isExternal() ||
      !llvm::all_of(function.getArgumentTypes(), [&](Type type) { return isApart(type); }))
    return false;
  return !function
              ->walk([&](Operation *op) {
                return isApart(op) ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

} // namespace

std::string batchDim(ModuleOp model, FunctionOpInterface entry) {
  if (entry.getArgumentTypes().empty())
    return {};
  for (const AxisInfo &axis : axesOf(model, entry.getArgumentTypes().front())) {
    if (!axis.isDynamic())
      continue;
    Separation separation(model, axis.dim);
    auto hasAxis = [&](Type type) { return separation.hasWholeAxis(type); };
    if (llvm::all_of(entry.getArgumentTypes(), hasAxis) &&
        llvm::all_of(entry.getResultTypes(), hasAxis) && separation.holdsIn(entry))
      return axis.dim;
  }
  return {};
}

} // namespace attn
