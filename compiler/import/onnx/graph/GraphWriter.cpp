// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model around its operations: sizes, the block of layers, the entry.
#include "compiler/import/onnx/graph/GraphWriter.h"

#include "compiler/frontend/syntax/Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace attn::importer {

/// The language's word for a type of elements; empty where it has none.
static StringRef dtypeOf(OnnxType type) {
  switch (type) {
  case OnnxType::F32:
    return "f32";
  case OnnxType::F16:
    return "f16";
  case OnnxType::BF16:
    return "bf16";
  case OnnxType::I32:
    return "i32";
  case OnnxType::I64:
    return "i64";
  case OnnxType::Bool:
    return "bool";
  default:
    return "";
  }
}

/// The declarations of a scope; what differs in its path alone stands in one.
static std::string declarationsText(const SpecScope &scope) {
  std::string text;
  const Declared *last = nullptr;
  for (const Declared &declared : scope.declarations) {
    bool joins = last && !declared.isAlone && !last->isAlone && last->kind == declared.kind &&
                 last->rest == declared.rest;
    if (joins) {
      size_t at = text.rfind(": " + declared.rest);
      text.insert(at, ", " + declared.path);
    } else {
      text += declared.kind + " " + declared.path + ": " + declared.rest + "\n";
    }
    last = &declared;
  }
  return text;
}

//===-- layers ------------------------------------------------------------------------------===//

/// Whether words with dots between them can be the path of a stack.
static bool isPath(StringRef path) {
  SmallVector<StringRef> words;
  path.split(words, '.');
  return !path.empty() && !isDigit(path[0]) && !frontend::isReserved(path) &&
         all_of(words, [](StringRef word) {
           return !word.empty() && all_of(word, [](char c) { return isAlnum(c) || c == '_'; });
         });
}

/// What the names of all tensors of the layers begin with, up to the dot behind the number of the
/// layer, or of shared ones behind a last common word; empty where there is no such beginning.
static std::string prefixOf(const Graph &graph, ArrayRef<Operation> operations,
                            const Repeat &repeat) {
  std::string prefix;
  bool isFirst = true;
  auto add = [&](StringRef name) {
    if (!repeat.isShared) {
      size_t end = name.find(".{n}.");
      std::string own = end == StringRef::npos ? "" : name.take_front(end + 5).str();
      prefix = isFirst || own == prefix ? own : "";
    } else {
      std::string own = (name.rsplit('.').first + ".").str();
      if (isFirst)
        prefix = own;
      while (!prefix.empty() && !name.starts_with(prefix)) {
        size_t dot = StringRef(prefix).drop_back().rfind('.');
        prefix.resize(dot == StringRef::npos ? 0 : dot + 1);
      }
    }
    isFirst = false;
  };
  for (size_t i = repeat.first; i < repeat.first + repeat.period; ++i) {
    SmallVector<int, 4> weights = weightsOf(operations[i]);
    for (int input : operations[i].inputs)
      if (graph[input].isWeight() && repeat.isShared)
        weights.push_back(input);
    for (int weight : weights)
      if (repeat.isShared)
        add(graph[weight].name);
  }
  for (const auto &[value, pattern] : repeat.patterns)
    add(pattern);
  StringRef path = prefix;
  bool isRight = repeat.isShared ? !prefix.empty() : path.consume_back(".{n}.") && isPath(path);
  return isRight ? prefix : "";
}

void GraphWriter::findLayers() {
  // Views have done their work.
  llvm::erase_if(operations, [](const Operation &operation) {
    return operation.kind == OperationKind::View || operation.kind == OperationKind::Transpose ||
           operation.kind == OperationKind::Expand;
  });
  users = usersOf(operations, views);
  for (Repeat &repeat : findRepeats(graph, views, operations)) {
    bool isNamed = !repeat.isShared || !prefixOf(graph, operations, repeat).empty();
    if (isNamed && !graph[repeat.taken].isWeight() && axes.makeSame(repeat.taken, repeat.given))
      repeats.push_back(repeat);
  }
  for (int output : graph.outputs)
    axes.nameResults(output);
  axes.merge(operations);
  for (const Operation &operation : operations)
    if (operation.isCached && cachedKeys.empty()) {
      AxisList along = axes.own(operation, 0);
      cachedAxis = along.size() == 1 ? along[0] : -1;
      cachedKeys = names.dim("S");
    }
}

