// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/errors holds one spec for each mistake, with what is said about it in its `// CHECK:` lines.
// The syntax errors among them (A00xx, A01xx) are found by the parser alone.
#include "Specs.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace attn::frontend;
using namespace attn::frontend::test;

static bool isSyntaxCode(llvm::StringRef code) {
  return code.starts_with("A00") || code.starts_with("A01");
}

static std::vector<std::string> checkLines(llvm::StringRef text) {
  std::vector<std::string> checks;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines)
    if (line.consume_front("// CHECK: "))
      checks.push_back(line.rtrim().str());
  return checks;
}

TEST(ErrorFiles, EachSyntaxMistakeIsReportedAsItsFileSays) {
  std::error_code failure;
  llvm::StringSet<> seen;
  for (llvm::sys::fs::directory_iterator it(ATTN_SOURCE_DIR "/test/errors", failure), end;
       it != end && !failure; it.increment(failure)) {
    if (llvm::sys::path::extension(it->path()) != ".attn")
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(it->path());
    ASSERT_TRUE(bool(buffer)) << it->path();
    llvm::StringRef text = (*buffer)->getBuffer();
    std::vector<std::string> checks = checkLines(text);
    ASSERT_FALSE(checks.empty()) << it->path();
    llvm::StringRef first = checks.front();
    if (!first.consume_front("error[") || !isSyntaxCode(first))
      continue;
    Parsed parsed(text.str(), llvm::sys::path::filename(it->path()).str());
    std::string errors = parsed.errors();
    size_t at = 0;
    for (const std::string &check : checks) {
      at = errors.find(check, at);
      ASSERT_NE(at, std::string::npos) << it->path() << ": expected\n"
                                       << check << "\nin\n"
                                       << errors;
      at += check.size();
    }
    for (const Diagnostic *diagnostic : parsed.diagnostics.sorted())
      seen.insert(codeText(diagnostic->code));
  }
  // Every code has its file; that of a file too large would be too large.
#define ATTN_DIAGNOSTIC(code, name, meaning)                                                       \
  EXPECT_TRUE(!isSyntaxCode(code) || seen.contains(code) ||                                        \
              DiagCode::name == DiagCode::FileTooLarge)                                            \
      << code;
#include "compiler/frontend/syntax/DiagnosticCodes.def"
}

/// What people copy from must be free of syntax errors, and keep its meaning when formatted.
TEST(Examples, Parse) {
  std::error_code failure;
  unsigned count = 0;
  for (llvm::sys::fs::recursive_directory_iterator it(ATTN_SOURCE_DIR "/examples", failure), end;
       it != end && !failure; it.increment(failure)) {
    if (llvm::sys::path::extension(it->path()) != ".attn")
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(it->path());
    ASSERT_TRUE(bool(buffer)) << it->path();
    Parsed parsed((*buffer)->getBuffer().str(), it->path());
    EXPECT_EQ(parsed.errors(), "");
    EXPECT_EQ(Parsed(parsed.formatted()).formatted(), parsed.formatted()) << it->path();
    ++count;
  }
  EXPECT_GT(count, 0u);
}
