// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's attn-stage module to the structs of ModelInfo.h: entries, tensors, axes, numbers of
// parameters.
#include "compiler/emit/ModelInfo.h"

#include "compiler/emit/BatchDim.h"
#include "compiler/emit/InputRanges.h"
#include "dialect/AttnDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace attn {

llvm::StringRef compilerVersion() { return ATTN_VERSION; }

llvm::StringRef modelName(ModuleOp model) {
  auto name = model->getAttrOfType<StringAttr>(attributes::model);
  return name ? name.getValue() : "model";
}

std::string modelSymbol(ModuleOp model) { return "attn_model_" + snakeCase(modelName(model)); }

bool takesImage(ModuleOp model) {
  return llvm::any_of(entriesOf(model), [](const EntryInfo &entry) {
    return llvm::any_of(entry.inputs, [](const TensorInfo &input) { return bool(input.image); });
  });
}

bool findsObjects(ModuleOp model) {
  return llvm::any_of(entriesOf(model), [](const EntryInfo &entry) {
    return entry.outputs.size() >= 2 && entry.outputs[0].name == "logits" &&
           entry.outputs[1].name == "boxes" &&
           llvm::any_of(entry.inputs, [](const TensorInfo &input) { return bool(input.image); });
  });
}

bool takesSound(ModuleOp model) {
  return llvm::any_of(entriesOf(model), [](const EntryInfo &entry) {
    return llvm::any_of(entry.inputs, [](const TensorInfo &input) { return bool(input.sound); });
  });
}

/// Whether pictures in a prompt give an input.
static bool isOfPrompt(const TensorInfo &input) {
  static constexpr llvm::StringLiteral names[] = {"seen",  "picked", "at",   "since",
                                                  "until", "behind", "final"};
  return llvm::is_contained(names, input.name);
}

bool takesText(ModuleOp model) {
  auto isTokens = [](const TensorInfo &input) {
    return input.axes.size() == 2 && input.elementType.isInteger() &&
           !input.elementType.isInteger(1) && !isOfPrompt(input);
  };
  auto isPicture = [](const TensorInfo &input) { return bool(input.image); };
  auto isKnown = [&](const TensorInfo &input) {
    return isTokens(input) || isOfPrompt(input) || input.name == "lengths" || input.state >= 0 ||
           isPicture(input);
  };
  return llvm::any_of(entriesOf(model), [&](const EntryInfo &entry) {
    auto rows = llvm::count_if(entry.inputs, isTokens);
    if (llvm::any_of(entry.inputs, isPicture)) // written down
      return entry.unfold && rows == 0 && llvm::all_of(entry.inputs, isKnown);
    // Texts that are gone on from, or that become vectors or scores of classes: then with which of
    // two each token is of.
    bool isEncoder = !entry.unfold && !entry.outputs.empty() &&
                     (entry.outputs[0].name == "embedding" || entry.outputs[0].name == "scores") &&
                     entry.outputs[0].axes.size() == 2 && (rows == 1 || rows == 2);
    bool isWritten = entry.unfold && entry.inputs.size() == 1 && entry.inputs[0].sound;
    // A token for each frame of a sound.
    auto isHeard = [](const TensorInfo &input) { return input.sound || input.name == "lengths"; };
    bool isOfFrames = !entry.unfold && !entry.outputs.empty() &&
                      entry.outputs[0].name == "tokens" && takesSound(model) &&
                      llvm::all_of(entry.inputs, isHeard);
    return isWritten || isOfFrames ||
           (llvm::all_of(entry.inputs, isKnown) && (isEncoder || (entry.unfold && rows == 1)));
  });
}

llvm::StringRef dtypeName(Type type) {
  if (type.isF32())
    return "f32";
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF64())
    return "f64";
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(8))
    return "u8";
  if (type.isInteger(32))
    return "i32";
  return type.isInteger(64) ? "i64" : "?";
}