void GraphWriter::writeLayers(const Repeat &repeat, SpecScope &entry) {
  SpecScope block;
  block.layers = &repeat;
  block.prefix = prefixOf(graph, operations, repeat);
  Written taken = flat(repeat.taken, entry);
  std::string parameters, arguments = taken.formula.text, x = block.names.fresh("x");
  parameters = x + ": " + typeOf(taken.axes);
  Written inside = taken;
  inside.formula = {x, Formula::Primary};
  block.values[repeat.taken] = inside;
  for (int outer : repeat.outer) {
    Written value = valueOf(outer, entry);
    if (!all_of(value.formula.text, [](char c) { return isAlnum(c) || c == '_' || c == '.'; })) {
      let(outer, value, "m", entry);
      value = valueOf(outer, entry);
    }
    StringRef last = StringRef(value.formula.text).rsplit('.').second;
    std::string name = block.names.fresh(last.empty() ? StringRef(value.formula.text) : last);
    StringRef dtype = dtypeOf(graph[outer].type);
    parameters += ", " + name + ": " + (dtype == "f32" || dtype.empty() ? "" : dtype.str()) +
                  typeOf(value.axes);
    arguments += ", " + value.formula.text;
    value.formula = {name, Formula::Primary};
    block.values[outer] = value;
  }
  size_t outside = caches.size();
  writeRange(repeat.first, repeat.first + repeat.period, block);
  std::string given = arranged(valueOf(repeat.given, block), taken.axes);
  std::string name = names.fresh("Layer"), layers = std::to_string(repeat.count), path = "layers",
              binding;
  StringRef prefix = block.prefix;
  if (prefix.empty())
    binding = " = \"{n}\"";
  else if (repeat.isShared)
    binding = " = \"" + prefix.drop_back().str() + "\"";
  else
    path = prefix.drop_back(5).str();
  std::string wanted = path;
  path = entry.names.fresh(wanted);
  if (path != wanted && binding.empty())
    binding = " = \"" + prefix.drop_back().str() + "\"";
  entry.declarations.push_back(
      {"stack", path, layers + " of " + (repeat.isShared ? "shared " : "") + name + binding, true});
  for (const std::string &cache : ArrayRef(caches).drop_front(outside)) {
    parameters += ", " + cache + ": cache";
    arguments += ", " + cache;
  }
  std::string counted;
  if (!cachedKeys.empty() && is_contained(taken.all(), cachedAxis))
    counted = "[" + axisName(cachedAxis) + "]";
  blocks += "\nblock " + name + counted + "(" + parameters + ") -> " + typeOf(taken.axes) + " {\n" +
            declarationsText(block) + block.body + "return " + given + "\n}\n";
  Written result = taken;
  result.formula = {path + "(" + arguments + ")", Formula::Primary};
  settle(repeat.result, std::move(result), "y", entry);
  for (size_t i = repeat.first; i < repeat.first + repeat.count * repeat.period; ++i) {
    for (int weight : weightsOf(operations[i]))
      bound.insert(weight);
    for (int input : operations[i].inputs)
      if (graph[input].isWeight())
        bound.insert(input);
  }
}

void GraphWriter::writeRange(size_t begin, size_t end, SpecScope &scope) {
  for (size_t i = begin; i < end; ++i) {
    const Repeat *layers = nullptr;
    for (const Repeat &repeat : repeats)
      if (!scope.layers && repeat.first == i)
        layers = &repeat;
    if (!layers) {
      writeOperation(operations[i], scope);
      continue;
    }
    writeLayers(*layers, scope);
    i = layers->first + layers->period * layers->count - 1;
  }
}

//===-- the model ---------------------------------------------------------------------------===//

void GraphWriter::writeInputs(SpecScope &entry) {
  std::set<int> taken;
  for (const Operation &operation : operations)
    for (int value : takenBy(graph, views, operation))
      taken.insert(value);
  for (int output : graph.outputs)
    taken.insert(views.rootOf(output));
  for (int input : graph.inputs) {
    if (!taken.count(input))
      continue;
    const GraphValue &value = graph[input];
    if (dtypeOf(value.type).empty() || value.sizes->empty()) {
      misfits.push_back({nullptr, "the input `" + shown(value.name) +
                                      "`, which has no axes or other elements than float32, "
                                      "float16, bfloat16, int32, int64 or bool"});
      continue;
    }
    Written written;
    for (size_t place = 0; place < value.sizes->size(); ++place)
      written.axes.push_back(axes.at(input, place));
    written.formula = {names.ofFile(value.name), Formula::Primary};
    entry.values[input] = written;
  }
}

