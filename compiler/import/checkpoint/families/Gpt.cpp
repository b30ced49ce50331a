// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders in GPT's form, with layer norms. What differs between families is a table in
// ../GptKinds.cpp; what differs between models of one family stands in their config.json.
#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/GptKinds.h"
#include "compiler/import/checkpoint/Rope.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

namespace {

/// Fills the template in for one model.
class GptWriter {
public:
  GptWriter(FamilyWriter &writer, const GptKind &kind)
      : writer(writer), config(writer.config), kind(kind) {}
  void write();

private:
  bool is(GptTrait trait) const { return kind.traits & trait; }
  /// A size under the first of several names, which is there or `otherwise`; 0: it has to be there.
  int64_t sizeOf(StringRef keys, int64_t otherwise = 0);
  bool biasOf(const GptBias &bias) {
    return bias.key.empty() ? bias.otherwise : config.flag(bias.key, bias.otherwise);
  }
  void readSizes();
  void readEps();
  /// Tokens, and where they stand.
  void readEmbedding();
  /// The maps of queries, keys and values of `n`.
  void readMaps();
  /// The same, of heads that share keys.
  void readGroupedMaps(bool isOne);
  /// Maps whose names have another letter each.
  void readApart(StringRef bias);
  /// What is made of queries and keys, and of scores.
  void readAttention();
  void readRotation();
  void readMosaic();
  void readScore();
  void readSlopes();
  void readLocalLayers();
  /// Where norms stand, and what they read.
  void readNorms();
  void readFalconNorms();
  void readResults();
  void readIgnored();
  void addHook(const std::string &line) { hooks += line + "\n"; }
  void addDim(const std::string &line) { dims += line + "\n"; }

  FamilyWriter &writer;
  Config &config;
  const GptKind &kind;
  TemplateValues values;
  std::string prefix, within; ///< of all names; of those of a layer's attention
  std::string dims, hooks, score;
  std::string query, key, value;
  std::string headNumber = "h", headIndices = "h";
  std::string first, second; ///< norms of a layer
  int64_t width = 0, heads = 0, features = 0, positions = 0, capacity = 0;
  double clip = 0;
  bool hasHead = false, hasSlopes = false, isBehind = false, isBeside = false;
};

} // namespace

int64_t GptWriter::sizeOf(StringRef keys, int64_t otherwise) {
  SmallVector<StringRef> names;
  keys.split(names, '|');
  const auto *there = llvm::find_if(names, [&](StringRef name) { return config.has(name); });
  StringRef key = there == names.end() ? names.front() : *there;
  int64_t size = otherwise ? config.size(key, otherwise) : config.size(key);
  for (StringRef other : names)
    if (config.has(other) && config.size(other) != size)
      config.refuse(other, Twine(size) + ", which is `" + key + "`");
  return size;
}

void GptWriter::readEps() {
  // Classes without a key for it, and CTRL's for the norms of layers, have a number of their own.
  double said = kind.keys.eps.empty() ? kind.eps : config.number(kind.keys.eps, kind.eps);
  values.set("eps", numberText(is(EpsOfLast) ? kind.eps : said));
  values.set("lastEps", numberText(said));
  values.set("normEnd", is(NoNormBias) ? " no bias" : "");
}

void GptWriter::readSizes() {
  const GptKeys &keys = kind.keys;
  width = sizeOf(keys.width);
  heads = sizeOf(keys.heads);
  features = std::max<int64_t>(width / heads, 1);
  if (width % heads)
    config.refuse(keys.heads.split('|').first, "a divisor of the width");
  // ALiBi has no bound: BLOOM was trained on as many.
  positions = sizeOf(keys.positions.empty() ? "seq_length" : keys.positions,
                     kind.places == GptPlaces::Slopes || is(BesideByKeys) ? 2048 : 0);
  bool isLearnt = kind.places == GptPlaces::Learnt || kind.places == GptPlaces::LearntBehindPadding;
  capacity = isLearnt ? positions : std::min<int64_t>(positions, 4096);
  if (capacity != positions)
    config.note("the cache holds " + Twine(capacity) + " positions, of " + Twine(positions) +
                " that the model can be given: `dim P` says how many");
  values.set("model", kind.model);
  values.set("width", width);
  values.set("heads", heads);
  values.set("positions", capacity);
  values.set("hidden", keys.hidden.empty() ? 4 * width : config.size(keys.hidden, 4 * width));
  values.set("layers", sizeOf(keys.layers));
  values.set("tokens", config.size("vocab_size"));
  readEps();
}

