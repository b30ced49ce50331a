// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// He et al. 2021, "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", and He et al.
// 2023, "DeBERTaV3": scores are of the contents of two tokens, of one's content and its distance
// to the other, and the other way round. Version 2 has distances in buckets, and perhaps a
// convolution beside the first layer.
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Fills in the template of one model.
class DebertaWriter {
public:
  explicit DebertaWriter(FamilyWriter &writer)
      : writer(writer), config(writer.config), isFirst(writer.type == "deberta") {}
  void write();

private:
  void readSizes();
  void readDistances();
  void readConvolution();
  void setLayer();
  void setEmbedding();
  void readHead();
  void readTokenHead();
  /// Whether the config names a part of the scores.
  bool attendsBy(StringRef kind);
  /// The lines that leave tensors out.
  std::string ignored() const;

  FamilyWriter &writer;
  Config &config;
  TemplateValues values;
  bool isFirst; ///< version 1
  std::string prefix, eps, head, w = "D";
  int64_t width = 0, embedded = 0, heads = 0, positions = 0, segments = 0;
  bool isSentence = false, isRelative = false;
  Sentence sentence;
};

} // namespace

void DebertaWriter::readSizes() {
  width = config.size("hidden_size");
  embedded = config.size("embedding_size", width);
  heads = config.size("num_attention_heads");
  positions = config.size("max_position_embeddings");
  segments = config.whole("type_vocab_size").value_or(0);
  eps = numberText(config.number("layer_norm_eps", 1e-7));
  w = embedded == width ? "D" : "W";
  if (width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
  if (!isFirst && config.size("attention_head_size", width / heads) != width / heads)
    config.refuse("attention_head_size", Twine(width / heads) + ", the width shared out");
  if (isFirst && config.flag("talking_head", false))
    config.refuse("talking_head", "false");
  prefix = writer.folder.has("deberta.embeddings.word_embeddings.weight") ? "deberta." : "";
  values.set("model", writer.model);
  values.set("prefix", prefix);
  values.set("width", width);
  values.set("heads", heads);
  values.set("embedded", embedded);
  values.set("positions", positions);
  values.set("hidden", config.size("intermediate_size"));
  values.set("layers", config.size("num_hidden_layers"));
  values.set("tokens", config.size("vocab_size"));
  values.set("eps", eps);
  values.set("w", w);
  values.set("segmentCount", segments);
  values.setIf("narrow", embedded != width);
  values.setIf("tableOfSegments", segments > 0);
  values.setIf("segments", segments > 1);
  values.setIf("oneSegment", segments == 1);
}

bool DebertaWriter::attendsBy(StringRef kind) {
  std::vector<std::string> kinds = config.oneOrTexts("pos_att_type");
  if (kinds.size() == 1) { // "p2c|c2p", as older configs have it
    SmallVector<StringRef> parts;
    std::string whole = StringRef(kinds.front()).lower();
    StringRef(whole).split(parts, '|');
    kinds.clear();
    for (StringRef part : parts)
      kinds.push_back(part.trim().str());
  }
  for (StringRef one : kinds)
    if (one != "c2p" && one != "p2c")
      config.refuse("pos_att_type", "`c2p`, `p2c`, or both");
  return is_contained(kinds, kind);
}

void DebertaWriter::readDistances() {
  isRelative = config.flag("relative_attention", false);
  bool toPosition = attendsBy("c2p"), toContent = attendsBy("p2c");
  int64_t most = config.whole("max_relative_positions").value_or(-1), buckets = -1;
  if (most < 1)
    most = positions;
  if (!isFirst)
    buckets = config.whole("position_buckets").value_or(-1);
  bool isBucketed = buckets > 0;
  int64_t span = isBucketed ? buckets : most, exact = buckets / 2;
  if (isRelative && isBucketed && (exact < 2 || most - 1 <= exact))
    config.refuse("position_buckets", "4 or more, and less than twice the positions");
  std::string distance = "i - j";
  if (isBucketed) {
    std::string half = std::to_string(exact),
                far = "floor(-(log(abs(i - j) / " + half + ") / log(" + std::to_string(most - 1) +
                      " / " + half + ") * " + std::to_string(exact - 1) + "))";
    // Where no text is longer, the last bucket is that of the last distance, however rounded.
    if (most >= positions)
      far = "max(" + far + ", " + std::to_string(1 - exact) + ")";
    distance = "(if abs(i - j) <= " + half + " then i - j else (if i > j then 1 else -1) * (" +
               half + " - " + far + "))";
  }
  std::string row = "min(max(M + " + distance + ", 0), R - 1)", inputs, value;
  if (toPosition)
    inputs = "c2p: [B, H, T, R]", value = "c2p[b, h, i, " + row + "]";
  if (toContent) {
    inputs += (inputs.empty() ? "p2c" : ", p2c") + std::string(": [B, H, T, R]");
    value += (value.empty() ? "" : " + ") + ("p2c[b, h, j, " + row + "]");
  }
  bool isNormed = false;
  if (!isFirst)
    isNormed = StringRef(config.text("norm_rel_ebd", "none")).contains_insensitive("layer_norm");
  bool isShared = isFirst || config.flag("share_att_key", false);
  std::string self = "attention.self.";
  values.set("span", span);
  values.set("exact", exact);
  values.set("factor", 1 + int64_t(toPosition) + int64_t(toContent));
  values.set("hookInputs", inputs);
  values.set("hookValue", value);
  values.setIf("relative", isRelative);
  values.setIf("bucketed", isBucketed);
  values.setIf("biased", isRelative && !value.empty());
  values.setIf("normed", isRelative && isNormed);
  values.setIf("toPosition", isRelative && toPosition);
  values.setIf("toContent", isRelative && toContent);
  values.setIf("ownKeys", isRelative && toPosition && !isShared);
  values.setIf("ownQueries", isRelative && toContent && !isShared);
  values.set("positionKey", self + (isFirst ? "pos_proj" : isShared ? "key_proj" : "pos_key_proj"));
  values.set("positionQuery", self + (isFirst    ? "pos_q_proj"
                                      : isShared ? "query_proj"
                                                 : "pos_query_proj"));
  values.set("distances",
             isNormed ? prefix + "encoder.LayerNorm(distances)" : std::string("distances"));
}

void DebertaWriter::readConvolution() {
  int64_t kernel = isFirst ? 0 : config.whole("conv_kernel_size").value_or(0);
  values.setIf("convolved", kernel > 0);
  values.set("kernel", kernel);
  if (kernel <= 0) {
    config.passOver({"conv_act", "conv_groups"});
    return;
  }
  if (kernel % 2 == 0)
    config.refuse("conv_kernel_size", "an odd number");
  if (config.size("conv_groups", 1) != 1)
    config.refuse("conv_groups", "1");
  values.set("convolution", activation(config, "conv_act", "tanh",
                                       prefix + "encoder.conv.conv(windows(x, T as C, pad = " +
                                           std::to_string(kernel / 2) + "))"));
}

void DebertaWriter::setEmbedding() {
  std::string own = prefix + "embeddings.", text = own + "word_embeddings(ids)";
  bool isPositioned = config.flag("position_biased_input", true);
  if (isPositioned)
    text += " + " + own + "position_embeddings(positions(T))";
  if (segments > 0)
    text +=
        segments > 1 ? " + " + own + "token_type_embeddings(segments)" : " + first(N, segments)";
  values.setIf("positioned", isPositioned);
  values.set("embedding", embedded == width ? text : own + "embed_proj(" + text + ")");
}

void DebertaWriter::readTokenHead() {
  bool isLegacy = config.flag("legacy", true);
  std::string own = isLegacy ? "cls.predictions." : "lm_predictions.lm_head.",
              dense = own + (isLegacy ? "transform.dense" : "dense"),
              norm = own + (isLegacy ? "transform.LayerNorm" : "LayerNorm");
  if (!isLegacy && embedded != width)
    config.refuse("legacy", "true, where embeddings have a width of their own");
  bool isTied = !isLegacy || config.flag("tie_word_embeddings", true);
  std::string bias = own + "bias", ownBias = "cls.predictions.decoder.bias";
  if (!isTied && writer.folder.has(ownBias))
    std::swap(bias, ownBias);
  head = "linear " + dense + ": D -> " + w + " bias\nlayernorm " + norm + ": " + w + " eps " + eps +
         "\nlinear decoder: " + w + " -> V = " +
         (isTied ? "tied(" + prefix + "embeddings.word_embeddings)"
                 : std::string("\"cls.predictions.decoder\"")) +
         "\nparam decoder_bias: [V] = \"" + bias + "\"\n";
  values.set("body", "return decoder(" + norm + "(" +
                         activation(config, "hidden_act", "gelu", dense + "(y)") +
                         ")) + decoder_bias");
  for (StringRef part : {StringRef("cls.predictions.decoder.weight"), StringRef(ownBias)})
    if (writer.folder.has(part) && (isTied || part == ownBias))
      head += ("ignore \"" + part + "\"  // the same numbers\n").str();
}

void DebertaWriter::readHead() {
  StringRef task = writer.task;
  bool isAnswer = task == "ForQuestionAnswering", isToken = task == "ForTokenClassification";
  std::string entry = "classify", result = "scores: [B, K]";
  if (isSentence) {
    entry = "embed", result = "embedding: " + sentence.type();
    values.set("body", sentence.body);
  } else if (task.empty()) {
    entry = "encode", result = "hidden: [B, T, D]";
    values.set("body", "return y");
  } else if (task == "ForMaskedLM") {
    entry = "fill", result = "scores: [B, T, V]";
    readTokenHead();
  } else if (isToken || isAnswer) {
    StringRef name = isAnswer ? "qa_outputs" : "classifier";
    entry = isAnswer ? "answer" : "classify", result = "scores: [B, T, K]";
    head = ("linear " + name + ": D -> K bias\n").str();
    values.set("body", ("return " + name + "(y)").str());
  } else if (task == "ForSequenceClassification") {
    if (config.size("pooler_hidden_size", width) != width)
      config.refuse("pooler_hidden_size", Twine(width) + ", as `hidden_size`");
    head = "linear pooler.dense: D -> D bias\nlinear classifier: D -> K bias\n";
    values.set("body",
               "return classifier(" +
                   activation(config, "pooler_hidden_act", "gelu", "pooler.dense(first(T, y))") +
                   ")");
  } else {
    config.refuse("architectures", "a bare model, or `…ForMaskedLM`, `…ForSequenceClassification`, "
                                   "`…ForTokenClassification` or `…ForQuestionAnswering`");
  }
  values.set("entry", entry);
  values.set("result", result);
  values.set("head", head + ignored());
  values.setIf("classes", isAnswer || task.contains("Classification"));
  values.set("classCount", isAnswer ? 2 : classCount(config));
  values.set("classWord", isAnswer ? "the answer's first and last token" : "classes");
}

std::string DebertaWriter::ignored() const {
  std::string text;
  bool isBare = isSentence || writer.task.empty(),
       isClasses = StringRef(writer.task).contains("Sequence");
  for (StringRef part :
       {"lm_predictions", "mask_predictions", "cls", "pooler", "classifier", "qa_outputs"}) {
    bool isHead = part == "pooler" ? isClasses : part != "mask_predictions" && !isBare;
    bool isOther = part == "lm_predictions" && writer.task != "ForMaskedLM";
    if ((!isHead || isOther) && writer.folder.hasWithin(part))
      text += ("ignore \"" + part + ".*\"  // no result needs it\n").str();
  }
  std::string positions = prefix + "embeddings.position_embeddings.weight",
              ids = prefix + "embeddings.position_ids";
  if (writer.folder.has(positions) && !config.flag("position_biased_input", true))
    text += "ignore \"" + positions + "\"  // positions are not added in front\n";
  if (!isRelative && writer.folder.has(prefix + "encoder.LayerNorm.weight"))
    text +=
        "ignore \"" + prefix + "encoder.LayerNorm.*\"  // of distances, of which there are none\n";
  if (writer.folder.has(ids))
    text += "ignore \"" + ids + "\"\n";
  return text;
}

void DebertaWriter::setLayer() {
  values.setIf("packed", isFirst);
  values.set("mlp", activation(config, "hidden_act", "gelu", "intermediate.dense(y)"));
}

void DebertaWriter::write() {
  readSizes();
  readDistances();
  readConvolution();
  setEmbedding();
  setLayer();
  isSentence = writer.folder.isSentence();
  if (isSentence) {
    sentence = readSentence(writer, width);
    notePrompts(writer);
    writer.task = "";
  }
  values.set("most", isSentence ? sentenceLength(writer, positions) : positions);
  values.set("sentence", sentence.parameters);
  readHead();
  writeTemplate(writer, "deberta", values);
}

static void writeDeberta(FamilyWriter &writer) { DebertaWriter(writer).write(); }

const Family familyDeberta = {"deberta deberta-v2", writeDeberta};

} // namespace attn::importer
