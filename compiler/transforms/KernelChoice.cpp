// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured choices to an attribute of the module and back. An attribute may have been written by
// anybody, so values that no code can be written for are left out.
#include "compiler/transforms/KernelChoice.h"
#include "dialect/Attributes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace attn;

void attn::attachChoices(ModuleOp module, const TunedChoices &choices) {
  if (choices.empty())
    return;
  Builder builder(module.getContext());
  auto dictionary = [&](const auto &map, auto attributeOf) {
    SmallVector<NamedAttribute> entries;
    for (const auto &[name, value] : map)
      entries.push_back(builder.getNamedAttr(name, attributeOf(value)));
    return builder.getDictionaryAttr(entries);
  };
  auto ofKernel = [&](const KernelChoice &choice) {
    SmallVector<NamedAttribute> entries;
    for (auto [knob, value] : choice)
      entries.push_back(builder.getNamedAttr(knobName(knob), builder.getI64IntegerAttr(value)));
    return builder.getDictionaryAttr(entries);
  };
  auto ofLevel = [&](const std::map<std::string, KernelChoice> &kernels) {
    return dictionary(kernels, ofKernel);
  };
  module->setAttr(attributes::tuning, dictionary(choices, ofLevel));
}

void attn::dropChoices(ModuleOp module) { module->removeAttr(attributes::tuning); }

static DictionaryAttr attributeOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<DictionaryAttr>(attributes::tuning) : DictionaryAttr();
}

/// The IR may be anybody's: what no code can be written for is none.
static KernelChoice choiceIn(Attribute level, StringRef levelName, StringRef kernel) {
  KernelChoice choice;
  auto kernels = llvm::dyn_cast_if_present<DictionaryAttr>(level);
  auto knobs = kernels ? kernels.getAs<DictionaryAttr>(kernel) : DictionaryAttr();
  if (knobs)
    for (NamedAttribute attribute : knobs) {
      std::optional<Knob> knob = parseKnob(attribute.getName());
      auto value = dyn_cast<IntegerAttr>(attribute.getValue());
      if (knob && value && rangeOf(*knob, levelName).holds(value.getInt()))
        choice[*knob] = value.getInt();
    }
  return choice;
}

KernelChoice attn::choiceFor(Operation *op, StringRef level, StringRef kernel) {
  DictionaryAttr levels = attributeOf(op);
  return levels ? choiceIn(levels.get(level), level, kernel) : KernelChoice();
}
