// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_sound_load and attn_sound_read: a sound file to a log-mel spectrogram, or to its samples.
#include "io/File.h"
#include "io/sound/Sound.h"
#include "run/Model.h"
#include <cmath>

using namespace attn;

static constexpr size_t maxFile = 1 << 30;
static constexpr int64_t maxHours = 4;

/// Whether a file begins as WAV files do: RIFF, or RF64 (also called BW64), whose sizes have 64
/// bits.
static bool isWav(const Vector<char> &file) {
  static const char *const names[] = {"RIFF", "RF64", "BW64"};
  for (const char *name : names)
    if (file.size() >= 4 && memcmp(file.data(), name, 4) == 0)
      return true;
  return false;
}

/// Decodes what the first `seconds` of a file hold.
static attn_status decode(const char *path, double seconds, Sound &sound, Error &error) {
  Vector<char> file;
  if (attn_status status = readFile(path, maxFile, file, error))
    return status;
  auto *bytes = reinterpret_cast<const unsigned char *>(file.data());
  char problem[256] = "";
  bool isGood = false;
  if (isWav(file))
    isGood = decodeWav(bytes, file.size(), seconds, sound, problem);
  else if (file.size() >= 4 && memcmp(bytes, "fLaC", 4) == 0)
    isGood = decodeFlac(bytes, file.size(), seconds, sound, problem);
  else
    return error.set(ATTN_BAD_INPUT, "R0303", "`%s` is neither a WAV nor a FLAC file", path);
  if (isGood)
    return ATTN_OK;
  if (!*problem)
    return error.outOfMemory("a sound");
  return error.set(ATTN_BAD_INPUT, "R0302", "the sound `%s` cannot be read: %s", path, problem);
}

/// How an input becomes of a sound; null where it does not.
static const attn_abi_sound *findSpec(const attn_model *model, int32_t entry, int32_t input,
                                      bool hasPlaces, const char *function, Error &error) {
  if (!model || !hasPlaces) {
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "%s: null pointer", function);
    return nullptr;
  }
  const attn_abi_sound *spec = soundOf(*model->tables, entry, input);
  if (!spec)
    error.set(ATTN_NOT_FOUND, "R0102", "input %d of entry %d takes no sound", int(input),
              int(entry));
  return spec;
}

/// What a sound at the rate of `spec` becomes, `frames` of it; false where memory is lacking.
static bool takeSound(const Sound &sound, const attn_abi_sound &spec, int64_t frames,
                      float *values) {
  if (spec.form < ATTN_SOUND_SAMPLES)
    return logMel(sound, spec, frames, values);
  int64_t count = int64_t(sound.samples.size()) < frames ? int64_t(sound.samples.size()) : frames;
  double sum = 0, squares = 0, mean = 0, scale = 1;
  if (spec.form == ATTN_SOUND_UNIT_SAMPLES && count > 0) {
    for (int64_t i = 0; i < count; ++i)
      sum += double(sound.samples[size_t(i)]);
    mean = sum / double(count);
    for (int64_t i = 0; i < count; ++i) {
      double apart = double(sound.samples[size_t(i)]) - mean;
      squares += apart * apart;
    }
    scale = 1 / sqrt(squares / double(count) + 1e-7);
  }
  for (int64_t i = 0; i < frames; ++i)
    values[i] = i < count ? float((double(sound.samples[size_t(i)]) - mean) * scale) : 0;
  return true;
}

static attn_status loadSound(const attn_abi_sound &spec, const char *path, float *values,
                             Error &error) {
  Sound sound, resampled;
  if (!spec.frames) {
    error.set(ATTN_INVALID_ARGUMENT, "R0101",
              "attn_sound_load: this input has no length of its own");
    error.help("attn_sound_read reads all of a sound");
    return error.status;
  }
  // A second more than is heard: resampling looks ahead by some hundredths of one.
  double seconds = double(spec.frames) * spec.hop / spec.rate + 1;
  if (attn_status status = decode(path, seconds, sound, error))
    return status;
  size_t most = size_t(spec.frames) * size_t(spec.hop) + size_t(spec.fft);
  if (!resample(sound, spec.rate, most, resampled) ||
      !takeSound(resampled, spec, spec.frames, values))
    return error.outOfMemory("a sound");
  return ATTN_OK;
}

static attn_status readSound(const attn_abi_sound &spec, const char *path, float **values,
                             int64_t *count, Error &error) {
  Sound sound, resampled;
  if (attn_status status = decode(path, maxHours * 3600, sound, error))
    return status;
  int64_t most = maxHours * 3600 * sound.rate;
  if (most = most < maxSamples ? most : maxSamples; int64_t(sound.samples.size()) > most) {
    error.set(ATTN_BAD_INPUT, "R0302",
              "the sound `%s` is longer than %.3g hours, the most of its rate", path,
              double(most) / 3600 / double(sound.rate));
    error.help("cut it into parts");
    return error.status;
  }
  if (!resample(sound, spec.rate, SIZE_MAX / 2, resampled))
    return error.outOfMemory("a sound");
  // Of samples that are as many as the input has, no more are taken.
  if (spec.form >= ATTN_SOUND_SAMPLES && spec.frames &&
      int64_t(resampled.samples.size()) > spec.frames &&
      !resampled.samples.resize(size_t(spec.frames)))
    return error.outOfMemory("a sound");
  *count = int64_t(resampled.samples.size()) / spec.hop;
  int64_t all = *count + spec.frames;
  *values = static_cast<float *>(malloc(size_t(spec.bands * all + 1) * sizeof(float)));
  if (*values && takeSound(resampled, spec, all, *values))
    return ATTN_OK;
  free(*values);
  *values = nullptr;
  return error.outOfMemory("a sound");
}

extern "C" attn_status attn_sound_load(const attn_model *model, int32_t entry, int32_t input,
                                       const char *path, float *values, char **message) {
  Error error;
  if (auto *spec = findSpec(model, entry, input, path && values, "attn_sound_load", error))
    loadSound(*spec, path, values, error);
  return error.report(message);
}

extern "C" attn_status attn_sound_read(const attn_model *model, int32_t entry, int32_t input,
                                       const char *path, float **values, int64_t *count,
                                       char **message) {
  Error error;
  if (auto *spec = findSpec(model, entry, input, path && values && count, "attn_sound_read", error))
    readSound(*spec, path, values, count, error);
  return error.report(message);
}
