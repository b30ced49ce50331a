// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of indices. Each is followed through what moves it, through blocks and stacks, to inputs
// of entries, to tables, and to maps that compute it: inputs are checked when running, tables and
// maps here, by the interval of what they can give.
#include "compiler/frontend/sema/checks/IndexBounds.h"
#include "dialect/Attributes.h"
#include "dialect/Choices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace attn::frontend {

using mlir::ConstantIntRanges;

namespace {
/// Where integers come from.
struct Sources {
  llvm::SmallVector<mlir::BlockArgument> inputs; ///< Of entries.
  llvm::SmallVector<TableOp> tables;
  llvm::SmallVector<mlir::Operation *> computed;
};

/// Follows a tensor through views, blocks and stacks.
class SourceTracer {
public:
  explicit SourceTracer(mlir::ModuleOp module) : symbols(module) {
    module.walk([&](mlir::func::CallOp call) { calls[call.getCallee()].push_back(call); });
  }

  Sources trace(mlir::Value value) {
    found = {};
    seen.clear();
    reach(value);
    while (!open.empty()) {
      mlir::Value next = open.pop_back_val();
      if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(next))
        traceArgument(argument);
      else
        traceResult(llvm::cast<mlir::OpResult>(next));
    }
    return std::move(found);
  }

private:
  void reach(mlir::Value value) {
    if (seen.insert(value).second)
      open.push_back(value);
  }

  void traceResult(mlir::OpResult result) {
    mlir::Operation *op = result.getOwner();
    unsigned number = result.getResultNumber();
    if (auto table = llvm::dyn_cast<TableOp>(op))
      found.tables.push_back(table);
    else if (llvm::isa<RelabelOp, SliceOp, RearrangeOp, PickOp>(op))
      reach(op->getOperand(0));
    else if (llvm::isa<ConcatOp>(op))
      llvm::for_each(op->getOperands(), [&](mlir::Value part) { reach(part); });
    else if (auto loop = llvm::dyn_cast<mlir::scf::ForOp>(op))
      traceLoop(loop, number);
    else if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
      traceCall(symbols.lookup<mlir::func::FuncOp>(call.getCallee()), number);
    else
      found.computed.push_back(op);
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
    if (llvm::isa<RouteOp>(parent)) // rows are no integers
      return;
    auto function = llvm::cast<mlir::func::FuncOp>(parent);
    if (function->hasAttr(attributes::entry))
      found.inputs.push_back(argument);
    for (mlir::func::CallOp call : calls.lookup(function.getSymName()))
      reach(call.getOperand(argument.getArgNumber()));
  }

  mlir::SymbolTable symbols;
  llvm::StringMap<llvm::SmallVector<mlir::func::CallOp>> calls; ///< By what they call.
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value> open; ///< Seen, not looked at.
  Sources found;
};

/// The intervals of integers that tensors may hold, both ends included.
class Ranges {
public:
  explicit Ranges(SourceTracer &tracer) : tracer(tracer) {}

  /// Of a table.
  ConstantIntRanges of(TableOp table);
  /// Of what an op computes: a map of integers, by its ops; of any other, all that its type holds.
  ConstantIntRanges of(mlir::Operation *op);

private:
  ConstantIntRanges of(mlir::Value tensor);
  ConstantIntRanges compute(MapOp map);
  static ConstantIntRanges all(mlir::Type type) {
    return ConstantIntRanges::maxRange(ConstantIntRanges::getStorageBitwidth(type));
  }

  /// Of maps that are computed of maps; what is deeper may be anything.
  static constexpr unsigned deepest = 200;

  SourceTracer &tracer;
  llvm::DenseMap<mlir::Attribute, ConstantIntRanges> tables; ///< By elements.
  llvm::DenseMap<mlir::Operation *, ConstantIntRanges> known;
  llvm::DenseSet<mlir::Operation *>
      active; ///< What depends on itself, layer by layer, is unbounded.
};
} // namespace

ConstantIntRanges Ranges::of(TableOp table) {
  auto found = tables.find(table.getElements());
  if (found != tables.end())
    return found->second;
  auto values = llvm::cast<mlir::DenseElementsAttr>(table.getElements()).getValues<llvm::APInt>();
  llvm::APInt least = *values.begin(), most = least;
  for (const llvm::APInt &value : values) {
    least = llvm::APIntOps::smin(least, value);
    most = llvm::APIntOps::smax(most, value);
  }
  auto range = ConstantIntRanges::fromSigned(least, most);
  tables.insert({table.getElements(), range});
  return range;
}

