// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel to what people read of it: what it computes, in the spec's words, its operations and
// bytes, and why it was lowered as it was.
#include "compiler/kernels/KernelRemarks.h"

#include "compiler/kernels/AssumedSizes.h"
#include "compiler/kernels/KernelFacts.h"
#include "compiler/kernels/LinearShape.h"
#include "compiler/kernels/Loops.h"
#include "compiler/kernels/MaskFormula.h"
#include "dialect/AttnDialect.h"
#include "dialect/Choices.h"
#include "dialect/Locations.h"
#include "dialect/Reasons.h"
#include "dialect/Scans.h"
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

  /// The count of dims [begin, end) of a buffer.
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

/// `, then gelu, x + ...`: what a region does with an element.
static std::string operations(Region &region, StringRef before) {
  SmallVector<std::string> texts = wordsOf(region);
  return texts.empty() ? "" : (before + " " + llvm::join(texts, ", ")).str();
}

namespace {

/// What a hook's value depends on. Numbers alone are of neither.
enum Dependence { Nothing = 0, Query = 1, Key = 2, Pair = Query | Key };

} // namespace

/// What a hook computes, in the spec's words.
static std::string wordsOfHook(Region &hook) {
  Block &block = hook.front();
  if (StringRef words = wordsAt(block.getTerminator()->getLoc()); !words.empty())
    return words.str();
  SmallVector<StringRef> names;
  for (Operation &op : block.without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      names.push_back(op.getName().stripDialect());
  return llvm::join(names, " ");
}

/// What a hook computes, and how many operations it takes for every pair and
/// for the sake of the query or the key alone, but for a score, whose product is what counts: after
/// `own` arguments of the pair come the positions, the last two of query and key, and captures.
static std::string describeHook(Region &hook, size_t own, size_t positions, StringRef name) {
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
  unsigned counts[] = {0, 0, 0, 0};
  for (Operation &op : block.without_terminator()) {
    unsigned of = Nothing;
    for (Value operand : op.getOperands())
      of |= dependence.lookup(operand);
    for (Value result : op.getResults())
      dependence[result] = of;
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    counts[of] += !isa<DotOp>(op);
  }
  std::string text = ("; " + name + " ").str() + wordsOfHook(hook);
  SmallVector<std::string> done;
  constexpr std::pair<unsigned, StringLiteral> kinds[] = {
      {Pair, "a pair"}, {Query, "a query"}, {Key, "a key"}};
  for (auto [kind, each] : kinds)
    if (counts[kind])
      done.push_back(llvm::formatv("{0} {1}", counts[kind], each));
  return done.empty() || own == 2 ? text : text + " (operations: " + llvm::join(done, ", ") + ")";
}

std::string attn::rowsText(Value out) { return Count::of(out, 0, rankOf(out) - 1).text("rows"); }

/// `; 12.30 MFLOP at T = 1024`: of a kernel at the sizes that are assumed; nothing where these are
/// not known.
static std::string work(Operation *kernel, std::optional<double> flop) {
  if (!flop)
    return "; operations depend on sizes of the run";
  constexpr std::pair<double, StringLiteral> units[] = {
      {1e10, "GFLOP"}, {1e5, "MFLOP"}, {1e3, "kFLOP"}};
  double scale = 1e9;
  for (auto [least, unit] : units) {
    if (*flop >= least)
      return llvm::formatv("; {0:f2} {1}{2}", *flop / scale, unit, AssumedSizes::text(kernel));
    scale /= 1e3;
  }
  return llvm::formatv("; {0:f0} FLOP{1}", *flop, AssumedSizes::text(kernel));
}

static std::optional<double> scaled(std::optional<int64_t> count, double factor) {
  return count ? std::optional(double(*count) * factor) : std::nullopt;
}

static std::string describe(LinearKernelOp op) {
  auto shape = LinearShape::of(op, op.getInput(), op.getPanels(), op.getPrecision(), op.getOut(),
                               op.getContract());
  Count rows = Count::of(op.getOut(), 0, rankOf(op.getOut()) - 1);
  if (failed(shape))
    return {};
  double weights = double(shape->k) * shape->n;
  std::string type = stringifyPrecision(shape->precision).str();
  KernelFacts facts(op);
  facts.addKnown("rows", AssumedSizes::product(op.getOut(), 0, rankOf(op.getOut()) - 1));
  facts.add("k", shape->k), facts.add("n", shape->n);
  facts.add("bias", bool(op.getBias()));
  facts.add("then", llvm::json::Array(wordsOf(op.getEpilogue())));
  facts.add("precision", type);
  return llvm::formatv(
      "linear, {0} of {1} -> {2}{3}{4}{5}, {6:f2} MB of weights{7}", rows.text("rows"), shape->k,
      shape->n, op.getBias() ? ", bias" : "", operations(op.getEpilogue(), ", then"),
      work(op, scaled(AssumedSizes::product(op.getOut(), 0, rankOf(op.getOut()) - 1), 2 * weights)),
      4 * weights / shape->group() / 1e6, shape->precision == Precision::F32 ? "" : " in " + type);
}

std::string attn::pairWork(AttentionKernelOp op, std::optional<int64_t> pairs) {
  int64_t batch = op.getBatch();
  if (!pairs)
    if (std::optional<int64_t> keys = AssumedSizes::product(op.getKey(), batch, batch + 1))
      if (std::optional<int64_t> queries = AssumedSizes::product(op.getOut(), batch, batch + 1))
        pairs = *queries * *keys;
  std::optional<double> flop;
  if (std::optional<int64_t> heads = AssumedSizes::product(op.getOut(), 0, batch))
    flop =
        scaled(pairs, 2.0 * double(*heads) * double(lastDim(op.getKey()) + lastDim(op.getValue())));
  return work(op, flop);
}

/// The terms of an attention, in the order in which they work, with their words and places.
static llvm::json::Array termsOf(AttentionKernelOp op) {
  llvm::json::Array terms;
  auto add = [&](AttentionTerm term, std::string text, Location loc) {
    terms.push_back(llvm::json::Object{
        {"term", stringifyAttentionTerm(term)}, {"text", std::move(text)}, {"at", placeText(loc)}});
  };
  auto hook = [&](AttentionTerm term, Region &region) {
    if (!region.empty())
      add(term, wordsOfHook(region), region.front().getTerminator()->getLoc());
  };
  add(AttentionTerm::Score, wordsOfHook(op.getScore()), atTerm(op.getLoc(), AttentionTerm::Score));
  hook(AttentionTerm::Bias, op.getBias());
  hook(AttentionTerm::Cap, op.getCap());
  hook(AttentionTerm::Mask, op.getMask());
  std::string weight = stringifyNormaliser(op.getNormaliser()).str();
  if (!op.getSink().empty())
    weight += "(sink = " + wordsOfHook(op.getSink()) + ")";
  add(AttentionTerm::Weight, weight, atTerm(op.getLoc(), AttentionTerm::Weight));
  add(AttentionTerm::Values, "values", atTerm(op.getLoc(), AttentionTerm::Values));
  return terms;
}

static std::string describe(AttentionKernelOp op) {
  int64_t batch = op.getBatch();
  Count heads = Count::of(op.getOut(), 0, batch),
        queries = Count::of(op.getOut(), batch, batch + 1),
        keys = Count::of(op.getKey(), batch, batch + 1);
  int64_t features = lastDim(op.getKey());
  KernelFacts facts(op);
  facts.addKnown("heads", AssumedSizes::product(op.getOut(), 0, batch));
  facts.addKnown("queries", AssumedSizes::product(op.getOut(), batch, batch + 1));
  facts.addKnown("keys", AssumedSizes::product(op.getKey(), batch, batch + 1));
  facts.add("features", features), facts.add("value_features", lastDim(op.getValue()));
  for (auto [hook, name] : {std::pair(&op.getScore(), "score"), std::pair(&op.getBias(), "bias"),
                            std::pair(&op.getCap(), "cap"), std::pair(&op.getMask(), "mask")})
    if (!hook->empty())
      facts.add(name, wordsOfHook(*hook));
  facts.add("terms", termsOf(op));
  if (auto formula = maskFormula(op))
    facts.add("formula", std::move(*formula));
  // Of a mask, the tiles that it leaves say how much is done (MaskVerdicts.h).
  std::string done = op.getMask().empty() ? pairWork(op, std::nullopt) : "";
  size_t positions = batch + 2;
  return llvm::formatv("attention, {0} of {1} features, {2}, {3}{4}{5}{6}{7}{8}",
                       heads.text("heads"), features, queries.text("queries"), keys.text("keys"),
                       describeHook(op.getScore(), 2, positions, "score"),
                       describeHook(op.getBias(), 1, positions, "bias"),
                       describeHook(op.getCap(), 1, 0, "cap"),
                       describeHook(op.getMask(), 0, positions, "mask"), done);
}

static std::string timeText(double ns) {
  return ns < 1e5 ? llvm::formatv("{0:f1} us", ns / 1e3) : llvm::formatv("{0:f2} ms", ns / 1e6);
}

/// What speaks against a lowering that was not taken.
static std::string drawback(AttentionLowering lowering, const AttentionProblem &problem) {
  constexpr double kilobyte = 1e3;
  double scores = 4.0 * AttentionShape::queries * double(problem.keyCount);
  switch (lowering) {
  case AttentionLowering::Strip:
    return llvm::formatv("scores of {0:f0} kB leave the first-level cache", scores / kilobyte);
  case AttentionLowering::Online:
    return "sums are multiplied for each tile of keys";
  case AttentionLowering::Unfused:
    return llvm::formatv("scores of {0:f0} kB stand at a time",
                         scores * double(blocksOf(lowering, problem)) / kilobyte);
  }
  llvm_unreachable("a lowering");
}

std::string attn::describeLowering(AttentionKernelOp op, const AttentionProblem &problem,
                                   AttentionLowering taken, bool isMeasured) {
  KernelFacts facts(op);
  facts.add("lowering", stringifyAttentionLowering(taken));
  if (problem.isMasked)
    return "; online, so that tiles which the mask empties are passed by";
  if (!problem.mayBeOneStrip)
    return "; tile by tile, which alone can give what is asked of it";
  if (problem.keyCount < 0)
    return "; online, for any number of keys";
  double heads = double(Count::of(op.getOut(), 0, op.getBatch()).least);
  auto estimate = [&](AttentionLowering lowering) {
    return timeText(heads * estimateLowering(problem, lowering));
  };
  llvm::json::Array estimates;
  for (auto lowering :
       {AttentionLowering::Strip, AttentionLowering::Online, AttentionLowering::Unfused}) {
    llvm::json::Object own{{"lowering", stringifyAttentionLowering(lowering)},
                           {"ns", heads * estimateLowering(problem, lowering)}};
    if (lowering != taken)
      own["drawback"] = drawback(lowering, problem);
    estimates.push_back(std::move(own));
  }
  facts.add("estimates", std::move(estimates));
  std::string text = "; " + stringifyAttentionLowering(taken).str();
  text += op.getLowering() ? " as asked for" : isMeasured ? " as measured" : "";
  text += " (est. " + estimate(taken);
  for (auto other :
       {AttentionLowering::Strip, AttentionLowering::Online, AttentionLowering::Unfused})
    if (other != taken)
      text += "; " + stringifyAttentionLowering(other).str() + " " + estimate(other) + ": " +
              drawback(other, problem);
  return text + ")";
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
      .Case([&](ReduceKernelOp op) {
        return rows(stringifyReduction(op.getKind()), op.getOut()) +
               (op.getBody().empty() ? "" : operations(op.getBody(), ", computes"));
      })
      .Case([&](LookupKernelOp op) {
        auto table = cast<MemRefType>(op.getTable().getType());
        int64_t count = table.getDimSize(table.getRank() - 2);
        std::string text = rows(table.getRank() == 2 ? "lookup" : "pick", op.getOut());
        return ShapedType::isDynamic(count) ? text
                                            : text + " in a table of " + std::to_string(count);
      })
      .Case([&](GroupKernelOp op) {
        int64_t experts = cast<MemRefType>(op.getCounts().getType()).getDimSize(0);
        return "sort by " + std::to_string(experts) + " experts, " + rowsText(op.getPlaces()) +
               " of " + std::to_string(lastDim(op.getPlaces()));
      })
      .Case([&](ScanKernelOp op) {
        return rows("recurrence", op.getFinal()[0]) + operations(op.getBody(), ", computes");
      })
      .Case([&](RowKernelOpInterface op) { return rows(op.title(), op.getRows()) + op.detail(); })
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

void attn::remarkTiled(Operation *kernel, StringRef target, StringRef text) {
  auto remark = remark::passed(kernel->getLoc(), optionsOf(kernel, "Tiled", target));
  remark << text;
  if (std::string facts = factsOf(kernel); !facts.empty())
    remark << remark::metric(factsKey, facts);
}

void attn::remarkScalar(Operation *op, StringRef target, StringRef reason) {
  missed(op, Reason::OneByOne, "runs element by element: " + reason, "", target);
}
