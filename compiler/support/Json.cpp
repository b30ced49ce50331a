// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON by LLVM's parser, which recurses: texts with deeper brackets than its stack bears are
// refused first.
#include "compiler/support/Json.h"

namespace attn {

static constexpr int deepestBrackets = 64;

/// Brackets in strings do not count.
static bool isTooDeep(llvm::StringRef text) {
  int depth = 0;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"')
      isString = !isString;
    else if (isString)
      i += c == '\\';
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (depth > deepestBrackets)
      return true;
  }
  return false;
}

llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text) {
  if (isTooDeep(text))
    return llvm::createStringError("brackets stand too deep in each other");
  return llvm::json::parse(text);
}

} // namespace attn