ConstantIntRanges Ranges::of(mlir::Value tensor) {
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
  if (!element.isIntOrIndex() || element.isInteger(1))
    return all(element.isIntOrIndex() ? element : mlir::IntegerType::get(element.getContext(), 1));
  Sources sources = tracer.trace(tensor);
  std::optional<ConstantIntRanges> range;
  auto join = [&](const ConstantIntRanges &other) {
    range = range ? range->rangeUnion(other) : other;
  };
  for (mlir::BlockArgument input : sources.inputs) {
    auto function = llvm::cast<mlir::func::FuncOp>(input.getOwner()->getParentOp());
    auto below =
        function.getArgAttrOfType<mlir::IntegerAttr>(input.getArgNumber(), attributes::below);
    unsigned bits = element.getIntOrFloatBitWidth();
    join(below ? ConstantIntRanges::fromSigned(
                     llvm::APInt(bits, 0), llvm::APInt(bits, below.getInt() - 1, /*signed=*/true))
               : all(element));
  }
  for (TableOp table : sources.tables)
    join(of(table));
  for (mlir::Operation *op : sources.computed)
    join(of(op));
  return range ? *range : all(element);
}

/// The size of the axis whose places an op gives; nothing where it gives none, or where the size is
/// known only when running.
static std::optional<int64_t> placesOf(mlir::Operation *op) {
  int64_t axis = -1;
  if (auto topk = llvm::dyn_cast<TopkOp>(op))
    axis = static_cast<int64_t>(topk.getAxis());
  auto reduce = llvm::dyn_cast<ReduceOp>(op);
  if (reduce && reduce.getKind() == Reduction::ArgMax)
    axis = axisIndex(reduce.getInputs()[0].getType(),
                     llvm::cast<mlir::StringAttr>(reduce.getOver()[0]));
  if (axis < 0)
    return std::nullopt;
  int64_t size = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType()).getDimSize(axis);
  return mlir::ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
}

ConstantIntRanges Ranges::of(mlir::Operation *op) {
  mlir::Type element =
      llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (std::optional<int64_t> places = placesOf(op))
    return ConstantIntRanges::fromSigned(llvm::APInt(32, 0), llvm::APInt(32, *places - 1));
  auto map = llvm::dyn_cast<MapOp>(op);
  if (!map || active.contains(op) || active.size() >= deepest)
    return all(element);
  if (auto found = known.find(op); found != known.end())
    return found->second;
  active.insert(op);
  ConstantIntRanges range = compute(map);
  active.erase(op);
  known.insert({op, range});
  return range;
}

/// Of a size that is known only when running, and what is calculated of it.
static ConstantIntRanges ofSize(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  ConstantIntRanges range = ConstantIntRanges::maxRange(64);
  if (auto size = llvm::dyn_cast_if_present<SizeOp>(op)) {
    auto dim = mlir::SymbolTable::lookupNearestSymbolFrom<DimOp>(size, size.getDimAttr());
    auto bound = dim ? static_cast<int64_t>(dim.getSize()) : INT32_MAX;
    return ConstantIntRanges::fromSigned(llvm::APInt(64, 1), llvm::APInt(64, bound));
  }
  auto inferred = llvm::dyn_cast_if_present<mlir::InferIntRangeInterface>(op);
  if (!inferred)
    return range;
  llvm::SmallVector<ConstantIntRanges> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(ofSize(operand));
  inferred.inferResultRanges(operands,
                             [&](mlir::Value, const ConstantIntRanges &result) { range = result; });
  return range;
}

/// `scale * dim + offset`, where a number is of this form.
static std::optional<LinearSize> linearOf(mlir::Value value) {
  namespace arith = mlir::arith;
  mlir::Operation *op = value.getDefiningOp();
  if (auto size = llvm::dyn_cast_if_present<SizeOp>(op))
    return LinearSize{size.getDim(), 1, 0};
  if (auto cast = llvm::dyn_cast_if_present<arith::IndexCastOp>(op))
    return linearOf(cast.getIn());
  llvm::APInt number;
  if (!llvm::isa_and_present<arith::AddIOp, arith::MulIOp>(op) ||
      !mlir::matchPattern(op->getOperand(1), mlir::m_ConstantInt(&number)))
    return std::nullopt;
  std::optional<LinearSize> size = linearOf(op->getOperand(0));
  if (!size)
    return std::nullopt;
  if (llvm::isa<arith::MulIOp>(op)) {
    size->scale *= number.getSExtValue();
    size->offset *= number.getSExtValue();
  } else {
    size->offset += number.getSExtValue();
  }
  return size;
}

