// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language model of Gemma 4 (Google 2026, "Gemma 4"). Layers that see a window and those that
// see all have heads of other sizes. The last layers may have no keys of their own: they read those
// of the last layer of their kind that has some, which therefore stands outside of the stacks. Each
// layer may get an input of its own, of the token (Google 2025, "Gemma 3n").
#include "compiler/import/checkpoint/Eyes.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Layers that follow each other and are one stack, or one layer whose keys others read.
struct LayerRun {
  int64_t first, count;
  bool isSource = false, isSharing = false;
};

/// Heads of layers of a kind: features of each, and how many of keys.
struct LayerHeads {
  int64_t features = 2, groups = 1;
  bool operator==(const LayerHeads &other) const {
    return features == other.features && groups == other.groups;
  }
};

/// A language model of Gemma 4 while its spec is written.
class Gemma4Writer {
public:
  explicit Gemma4Writer(FamilyWriter &writer) : writer(writer), config(writer.config) {}
  void write();

private:
  void readLayers();
  void readHeads();
  void readHeadsByLayer();
  void findRuns();
  void setSizes();
  void setExperts();
  void setAngles();
  void setPictures();
  std::string angleOf(Config &rope, int64_t features, StringRef size, double base);

  std::string kindOf(int64_t layer) const { return isFull[size_t(layer)] ? "far" : "near"; }
  /// What stands behind the tensors of a stack or layer: ", n % 6 == 5" of these layers.
  std::string argumentsOf(const LayerRun &run) const;
  void declare(const LayerRun &run, raw_ostream &os) const;
  void apply(const LayerRun &run, size_t number, raw_ostream &os) const;
  /// The inputs of layers, ", slice(own, …)", and what all layers get.
  std::string inputOf(const LayerRun &run) const;
  std::string turns() const { return (hasNear ? ", near_turns" : "") + std::string(", far_turns"); }
  std::string pictureSpan() const { return eyes && eyes->isWhole ? ", since, until" : ""; }
  static std::string sizeOf(const LayerRun &run) { return "L" + std::to_string(run.first); }
  std::string nameOf(const LayerRun &run) const;

  FamilyWriter &writer;
  Config &config;
  TemplateValues values;
  std::optional<Eyes> eyes;
  std::string prefix;
  std::vector<bool> isFull;
  std::vector<LayerRun> runs;
  LayerHeads near, far; ///< of layers that see a window, and of those that see all
  int64_t width = 1, layers = 1, sharing = 0, window = 0;
  bool hasNear = false, sharesNear = false, hasInputs = false,
       isSame = false; ///< `isSame`: far keys are the values
};

} // namespace

void Gemma4Writer::readLayers() {
  layers = config.size("num_hidden_layers", 30);
  std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && types.size() != size_t(layers))
    config.refuse("layer_types", "one for each of " + Twine(layers) + " layers");
  for (int64_t n = 0; n < layers; ++n) {
    std::string type = size_t(n) < types.size() ? types[size_t(n)] : "";
    if (!types.empty() && type != "full_attention" && type != "sliding_attention")
      config.refuse("layer_types", "`full_attention` and `sliding_attention`");
    isFull.push_back(types.empty() ? n % 6 == 5 : type == "full_attention");
  }
  if (!types.empty() && !isFull.back())
    config.note("the last layer sees all, as the published class has it, whatever `layer_types` "
                "says");
  isFull.back() = true;
  hasNear = is_contained(isFull, false);
  window = config.size("sliding_window", 512);
  bool isShared = config.number("num_kv_shared_layers").value_or(0) != 0;
  sharing = isShared ? config.size("num_kv_shared_layers") : 0;
  findRuns();
}