/// The tokens that end a text, of those that there are scores for.
static std::string stopText(const Graph &graph) {
  std::string text;
  size_t count = 0;
  int64_t most = graph[graph.outputs.front()].sizes->back().whole();
  for (int64_t token : graph.file->stops)
    if (token >= 0 && token < most && ++count)
      text += (text.empty() ? "" : ", ") + std::to_string(token);
  return text.empty() ? "" : ", stop = " + (count > 1 ? "(" + text + ")" : text);
}

void GraphWriter::writeEntry(SpecScope &entry, raw_ostream &os) {
  std::string parameters, results, returned;
  for (int input : graph.inputs)
    if (auto found = entry.values.find(input); found != entry.values.end())
      parameters += (parameters.empty() ? "" : ", ") + found->second.formula.text + ": " +
                    dtypeOf(graph[input].type).str() + typeOf(found->second.axes);
  SpecNames own;
  bool givesScores = false;
  for (int output : graph.outputs) {
    SmallVector<AxisList, 4> places;
    for (size_t place = 0; place < graph[output].sizes->size(); ++place)
      places.push_back(axes.at(output, place));
    if (places.empty())
      places.emplace_back();
    StringRef dtype = dtypeOf(graph[output].type);
    givesScores = !caches.empty() && graph.outputs.size() == 1 && places.size() == 3 &&
                  isFloating(graph[output].type) && places[1] == AxisList{cachedAxis} &&
                  graph[output].sizes->back().isNumber() &&
                  StringRef(graph[output].name).contains("logits");
    if (givesScores) // tokens are chosen by f32
      dtype = "f32";
    results += (results.empty() ? "" : ", ") + own.ofFile(graph[output].name) + ": " +
               (dtype.empty() ? "f32" : dtype.str()) + typeOf(places);
    returned += (returned.empty() ? "" : ", ") + arranged(valueOf(output, entry), places);
  }
  std::string counted = caches.empty() ? "" : "[" + axisName(cachedAxis) + "]";
  for (const std::string &cache : caches)
    parameters += (parameters.empty() ? "" : ", ") + cache + ": cache";
  os << (givesScores ? "\nforward" : "\nentry " + names.fresh("infer")) << counted << '('
     << parameters << ") -> " << results << " {\n"
     << entry.body << "return " << returned << "\n}\n";
  if (givesScores)
    os << "entry prefill = forward last " << axisName(cachedAxis) << "\nentry decode = forward["
       << axisName(cachedAxis) << ": 1] last " << axisName(cachedAxis)
       << "\nentry generate = unfold(prefill, decode, limit = "
       << std::clamp<int64_t>(graph.file->capacity / 2, 1, 256) << stopText(graph) << ")\n";
}

/// What sizes are for, in the order in which they are listed.
static StringRef meaningOf(StringRef hint) {
  return StringSwitch<StringRef>(hint)
      .Case("B", "batch")
      .Case("T", "positions")
      .Case("S", "positions of keys")
      .Case("D", "width")
      .Case("M", "rows")
      .Case("H", "heads")
      .Case("G", "heads of keys")
      .Case("E", "features of a head")
      .Case("F", "feed-forward")
      .Case("V", "tokens")
      .Case("L", "rows of positions")
      .Case("K", "results")
      .Case("N", "positions with those that are put in front")
      .Case("C", "channels")
      .Case("P", "height of a patch")
      .Case("Q", "width of a patch")
      .Case("Y", "rows of the grid")
      .Case("X", "columns of the grid")
      .Default("");
}