/// Whether what a map gives is less than the size of an axis: the smaller of something and one
/// less.
static bool isBelow(MapOp map, const LinearSize &axis) {
  auto yielded = llvm::cast<YieldOp>(map.getBody().front().getTerminator()).getValue();
  auto least = yielded.getDefiningOp<mlir::arith::MinSIOp>();
  return least && llvm::any_of(least->getOperands(), [&](mlir::Value side) {
           std::optional<LinearSize> size = linearOf(side);
           return size && size->dim == axis.dim && size->scale == axis.scale &&
                  size->offset < axis.offset;
         });
}

/// Of `max(x, 0 - x)`, x; its sides have one interval each, which say less than both together.
static mlir::Value magnitudeOf(mlir::Operation &op) {
  auto larger = llvm::dyn_cast<mlir::arith::MaxSIOp>(op);
  auto negative = larger ? larger.getRhs().getDefiningOp<mlir::arith::SubIOp>() : nullptr;
  bool isMagnitude = negative && negative.getRhs() == larger.getLhs() &&
                     mlir::matchPattern(negative.getLhs(), mlir::m_Zero());
  return isMagnitude ? larger.getLhs() : mlir::Value();
}

static ConstantIntRanges magnitude(const ConstantIntRanges &range) {
  const llvm::APInt &low = range.smin();
  const llvm::APInt &high = range.smax();
  if (low.isMinSignedValue())
    return ConstantIntRanges::maxRange(low.getBitWidth());
  llvm::APInt least = low.isNegative() && !high.isNegative()
                          ? llvm::APInt(low.getBitWidth(), 0)
                          : llvm::APIntOps::smin(low.abs(), high.abs());
  return ConstantIntRanges::fromSigned(least, llvm::APIntOps::smax(low.abs(), high.abs()));
}

ConstantIntRanges Ranges::compute(MapOp map) {
  mlir::Block &body = map.getBody().front();
  llvm::DenseMap<mlir::Value, ConstantIntRanges> ranges;
  auto rangeOf = [&](mlir::Value value) {
    if (value.getType().isIndex())
      return ofSize(value);
    auto found = ranges.find(value);
    bool isWhole = value.getType().isIntOrIndex();
    return found != ranges.end() ? found->second
           : isWhole             ? all(value.getType())
                                 : ConstantIntRanges::maxRange(1);
  };
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), map.getInputs()))
    if (argument.getType().isIntOrIndex())
      ranges.insert({argument, of(input)});
  for (mlir::Operation &op : body.without_terminator()) {
    if (mlir::Value whole = magnitudeOf(op)) {
      ranges.insert({op.getResult(0), magnitude(rangeOf(whole))});
      continue;
    }
    auto inferred = llvm::dyn_cast<mlir::InferIntRangeInterface>(op);
    bool isWhole =
        llvm::all_of(op.getOperandTypes(), [](mlir::Type t) { return t.isIntOrIndex(); });
    if (!inferred || !isWhole)
      continue;
    llvm::SmallVector<ConstantIntRanges> operands;
    for (mlir::Value operand : op.getOperands())
      operands.push_back(rangeOf(operand));
    inferred.inferResultRanges(operands, [&](mlir::Value result, const ConstantIntRanges &range) {
      ranges.insert({result, range});
    });
  }
  return rangeOf(llvm::cast<YieldOp>(body.getTerminator()).getValue());
}

/// "from -3 to 12", "any whole number".
static std::string textOf(const ConstantIntRanges &range) {
  if (range.smin().isMinSignedValue() && range.smax().isMaxSignedValue())
    return "any whole number";
  return "from " + std::to_string(range.smin().getSExtValue()) + " to " +
         std::to_string(range.smax().getSExtValue());
}

namespace {
/// An attn.lookup, attn.pick or attn.route, and where its indices come from.
struct Choice {
  mlir::Operation *op;
  Sources sources;
  int64_t rows; ///< Of what is chosen from; mlir::ShapedType::kDynamic where that is not known.
  bool isAxis;

  /// What is chosen from, for people.
  std::string text(const Lookup &lookup) const {
    return "`" + lookup.name + "` has " + std::to_string(rows) + " " + ofWhat().str() + "s";
  }
  llvm::StringRef ofWhat() const {
    return llvm::isa<RouteOp>(op) ? "expert" : isAxis ? "element" : "row";
  }
};
} // namespace