/// Reads "B", "2*T", "T + 1", "2*T + 1" or "S:T" into `axis`, which keeps what it is called: `S`.
static void parseDynamicAxis(ModuleOp model, AxisInfo &axis) {
  std::string size = axis.name;
  if (size_t colon = axis.name.find(':'); colon != std::string::npos) {
    size.erase(0, colon + 1);
    axis.name.erase(colon);
  }
  auto [product, sum] = llvm::StringRef(size).split(" + ");
  sum.getAsInteger(10, axis.offset);
  auto [factor, dimName] = product.split('*');
  if (dimName.empty())
    dimName = factor;
  else
    factor.getAsInteger(10, axis.scale);
  axis.dim = dimName.str();
  for (DimOp dim : model.getOps<DimOp>())
    if (dim.getSymName() == dimName)
      axis.size = axis.scale * static_cast<int64_t>(dim.getSize()) + axis.offset;
}

AxisInfo axisOf(ModuleOp model, llvm::StringRef name, int64_t size) {
  AxisInfo axis;
  axis.name = name.str();
  if (ShapedType::isDynamic(size))
    parseDynamicAxis(model, axis);
  else
    axis.size = size;
  return axis;
}

llvm::SmallVector<AxisInfo> axesOf(ModuleOp model, Type type) {
  llvm::SmallVector<AxisInfo> axes;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return axes;
  auto names = dyn_cast_or_null<AxesAttr>(tensor.getEncoding());
  for (int64_t i = 0; i < tensor.getRank(); ++i)
    axes.push_back(
        axisOf(model, names ? names.getNames()[i].str() : std::to_string(i), tensor.getDimSize(i)));
  return axes;
}

static TensorInfo tensorInfo(ModuleOp model, Type type, Attribute name, Attribute image) {
  TensorInfo info;
  if (auto text = dyn_cast_or_null<StringAttr>(name))
    info.name = text.str();
  auto tensor = dyn_cast<RankedTensorType>(type);
  info.elementType = tensor ? tensor.getElementType() : type;
  info.axes = axesOf(model, type);
  info.image = dyn_cast_or_null<DictionaryAttr>(image);
  return info;
}

static int32_t stateOf(Attribute number) {
  auto state = dyn_cast_or_null<IntegerAttr>(number);
  return state ? static_cast<int32_t>(state.getInt()) : -1;
}

static EntryInfo unfoldedEntry(ModuleOp model, UnfoldOp op, llvm::ArrayRef<EntryInfo> functions) {
  auto numberOf = [&](llvm::StringRef name) {
    auto named = [&](const EntryInfo &entry) { return entry.name == name; };
    return static_cast<int32_t>(llvm::find_if(functions, named) - functions.begin());
  };
  auto function = [&](llvm::StringRef name) {
    return cast<FunctionOpInterface>(model.lookupSymbol(name));
  };
  EntryInfo entry;
  entry.name = op.getSymName().str();
  entry.unfold = UnfoldInfo{op, numberOf(op.getFirst()), numberOf(op.getStep()),
                            UnfoldWiring(function(op.getFirst()), function(op.getStep()),
                                         op.getToken(), op.getBegin().has_value()),
                            -1};
  if (auto shared = op.getShared())
    entry.unfold->shared = numberOf(*shared);
  const UnfoldInfo &unfold = *entry.unfold;
  const EntryInfo &first = functions[unfold.first], &step = functions[unfold.step];
  entry.inputs = first.inputs;
  // As many positions are kept as `first` fills in, whatever the steps do.
  llvm::copy_if(first.caches, std::back_inserter(entry.caches),
                [](const CacheInfo &cache) { return cache.use == CacheUse::Kind::Fill; });
  for (int32_t own : unfold.wiring.own)
    entry.inputs.push_back(step.inputs[own]);
  AxisInfo limit{"limit", static_cast<int64_t>(op.getLimit()), ""};
  TensorInfo count{"count", IntegerType::get(op.getContext(), 32), {}};
  for (const AxisInfo &axis : step.inputs[op.getToken()].axes)
    if (axis.isDynamic() || axis.size > 1)
      count.axes.push_back(axis);
  TensorInfo tokens = count;
  tokens.name = "tokens";
  tokens.axes.push_back(limit);
  if (count.axes.empty())
    count.axes.push_back({"1", 1, ""});
  entry.outputs = {tokens, count};
  for (int32_t output : unfold.wiring.stacked) {
    entry.outputs.push_back(step.outputs[output]);
    entry.outputs.back().state = -1; // each step sets it by itself
    auto &axes = entry.outputs.back().axes;
    axes.insert(axes.begin(), limit);
  }
  return entry;
}

