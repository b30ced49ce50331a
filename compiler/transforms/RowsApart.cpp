// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries whose rows are by themselves, each of its own length: the positions of all rows lie one
// behind the other, in tensors with one place along the batch. What computes each position alone,
// as linears and norms do, takes them all together. What knows of positions becomes a function,
// which attn.by_row calls for each row, with its own dims and caches: all of it is there as it is
// for a batch of one.
//
//   q = linear x; push k; a = attention q; y = linear a
//   ->
//   q = linear x; a = by_row @f(q, k); y = linear a     @f(q, k): push k; attention q
#include "compiler/support/Errors.h"
#include "compiler/transforms/Passes.h"
#include "dialect/Attributes.h"
#include "dialect/Caches.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attn {
#define GEN_PASS_DEF_ROWSAPARTPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

//===-- which ops know of positions ---------------------------------------------------------===//

/// Whether an axis of a tensor is the call's positions.
static bool isPositions(const ApartRows &rows, Type type, int64_t axis) {
  auto tensor = cast<RankedTensorType>(type);
  std::optional<LinearSize> size =
      tensor.isDynamicDim(axis) ? parseLinearSize(axesOf(tensor)[axis]) : std::nullopt;
  return size && size->dim == rows.positions;
}

/// Whether the last `count` axes of a tensor are without positions.
static bool areWithout(const ApartRows &rows, Type type, int64_t count) {
  int64_t rank = cast<RankedTensorType>(type).getRank();
  for (int64_t d = rank - count; d < rank; ++d)
    if (isPositions(rows, type, d))
      return false;
  return true;
}

