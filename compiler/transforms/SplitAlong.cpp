// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of products with weights of each place along axes, as those of a latent's heads and of a
// convolution in groups are, become linears, one for each place, whose results are concatenated:
//   reduce over N (x [T, H, N] * w [N, H, K])  ->  linear x [T, 0, N], w of place 0 [K, N]; …
// so that kernels of linears compute them, of weights in panels.
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/Permute.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include <vector>

namespace attn {
#define GEN_PASS_DEF_SPLITALONGPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// A sum of products as linears. Axes are positions in the tensor that is named.
struct Along {
  Value input;   ///< [rows and places..., contracted...] in any order
  GetOp weights; ///< Of a parameter [places, given, contracted] in any order.
  RankedTensorType whole, result, param; ///< Types of both, and of what is computed.
  SmallVector<int64_t> order;            ///< The axes of the input, those that are contracted last.
  SmallVector<int64_t> contracted;       ///< The axes of the parameter that are contracted,
  SmallVector<int64_t> places, given;    ///< of each place, and that the result gets.
  int64_t count = 1;                     ///< Places.
};

} // namespace

/// Whether a reduction sums up the products of its two inputs.
static bool sumsProducts(ReduceOp op) {
  if (op.getKind() != Reduction::Sum || op.getInputs().size() != 2 || op.getBody().empty())
    return false;
  Block &body = op.getBody().front();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  auto product = yield ? yield.getValue().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!product || &body.front() != product)
    return false;
  Value a = body.getArgument(0), b = body.getArgument(1);
  return (product.getLhs() == a && product.getRhs() == b) ||
         (product.getLhs() == b && product.getRhs() == a);
}

static int64_t elementsOf(RankedTensorType type, ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t d : axes)
    count *= type.getDimSize(d);
  return count;
}

/// A reduction as linears, where it is worth it.
static std::optional<Along> alongOf(ReduceOp op) {
  // More places than that are channels. The others are the least that a panel is worth.
  constexpr int64_t mostPlaces = 128, leastGiven = 4, leastContracted = 8;
  if (op->getParentOfType<ScanOp>() || !sumsProducts(op))
    return std::nullopt;
  Along along;
  for (Value input : op.getInputs())
    if (auto get = input.getDefiningOp<GetOp>(); get && !along.weights)
      along.weights = get;
    else
      along.input = input;
  if (!along.weights || !along.input)
    return std::nullopt;
  along.whole = cast<RankedTensorType>(along.input.getType());
  along.param = cast<RankedTensorType>(along.weights.getType());
  along.result = cast<RankedTensorType>(op.getResult().getType());
  if (!along.whole.getElementType().isF32() || !along.param.getElementType().isF32())
    return std::nullopt;
  auto isOver = [&](StringAttr axis) { return llvm::is_contained(op.getOver(), axis); };
  SmallVector<int64_t> last;
  for (auto [d, axis] : llvm::enumerate(axesOf(along.whole)))
    (isOver(axis) ? last : along.order).push_back(int64_t(d));
  along.order.append(last);
  for (int64_t d : last) {
    int64_t at = axisIndex(along.param, axesOf(along.whole)[d]);
    if (at < 0)
      return std::nullopt;
    along.contracted.push_back(at);
  }
  for (auto [d, axis] : llvm::enumerate(axesOf(along.param))) {
    if (isOver(axis) && !llvm::is_contained(along.contracted, int64_t(d)))
      return std::nullopt;
    if (!isOver(axis))
      (axisIndex(along.whole, axis) < 0 ? along.given : along.places).push_back(int64_t(d));
  }
  along.count = elementsOf(along.param, along.places);
  // Rows in front, then places and what is given, as a linear and a concatenation give them.
  bool isWorth = !along.places.empty() && along.count <= mostPlaces &&
                 elementsOf(along.param, along.given) >= leastGiven &&
                 elementsOf(along.param, along.contracted) >= leastContracted;
  return isWorth ? std::optional(along) : std::nullopt;
}

/// The type with one element along an axis.
static RankedTensorType ofOnePlace(RankedTensorType type, int64_t axis) {
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = 1;
  return axesTensor(type.getElementType(), shape, axesOf(type));
}

