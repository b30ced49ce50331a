// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Initializers -> parameters: paths that a person would choose, and where the tensors are where
// that does not follow from the path.
#include "compiler/import/onnx/graph/GraphWriter.h"

#include "compiler/frontend/syntax/Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn::importer {

std::string GraphWriter::tensorName(int value, const SpecScope &scope) const {
  if (scope.layers)
    if (auto found = scope.layers->patterns.find(value); found != scope.layers->patterns.end())
      return StringRef(found->second).starts_with(scope.prefix)
                 ? found->second.substr(scope.prefix.size())
                 : found->second;
  return graph[value].name;
}

std::string quoted(StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + "\"";
}

/// The name of a tensor without its last word, `weight` or `bias`; all of it where it is another.
static StringRef baseOf(StringRef name) {
  for (StringRef suffix : {".weight", ".bias"})
    if (name.size() > suffix.size() && name.ends_with(suffix))
      return name.drop_back(suffix.size());
  return name;
}

/// Whether a name says what a tensor is for. What an exporter made up does not:
/// `onnx::MatMul_123`, `val_12`, `w_{n*23+5}`.
static bool isTelling(StringRef name) {
  StringRef base = baseOf(name);
  if (base.contains("::") || base.contains('{') || base.empty() || all_of(base, isDigit))
    return false;
  StringRef number = base.rsplit('_').second;
  bool isCounted = !number.empty() && all_of(number, isDigit) && !base.contains('.');
  return !isCounted || base.size() < name.size();
}

/// The node's name without its operator: `/encoder/layer.0/query/MatMul` ->
/// `encoder.layer.0.query`.
static std::string scopeOf(const GraphNode *node) {
  StringRef name = node ? StringRef(node->source->name) : StringRef();
  if (!name.starts_with("/"))
    return "";
  std::string text = name.drop_front().rsplit('/').first.str();
  if (text.size() == name.size() - 1)
    return "";
  std::replace(text.begin(), text.end(), '/', '.');
  return text;
}

/// The path behind the number of a layer: `encoder.layer.{n}.query` -> `query`.
static StringRef behindLayer(StringRef path) {
  if (size_t at = path.rfind("}."); at != StringRef::npos)
    return path.drop_front(at + 2);
  SmallVector<StringRef> words;
  path.split(words, '.');
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (!words[i].empty() && all_of(words[i], isDigit))
      return path.drop_front(static_cast<size_t>(words[i + 1].begin() - path.begin()));
  return path;
}

std::string GraphWriter::freePath(StringRef wanted, SpecScope &scope) {
  std::string path;
  SmallVector<StringRef> words;
  wanted.split(words, '.', -1, false);
  for (StringRef word : words) {
    std::string clean;
    for (char c : word)
      clean += isAlnum(c) ? c : '_';
    if (path.empty() && (clean.empty() || isDigit(clean.front())))
      clean.insert(0, "_");
    path += (path.empty() ? "" : ".") + clean;
  }
  if (path.empty())
    path = "weight";
  return scope.names.fresh(path);
}

GraphWriter::PlaceOfTensors GraphWriter::place(const GraphNode *node, int weight, int bias,
                                               StringRef kind, SpecScope &scope) {
  std::string w = weight >= 0 ? tensorName(weight, scope) : "",
              b = bias >= 0 ? tensorName(bias, scope) : "";
  StringRef ofWeight = baseOf(w), ofBias = baseOf(b);
  bool isPair = weight < 0 || StringRef(w).ends_with(".weight");
  isPair &= bias < 0 || StringRef(b).ends_with(".bias");
  isPair &= weight < 0 || bias < 0 || ofWeight == ofBias;
  std::string wanted = kind.str();
  auto inLayer = [&](StringRef name) { return scope.layers ? behindLayer(name) : name; };
  std::string ofNode = scopeOf(node);
  if (isTelling(inLayer(b)))
    wanted = inLayer(ofBias).str();
  else if (isTelling(inLayer(w)))
    wanted = inLayer(ofWeight).str();
  else if (!ofNode.empty())
    wanted = scope.layers ? behindLayer(ofNode).str() : ofNode;
  PlaceOfTensors result;
  result.path = freePath(wanted, scope);
  StringRef base = weight >= 0 ? ofWeight : ofBias;
  result.isNatural = isPair && result.path == base;
  result.binding = isPair ? base.str() : "{" + w + "|" + b + "}";
  return result;
}

/// What tells a parameter from others: its weights, and what is made of them.
static std::string keyOf(StringRef kind, int weight, int bias, const Twine &more = "") {
  return (kind + ":" + Twine(weight) + ":" + Twine(bias) + ":" + more).str();
}

