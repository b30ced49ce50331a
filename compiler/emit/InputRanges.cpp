// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input is followed, through what moves tensors and through calls and loops, to the regions
// that read its elements. There, what an element x is compared with is brought to the form
// `x < P`, P a sum of positions, sizes and numbers: x matters where P may be.
#include "compiler/emit/InputRanges.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attn {
namespace {

/// Integers of which one can be told from others of their kind: two documents, a few of them.
constexpr int64_t kinds = 4;

/// A sum of dims and a number.
struct Size {
  llvm::MapVector<llvm::StringRef, int64_t> dims;
  int64_t constant = 0;

  void add(const AxisInfo &axis, int64_t factor) {
    if (axis.isDynamic())
      dims[axis.dim] += factor * axis.scale;
    constant += factor * (axis.isDynamic() ? axis.offset : axis.size);
  }
};

/// What a bound may be in the tables: a number, or a multiple of one dim and a number. Of a larger
/// sum, `most` is cut to its first growing dim, `least` is 0.
AxisInfo boundOf(const Size &size, bool isLeast) {
  AxisInfo bound;
  bound.size = bound.offset = size.constant;
  size_t terms = 0;
  for (auto [dim, factor] : size.dims) {
    terms += factor != 0;
    if (factor > 0 && !bound.isDynamic()) {
      bound.dim = dim.str();
      bound.scale = factor;
    }
  }
  return isLeast && terms > bound.isDynamic() ? AxisInfo() : bound;
}

/// A sum of atoms, each with a factor: positions, sizes, elements of tensors, other numbers.
struct Sum {
  llvm::MapVector<Value, int64_t> atoms;
  int64_t constant = 0;

  void add(const Sum &other, int64_t factor) {
    for (auto [atom, count] : other.atoms)
      atoms[atom] += factor * count;
    constant += factor * other.constant;
  }
};

Sum sumOf(Value value) {
  Sum sum;
  APInt number;
  Operation *op = value.getDefiningOp();
  auto binary = [&](int64_t factor) {
    sum = sumOf(op->getOperand(0));
    sum.add(sumOf(op->getOperand(1)), factor);
  };
  if (matchPattern(value, m_ConstantInt(&number)))
    sum.constant = number.getSExtValue();
  else if (isa_and_nonnull<arith::AddIOp>(op))
    binary(1);
  else if (isa_and_nonnull<arith::SubIOp>(op))
    binary(-1);
  else if (isa_and_nonnull<arith::MulIOp>(op) &&
           matchPattern(op->getOperand(1), m_ConstantInt(&number)))
    sum.add(sumOf(op->getOperand(0)), number.getSExtValue());
  else if (isa_and_nonnull<arith::MulIOp>(op) &&
           matchPattern(op->getOperand(0), m_ConstantInt(&number)))
    sum.add(sumOf(op->getOperand(1)), number.getSExtValue());
  else
    sum.atoms[value] = 1;
  return sum;
}

class RangeFinder {
public:
  RangeFinder(ModuleOp model, BlockArgument input) : model(model), input(input) {}

  std::optional<InputRange> find();

private:
  void follow(Value tensor);
  void followUse(OpOperand &use);
  void followResults(func::FuncOp function, unsigned result);
  void readRegion(AttentionOp op, Region &region, unsigned own, unsigned capture);
  void readMap(MapOp op, unsigned operand);
  void readElement(Operation *op, llvm::SmallVectorImpl<Value> &elements);
  /// `left` is compared with `right`, each a sum.
  void compare(arith::CmpIPredicate predicate, Value left, Value right, ArrayRef<Value> elements);
  std::optional<AxisInfo> axisOfPosition(Value position);
  /// Where a sum without elements may be; nothing where it has other things in it.
  std::optional<std::pair<Size, Size>> boundsOf(const Sum &sum);
  void include(const Size &least, const Size &most);
  void includeAxis();