std::vector<EntryInfo> entriesOf(ModuleOp model) {
  std::vector<EntryInfo> entries;
  for (auto function : model.getOps<FunctionOpInterface>()) {
    if (!function->hasAttr(attributes::entry))
      continue;
    EntryInfo entry;
    entry.name = function.getName().str();
    std::optional<ApartRows> rows = ApartRows::of(function);
    for (auto [i, whole] : llvm::enumerate(function.getArgumentTypes())) {
      Type type = rows ? rows->packed(whole) : whole;
      entry.inputs.push_back(tensorInfo(model, type, function.getArgAttr(i, attributes::name),
                                        function.getArgAttr(i, attributes::image)));
      entry.inputs.back().sound =
          dyn_cast_or_null<DictionaryAttr>(function.getArgAttr(i, attributes::sound));
      if (auto below = dyn_cast_or_null<IntegerAttr>(function.getArgAttr(i, attributes::below)))
        entry.inputs.back().below = below.getInt();
      entry.inputs.back().state = stateOf(function.getArgAttr(i, attributes::state));
      if (!function.isExternal())
        entry.inputs.back().range = inputRange(model, function.getArgument(i));
    }
    for (auto [i, whole] : llvm::enumerate(function.getResultTypes())) {
      Type type = rows ? rows->packed(whole) : whole;
      entry.outputs.push_back(
          tensorInfo(model, type, function.getResultAttr(i, attributes::name), Attribute()));
      entry.outputs.back().state = stateOf(function.getResultAttr(i, attributes::state));
    }
    for (const CacheUse &use : cachesOf(function)) {
      StringRef rows = use.rows.getValue();
      int64_t size = ShapedType::kDynamic;
      rows.getAsInteger(10, size);
      entry.caches.push_back({use.name().str(), use.kind, axisOf(model, rows, size)});
    }
    if (rows)
      entry.rows = rows->batch.str();
    else
      entry.batch = batchDim(model, function);
    entries.push_back(std::move(entry));
  }
  size_t functions = entries.size();
  for (auto unfold : model.getOps<UnfoldOp>())
    entries.push_back(unfoldedEntry(model, unfold, llvm::ArrayRef(entries).take_front(functions)));
  return entries;
}

int32_t countStates(llvm::ArrayRef<EntryInfo> entries) {
  int32_t count = 0;
  for (const EntryInfo &entry : entries)
    for (const auto *tensors : {&entry.inputs, &entry.outputs})
      for (const TensorInfo &tensor : *tensors)
        count = std::max(count, tensor.state + 1);
  return count;
}

ParameterCount countParameters(ModuleOp model) {
  ParameterCount count;
  llvm::StringSet<> seen;
  for (ParamOp param : model.getOps<ParamOp>()) {
    SourceAttr source = param.getSource();
    if (!seen.insert(source.getPattern().getValue()).second)
      continue;
    int64_t tensors = param.getLayers().value_or(1), elements = tensors;
    for (int64_t size : source.getShape())
      elements *= size;
    count.tensors += tensors;
    count.elements += elements;
  }
  return count;
}

// A capital letter begins a word where a small letter follows it: "ViT" is one word, "FashionViT"
// two.
std::string snakeCase(llvm::StringRef name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    bool beginsWord = llvm::isUpper(name[i]) && i + 1 < name.size() && llvm::isLower(name[i + 1]);
    if (beginsWord && i > 0 && name[i - 1] != '_')
      text += '_';
    text += llvm::toLower(name[i]);
  }
  return text;
}

} // namespace attn
