// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders in Llama's form, and encoders of texts made of them. What differs between families is a
// table here; what differs between models of one family stands in their config.json.
//
//   Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models"
//   Jiang et al. 2023, "Mistral 7B"
//   Yang et al. 2024, "Qwen2 Technical Report"; Yang et al. 2025, "Qwen3 Technical Report"
//   Gemma Team 2024, "Gemma", "Gemma 2"; 2025, "Gemma 3"
//   Abdin et al. 2024, "Phi-3 Technical Report"
//   Jiang et al. 2024, "Mixtral of Experts"
//   OpenAI 2025, "gpt-oss-120b & gpt-oss-20b Model Card"
#include "compiler/import/checkpoint/families/llama/Llama.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

constexpr LlamaExperts mixtralExperts = {"block_sparse_moe",  "w1", "w3", "w2", "num_local_experts",
                                         "intermediate_size", true};
constexpr LlamaExperts qwenExperts = {
    "mlp", "gate_proj", "up_proj", "down_proj", "num_experts", "moe_intermediate_size", false};
constexpr LlamaExperts ossExperts = {
    "mlp", "gate", "up",    "down_proj", "num_local_experts", "intermediate_size",
    true,  true,   "router"};

constexpr unsigned gemmaTraits = OnePlusNorms | ScaledTokens | Tied | BiasIfAsked,
                   qwenWindow = WindowIfAsked | TypedLayers | LastWindowed;
// Behind the traits: the activation, one layer of how many sees all, experts, the base of angles,
// eps, features of a head, the window, what caps scores of keys and of tokens, and heads of keys.
constexpr LlamaKind kinds[] = {
    {"llama", BiasIfAsked | MlpBiasIfAsked},
    {"mistral", 0, "silu", 0, nullptr, 10000, 1e-6, 0, 4096, 0, 0, 8},
    {"qwen2", InputBias | qwenWindow, "silu", 0, nullptr, 10000, 1e-6, 0, 4096, 0, 0, 32},
    {"qwen3", HeadNorms | qwenWindow | BiasIfAsked, "silu", 0, nullptr, 10000, 1e-6, 128, 4096, 0,
     0, 32},
    {"gemma", gemmaTraits, "gelu_pytorch_tanh", 0, nullptr, 10000, 1e-6, 256, 0, 0, 0, 16},
    {"gemma2", gemmaTraits | FourNorms | QueryScalar | TypedLayers, "gelu_pytorch_tanh", 2, nullptr,
     10000, 1e-6, 256, 4096, 50, 30, 4},
    {"gemma3_text", gemmaTraits | FourNorms | QueryScalar | HeadNorms | LocalBase | TypedLayers,
     "gelu_pytorch_tanh", 6, nullptr, 1000000, 1e-6, 256, 4096, 0, 0, 4},
    {"phi3", Packed | PartsOfHeads | YarnIsLongRope | OptionalWindow, "silu", 0, nullptr, 10000,
     1e-5},
    {"mixtral", OptionalWindow, "silu", 0, &mixtralExperts, 1000000, 1e-5, 0, 0, 0, 0, 8},
    {"qwen3_moe", HeadNorms | WindowIfAsked | BiasIfAsked, "silu", 0, &qwenExperts, 10000, 1e-6, 0,
     4096, 0, 0, 4},
    {"gpt_oss", Sinks | TypedLayers | BiasIfAsked, "silu", 2, &ossExperts, 150000, 1e-5, 64, 128, 0,
     0, 8},
};

void LlamaWriter::writeDims() {
  os << "model " << writer.model << " {\ndim D = " << width << ", H = " << heads;
  if (groups != heads)
    os << ", G = " << groups;
  os << ", E = " << features << ", L = " << layers << ", F = " << hidden << ", V = " << tokens
     << "  // width, heads, " << (groups != heads ? "heads of keys, " : "")
     << "features of a head, layers, feed-forward, tokens\n";
  if (experts)
    os << "dim X = " << experts << ", A = " << chosen << "  // experts, those of a row\n";
  int64_t shortLength = std::max(rotation.shortLength, windowed.shortLength);
  if (shortLength)
    os << "dim C = " << capacity << "  // positions; angles change where these are more than "
       << shortLength << '\n';
  std::string most = shortLength ? "C" : std::to_string(capacity);
  if (isEncoder)
    os << "dyn B <= 64, T <= " << most << "\n\n";
  else
    os << "dyn B <= 8\ncache kv capacity " << most << "\n\n";
}