void GptWriter::readEmbedding() {
  const GptNames &names = kind.names;
  std::string tokens = prefix + names.tokens.str(), rows = tokens + "(ids)";
  values.set("prefix", prefix);
  values.set("tokensName", tokens);
  values.set("placesName", prefix + names.positions.str());
  values.set("layersName", prefix + names.layers.str());
  int64_t embedded = is(TokensMapped) ? config.size("word_embed_proj_dim", width) : width;
  bool isMapped = embedded != width;
  if (isMapped)
    addDim("dim W = " + std::to_string(embedded) + "  // width of the embedding");
  values.setIf("mapped", isMapped);
  values.set("embedded", isMapped ? "W" : "D");
  if (isMapped)
    rows = prefix + "project_in(" + rows + ")";
  if (is(TokensScaled) || (is(TokensScaledIfSaid) && config.flag("scale_embedding", true)))
    rows += " * " + numberText(std::sqrt(double(width)));
  if (is(TokensNormed))
    rows = tokens + "_layernorm(" + rows + ")";
  values.setIf("tokensNormed", is(TokensNormed));
  bool isPadded = kind.places == GptPlaces::LearntBehindPadding;
  if (isPadded)
    addDim("dim R = P + 2  // rows of positions, of which the first two are of padding");
  values.setIf("learnt", isPadded || kind.places == GptPlaces::Learnt);
  values.set("rows", isPadded ? "R" : "P");
  if (isPadded || kind.places == GptPlaces::Learnt)
    rows += " + " + prefix + names.positions.str() + "(positions(T)" + (isPadded ? " + 2)" : ")");
  std::string sines;
  if (kind.places == GptPlaces::Sines)
    sines = "table at[t: T, c: D] = if c < D / 2 then sin(t / 10000 ** (2 * c / D)) else cos(t / "
            "10000 ** (2 * (c - D / 2) / D))";
  if (kind.places == GptPlaces::SinesBehindPadding)
    sines = "dim U = D / 2\ntable at[t: T, c: D] = if c < U then sin((t + 2) / 10000 ** (c / "
            "(U - 1))) else cos((t + 2) / 10000 ** ((c - U) / (U - 1)))";
  if (sines.empty())
    values.setIf("sines", false);
  else
    values.set("sines", sines);
  values.set("embedding", sines.empty() ? rows : "Placed(" + rows + ")");
}

/// The name of a map of its own, where names have `*` for the letter.
static std::string mapName(StringRef names, StringRef letter) {
  auto [before, behind] = names.split('*');
  return (before + letter + behind).str();
}

void GptWriter::readApart(StringRef bias) {
  query = mapName(kind.names.maps, "q");
  key = mapName(kind.names.maps, "k");
  value = mapName(kind.names.maps, "v");
  values.set("maps", "linear " + query + ", " + key + ", " + value + ": D -> H, E" + bias.str());
}

void GptWriter::readGroupedMaps(bool isOne) {
  StringRef bias = biasOf(kind.mapBias) ? " bias" : "";
  std::string packed = kind.names.maps.str(), parts = bias.empty() ? "" : ".{weight|bias}";
  if (isOne) {
    auto part = [&](StringRef name, StringRef axes, StringRef from, StringRef to) {
      return ("linear " + within + name + ": D -> " + axes + bias + " = slice(\"" + packed + parts +
              "\", " + from + " to " + to + ")\n")
          .str();
    };
    values.set("maps", part("q", "H, E", "0", "H * E") + part("k", "E", "H * E", "H * E + E") +
                           part("v", "E", "H * E + E", "H * E + 2 * E"));
    query = within + "q", key = within + "k", value = within + "v";
    return;
  }
  int64_t groups = config.size("num_kv_heads", heads);
  if (heads % groups)
    config.refuse("num_kv_heads", "a divisor of the number of heads");
  addDim("dim G = " + std::to_string(groups) +
         ", U = H / G, N = U + 2, M = U + 1  // heads of keys, queries of each, maps of each");
  values.set("maps", "linear " + packed + ": D -> G, N, E" + bias.str());
  values.set("headAxes", "G, U, E");
  headNumber = "(g * U + u)", headIndices = "g, u";
}

