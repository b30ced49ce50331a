// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data into the page's two markers: the table for browsers without JavaScript, and JSON.
#include "Page.h"

#include "ExplanationText.h"
#include "tools/attn/support/Files.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

using namespace llvm;

namespace attn::tool {

std::string pageWithoutData() {
  static int inThisProgram;
  SmallString<128> path(sys::fs::getMainExecutable(nullptr, &inThisProgram));
  sys::path::remove_filename(path);
  sys::path::append(path, "..", "share", "attn", "explore.html");
  return sys::fs::exists(path) ? path.str().str() : std::string();
}

/// JSON in a script of a page: nothing in it may look like the script's end.
static std::string scriptText(const json::Value &value) {
  std::string text, escaped;
  raw_string_ostream(text) << value;
  for (char c : text)
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  return escaped;
}

static std::string escaped(StringRef text) {
  std::string html;
  raw_string_ostream stream(html);
  printHTMLEscaped(text, stream);
  return html;
}

/// The code of a kernel as a script that nothing runs.
static std::string codeScript(size_t explanation, StringRef target, const json::Object &kernel) {
  std::string text;
  raw_string_ostream(text) << json::Value(json::Array(*kernel.getArray("code")));
  SmallVector<uint8_t> compressed;
  compression::zlib::compress(arrayRefFromStringRef(text), compressed,
                              compression::zlib::BestSizeCompression);
  return fmt::format("<script type=\"text/plain\" class=\"attn-code\" data-explanation=\"{}\" "
                     "data-target=\"{}\" data-function=\"{}\">{}</script>\n",
                     explanation, escaped(target), escaped(memberText(kernel, "function")),
                     encodeBase64(compressed));
}

/// The kernels of a target as rows.
static std::string tableOf(const json::Object &explanation, const json::Object &target) {
  std::string rows =
      fmt::format("<h2>{} for {}</h2>\n<table>\n<tr><th>kernel<th>place<th>operations<th>bytes"
                  "<th>milliseconds<th>what was done</tr>\n",
                  escaped(memberText(explanation, "spec")), escaped(memberText(target, "name")));
  auto number = [](const json::Object &kernel, StringRef member, double scale) {
    auto known = kernel.getNumber(member);
    return known ? fmt::format("{:.6g}", *known * scale) : std::string();
  };
  for (const json::Object *kernel : objects(target.getArray("kernels")))
    rows += fmt::format(
        "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}</tr>\n", escaped(memberText(*kernel, "function")),
        escaped(memberText(*kernel, "at")), number(*kernel, "flop", 1), number(*kernel, "bytes", 1),
        number(*kernel, "seconds", 1e3), escaped(memberText(*kernel, "text")));
  return rows + "</table>\n";
}

std::string fillPage(StringRef page, std::vector<json::Object> explanations,
                     std::optional<json::Object> difference) {
  std::string table, code;
  for (size_t i = 0; i < explanations.size(); ++i)
    for (json::Value &value : *explanations[i].getArray("targets")) {
      json::Object &target = *value.getAsObject();
      table += tableOf(explanations[i], target);
      for (json::Value &ofKernel : *target.getArray("kernels")) {
        json::Object &kernel = *ofKernel.getAsObject();
        if (!kernel.getArray("code"))
          continue;
        code += codeScript(i, memberText(target, "name"), kernel);
        kernel.erase("code");
      }
    }
  json::Array own;
  for (json::Object &explanation : explanations)
    own.push_back(std::move(explanation));
  json::Object data{{"explanations", std::move(own)}, {"diff", nullptr}};
  if (difference)
    data["diff"] = std::move(*difference);
  // Each marker stands once. What replaces one is not looked through for the next.
  auto [head, behindTable] = page.split("@TABLE@");
  auto [middle, behindData] = behindTable.split("@DATA@");
  auto [body, tail] = behindData.split("@CODE@");
  return (head + table + middle + scriptText(std::move(data)) + body + code + tail).str();
}

} // namespace attn::tool
