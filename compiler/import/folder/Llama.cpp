// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders in Llama's form. What differs between them is a table here; what differs between models
// of one family stands in their config.json.
//
//   Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models"
//   Jiang et al. 2023, "Mistral 7B"
//   Yang et al. 2024, "Qwen2 Technical Report"; Yang et al. 2025, "Qwen3 Technical Report"
//   Gemma Team 2024, "Gemma", "Gemma 2"; 2025, "Gemma 3"
//   Abdin et al. 2024, "Phi-3 Technical Report"
//   Jiang et al. 2024, "Mixtral of Experts"
//   OpenAI 2025, "gpt-oss-120b & gpt-oss-20b Model Card"
#include "compiler/import/folder/Families.h"
#include "compiler/import/folder/Rope.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

namespace {

/// What a family does otherwise than Llama, added up.
enum Trait : unsigned {
  InputBias = 1 << 0,     ///< of queries, keys and values, whatever the config says
  HeadNorms = 1 << 1,     ///< an rms norm of each head's queries and keys
  OnePlusNorms = 1 << 2,  ///< norms multiply by 1 + weight
  ScaledTokens = 1 << 3,  ///< embeddings times the root of their width
  FourNorms = 1 << 4,     ///< behind attention and mlp, too
  Packed = 1 << 5,        ///< queries, keys and values in one tensor, gate and up in another
  Tied = 1 << 6,          ///< the embedding for the output, too, where the config does not say
  QueryScalar = 1 << 7,   ///< scores by query_pre_attn_scalar, not by the features of a head
  LocalBase = 1 << 8,     ///< layers with a window turn by a base of their own
  WindowIfAsked = 1 << 9, ///< a window only with use_sliding_window, from max_window_layers on
  Sinks = 1 << 10,        ///< a score for each head that no key has
};

/// What a mixture of experts is called in the tensors and in the config.
struct Experts {
  StringRef name, gate, up, down, countKey, hiddenKey;
  bool sharesSum;            ///< the weights of the chosen sum up to 1, whatever the config says
  bool isGptOss = false;     ///< gate and up in one tensor, row by row; both are clamped
  StringRef router = "gate"; ///< what scores them
};

constexpr Experts mixtralExperts = {"block_sparse_moe",  "w1", "w3", "w2", "num_local_experts",
                                    "intermediate_size", true};
constexpr Experts qwenExperts = {
    "mlp", "gate_proj", "up_proj", "down_proj", "num_experts", "moe_intermediate_size", false};

constexpr Experts ossExperts = {
    "mlp", "gate", "up",    "down_proj", "num_local_experts", "intermediate_size",
    true,  true,   "router"};

/// A family.
struct Kind {
  StringRef type;
  unsigned traits = 0;
  StringRef act = "silu"; ///< where the config does not say
  int64_t fullEvery = 0;  ///< each so many layers one without a window; 0: all layers are alike
  const Experts *experts = nullptr;
};

constexpr unsigned gemmaTraits = OnePlusNorms | ScaledTokens | Tied;
constexpr Kind kinds[] = {
    {"llama"},
    {"mistral"},
    {"qwen2", InputBias | WindowIfAsked},
    {"qwen3", HeadNorms | WindowIfAsked},
    {"gemma", gemmaTraits, "gelu_pytorch_tanh"},
    {"gemma2", gemmaTraits | FourNorms | QueryScalar, "gelu_pytorch_tanh", 2},
    {"gemma3_text", gemmaTraits | FourNorms | QueryScalar | HeadNorms | LocalBase,
     "gelu_pytorch_tanh", 6},
    {"phi3", Packed},
    {"mixtral", 0, "silu", 0, &mixtralExperts},
    {"qwen3_moe", HeadNorms | WindowIfAsked, "silu", 0, &qwenExperts},
    {"gpt_oss", Sinks, "silu", 2, &ossExperts},
};

/// Writes one decoder.
class LlamaWriter {
public:
  LlamaWriter(FamilyWriter &writer, const Kind &kind)
      : writer(writer), config(writer.config), os(writer.os), kind(kind) {}
  void write();

private:
  bool is(Trait trait) const { return kind.traits & trait; }
  void readSizes();
  /// Biases that are there though the config does not say so.
  void readGivenBiases();
  void readExperts();
  /// How many positions the cache holds, once it is known how they are turned.
  void chooseCapacity();
  void readLayers();
  void readRotations();
  void writeModel();
  void writeLayer();
  void writeProjections();
  void writeMlp();
  /// What the feed-forward makes of `m`.
  std::string mlpOf();
  void writeExpert();
  void writeGptOssExpert();
  /// The map that scores experts.
  std::string router() const;
  std::string norms(StringRef names, StringRef axis) const;
  std::string layerArguments() const;
  std::string turned(StringRef what) const;

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  const Kind &kind;
  std::string prefix;
  int64_t width = 0, heads = 0, groups = 0, features = 0, layers = 0, hidden = 0, tokens = 0,
          positions = 0, capacity = 0, turnedFeatures = 0, window = 0, experts = 0, chosen = 0;
  double eps = 0, queryScale = 0, cap = 0, lastCap = 0;
  bool hasBias = false, hasOutBias = false, hasMlpBias = false, isTied = false;
  std::string act;
  std::vector<bool> isFull;    ///< of each layer; empty: all layers are alike
  Rotation rotation, windowed; ///< of full layers, of those with a window
};

} // namespace

