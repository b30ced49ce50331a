// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON of `attn bench` and `attn verify` into that of `attn explain`.
#include "MeasuredRun.h"

#include "dialect/AttnDialect.h"
#include "dialect/Attributes.h"
#include "mlir/IR/Builders.h"
#include "tools/attn/support/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace attn::tool {

int MeasuredRun::read(StringRef file) {
  path = file.str();
  auto buffer = MemoryBuffer::getFileOrSTDIN(file);
  if (!buffer)
    return fail(Environment, "cannot read `" + path + "`: " + buffer.getError().message());
  auto value = json::parse((*buffer)->getBuffer());
  const json::Object *object = value ? value->getAsObject() : nullptr;
  if (!value)
    consumeError(value.takeError());
  bool isProfile = object && object->getArray("kernels") && object->getObject("sizes") &&
                   object->getString("level"),
       isVerified =
           object && object->getString("schema") == "attn.verify" && object->getArray("results");
  if ((!isProfile && !isVerified) || !object->getString("model"))
    return fail(BadInput, "`" + path + "` is neither a profile of a run nor a comparison",
                "`attn bench SPEC --profile --json > " + path +
                    "` writes the one, `attn verify SPEC --each-tap --json` the other");
  run = *object;
  return Ok;
}

int MeasuredRun::assumeSizes(mlir::ModuleOp model) const {
  if (isComparison())
    return Ok;
  auto asked = model->getAttrOfType<mlir::DictionaryAttr>(attributes::sizes);
  if (asked && !asked.empty())
    return Ok;
  mlir::Builder builder(model.getContext());
  SmallVector<mlir::NamedAttribute> sizes;
  for (auto &[name, size] : *run.getObject("sizes")) {
    auto dim = model.lookupSymbol<DimOp>(StringRef(name));
    auto number = size.getAsInteger();
    if (!dim || !dim.getDynamic() || !number || *number < 1)
      return fail(BadInput, "`" + path + "` is of another model: it has a size of `" +
                                StringRef(name).str() + "`, which this one does not");
    sizes.push_back(builder.getNamedAttr(StringRef(name), builder.getI64IntegerAttr(*number)));
  }
  model->setAttr(attributes::sizes, builder.getDictionaryAttr(sizes));
  return Ok;
}

int MeasuredRun::addTo(json::Object &explanation) const {
  StringRef model = *run.getString("model");
  if (explanation.getObject("model")->getString("name") != model)
    return fail(BadInput, "`" + path + "` is of the model `" + model.str() + "`, not of this one");
  if (!isComparison())
    return addTimes(explanation);
  json::Value &comparisons = explanation["comparisons"];
  if (!comparisons.getAsArray())
    comparisons = json::Array();
  json::Object own = run;
  own["file"] = path;
  comparisons.getAsArray()->push_back(std::move(own));
  return Ok;
}

int MeasuredRun::addTimes(json::Object &explanation) const {
  StringRef level = *run.getString("level");
  json::Array &targets = *explanation.getArray("targets");
  auto target = find_if(
      targets, [&](json::Value &own) { return own.getAsObject()->getString("name") == level; });
  if (target == targets.end())
    return fail(BadInput,
                "`" + path + "` was measured on `" + level.str() + "`, which is no target here",
                "write `--target=" + level.str() + "`");
  if (target->getAsObject()->get("run"))
    return fail(Usage, "`" + path + "` is one more run on `" + level.str() + "`",
                "give one profile for each target; `attn diff` compares two");
  StringMap<json::Object *> kernels;
  for (json::Value &value : *target->getAsObject()->getArray("kernels"))
    kernels.try_emplace(*value.getAsObject()->getString("function"), value.getAsObject());
  for (const json::Value &value : *run.getArray("kernels")) {
    const json::Object *measured = value.getAsObject();
    auto name = measured ? measured->getString("function") : std::nullopt;
    auto milliseconds = measured ? measured->getNumber("ms") : std::nullopt;
    if (!name || !milliseconds || !kernels.contains(*name))
      return fail(BadInput, "`" + path + "` has a kernel `" + name.value_or("").str() +
                                "`, which this spec does not: it was measured with another spec "
                                "or with other options");
    json::Object &kernel = *kernels[*name];
    kernel["seconds"] = 1e-3 * *milliseconds;
    for (StringRef member : {"calls", "waiting"})
      if (const json::Value *known = measured->get(member))
        kernel[member] = *known;
  }
  json::Object own = run;
  own.erase("kernels");
  (*target->getAsObject())["run"] = std::move(own);
  return Ok;
}

} // namespace attn::tool
