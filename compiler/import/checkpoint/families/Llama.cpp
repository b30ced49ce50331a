// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders in Llama's form, and encoders of texts made of them: the model around the layers. What
// differs between families is a table in ../LlamaKinds.cpp; what differs between models of one
// family stands in their config.json.
#include "compiler/import/checkpoint/families/llama/Llama.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

void LlamaWriter::writeDims() {
  os << "model " << writer.model << " {\ndim D = " << width << ", H = " << heads;
  if (groups != heads)
    os << ", G = " << groups;
  os << ", E = " << features << ", L = " << layers << ", F = " << hidden << ", V = " << tokens
     << "  // width, heads, " << (groups != heads ? "heads of keys, " : "")
     << (latent.ofKeys ? "features of a head that turn" : "features of a head")
     << ", layers, feed-forward, tokens\n";
  if (latent.ofKeys)
    writeLatentDims();
  if (isXielu)
    os << "dim N = 1\n"; // numbers that the activation has of each kind
  if (experts)
    os << "dim X = " << experts << ", A = " << chosen << "  // experts, those of a row\n";
  if (expertGroups > 1)
    os << "dim O = " << expertGroups << ", OX = X / O, OA = " << chosenGroups
       << (kind.experts->groupsByBest ? "" : ", OB = 2")
       << "  // groups of experts, their experts, those that count"
       << (kind.experts->groupsByBest ? "\n" : ", by their best two experts\n");
  if (sharedHidden)
    os << "dim I = " << sharedHidden << (kind.experts->isSharedWeighted ? ", U = 1" : "")
       << "  // feed-forward of the expert of all rows\n";
  if (latentWidth)
    os << "dim O = " << latentWidth << "  // what experts take\n";
  if (denseHidden)
    os << "dim Z = " << denseHidden << "  // feed-forward of layers without experts\n";
  int64_t shortLength = std::max(rotation.shortLength, windowed.shortLength);
  if (shortLength)
    os << "dim C = " << capacity << "  // positions; angles change where these are more than "
       << shortLength << '\n';
  std::string most = shortLength ? "C" : std::to_string(capacity);
  if (isEncoder)
    os << "dyn B <= 64, T <= " << most << "\n\n";
  else
    os << mixer.dims << "dyn B <= 32\ncache kv capacity " << most << '\n';
  if (hasStates())
    os << "state " << StringRef(mixer.results()).drop_front(2)
       << (isAttending.empty() ? "  // of each layer\n"
                               : "  // of each layer, those that attend leave theirs\n");
  if (!isEncoder)
    os << '\n';
  if (eyes)
    os << "dyn Rows <= 65536  // of all pictures\n";
  if (isPlaced())
    os << "dim AP = " << rotation.turned << " / 2, AK = 3  // pairs that turn, kinds of positions\n"
       << "table kind_of[p: AP] = " << eyes->kindOfPair << "  // by time, by row, by column\n"
       << "table speed[p: AP] = " << numberText(rotation.base) << " ** (-p / AP)\n";
  if (eyes && eyes->deep)
    os << "dim DR = " << eyes->deep << "  // layers that are given rows of their own\n";
}

void LlamaWriter::writeIgnored() {
  os << mixer.ignored;
  if (writer.folder.has("lm_head.weight") && (!hasHead || isTied))
    os << "ignore \"lm_head.weight\"  // "
       << (hasHead ? "the same numbers as the embedding\n" : "no result needs it\n");
  if (isXielu)
    os << "ignore \"*.act_fn.beta\", \"*.act_fn.eps\"  // constants of the activation\n";
  if (!writer.folder.ropeFactors.empty())
    os << "ignore \"rope_freqs.weight\"  // computed here\n";
  if (writer.ofLlamaCpp() && rotation.shortLength)
    os << "ignore \"rope_factors_*.weight\"  // computed here\n";
  auto hasTensor = [&](function_ref<bool(StringRef)> isIt) {
    return llvm::any_of(writer.folder.shapes,
                        [&](const auto &tensor) { return isIt(tensor.first); });
  };
  if (hasTensor([](StringRef name) { return name.starts_with("mtp."); }))
    os << "ignore \"mtp.*\"  // guesses tokens ahead, which changes no result\n";
  for (int64_t n = layers;; ++n) {
    std::string behind = prefix + "layers." + std::to_string(n) + ".";
    if (!hasTensor([&](StringRef name) { return name.starts_with(behind); }))
      break;
    os << "ignore \"" << behind << "*\"  // guesses tokens ahead, which changes no result\n";
  }
  if (hasTensor([](StringRef name) { return name.ends_with(".rotary_emb.inv_freq"); }))
    os << "ignore \"*.rotary_emb.inv_freq\"  // computed here\n";
}