void Gemma4Writer::findRuns() {
  int64_t first = layers - sharing, begin = 0;
  if (!sharing) {
    runs.push_back({0, layers});
    return;
  }
  if (first < 1) {
    config.refuse("num_kv_shared_layers",
                  "fewer than the layers, of which there are " + Twine(layers));
    first = 1;
  }
  std::vector<int64_t> sources;
  for (bool full : {false, true}) {
    auto isOfKind = [&](int64_t n) { return isFull[size_t(n)] == full; };
    bool isRead = any_of(seq(first, layers), isOfKind);
    auto own = llvm::to_vector(llvm::make_filter_range(seq<int64_t>(0, first), isOfKind));
    if (isRead && own.empty())
      config.refuse("num_kv_shared_layers",
                    "a layer with keys of its own of each kind in `layer_types` in front");
    if (isRead && !own.empty())
      sources.push_back(own.back());
    sharesNear |= isRead && !full;
  }
  llvm::sort(sources);
  for (int64_t source : sources) {
    if (source > begin)
      runs.push_back({begin, source - begin});
    runs.push_back({source, 1, true});
    begin = source + 1;
  }
  if (first > begin)
    runs.push_back({begin, first - begin});
  runs.push_back({first, sharing, false, true});
}

std::string Gemma4Writer::nameOf(const LayerRun &run) const {
  if (!sharing)
    return prefix + "layers";
  return (run.isSharing ? "sharing" : "layers") + std::to_string(run.first);
}

std::string Gemma4Writer::argumentsOf(const LayerRun &run) const {
  if (!hasNear || (run.isSharing && !sharesNear))
    return "";
  std::vector<bool> own(isFull.begin() + run.first, isFull.begin() + run.first + run.count);
  return "(full = " + layersWhere(own) + ")";
}

void Gemma4Writer::declare(const LayerRun &run, raw_ostream &os) const {
  std::string first = std::to_string(run.first), path = prefix + "layers." + first;
  if (!run.isSource) {
    os << "stack " << nameOf(run) << ": " << (sharing ? sizeOf(run) : "L") << " of "
       << (run.isSharing ? "Sharing" : "Layer") << argumentsOf(run);
    if (sharing)
      os << " = \"" << prefix << "layers.{n" << (run.first ? "+" + first : "") << "}\"";
    os << '\n';
    return;
  }
  bool full = isFull[size_t(run.first)];
  std::string sizes = full ? "[J: GF, M: EF]" : "[J: G, M: E]";
  os << "rmsnorm norm" << first << ": D eps "
     << numberText(config.number("rms_norm_eps").value_or(1e-6)) << " = \"" << path
     << ".input_layernorm\"\n"
     << "part keys" << first << ": Keys" << sizes << (full && isSame ? "(same = true)" : "")
     << " = \"" << path << ".self_attn\"\n"
     << "part attention" << first << ": Queries" << sizes
     << (full && hasNear ? "(full = true)" : "") << " = \"" << path << ".self_attn\"\n"
     << "part rest" << first << ": Rest[Z: F] = \"" << path << "\"\n";
}

std::string Gemma4Writer::inputOf(const LayerRun &run) const {
  if (!hasInputs)
    return "";
  if (!sharing)
    return ", own";
  std::string first = std::to_string(run.first);
  if (run.isSource)
    return ", pick(own, L at " + first + ")";
  return ", slice(own, L from " + first + " to " + std::to_string(run.first + run.count) + " as " +
         sizeOf(run) + ")";
}

void Gemma4Writer::apply(const LayerRun &run, size_t number, raw_ostream &os) const {
  std::string from = number ? "y" + std::to_string(number - 1) : "x",
              to = "let y" + std::to_string(number) + " = ", first = std::to_string(run.first);
  if (run.isSource) {
    std::string kind = kindOf(run.first), given = ", " + kind + "_turns", k = "k_" + kind,
                v = "v_" + kind, n = "n" + first;
    os << "let " << n << " = norm" << first << '(' << from << ")\n"
       << "let " << k << "_new, " << v << "_new = keys" << first << '(' << n << given << ")\n"
       << "let " << k << ", " << v << " = kv.push(" << k << "_new, " << v << "_new) along T as kv\n"
       << to << "rest" << first << '(' << from << ", attention" << first << '(' << n << given
       << ", " << k << ", " << v << pictureSpan() << ')' << inputOf(run) << ")\n";
    return;
  }
  os << to << nameOf(run) << '(' << from << inputOf(run) << turns() << pictureSpan();
  if (run.isSharing)
    os << (sharesNear ? ", k_near, v_near" : "") << ", k_far, v_far)\n";
  else
    os << ", kv)\n";
}