void LlamaWriter::writeIgnored() {
  if (writer.folder.has("lm_head.weight") && (!hasHead || isTied))
    os << "ignore \"lm_head.weight\"  // "
       << (hasHead ? "the same numbers as the embedding\n" : "no result needs it\n");
  if (!writer.folder.ropeFactors.empty())
    os << "ignore \"rope_freqs.weight\"  // computed here\n";
  if (writer.ofLlamaCpp() && rotation.shortLength)
    os << "ignore \"rope_factors_*.weight\"  // computed here\n";
  if (llvm::any_of(writer.folder.shapes, [](const auto &tensor) {
        return StringRef(tensor.first).ends_with(".rotary_emb.inv_freq");
      }))
    os << "ignore \"*.rotary_emb.inv_freq\"  // computed here\n";
}

void LlamaWriter::writeModel() {
  writeDims();
  os << "embedding " << prefix << "embed_tokens: V -> D\nstack " << prefix << "layers: L of Layer"
     << layerArguments() << '\n'
     << norms(prefix + "norm", "D");
  if (hasHead)
    os << "linear lm_head: D -> V" << (isTied ? " = tied(" + prefix + "embed_tokens)" : "") << '\n';
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
  if (!lastCap)
    return ("return lm_head(" + states + ")\n").str();
  return ("let scores = lm_head(" + states + ")\nreturn " + numberText(lastCap) +
          " * tanh(scores / " + numberText(lastCap) + ")\n")
      .str();
}

void LlamaWriter::writeEntries() {
  std::string inputs = prefix + "embed_tokens(ids)";
  if (is(ScaledTokens))
    inputs += " * " + numberText(std::sqrt(double(width)));
  if (isEncoder)
    return writeEncoderEntries(prefix + "norm(" + prefix + "layers(" + inputs +
                               (seesBothWays ? ", lengths))" : "))"));
  std::string result = prefix + "norm(" + prefix + "layers(" + inputs + ", kv))";
  os << "forward[T](ids: i32[B, T], kv: cache) -> [B, T, " << (hasHead ? "V" : "D") << "] ";
  if (!hasHead) {
    os << "= " << result << "\nentry encode = forward\n}\n";
    return;
  }
  if (lastCap)
    os << "{\n" << scoresOf(result) << "}\n";
  else
    os << "= lm_head(" << result << ")\n";
  writeGeneration(writer, capacity);
  os << "}\n";
}

void LlamaWriter::writeEncoderEntries(StringRef states) {
  StringRef inputs = seesBothWays ? "(ids: i32[B, T], lengths: i32[B])" : "(ids: i32[B, T])";
  if (hasHead)
    os << "entry fill" << inputs << " -> scores: [B, T, V] {\n" << scoresOf(states) << "}\n";
  os << "entry encode" << inputs << " -> [B, T, D] {\nreturn " << states << "\n}\n";
  if (writer.folder.isSentence())
    os << "entry embed(ids: i32[B, T], lengths: i32[B]) -> embedding: [B, " << sentence.axis
       << "] {\nlet y = " << states << '\n'
       << sentence.body << "}\n";
  os << "}\n";
}

void LlamaWriter::write() {
  if (writer.task != "ForCausalLM" && !writer.task.empty())
    config.refuse("architectures", "a model `…ForCausalLM`, or one without a head");
  prefix = writer.folder.has("model.embed_tokens.weight") ? "model." : "";
  hasHead = writer.task == "ForCausalLM" && !writer.folder.isSentence();
  readSizes();
  readDirections();
  if (writer.folder.isSentence()) {
    sentence = readSentence(writer, width);
    notePrompts(writer);
  }
  readExperts();
  readLayers();
  readRotations();
  chooseCapacity();
  writeModel();
}

static void writeLlama(FamilyWriter &writer) {
  const LlamaKind *kind =
      llvm::find_if(kinds, [&](const LlamaKind &one) { return one.type == writer.type; });
  LlamaWriter(writer, *kind).write();
}

const Family familyLlama = {
    "llama mistral qwen2 qwen3 gemma gemma2 gemma3_text phi3 mixtral qwen3_moe gpt_oss",
    writeLlama};

} // namespace attn::importer
