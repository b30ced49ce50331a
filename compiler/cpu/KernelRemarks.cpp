// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/cpu/KernelRemarks.h"

#include "compiler/cpu/LinearShape.h"
#include "compiler/cpu/Loops.h"
#include "compiler/transforms/KernelCost.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;

namespace {

/// A product of dims, some of them known only at run time.
struct Count {
  int64_t least = 1;
  bool isExact = true;

  /// Of dims [begin, end) of a buffer.
  static Count of(Value buffer, int64_t begin, int64_t end) {
    ArrayRef<int64_t> sizes = cast<MemRefType>(buffer.getType()).getShape();
    return {leastCount(buffer, begin, end),
            !ShapedType::isDynamicShape(sizes.slice(begin, end - begin))};
  }

  std::string text(StringRef unit) const {
    if (least == 1 && !isExact)
      return unit.str();
    return llvm::formatv("{0}{1} {2}", isExact ? "" : "at least ", least, unit);
  }
};

} // namespace

static int64_t lastDim(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape().back();
}

static int64_t rankOf(Value buffer) { return cast<MemRefType>(buffer.getType()).getRank(); }

/// `, then mulf erf addf`: what a region does with an element.
static std::string operations(Region &region, StringRef before) {
  SmallVector<StringRef> names = operationsOf(region);
  return names.empty() ? "" : (before + " " + llvm::join(names, " ")).str();
}

namespace {

/// What a hook's value depends on. Numbers alone are of neither.
enum Dependence { Nothing = 0, Query = 1, Key = 2, Pair = Query | Key };

} // namespace

/// What a hook does with every pair, then what it does for the sake of the query or the key alone:
/// after `own` arguments of the pair come the positions, the last two of query and key, and
/// captures.
static std::string sorted(Region &hook, size_t own, size_t positions, StringRef name) {
  if (hook.empty())
    return {};
  DenseMap<Value, unsigned> dependence;
  Block &block = hook.front();
  for (size_t i = 0; i < own; ++i)
    dependence[block.getArgument(i)] = Pair;
  if (positions >= 2) {
    dependence[block.getArgument(own + positions - 2)] = Query;
    dependence[block.getArgument(own + positions - 1)] = Key;
  }
  std::string texts[] = {"", "", "", ""};
  for (Operation &op : block.without_terminator()) {
    unsigned of = Nothing;
    for (Value operand : op.getOperands())
      of |= dependence.lookup(operand);
    for (Value result : op.getResults())
      dependence[result] = of;
    if (!op.hasTrait<OpTrait::ConstantLike>())
      texts[of] += " " + op.getName().stripDialect().str();
  }
  std::string text = ("; " + name + texts[Pair] + texts[Nothing]).str();
  if (!texts[Query].empty())
    text += ", of the query" + texts[Query];
  if (!texts[Key].empty())
    text += ", of the key" + texts[Key];
  return text;
}

std::string attn::rowsText(Value out) { return Count::of(out, 0, rankOf(out) - 1).text("rows"); }

static std::string work(double flop) { return llvm::formatv("; {0:f2} MFLOP", flop / 1e6); }

static std::string describe(LinearKernelOp op) {
  auto shape = LinearShape::of(op, op.getInput(), op.getPanels(), op.getQuantization(), op.getOut(),
                               op.getContract());
  Count rows = Count::of(op.getOut(), 0, rankOf(op.getOut()) - 1);
  if (failed(shape))
    return {};
  double weights = double(shape->k) * shape->n;
  std::string type = stringifyPrecision(shape->precision).str();
  return llvm::formatv("linear, {0} of {1} -> {2}{3}{4}{5}, {6:f2} MB of weights{7}",
                       rows.text("rows"), shape->k, shape->n, op.getBias() ? ", bias" : "",
                       operations(op.getEpilogue(), ", then"), work(2 * rows.least * weights),
                       4 * weights / shape->group() / 1e6,
                       shape->precision == Precision::F32 ? "" : " in " + type);
}