/// What a linear map is called that has no name: by what takes its result, or what it takes.
StringRef GraphWriter::roleOf(const Operation &linear) const {
  for (const Operation &operation : operations)
    if (operation.kind == OperationKind::Attend) {
      static constexpr StringRef names[] = {"query", "key", "value"};
      for (size_t i = 0; i < 3; ++i)
        if (views.rootOf(operation.inputs[i]) == linear.output)
          return names[i];
      if (!linear.inputs.empty() && views.rootOf(linear.inputs[0]) == operation.output)
        return "proj";
    } else if (operation.kind == OperationKind::Formula && operation.inputs.size() == 1) {
      if (views.rootOf(operation.inputs[0]) == linear.output)
        return "fc1";
      if (!linear.inputs.empty() && views.rootOf(linear.inputs[0]) == operation.output)
        return "fc2";
    }
  return linear.kind == OperationKind::Windows ? "patches" : "fc";
}

std::string GraphWriter::linear(const Operation &operation, SpecScope &scope) {
  int weight = operation.weight.value, bias = operation.bias.value;
  const PackedPart &part = operation.part;
  std::string key = keyOf("linear", weight, bias, Twine(part.index) + "/" + Twine(part.count));
  if (auto found = scope.declared.find(key); found != scope.declared.end())
    return found->second;
  AxisList given = axes.own(operation, 0), taken = axes.own(operation, 1);
  auto list = [&](ArrayRef<int> all) {
    std::string text;
    for (int axis : all)
      text += (text.empty() ? "" : ", ") + axisName(axis);
    return text;
  };
  std::string rest = list(taken) + " -> " + list(given) + (bias >= 0 ? " bias" : "");
  std::string path, binding, tensor = tensorName(weight, scope);
  auto holder = scope.holders.find(tensor);
  if (part.group >= 0) {
    std::string packedKey = keyOf("packed", weight, bias);
    auto known = scope.declared.find(packedKey);
    if (known == scope.declared.end()) {
      PlaceOfTensors where = place(operation.node, weight, bias, "qkv", scope);
      bool isPair = !StringRef(where.binding).starts_with("{");
      std::string pattern = isPair ? where.binding + ".{weight|bias}" : where.binding;
      std::string words = part.isInside ? " " + StringRef(axisName(given[0])).lower() : "";
      static constexpr const char *letters[] = {"q", "k", "v"};
      for (size_t i = 0; i < part.count; ++i)
        words += part.count == 3 ? std::string(" ") + letters[i] : " part" + std::to_string(i);
      known = scope.declared
                  .try_emplace(packedKey,
                               where.path + "\n = split(" + quoted(pattern) + "," + words + ")")
                  .first;
    }
    auto [base, split] = StringRef(known->second).split('\n');
    path =
        base.str() + "." +
        (part.count == 3 ? std::string(1, "qkv"[part.index]) : "part" + std::to_string(part.index));
    binding = split.str();
  } else if (holder != scope.holders.end()) {
    path = freePath("output", scope);
    binding = " = tied(" + holder->second + ")";
  } else {
    PlaceOfTensors where = place(operation.node, weight, bias, roleOf(operation), scope);
    path = where.path;
    binding = where.isNatural ? "" : " = " + quoted(where.binding);
    scope.holders[tensor] = path;
  }
  rest +=
      binding + (operation.weight.isTransposed && holder == scope.holders.end() ? " @conv1d" : "");
  scope.declarations.push_back({"linear", path, rest, part.group < 0 && !binding.empty()});
  bound.insert(weight);
  bound.insert(bias);
  return scope.declared[key] = path;
}

std::string GraphWriter::norm(const Operation &operation, SpecScope &scope) {
  int weight = operation.weight.value, bias = operation.bias.value;
  std::string width;
  for (int axis : axes.at(operation.output, graph[operation.output].sizes->size() - 1))
    width += (width.empty() ? "" : ", ") + axisName(axis);
  std::string key = keyOf(operation.isRms ? "rmsnorm" : "layernorm", weight, bias,
                          floatText(operation.eps) + (weight < 0 ? width : ""));
  if (auto found = scope.declared.find(key); found != scope.declared.end())
    return found->second;
  PlaceOfTensors where = place(operation.node, weight, bias, "norm", scope);
  std::string rest = width + " eps " + floatText(operation.eps);
  if (weight < 0)
    rest += " no weight";
  if (bias < 0 && !operation.isRms)
    rest += " no bias";
  bool isBound = !where.isNatural && (weight >= 0 || bias >= 0);
  if (isBound)
    rest += " = " + quoted(where.binding);
  scope.declarations.push_back(
      {operation.isRms ? "rmsnorm" : "layernorm", where.path, rest, isBound});
  bound.insert(weight);
  bound.insert(bias);
  return scope.declared[key] = where.path;
}

