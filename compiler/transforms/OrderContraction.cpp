// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears of windows contract their axes in the order in which these lie in memory, and weights are
// packed so:
//   linear windows [.., C, P, Q], w [D, C, P, Q]   ->   linear [.., P, Q, C], w [D, P, Q, C]
#include "compiler/transforms/BufferView.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/Permute.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

namespace attn {
#define GEN_PASS_DEF_ORDERCONTRACTIONPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Where a tensor lies if what it is a view of is dense; nothing where it is no view of windows.
static std::optional<BufferView> viewOfWindows(Value tensor) {
  SmallVector<Operation *> views;
  Operation *op = tensor.getDefiningOp();
  while (op && isa<RelabelOp, RearrangeOp, WindowsOp>(op)) {
    views.push_back(op);
    tensor = op->getOperand(0);
    op = tensor.getDefiningOp();
  }
  if (llvm::none_of(views, [](Operation *view) { return isa<WindowsOp>(view); }))
    return std::nullopt;
  BufferView view = BufferView::dense(cast<RankedTensorType>(tensor.getType()), Value());
  for (Operation *op : llvm::reverse(views)) {
    if (auto windows = dyn_cast<WindowsOp>(op))
      view = view.windows(windows);
    else if (auto rearrange = dyn_cast<RearrangeOp>(op))
      view = view.rearrange(rearrange);
  }
  return view;
}

/// The contracted axes by the distance of their elements, the largest first; empty where they are
/// so already, or not one run of memory each.
static SmallVector<int64_t> orderOf(LinearOp linear) {
  std::optional<BufferView> view = viewOfWindows(linear.getInput());
  if (!view || linear.getNorm())
    return {};
  int64_t rank = static_cast<int64_t>(view->axes.size()), count = linear.getContract();
  SmallVector<int64_t> strides, order;
  for (int64_t d = rank - count; d < rank; ++d) {
    SmallVector<Atom> atoms = collapse(view->axes[d]);
    if (atoms.size() > 1)
      return {};
    // An axis of one element may lie anywhere.
    bool isKnown = atoms.empty() || atoms[0].stride.isConstant();
    strides.push_back(!isKnown ? INT64_MAX : atoms.empty() ? 0 : atoms[0].stride.constant());
    order.push_back(d - (rank - count));
  }
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(strides[b], a) < std::pair(strides[a], b);
  });
  return llvm::is_sorted(order) ? SmallVector<int64_t>() : order;
}

/// The order of all axes of a tensor of `rank`, of which `last` says that of the last.
static SmallVector<int64_t> wholeOrder(int64_t rank, ArrayRef<int64_t> last) {
  int64_t first = rank - static_cast<int64_t>(last.size());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, first));
  for (int64_t d : last)
    order.push_back(first + d);
  return order;
}

namespace {

struct OrderContractionPass : attn::impl::OrderContractionPassBase<OrderContractionPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::DenseMap<std::pair<Operation *, Attribute>, ParamOp> made;
    SmallVector<std::pair<LinearOp, SmallVector<int64_t>>> linears;
    getOperation().walk([&](LinearOp linear) {
      if (SmallVector<int64_t> order = orderOf(linear); !order.empty())
        linears.push_back({linear, order});
    });
    for (auto &[linear, order] : linears)
      reorder(linear, order, symbols, made);
    // A parameter that nothing reads any more gives its name to the one made of it.
    for (auto &[key, param] : made) {
      auto old = cast<ParamOp>(key.first);
      if (!SymbolTable::symbolKnownUseEmpty(old, getOperation()))
        continue;
      StringAttr name = old.getSymNameAttr();
      symbols.erase(old);
      (void)symbols.rename(param, name);
    }
  }

  /// Whether all weights are parameters, read in the block of the linear.
  static bool haveParameters(LinearOp linear) {
    return llvm::all_of(linear.getWeights(),
                        [](Value weight) { return weight.getDefiningOp<GetOp>(); });
  }

  static void reorder(LinearOp linear, ArrayRef<int64_t> order, SymbolTable &symbols,
                      llvm::DenseMap<std::pair<Operation *, Attribute>, ParamOp> &made) {
    if (!haveParameters(linear))
      return;
    OpBuilder builder(linear);
    Attribute key = builder.getDenseI64ArrayAttr(order);
    for (OpOperand &weight : linear.getWeightsMutable()) {
      auto get = weight.get().getDefiningOp<GetOp>();
      auto old = symbols.lookup<ParamOp>(get.getParam());
      ParamOp &param = made[{old, key}];
      if (!param)
        param = orderedParam(old, order, symbols);
      auto type = cast<RankedTensorType>(param.getType());
      weight.set(GetOp::create(builder, get.getLoc(), type,
                               FlatSymbolRefAttr::get(param.getSymNameAttr()), get.getLayer()));
      if (get->use_empty())
        get.erase();
    }
    Value input = linear.getInput();
    int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
    linear.getInputMutable().assign(
        permuted(builder, linear.getLoc(), input, wholeOrder(rank, order)));
  }

  static ParamOp orderedParam(ParamOp old, ArrayRef<int64_t> order, SymbolTable &symbols) {
    OpBuilder builder(old);
    auto param = cast<ParamOp>(builder.clone(*old));
    SourceAttr source = old.getSource();
    auto type = cast<RankedTensorType>(old.getType());
    SmallVector<int64_t> axes = wholeOrder(type.getRank(), order), strides;
    for (int64_t d : axes)
      strides.push_back(source.getStrides()[d]);
    param.setTypeAttr(TypeAttr::get(permuted(type, axes)));
    param.setSourceAttr(SourceAttr::get(old.getContext(), source.getPattern(), source.getShape(),
                                        source.getOffset(), strides));
    symbols.insert(param);
    return param;
  }
};

} // namespace
