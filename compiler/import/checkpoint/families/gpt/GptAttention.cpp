// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of a decoder in GPT's form: how its maps are packed, what tells it where tokens stand,
// and what it makes of scores.
#include "compiler/import/checkpoint/families/gpt/Gpt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

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
  std::string packed = kind.names.maps.str();
  if (isOne)
    return readRows(1);
  int64_t groups = config.size("num_kv_heads", heads);
  if (heads % groups)
    config.refuse("num_kv_heads", "a divisor of the number of heads");
  addDim("dim G = " + std::to_string(groups) +
         ", U = H / G, N = U + 2, M = U + 1  // heads of keys, queries of each, maps of each");
  values.set("maps", "linear " + packed + ": D -> G, N, E" + bias.str());
  values.set("headAxes", "G, U, E");
  headNumber = "(g * U + u)", headIndices = "g, u";
}

void GptWriter::readRows(int64_t groups) {
  StringRef bias = biasOf(kind.mapBias) ? " bias" : "";
  std::string packed = kind.names.maps.str(), parts = bias.empty() ? "" : ".{weight|bias}",
              rows = groups == 1 ? "E" : "G * E";
  auto part = [&](StringRef name, StringRef axes, const std::string &from, const std::string &to) {
    return ("linear " + within + name + ": D -> " + axes + bias + " = slice(\"" + packed + parts +
            "\", " + from + " to " + to + ")\n")
        .str();
  };
  StringRef axes = groups == 1 ? "E" : "G, E";
  values.set("maps", part("q", "H, E", "0", "H * E") + part("k", axes, "H * E", "H * E + " + rows) +
                         part("v", axes, "H * E + " + rows, "H * E + 2 * " + rows));
  query = within + "q", key = within + "k", value = within + "v";
  if (groups == 1)
    return;
  addDim("dim G = " + std::to_string(groups) + "  // heads of keys");
  values.set("grouped", " group H by G");
}

void GptWriter::readMaps() {
  bool hasBias = biasOf(kind.mapBias);
  StringRef bias = hasBias ? " bias" : "";
  StringRef stored = is(Conv1d) && !writer.ofLlamaCpp() ? " @conv1d" : "";
  values.set("headAxes", "H, E");
  values.set("stored", stored);
  values.set("grouped", "");
  GptMaps maps = kind.maps;
  if (writer.ofLlamaCpp() && maps != GptMaps::Apart) {
    bool isOne = maps == GptMaps::OneKey && config.flag("multi_query", true);
    int64_t groups = isOne ? 1 : maps == GptMaps::ByGroup ? config.size("num_kv_heads", 1) : heads;
    if (groups != heads)
      return readRows(groups);
    maps = GptMaps::ByPart;
  }
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

Rotation GptWriter::readRotation() {
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
  return rotation;
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

bool GptWriter::readTypesOfLayers(int64_t layers, std::vector<std::string> &types) {
  // [[["global", "local"], 12]]: kinds of layers, and how many times they come.
  static const json::Value otherwise = json::Array{json::Array{json::Array{"global", "local"}, 12}};
  const json::Value *said = config.valueAt("attention_types");
  const json::Array *all = (said ? *said : otherwise).getAsArray();
  bool isRight = all;
  for (const json::Value &one : all ? *all : json::Array()) {
    const json::Array *item = one.getAsArray();
    const json::Array *period = item && item->size() == 2 ? (*item)[0].getAsArray() : nullptr;
    int64_t times = period ? (*item)[1].getAsInteger().value_or(0) : 0;
    isRight &= times > 0;
    for (int64_t i = 0; i < times && int64_t(types.size()) <= layers; ++i)
      for (const json::Value &name : *period)
        types.push_back(name.getAsString().value_or("").str());
  }
  return isRight;
}

void GptWriter::readLocalLayers() {
  int64_t window = config.size("window_size", 256), layers = config.size(kind.keys.layers);
  std::vector<std::string> types = config.texts("attention_layers"); // which count
  bool isWrong = types.empty() && !readTypesOfLayers(layers, types);
  std::vector<bool> isGlobal;
  for (const std::string &type : types) {
    isWrong |= type != "global" && type != "local";
    isGlobal.push_back(type == "global");
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
  if (!isTurned && kind.places == GptPlaces::TurnedOrSlopes)
    config.passOver({"rope_parameters", "rope_scaling", "rope_theta"});
  chooseCapacity(isTurned ? readRotation() : Rotation());
  values.set("read", read);
  values.set("query", query);
  values.set("key", key);
  values.set("value", value);
  if (is(LocalLayers))
    readLocalLayers();
  values.set("score", score);
}

} // namespace attn::importer
