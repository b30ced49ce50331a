// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_sound_load: a sound file to a log-mel spectrogram.
#include "io/File.h"
#include "io/sound/Sound.h"

using namespace attn;

static constexpr size_t kMaxFile = 1 << 30;
static constexpr int32_t kMaxBands = 256;

static attn_status decode(const char *path, Sound &sound, Error &error) {
  Vector<char> file;
  if (attn_status status = readFile(path, kMaxFile, file, error))
    return status;
  auto *bytes = reinterpret_cast<const unsigned char *>(file.data());
  char problem[256] = "";
  bool isGood = false;
  if (file.size() >= 4 && memcmp(bytes, "RIFF", 4) == 0)
    isGood = decodeWav(bytes, file.size(), sound, problem);
  else if (file.size() >= 4 && memcmp(bytes, "fLaC", 4) == 0)
    isGood = decodeFlac(bytes, file.size(), sound, problem);
  else
    return error.set(ATTN_BAD_INPUT, "R0303", "`%s` is neither a WAV nor a FLAC file", path);
  if (isGood)
    return ATTN_OK;
  return error.set(ATTN_BAD_INPUT, "R0302", "the sound `%s` cannot be read: %s", path, problem);
}

static attn_status loadSound(const char *path, int32_t bands, float *values, Error &error) {
  if (!path || !values)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_sound_load: null pointer");
  if (bands < 1 || bands > kMaxBands)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_sound_load: %d bands, not 1 to %d",
                     int(bands), int(kMaxBands));
  Sound sound, resampled;
  if (attn_status status = decode(path, sound, error))
    return status;
  if (!resample(sound, kMelRate, size_t(kMelFrames * kMelHop), resampled) ||
      !logMel(resampled, bands, values))
    return error.outOfMemory("a sound");
  return ATTN_OK;
}

extern "C" attn_status attn_sound_load(const char *path, int32_t bands, float *values,
                                       char **message) {
  Error error;
  loadSound(path, bands, values, error);
  return error.report(message);
}