void LlamaWriter::readSizes() {
  width = config.size("hidden_size");
  heads = config.size("num_attention_heads");
  groups = config.size("num_key_value_heads", heads);
  if (!config.has("head_dim") && width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
  features = config.size("head_dim", std::max<int64_t>(width / heads, 1));
  layers = config.size("num_hidden_layers");
  hidden = config.size(kind.experts ? kind.experts->hiddenKey : "intermediate_size");
  tokens = config.size("vocab_size");
  positions = config.size("max_position_embeddings");
  if (heads % groups)
    config.refuse("num_key_value_heads", "a divisor of `num_attention_heads`");
  eps = config.number("rms_norm_eps", 1e-6);
  hasBias = is(InputBias) || config.flag("attention_bias", false);
  hasOutBias = !is(InputBias) && hasBias;
  hasMlpBias = config.flag("mlp_bias", false);
  readGivenBiases();
  isTied = config.flag("tie_word_embeddings", is(Tied));
  act = config.has("hidden_activation") ? "hidden_activation" : "hidden_act";
  if (is(QueryScalar))
    queryScale = std::pow(config.number("query_pre_attn_scalar", double(features)), -0.5);
  cap = config.number("attn_logit_softcapping").value_or(0);
  lastCap = config.number("final_logit_softcapping").value_or(0);
  double part = config.number("partial_rotary_factor").value_or(1);
  turnedFeatures = static_cast<int64_t>(double(features) * part);
  if (turnedFeatures < 2 || turnedFeatures > features || turnedFeatures % 2)
    config.refuse("partial_rotary_factor", "a part of the head with an even number of features");
}

void LlamaWriter::chooseCapacity() {
  // The cache is what a run pays for: one of all positions would be gigabytes.
  capacity = std::min<int64_t>(positions, 4096);
  if (rotation.shortLength)
    capacity = std::min(capacity, rotation.shortLength);
  if (capacity < positions)
    config.note("the cache holds " + Twine(capacity) + " positions, of " + Twine(positions) +
                " that the model can be given: `" +
                (rotation.shortLength ? "dim C" : "cache kv capacity") + "` says how many");
}

void LlamaWriter::readGivenBiases() {
  bool isNews = false;
  for (auto [linear, has] :
       {std::pair("self_attn.q_proj", &hasBias), std::pair("self_attn.o_proj", &hasOutBias),
        std::pair("mlp.gate_proj", &hasMlpBias)})
    if (!*has && writer.folder.has(prefix + "layers.0." + linear + ".bias"))
      isNews = *has = true;
  if (isNews)
    config.note("there are biases of linears that `config.json` does not tell of, as AutoGPTQ "
                "writes them where all are 0");
}

void LlamaWriter::readExperts() {
  if (!kind.experts)
    return;
  experts = config.size(kind.experts->countKey);
  chosen = config.size("num_experts_per_tok");
  if (chosen > experts)
    config.refuse("num_experts_per_tok", "at most " + Twine(experts) + ", the number of experts");
  if (config.size("decoder_sparse_step", 1) != 1 || !config.sizes("mlp_only_layers").empty())
    config.refuse("decoder_sparse_step", "1, and no `mlp_only_layers`: experts in every layer");
}

void LlamaWriter::readLayers() {
  bool isAsked = config.flag("use_sliding_window", !is(WindowIfAsked));
  window = config.has("sliding_window") && isAsked ? config.size("sliding_window") : 0;
  if (window >= positions) // which every position sees all of
    window = 0;
  std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && types.size() != size_t(layers))
    config.refuse("layer_types", "one for each of " + Twine(layers) + " layers");
  for (const std::string &type : types) {
    if (type != "full_attention" && type != "sliding_attention")
      config.refuse("layer_types", "`full_attention` and `sliding_attention`");
    isFull.push_back(type == "full_attention");
  }
  int64_t every = kind.fullEvery ? config.size("sliding_window_pattern", kind.fullEvery) : 0,
          firstWindowed = is(WindowIfAsked) ? config.size("max_window_layers", INT32_MAX) : 0;
  for (int64_t n = 0; types.empty() && window && n < layers; ++n)
    isFull.push_back(every ? (n + 1) % every == 0 : n < firstWindowed);
  if (!window || llvm::all_of(isFull, [](bool full) { return full; }))
    isFull.clear(), window = 0;
}

