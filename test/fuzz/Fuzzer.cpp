// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One of the readers as libFuzzer wants it: ATTN_FUZZ_TARGET.
#include "Targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  attn::fuzz::ATTN_FUZZ_TARGET(data, size);
  return 0;
}

/// LLVM's allocators are inlined here and there: their marks of what is free would be those of the
/// instrumented half alone.
extern "C" const char *__asan_default_options() { // NOLINT(bugprone-reserved-identifier)
  return "allow_user_poisoning=0:allocator_may_return_null=1:quarantine_size_mb=32";
}
