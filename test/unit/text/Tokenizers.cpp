// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tokenizers.h"

std::string attn::test::byteLevel() {
  std::string vocabulary;
  int moved = 0x100;
  for (int byte = 0; byte < 255; ++byte) {
    bool isPrintable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    int c = isPrintable ? byte : moved++;
    char escaped[16];
    snprintf(escaped, sizeof escaped, "\"\\u%04x\": %d, ", c, byte);
    vocabulary += escaped;
  }
  return R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
             "decoder": {"type": "ByteLevel"},
             "model": {"type": "BPE", "vocab": {)" +
         vocabulary + R"("aa": 255}, "merges": ["a a"]}})";
}