void LlamaWriter::readRotations() {
  Config parameters = config.within("rope_parameters"), scaling = config.within("rope_scaling");
  bool isByType = parameters.has("full_attention"),
       hasWindowed = parameters.has("sliding_attention");
  Config full = parameters.within("full_attention"),
         sliding = parameters.within("sliding_attention");
  RopeReader rope{config, turnedFeatures, positions};
  rotation = rope.read(isByType                        ? full
                       : config.has("rope_parameters") ? parameters
                                                       : scaling,
                       std::nullopt);
  if (!writer.folder.ropeFactors.empty())
    rotation.scaling = rope.scalingOf(writer.folder.ropeFactors, rotation.base);
  windowed = rotation;
  if (hasWindowed)
    windowed = rope.read(sliding, sliding.number("rope_theta"));
  else if (is(LocalBase)) {
    windowed = Rotation();
    windowed.base = config.number("rope_local_base_freq", 10000);
  }
  if (llvm::all_of(isFull, [](bool full) { return !full; }) && window)
    rotation = windowed;
  if (!isFull.empty() && rotation.slowing != windowed.slowing)
    config.refuse("rope_parameters", "YaRN or LongRoPE in all layers, or in none");
}

/// A condition of the layer's number that holds for the layers of a list: of a few numbers, behind
/// one, or of every so many.
static std::string layersWhere(const std::vector<bool> &holds) {
  auto count = static_cast<int64_t>(holds.size());
  for (int64_t period = 2; period <= count / 2 + 1; ++period)
    for (int64_t at = 0; at < period; ++at) {
      bool isRight = true;
      for (int64_t n = 0; n < count; ++n)
        isRight &= holds[size_t(n)] == (n % period == at);
      if (isRight)
        return "n % " + std::to_string(period) + " == " + std::to_string(at);
    }
  int64_t first = llvm::find(holds, !holds[0]) - holds.begin();
  if (std::all_of(holds.begin() + first, holds.end(), [&](bool one) { return one != holds[0]; }))
    return std::string(holds[0] ? "n < " : "n >= ") + std::to_string(first);
  std::string text;
  for (int64_t n = 0; n < count; ++n)
    if (holds[size_t(n)])
      text += (text.empty() ? "n == " : " or n == ") + std::to_string(n);
  return text;
}

/// What the stack gives its layers: "(seen = …)", or nothing where they are alike.
std::string LlamaWriter::layerArguments() const {
  if (isFull.empty() || llvm::none_of(isFull, [](bool full) { return full; }))
    return "";
  std::string condition = layersWhere(isFull);
  std::string text =
      "(seen = if " + condition + " then causal else window(" + std::to_string(window - 1) + ", 0)";
  if (rotation.base != windowed.base)
    text += ", base = if " + condition + " then " + numberText(rotation.base) + " else " +
            numberText(windowed.base);
  if (rotation.scaling != windowed.scaling)
    text += ", slowed = if " + condition + " then " +
            StringRef(rotation.scaling).split("= ").second.str() + " else 1";
  return text + ")";
}

