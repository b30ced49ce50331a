// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowered modules and remarks to one JSON object.
#include "Explanation.h"

#include "Graphs.h"
#include "compiler/emit/Describe.h"
#include "compiler/emit/ModelInfo.h"
#include "compiler/kernels/AssumedSizes.h"
#include "compiler/transforms/SizePolynomial.h"
#include "dialect/Attributes.h"
#include "dialect/Locations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace attn::tool {

namespace {

/// Sizes of the dims of a model, as counts assume them.
class Sizes {
public:
  explicit Sizes(mlir::ModuleOp model) {
    for (DimOp dim : model.getOps<DimOp>()) {
      int64_t number = AssumedSizes::ofDim(dim);
      sizes[dim.getSymName()] = number;
      if (dim.getDynamic())
        described[dim.getSymName()] = number;
    }
  }

  /// The value of a sum of products, on one thread.
  int64_t of(const SizePolynomial &polynomial) const {
    return polynomial.at([&](StringRef name) {
      auto known = sizes.find(name);
      return known == sizes.end() ? 1 : known->second;
    });
  }
  int64_t of(mlir::Attribute polynomial) const {
    return of(SizePolynomial::of(cast<mlir::ArrayAttr>(polynomial)));
  }
  /// Those of dims that are known only when running.
  json::Object json() const { return described; }

private:
  StringMap<int64_t> sizes;
  json::Object described;
};

/// What a module of the kernels stage says of its kernels' place in the model.
class Lowered {
public:
  Lowered(mlir::ModuleOp module, const Sizes &sizes) : module(module), sizes(sizes) {}

  /// The members of a kernel that its attn.cost has. Where that is an earlier kernel's, which one.
  json::Object cost(StringRef name, StringRef kernel);
  /// What each entry runs, in order.
  json::Array entries();
  /// How data flows in each entry and block, of the kernels that cost() was asked for.
  json::Array graphs(const json::Array &kernels);
  /// The buffers of each function's frame.
  json::Array frames();
  /// Where weights lie in the packed block.
  json::Array slots();

private:
  /// What a function runs by itself, in order.
  SmallVector<FunctionStep> ownSteps(mlir::func::FuncOp function);
  json::Array stepsOf(mlir::func::FuncOp function);
  json::Object frameOf(mlir::func::FuncOp function, mlir::DictionaryAttr frame);

  mlir::ModuleOp module;
  const Sizes &sizes;
  StringMap<std::string> countedWith; ///< the first kernel of each attn.cost
};

} // namespace

json::Object Lowered::cost(StringRef name, StringRef kernel) {
  auto [first, isFirst] = countedWith.try_emplace(name, kernel);
  if (!isFirst)
    return json::Object{{"counted_with", first->second}};
  CostOp cost = module.lookupSymbol<CostOp>(name);
  if (!cost)
    return {};
  double flop = double(sizes.of(cost.getFlop()));
  auto share = cost->getAttrOfType<mlir::FloatAttr>(attributes::liveShare);
  bool isMasked = cost.getTitle().starts_with("masked ");
  json::Object members{{"kernel", cost.getTitle()},
                       {"flop_dense", flop},
                       {"flop", share ? flop * share.getValueAsDouble() : flop},
                       {"flop_counts", !isMasked ? "all"
                                       : share   ? "live tiles"
                                                 : "as if dense"},
                       {"bytes", sizes.of(cost.getBytes())}};
  return members;
}

/// How often a loop runs at the sizes that are assumed; none where these do not tell.
static std::optional<int64_t> tripCount(mlir::scf::ForOp loop) {
  auto from = AssumedSizes::inCaller(loop.getLowerBound()),
       to = AssumedSizes::inCaller(loop.getUpperBound()),
       step = AssumedSizes::inCaller(loop.getStep());
  if (!from || !to || !step)
    return std::nullopt;
  return *to > *from ? divideCeil(*to - *from, *step) : 0;
}