  ModuleOp model;
  BlockArgument input;
  AttentionOp attention;  ///< whose region is read
  unsigned firstPosition; ///< of the region's arguments
  llvm::DenseSet<OpOperand *> seen;
  bool isCalculatedWith = false; ///< or compared with what is
  std::optional<InputRange> found;
  llvm::SmallVector<int64_t> notable;
};

void RangeFinder::include(const Size &least, const Size &most) {
  AxisInfo low = boundOf(least, true), high = boundOf(most, false);
  if (!found) {
    found = InputRange{low, high, {}};
    return;
  }
  // Of bounds that cannot be compared, the least is a number and the most follows a size.
  if (found->least.dim == low.dim && found->least.scale == low.scale)
    found->least = low.offset < found->least.offset ? low : found->least;
  else if (!low.isDynamic())
    found->least = low;
  if (found->most.dim == high.dim && found->most.scale == high.scale)
    found->most = high.offset > found->most.offset ? high : found->most;
  else if (high.isDynamic() && !found->most.isDynamic())
    found->most = high;
}

/// As many as the input's last axis is long: they may be positions on it.
void RangeFinder::includeAxis() {
  llvm::SmallVector<AxisInfo> axes = axesOf(model, input.getType());
  Size least, most;
  if (!axes.empty())
    most.add(axes.back(), 1);
  most.constant += axes.empty() ? kinds : -1;
  include(least, most);
}

std::optional<AxisInfo> RangeFinder::axisOfPosition(Value position) {
  auto argument = dyn_cast<BlockArgument>(position);
  if (!argument || argument.getOwner()->getParentOp() != attention || !position.getType().isIndex())
    return std::nullopt;
  auto query = cast<RankedTensorType>(attention.getQuery().getType()),
       key = cast<RankedTensorType>(attention.getKey().getType());
  int64_t axis = int64_t(argument.getArgNumber()) - firstPosition;
  if (axis < query.getRank() - 1)
    return axesOf(model, query)[size_t(axis)];
  return axesOf(model, key)[size_t(axisIndex(key, attention.getKeyAxis()))];
}

std::optional<std::pair<Size, Size>> RangeFinder::boundsOf(const Sum &sum) {
  Size least, most;
  least.constant = most.constant = sum.constant;
  bool hasForward = false, hasBackward = false;
  for (auto [atom, factor] : sum.atoms) {
    if (factor == 0)
      continue;
    if (auto size = atom.getDefiningOp<SizeOp>()) {
      least.dims[size.getDim()] += factor;
      most.dims[size.getDim()] += factor;
      continue;
    }
    auto axis = axisOfPosition(atom);
    if (!axis)
      return std::nullopt;
    Size &end = factor > 0 ? most : least;
    end.add(*axis, factor);
    end.constant -= factor;
    (factor > 0 ? hasForward : hasBackward) = true;
  }
  // How far two positions are from each other matters from 0 on.
  if (hasForward && hasBackward) {
    least = Size();
    least.constant = sum.constant;
  }
  return std::make_pair(least, most);
}

void RangeFinder::compare(arith::CmpIPredicate predicate, Value left, Value right,
                          ArrayRef<Value> elements) {
  Sum sum = sumOf(left);
  sum.add(sumOf(right), -1);
  int64_t factor = 0, own = 0;
  for (Value element : elements)
    if (auto it = sum.atoms.find(element); it != sum.atoms.end() && it->second != 0) {
      factor = it->second;
      ++own;
      it->second = 0;
    }
  bool isEquality = predicate == arith::CmpIPredicate::eq || predicate == arith::CmpIPredicate::ne;
  if (own == 0)
    return;
  // factor * x + sum ? 0 becomes x ? P, with P = -sum / factor.
  Sum other;
  other.add(sum, -factor);
  auto bounds = own == 1 && std::abs(factor) == 1 ? boundsOf(other) : std::nullopt;
  if (!bounds && isEquality) { // with another integer: one of a few
    Size least, most;
    most.constant = kinds - 1;
    return include(least, most);
  }
  if (!bounds) { // what else it is compared with may say more
    isCalculatedWith = true;
    return;
  }
  auto [least, most] = *bounds;
  bool isNumber =
      other.atoms.empty() || llvm::all_of(other.atoms, [](auto atom) { return atom.second == 0; });
  if (isNumber && isEquality) {
    notable.push_back(least.constant);
    return;
  }
  using P = arith::CmpIPredicate;
  bool isLess =
      predicate == P::slt || predicate == P::ult || predicate == P::sle || predicate == P::ule;
  bool isStrict =
      predicate == P::slt || predicate == P::ult || predicate == P::sgt || predicate == P::ugt;
  if (factor < 0)
    isLess = !isLess;
  // x > P holds from P + 1 on, x < P up to P - 1.
  int64_t shift = isEquality || !isStrict ? 0 : isLess ? -1 : 1;
  least.constant += shift;
  most.constant += shift;
  if (isNumber) // one that holds and one that does not
    (isLess ? most : least).constant += isLess ? 1 : -1;
  include(least, most);
}

void RangeFinder::readElement(Operation *op, llvm::SmallVectorImpl<Value> &elements) {
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    return compare(comparison.getPredicate(), comparison.getLhs(), comparison.getRhs(), elements);
  // What is cut off at a number matters on both sides of it, and is an element still.
  if (isa<arith::MaxSIOp, arith::MinSIOp>(op)) {
    bool isMax = isa<arith::MaxSIOp>(op);
    compare(isMax ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle, op->getOperand(0),
            op->getOperand(1), elements);
    if (llvm::any_of(op->getOperands(),
                     [&](Value value) { return llvm::is_contained(elements, value); }))
      elements.push_back(op->getResult(0));
    return;
  }
  auto uses = [&](Value value) {
    Sum sum = sumOf(value);
    return llvm::any_of(elements, [&](Value element) { return sum.atoms.count(element); });
  };
  if (auto read = dyn_cast<ElementOp>(op)) {
    for (auto [axis, position] : llvm::enumerate(read.getPositions()))
      if (uses(position)) {
        Size least, most;
        most.add(axesOf(model, read.getTensor().getType())[axis], 1);
        most.constant -= 1;
        include(least, most);
      }
    return;
  }
  if (isa<arith::RemSIOp, arith::DivSIOp, arith::FloorDivSIOp>(op)) {
    APInt number;
    if (uses(op->getOperand(0)) && matchPattern(op->getOperand(1), m_ConstantInt(&number))) {
      Size least, most;
      most.constant = 2 * number.getSExtValue() - 1; // the second time round, too
      include(least, most);
    }
    return;
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    isCalculatedWith |= llvm::any_of(
        op->getOperands(), [&](Value value) { return value.getType().isIndex() && uses(value); });
}

/// The region's arguments are `own`, positions, and the captures, of which `capture` is the input.
void RangeFinder::readRegion(AttentionOp op, Region &region, unsigned own, unsigned capture) {
  if (region.empty())
    return;
  attention = op;
  firstPosition = own;
  Block &block = region.front();
  Value tensor = block.getArgument(block.getNumArguments() - op.getCaptures().size() + capture);
  llvm::SmallVector<Value> elements;
  for (Operation *user : tensor.getUsers())
    if (auto element = dyn_cast<ElementOp>(user); element && element.getTensor() == tensor)
      elements.push_back(element.getResult());
  if (!elements.empty())
    region.walk([&](Operation *inner) { readElement(inner, elements); });
}

/// What is compared with positions in a map, as the lengths of a scan are, counts them.
void RangeFinder::readMap(MapOp op, unsigned operand) {
  Block &block = op.getBody().front();
  for (Operation *user : block.getArgument(operand).getUsers())
    for (Value other : isa<arith::CmpIOp>(user) ? user->getOperands() : ValueRange()) {
      auto argument = dyn_cast<BlockArgument>(other);
      auto table = argument && argument.getOwner() == &block
                       ? op.getInputs()[argument.getArgNumber()].getDefiningOp<TableOp>()
                       : TableOp();
      if (!table)
        continue;
      Size least, most;
      most.add(axesOf(model, table.getType()).back(), 1);
      include(least, most);
    }
}

void RangeFinder::followResults(func::FuncOp function, unsigned result) {
  model.walk([&](func::CallOp call) {
    if (call.getCallee() == function.getSymName())
      follow(call.getResult(result));
  });
}

void RangeFinder::followUse(OpOperand &use) {
  unsigned operand = use.getOperandNumber();
  llvm::TypeSwitch<Operation *>(use.getOwner())
      .Case<RelabelOp, SliceOp, RearrangeOp, ConcatOp>([&](auto op) { follow(op->getResult(0)); })
      .Case([&](func::CallOp call) {
        auto callee = model.lookupSymbol<func::FuncOp>(call.getCallee());
        follow(callee.getArgument(operand));
      })
      .Case([&](func::ReturnOp op) { followResults(op->getParentOfType<func::FuncOp>(), operand); })
      .Case([&](scf::ForOp loop) {
        if (operand < loop.getNumControlOperands())
          return;
        unsigned carried = operand - loop.getNumControlOperands();
        follow(loop.getRegionIterArg(carried));
        follow(loop.getResult(carried));
      })
      .Case([&](scf::YieldOp op) {
        if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp())) {
          follow(loop.getRegionIterArg(operand));
          follow(loop.getResult(operand));
        }
      })
      .Case([&](MapOp op) { readMap(op, operand); })
      .Case([&](ScanOp scan) {
        if (operand < scan.getInputs().size())
          follow(scan.getBody().getArgument(operand));
      })
      .Case([&](AttentionOp op) {
        if (operand < 3)
          return;
        readRegion(op, op.getScore(), 2, operand - 3);
        readRegion(op, op.getBias(), 1, operand - 3);
        readRegion(op, op.getMask(), 0, operand - 3);
        readRegion(op, op.getSink(), 0, operand - 3);
      });
}