std::string LlamaWriter::norms(StringRef names, StringRef axis) const {
  return ("rmsnorm " + names + ": " + axis + " eps " + numberText(eps) +
          (is(OnePlusNorms) && !writer.folder.addedOne ? " offset 1" : "") + "\n")
      .str();
}

std::string LlamaWriter::turned(StringRef what) const {
  bool differs = !layerArguments().empty();
  if (!rotation.slowing.empty()) {
    std::string text = "rotary(" + what.str() +
                       (writer.folder.turnsNeighbours ? ", interleaved" : ", half") +
                       ", angles = turns";
    if (turnedFeatures != features)
      text += ", features = " + std::to_string(turnedFeatures);
    return text + ")" + (rotation.strength != 1 ? " * " + numberText(rotation.strength) : "");
  }
  std::string text =
      "rotary(" + what.str() + (writer.folder.turnsNeighbours ? ", T, interleaved" : ", T, half");
  if (turnedFeatures != features)
    text += ", features = " + std::to_string(turnedFeatures);
  text += ", base = " +
          (differs && rotation.base != windowed.base ? "base" : numberText(rotation.base));
  text += differs && rotation.scaling != windowed.scaling ? ", factor = slowed" : rotation.scaling;
  return text + ")";
}

void LlamaWriter::writeProjections() {
  StringRef bias = hasBias ? " bias" : "", outBias = hasOutBias ? " bias" : "",
            keyHeads = groups == heads ? "H" : "G";
  if (is(Packed)) {
    os << "linear self_attn.q: D -> H, E = slice(\"self_attn.qkv_proj\", 0 to H * E)\n"
       << "linear self_attn.k: D -> " << keyHeads
       << ", E = slice(\"self_attn.qkv_proj\", H * E to H * E + " << keyHeads << " * E)\n"
       << "linear self_attn.v: D -> " << keyHeads << ", E = slice(\"self_attn.qkv_proj\", H * E + "
       << keyHeads << " * E to H * E + 2 * " << keyHeads << " * E)\n"
       << "linear self_attn.o_proj: H, E -> D\n";
    return;
  }
  if (groups == heads)
    os << "linear self_attn.q_proj, self_attn.k_proj, self_attn.v_proj: D -> H, E" << bias << '\n';
  else
    os << "linear self_attn.q_proj: D -> H, E" << bias
       << "\nlinear self_attn.k_proj, self_attn.v_proj: D -> G, E" << bias << '\n';
  os << "linear self_attn.o_proj: H, E -> D" << outBias << '\n';
}

void LlamaWriter::writeMlp() {
  StringRef bias = hasMlpBias ? " bias" : "";
  if (experts)
    os << "linear " << router() << ": D -> X" << (kind.experts->isGptOss ? " bias" : "")
       << "\nstack " << kind.experts->name << ".experts: X of Expert\n";
  else if (is(Packed))
    os << "linear mlp.gate, mlp.up: D -> F = split(\"mlp.gate_up_proj\", gate up)\n"
       << "linear mlp.down_proj: F -> D\n";
  else
    os << "linear mlp.gate_proj, mlp.up_proj: D -> F" << bias << "\nlinear mlp.down_proj: F -> D"
       << bias << '\n';
}

std::string LlamaWriter::mlpOf() {
  if (experts)
    return ("route(" + kind.experts->name + ".experts, m, places, weights)").str();
  StringRef gate = is(Packed) ? "mlp.gate" : "mlp.gate_proj",
            up = is(Packed) ? "mlp.up" : "mlp.up_proj";
  return "mlp.down_proj(" + activation(config, act, kind.act, (gate + "(m)").str()) + " * " +
         up.str() + "(m))";
}

/// One of the experts that a row is routed to.
void LlamaWriter::writeExpert() {
  if (kind.experts->isGptOss)
    return writeGptOssExpert();
  StringRef gate = kind.experts->gate, up = kind.experts->up, down = kind.experts->down;
  if (writer.ofLlamaCpp())
    gate = "gate", up = "up", down = "down";
  os << "block Expert(x: [D]) -> [D] {\nlinear " << gate << ", " << up << ": D -> F\nlinear "
     << down << ": F -> D\nreturn " << down << "("
     << activation(config, act, kind.act, (gate + "(x)").str()) << " * " << up << "(x))\n}\n\n";
}