SmallVector<FunctionStep> Lowered::ownSteps(mlir::func::FuncOp function) {
  SmallVector<FunctionStep> steps;
  auto add = [&](mlir::Operation *op, StringRef name, bool isBlock) {
    std::optional<int64_t> calls = 1;
    for (auto loop = op->getParentOfType<mlir::scf::ForOp>(); loop;
         loop = loop->getParentOfType<mlir::scf::ForOp>()) {
      std::optional<int64_t> trips = tripCount(loop);
      calls = calls && trips ? std::optional(*calls * *trips) : std::nullopt;
    }
    steps.push_back({name.str(), calls, isBlock});
  };
  // Kernels that are alike have one function: barriers say whose each call is.
  function.walk([&](mlir::Operation *op) {
    if (auto barrier = dyn_cast<BarrierOp>(op); barrier && barrier.getCost())
      add(op, countedWith.lookup(*barrier.getCost()), /*isBlock=*/false);
    else if (auto call = dyn_cast<mlir::func::CallOp>(op))
      if (auto callee = module.lookupSymbol<mlir::func::FuncOp>(call.getCallee());
          callee && !ownSteps(callee).empty())
        add(op, callee.getSymName(), /*isBlock=*/true);
  });
  return steps;
}

json::Array Lowered::stepsOf(mlir::func::FuncOp function) {
  json::Array steps;
  for (const FunctionStep &own : ownSteps(function)) {
    json::Object step{{"function", own.function}, {"calls", nullptr}};
    if (own.calls)
      step["calls"] = *own.calls;
    if (own.isBlock)
      step["steps"] = stepsOf(module.lookupSymbol<mlir::func::FuncOp>(own.function));
    steps.push_back(std::move(step));
  }
  return steps;
}

json::Array Lowered::graphs(const json::Array &kernels) {
  json::Array graphs;
  auto sizeOf = [&](mlir::Attribute polynomial) { return sizes.of(polynomial); };
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (SmallVector<FunctionStep> steps = ownSteps(function); !steps.empty())
      if (json::Object graph = describeGraph(function, steps, {module, kernels, sizeOf});
          !graph.empty())
        graphs.push_back(std::move(graph));
  return graphs;
}

json::Array Lowered::entries() {
  json::Array entries;
  for (const EntryInfo &entry : entriesOf(module)) {
    auto function = module.lookupSymbol<mlir::func::FuncOp>(entry.name);
    if (function && !entry.unfold)
      entries.push_back(json::Object{{"name", entry.name}, {"steps", stepsOf(function)}});
  }
  return entries;
}

json::Object Lowered::frameOf(mlir::func::FuncOp function, mlir::DictionaryAttr frame) {
  SmallVector<int64_t> offsets;
  int64_t end = 0;
  for (mlir::Attribute slot : frame.getAs<mlir::ArrayAttr>("slots")) {
    offsets.push_back(end);
    end += int64_t(alignTo(uint64_t(sizes.of(slot)), 64));
  }
  json::Array buffers;
  for (auto buffer : frame.getAs<mlir::ArrayAttr>("buffers").getAsRange<mlir::DictionaryAttr>()) {
    auto number = [&](StringRef name) { return buffer.getAs<mlir::IntegerAttr>(name).getInt(); };
    buffers.push_back(json::Object{{"offset", offsets[size_t(number("slot"))]},
                                   {"bytes", sizes.of(buffer.get("bytes"))},
                                   {"from", number("from")},
                                   {"until", number("until")},
                                   {"at", buffer.getAs<mlir::StringAttr>("at").getValue()}});
  }
  return json::Object{
      {"function", function.getSymName()}, {"bytes", end}, {"buffers", std::move(buffers)}};
}

json::Array Lowered::frames() {
  json::Array frames;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (auto frame = function->getAttrOfType<mlir::DictionaryAttr>(attributes::frame))
      frames.push_back(frameOf(function, frame));
  return frames;
}

json::Array Lowered::slots() {
  json::Array slots;
  for (SlotOp slot : module.getOps<SlotOp>()) {
    json::Array parameters;
    for (auto name : slot.getParams().getAsRange<mlir::FlatSymbolRefAttr>())
      if (auto param = module.lookupSymbol<ParamOp>(name.getAttr()))
        parameters.push_back(json::Object{{"tensor", param.getSource().getPattern().getValue()},
                                          {"at", placeText(param.getLoc())}});
    slots.push_back(json::Object{{"slot", slot.getSymName()},
                                 {"parameters", std::move(parameters)},
                                 {"precision", stringifyPrecision(slot.getPrecision())},
                                 {"k", int64_t(slot.getK())},
                                 {"columns", int64_t(slot.getColumns())},
                                 {"panel", int64_t(slot.getWidth())},
                                 {"layers", int64_t(slot.getLayers())},
                                 {"bytes", int64_t(slot.getBytes())},
                                 {"offset", int64_t(slot.getOffset())},
                                 {"layer_stride", int64_t(slot.getLayerStride())}});
  }
  return slots;
}

