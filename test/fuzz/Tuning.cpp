// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of measured choices: what was read is written, and read to the same again.
#include "compiler/transforms/Tuning.h"
#include "Targets.h"

using attn::Tuning;

void attn::fuzz::tuning(const uint8_t *data, size_t size) {
  auto read = Tuning::parse({reinterpret_cast<const char *>(data), size});
  if (!read) {
    require(!llvm::toString(read.takeError()).empty(), "an error without words");
    return;
  }
  std::string text = read->print();
  auto again = Tuning::parse(text);
  require(static_cast<bool>(again), "what was written cannot be read");
  require(again->print() == text, "reading changes what was written");
  (void)read->choicesFor("AMD EPYC 9R14");
}