void LlamaWriter::writeGptOssExpert() {
  // Floats lie as they are multiplied from the left, MXFP4 as maps have them. Of a square, the
  // quantized says so.
  auto shape = writer.folder.shapes.find(prefix + "layers.0.mlp.experts.0.gate_up_proj.weight");
  bool isTurned = shape != writer.folder.shapes.end() && shape->second.size() == 2 &&
                  shape->second[0] == width &&
                  (shape->second[1] != width || !config.has("quantization_config"));
  double limit = config.number("swiglu_limit", 7);
  StringRef turned = isTurned ? " @conv1d" : "";
  StringRef down = writer.ofLlamaCpp() ? "down" : "down_proj";
  os << "block Expert(x: [D]) -> [D] {\nlinear gate, up: D -> F bias";
  if (!writer.ofLlamaCpp())
    os << " = split(\"gate_up_proj.{weight|bias}\", f gate up)" << turned;
  os << "\nlinear " << down << ": F -> D bias" << (isTurned ? " = \"down_proj\" @conv1d" : "")
     << "\nlet g = min(gate(x), " << numberText(limit) << ")\nreturn " << down
     << "(g * sigmoid(1.702 * "
     << "g) * (clamp(up(x), " << numberText(-limit) << ", " << numberText(limit)
     << ") + 1))\n}\n\n";
}

std::string LlamaWriter::router() const {
  return (kind.experts->name + "." + kind.experts->router).str();
}

void LlamaWriter::writeLayer() {
  std::string arguments = layerArguments(), mask = "causal";
  if (!arguments.empty())
    mask = "seen";
  else if (window)
    mask = "window(" + std::to_string(window - 1) + ", 0)";
  StringRef q = is(Packed) ? "self_attn.q" : "self_attn.q_proj",
            k = is(Packed) ? "self_attn.k" : "self_attn.k_proj",
            v = is(Packed) ? "self_attn.v" : "self_attn.v_proj";
  auto query = [&](StringRef map, StringRef norm) {
    std::string text = (map + "(n)").str();
    return turned(is(HeadNorms) ? ("self_attn." + norm + "(" + text + ")").str() : text);
  };
  os << "block Layer[T](x: [B, T, D], kv: cache";
  if (!arguments.empty())
    os << "; seen = causal" << (rotation.base != windowed.base ? ", base = 10000" : "")
       << (rotation.scaling != windowed.scaling ? ", slowed = 1" : "");
  os << ") -> [B, T, D] {\n";
  if (is(FourNorms))
    os << norms("input_layernorm, post_attention_layernorm, pre_feedforward_layernorm, "
                "post_feedforward_layernorm",
                "D");
  else
    os << norms("input_layernorm, post_attention_layernorm", "D");
  if (is(HeadNorms))
    os << norms("self_attn.q_norm, self_attn.k_norm", "E");
  writeProjections();
  if (is(Sinks))
    os << "param self_attn.sinks: [H]"
       << (writer.ofLlamaCpp() ? " = \"attn_sinks.weight\"\n" : "\n");
  writeMlp();
  if (StringRef turned = turnedFeatures == features ? "E" : "R"; !rotation.slowing.empty())
    os << "table turns[t: T, p: " << turned << "/2] = t * " << numberText(rotation.base)
       << " ** (-2 * p / " << turned << ") * (" << rotation.slowing << ")  // angles, by "
       << rotation.rule << '\n';
  os << "let n = input_layernorm(x)\n"
     << "let q = " << query(q, "q_norm") << "\nlet k = " << query(k, "k_norm") << '\n'
     << "let a = attend q over kv.push(k, " << v << "(n)) along T as S"
     << (groups == heads ? "" : " group H by G") << " {\n"
     << (queryScale ? "score scaled\n" : "") << (cap ? "cap " + numberText(cap) + "\n" : "")
     << "mask " << mask << '\n'
     << (is(Sinks) ? "weight softmax(sink = self_attn.sinks[h])\n}\n" : "}\n") << "let y = x + "
     << (is(FourNorms) ? "post_attention_layernorm(self_attn.o_proj(a))" : "self_attn.o_proj(a)")
     << "\nlet m = " << (is(FourNorms) ? "pre_feedforward_layernorm" : "post_attention_layernorm")
     << "(y)\n";
  bool sharesSum =
      kind.experts && (kind.experts->sharesSum || config.flag("norm_topk_prob", false));
  if (sharesSum) // a softmax over all, made to sum up to 1, is one over the chosen
    os << "let s, places = topk(X, " << router() << "(m), A)\nlet weights = softmax(A, s)\n";
  else if (experts)
    os << "let weights, places = topk(X, softmax(X, " << router() << "(m)), A)\n";
  std::string mlp = mlpOf();
  os << "return y + " << (is(FourNorms) ? "post_feedforward_layernorm(" + mlp + ")" : mlp)
     << "\n}\n\n";
}

