// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoders of text in BERT's form. They differ in the names of tensors, in where positions begin,
// in where norms stand, and in their heads.
//
//   Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers"
//   Liu et al. 2019, "RoBERTa"; Conneau et al. 2020, "Unsupervised Cross-lingual Representation
//     Learning at Scale" (XLM-R); Goyal et al. 2021, "Larger-Scale Transformers for Multilingual
//     Masked Language Modeling" (XLM-R XL); Martin et al. 2020, "CamemBERT"
//   Sanh et al. 2019, "DistilBERT"; Sun et al. 2020, "ERNIE 2.0"; Baevski et al. 2022, "data2vec"
//   Clark et al. 2020, "ELECTRA"; Lan et al. 2020, "ALBERT"; Song et al. 2020, "MPNet"
//   Shoeybi et al. 2019, "Megatron-LM"; Ram et al. 2021, "Few-Shot Question Answering by
//     Pretraining Span Selection" (Splinter); Wettig et al. 2023, "Should You Mask 15% in Masked
//     Language Modeling?" (RoBERTa with norms in front)
//   Lin et al. 2023, "Evolutionary-scale prediction of atomic-level protein structure" (ESM-2)
//   Reimers and Gurevych 2019, "Sentence-BERT": the mean of the tokens' vectors
#include "compiler/import/checkpoint/families/bert/Bert.h"

using namespace llvm;