void GptWriter::readMaps() {
  bool hasBias = biasOf(kind.mapBias);
  StringRef bias = hasBias ? " bias" : "";
  StringRef stored = is(Conv1d) && !writer.ofLlamaCpp() ? " @conv1d" : "";
  values.set("headAxes", "H, E");
  values.set("stored", stored);
  GptMaps maps = kind.maps;
  if (maps == GptMaps::ByGroup && !config.flag("new_decoder_architecture", false))
    maps = GptMaps::OneKey;
  if (maps == GptMaps::ByGroup)
    return readGroupedMaps(/*isOne=*/false);
  if (maps == GptMaps::OneKey) {
    bool isOne = config.flag("multi_query", true);
    if (kind.maps == GptMaps::ByGroup && !isOne && config.size("num_kv_heads", heads) != heads)
      config.refuse("num_kv_heads", Twine(heads) + ", as many as there are heads");
    if (isOne)
      return readGroupedMaps(/*isOne=*/true);
    maps = GptMaps::ByHead;
  }
  if (maps == GptMaps::Apart)
    return readApart(bias);
  std::string axes = "H, E";
  StringRef order = maps == GptMaps::ByPart ? "q k v" : "h q k v";
  if (maps == GptMaps::ByQuarter) {
    if (heads % 4)
      config.refuse(kind.keys.heads, "a multiple of 4: the published class computes four parts");
    addDim("dim M = 4, N = H / M  // parts of the heads, and how many are in each");
    axes = "M, N, E", order = "m q v k";
    values.set("headAxes", axes);
  }
  std::string list;
  for (StringRef letter :
       {"q", maps == GptMaps::ByQuarter ? "v" : "k", maps == GptMaps::ByQuarter ? "k" : "v"})
    list += (list.empty() ? "" : ", ") + within + letter.str();
  values.set("maps", "linear " + list + ": D -> " + axes + bias.str() + " = split(\"" +
                         kind.names.maps.str() + (hasBias ? ".{weight|bias}" : "") + "\", " +
                         order.str() + ")" + stored.str());
  query = within + "q", key = within + "k", value = within + "v";
}

void GptWriter::readRotation() {
  Rotation rotation;
  StringRef pairs = "half";
  if (kind.places == GptPlaces::TurnedNeighbours) {
    rotation.turned = config.size("rotary_dim", config.isSilent("rotary_dim") ? 64 : 0);
    if (rotation.turned % 2 || rotation.turned > features)
      config.refuse("rotary_dim",
                    "an even number, of at most " + Twine(features) + " features that a head has");
    pairs = "interleaved";
  } else {
    bool hasParameters = config.has("rope_parameters") && !config.has("rope_scaling");
    Config angles = config.within(hasParameters ? "rope_parameters" : "rope_scaling");
    bool isNeoX = kind.type == "gpt_neox";
    RopeReader rope{config, features, positions, /*hasParts=*/kind.part != 1};
    rope.partKey = isNeoX ? "rotary_pct" : "partial_rotary_factor";
    rope.part = kind.part;
    rotation = rope.read(angles, isNeoX ? "rotary_emb_base" : "rope_theta", 10000);
    // Some versions of NeoX's class write these, too, and read them in none.
    if (auto base = isNeoX ? config.number("rope_theta") : std::nullopt;
        base && *base != rotation.base)
      config.refuse("rope_theta",
                    numberText(rotation.base) + ", as `rotary_emb_base`, which counts");
    if (auto again = isNeoX ? config.number("partial_rotary_factor") : std::nullopt;
        again && int64_t(*again * double(features)) != rotation.turned)
      config.refuse("partial_rotary_factor", "what `rotary_pct` says, which counts");
  }
  std::string part = rotation.turned == features ? "" : "R";
  if (!part.empty())
    addDim("dim R = " + std::to_string(rotation.turned) + "  // features of a head that turn");
  values.set("table", rotation.tableLine("turns", part.empty() ? "E" : part));
  query = rotation.applied(query, pairs, "turns", part);
  key = rotation.applied(key, pairs, "turns", part);
}