/// Whether an op, whose tensors have positions, computes each of them by itself.
static bool isPointwise(const ApartRows &rows, Operation *op) {
  auto keeps = [&](Value input, int64_t axis) { return !isPositions(rows, input.getType(), axis); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<MapOp, RotaryOp, RelabelOp, RearrangeOp, LookupOp, RouteOp, TopkOp>(
          [](Operation *) { return true; })
      .Case([&](LinearOp linear) {
        return areWithout(rows, linear.getInput().getType(), linear.getContract());
      })
      .Case(
          [&](NormOp norm) { return areWithout(rows, norm.getInput().getType(), norm.getAxes()); })
      .Case([&](SliceOp slice) { return keeps(slice.getInput(), slice.getAxis()); })
      .Case([&](SoftmaxOp softmax) { return keeps(softmax.getInput(), softmax.getAxis()); })
      .Case([&](PickOp pick) { return keeps(pick.getInput(), pick.getAxis()); })
      .Case([&](ConcatOp concat) { return keeps(concat.getResult(), concat.getAxis()); })
      .Case([&](ReduceOp reduce) { return rows.hasPositions(reduce.getResult().getType()); })
      .Case<func::CallOp, scf::ForOp>([](Operation *) { return true; })
      .Default([](Operation *) { return false; });
}

/// What moves and changes single elements: it stands where its operands are made, or where all that
/// it makes is read.
static bool isCheap(Operation *op) {
  return isa<MapOp, RotaryOp, RelabelOp, RearrangeOp, SliceOp>(op);
}

/// Whether an op is of no row: each function has it for itself.
static bool isShared(const ApartRows &rows, Operation *op) {
  return isa<GetOp, arith::ConstantOp>(op) ||
         (isa<TableOp>(op) && !rows.hasPositions(op->getResult(0).getType()));
}

/// Whether the size of the positions, or of a cache, is asked for within an op.
static bool asksForSizes(const ApartRows &rows, Operation *op) {
  WalkResult found = op->walk([&](SizeOp size) {
    bool isOfRow = size.getDim() == rows.positions || size.getDim() == rows.batch ||
                   llvm::is_contained(rows.caches, size.getDim());
    return isOfRow ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

namespace {

/// The ops of a block, divided into those of all positions together and those of rows.
class Division {
public:
  Division(const ApartRows &rows, Block &block) : rows(rows), block(block) {}

  /// Orders the block: ops of all positions, those of rows that read them, and so on. Gives the
  /// ops of rows, those of one function together.
  std::vector<SmallVector<Operation *>> run();

private:
  bool isOfRows(Operation *op);
  void findRows();

  const ApartRows &rows;
  Block &block;
  llvm::SetVector<Operation *> ofRows;
};

} // namespace

bool Division::isOfRows(Operation *op) {
  if (isShared(rows, op) || isa<func::CallOp, scf::ForOp>(op))
    return false;
  if (isa<PushOp, KeptOp>(op) || asksForSizes(rows, op))
    return true;
  bool hasPositions = false, hasPlaces = false;
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Type type : values.getTypes()) {
      if (rows.hasCached(type))
        return true;
      hasPositions |= rows.hasPositions(type);
      hasPlaces |= rows.hasPlaces(type);
    }
  if (hasPositions && (hasPlaces || !isPointwise(rows, op)))
    return true;
  return hasPositions && isCheap(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
           return ofRows.contains(operand.getDefiningOp());
         });
}

void Division::findRows() {
  for (Operation &op : block.without_terminator())
    if (isOfRows(&op))
      ofRows.insert(&op);
  // What is made for rows alone stands in their function: views, which are read where they lie.
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (isCheap(&op) && !op.use_empty() &&
        llvm::all_of(op.getUsers(), [&](Operation *user) { return ofRows.contains(user); }))
      ofRows.insert(&op);
}

std::vector<SmallVector<Operation *>> Division::run() {
  findRows();
  if (ofRows.empty())
    return {};
  DenseMap<Operation *, size_t> turns; // even: of all positions; odd: of rows
  std::map<size_t, SmallVector<Operation *>> inTurn;
  for (Operation &op : block.without_terminator()) {
    bool isRow = ofRows.contains(&op);
    size_t turn = isRow ? 1 : 0;
    for (Value operand : op.getOperands())
      if (Operation *made = operand.getDefiningOp(); made && turns.count(made)) {
        size_t before = turns[made];
        turn = std::max(turn, before % 2 == size_t(isRow) ? before : before + 1);
      }
    turns[&op] = turn;
    inTurn[turn].push_back(&op);
  }
  std::vector<SmallVector<Operation *>> groups;
  for (auto &[turn, ops] : inTurn) {
    for (Operation *op : ops)
      op->moveBefore(block.getTerminator());
    if (turn % 2 == 1)
      groups.push_back(ops);
  }
  return groups;
}

//===-- the functions of rows ---------------------------------------------------------------===//

namespace {

struct RowsApartPass : attn::impl::RowsApartPassBase<RowsApartPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    // A function that several entries reach is one for each dims that are by themselves.
    std::map<std::pair<Operation *, std::string>, func::FuncOp> known;
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp entry : functions)
      if (std::optional<ApartRows> rows = ApartRows::of(entry)) {
        SmallVector<func::FuncOp> own{entry};
        for (size_t i = 0; i < own.size(); ++i)
          cloneCallees(own[i], *rows, symbols, known, own);
        for (func::FuncOp function : own)
          if (failed(divide(function, *rows, symbols)))
            return signalPassFailure();
      }
    for (func::FuncOp function : functions) // that other entries do not call
      if (function.isPrivate() && !function->hasAttr(attributes::entry) &&
          SymbolTable::symbolKnownUseEmpty(function, getOperation()))
        symbols.erase(function);
  }

  static void cloneCallees(func::FuncOp function, const ApartRows &rows, SymbolTable &symbols,
                           std::map<std::pair<Operation *, std::string>, func::FuncOp> &known,
                           SmallVector<func::FuncOp> &own) {
    function.walk([&](func::CallOp call) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      func::FuncOp &clone = known[{callee, rows.batch.str()}];
      if (!clone) {
        clone = callee.clone();
        clone->setAttr(attributes::rows, StringAttr::get(function.getContext(), rows.batch));
        clone.setSymName((callee.getSymName() + ".rows").str());
        symbols.insert(clone, Block::iterator(callee->getNextNode()));
        own.push_back(clone);
      }
      call.setCallee(clone.getSymName());
    });
  }

  LogicalResult divide(func::FuncOp function, const ApartRows &rows, SymbolTable &symbols) {
    SmallVector<Block *> blocks{&function.front()};
    function.walk([&](scf::ForOp loop) { blocks.push_back(loop.getBody()); });
    size_t count = 0;
    for (Block *block : blocks)
      for (ArrayRef<Operation *> ops : Division(rows, *block).run())
        outline(function, ops, rows, symbols, count++);
    pack(function, rows);
    return verifyPacked(function, rows);
  }

  /// Whether an op is one of `ops`, or within it.
  static bool isWithin(ArrayRef<Operation *> ops, Operation *op) {
    return llvm::any_of(ops, [&](Operation *own) { return own->isAncestor(op); });
  }

  /// What some ops of a block take from outside, and what of it each function has for itself.
  static void findInputs(ArrayRef<Operation *> ops, const ApartRows &rows,
                         llvm::SetVector<Value> &inputs, llvm::SetVector<Operation *> &shared) {
    auto add = [&](Value operand) {
      Operation *made = operand.getDefiningOp();
      Operation *place = made ? made : cast<BlockArgument>(operand).getOwner()->getParentOp();
      if (isWithin(ops, place))
        return;
      if (!made || !isShared(rows, made)) {
        inputs.insert(operand);
        return;
      }
      inputs.insert(made->operand_begin(), made->operand_end()); // the number of a layer
      shared.insert(made);
    };
    for (Operation *op : ops)
      op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
  }

  /// What other ops read of them.
  static SmallVector<Value> outputsOf(ArrayRef<Operation *> ops) {
    SmallVector<Value> outputs;
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !isWithin(ops, user); }))
          outputs.push_back(result);
    return outputs;
  }

  /// Makes a function of some ops of a block, and an attn.by_row in the place of the last one.
  static void outline(func::FuncOp function, ArrayRef<Operation *> ops, const ApartRows &rows,
                      SymbolTable &symbols, size_t number) {
    OpBuilder builder(ops.back()->getNextNode()), top(function);
    Location loc = ops.back()->getLoc();
    llvm::SetVector<Value> inputs;
    llvm::SetVector<Operation *> shared;
    findInputs(ops, rows, inputs, shared);
    SmallVector<Value> outputs = outputsOf(ops);
    std::string name = (function.getSymName() + ".row").str();
    TypeRange results = ValueRange(outputs).getTypes();
    auto callee = func::FuncOp::create(
        top, loc, number ? name + std::to_string(number) : name,
        builder.getFunctionType(ValueRange(inputs.getArrayRef()).getTypes(), results));
    callee.setPrivate();
    callee->setAttr(attributes::rows, builder.getStringAttr(rows.batch));
    symbols.insert(callee);
    Block *body = callee.addEntryBlock();
    IRMapping mapping;
    mapping.map(inputs.getArrayRef(), body->getArguments());
    OpBuilder inside = OpBuilder::atBlockEnd(body);
    for (Operation *op : shared)
      inside.clone(*op, mapping);
    for (Operation *op : ops)
      inside.clone(*op, mapping);
    func::ReturnOp::create(inside, loc, llvm::map_to_vector(outputs, [&](Value output) {
                             return mapping.lookup(output);
                           }));

    func::FuncOp single = ofOnePosition(callee, rows, symbols);
    auto symbolOf = [](func::FuncOp to) {
      return to ? FlatSymbolRefAttr::get(to.getSymNameAttr()) : FlatSymbolRefAttr();
    };
    auto call = ByRowOp::create(builder, loc, results, symbolOf(callee), symbolOf(single),
                                builder.getStringAttr(rows.batch),
                                builder.getStringAttr(rows.positions), inputs.getArrayRef());
    for (auto [output, value] : llvm::zip_equal(outputs, call.getValues()))
      output.replaceAllUsesWith(value);
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

  /// The same function of rows with one position; null where an op has no such form.
  static func::FuncOp ofOnePosition(func::FuncOp general, const ApartRows &rows,
                                    SymbolTable &symbols) {
    bool isPlain = true;
    auto one = [&](Type type) -> Type {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !axesOf(tensor).data())
        return type;
      SmallVector<int64_t> shape(tensor.getShape());
      for (int64_t d = 0; d < tensor.getRank(); ++d) {
        if (!isPositions(rows, tensor, d))
          continue;
        LinearSize size = *parseLinearSize(axesOf(tensor)[d]);
        isPlain &= size.scale == 1 && size.offset == 0;
        shape[d] = 1;
      }
      return axesTensor(tensor.getElementType(), shape, axesOf(tensor));
    };
    func::FuncOp single = general.clone();
    retype(single, one);
    single.walk([&](RearrangeOp op) {
      setAtoms(op, [&](int64_t d) {
        auto before = cast<RankedTensorType>(op.getInput().getType());
        return before.getDimSize(d);
      });
    });
    single.walk([](SliceOp slice) { // the last one of one
      if (!cast<RankedTensorType>(slice.getInput().getType()).isDynamicDim(slice.getAxis()))
        slice.setEnd(false);
    });
    single.walk([&](SizeOp size) {
      if (size.getDim() != rows.positions)
        return;
      OpBuilder builder(size);
      size.replaceAllUsesWith(
          arith::ConstantIndexOp::create(builder, size.getLoc(), 1).getResult());
      size.erase();
    });
    if (!isPlain) {
      single.erase();
      return nullptr;
    }
    single.setSymName((general.getSymName() + ".one").str());
    symbols.insert(single);
    return single;
  }

  /// Gives all tensors of a function other types.
  static void retype(func::FuncOp function, function_ref<Type(Type)> of) {
    function.walk([&](Operation *op) {
      for (Value result : op->getResults())
        result.setType(of(result.getType()));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            if (isa_and_present<func::FuncOp, scf::ForOp>(op))
              argument.setType(of(argument.getType()));
    });
    auto types = [&](TypeRange all) {
      return llvm::map_to_vector(all, [&](Type type) { return of(type); });
    };
    function.setFunctionType(FunctionType::get(function.getContext(),
                                               types(function.getArgumentTypes()),
                                               types(function.getResultTypes())));
  }

  /// Where the sizes of a rearrangement's dynamic axes have become known, so do those of their
  /// atoms.
  static void setAtoms(RearrangeOp op, function_ref<int64_t(int64_t)> sizeOf) {
    SmallVector<int64_t> atoms(op.getAtoms());
    size_t next = 0;
    for (auto [d, count] : llvm::enumerate(op.getSplit())) {
      int64_t size = sizeOf(int64_t(d)), known = 1;
      int64_t *open = nullptr;
      for (int64_t i = 0; i < count; ++i)
        if (int64_t &atom = atoms[next + i]; atom < 0)
          open = &atom;
        else
          known *= atom;
      if (open && !ShapedType::isDynamic(size))
        *open = size / known;
      next += count;
    }
    op.setAtoms(atoms);
  }

  /// Tensors of positions have one place along the batch from here on.
  static void pack(func::FuncOp function, const ApartRows &rows) {
    retype(function, [&](Type type) { return rows.packed(type); });
    function.walk([&](RearrangeOp op) {
      setAtoms(op, [&](int64_t d) {
        return cast<RankedTensorType>(op.getInput().getType()).getDimSize(d);
      });
    });
  }

  /// What has the positions of all rows has no place for each of them, and the other way round.
  static LogicalResult verifyPacked(func::FuncOp function, const ApartRows &rows) {
    WalkResult result = function.walk([&](Operation *op) {
      if (isa<ByRowOp, func::FuncOp, func::ReturnOp, func::CallOp, scf::ForOp, scf::YieldOp>(op))
        return WalkResult::advance();
      bool hasPositions = false, hasPlaces = false;
      for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
        for (Type type : values.getTypes()) {
          hasPositions |= rows.hasPositions(type);
          hasPlaces |= rows.hasPlaces(type);
        }
      if (!hasPositions || !hasPlaces)
        return WalkResult::advance();
      emitErrorOf(ErrorKind::Input, op->getLoc())
          << "rows by themselves: an op of positions and rows is not supported yet here";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
