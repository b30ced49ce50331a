// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which rule folds which operator, and what the rules share.
#include "compiler/import/onnx/graph/ConstantFolder.h"
#include "compiler/import/onnx/graph/Caches.h"

#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace attn::importer {

/// Operators that give the sizes of their first input.
static constexpr StringLiteral sameSized[] = {"Relu",
                                              "Erf",
                                              "Tanh",
                                              "Sigmoid",
                                              "Sqrt",
                                              "Exp",
                                              "Log",
                                              "Neg",
                                              "Abs",
                                              "Floor",
                                              "Gelu",
                                              "Softmax",
                                              "LogSoftmax",
                                              "Dropout",
                                              "Identity",
                                              "Cast",
                                              "Clip",
                                              "Reciprocal",
                                              "Not",
                                              "IsNaN",
                                              "Sin",
                                              "Cos",
                                              "Trilu",
                                              "CumSum",
                                              "LayerNormalization",
                                              "RMSNormalization",
                                              "SimplifiedLayerNormalization",
                                              "Swish",
                                              "HardSwish",
                                              "HardSigmoid",
                                              "Softplus",
                                              "Elu",
                                              "LeakyRelu",
                                              "Mish",
                                              "RotaryEmbedding",
                                              "CastLike",
                                              "Round",
                                              "Sign",
                                              "InstanceNormalization",
                                              "GroupNormalization",
                                              "Selu",
                                              "BatchNormalization",
                                              "QuickGelu",
                                              "FastGelu",
                                              "Ceil"};

const StringMap<ConstantFolder::Rule> &ConstantFolder::rules() {
  static const StringMap<Rule> table = [] {
    StringMap<Rule> made;
    for (StringRef type : sameSized)
      made[type] = &ConstantFolder::sameSizes;
    for (StringRef type : {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Equal", "Less",
                           "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Mod", "Where"})
      made[type] = &ConstantFolder::elementwise;
    for (StringRef type : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2",
                           "ReduceProd", "ReduceSumSquare"})
      made[type] = &ConstantFolder::reduce;
    made["Constant"] = &ConstantFolder::constant;
    made["ConstantOfShape"] = &ConstantFolder::constantOfShape;
    made["Shape"] = &ConstantFolder::shape;
    made["Range"] = &ConstantFolder::range;
    made["Reshape"] = &ConstantFolder::reshape;
    made["Flatten"] = &ConstantFolder::flatten;
    made["Transpose"] = &ConstantFolder::transpose;
    made["Unsqueeze"] = &ConstantFolder::unsqueeze;
    made["Squeeze"] = &ConstantFolder::squeeze;
    made["Expand"] = &ConstantFolder::expand;
    made["Concat"] = &ConstantFolder::concat;
    made["Slice"] = &ConstantFolder::slice;
    made["Split"] = &ConstantFolder::split;
    made["Gather"] = &ConstantFolder::gather;
    made["MatMul"] = &ConstantFolder::matmul;
    made["Gemm"] = &ConstantFolder::gemm;
    made["Conv"] = &ConstantFolder::convolution;
    made["ArgMax"] = &ConstantFolder::argmax;
    made["Attention"] = &ConstantFolder::attention;
    for (StringRef type : {"LSTM", "GRU", "RNN"})
      made[type] = &ConstantFolder::recurrent;
    made["Push"] = &ConstantFolder::sameSizes;
    return made;
  }();
  return table;
}

void ConstantFolder::run() {
  for (GraphNode &each : graph.nodes) {
    node = &each;
    StringRef domain = each.source->domain;
    bool isStandard = domain.empty() || domain == "ai.onnx" || domain == ownDomain;
    auto rule = rules().find(each.type());
    if (!each.source->problem.empty()) {
      each.problem = each.source->problem;
      continue;
    }
    if (!isStandard || rule == rules().end()) {
      each.problem = isStandard && each.type() == "If"
                         ? "a condition that is not known when importing; `--set NAME=N` gives the "
                           "value of an input"
                         : "an operator that is not read";
      continue;
    }
    // What is not known because of a node before is said there.
    bool isComplete =
        all_of(each.inputs, [&](int value) { return value < 0 || graph[value].sizes.has_value(); });
    bool isLacking = each.type() != "Constant" && each.input(0) < 0;
    each.problem = isLacking    ? "a node without its first input"
                   : isComplete ? (this->*rule->second)()
                                : std::string();
  }
}