void GptWriter::readSlopes() {
  bool isMosaic = is(Mosaic);
  double farthest = 8, share = kind.places == GptPlaces::TurnedOrSlopes
                                   ? 1 / std::sqrt(double(features))
                                   : 1; // Falcon adds them before it divides
  auto whole = int64_t(bit_floor(uint64_t(heads)));
  auto slope = [&](double rate, const std::string &power) {
    return "exp(" + numberText(-rate * std::log(2.0) / double(whole)) + " * " + power + ")";
  };
  std::string each = slope(farthest, "(" + headNumber + " + 1)");
  if (whole != heads)
    each = "(if " + headNumber + " < " + std::to_string(whole) + " then " + each + " else " +
           slope(farthest / 2, "(2 * (" + headNumber + " - " + std::to_string(whole) + ") + 1)") +
           ")";
  addHook("bias alibi(" + headIndices + ", i, j) = -" + each +
          (share == 1 ? "" : " * " + numberText(share)) + " * (i - j)");
  score += "bias alibi\n";
  if (!isMosaic && kind.places == GptPlaces::TurnedOrSlopes)
    config.note("the published class rounds the slopes of `alibi` to bfloat16, which the spec does "
                "not");
}

void GptWriter::readMosaic() {
  Config own = config.within("attn_config");
  clip = own.number("clip_qkv").value_or(0);
  if (auto scale = own.number("softmax_scale")) {
    addHook("score scaled(q, k) = dot(q, k) * " + numberText(*scale));
    score += "score scaled\n";
  }
  config.adopt(own);
}

void GptWriter::readScore() {
  if (is(Mosaic))
    readMosaic();
  bool isScaled = !is(Unscaled) && (!is(ScaledIfSaid) || config.flag("scale_attn_weights", true)),
       isByLayer = is(ScaledByLayer) && config.flag("scale_attn_by_inverse_layer_idx", false);
  if (isByLayer) {
    addHook(std::string("score scaled(q, k; depth = 1) = dot(q, k) ") +
            (isScaled ? "* E ** -0.5 " : "") + "/ depth");
    score += "score scaled(depth = depth)\n";
    values.set("arguments", "(depth = n + 1)");
    values.set("statics", "; depth = 1");
  } else if (!isScaled) {
    score += "score dot\n";
  }
  if (hasSlopes)
    readSlopes();
}

void GptWriter::readLocalLayers() {
  int64_t window = config.size("window_size", 256), layers = config.size(kind.keys.layers);
  std::vector<bool> isGlobal;
  // [[["global", "local"], 12]]: kinds of layers, and how many times they come.
  const json::Value *types = config.valueAt("attention_types");
  static const json::Value otherwise = json::Array{json::Array{json::Array{"global", "local"}, 12}};
  const json::Array *all = (types ? *types : otherwise).getAsArray();
  bool isWrong = !all;
  for (const json::Value &one : all ? *all : json::Array()) {
    const json::Array *item = one.getAsArray();
    const json::Array *period = item && item->size() == 2 ? (*item)[0].getAsArray() : nullptr;
    int64_t times = period ? (*item)[1].getAsInteger().value_or(0) : 0;
    isWrong |= times < 1;
    for (int64_t i = 0; i < times && int64_t(isGlobal.size()) <= layers; ++i)
      for (const json::Value &name : *period) {
        StringRef text = name.getAsString().value_or("");
        isWrong |= text != "global" && text != "local";
        isGlobal.push_back(text == "global");
      }
  }
  if (isWrong || int64_t(isGlobal.size()) != layers)
    return config.refuse("attention_types",
                         "`global` and `local`, " + Twine(layers) + " layers all together");
  std::string near = "window(" + std::to_string(window - 1) + ", 0)";
  bool isNear = window < positions;
  if (!isNear || all_of(isGlobal, [](bool global) { return global; }))
    return;
  if (none_of(isGlobal, [](bool global) { return global; }))
    return values.set("mask", near);
  values.set("mask", "seen");
  values.set("arguments",
             "(seen = if " + layersWhere(isGlobal) + " then causal else " + near + ")");
  values.set("statics", "; seen = causal");
}