void LlamaWriter::writeModel() {
  bool hasHead = writer.task == "ForCausalLM";
  os << "model " << writer.model << " {\ndim D = " << width << ", H = " << heads;
  if (groups != heads)
    os << ", G = " << groups;
  os << ", E = " << features << ", L = " << layers << ", F = " << hidden << ", V = " << tokens
     << "  // width, heads, " << (groups != heads ? "heads of keys, " : "")
     << "features of a head, layers, feed-forward, tokens\n";
  if (experts)
    os << "dim X = " << experts << ", A = " << chosen << "  // experts, those of a row\n";
  if (rotation.shortLength)
    os << "dim C = " << capacity << "  // positions; angles change where these are more than "
       << rotation.shortLength << '\n';
  os << "dyn B <= 8\ncache kv capacity " << (rotation.shortLength ? "C" : std::to_string(capacity))
     << "\n\n"
     << "embedding " << prefix << "embed_tokens: V -> D\nstack " << prefix << "layers: L of Layer"
     << layerArguments() << '\n'
     << norms(prefix + "norm", "D");
  if (hasHead)
    os << "linear lm_head: D -> V" << (isTied ? " = tied(" + prefix + "embed_tokens)" : "") << '\n';
  if (hasHead && isTied && writer.folder.has("lm_head.weight"))
    os << "ignore \"lm_head.weight\"  // the same numbers as the embedding\n";
  if (!writer.folder.ropeFactors.empty())
    os << "ignore \"rope_freqs.weight\"  // computed here\n";
  if (writer.ofLlamaCpp() && rotation.shortLength)
    os << "ignore \"rope_factors_*.weight\"  // computed here\n";
  if (llvm::any_of(writer.folder.shapes, [](const auto &tensor) {
        return StringRef(tensor.first).ends_with(".rotary_emb.inv_freq");
      }))
    os << "ignore \"*.rotary_emb.inv_freq\"  // computed here\n";
  if (!rotation.slowing.empty() && turnedFeatures != features)
    os << "dim R = " << turnedFeatures << "  // features of a head that are turned\n";
  if (queryScale)
    os << "score scaled(q, k) = dot(q, k) * " << numberText(queryScale) << '\n';
  os << '\n';
  writeLayer();
  if (experts)
    writeExpert();
  std::string inputs = prefix + "embed_tokens(ids)";
  if (is(ScaledTokens))
    inputs += " * " + numberText(std::sqrt(double(width)));
  std::string result = prefix + "norm(" + prefix + "layers(" + inputs + ", kv))";
  os << "forward[T](ids: i32[B, T], kv: cache) -> [B, T, " << (hasHead ? "V" : "D") << "] ";
  if (!hasHead)
    os << "= " << result << "\nentry encode = forward\n}\n";
  else if (lastCap)
    os << "{\nlet scores = lm_head(" << result << ")\nreturn " << numberText(lastCap)
       << " * tanh(scores / " << numberText(lastCap) << ")\n}\n";
  else
    os << "= lm_head(" << result << ")\n";
  if (hasHead) {
    writeGeneration(writer, capacity);
    os << "}\n";
  }
}

void LlamaWriter::write() {
  if (writer.task != "ForCausalLM" && !writer.task.empty())
    config.refuse("architectures", "a model `…ForCausalLM`, or one without a head");
  prefix = writer.folder.has("model.embed_tokens.weight") ? "model." : "";
  readSizes();
  readExperts();
  readLayers();
  readRotations();
  chooseCapacity();
  writeModel();
}

void writeLlama(FamilyWriter &writer) {
  const Kind *kind = llvm::find_if(kinds, [&](const Kind &one) { return one.type == writer.type; });
  LlamaWriter(writer, *kind).write();
}

} // namespace attn::importer
