// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading and gathering parameters.
#include "compiler/reference/Parameters.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

/// The pattern with every {n} replaced by the layer.
static std::string expand(StringRef pattern, int64_t layer) {
  std::string name = pattern.str();
  for (size_t at = name.find("{n}"); at != name.npos; at = name.find("{n}", at))
    name.replace(at, 3, std::to_string(layer));
  return name;
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