void GptWriter::readAttention() {
  values.set("mask", "causal");
  values.set("arguments", "");
  values.set("statics", "");
  values.set("table", "");
  hasSlopes = kind.places == GptPlaces::Slopes ||
              (kind.places == GptPlaces::TurnedOrSlopes && config.flag("alibi", false));
  readScore();
  bool isNormed = is(HeadsNormed) && config.flag("qk_layernorm", true);
  values.setIf("headsNormed", isNormed);
  values.set("within", within);
  std::string n = isBehind ? "x" : "n", read = isBehind ? "" : "let n = " + first + "(x)\n";
  if (query.empty()) { // of a packed map, whose parts are not alike
    read += "let rows = " + kind.names.maps.str() + "(" + n + ")\n";
    query = "slice(rows, N from 0 to U)", key = "last(M, slice(rows, N from 0 to M))",
    value = "last(N, rows)";
  } else {
    for (std::string *map : {&query, &key, &value}) {
      *map += "(" + n + ")";
      if (clip)
        *map = "clamp(" + *map + ", " + numberText(-clip) + ", " + numberText(clip) + ")";
    }
  }
  if (isNormed) {
    query = within + "q_layernorm(" + query + ")";
    key = within + "k_layernorm(" + key + ")";
  }
  bool isTurned = kind.places == GptPlaces::Turned || kind.places == GptPlaces::TurnedNeighbours ||
                  (kind.places == GptPlaces::TurnedOrSlopes && !hasSlopes);
  if (isTurned)
    readRotation();
  else if (kind.places == GptPlaces::TurnedOrSlopes)
    config.passOver({"rope_parameters", "rope_scaling", "rope_theta"});
  values.set("read", read);
  values.set("query", query);
  values.set("key", key);
  values.set("value", value);
  if (is(LocalLayers))
    readLocalLayers();
  values.set("score", score);
}

void GptWriter::readFalconNorms() {
  bool isNew = config.flag("new_decoder_architecture", false);
  isBeside = config.flag("parallel_attn", true);
  if (isNew && !isBeside)
    config.refuse("parallel_attn", "true, with `new_decoder_architecture`");
  int64_t count = config.size("num_ln_in_parallel_attn", isNew ? 2 : 1);
  if (isBeside && (count > 2 || (count == 2 && !isNew)))
    config.refuse("num_ln_in_parallel_attn", isNew ? "1 or 2" : "1");
  if (isBeside)
    second = "";
  if (isBeside && isNew && count == 2)
    first = "ln_attn", second = "ln_mlp";
}

void GptWriter::readNorms() {
  first = kind.names.first.str(), second = kind.names.second.str();
  isBehind =
      is(NormsBehind) || (is(NormsBehindIfSaid) && !config.flag("do_layer_norm_before", true));
  isBeside = is(Beside) || (is(BesideIfSaid) && config.flag("use_parallel_residual", true));
  if (is(BesideByKeys))
    readFalconNorms();
  bool isNormedStream =
      is(NormedStream) && config.flag("apply_residual_connection_post_layernorm", false);
  std::string up = kind.names.up.str(), down = kind.names.down.str(), added, m = "m", to;
  if (isBehind) {
    added = "let y = " + first + "(x + a)\n";
    m = "y", to = "y";
  } else if (isBeside) {
    if (!second.empty())
      added = "let m = " + second + "(x)\n";
    else
      m = "n";
    to = "x + a";
  } else {
    added = std::string("let y = ") + (isNormedStream ? "n" : "x") + " + a\nlet m = " + second +
            "(y)\n";
    to = isNormedStream ? "m" : "y";
  }
  std::string act = kind.keys.act.empty() ? kind.act.str() : config.text(kind.keys.act, kind.act);
  if (is(NewGeluName) && act == "gelu")
    act = "gelu_new";
  std::string made =
      to + " + " + down + "(" + activationOf(config, kind.keys.act, act, up + "(" + m + ")") + ")";
  values.set("norms", second.empty() ? first : first + ", " + second);
  values.set("added", added);
  values.set("result", isBehind ? second + "(" + made + ")" : made);
  values.set("up", up);
  values.set("down", down);
  values.set("outName", kind.names.out);
}

