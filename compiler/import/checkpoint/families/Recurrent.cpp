// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders without attention, all of whose layers are one recurrence: Mamba and Mamba 2. Nothing is
// kept of a text but the states of the layers, so that it may have any length; a call takes a piece
// of it.
#include "compiler/import/checkpoint/families/llama/Mixer.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

namespace {
/// A family: its mixer, and whether its class ties the scores to the embedding unless told.
struct RecurrentKind {
  StringRef type;
  LlamaMixer mixer;
  bool isTied;
};

/// Writes one model.
class RecurrentWriter {
public:
  RecurrentWriter(FamilyWriter &writer, const RecurrentKind &kind)
      : writer(writer), config(writer.config), os(writer.os), kind(kind) {}
  void write();

private:
  void writeEntries();
  /// An entry that takes `ids` and makes `y` of what the layers give.
  void writeEntry(StringRef name, StringRef ids, StringRef tokens, StringRef type, StringRef y);

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  const RecurrentKind &kind;
  std::string prefix, table;
  LayerMixer mixer;
  bool hasHead = false;
};
} // namespace

static constexpr RecurrentKind kinds[] = {
    {"mamba", LlamaMixer::Selective, true},
    {"falcon_mamba", LlamaMixer::NormedSelective, true},
    {"mamba2", LlamaMixer::PureMamba, false},
};

void RecurrentWriter::writeEntry(StringRef name, StringRef ids, StringRef tokens, StringRef type,
                                 StringRef y) {
  os << "entry " << name << "(" << ids << ") -> " << (hasHead ? "scores" : "y") << ": " << type
     << mixer.results() << " {\nlet y" << mixer.names("next_") << " = " << prefix << "layers("
     << tokens << mixer.names() << ")\nreturn " << (hasHead ? "lm_head(" : "") << prefix
     << "norm_f(" << y << ")" << (hasHead ? ")" : "") << mixer.names("next_") << "\n}\n";
}

void RecurrentWriter::writeEntries() {
  std::string all = table + "(ids)";
  writeEntry(hasHead ? "scores" : "encode", "ids: i32[B, T]", all,
             hasHead ? "[B, T, V]" : "[B, T, D]", "y");
  if (!hasHead)
    return;
  writeEntry("prefill", "ids: i32[B, T]", all, "[B, V]", "last(T, y)");
  writeEntry("decode", "token: i32[B]", "split(" + table + "(token), \"b d -> b 1 d\")", "[B, V]",
             "first(1, y)");
  os << "entry generate = unfold(prefill, decode" << generationSettings(writer, 4096) << ")\n";
}

void RecurrentWriter::write() {
  if (writer.task != "ForCausalLM" && !writer.task.empty())
    config.refuse("architectures", "a model `…ForCausalLM`, or one without a head");
  if (writer.folder.isSentence())
    config.refuse("architectures", "no sentence encoder: recurrences see what was");
  hasHead = writer.task == "ForCausalLM";
  for (StringRef before : {"", "backbone."})
    for (StringRef name : {"embedding", "embeddings"})
      if (table.empty() || writer.folder.has((before + name + ".weight").str()))
        prefix = before.str(), table = (before + name).str();
  double eps = config.number("layer_norm_epsilon", 1e-5);
  mixer = readMixer(mixerForm(kind.mixer), {writer, kind.mixer, eps, [&](StringRef x) {
                                              return activation(config, "hidden_act", "silu", x);
                                            }});
  bool isTied = config.flag("tie_word_embeddings", kind.isTied);
  os << "model " << writer.model << " {\ndim D = " << config.size("hidden_size")
     << ", L = " << config.size("num_hidden_layers") << ", V = " << config.size("vocab_size")
     << "  // width, layers, tokens\n"
     << mixer.dims << "dyn B <= 32, T <= 4096\nstate " << StringRef(mixer.results()).drop_front(2)
     << "  // of each layer\n\nembedding " << table << ": V -> D\nstack " << prefix
     << "layers: L of Layer\nrmsnorm " << prefix << "norm_f: D eps " << numberText(eps) << '\n';
  if (hasHead)
    os << "linear lm_head: D -> V" << (isTied ? " = tied(" + table + ")" : "") << '\n';
  if (writer.folder.has("lm_head.weight") && (!hasHead || isTied))
    os << "ignore \"lm_head.weight\"  // "
       << (hasHead ? "the same numbers as the embedding\n" : "no result needs it\n");
  os << '\n'
     << mixer.text << "block Layer[T](x: [B, T, D]" << mixer.parameters() << ") -> [B, T, D]"
     << mixer.types() << " {\nrmsnorm norm: D eps " << numberText(eps)
     << "\npart mixer: " << mixer.called() << "\n"
     << "let mixed" << mixer.names("next_") << " = mixer(norm(x)" << mixer.names()
     << ")\nreturn x + mixed" << mixer.names("next_") << "\n}\n\n";
  writeEntries();
  os << "}\n";
}

static void writeRecurrent(FamilyWriter &writer) {
  RecurrentWriter(
      writer, *find_if(kinds, [&](const RecurrentKind &kind) { return kind.type == writer.type; }))
      .write();
}

const Family familyRecurrent = {"mamba falcon_mamba mamba2", writeRecurrent};

} // namespace attn::importer