/// All choices of the model, with an `attn.below` at inputs of entries that are indices.
static std::vector<Choice> findChoices(Sema &sema, SourceTracer &tracer) {
  std::vector<Choice> choices;
  sema.output.module->walk([&](mlir::Operation *op) {
    if (auto lookup = llvm::dyn_cast<LookupOp>(op)) {
      auto table = llvm::cast<mlir::RankedTensorType>(lookup.getTable().getType());
      choices.push_back({op, tracer.trace(lookup.getIndices()), table.getDimSize(0), false});
    } else if (auto pick = llvm::dyn_cast<PickOp>(op)) {
      auto input = llvm::cast<mlir::RankedTensorType>(pick.getInput().getType());
      choices.push_back(
          {op, tracer.trace(pick.getIndices()), input.getDimSize(pick.getAxis()), true});
    } else if (auto route = llvm::dyn_cast<RouteOp>(op)) {
      choices.push_back(
          {op, tracer.trace(route.getPlaces()), static_cast<int64_t>(route.getExperts()), false});
    }
  });
  for (const Choice &choice : choices)
    for (mlir::BlockArgument input : choice.sources.inputs) {
      if (mlir::ShapedType::isDynamic(choice.rows))
        continue;
      auto function = llvm::cast<mlir::func::FuncOp>(input.getOwner()->getParentOp());
      unsigned i = input.getArgNumber();
      auto known = function.getArgAttrOfType<mlir::IntegerAttr>(i, attributes::below);
      int64_t below = known ? std::min(known.getInt(), choice.rows) : choice.rows;
      function.setArgAttr(i, attributes::below, sema.builder.getI64IntegerAttr(below));
    }
  return choices;
}

/// Reports computed indices that may lie beyond what they choose from.
static void checkComputed(Sema &sema, Ranges &ranges, const Choice &choice, const Lookup &lookup) {
  for (mlir::Operation *computed : choice.sources.computed) {
    ConstantIntRanges range = ranges.of(computed);
    if (range.smin().isNonNegative() && range.smax().getSExtValue() < choice.rows)
      continue;
    Diagnostic &diagnostic =
        sema.report.error(DiagCode::UnboundedIndex, lookup.place,
                          choice.text(lookup) + ", 0 to " + llvm::Twine(choice.rows - 1) +
                              ", but what is computed to choose them may be " + textOf(range));
    if (!choice.isAxis)
      diagnostic.at(lookup.table, "declared here");
    diagnostic.help("keep it inside: `min(max(i, 0), " + llvm::Twine(choice.rows - 1) + ")`");
  }
}

/// Reports indices along an axis known only when running: 0 is known to be on it, and what was
/// kept below its size.
static void checkDynamic(Sema &sema, Ranges &ranges, const Choice &choice, const Lookup &lookup) {
  auto pick = llvm::cast<PickOp>(choice.op);
  LinearSize size =
      *parseLinearSize(attn::axesOf(pick.getInput().getType())[pick.getAxis()].getValue());
  auto isFirst = [](const ConstantIntRanges &range) {
    return range.smin().isZero() && range.smax().isZero();
  };
  bool isInside =
      choice.sources.inputs.empty() &&
      llvm::all_of(choice.sources.tables, [&](TableOp op) { return isFirst(ranges.of(op)); }) &&
      llvm::all_of(choice.sources.computed, [&](mlir::Operation *op) {
        ConstantIntRanges range = ranges.of(op);
        auto map = llvm::dyn_cast<MapOp>(op);
        return isFirst(range) || (map && range.smin().isNonNegative() && isBelow(map, size));
      });
  if (isInside)
    return;
  sema.report
      .error(DiagCode::UnboundedIndex, lookup.place,
             "`" + lookup.name +
                 "` is known only when running, and this index is not known to lie on it")
      .at(lookup.table, "picked along this axis")
      .help("keep it inside: `min(max(i, 0), " + axisLabel(lookup.name) + " - 1)`");
}

void boundIndices(Sema &sema) {
  SourceTracer tracer(*sema.output.module);
  // Inputs first: by what they choose themselves, what is computed of them is bounded.
  std::vector<Choice> choices = findChoices(sema, tracer);
  Ranges ranges(tracer);
  for (const Choice &choice : choices) {
    const Lookup &lookup = sema.output.lookups[choice.op];
    if (mlir::ShapedType::isDynamic(choice.rows)) {
      checkDynamic(sema, ranges, choice, lookup);
      continue;
    }
    for (TableOp table : choice.sources.tables) {
      int64_t most = ranges.of(table).smax().getSExtValue();
      if (most < choice.rows)
        continue;
      Diagnostic &diagnostic =
          sema.report.error(DiagCode::IndicesBeyondTable, lookup.place,
                            choice.text(lookup) + ", but positions go up to " + llvm::Twine(most));
      if (!choice.isAxis)
        diagnostic.at(lookup.table, "declared here");
      diagnostic.note("the first " + choice.ofWhat() + " is that of position 0");
    }
    checkComputed(sema, ranges, choice, lookup);
  }
}

} // namespace attn::frontend
