// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The heads of encoders in BERT's form: scores of tokens, of classes, of answers, of tokens that
// another model has put in place of others (ELECTRA), and a vector for each token (Khattab and
// Zaharia 2020, "ColBERT").
#include "compiler/import/checkpoint/families/bert/Bert.h"

using namespace llvm;

namespace attn::importer {

bool BertWriter::isVector(const std::string &tensor) const {
  auto found = writer.folder.shapes.find(tensor);
  return found != writer.folder.shapes.end() && found->second.size() == 1;
}

bool BertWriter::usesPooler() const {
  bool isOfClasses = isTask("ForSequenceClassification") && kind.classes.dense.empty() &&
                     !writer.folder.has("classifier.dense.weight");
  return hasPooler && !isSentence && !isColbert && (writer.task.empty() || isOfClasses);
}

void BertWriter::writeTokenHead() {
  const BertTokenHead &head = kind.tokens;
  bool isTied = config.flag("tie_word_embeddings", true);
  os << "linear " << head.dense << ": D -> " << narrow() << " bias\nlayernorm " << head.norm << ": "
     << narrow() << " eps " << eps << "\nlinear decoder: " << narrow() << " -> V = ";
  if (isTied)
    os << "tied(" << prefix << "embeddings.word_embeddings)\n";
  else
    os << '"' << head.decoder << "\"\n";
  // transformers 5 ties the bias with the matrix, 4 always: there both have the same numbers.
  std::string ownBias = (head.decoder + ".bias").str(), bias = head.bias.str();
  if (!isTied && writer.folder.has(ownBias))
    std::swap(ownBias, bias);
  os << "param decoder_bias: [V] = \"" << bias << "\"\n";
  std::vector<std::string> same;
  for (const std::string &name : {(head.decoder + ".weight").str(), ownBias})
    if (name != bias && (isTied || name == ownBias) && writer.folder.has(name))
      same.push_back("\"" + name + "\"");
  if (writer.folder.has("cls.seq_relationship.weight"))
    same.push_back("\"cls.seq_relationship.*\"");
  for (size_t i = 0; i < same.size(); ++i)
    os << (i ? ", " : "ignore ") << same[i]
       << (i + 1 == same.size() ? "  // the same numbers, or unused\n" : "");
}

void BertWriter::writeClassHead() {
  BertClassHead head = kind.classes;
  if (head.dense.empty() && writer.folder.has("classifier.dense.weight")) // of llama.cpp's files
    head = {"classifier.dense", "classifier.out_proj", "tanh"};
  if (!head.dense.empty())
    os << "linear " << head.dense << ": D -> D bias\n";
  if (isVector("classifier.out_proj.weight"))
    os << "param weight: [D] = \"classifier.out_proj.weight\"\n"
          "param bias: [K] = \"classifier.out_proj.bias\"\n";
  else
    os << "linear " << head.out << ": D -> K bias\n";
}

void BertWriter::writeHeadParameters() {
  StringRef pooler = kind.pooler;
  if (usesPooler())
    os << "linear " << prefix << pooler << ": D -> D bias\n";
  else if (hasPooler)
    os << "ignore \"" << prefix << "pooler.*\"  // no result needs it\n";
  if (isTask("ForMaskedLM") || sentence.takesScores)
    writeTokenHead();
  else if (isTask("ForSequenceClassification"))
    writeClassHead();
  else if (isTask("ForTokenClassification"))
    os << "linear classifier: D -> K bias\n";
  else if (isTask("ForQuestionAnswering"))
    os << "linear qa_outputs: D -> K bias\n";
  else if (isDiscriminator())
    os << "linear discriminator_predictions.dense: D -> D bias\n"
          "dim O = 1\nlinear discriminator_predictions.dense_prediction: D -> O bias\n";
  else if (isColbert)
    os << "linear vectors: D -> O = \"linear\"\n";
  else if (!writer.task.empty())
    config.refuse("architectures", "a bare model, or `…ForMaskedLM`, `…ForSequenceClassification`, "
                                   "`…ForTokenClassification` or `…ForQuestionAnswering`");
}

StringRef BertWriter::entryName() const {
  if (isSentence || isColbert)
    return "embed";
  if (isTask("ForMaskedLM"))
    return "fill";
  if (isTask("ForQuestionAnswering"))
    return "answer";
  return writer.task.empty() ? "encode" : "classify";
}

std::string BertWriter::results() const {
  if (isSentence)
    return "embedding: " + sentence.type();
  if (isColbert)
    return "embedding: [B, T, O]";
  if (isTask("ForMaskedLM"))
    return "scores: [B, T, V]";
  if (isTask("ForSequenceClassification"))
    return "scores: [B, K]";
  if (isDiscriminator())
    return "scores: [B, T]";
  if (isTask("ForTokenClassification") || isTask("ForQuestionAnswering"))
    return "scores: [B, T, K]";
  return hasPooler ? "hidden: [B, T, D], pooled: [B, D]" : "hidden: [B, T, D]";
}

std::string BertWriter::tokenScores() {
  const BertTokenHead &head = kind.tokens;
  std::string dense = (head.dense + "(y)").str();
  std::string made = head.isGelu ? "gelu(" + dense + ")" : activated(dense);
  return ("decoder(" + head.norm + "(" + made + ")) + decoder_bias").str();
}

std::string BertWriter::classScores() const {
  const BertClassHead &head = kind.classes;
  if (isVector("classifier.out_proj.weight"))
    return "let h = tanh(classifier.dense(first(T, y)))\n"
           "return repeat(sum(D, h * weight), K) + bias\n";
  if (head.dense.empty() && writer.folder.has("classifier.dense.weight"))
    return "return classifier.out_proj(tanh(classifier.dense(first(T, y))))\n";
  std::string dense = head.dense.empty() ? (prefix + kind.pooler).str() : head.dense.str();
  return ("return " + head.out + "(" + head.function + "(" + dense + "(first(T, y))))\n").str();
}

std::string BertWriter::headBody() {
  if (isSentence)
    return (sentence.takesScores ? "let scores = " + tokenScores() + "\n" : "") + sentence.body;
  if (isTask("ForMaskedLM"))
    return "return " + tokenScores() + "\n";
  if (isTask("ForSequenceClassification"))
    return classScores();
  if (isTask("ForTokenClassification"))
    return "return classifier(y)\n";
  if (isTask("ForQuestionAnswering"))
    return "return qa_outputs(y)\n";
  if (isDiscriminator())
    return "return first(O, discriminator_predictions.dense_prediction(" +
           activated("discriminator_predictions.dense(y)") + "))\n";
  if (isColbert)
    return "let v = vectors(y)\nreturn v / max(sqrt(sum(O, v * v)), 1e-12)\n";
  return hasPooler ? ("return y, tanh(" + prefix + kind.pooler + "(first(T, y)))\n").str()
                   : "return y\n";
}

} // namespace attn::importer