void fold(Graph &graph) { ConstantFolder(graph).run(); }

const GraphValue *ConstantFolder::in(size_t i) const {
  int value = node->input(i);
  return value < 0 ? nullptr : &graph[value];
}

const Sizes *ConstantFolder::sizes(size_t i) const {
  const GraphValue *value = in(i);
  return value && value->sizes ? &*value->sizes : nullptr;
}

const Elements *ConstantFolder::known(size_t i) const {
  const GraphValue *value = in(i);
  return value ? value->known.get() : nullptr;
}

/// Places and lengths beyond are as good as this one, and can be added.
static constexpr int64_t farthest = int64_t(1) << 40;

std::optional<std::vector<int64_t>> ConstantFolder::integers(StringRef attribute, size_t i,
                                                             bool &isGiven) {
  isGiven = true;
  if (auto *list = node->attribute<std::vector<int64_t>>(attribute)) {
    std::vector<int64_t> near = *list;
    for (int64_t &number : near)
      number = std::clamp(number, -farthest, farthest);
    return near;
  }
  const GraphValue *value = in(i);
  isGiven = value != nullptr;
  if (!value)
    return std::vector<int64_t>();
  if (!value->known)
    return std::nullopt;
  std::vector<int64_t> list;
  for (const Quantity &element : *value->known) {
    if (!element.isNumber())
      return std::nullopt;
    list.push_back(std::clamp(element.whole(), -farthest, farthest));
  }
  return list;
}

void ConstantFolder::give(size_t i, OnnxType type, const Sizes &sizes,
                          std::shared_ptr<const Elements> elements) {
  if (i >= node->outputs.size() || node->outputs[i] < 0)
    return;
  GraphValue &value = graph[node->outputs[i]];
  value.type = type;
  value.sizes = sizes;
  if (elements && (budget -= static_cast<int64_t>(elements->size())) >= 0)
    value.known = std::move(elements);
}

bool ConstantFolder::isSmall(const Sizes &sizes) {
  Quantity count = countOf(sizes);
  return count.isNumber() && count.factor <= 1 << 14;
}

int axisOf(int64_t axis, size_t rank) {
  auto count = static_cast<int64_t>(rank);
  return axis < -count || axis >= count ? -1 : static_cast<int>(axis < 0 ? axis + count : axis);
}

void forEachPlace(const Sizes &sizes, function_ref<void(ArrayRef<int64_t>)> each) {
  SmallVector<int64_t, 6> place(sizes.size(), 0);
  if (any_of(sizes, [](const Quantity &size) { return size.factor < 1; }))
    return;
  while (true) {
    each(place);
    size_t axis = sizes.size();
    while (axis > 0 && ++place[axis - 1] >= sizes[axis - 1].whole())
      place[--axis] = 0;
    if (axis == 0)
      return;
  }
}

int64_t flatPlace(ArrayRef<int64_t> place, const Sizes &sizes) {
  int64_t flat = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    flat = flat * sizes[axis].whole() + place[axis];
  return flat;
}

std::shared_ptr<const Elements>
ConstantFolder::moved(const Sizes &sizes, function_ref<int64_t(ArrayRef<int64_t>)> place) const {
  const Elements *from = known(0);
  if (!from || !isSmall(sizes) || !areNumbers(*in(0)->sizes))
    return nullptr;
  auto made = std::make_shared<Elements>();
  bool isInside = true;
  forEachPlace(sizes, [&](ArrayRef<int64_t> at) {
    int64_t flat = place(at);
    isInside &= flat >= 0 && flat < static_cast<int64_t>(from->size());
    if (isInside)
      made->push_back((*from)[static_cast<size_t>(flat)]);
  });
  return isInside ? made : nullptr;
}

std::optional<Sizes> broadcast(const Sizes &a, const Sizes &b) {
  const Sizes &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Sizes result = longer;
  size_t skipped = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Quantity &mine = result[skipped + i];
    const Quantity &other = shorter[i];
    if (mine == other || other.is(1))
      continue;
    // Of a size that is only named and a number, the second is what both come to.
    if (mine.is(1) || (!mine.isNumber() && other.isNumber()))
      mine = other;
    else if (mine.isNumber() && other.isNumber())
      return std::nullopt;
  }
  return result;
}

} // namespace attn::importer