/// What was done before targets part: dropped dropout, for one.
static json::Array describeNotes(ArrayRef<Staged> lowered, const Remarks &remarks) {
  json::Array notes;
  for (const Remarks::Entry &note : remarks.kernels())
    if (none_of(lowered, [&](const Staged &staged) { return staged.target == note.target; }))
      notes.push_back(json::Object{{"function", note.function},
                                   {"at", note.at.empty() ? "" : note.at.front()},
                                   {"text", json::fixUTF8(note.text)}});
  return notes;
}

static json::Array describeSources(const frontend::SourceFile &source) {
  json::Array files;
  for (auto [name, text] : source.allFiles())
    files.push_back(json::Object{{"file", json::fixUTF8(name)}, {"text", json::fixUTF8(text)}});
  return files;
}

static json::Object describeReason(const Remarks::Entry &reason) {
  json::Object described{{"code", reason.code}, {"message", json::fixUTF8(reason.text)}};
  if (!reason.mend.empty())
    described["helps"] = json::Array{json::fixUTF8(reason.mend)};
  if (!reason.at.empty())
    described["at"] = json::fixUTF8(reason.at.front());
  if (!reason.function.empty())
    described["function"] = json::fixUTF8(reason.function);
  return described;
}

/// The kernels of a target. Reasons that stand under one of them are marked in `isShown`.
static json::Array describeKernels(StringRef target, Lowered &lowered, const Remarks &remarks,
                                   MutableArrayRef<bool> isShown) {
  json::Array kernels;
  std::vector<bool> isOfTargetShown(remarks.reasons().size()); // several kernels may have one place
  for (const Remarks::Entry &kernel : remarks.kernels()) {
    if (kernel.target != target)
      continue;
    json::Object facts = kernel.facts, described{{"function", kernel.function}};
    if (!kernel.at.empty())
      described["at"] = kernel.at.front();
    described["places"] = json::Array(kernel.at);
    if (std::optional<StringRef> cost = facts.getString("cost")) {
      for (auto &member : lowered.cost(*cost, kernel.function))
        described[member.first] = std::move(member.second);
      facts.erase("cost");
    }
    if (auto loops = facts.find("loops"); loops != facts.end()) {
      described["loops"] = std::move(loops->second);
      facts.erase(loops);
    }
    described["text"] = json::fixUTF8(kernel.text);
    described["facts"] = std::move(facts);
    json::Array reasons;
    for (auto [i, reason] : enumerate(remarks.reasons())) {
      bool isOfTarget = reason.target.empty() || reason.target == target;
      if (!isOfTarget || isOfTargetShown[i] || reason.at.empty() ||
          !is_contained(kernel.at, reason.at.front()))
        continue;
      reasons.push_back(describeReason(reason));
      isShown[i] = isOfTargetShown[i] = true;
    }
    described["reasons"] = std::move(reasons);
    kernels.push_back(std::move(described));
  }
  return kernels;
}

json::Object explain(Spec &spec, const CompileOptions &options, ArrayRef<Staged> lowered,
                     const Remarks &remarks) {
  Sizes sizes(spec.module());
  SmallVector<bool> isShown(remarks.reasons().size(), false);
  json::Array targets;
  for (const Staged &staged : lowered) {
    Lowered own(*staged.module, sizes);
    json::Array kernels = describeKernels(staged.target, own, remarks, isShown);
    json::Array graphs = own.graphs(kernels);
    targets.push_back(json::Object{{"name", staged.target},
                                   {"kind", staged.level ? "cpu" : "gpu"},
                                   {"kernels", std::move(kernels)},
                                   {"entries", own.entries()},
                                   {"graphs", std::move(graphs)},
                                   {"weights", own.slots()},
                                   {"memory", own.frames()}});
  }
  json::Array reasons;
  for (auto [i, reason] : enumerate(remarks.reasons()))
    if (!isShown[i])
      reasons.push_back(describeReason(reason));
  return json::Object{{"schema", "attn.explain"},
                      {"schema_version", explanationVersion},
                      {"spec", json::fixUTF8(spec.path())},
                      {"model", describeModel(spec.module(), options)},
                      {"sizes", sizes.json()},
                      {"sources", describeSources(spec.files())},
                      {"notes", describeNotes(lowered, remarks)},
                      {"targets", std::move(targets)},
                      {"reasons", std::move(reasons)}};
}