void Gemma4Writer::readHeads() {
  near = {config.size("head_dim", 256), config.size("num_key_value_heads", 4)};
  isSame = config.flag("attention_k_eq_v", false);
  if (config.has("per_layer_config"))
    return readHeadsByLayer();
  far = {config.size("global_head_dim", 512), near.groups};
  if (isSame && config.has("num_global_key_value_heads"))
    far.groups = config.size("num_global_key_value_heads");
  else
    config.valueAt("num_global_key_value_heads"); // which counts with shared maps alone
}

void Gemma4Writer::readHeadsByLayer() {
  StringRef key = "per_layer_config";
  far = near;
  for (StringRef other : {"global_head_dim", "num_global_key_value_heads"})
    config.valueAt(other); // which the later form replaces
  const json::Object *all = config.mapAt(key);
  std::optional<LayerHeads> common;
  for (int64_t n = 0; all && n < layers; ++n) {
    const json::Object *own = all->getObject(std::to_string(n));
    LayerHeads heads = near;
    for (const auto &[name, value] : own ? *own : json::Object()) {
      int64_t &size = name == "head_dim" ? heads.features : heads.groups;
      std::optional<int64_t> number = value.getAsInteger();
      if ((name != "head_dim" && name != "num_key_value_heads") || !number || *number < 1)
        config.refuse(key, "`head_dim` and `num_key_value_heads` of layers");
      else
        size = *number;
    }
    bool isRight = isFull[size_t(n)] ? !common || *common == heads : heads == near;
    if (!isRight)
      config.refuse(key, "the same heads for all layers of `full_attention`, and none for others");
    if (isFull[size_t(n)])
      common = heads;
  }
  far = common.value_or(near);
}

void Gemma4Writer::setSizes() {
  int64_t heads = config.size("num_attention_heads", 8);
  for (const LayerHeads &kind : {near, far}) {
    if (heads % kind.groups)
      config.refuse(kind == near ? "num_key_value_heads" : "num_global_key_value_heads",
                    "a divisor of `num_attention_heads`");
    if (kind.features % 2)
      config.refuse(kind == near ? "head_dim" : "global_head_dim",
                    "an even number of features, whose pairs turn");
  }
  values.set("width", width);
  values.set("heads", heads);
  values.set("layers", layers);
  values.set("hidden", config.size("intermediate_size", 9216));
  values.set("tokens", config.size("vocab_size", 262144));
  values.set("features", near.features);
  values.set("groups", near.groups);
  values.set("farFeatures", far.features);
  values.set("farGroups", far.groups);
  values.set("same", isSame ? "true" : "false");
  bool isBiased = config.flag("attention_bias", false);
  values.set("bias", isBiased ? " bias" : "");
  values.set("biasOfValues", isBiased ? " bias if not same" : "");
  values.set("eps", numberText(config.number("rms_norm_eps").value_or(1e-6)));
  values.setIf("near", hasNear);
  values.setIf("wide", sharing && config.flag("use_double_wide_mlp", false));
  std::string gate =
      activation(config, "hidden_activation", "gelu_pytorch_tanh", "mlp.gate_proj(m)");
  values.set("ofDense", gate);
  values.set("ofExpert", activation(config, "hidden_activation", "gelu_pytorch_tanh", "gate(x)"));
  values.set("ofInput", activation(config, "hidden_activation", "gelu_pytorch_tanh",
                                   "per_layer_input_gate(z)"));
  hasInputs = config.number("hidden_size_per_layer_input") != 0.0;
  values.setIf("inputs", hasInputs);
  if (!hasInputs)
    return;
  values.set("inputs_width", config.size("hidden_size_per_layer_input", 256));
  int64_t tokens = config.size("vocab_size", 262144),
          ofInputs = config.size("vocab_size_per_layer_input", 262144);
  if (tokens > ofInputs)
    config.refuse("vocab_size", "at most `vocab_size_per_layer_input`, " + Twine(ofInputs));
  values.set("inputs_tokens", ofInputs);
  values.set("pad", int64_t(config.number("pad_token_id").value_or(0)));
}