void GptWriter::readResults() {
  bool hasLast = !is(NoLastNorm) && !(is(NormsBehindIfSaid) && isBehind);
  if (is(NormsBehindIfSaid)) {
    if (!hasLast)
      config.passOver({"_remove_final_layer_norm"});
    else if (config.flag("_remove_final_layer_norm", false))
      hasLast = false;
    if (!config.flag("layer_norm_elementwise_affine", true))
      config.refuse("layer_norm_elementwise_affine", "true: norms have weights");
  }
  bool isTied = config.flag("tie_word_embeddings", kind.isTied),
       isMapped = is(TokensMapped) && config.size("word_embed_proj_dim", width) != width;
  std::string last = prefix + kind.names.last.str(), head = kind.names.head.str(),
              states = prefix + kind.names.layers.str() + "(x, kv)";
  if (hasLast)
    states = last + "(" + states + ")";
  if (isMapped)
    states = prefix + "project_out(" + states + ")";
  values.setIf("lastNorm", hasLast);
  values.set("lastName", last);
  values.setIf("head", hasHead);
  values.set("headName", head);
  values.set("headBias", is(TokenBias) ? " bias" : "");
  values.setIf("tied", isTied);
  values.set("given", hasHead ? "V" : isMapped ? "W" : "D");
  values.set("states", hasHead ? head + "(" + states + ")" : states);
  values.set("entries", hasHead ? generationEntries(writer, capacity) : "entry encode = forward");
}

void GptWriter::readIgnored() {
  std::string ignored;
  const Folder &folder = writer.folder;
  std::string head = kind.names.head.str();
  if (folder.has(head + ".weight") && hasHead && config.flag("tie_word_embeddings", kind.isTied))
    ignored += "ignore \"" + head + ".weight\"  // the same numbers as the embedding\n";
  // What old files have beside the weights, by the end of the name.
  static constexpr std::pair<StringLiteral, StringLiteral> computed[] = {
      {".attn.bias", "the causal mask, as a tensor"},
      {".attn.masked_bias", "a score of what is not seen"},
      {".attn.causal_mask", "the causal mask, as a tensor"},
      {".attn.attention.bias", "the causal mask, as a tensor"},
      {".attn.attention.masked_bias", "a score of what is not seen"},
      {".attention.bias", "the causal mask, as a tensor"},
      {".attention.masked_bias", "a score of what is not seen"},
      {".rotary_emb.inv_freq", "of the angles, which are computed"},
      {"embed_positions.weights", "sines, which are computed"}};
  std::string layers = prefix + kind.names.layers.str() + ".";
  for (const auto &[end, why] : computed)
    if (any_of(folder.shapes, [&, end = end](const auto &tensor) {
          StringRef name = tensor.first, rest = name;
          bool isOfLayer = rest.consume_front(layers);
          return name.ends_with(end) &&
                 (!isOfLayer || rest.split('.').second == end.drop_front(1) ||
                  end == ".rotary_emb.inv_freq");
        }))
      ignored += ("ignore \"*" + end + "\"  // " + why + "\n").str();
  if (kind.type == "gpt2" && config.flag("add_cross_attention", false))
    ignored += "ignore \"" + layers + "*.crossattention.*\", \"" + layers +
               "*.ln_cross_attn.*\"  // of what an encoder gives, which there is none of\n";
  values.set("ignored", ignored);
}

void GptWriter::write() {
  hasHead = writer.task == "ForCausalLM" || writer.task == "LMHeadModel" ||
            StringRef(writer.model).ends_with("LMHead");
  if (!hasHead && !writer.task.empty())
    config.refuse("architectures", "a model with scores of tokens, or one without a head");
  prefix = kind.names.prefix.str();
  for (StringRef shorter : {kind.names.prefix.split('.').second, StringRef()})
    if (!writer.folder.has(prefix + kind.names.tokens.str() + ".weight"))
      prefix = shorter.str();
  within = kind.names.maps.take_front(kind.names.maps.rfind('.') + 1).str();
  readSizes();
  readEmbedding();
  readNorms();
  readMaps();
  readAttention();
  readResults();
  readIgnored();
  values.set("outBias", biasOf(kind.outBias) ? " bias" : "");
  values.set("mlpBias", biasOf(kind.mlpBias) ? " bias" : "");
  values.set("dims", dims);
  values.set("hooks", hooks);
  writeTemplate(writer, "gpt", values);
}

static void writeGpt(FamilyWriter &writer) { GptWriter(writer, *gptKind(writer.type)).write(); }

/// The types of the table.
static StringRef gptTypes() {
  static const std::string types = [] {
    std::string text;
    for (const GptKind &kind : gptKinds())
      text += (text.empty() ? "" : " ") + kind.type.str();
    return text;
  }();
  return types;
}

const Family familyGpt = {gptTypes(), writeGpt};

} // namespace attn::importer
