// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembly to instructions with their places, and these to lines.
#include "KernelCode.h"

#include "ExplanationText.h"
#include "dialect/AttnDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <map>

using namespace llvm;

namespace attn::tool {

/// The strings in quotes of a directive.
static SmallVector<StringRef> quoted(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, '"');
  SmallVector<StringRef> strings;
  for (size_t i = 1; i < parts.size(); i += 2)
    strings.push_back(parts[i]);
  return strings;
}

/// The term of an attention that a `.loc` says; empty where it says none.
static StringRef partOf(ArrayRef<StringRef> loc) {
  const StringRef *name = find(loc, "discriminator");
  unsigned number = 0;
  if (name == loc.end() || name + 1 == loc.end() || (name + 1)->getAsInteger(10, number))
    return "";
  std::optional<AttentionTerm> term = symbolizeAttentionTerm(number);
  return term ? stringifyAttentionTerm(*term) : "";
}

StringMap<json::Array> readCode(StringRef assembly) {
  StringMap<json::Array> functions;
  std::map<std::string, std::string> files; // by their numbers
  std::string at;
  StringRef part;
  json::Array *code = nullptr; // of the function
  while (!assembly.empty()) {
    StringRef line;
    std::tie(line, assembly) = assembly.split('\n');
    StringRef text = line.split("//").first.split("# ").first.rtrim(); // of AArch64 and x86
    SmallVector<StringRef> words;
    SplitString(text, words);
    if (words.empty())
      continue;
    if (words[0] == ".file" && words.size() > 2) {
      std::string path;
      for (StringRef part : quoted(text))
        path += (path.empty() || part.empty() ? "" : "/") + part.str();
      files[words[1].str()] = path;
    } else if (words[0] == ".loc" && words.size() > 3) {
      at = files[words[1].str()] + ":" + words[2].str() + ":" + words[3].str();
      part = partOf(words);
    } else if (words[0].starts_with(".Lfunc_end") || words[0] == ".section") {
      code = nullptr;
    } else if (words[0].ends_with(":")) {
      StringRef label = words[0].drop_back();
      if (!label.starts_with(".L"))
        code = &functions[label];
      else if (code && label.starts_with(".LBB"))
        code->push_back(json::Object{{"label", label.str()}});
    } else if (code && isAlpha(words[0][0])) {
      json::Object instruction{{"at", at}, {"text", join(words, " ")}};
      if (!part.empty())
        instruction["part"] = part;
      code->push_back(std::move(instruction));
    }
  }
  return functions;
}

/// "vit.attn:23" of "vit.attn:23:16".
static std::string lineOf(StringRef at) { return at.rsplit(':').first.str(); }

/// The text of a line of the spec, or of what it uses, without the spaces in front.
static std::string sourceOf(const json::Object &explanation, StringRef line) {
  auto [file, number] = line.rsplit(':');
  unsigned wanted = 0;
  if (number.getAsInteger(10, wanted) || wanted == 0)
    return "";
  for (const json::Object *source : objects(explanation.getArray("sources"))) {
    if (memberText(*source, "file") != file)
      continue;
    SmallVector<StringRef> lines;
    memberText(*source, "text").split(lines, '\n');
    return wanted <= lines.size() ? lines[wanted - 1].trim().str() : "";
  }
  return "";
}

bool printCode(const json::Object &explanation, const json::Object &kernel, StringRef only,
               raw_ostream &stream) {
  std::vector<const json::Object *> code = objects(kernel.getArray("code"));
  std::map<std::string, int64_t> counts;
  int64_t all = 0;
  for (const json::Object *instruction : code)
    if (instruction->get("text"))
      ++counts[lineOf(memberText(*instruction, "at"))], ++all;
  auto isWanted = [&](StringRef line) {
    return only.empty() || line == only || line.ends_with((":" + only).str()) ||
           line.ends_with(("/" + only).str());
  };
  std::vector<std::pair<int64_t, std::string>> lines;
  for (auto &[line, count] : counts)
    lines.push_back({-count, line});
  sort(lines);
  stream << all << " instructions, by the lines of the spec that they come from\n";
  for (auto &[count, line] : lines)
    stream << fmt::format("  {:5.1f} % {:7}  {:<28} {}\n", -100.0 * double(count) / double(all),
                          -count, line, sourceOf(explanation, line));
  std::string last;
  bool isAny = false;
  for (const json::Object *instruction : code) {
    std::string line = lineOf(memberText(*instruction, "at"));
    if (StringRef label = memberText(*instruction, "label"); !label.empty()) {
      if (only.empty())
        stream << label << ":\n", last.clear();
      continue;
    }
    if (!isWanted(line))
      continue;
    if (line != last)
      stream << line << ": " << sourceOf(explanation, line) << '\n';
    last = line;
    isAny = true;
    stream << "    " << memberText(*instruction, "text") << '\n';
  }
  stream.flush();
  return isAny;
}

} // namespace attn::tool
