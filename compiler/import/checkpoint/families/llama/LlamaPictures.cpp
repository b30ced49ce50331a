// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder in Llama's form whose prompts have pictures: the entries that take their rows in the
// place of tokens.
#include "compiler/import/checkpoint/families/llama/Llama.h"

using namespace llvm;

namespace attn::importer {

std::string LlamaWriter::pictureNames() const {
  std::string names = isPlaced() ? ", phase" : "";
  names += eyes && eyes->deep ? ", more" : "";
  return names + (eyes ? eyes->spanNames() : "");
}

std::string LlamaWriter::pictureParameters() const {
  std::string names = isPlaced() ? ", phase: [B, T, AP]" : "";
  names += eyes && eyes->deep ? ", more: [B, T, D, DR]" : "";
  return names + (eyes ? eyes->spanParameters() : "");
}

std::string LlamaWriter::withDeepRows(const std::string &made) const {
  if (!eyes || !eyes->deep)
    return made;
  os << "let z = " << made << '\n';
  std::string text;
  for (int64_t layer = 0; layer < eyes->deep; ++layer)
    text += "if deep" + std::to_string(layer) + " then z + pick(more, DR at " +
            std::to_string(layer) + ") else ";
  return "(" + text + "z)";
}

void LlamaWriter::writeTextBlocks(StringRef given) {
  os << "block Text[T](x: [B, T, D]" << pictureParameters() << mixer.results()
     << ", kv: cache) -> [B, T, V]" << mixer.resultTypes() << " {\nlet y" << mixer.names("next_")
     << " = " << prefix << "layers(x, kv" << mixer.names() << pictureNames() << ")\n"
     << scoresOf(norms.of(lastNorm, "y")) << "}\n\n"
     << "// Tokens of text are embedded, those of pictures are rows that the encoder has given.\n"
     << "block Read[T](" << given << mixer.results() << ", kv: cache) -> [B, T, V]"
     << mixer.resultTypes() << " {\n"
     << "let row = min(max(picked, 0), Rows - 1)\n";
  std::string rows = "pick(seen, Rows at row)",
              first = eyes->deep ? "pick(" + rows + ", PR at 0)" : rows;
  os << "let x = if repeat(picked, D) < 0 then " << embeddedTokens("ids") << " else " << first
     << '\n';
  if (isPlaced())
    os << "let turns = repeat(float(at), AP) * speed\n"
       << "let phase = if kind_of == 0 then pick(turns, AK at 0) else if kind_of == 1 then "
          "pick(turns, AK at 1) else pick(turns, AK at 2)\n";
  if (eyes->deep)
    os << "let more = if repeat(picked, D, DR) < 0 then 0 else slice(" << rows
       << ", PR from 1 to PR as DR)\n";
  os << "return Text(x" << pictureNames() << mixer.names() << ", kv)\n}\n\n";
}

void LlamaWriter::writePictureEntries() {
  std::string given = "ids: i32[B, T], seen: [Rows, D" + std::string(eyes->deep ? ", PR" : "") +
                      "], picked: i32[B, T]" + (isPlaced() ? ", at: i32[AK, B, T]" : "") +
                      eyes->spanParameters(),
              passed = "(ids, seen, picked" + std::string(isPlaced() ? ", at" : "") +
                       eyes->spanNames() + mixer.names() + ", kv)",
              scores = mixer.states.empty() ? "[B, T, V]" : "scores: [B, T, V]" + mixer.results();
  os << eyes->text << '\n';
  writeTextBlocks(given);
  os << "entry scores[T](" << given << ", kv: cache) -> " << scores << " = Read" << passed << '\n'
     << "entry prefill[T](" << given << ", kv: cache) -> scores: [B, V]" << mixer.results();
  if (mixer.states.empty())
    os << " = last(T, Read" << passed << ")\n";
  else
    os << " {\nlet y" << mixer.names("next_") << " = Read" << passed << "\nreturn last(T, y)"
       << mixer.names("next_") << "\n}\n";
  os << "forward[T](token: i32[B, T]" << (isPlaced() ? ", behind: i32[B]" : "")
     << ", kv: cache) -> " << scores << " {\n"
     << "let x = " << embeddedTokens("token") << '\n';
  if (isPlaced())
    os << "let phase = repeat(float(repeat(behind, T) + positions(T)), AP) * speed\n";
  if (eyes->isPrefix)
    os << "let final = first(T, 0 * token) - 1\n";
  else if (eyes->isWhole)
    os << "let since = 0 * token + positions(T)\nlet until = since\n";
  if (eyes->deep)
    os << "let more = 0 * float(repeat(token, D, DR))\n";
  os << "return Text(x" << pictureNames() << mixer.names() << ", kv)\n}\n";
  writeGenerationWithPictures(writer, capacity);
  os << "}\n";
}

} // namespace attn::importer