static std::string describe(AttentionKernelOp op) {
  int64_t batch = op.getBatch();
  Count heads = Count::of(op.getOut(), 0, batch),
        queries = Count::of(op.getOut(), batch, batch + 1),
        keys = Count::of(op.getKey(), batch, batch + 1);
  int64_t features = lastDim(op.getKey()), values = lastDim(op.getValue());
  double flop = 2.0 * heads.least * queries.least * keys.least * (features + values);
  size_t positions = batch + 2;
  return llvm::formatv("attention, {0} of {1} features, {2}, {3}{4}{5}{6}{7}{8}",
                       heads.text("heads"), features, queries.text("queries"), keys.text("keys"),
                       sorted(op.getScore(), 2, positions, "score"),
                       sorted(op.getBias(), 1, positions, "bias"), sorted(op.getCap(), 1, 0, "cap"),
                       sorted(op.getMask(), 0, positions, "mask"), work(flop));
}

std::string attn::describeKernel(Operation *kernel) {
  auto rows = [](StringRef name, Value out) -> std::string {
    if (ShapedType::isDynamic(lastDim(out)))
      return llvm::formatv("{0}, {1}", name, Count::of(out, 0, rankOf(out)).text("elements"));
    return llvm::formatv("{0}, {1} of {2}", name, Count::of(out, 0, rankOf(out) - 1).text("rows"),
                         lastDim(out))
        .str();
  };
  return llvm::TypeSwitch<Operation *, std::string>(kernel)
      .Case<LinearKernelOp, AttentionKernelOp>([](auto op) { return describe(op); })
      .Case([&](RoundKernelOp op) { return rows("rounding to bf16", op.getInput()); })
      .Case([&](QuantizeKernelOp op) { return rows("quantization", op.getInput()); })
      .Case([&](NormKernelOp op) { return rows("norm", op.getOut()); })
      .Case([&](NormBytesKernelOp op) { return rows("norm and quantization", op.getInput()); })
      .Case([&](MeanKernelOp op) { return rows("mean", op.getOut()); })
      .Case([&](LookupKernelOp op) {
        return rows("lookup", op.getOut()) +
               llvm::formatv(" in a table of {0}",
                             cast<MemRefType>(op.getTable().getType()).getDimSize(0))
                   .str();
      })
      .Case([&](RotaryKernelOp op) {
        return rows("rotary", op.getOut()) + (op.getInterleaved() ? ", neighbours" : ", halves");
      })
      .Case([&](CombineKernelOp op) {
        Count parts = Count::of(op.getPartials(), 1, 2), heads = Count::of(op.getPartials(), 0, 1);
        return "combination of " + parts.text("parts") + " of keys, " + heads.text("heads");
      })
      .Case([&](MapKernelOp op) {
        return rows("map", op.getOut()) + operations(op.getBody(), ", computes");
      });
}

static remark::RemarkOpts optionsOf(Operation *op, StringRef name, StringRef category) {
  auto function = op->getParentOfType<func::FuncOp>();
  return remark::RemarkOpts::name(name).category(category).function(function ? function.getSymName()
                                                                             : StringRef());
}

std::string attn::joinNumbers(ArrayRef<int64_t> numbers) {
  std::string text;
  for (auto [i, number] : llvm::enumerate(numbers)) {
    bool isLast = i + 1 == numbers.size();
    text += (i == 0 ? "" : isLast ? " or " : ", ") + std::to_string(number);
  }
  return text;
}

void attn::remarkTiled(Operation *kernel, const CpuTarget &target, StringRef text) {
  remark::passed(kernel->getLoc(), optionsOf(kernel, "Tiled", target.name)) << text;
}

void attn::remarkScalar(Operation *op, const CpuTarget *target, StringRef reason) {
  remark::missed(op->getLoc(), optionsOf(op, "Scalar", target ? target->name : "any CPU"))
      << ("runs element by element: " + reason).str();
}
