// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading and gathering parameters.
#include "compiler/reference/Parameters.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

/// Which layer is the one at a place among those listed in front of `word`, `0-2,4-6,8`; nothing of
/// other words.
static std::optional<int64_t> takeLayer(StringRef &word, int64_t place) {
  int64_t layer = place, before = 0;
  do {
    int64_t first = 0, last = 0;
    if (word.consumeInteger(10, first))
      return std::nullopt;
    last = first;
    if (word.consume_front("-") && word.consumeInteger(10, last))
      return std::nullopt;
    if (place >= before && place <= before + last - first)
      layer = first + place - before;
    before += last - first + 1;
  } while (word.consume_front(","));
  return layer;
}

/// What a placeholder `n`, `n/2`, `n%2`, `n/2%3*23+881` or `n@3-5` stands for; nothing of other
/// words.
static std::optional<int64_t> numberOf(StringRef word, int64_t layer) {
  if (!word.consume_front("n"))
    return std::nullopt;
  if (word.consume_front("@")) {
    std::optional<int64_t> own = takeLayer(word, layer);
    if (!own)
      return std::nullopt;
    layer = *own;
  }
  int64_t divisor = 1, count = 0, factor = 1, first = 0;
  if ((word.consume_front("/") && word.consumeInteger(10, divisor)) ||
      (word.consume_front("%") && word.consumeInteger(10, count)) ||
      (word.consume_front("*") && word.consumeInteger(10, factor)) ||
      (word.consume_front("+") && word.consumeInteger(10, first)) || !word.empty() || divisor < 1)
    return std::nullopt;
  int64_t own = count > 0 ? layer / divisor % count : layer / divisor;
  return own * factor + first;
}

/// The pattern with the layer's number in the place of every placeholder.
static std::string expand(StringRef pattern, int64_t layer) {
  std::string name;
  while (true) {
    auto [before, after] = pattern.split('{');
    name += before;
    if (before.size() == pattern.size())
      return name;
    auto [word, rest] = after.split('}');
    std::optional<int64_t> number = numberOf(word, layer);
    name += number ? std::to_string(*number) : "{" + word.str() + "}";
    pattern = rest;
  }
}

llvm::Expected<const Parameters::Elements *> Parameters::source(ParamOp param, int64_t layer) {
  if (param.getLayers() && layer != loadedLayer) {
    ofLayer.clear();
    loadedLayer = layer;
  }
  auto &known = param.getLayers() ? ofLayer : global;
  std::string name = expand(param.getSource().getPattern(), layer);
  if (auto found = known.find(name); found != known.end())
    return &found->second;
  ArrayRef<int64_t> shape = param.getSource().getShape();
  auto elements = load(name, shape);
  if (!elements)
    return elements.takeError();
  if (static_cast<int64_t>(elements->size()) != countOf(shape))
    return errorAt(param, "expected " + Twine(countOf(shape)) + " elements of '" + name +
                              "', but got " + Twine(elements->size()));
  return &(known[name] = std::move(*elements));
}

llvm::Expected<Tensor> Parameters::get(ParamOp param, int64_t layer) {
  if (param.getLayers() && (layer < 0 || layer >= static_cast<int64_t>(*param.getLayers())))
    return errorAt(param, "expected a layer below " + Twine(*param.getLayers()) + ", but got " +
                              Twine(layer));
  auto elements = source(param, layer);
  if (!elements)
    return elements.takeError();
  Tensor value = zeros(cast<RankedTensorType>(param.getType()).getShape());
  copyStrided(value.shape, (*elements)->data() + param.getSource().getOffset(),
              param.getSource().getStrides(), value.data.data(), denseStrides(value.shape));
  return value;
}
