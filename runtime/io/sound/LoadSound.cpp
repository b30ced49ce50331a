// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_sound_load and attn_sound_read: a sound file to a log-mel spectrogram.
#include "io/File.h"
#include "io/sound/Sound.h"

using namespace attn;

static constexpr size_t kMaxFile = 1 << 30;
static constexpr int32_t kMaxBands = 256;
static constexpr int64_t kMaxHours = 4;

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

static attn_status checkBands(const char *function, int32_t bands, Error &error) {
  if (bands >= 1 && bands <= kMaxBands)
    return ATTN_OK;
  return error.set(ATTN_INVALID_ARGUMENT, "R0101", "%s: %d bands, not 1 to %d", function,
                   int(bands), int(kMaxBands));
}

static attn_status loadSound(const char *path, int32_t bands, float *values, Error &error) {
  if (!path || !values)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_sound_load: null pointer");
  Sound sound, resampled;
  if (checkBands("attn_sound_load", bands, error) || decode(path, sound, error))
    return error.status;
  if (!resample(sound, kMelRate, size_t(kMelFrames * kMelHop), resampled) ||
      !logMel(resampled, bands, kMelFrames, values))
    return error.outOfMemory("a sound");
  return ATTN_OK;
}

static attn_status readSound(const char *path, int32_t bands, float **values, int64_t *frames,
                             Error &error) {
  if (!path || !values || !frames)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_sound_read: null pointer");
  Sound sound, resampled;
  if (checkBands("attn_sound_read", bands, error) || decode(path, sound, error))
    return error.status;
  if (int64_t(sound.samples.size()) > kMaxHours * 3600 * sound.rate) {
    error.set(ATTN_BAD_INPUT, "R0302", "the sound `%s` is longer than %d hours", path,
              int(kMaxHours));
    error.help("cut it into parts");
    return error.status;
  }
  if (!resample(sound, kMelRate, SIZE_MAX, resampled))
    return error.outOfMemory("a sound");
  *frames = int64_t(resampled.samples.size()) / kMelHop;
  int64_t all = *frames + kMelFrames;
  *values = static_cast<float *>(malloc(size_t(bands * all) * sizeof(float)));
  if (*values && logMel(resampled, bands, all, *values))
    return ATTN_OK;
  free(*values);
  *values = nullptr;
  return error.outOfMemory("a sound");
}

extern "C" attn_status attn_sound_load(const char *path, int32_t bands, float *values,
                                       char **message) {
  Error error;
  loadSound(path, bands, values, error);
  return error.report(message);
}

extern "C" attn_status attn_sound_read(const char *path, int32_t bands, float **values,
                                       int64_t *frames, char **message) {
  Error error;
  readSound(path, bands, values, frames, error);
  return error.report(message);
}