void Gemma4Writer::setExperts() {
  bool isRouted = config.flag("enable_moe_block", false);
  values.setIf("routed", isRouted);
  if (!isRouted)
    return;
  int64_t experts = config.size("num_experts"), chosen = config.size("top_k_experts");
  if (chosen > experts)
    config.refuse("top_k_experts", "at most `num_experts`, " + Twine(experts));
  values.set("experts", experts);
  values.set("chosen", chosen);
  values.set("expertHidden", config.size("moe_intermediate_size"));
}

std::string Gemma4Writer::angleOf(Config &rope, int64_t features, StringRef size, double base) {
  std::string type = rope.text("rope_type", "default");
  double own = rope.number("rope_theta").value_or(base);
  if (!(own > 0))
    rope.refuse("rope_theta", "more than 0");
  std::string angle = "t / " + numberText(own) + " ** (2 * p / " + size.str() + ")";
  if (type == "default" || type == "dynamic") {
    rope.passOver({"partial_rotary_factor", "factor"}); // which the published class leaves out
    if (type == "dynamic")
      config.note("rope's type `dynamic` changes no angle up to the positions of the cache");
    return angle;
  }
  if (type != "proportional")
    rope.refuse("rope_type", "`default`, `dynamic` or `proportional`");
  double part = rope.number("partial_rotary_factor").value_or(1),
         factor = rope.number("factor").value_or(1);
  if (!(part > 0 && part <= 1))
    rope.refuse("partial_rotary_factor", "more than 0, and up to 1");
  if (!(factor > 0))
    rope.refuse("factor", "more than 0");
  if (factor != 1)
    angle += " / " + numberText(factor);
  auto turned = int64_t(part * double(features)) / 2;
  return turned == features / 2 ? angle
                                : "if p < " + std::to_string(turned) + " then " + angle + " else 0";
}

void Gemma4Writer::setAngles() {
  Config rope = config.within("rope_parameters");
  Config ofNear = rope.within("sliding_attention"), ofFar = rope.within("full_attention");
  bool isSaid = config.has("rope_parameters");
  if (isSaid && (!rope.has("full_attention") || (hasNear && !rope.has("sliding_attention"))))
    config.refuse("rope_parameters", "`full_attention` and `sliding_attention`, each with its own");
  values.set("nearAngle", angleOf(ofNear, near.features, "E", 10000));
  values.set("farAngle", isSaid ? angleOf(ofFar, far.features, "EF", 1000000)
                                : "if p < " + std::to_string(far.features / 8) +
                                      " then t / 1000000 ** (2 * p / EF) else 0");
  rope.adopt(ofNear);
  rope.adopt(ofFar);
  config.adopt(rope);
}

void Gemma4Writer::setPictures() {
  std::string both = config.text("use_bidirectional_attention", "");
  if (!both.empty() && both != "vision")
    config.refuse("use_bidirectional_attention",
                  "`vision`, or null: with a cache no token sees those behind");
  eyes = readEyes(writer, width, 0);
  if (eyes)
    eyes->isWhole = both == "vision" && hasNear;
  bool isWhole = eyes && eyes->isWhole;
  std::string seen = "window(" + std::to_string(window - 1) + ", 0)";
  if (isWhole)
    seen += " or picture and window(" + std::to_string(window - 1) + ", " +
            std::to_string(eyes->rows - 1) + ")";
  values.setIf("pictures", eyes.has_value());
  values.setIf("whole", isWhole);
  values.set("seen", seen);
  if (eyes)
    values.set("pictures", eyes->text);
}