std::string GraphWriter::dims() {
  std::string fixed, open, keys, roles;
  auto boundOf = [&](int axis) -> std::string {
    for (const auto &[along, most] : bounds)
      if (axes.resolve(along) == AxisList{axis})
        return std::to_string(most);
    return axes.hint(axis) == "B" ? "64" : "512";
  };
  std::set<std::string> told;
  for (size_t i = 0; i < axisOrder.size(); ++i) {
    int axis = axisOrder[i];
    std::string name = axisName(axis);
    const Quantity &size = axes.size(axis);
    if (!caches.empty() && axis == cachedAxis)
      continue; // each call has its own
    if (int queries = axes.queriesOf(axis); queries >= 0) {
      keys += (keys.empty() ? "" : ", ") + name + " = " + axisName(queries);
      continue;
    }
    if (!size.isNumber()) {
      open += (open.empty() ? "" : ", ") + name + " <= " + boundOf(axis);
      continue;
    }
    fixed += (fixed.empty() ? "" : ", ") + name + " = " + std::to_string(size.whole());
    StringRef role = meaningOf(axes.hint(axis));
    if (!role.empty() && told.insert(role.str()).second)
      roles += (roles.empty() ? "" : ", ") + name + " " + role.str();
  }
  std::string text;
  if (!fixed.empty())
    text += (roles.empty() ? "" : "// " + roles + "\n") + "dim " + fixed + "\n";
  if (!open.empty())
    text += "dyn " + open + "\n";
  if (!keys.empty())
    text += "dim " + keys + "\n";
  return text;
}

/// Tensors of the file that nothing is bound to.
static std::string ignored(const Graph &graph, const std::set<int> &bound) {
  std::vector<std::string> patterns;
  for (size_t value = 0; value < graph.values.size(); ++value) {
    const GraphValue &of = graph.values[value];
    bool isFloat = of.type == OnnxType::F32 || of.type == OnnxType::F16 ||
                   of.type == OnnxType::BF16 || of.type == OnnxType::F64;
    if (!of.tensor || of.node >= 0 || !isFloat || of.sizes->empty() ||
        bound.count(static_cast<int>(value)))
      continue;
    std::string pattern;
    for (char c : of.name)
      if (!isDigit(c))
        pattern += c;
      else if (!StringRef(pattern).ends_with("*"))
        pattern += '*';
    if (!is_contained(patterns, pattern))
      patterns.push_back(pattern);
  }
  std::string text;
  for (const std::string &pattern : patterns)
    text += (text.empty() ? "ignore " : ", ") + std::string("\"") + pattern + "\"";
  return text.empty() ? "" : text + "  // numbers that stand in the spec, or that nothing uses\n";
}

std::string GraphWriter::write(StringRef weights) {
  findLayers();
  // What exporters call every graph says nothing.
  bool isNamed =
      !is_contained(ArrayRef<StringRef>({"", "main_graph", "torch_jit", "torch-jit-export"}),
                    StringRef(graph.file->name));
  std::string model = names.ofFile(isNamed ? graph.file->name : "Model");
  if (!isPath(model))
    model = names.fresh("Model");
  SpecScope entry;
  writeInputs(entry);
  entry.names = names;
  writeRange(0, operations.size(), entry);
  for (int value : bound)
    if (value >= 0 && graph[value].tensor && graph[value].tensor->isInBranch)
      misfits.push_back({nullptr, "the weight `" + shown(graph[value].name) +
                                      "` stands inside of a branch of an `If`"});
  std::string entryText;
  raw_string_ostream os(entryText);
  writeEntry(entry, os);
  std::string text = "attn 1\n// `" + shown(graph.file->name) + "`, a graph of the ONNX opset " +
                     std::to_string(graph.opset) + ".\n";
  if (!caches.empty())
    text += "// The cache is in the place of past and present keys and values" +
            (graph.file->assumed.empty() ? "" : ": " + join(graph.file->assumed, ", ")) + ".\n";
  text += "model " + model + " {\n";
  if (!weights.empty())
    text += "weights " + quoted(weights) + "\n";
  std::string declarations = declarationsText(entry);
  text += dims();
  if (!caches.empty()) {
    int64_t most = graph.file->capacity;
    for (const auto &[along, rows] : bounds)
      if (axes.resolve(along) == AxisList{cachedAxis})
        most = std::min(most, rows);
    ListSeparator separator;
    text += "cache ";
    for (const std::string &cache : caches)
      text += std::string(StringRef(separator)) + cache + " capacity " + std::to_string(most);
    text += "\n";
  }
  text += "\n" + declarations + ignored(graph, bound);
  for (const auto &[formula, name] : scores)
    text.append("score ").append(name).append("(q, k) = ").append(formula).append("\n");
  return text + blocks + entryText + "}\n";
}

} // namespace attn::importer
