// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sounds: decoded and resampled. A few samples show what many would.
#include "io/sound/Sound.h"
#include "Targets.h"

#include <cstring>

void attn::fuzz::sound(const uint8_t *data, size_t size) {
  Sound sound, resampled;
  char problem[256] = "";
  bool isFlac = size >= 4 && memcmp(data, "fLaC", 4) == 0;
  if (!(isFlac ? decodeFlac : decodeWav)(data, size, 10, sound, problem)) {
    require(problem[0] != 0, "an error without words");
    return;
  }
  require(resample(sound, 16000, 50, resampled), "no memory");
  [[maybe_unused]] static volatile float sink;
  for (float sample : resampled.samples)
    sink = sample;
}
