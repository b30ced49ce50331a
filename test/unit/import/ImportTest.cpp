// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX files that are cut off or changed: an import ends with a spec that can be read, or with an
// error that says why not.
#include "compiler/import/Import.h"
#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <random>

using namespace attn;

constexpr unsigned seed = 20261121;

/// The models of the conformance cases, in the order of their names.
static std::vector<std::string> models() {
  std::vector<std::string> paths, texts;
  std::error_code error;
  std::string folder = ATTN_SOURCE_DIR "/test/conformance/onnx-attention";
  for (llvm::sys::fs::directory_iterator i(folder, error), end; i != end && !error;
       i.increment(error))
    if (llvm::sys::fs::exists(i->path() + "/model.onnx"))
      paths.push_back(i->path() + "/model.onnx");
  std::sort(paths.begin(), paths.end());
  for (const std::string &path : paths)
    if (auto buffer = llvm::MemoryBuffer::getFile(path))
      texts.push_back((*buffer)->getBuffer().str());
  return texts;
}

/// Graphs of whole transformers.
static std::vector<std::string> transformers() {
  std::vector<std::string> texts;
  for (const char *name : {"bert", "gpt2", "standard", "vit-split"})
    if (auto buffer = llvm::MemoryBuffer::getFile(
            std::string(ATTN_SOURCE_DIR "/test/fuzz/Inputs/corpus/onnx/") + name))
      texts.push_back((*buffer)->getBuffer().str());
  return texts;
}

/// Whether these bytes were imported.
static bool imports(llvm::StringRef bytes) {
  auto spec = importer::importOnnx(bytes);
  if (!spec) {
    llvm::handleAllErrors(spec.takeError(), [](const importer::ImportError &error) {
      EXPECT_FALSE(error.message.empty());
    });
    return false;
  }
  frontend::SourceFile source("<import>", spec->text);
  frontend::DiagnosticEngine diagnostics(source);
  auto file = frontend::parse(source, diagnostics);
  EXPECT_FALSE(diagnostics.hasErrors()) << spec->text;
  if (!diagnostics.hasErrors())
    EXPECT_EQ(frontend::format(*file, source), spec->text);
  return true;
}

TEST(Import, ReadsTheConformanceCases) {
  std::vector<std::string> texts = models();
  ASSERT_GE(texts.size(), 60u);
  for (const std::string &text : texts)
    EXPECT_TRUE(imports(text));
}

TEST(Import, ReadsTransformers) {
  std::vector<std::string> texts = transformers();
  ASSERT_EQ(texts.size(), 4u);
  for (const std::string &text : texts) {
    EXPECT_TRUE(imports(text));
    for (size_t length = 0; length < text.size(); length += 101)
      imports(llvm::StringRef(text).take_front(length));
  }
}

TEST(Import, SaysWhyATruncatedFileIsNone) {
  for (const std::string &text : models())
    for (size_t length = 0; length < text.size(); ++length)
      imports(llvm::StringRef(text).take_front(length));
}

TEST(Import, SaysWhyAChangedFileIsNone) {
  std::mt19937 random(seed);
  unsigned good = 0, bad = 0;
  std::vector<std::string> texts = models();
  llvm::append_range(texts, transformers());
  for (const std::string &text : texts)
    for (unsigned round = 0; round < 200; ++round) {
      std::string broken = text;
      for (unsigned edits = 1 + random() % 4; edits; --edits) {
        size_t at = random() % broken.size();
        switch (random() % 3) {
        case 0:
          broken[at] = static_cast<char>(random());
          break;
        case 1:
          broken.erase(at, 1 + random() % 8);
          break;
        default:
          broken.insert(at, 1 + random() % 8, static_cast<char>(random()));
        }
        if (broken.empty())
          broken = "x";
      }
      ++(imports(broken) ? good : bad);
    }
  // A changed name or size may leave a model that means something.
  EXPECT_GT(good, 0u);
  EXPECT_GT(bad, 0u);
}
