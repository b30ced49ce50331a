// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An OnnxAttention to the text of a spec: dims, the entry, its body. SpecHooks.cpp writes the
// hooks.
#include "compiler/import/onnx/attention/SpecWriter.h"

#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace attn::importer {

const std::string &SpecWriter::nameOf(AttentionInput input) const {
  return inputNames.find(attention.inputs[input]->name)->second;
}

bool SpecWriter::shares(AttentionInput a, AttentionInput b) const {
  return attention.inputs[a]->name == attention.inputs[b]->name;
}

static StringRef dtype(OnnxType type) {
  switch (type) {
  case OnnxType::F16:
    return "f16";
  case OnnxType::BF16:
    return "bf16";
  case OnnxType::I64:
    return "i64";
  case OnnxType::Bool:
    return "bool";
  default:
    return "f32";
  }
}

std::string SpecWriter::typeOf(OnnxType type, const Shape &shape) const {
  return (dtype(type) + "[" + join(shape, ", ") + "]").str();
}

void SpecWriter::chooseNames() {
  for (const OnnxOperand &parameter : attention.parameters)
    inputNames[parameter.name] = names.ofFile(parameter.name);
  batch = names.dim("B");
  heads = names.dim("H");
  groups = attention.groups == attention.heads ? heads : names.dim("G");
  queries = names.dim("T");
  keys = names.dim("S");
  past = attention.past ? names.dim("P") : "";
  fresh = attention.past ? names.dim("N") : keys;
  features = names.dim("E");
  bool isOneWidth = attention.features == attention.valueFeatures;
  valueFeatures = isOneWidth && shares(K, V) ? features : names.dim("F");
  if (attention.maskedKeys() < attention.allKeys())
    masked = names.dim("M");
  chooseMaskShape();
}

/// The mask's axes, of which each has the operator's size or one element.
void SpecWriter::chooseMaskShape() {
  if (!attention.has(Mask))
    return;
  const std::string *dims[] = {&batch, &heads, &queries, masked.empty() ? &keys : &masked};
  int64_t sizes[] = {attention.batch, attention.heads, attention.queries, attention.maskedKeys()};
  ArrayRef<int64_t> shape = attention.inputs[Mask]->shape;
  for (auto [i, size] : enumerate(shape)) {
    size_t axis = 4 - shape.size() + i;
    // A tensor has an axis once: the second of one element needs a name.
    if (size == sizes[axis])
      maskShape.push_back(*dims[axis]);
    else if (!is_contained(maskShape, "1"))
      maskShape.push_back("1");
    else
      maskShape.push_back(ones.emplace_back(names.dim("U")));
  }
}

void SpecWriter::writeDims() {
  auto dim = [](const std::string &name, int64_t size) {
    return name + " = " + std::to_string(size);
  };
  os << "  dim " << dim(batch, attention.batch) << ", " << dim(heads, attention.heads);
  if (groups != heads)
    os << ", " << dim(groups, attention.groups) << "  // batch, heads of queries, of keys\n";
  else
    os << "  // batch, heads\n";
  os << "  dim " << dim(queries, attention.queries) << ", ";
  if (attention.past)
    os << dim(past, attention.past) << ", " << dim(fresh, attention.keys) << ", " << keys << " = "
       << past << " + " << fresh << "  // queries, past keys, new keys, all keys\n";
  else
    os << dim(keys, attention.keys) << "  // queries, keys\n";
  if (!masked.empty())
    os << "  dim " << dim(masked, attention.maskedKeys()) << "  // keys that the mask covers\n";
  for (const std::string &one : ones)
    os << "  dim " << dim(one, 1) << "  // the mask is the same all along this axis\n";
  os << "  dim " << dim(features, attention.features);
  if (valueFeatures != features)
    os << ", " << dim(valueFeatures, attention.valueFeatures)
       << "  // features of queries and keys, of values\n";
  else
    os << "  // features\n";
}

SpecWriter::Shape SpecWriter::shapeOf(AttentionInput input) const {
  const std::string &width = input == V || input == PastValue ? valueFeatures : features,
                    &count = input == Q ? heads : groups, &length = input == Q ? queries : fresh;
  switch (input) {
  case Mask:
    return maskShape;
  case Lengths:
    return {batch};
  case PastKey:
  case PastValue:
    return {batch, groups, past, width};
  default:
    return attention.isFlat ? Shape{batch, length, count + "*" + width}
                            : Shape{batch, count, length, width};
  }
}

//===-- the entry ---------------------------------------------------------------------------===//

std::string SpecWriter::relabelled(AttentionInput input) const {
  AttentionInput first = shares(Q, input) ? Q : input == V && shares(K, V) ? K : input;
  std::string value = nameOf(input);
  Shape before = shapeOf(first), after = shapeOf(input);
  for (auto [from, to] : zip(before, after))
    if (from != to && !StringRef(from).contains('*')) // `split` names the parts of joined features
      value = formatv("relabel({0}, {1} = {2})", value, from, to);
  return value;
}