namespace {

struct SplitAlongPass : attn::impl::SplitAlongPassBase<SplitAlongPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    std::vector<std::pair<ReduceOp, Along>> found;
    getOperation().walk([&](ReduceOp op) {
      if (std::optional<Along> along = alongOf(op))
        found.push_back({op, *along});
    });
    SetVector<ParamOp> split;
    for (auto &[op, along] : found) {
      split.insert(symbols.lookup<ParamOp>(along.weights.getParam()));
      replace(op, along, symbols);
    }
    for (ParamOp param : split)
      if (SymbolTable::symbolKnownUseEmpty(param, getOperation()))
        symbols.erase(param);
  }

  static void replace(ReduceOp op, Along &along, SymbolTable &symbols) {
    OpBuilder builder(op);
    SmallVector<Value> parts;
    Value ordered = permuted(builder, op.getLoc(), along.input, along.order);
    for (int64_t place = 0; place < along.count; ++place)
      parts.push_back(at(builder, op, along, ordered, place, symbols));
    // Innermost axes first: parts that differ in the place along one become one.
    for (int64_t d : llvm::reverse(along.places))
      parts = joined(builder, op, parts, axesOf(along.param)[d], along.param.getDimSize(d));
    Value whole = parts.front();
    auto type = cast<RankedTensorType>(whole.getType());
    SmallVector<int64_t> order;
    for (StringAttr axis : axesOf(along.result))
      order.push_back(axisIndex(type, axis));
    op.replaceAllUsesWith(permuted(builder, op.getLoc(), whole, order));
    op.erase();
    if (along.weights->use_empty())
      along.weights->erase();
  }

  /// Of each place along `places`, numbered row-major, its position along `d`.
  static int64_t positionOf(Along &along, int64_t place, int64_t d) {
    for (int64_t other : llvm::reverse(along.places)) {
      int64_t size = along.param.getDimSize(other);
      if (other == d)
        return place % size;
      place /= size;
    }
    return 0;
  }

  /// The linear of one place.
  static Value at(OpBuilder &builder, ReduceOp op, Along &along, Value input, int64_t place,
                  SymbolTable &symbols) {
    Location loc = op.getLoc();
    for (int64_t d : along.places) {
      auto type = cast<RankedTensorType>(input.getType());
      int64_t axis = axisIndex(type, axesOf(along.param)[d]);
      input = SliceOp::create(builder, loc, ofOnePlace(type, axis), input, axis,
                              positionOf(along, place, d), /*end=*/false, /*drop=*/false);
    }
    ParamOp param = partOf(along, place, symbols);
    Value weights =
        GetOp::create(builder, along.weights.getLoc(), cast<RankedTensorType>(param.getType()),
                      FlatSymbolRefAttr::get(param.getSymNameAttr()), along.weights.getLayer());
    auto type = cast<RankedTensorType>(input.getType());
    int64_t contracted = int64_t(along.contracted.size());
    SmallVector<int64_t> shape(type.getShape().drop_back(contracted));
    SmallVector<StringAttr> names(ArrayRef<StringAttr>(axesOf(type)).drop_back(contracted));
    for (int64_t d : along.given) {
      shape.push_back(along.param.getDimSize(d));
      names.push_back(axesOf(along.param)[d]);
    }
    return LinearOp::create(builder, loc, axesTensor(builder.getF32Type(), shape, names), input,
                            weights, ValueRange(), contracted);
  }

  /// The weights of one place: a parameter of its own.
  static ParamOp partOf(Along &along, int64_t place, SymbolTable &symbols) {
    auto whole = symbols.lookup<ParamOp>(along.weights.getParam());
    SmallVector<int64_t> axes(along.given);
    axes.append(along.contracted);
    RankedTensorType type = permuted(along.param, axes);
    std::string name = whole.getSymName().str();
    int64_t offset = whole.getSource().getOffset();
    for (int64_t d : along.places) {
      int64_t position = positionOf(along, place, d);
      name += "." + axesOf(along.param)[d].str() + std::to_string(position);
      offset += position * whole.getSource().getStrides()[d];
    }
    if (!llvm::is_sorted(along.contracted)) // the same weights in another order
      for (int64_t d : along.contracted)
        name += "." + axesOf(along.param)[d].str();
    if (auto known = symbols.lookup<ParamOp>(name))
      return known;
    OpBuilder builder(whole);
    auto part = cast<ParamOp>(builder.clone(*whole));
    part.setSymName(name);
    part.setTypeAttr(TypeAttr::get(type));
    part.setPrecision(Precision::F32);
    SmallVector<int64_t> strides;
    for (int64_t d : axes)
      strides.push_back(whole.getSource().getStrides()[d]);
    SourceAttr source = whole.getSource();
    part.setSourceAttr(SourceAttr::get(builder.getContext(), source.getPattern(), source.getShape(),
                                       offset, strides));
    symbols.insert(part);
    return part;
  }

  /// Each `count` parts one behind the other along an axis.
  static SmallVector<Value> joined(OpBuilder &builder, ReduceOp op, ArrayRef<Value> parts,
                                   StringAttr axis, int64_t count) {
    auto part = cast<RankedTensorType>(parts.front().getType());
    int64_t at = axisIndex(part, axis);
    SmallVector<int64_t> shape(part.getShape()), along(count, at);
    shape[at] = count;
    RankedTensorType type = axesTensor(part.getElementType(), shape, axesOf(part));
    SmallVector<Value> result;
    for (; !parts.empty(); parts = parts.drop_front(count))
      result.push_back(
          ConcatOp::create(builder, op.getLoc(), type, parts.take_front(count), at, along));
    return result;
  }
};

} // namespace
