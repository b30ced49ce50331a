// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders in GPT's form, with layer norms. What differs between families is a table in
// ../GptKinds.cpp; what differs between models of one family stands in their config.json.
#include "compiler/import/checkpoint/families/gpt/Gpt.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

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
  values.set("model", kind.model);
  values.set("width", width);
  values.set("heads", heads);
  values.set("hidden", keys.hidden.empty() ? 4 * width
                       : is(FourTimes)     ? config.size(keys.hidden, 4 * width)
                                           : config.size(keys.hidden));
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
  if (is(EmbeddingNormed))
    rows = tokens + "_layernorm(" + rows + ")";
  values.setIf("tokensNormed", is(EmbeddingNormed));
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
      is(NormsBehind) || (is(NormsBehindUnlessSaid) && !config.flag("do_layer_norm_before", true));
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

void GptWriter::chooseCapacity(const Rotation &rotation) {
  if (rotation.shortLength) {
    capacity = std::min(capacity, rotation.shortLength);
    addDim("dim C = P  // positions; angles change where these are more than " +
           std::to_string(rotation.shortLength));
  }
  if (capacity != positions)
    config.note("the cache holds " + Twine(capacity) + " positions, of " + Twine(positions) +
                " that the model can be given: `dim P` says how many");
  values.set("positions", capacity);
}

void GptWriter::readResults() {
  bool hasLast = !is(NoLastNorm) && !(is(NormsBehindUnlessSaid) && isBehind);
  if (is(NormsBehindUnlessSaid)) {
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
  if (kind.type == "xglm" && config.flag("add_cross_attention", false))
    ignored +=
        "ignore \"" + layers + "*.encoder_attn.*\", \"" + layers +
        "*.encoder_attn_layer_norm.*\"  // of what an encoder gives, which there is none of\n";
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