std::string GraphWriter::embedding(const Operation &operation, SpecScope &scope) {
  int weight = operation.weight.value;
  std::string key = keyOf("embedding", weight, -1);
  if (auto found = scope.declared.find(key); found != scope.declared.end())
    return found->second;
  PlaceOfTensors where =
      place(operation.node, weight, -1, operation.inputs.empty() ? "places" : "tokens", scope);
  std::string rest = axisName(axes.own(operation, 0)) + " -> ";
  std::string width;
  for (int axis : axes.own(operation, 1))
    width += (width.empty() ? "" : ", ") + axisName(axis);
  rest += width + (where.isNatural ? "" : " = " + quoted(where.binding));
  scope.declarations.push_back({"embedding", where.path, rest, !where.isNatural});
  scope.holders[tensorName(weight, scope)] = where.path;
  bound.insert(weight);
  return scope.declared[key] = where.path;
}

Written GraphWriter::parameter(int value, SpecScope &scope, int place) {
  Written result;
  for (size_t i = 0; i < graph[value].sizes->size(); ++i) {
    if (AxisList own = axes.at(value, i); !own.empty())
      result.axes.push_back(own);
    if (static_cast<int>(i) == place)
      result.axes.emplace_back();
  }
  if (result.axes.empty())
    result.axes.emplace_back();
  OnnxType type = graph[value].type;
  bool isFloat = type == OnnxType::F32 || type == OnnxType::F16 || type == OnnxType::BF16;
  bool isInFile = is_contained(
      llvm::map_range(graph.file->constants, [](const OnnxTensor &tensor) { return &tensor; }),
      graph[value].tensor);
  if (!isFloat || !isInFile)
    misfits.push_back({graph.producer(value), "the constant `" + shown(graph[value].name) +
                                                  "`, which is no initializer of floats"});
  std::string key = keyOf("param", value, -1, typeOf(result.axes));
  auto found = scope.declared.find(key);
  if (found == scope.declared.end()) {
    std::string name = tensorName(value, scope);
    StringRef inLayer = scope.layers ? behindLayer(name) : StringRef(name);
    std::string path = freePath(isTelling(inLayer) ? inLayer : StringRef("weight"), scope);
    auto [holder, isFirst] = scope.holders.try_emplace("param " + name, path);
    std::string rest = typeOf(result.axes) + (!isFirst       ? " = tied(" + holder->second + ")"
                                              : path == name ? ""
                                                             : " = " + quoted(name));
    scope.declarations.push_back({"param", path, rest, !isFirst || path != name});
    found = scope.declared.try_emplace(key, path).first;
    bound.insert(value);
  }
  result.formula = {found->second, Formula::Primary};
  return result;
}

std::optional<Written> GraphWriter::slicedParameter(const Operation &operation, SpecScope &scope) {
  int vector = views.rootOf(operation.inputs[0]);
  if (operation.kind != OperationKind::Slice || !graph[vector].isWeight() ||
      graph[vector].rank() != 1)
    return std::nullopt;
  std::map<int64_t, const Operation *> parts;
  for (const Operation &other : operations)
    if (other.kind == OperationKind::Slice && views.rootOf(other.inputs[0]) == vector)
      parts.try_emplace(other.integers[1], &other);
  int64_t next = 0;
  std::string words;
  for (const auto &[first, part] : parts) {
    if (first != next)
      return std::nullopt;
    next += part->integers[2];
    words += " part" + std::to_string(first);
  }
  if (next != (*graph[vector].sizes)[0].whole())
    return std::nullopt;
  Written result;
  for (int axis : axes.at(operation.output, 0))
    result.axes.push_back({axis});
  std::string base = keyOf("parts", vector, -1),
              own = "part" + std::to_string(operation.integers[1]);
  auto known = scope.declared.find(base);
  if (known == scope.declared.end()) {
    std::string name = tensorName(vector, scope);
    StringRef inLayer = scope.layers ? behindLayer(name) : StringRef(name);
    known =
        scope.declared
            .try_emplace(base, freePath(isTelling(inLayer) ? inLayer : StringRef("weight"), scope))
            .first;
    bound.insert(vector);
  }
  std::string path = known->second + "." + own;
  if (scope.declared.try_emplace(keyOf("part", vector, -1, own), path).second)
    scope.declarations.push_back(
        {"param", path,
         typeOf(result.axes) + " = split(" + quoted(tensorName(vector, scope)) + "," + words + ")",
         false});
  result.formula = {path, Formula::Primary};
  return result;
}

} // namespace attn::importer