namespace attn::importer {

namespace {

constexpr BertLayerNames bertNames = {"attention.self.query",
                                      "attention.self.key",
                                      "attention.self.value",
                                      "attention.output.dense",
                                      "attention.output.LayerNorm",
                                      "intermediate.dense",
                                      "output.dense",
                                      "output.LayerNorm"},
                         distilNames = {"attention.q_lin",   "attention.k_lin",  "attention.v_lin",
                                        "attention.out_lin", "sa_layer_norm",    "ffn.lin1",
                                        "ffn.lin2",          "output_layer_norm"},
                         albertNames = {"attention.query",     "attention.key",
                                        "attention.value",     "attention.dense",
                                        "attention.LayerNorm", "ffn",
                                        "ffn_output",          "full_layer_layer_norm"},
                         mpnetNames = {"attention.attn.q",    "attention.attn.k",
                                       "attention.attn.v",    "attention.attn.o",
                                       "attention.LayerNorm", "intermediate.dense",
                                       "output.dense",        "output.LayerNorm"};

/// Those of BERT, with norms in front that have names of their own.
constexpr BertLayerNames inFront(StringRef attentionNorm, StringRef outNorm) {
  return {bertNames.query, bertNames.key, bertNames.value, bertNames.out,
          attentionNorm,   bertNames.up,  bertNames.down,  outNorm};
}
constexpr BertLayerNames megatronNames = inFront("attention.ln", "ln"),
                         xlNames = inFront("attention.self_attn_layer_norm", "LayerNorm"),
                         preNames = inFront("attention.LayerNorm", "intermediate.LayerNorm"),
                         esmNames = inFront("attention.LayerNorm", "LayerNorm");

constexpr BertTokenHead bertTokens = {"cls.predictions.transform.dense",
                                      "cls.predictions.transform.LayerNorm", "cls.predictions.bias",
                                      "cls.predictions.decoder", false},
                        robertaTokens = {"lm_head.dense", "lm_head.layer_norm", "lm_head.bias",
                                         "lm_head.decoder", true},
                        distilTokens = {"vocab_transform", "vocab_layer_norm",
                                        "vocab_projector.bias", "vocab_projector", false},
                        electraTokens = {"generator_predictions.dense",
                                         "generator_predictions.LayerNorm",
                                         "generator_lm_head.bias", "generator_lm_head", true},
                        albertTokens = {"predictions.dense", "predictions.LayerNorm",
                                        "predictions.bias", "predictions.decoder", false};

constexpr BertClassHead pooled = {"", "classifier", "tanh"},
                        robertaClasses = {"classifier.dense", "classifier.out_proj", "tanh"},
                        electraClasses = {"classifier.dense", "classifier.out_proj", "gelu"},
                        distilClasses = {"pre_classifier", "classifier", "relu"};

constexpr unsigned roberta = BehindPadding | OneSegment | MayDecode,
                   albert = NarrowTokens | AlwaysWidened | SharedLayers,
                   megatron = NormsInFront | PlainEmbeddings,
                   xl = roberta | NormsInFront | PlainEmbeddings,
                   mpnet = BehindPadding | NoSegments | Distances,
                   esm = BehindPadding | NoSegments | NormsInFront | MayDecode | FixedGelu |
                         EsmEmbeddings;

const BertKind bertKinds[] = {
    {"bert", "bert", MayDecode, bertNames, bertTokens, pooled},
    {"distilbert", "distilbert", NoSegments | ShortKeys, distilNames, distilTokens, distilClasses,
     "transformer.layer"},
    {"roberta", "roberta", roberta, bertNames, robertaTokens, robertaClasses},
    {"xlm-roberta", "roberta", roberta, bertNames, robertaTokens, robertaClasses},
    {"camembert", "roberta", roberta, bertNames, robertaTokens, robertaClasses},
    {"data2vec-text", "data2vec_text", roberta, bertNames, robertaTokens, robertaClasses},
    {"xlm-roberta-xl", "roberta", xl, xlNames, robertaTokens, robertaClasses, "encoder.layer",
     "encoder.LayerNorm", "", "gelu", 1e-5},
    {"roberta-prelayernorm", "roberta_prelayernorm", roberta | NormsInFront, preNames,
     robertaTokens, robertaClasses, "encoder.layer", "LayerNorm"},
    {"electra", "electra", NarrowTokens | MayDecode, bertNames, electraTokens, electraClasses,
     "encoder.layer", "", "embeddings_project"},
    {"albert", "albert", albert, albertNames, albertTokens, pooled,
     "encoder.albert_layer_groups.0.albert_layers.0", "", "encoder.embedding_hidden_mapping_in",
     "gelu_new", 1e-12, "pooler"},
    {"ernie", "ernie", MayDecode | TaskSegments, bertNames, bertTokens, pooled},
    {"megatron-bert", "bert", megatron, megatronNames, bertTokens, pooled, "encoder.layer",
     "encoder.ln"},
    {"mpnet", "mpnet", mpnet, mpnetNames, robertaTokens, robertaClasses},
    {"esm", "esm", esm, esmNames, robertaTokens, robertaClasses, "encoder.layer",
     "encoder.emb_layer_norm_after"},
};

} // namespace

StringRef BertWriter::keyOf(StringRef key) const {
  static constexpr std::pair<StringRef, StringRef> shorter[] = {{"hidden_size", "dim"},
                                                                {"num_attention_heads", "n_heads"},
                                                                {"num_hidden_layers", "n_layers"},
                                                                {"intermediate_size", "hidden_dim"},
                                                                {"hidden_act", "activation"}};
  for (auto [one, other] : shorter)
    if (is(ShortKeys) && one == key)
      return other;
  return key;
}

void BertWriter::readSizes() {
  width = config.size(keyOf("hidden_size"));
  embedded = is(NarrowTokens) ? config.size("embedding_size", 128) : width;
  isWidened = is(AlwaysWidened) || embedded != width;
  heads = config.size(keyOf("num_attention_heads"));
  layers = config.size(keyOf("num_hidden_layers"));
  hidden = config.size(keyOf("intermediate_size"));
  tokens = config.size("vocab_size");
  bool mayLackSegments = writer.ofLlamaCpp() && !config.has("type_vocab_size");
  segments = is(NoSegments) || mayLackSegments ? 0 : config.size("type_vocab_size");
  takesSegments = segments > 1 && !is(OneSegment);
  hasTasks = is(TaskSegments) && config.flag("use_task_id", false);
  eps = is(ShortKeys) ? "1e-12" : numberText(config.number("layer_norm_eps", kind.eps));
  if (width % heads)
    config.refuse(keyOf("num_attention_heads"), "a divisor of the width");
  if (is(MayDecode) && config.flag("is_decoder", false))
    config.refuse("is_decoder", "false");
  for (StringRef key : {"num_hidden_groups", "inner_group_num"})
    if (is(SharedLayers) && config.size(key, 1) != 1)
      config.refuse(key, "1: all layers have the same parameters");
  if (is(Distances)) {
    buckets = config.size("relative_attention_num_buckets", 32);
    if (buckets < 32)
      config.refuse("relative_attention_num_buckets", "32 or more, as the published class counts");
  }
  std::string body = (kind.body + ".").str();
  prefix = writer.folder.has(body + "embeddings.word_embeddings.weight") ? body : "";
  isColbert = writer.architecture == "HF_ColBERT" && !writer.folder.isSentence();
  hasPooler = writer.folder.has((prefix + kind.pooler + ".weight").str());
  readPositions();
  readSentence();
  classes = classCount(config);
}

void BertWriter::readPositions() {
  positions = config.size("max_position_embeddings");
  hasNorm = !is(PlainEmbeddings);
  // Of MPNet's class the number is 1, whatever the config says.
  if (is(BehindPadding))
    padding = is(Distances) ? 1 : config.size("pad_token_id", 1);
  std::string how = config.text("position_embedding_type", "absolute");
  isRotary = is(EsmEmbeddings) && how == "rotary";
  if (how != "absolute" && !isRotary)
    config.refuse("position_embedding_type",
                  is(EsmEmbeddings) ? "`absolute` or `rotary`" : "`absolute`");
  if (positions <= firstPosition())
    config.refuse("max_position_embeddings", "more than " + Twine(firstPosition()));
  if (is(EsmEmbeddings))
    readEsm();
}

void BertWriter::readEsm() {
  hasNorm = config.flag("emb_layer_norm_before", false);
  std::optional<int64_t> mask = config.whole("mask_token_id");
  if (config.flag("token_dropout", false)) {
    if (!mask || *mask < 0)
      config.refuse("mask_token_id", "the number of a token, since `token_dropout` leaves it out");
    maskToken = mask.value_or(0);
  }
  base = config.has("rope_theta") ? config.number("rope_theta", 10000) : 10000;
  if (!isRotary)
    return;
  for (StringRef name :
       {"rotary_embeddings.inv_freq", "encoder.layer.0.attention.self.rotary_embeddings.inv_freq"})
    if (writer.folder.has(prefix + name.str()))
      angles = prefix + name.str();
  if ((width / heads) % 2)
    config.refuse("num_attention_heads", "heads with an even number of features, whose pairs turn");
}

void BertWriter::readSentence() {
  isSentence = writer.folder.isSentence();
  if (!isSentence)
    return;
  sentence = attn::importer::readSentence(writer, width, tokens);
  writer.task = ""; // the published library takes the bare model of any
  notePrompts(writer);
}

int64_t BertWriter::vectorSize() {
  auto found = writer.folder.shapes.find("linear.weight");
  if (found == writer.folder.shapes.end() || found->second.size() != 2) {
    config.refuse("architectures", "a matrix `linear.weight`, which makes the tokens' vectors");
    return 1;
  }
  return found->second[0];
}

std::string BertWriter::embeddingsNorm() const {
  return prefix + (is(EsmEmbeddings) ? "embeddings.layer_norm" : "embeddings.LayerNorm");
}

std::string BertWriter::activated(const std::string &x) {
  return is(FixedGelu) ? "gelu(" + x + ")" : activation(config, keyOf("hidden_act"), kind.act, x);
}

void BertWriter::writeDims() {
  bool hasClasses = StringRef(writer.task).contains("Classification");
  os << "model " << writer.model << " {\ndim D = " << width << ", H = " << heads
     << ", E = D / H, L = " << layers << ", F = " << hidden << ", V = " << tokens;
  if (!isRotary)
    os << ", P = " << positions;
  os << "  // width, heads, features of a head, layers, feed-forward, tokens"
     << (isRotary ? "\n" : ", positions\n");
  if (embedded != width)
    os << "dim W = " << embedded << "  // width of embeddings\n";
  if (segments && !isVector(prefix + "embeddings.token_type_embeddings.weight"))
    os << "dim N = " << segments << "  // segments\n";
  if (hasTasks)
    os << "dim A = " << config.size("task_type_vocab_size", 3) << "  // tasks\n";
  if (is(Distances))
    os << "dim R = " << buckets << "  // distances\n";
  if (!angles.empty())
    os << "dim J = E / 2  // pairs of features that turn\n";
  if (isColbert)
    os << "dim O = " << vectorSize() << "  // numbers of a token's vector\n";
  if (hasClasses)
    os << "dim K = " << classes << "  // classes\n";
  if (isTask("ForQuestionAnswering"))
    os << "dim K = 2  // the answer's first and last token\n";
  int64_t most = positions - firstPosition();
  os << "dyn B <= 64, T <= " << (isSentence ? sentenceLength(writer, most) : most) << "\n\n";
}

void BertWriter::writeEmbeddings() {
  std::string own = prefix + "embeddings.", table = own + "token_type_embeddings";
  os << "embedding " << own << "word_embeddings: V -> " << narrow() << '\n';
  if (!isRotary)
    os << "embedding " << own << "position_embeddings: P -> " << narrow() << '\n';
  if (takesSegments)
    os << "embedding " << table << ": N -> " << narrow() << '\n';
  else if (segments)
    os << "param segments: [" << (isVector(table + ".weight") ? "" : "N, ") << narrow() << "] = \""
       << table << ".weight\"\n";
  if (hasTasks)
    os << "param tasks: [A, " << narrow() << "] = \"" << own << "task_type_embeddings.weight\"\n";
  if (hasNorm)
    os << "layernorm " << embeddingsNorm() << ": " << narrow() << " eps " << eps << '\n';
  if (isWidened)
    os << "linear " << prefix << kind.widening << ": " << narrow() << " -> D bias\n";
}

void BertWriter::writeParameters() {
  if (is(Distances))
    os << "use std.language\n"; // for its bias
  writeDims();
  writeEmbeddings();
  os << "stack " << prefix << kind.stack << ": L of " << (is(SharedLayers) ? "shared " : "")
     << "Layer\n";
  if (!kind.lastNorm.empty())
    os << "layernorm " << prefix << kind.lastNorm << ": D eps " << eps << '\n';
  if (is(Distances))
    os << "param relative: [R, H] = \"" << prefix << "encoder.relative_attention_bias.weight\"\n";
  if (!angles.empty())
    os << "param frequencies: [J] = \"" << angles << "\"\n";
  writeHeadParameters();
  os << sentence.parameters;
  writeIgnored();
  os << '\n';
}

void BertWriter::writeIgnored() {
  for (StringRef head : {"cls", "lm_head", "classifier", "pre_classifier", "qa_outputs",
                         "vocab_transform", "vocab_layer_norm", "vocab_projector", "predictions",
                         "generator_predictions", "generator_lm_head", "discriminator_predictions"})
    if (isSentence && !sentence.takesScores && writer.folder.hasWithin(head))
      os << "ignore \"" << head << ".*\"  // no vector needs it\n";
  for (StringRef name : {"embeddings.position_ids", "embeddings.token_type_ids"})
    if (writer.folder.has(prefix + name.str()))
      os << "ignore \"" << prefix << name << "\"\n";
  if (isRotary && writer.folder.has(prefix + "embeddings.position_embeddings.weight"))
    os << "ignore \"" << prefix << "embeddings.position_embeddings.weight\"  // positions turn\n";
  if (writer.folder.hasWithin(prefix + "contact_head"))
    os << "ignore \"" << prefix << "contact_head.*\"  // of contacts, which are no result\n";
  if (StringRef(angles).contains(".layer.0."))
    os << "ignore \"" << prefix
       << "encoder.layer.*.attention.self.rotary_embeddings.inv_freq\"  // the same for all\n";
}

void BertWriter::writeLayer() {
  const BertLayerNames &names = kind.layer;
  bool isFirst = is(NormsInFront);
  std::string x = isFirst ? "n" : "x", m = isFirst ? "m" : "y";
  auto turned = [&](StringRef what) {
    std::string value = (what + "(" + x + ")").str();
    if (!isRotary)
      return value;
    return "rotary(" + value +
           (angles.empty() ? ", T, half, base = " + numberText(base) : ", half, angles = angles") +
           ")";
  };
  os << "mask inside(b, j) with input lengths: i32[B] = j < lengths[b]  // the rest is padding\n\n"
     << "block Layer[T](x: [B, T, D], lengths: i32[B]"
     << (is(Distances) ? ", relative: [R, H]" : "") << (angles.empty() ? "" : ", angles: [T, J]")
     << ") -> [B, T, D] {\n"
     << "linear " << names.query << ", " << names.key << ", " << names.value << ": D -> H, E bias\n"
     << "linear " << names.out << ": H, E -> D bias\nlayernorm " << names.attentionNorm << ", "
     << names.outNorm << ": D eps " << eps << "\nlinear " << names.up << ": D -> F bias\nlinear "
     << names.down << ": F -> D bias\n";
  if (isFirst)
    os << "let n = " << names.attentionNorm << "(x)\n";
  os << "let a = attend " << turned(names.query) << " over " << turned(names.key) << ", "
     << names.value << "(" << x << ") along T as S {\n"
     << (is(Distances) ? "bias t5_both_ways\n" : "") << "mask inside\n}\n";
  std::string sum = ("x + " + names.out + "(a)").str(),
              mlp = (names.down + "(" + activated((names.up + "(" + m + ")").str()) + ")").str();
  if (isFirst)
    os << "let y = " << sum << "\nlet m = " << names.outNorm << "(y)\nreturn y + " << mlp
       << "\n}\n\n";
  else
    os << "let y = " << names.attentionNorm << "(" << sum << ")\nreturn " << names.outNorm
       << "(y + " << mlp << ")\n}\n\n";
}

void BertWriter::writeEmbedded() {
  std::string own = prefix + "embeddings.", words = own + "word_embeddings(ids)";
  std::string first = firstPosition() ? " + " + std::to_string(firstPosition()) : "";
  if (maskToken >= 0) {
    // Lin et al. train with 12% of the tokens left out, and scale what is left by how many are.
    os << "let masked = ids == " << maskToken
       << "\nlet part = sum(T, float(masked)) / float(lengths)\n"
       << "let kept = (if masked then 0 else " << words << ") * 0.88 / (1 - part)\n";
    words = "kept";
  }
  os << "let x = " << words;
  if (!isRotary)
    os << " + " << own << "position_embeddings(positions(T)" << first << ")";
  if (takesSegments)
    os << " + " << own << "token_type_embeddings(segments)";
  else if (segments)
    os << (isVector(own + "token_type_embeddings.weight") ? " + segments"
                                                          : " + first(N, segments)");
  if (hasTasks)
    os << " + first(A, tasks)";
  os << '\n';
}

void BertWriter::writeEntry() {
  os << "entry " << entryName() << "(ids: i32[B, T], "
     << (takesSegments ? "segments: i32[B, T], " : "") << "lengths: i32[B]) -> " << results()
     << " {\n";
  writeEmbedded();
  std::string x = hasNorm ? embeddingsNorm() + "(x)" : "x";
  if (isWidened)
    x = (prefix + kind.widening + "(" + x + ")").str();
  if (!angles.empty())
    os << "let angles = repeat(float(positions(T)), J) * frequencies\n";
  std::string states = (prefix + kind.stack + "(" + x + ", lengths").str();
  states += is(Distances) ? ", relative)" : angles.empty() ? ")" : ", angles)";
  if (!kind.lastNorm.empty())
    states = (prefix + kind.lastNorm + "(" + states + ")").str();
  os << "let y = " << states << "\n" << headBody() << "}\n}\n";
}

void BertWriter::write() {
  readSizes();
  writeParameters();
  writeLayer();
  writeEntry();
}

static void writeBert(FamilyWriter &writer) {
  const auto *kind =
      find_if(bertKinds, [&](const BertKind &one) { return one.type == writer.type; });
  BertWriter(writer, *kind).write();
}

const Family familyBert = {"bert roberta xlm-roberta distilbert camembert data2vec-text "
                           "xlm-roberta-xl roberta-prelayernorm electra albert ernie "
                           "megatron-bert mpnet esm",
                           writeBert};

} // namespace attn::importer
