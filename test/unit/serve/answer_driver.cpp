// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers in the formats of models, as JSON, a line each: {"template": ..., "tools": [...],
// "prompt": ..., "pieces": [...]}. What they are of, as JSON: {"format": ..., "thoughts": ...,
// "parts": [[kind, text, name, id], ...]}; neighbours of one kind are one part.
#include "base/Json.h"
#include "serve/AnswerReader.h"

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace {
using namespace attn;

struct Piece {
  int kind;
  std::string text, name, id;
};

std::string quoted(const std::string &text) {
  Vector<char> json;
  appendJsonString(Slice(text.data(), text.size()), json);
  return {json.data(), json.size()};
}

std::string textOf(JsonValue value) {
  return value.isSet() ? std::string(value.text().data, value.text().size) : std::string();
}

bool take(void *user, const AnswerPart &part) {
  auto &parts = *static_cast<std::vector<Piece> *>(user);
  std::string text(part.text.data ? part.text.data : "", part.text.size);
  if (part.kind != AnswerPart::Call && !parts.empty() && parts.back().kind == part.kind) {
    parts.back().text += text;
    return true;
  }
  parts.push_back({part.kind, text,
                   std::string(part.name.data ? part.name.data : "", part.name.size),
                   std::string(part.id.data ? part.id.data : "", part.id.size)});
  return true;
}
} // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    JsonTree tree;
    if (!tree.read(Slice(line.data(), line.size())))
      return fprintf(stderr, "no JSON: %s\n", tree.problem), 1;
    std::string chatTemplate = textOf(tree.root().find("template")),
                prompt = textOf(tree.root().find("prompt")),
                list = textOf(tree.root().find("tools"));
    ToolList tools;
    if (!list.empty() && !tools.read(Slice(list.data(), list.size())))
      return fprintf(stderr, "no tools\n"), 1;
    const AnswerFormat *format = findAnswerFormat(Slice(chatTemplate.data(), chatTemplate.size()));
    const ThoughtMarks *thoughts =
        findThoughtMarks(Slice(chatTemplate.data(), chatTemplate.size()));
    std::vector<Piece> parts;
    AnswerReader reader(format, thoughts, tools, {&parts, take});
    reader.begin(Slice(prompt.data(), prompt.size()));
    for (JsonValue piece = tree.root().find("pieces").first(); piece.exists();
         piece = piece.next()) {
      std::string text = textOf(piece);
      // A copy of its own, so that a sanitizer sees what is read behind its end.
      std::vector<char> own(text.begin(), text.end());
      reader.add(Slice(own.data(), own.size()));
    }
    reader.finish();
    std::string out = "{\"format\": " + (format ? quoted(format->name) : "null") +
                      ", \"thoughts\": " + (thoughts ? quoted(thoughts->begin) : "null") +
                      ", \"parts\": [";
    for (size_t i = 0; i < parts.size(); ++i)
      out += (i ? ", [" : "[") + std::to_string(parts[i].kind) + ", " + quoted(parts[i].text) +
             ", " + quoted(parts[i].name) + ", " + quoted(parts[i].id) + "]";
    puts((out + "]}").c_str());
  }
}