void LlamaWriter::writeModel() {
  writeDims();
  os << "embedding " << prefix << "embed_tokens: V -> D\nstack " << prefix << "layers: L of Layer"
     << layerArguments() << '\n';
  os << norms.declared({lastNorm}, "D", eps);
  if (hasHead)
    os << "linear lm_head: D -> V" << (hasHeadBias ? " bias" : "")
       << (isTied ? " = tied(" + prefix + "embed_tokens)" : "") << '\n';
  writeIgnored();
  os << sentence.parameters;
  for (auto [own, dim] : {std::pair(&rotation, "R"), {&windowed, "W"}})
    if (own->turned != features && (own == &rotation || turnsByLayer()))
      os << "dim " << dim << " = " << own->turned << "  // features of a head that are turned\n";
  if (queryScale)
    os << "score scaled(q, k) = dot(q, k) * " << numberText(queryScale) << '\n';
  os << '\n';
  writeLayer();
  if (experts)
    writeExpert();
  writeEntries();
}

std::string LlamaWriter::scoresOf(StringRef states) const {
  std::string scores = ("lm_head(" + states + ")").str(), more = mixer.names("next_") + "\n";
  if (lastScale != 1)
    scores += " * " + numberText(lastScale);
  if (!lastCap)
    return "return " + scores + more;
  return ("let scores = " + scores + "\nreturn " + numberText(lastCap) + " * tanh(scores / " +
          numberText(lastCap) + ")" + more);
}

void LlamaWriter::writeEntries() {
  if (eyes)
    return writePictureEntries();
  std::string made = prefix + "layers(" + embeddedTokens("ids") +
                     (!isEncoder     ? ", kv"
                      : seesBothWays ? ", lengths"
                                     : "") +
                     mixer.names() + ")";
  if (hasStates())
    return writeMixedEntries(made);
  std::string states = norms.of(lastNorm, made);
  if (isEncoder)
    return writeEncoderEntries(states);
  os << "forward[T](ids: i32[B, T], kv: cache) -> [B, T, " << (hasHead ? "V" : "D") << "] ";
  if (!hasHead) {
    os << "= " << states << "\nentry encode = forward\n}\n";
    return;
  }
  if (lastCap || lastScale != 1)
    os << "{\n" << scoresOf(states) << "}\n";
  else
    os << "= lm_head(" << states << ")\n";
  writeGeneration(writer, capacity);
  os << "}\n";
}

std::string LlamaWriter::embeddedTokens(StringRef ids) const {
  std::string made = (prefix + "embed_tokens(" + ids + ")").str();
  if (tokenScale != 1)
    made += " * " + numberText(tokenScale);
  return is(TokensNormed) ? norms.of(lastNorm, made) : made;
}

void LlamaWriter::writeMixedEntries(StringRef made) {
  os << "forward[T](ids: i32[B, T], kv: cache) -> "
     << (hasHead ? "scores: [B, T, V]" : "y: [B, T, D]") << mixer.results() << " {\nlet y"
     << mixer.names("next_") << " = " << made << '\n';
  std::string states = norms.of(lastNorm, "y");
  os << (hasHead ? scoresOf(states) : "return " + states + mixer.names("next_") + "\n") << "}\n";
  if (hasHead)
    writeGeneration(writer, capacity, Users::TakeTurns);
  else
    os << "entry encode = forward\n";
  os << "}\n";
}

void LlamaWriter::writeEncoderEntries(StringRef states) {
  StringRef inputs = seesBothWays ? "(ids: i32[B, T], lengths: i32[B])" : "(ids: i32[B, T])";
  if (hasHead)
    os << "entry fill" << inputs << " -> scores: [B, T, V] {\n" << scoresOf(states) << "}\n";
  os << "entry encode" << inputs << " -> [B, T, D] {\nreturn " << states << "\n}\n";
  if (writer.folder.isSentence())
    os << "entry embed(ids: i32[B, T], lengths: i32[B]) -> embedding: " << sentence.type()
       << " {\nlet y = " << states << '\n'
       << sentence.body << "}\n";
  os << "}\n";
}

void LlamaWriter::write() {
  read();
  writeModel();
}

static void writeLlama(FamilyWriter &writer) {
  const LlamaKind &kind = *llamaKind(writer.type);
  if (kind.names.empty() || writer.ofLlamaCpp()) // whose files have the same names for all
    return LlamaWriter(writer, kind).write();
  std::string text;
  raw_string_ostream os(text);
  FamilyWriter inner{writer.folder, writer.config,       os,          writer.type,
                     writer.model,  writer.architecture, writer.task, writer.within};
  LlamaWriter(inner, kind).write();
  TensorNames names;
  for (bool isThere : {true, false}) // of two names for one, that in the folder counts
    for (auto [ours, theirs] : kind.names)
      if (writer.folder.has((theirs + ".weight").str()) == isThere)
        names.push_back({ours.str(), theirs.str()});
  writer.os << renamed(text, names);
}

/// The types of the table.
static StringRef llamaTypes() {
  static const std::string types = [] {
    std::string text;
    for (const LlamaKind &kind : llamaKinds())
      text += (text.empty() ? "" : " ") + kind.type.str();
    return text;
  }();
  return types;
}

const Family familyLlama = {llamaTypes(), writeLlama};

} // namespace attn::importer