void Gemma4Writer::write() {
  if (!writer.task.empty() && writer.task != "ForCausalLM")
    config.refuse("architectures", "a model `…ForCausalLM`, or one without a head");
  bool hasHead = writer.task == "ForCausalLM";
  width = config.size("hidden_size", 2304);
  prefix = writer.folder.has("model.embed_tokens.weight") ? "model." : "";
  int64_t positions = config.size("max_position_embeddings", 131072),
          capacity = std::min<int64_t>(positions, 4096);
  if (capacity < positions)
    config.note("the cache holds " + Twine(capacity) + " positions, of " + Twine(positions) +
                " that the model can be given: `cache kv capacity` says how many");
  readLayers();
  readHeads();
  setSizes();
  setExperts();
  setAngles();
  setPictures();
  std::string stacks, body, counts, unread;
  raw_string_ostream declared(stacks), applied(body);
  for (auto [number, run] : enumerate(runs)) {
    declare(run, declared);
    apply(run, number, applied);
    if (sharing && !run.isSource)
      counts += (counts.empty() ? "" : ", ") + sizeOf(run) + " = " + std::to_string(run.count);
  }
  // Older checkpoints have maps that nothing reads.
  for (int64_t n = layers - sharing; n < layers; ++n)
    for (StringRef part : {"k_proj", "v_proj", "k_norm"}) {
      std::string name = (prefix + "layers." + Twine(n) + ".self_attn." + part).str();
      if (sharing && writer.folder.has(name + ".weight"))
        unread += (unread.empty() ? "\"" : ", \"") + name + ".*\"";
    }
  std::string states = prefix + "norm(y" + std::to_string(runs.size() - 1) + ")";
  std::optional<double> cap = config.number("final_logit_softcapping");
  if (cap && !(*cap > 0))
    config.refuse("final_logit_softcapping", "more than 0");
  if (hasHead && cap)
    applied << "let scores = lm_head(" << states << ")\nreturn " << numberText(*cap)
            << " * tanh(scores / " << numberText(*cap) << ')';
  else
    applied << "return " << (hasHead ? "lm_head(" + states + ")" : states);
  values.set("model", writer.model);
  values.set("prefix", prefix);
  values.set("capacity", capacity);
  values.setIf("head", hasHead);
  values.setIf("headless", !hasHead && writer.folder.has("lm_head.weight"));
  values.setIf("tied", config.flag("tie_word_embeddings", true));
  values.set("given", hasHead ? "V" : "D");
  values.set("stacks", stacks);
  values.set("body", body);
  values.setIf("shares", sharing > 0);
  values.setIf("sharesNear", sharesNear);
  values.setIf("counted", hasInputs || !sharing);
  values.setIf("stacked", llvm::any_of(runs, [](const LayerRun &run) {
                 return !run.isSource && !run.isSharing;
               }));
  if (sharing)
    values.set("shares", counts);
  values.setIf("unread", !unread.empty());
  if (!unread.empty())
    values.set("unread", unread);
  std::string entries;
  raw_string_ostream os(entries);
  FamilyWriter inner{writer.folder, writer.config,       os,         writer.type,
                     writer.model,  writer.architecture, writer.task};
  if (eyes)
    writeGenerationWithPictures(inner, capacity);
  else
    entries = hasHead ? generationEntries(writer, capacity) : "entry encode = forward";
  values.set("entries", entries);
  writeTemplate(writer, "gemma4", values);
}

static void writeGemma4(FamilyWriter &writer) { Gemma4Writer(writer).write(); }

const Family familyGemma4 = {"gemma4_text", writeGemma4};

} // namespace attn::importer