std::string SpecWriter::perHead(AttentionInput input) const {
  std::string value = relabelled(input);
  if (!attention.isFlat)
    return value;
  std::string b = StringRef(batch).lower(), t = StringRef(input == Q ? queries : fresh).lower(),
              h = StringRef(input == Q ? heads : groups).lower(),
              e = StringRef(input == V ? valueFeatures : features).lower();
  return "split(" + value + ", \"" + b + " " + t + " (" + h + " " + e + ") -> " + b + " " + h +
         " " + t + " " + e + "\")";
}

void SpecWriter::writeAttend(StringRef result, ArrayRef<std::string> values,
                             ArrayRef<std::string> lines) {
  os << "    let " << result << " = attend " << values[Q] << " over " << values[K] << ", "
     << values[V] << " along " << keys;
  if (groups != heads)
    os << " group " << heads << " by " << groups;
  os << " {\n      " << join(lines, "\n      ") << "\n    }\n";
}

void SpecWriter::writeBody() {
  SmallVector<std::string> values;
  for (AttentionInput input : {Q, K, V}) {
    std::string value = perHead(input);
    if (attention.past && input != Q)
      value = formatv("pack({0}, {1}, {2})", keys, nameOf(input == K ? PastKey : PastValue), value);
    if (value != nameOf(input)) {
      static constexpr StringRef letters[] = {"q", "k", "v"};
      std::string name = names.fresh(letters[input]);
      os << "    let " << name << " = " << value << '\n';
      value = name;
    }
    values.push_back(value);
  }
  std::string y = names.fresh("y"), scores = attention.returns(Scores) ? names.fresh("scores") : "";
  bool isOne = scores.empty() || needsRawScores();
  writeAttend(isOne ? y : y + ", " + scores, values, attendLines());
  if (needsRawScores())
    writeAttend(scores, values, {"score " + rawScore, "return scores(raw)"});
  std::string ofOutput[] = {y, values[K], values[V], scores};
  if (attention.isFlat) {
    std::string b = StringRef(batch).lower(), h = StringRef(heads).lower(),
                t = StringRef(queries).lower(), f = StringRef(valueFeatures).lower();
    ofOutput[Y] = "split(" + y + ", \"" + b + " " + h + " " + t + " " + f + " -> " + b + " " + t +
                  " (" + h + " " + f + ")\")";
  }
  os << "    return ";
  ListSeparator separator;
  for (const OnnxResult &result : attention.results)
    os << separator << ofOutput[result.output];
  os << '\n';
}

void SpecWriter::writeEntry() {
  os << "  entry attention(";
  ListSeparator separator;
  for (const OnnxOperand &parameter : attention.parameters) {
    auto same = [&](const auto &operand) { return operand && operand->name == parameter.name; };
    auto input = static_cast<AttentionInput>(find_if(attention.inputs, same) - attention.inputs);
    os << separator << nameOf(input) << ": " << typeOf(parameter.type, shapeOf(input));
  }
  os << ") -> ";
  Shape shapes[] = {attention.isFlat ? Shape{batch, queries, heads + "*" + valueFeatures}
                                     : Shape{batch, heads, queries, valueFeatures},
                    {batch, groups, keys, features},
                    {batch, groups, keys, valueFeatures},
                    {batch, heads, queries, keys}};
  static constexpr AttentionInput typeFrom[] = {Q, K, V, Q};
  SpecNames resultNames;
  ListSeparator next;
  for (const OnnxResult &result : attention.results)
    os << next << resultNames.ofFile(result.name) << ": "
       << typeOf(attention.inputs[typeFrom[result.output]]->type, shapes[result.output]);
  os << " {\n";
  writeBody();
  os << "  }\n";
}

std::string SpecWriter::write() {
  chooseNames();
  os << "attn 1\n\n// `Attention` of the ONNX opset " << attention.opset << ".\n";
  if (static_cast<OnnxType>(attention.precision) == OnnxType::F64)
    os << "// The model asks for a softmax in float64; Attn computes it in float32.\n";
  StringRef name = attention.graphName.empty() ? "Attention" : StringRef(attention.graphName);
  os << "model " << SpecNames().ofFile(name) << " {\n";
  writeDims();
  os << '\n';
  size_t before = text.size();
  writeScores();
  writeMaskTensor();
  writeLengths();
  writeDropped();
  if (text.size() != before)
    os << '\n';
  writeEntry();
  os << "}\n";
  // The one formatting, by the language's own parser and formatter.
  frontend::SourceFile source("<import>", text);
  frontend::DiagnosticEngine diagnostics(source);
  auto file = frontend::parse(source, diagnostics);
  return diagnostics.hasErrors() ? text : frontend::format(*file, source);
}

std::string writeSpec(const OnnxAttention &attention) { return SpecWriter(attention).write(); }

} // namespace attn::importer
