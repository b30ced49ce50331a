// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WAV: a RIFF file, or one of RF64, whose chunk `fmt ` says how the samples of its chunk `data` are
// stored.
#include "io/sound/Sound.h"
#include <cstdio>

using namespace attn;

namespace {
/// The chunk `fmt `.
struct Format {
  uint32_t kind = 0, channels = 0, rate = 0, bits = 0;
};
} // namespace

static constexpr uint32_t wholeFormat = 1, floatFormat = 3, extensibleFormat = 0xfffe;

static uint32_t littleEndian(const unsigned char *bytes, size_t count) {
  uint32_t value = 0;
  for (size_t i = count; i-- > 0;)
    value = value << 8 | bytes[i];
  return value;
}

static bool fail(char *problem, const char *text) {
  snprintf(problem, 256, "%s", text);
  return false;
}

static bool readFormat(const unsigned char *bytes, size_t size, Format &format, char *problem) {
  if (size < 16)
    return fail(problem, "its chunk `fmt ` is too short");
  format.kind = littleEndian(bytes, 2);
  format.channels = littleEndian(bytes + 2, 2);
  format.rate = littleEndian(bytes + 4, 4);
  format.bits = littleEndian(bytes + 14, 2);
  // Then the kind begins an identifier of 16 bytes.
  if (format.kind == extensibleFormat && size >= 26)
    format.kind = littleEndian(bytes + 24, 2);
  if (format.channels == 0)
    return fail(problem, "it has no channels");
  if (format.rate < minRate || format.rate > maxRate) {
    snprintf(problem, 256, "its rate is %u Hz, not between %d and %d", format.rate, int(minRate),
             int(maxRate));
    return false;
  }
  uint32_t bits = format.bits;
  bool isRead = format.kind == wholeFormat
                    ? bits == 8 || bits == 16 || bits == 24 || bits == 32
                    : format.kind == floatFormat && (bits == 32 || bits == 64);
  if (isRead)
    return true;
  snprintf(problem, 256,
           "it is of format %u with %u bits; read are whole numbers of 8, 16, 24 and 32 bits "
           "(format 1) and floats of 32 and 64 (format 3)",
           format.kind, bits);
  return false;
}

static double readSample(const unsigned char *at, const Format &format) {
  if (format.kind == floatFormat && format.bits == 64) {
    double value;
    memcpy(&value, at, sizeof value);
    return value;
  }
  if (format.kind == floatFormat) {
    float value;
    memcpy(&value, at, sizeof value);
    return value;
  }
  if (format.bits == 8)
    return (at[0] - 128) / 128.0;
  // The sample in the upper bits of a word, so that its sign is the word's.
  uint32_t word = littleEndian(at, format.bits / 8) << (32 - format.bits);
  return int32_t(word) / 2147483648.0;
}

static bool readSamples(const unsigned char *bytes, size_t size, const Format &format,
                        double seconds, Sound &sound, char *problem) {
  size_t width = format.bits / 8, frame = width * format.channels;
  size_t count = size / frame, most = samplesOf(seconds, format.rate);
  sound.rate = format.rate;
  if (!sound.samples.resize(count < most ? count : most))
    return fail(problem, "");
  for (float &sample : sound.samples) {
    double sum = 0;
    for (uint32_t c = 0; c < format.channels; ++c, bytes += width)
      sum += readSample(bytes, format);
    sample = float(sum / format.channels);
    if (!(sample >= -1e6f && sample <= 1e6f))
      return fail(problem, "a sample is not a finite number of sensible size");
  }
  return true;
}

/// Whether bytes are chunks to their end, of names that can be printed.
static bool areChunks(const unsigned char *bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    if (size - at < 8)
      return false;
    for (size_t i = 0; i < 4; ++i)
      if (bytes[at + i] < ' ' || bytes[at + i] > '~')
        return false;
    size_t length = littleEndian(bytes + at + 4, 4), room = size - at - 8;
    if (length > room)
      return false;
    at += 8 + (length + length % 2 < room ? length + length % 2 : room);
  }
  return true;
}

/// How many bytes of samples there are, where `room` follow the head of their chunk, which says
/// `length`. Programs that record or write into a pipe put 0, ffffffff or a large number there, and
/// mend it at the end, if there is one: then the samples go on to the end of the file. A length of
/// 0 is one where only other chunks follow.
static size_t sampleBytes(const unsigned char *samples, uint64_t length, size_t room) {
  if (length == 0)
    return areChunks(samples, room) ? 0 : room;
  return length < room ? size_t(length) : room;
}

bool attn::decodeWav(const unsigned char *bytes, size_t size, double seconds, Sound &sound,
                     char *problem) {
  if (size < 12 || memcmp(bytes + 8, "WAVE", 4) != 0)
    return fail(problem, "it does not begin as a WAV file does");
  Format format;
  uint64_t longLength = 0; // of samples, in a file of RF64 that says it in a chunk of its own
  for (size_t at = 12; size - at >= 8;) {
    const unsigned char *chunk = bytes + at;
    size_t length = littleEndian(chunk + 4, 4), room = size - at - 8;
    if (memcmp(chunk, "data", 4) == 0) {
      if (format.channels == 0)
        return fail(problem, "no chunk `fmt ` comes before its samples");
      uint64_t said = length == 0xffffffff && longLength ? longLength : length;
      return readSamples(chunk + 8, sampleBytes(chunk + 8, said, room), format, seconds, sound,
                         problem);
    }
    if (length > room) {
      snprintf(problem, 256, "its chunk at byte %zu says %zu bytes, and %zu follow", at, length,
               room);
      return false;
    }
    if (memcmp(chunk, "fmt ", 4) == 0 && !readFormat(chunk + 8, length, format, problem))
      return false;
    if (memcmp(chunk, "ds64", 4) == 0 && length >= 16)
      longLength = littleEndian(chunk + 16, 4) | uint64_t(littleEndian(chunk + 20, 4)) << 32;
    size_t padded = length + length % 2;
    at += 8 + (padded < room ? padded : room);
  }
  return fail(problem, "it has no chunk `data`");
}