namespace {

/// A member that an object of an explanation has to have.
struct Member {
  StringLiteral name;
  json::Value::Kind kind;
};

} // namespace

static bool hasAll(const json::Object &object, ArrayRef<Member> members) {
  return all_of(members, [&](const Member &member) {
    const json::Value *value = object.get(member.name);
    return value && value->kind() == member.kind;
  });
}

/// Whether all values of a list, which may be missing, are objects with these members.
static bool areAll(const json::Object &object, StringRef list, ArrayRef<Member> members,
                   function_ref<bool(const json::Object &)> isFine = nullptr) {
  const json::Array *values = object.getArray(list);
  return !values || all_of(*values, [&](const json::Value &value) {
    const json::Object *own = value.getAsObject();
    return own && hasAll(*own, members) && (!isFine || isFine(*own));
  });
}

static bool isGraph(const json::Object &graph) {
  return areAll(graph, "nodes", {{"id", json::Value::Number}, {"kind", json::Value::String}}) &&
         all_of(*graph.getArray("edges"), [](const json::Value &value) {
           const json::Array *edge = value.getAsArray();
           return edge && edge->size() >= 2;
         });
}

static bool isTarget(const json::Object &target) {
  using Value = json::Value;
  auto isKernel = [](const json::Object &kernel) {
    return areAll(kernel, "reasons", {{"code", Value::String}, {"message", Value::String}});
  };
  return areAll(target, "kernels",
                {{"function", Value::String},
                 {"text", Value::String},
                 {"places", Value::Array},
                 {"reasons", Value::Array},
                 {"facts", Value::Object}},
                isKernel) &&
         areAll(target, "entries", {{"name", Value::String}, {"steps", Value::Array}}) &&
         areAll(target, "weights", {{"slot", Value::String}, {"parameters", Value::Array}}) &&
         areAll(target, "memory", {{"function", Value::String}, {"buffers", Value::Array}}) &&
         areAll(target, "graphs",
                {{"function", Value::String}, {"nodes", Value::Array}, {"edges", Value::Array}},
                isGraph);
}

bool isExplanation(const json::Object &object) {
  using Value = json::Value;
  return object.getString("schema") == "attn.explain" &&
         object.getInteger("schema_version") == explanationVersion &&
         hasAll(object, {{"spec", Value::String},
                         {"model", Value::Object},
                         {"sizes", Value::Object},
                         {"sources", Value::Array},
                         {"notes", Value::Array},
                         {"targets", Value::Array},
                         {"reasons", Value::Array}}) &&
         hasAll(*object.getObject("model"),
                {{"name", Value::String}, {"dims", Value::Array}, {"entries", Value::Array}}) &&
         areAll(object, "sources", {{"file", Value::String}, {"text", Value::String}}) &&
         areAll(object, "targets",
                {{"name", Value::String},
                 {"kind", Value::String},
                 {"kernels", Value::Array},
                 {"entries", Value::Array},
                 {"weights", Value::Array},
                 {"memory", Value::Array}},
                isTarget);
}

// The length of the JSON, 8 bytes, and the JSON compressed.

std::string packExplanation(json::Object explanation) {
  std::string text, packed(sizeof(uint64_t), '\0');
  raw_string_ostream(text) << json::Value(std::move(explanation));
  support::endian::write64le(packed.data(), text.size());
  SmallVector<uint8_t> compressed;
  compression::zlib::compress(arrayRefFromStringRef(text), compressed,
                              compression::zlib::BestSizeCompression);
  return packed + toStringRef(compressed).str();
}

Expected<json::Object> unpackExplanation(StringRef bytes) {
  constexpr uint64_t most = uint64_t(1) << 28;
  uint64_t length =
      bytes.size() < sizeof(uint64_t) ? most + 1 : support::endian::read64le(bytes.data());
  if (length > most)
    return createStringError("its explanation is damaged");
  SmallVector<uint8_t> text;
  if (llvm::Error error = compression::zlib::decompress(
          arrayRefFromStringRef(bytes.drop_front(sizeof(uint64_t))), text, length))
    return std::move(error);
  auto value = json::parse(toStringRef(text));
  if (!value)
    return value.takeError();
  json::Object *object = value->getAsObject();
  if (!object || !isExplanation(*object))
    return createStringError("its explanation is damaged, or of another version of attn");
  return std::move(*object);
}

} // namespace attn::tool