void RangeFinder::follow(Value tensor) {
  for (OpOperand &use : tensor.getUses())
    if (seen.insert(&use).second)
      followUse(use);
}

std::optional<InputRange> RangeFinder::find() {
  follow(input);
  if (!found && isCalculatedWith)
    includeAxis();
  auto function = cast<func::FuncOp>(input.getOwner()->getParentOp());
  auto below = function.getArgAttrOfType<IntegerAttr>(input.getArgNumber(), attributes::below);
  if (below) {
    Size least, most;
    most.constant = below.getInt() - 1;
    found.reset();
    include(least, most);
    llvm::erase_if(notable, [&](int64_t n) { return n < 0 || n >= below.getInt(); });
  }
  if (!found && !notable.empty()) {
    Size least, most;
    least.constant = std::min<int64_t>(0, *llvm::min_element(notable));
    most.constant = *llvm::max_element(notable) + kinds;
    include(least, most);
  }
  if (!found || (below && notable.empty())) // `below` says it
    return std::nullopt;
  llvm::sort(notable);
  notable.erase(llvm::unique(notable), notable.end());
  found->notable = notable;
  return found;
}

} // namespace

std::optional<InputRange> inputRange(ModuleOp model, BlockArgument argument) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  bool isInteger =
      type && (type.getElementType().isInteger(32) || type.getElementType().isInteger(64));
  return isInteger ? RangeFinder(model, argument).find() : std::nullopt;
}

} // namespace attn
