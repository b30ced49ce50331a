// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores, biases and masks of an imported attention. The operator's order is scale, softcap, bias
// and mask, softmax; that of `attend` is score, bias, cap, mask, softmax.
#include "compiler/import/onnx/attention/SpecWriter.h"

#include "llvm/ADT/StringExtras.h"
#include <charconv>

using namespace llvm;

namespace attn::importer {

/// The shortest text that reads as this number.
static std::string number(float value) {
  char digits[32];
  return std::string(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
}

bool SpecWriter::dropsInScores() const {
  return attention.returns(Scores) && attention.mode == ScoresMode::Masked &&
         attention.dropsPairs();
}

bool SpecWriter::capsInScore() const {
  return attention.softcap > 0 && (attention.hasBias() || dropsInScores());
}

bool SpecWriter::needsRawScores() const {
  return attention.returns(Scores) && attention.mode == ScoresMode::Raw && capsInScore();
}

void SpecWriter::writeScores() {
  score = rawScore = "scaled_dot";
  std::string scaled = "dot(q, k) * rsqrt(dim(q))", cap = number(attention.softcap);
  if (attention.scale) {
    scaled = number(*attention.scale) + " * dot(q, k)";
    rawScore = score = names.fresh("scaled");
    if (!capsInScore() || needsRawScores())
      os << "  score " << score << "(q, k) = " << scaled << '\n';
  }
  if (capsInScore()) {
    score = names.fresh("capped");
    os << "  score " << score << "(q, k) = " << cap << " * tanh(" << scaled << " / " << cap
       << ")\n";
  }
}

/// The mask that is given, as a bias or as a mask. Axes of one element are read at 0; keys after
/// the last of a short one are dropped by the line, and read anything.
void SpecWriter::writeMaskTensor() {
  if (!attention.has(Mask))
    return;
  std::string b = StringRef(batch).lower(), h = StringRef(heads).lower();
  struct {
    std::string dim, position, row;
  } axes[] = {{batch, b, b},
              {heads, h, h},
              {queries, "i", "i.row"},
              {keys, "j", "j.row"},
              {masked, "j", "min(j.row, " + masked + " - 1)"}};
  SmallVector<std::string> positions, indices;
  for (const std::string &name : maskShape) {
    auto *axis = find_if(axes, [&](const auto &known) { return known.dim == name; });
    indices.push_back(axis == std::end(axes) ? "0" : axis->row);
    if (axis != std::end(axes))
      positions.push_back(axis->position);
  }
  bool isBias = attention.hasBias();
  std::string &hook = isBias ? bias : allowed;
  hook = names.fresh(isBias ? "given" : "allowed");
  std::string type = typeOf(attention.inputs[Mask]->type, maskShape),
              element = nameOf(Mask) + "[" + join(indices, ", ") + "]";
  os << (isBias ? "  bias " : "  mask ") << hook << '(' << join(positions, ", ") << ") with input "
     << nameOf(Mask) << ": " << type << " = " << element << '\n';
  if (!isBias)
    tensorTerms.push_back({element, nameOf(Mask) + ": " + type});
}

/// What a window and `causal` keep of a query at the position `at` among the keys.
static void addWindow(const OnnxAttention &attention, const std::string &at,
                      SmallVectorImpl<std::string> &terms) {
  if (attention.isCausal)
    terms.push_back("j <= " + at);
  if (attention.left >= 0)
    terms.push_back(at + " - " + std::to_string(attention.left) + " <= j");
  if (attention.right >= 0)
    terms.push_back("j <= " + at + " + " + std::to_string(attention.right));
}

/// With a number of keys for each of the batch, the last query stands at the last of them.
void SpecWriter::writeLengths() {
  if (!attention.has(Lengths))
    return;
  std::string count = nameOf(Lengths) + "[" + StringRef(batch).lower() + "]";
  SmallVector<std::string> terms = {"j < " + count};
  addWindow(attention, "i + " + count + " - " + queries, terms);
  valid = names.fresh("valid");
  os << "  mask " << valid << '(' << StringRef(batch).lower() << (terms.size() > 1 ? ", i" : "")
     << ", j) with input " << nameOf(Lengths) << ": " << typeOf(OnnxType::I64, {batch}) << " = "
     << join(terms, " and ") << '\n';
  tensorTerms.push_back(
      {join(terms, " and "), nameOf(Lengths) + ": " + typeOf(OnnxType::I64, {batch})});
}

/// A bias of -inf for what the mask drops: the scores that are returned show no mask.
void SpecWriter::writeDropped() {
  if (!dropsInScores())
    return;
  SmallVector<std::string> terms, inputs;
  for (const auto &[term, input] : tensorTerms) {
    terms.push_back(term);
    inputs.push_back("input " + input);
  }
  if (!masked.empty())
    terms.push_back("j < " + masked);
  if (valid.empty())
    addWindow(attention, past.empty() ? "i" : "i + " + past, terms);
  dropped = names.fresh("dropped");
  os << "  bias " << dropped << '(' << StringRef(batch).lower() << ", " << StringRef(heads).lower()
     << ", i, j)" << (inputs.empty() ? "" : " with ") << join(inputs, ", ") << " = if "
     << join(terms, " and ") << " then 0 else -inf\n";
}

std::string SpecWriter::maskLine() const {
  SmallVector<std::string> terms;
  if (!allowed.empty())
    terms.push_back(allowed);
  if (!masked.empty())
    terms.push_back("j < " + masked);
  if (!valid.empty())
    terms.push_back(valid);
  else if (!past.empty())
    addWindow(attention, "i + " + past, terms);
  else if (attention.isCausal && attention.left < 0 && attention.right < 0)
    terms.push_back("causal");
  else if (!attention.isCausal && attention.left >= 0 && attention.right >= 0)
    terms.push_back("window(" + std::to_string(attention.left) + ", " +
                    std::to_string(attention.right) + ")");
  else if (attention.isCausal && attention.left >= 0 && attention.right < 0)
    terms.push_back("window(" + std::to_string(attention.left) + ", 0)");
  else
    addWindow(attention, "i", terms);
  return join(terms, " and ");
}

std::string SpecWriter::biasLine() const {
  return bias.empty() ? dropped : dropped.empty() ? bias : bias + " + " + dropped;
}

std::string SpecWriter::returnLine() const {
  if (!attention.returns(Scores) || needsRawScores())
    return "";
  bool capsInLine = attention.softcap > 0 && !capsInScore();
  switch (attention.mode) {
  case ScoresMode::Weights:
    return "out, weights";
  case ScoresMode::Masked:
    if (attention.hasBias() || dropsInScores())
      return "out, scores(biased)";
    [[fallthrough]];
  case ScoresMode::Capped:
    if (capsInLine)
      return "out, scores(capped)";
    [[fallthrough]];
  case ScoresMode::Raw:
    return "out, scores(raw)";
  }
  llvm_unreachable("a mode");
}

SmallVector<std::string> SpecWriter::attendLines() const {
  SmallVector<std::string> lines = {"score " + score};
  auto add = [&](StringRef keyword, const std::string &line) {
    if (!line.empty())
      lines.push_back(keyword.str() + " " + line);
  };
  add("bias", biasLine());
  add("cap", attention.softcap > 0 && !capsInScore() ? number(attention.softcap) : "");
  add("mask", maskLine());
  add("return", returnLine());
  return lines;
}

} // namespace attn::importer
