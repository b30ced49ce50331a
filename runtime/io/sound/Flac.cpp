// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FLAC by libFLAC, from memory.
#include "io/sound/Sound.h"
#include <FLAC/stream_decoder.h>
#include <cstdio>

using namespace attn;

namespace {
/// What the decoder's callbacks share.
struct Reading {
  const unsigned char *bytes;
  size_t size, at;
  double seconds;
  Sound &sound;
  char *problem;
  bool isEnough, isFull; ///< all that is wanted was decoded; memory is lacking
};
} // namespace

static FLAC__StreamDecoderReadStatus readBytes(const FLAC__StreamDecoder *, FLAC__byte *to,
                                               size_t *count, void *data) {
  auto &reading = *static_cast<Reading *>(data);
  size_t left = reading.size - reading.at;
  *count = *count < left ? *count : left;
  if (*count == 0)
    return FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
  memcpy(to, reading.bytes + reading.at, *count);
  reading.at += *count;
  return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
}

static FLAC__StreamDecoderWriteStatus takeFrame(const FLAC__StreamDecoder *,
                                                const FLAC__Frame *frame,
                                                const FLAC__int32 *const channels[], void *data) {
  auto &reading = *static_cast<Reading *>(data);
  const FLAC__FrameHeader &header = frame->header;
  Sound &sound = reading.sound;
  if (sound.rate == 0)
    sound.rate = header.sample_rate;
  if (sound.rate != header.sample_rate || sound.rate < minRate || sound.rate > maxRate) {
    snprintf(reading.problem, 256, "its rate is %u Hz, not one between %d and %d",
             unsigned(header.sample_rate), int(minRate), int(maxRate));
    return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
  }
  size_t most = samplesOf(reading.seconds, sound.rate);
  double scale = double(uint64_t(1) << (header.bits_per_sample - 1)) * header.channels;
  for (uint32_t i = 0; i < header.blocksize; ++i) {
    if (sound.samples.size() >= most) {
      reading.isEnough = true;
      return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    double sum = 0;
    for (uint32_t c = 0; c < header.channels; ++c)
      sum += channels[c][i];
    if (!sound.samples.push(float(sum / scale))) {
      reading.isFull = true;
      return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
  }
  return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

static void takeError(const FLAC__StreamDecoder *, FLAC__StreamDecoderErrorStatus, void *data) {
  auto &reading = *static_cast<Reading *>(data);
  if (!*reading.problem)
    snprintf(reading.problem, 256, "a frame before byte %zu cannot be decoded", reading.at);
}

bool attn::decodeFlac(const unsigned char *bytes, size_t size, double seconds, Sound &sound,
                      char *problem) {
  *problem = 0;
  FLAC__StreamDecoder *decoder = FLAC__stream_decoder_new();
  if (!decoder)
    return false;
  Reading reading{bytes, size, 0, seconds, sound, problem, false, false};
  FLAC__stream_decoder_set_md5_checking(decoder, true);
  auto status = FLAC__stream_decoder_init_stream(decoder, readBytes, nullptr, nullptr, nullptr,
                                                 nullptr, takeFrame, nullptr, takeError, &reading);
  reading.isFull |= status == FLAC__STREAM_DECODER_INIT_STATUS_MEMORY_ALLOCATION_ERROR;
  bool isGood = status == FLAC__STREAM_DECODER_INIT_STATUS_OK;
  // The decoder says that memory is lacking where a block of metadata is too short for its
  // identifier. It keeps none of these blocks.
  if (isGood && !FLAC__stream_decoder_process_until_end_of_metadata(decoder) && !*problem)
    snprintf(problem, 256, "its metadata before byte %zu cannot be read", reading.at);
  isGood =
      isGood && !*problem && FLAC__stream_decoder_process_until_end_of_stream(decoder) && !*problem;
  reading.isFull |= !*problem && FLAC__stream_decoder_get_state(decoder) ==
                                     FLAC__STREAM_DECODER_MEMORY_ALLOCATION_ERROR;
  uint64_t total = FLAC__stream_decoder_get_total_samples(decoder);
  bool isSame = FLAC__stream_decoder_finish(decoder);
  FLAC__stream_decoder_delete(decoder);
  if (reading.isFull) {
    *problem = 0;
    return false;
  }
  if (reading.isEnough && !*problem)
    return true;
  if (isGood && (sound.rate == 0 || sound.samples.size() < total)) {
    snprintf(problem, 256, "it says %llu samples and has %zu",
             static_cast<unsigned long long>(total), sound.samples.size());
    return false;
  }
  if (isGood && isSame)
    return true;
  if (!*problem)
    snprintf(problem, 256, isGood ? "its samples do not fit its checksum" : "it has no samples");
  return false;
}
