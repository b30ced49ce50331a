// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The packed weights on their way to the GPU, with panels as its code wants them.
#include "cuda/Weights.h"
#include "cuda/Panels.h"

using namespace attn;

/// Words of a line of the cache.
static constexpr int64_t tile = 16;
/// Panels are transposed so many bytes at a time, or one at a time where they are larger.
static constexpr int64_t stagingBytes = int64_t(4) << 20;

/// [depth][width] to [width][depth], by tiles whose lines are read and written whole.
static void transposePanel(const uint32_t *from, uint32_t *to, int64_t depth, int64_t width) {
  for (int64_t column = 0; column < width; column += tile)
    for (int64_t row = 0; row < depth; row += tile) { // depth is a multiple of 16
      int64_t end = column + tile < width ? column + tile : width;
      for (int64_t c = column; c < end; ++c)
        for (int64_t r = row; r < row + tile; ++r)
          to[c * depth + r] = from[r * width + c];
    }
}

void attn::transposePanels(const uint32_t *from, uint32_t *to, const PanelShape &shape,
                           int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    transposePanel(from + i * shape.words(), to + i * shape.words(), shape.depth, shape.width);
}

static bool isTransposed(const attn_abi_slot &slot) {
  return slot.layout == ATTN_PACK_PANELS_BF16 || slot.layout == ATTN_PACK_PANELS_F16;
}

static int64_t panelBytes(const PanelShape &shape) { return 4 * shape.words(); }

attn_status GpuWeights::uploadPanels(const char *from, CuPointer to, const PanelShape &shape,
                                     Vector<uint32_t> &staging, Error &error) {
  int64_t atOnce = stagingBytes / panelBytes(shape);
  atOnce = atOnce < 1 ? 1 : atOnce;
  for (int64_t panel = 0; panel < shape.panels; panel += atOnce) {
    int64_t count = shape.panels - panel < atOnce ? shape.panels - panel : atOnce;
    size_t shift = size_t(panel * panelBytes(shape));
    transposePanels(reinterpret_cast<const uint32_t *>(from + shift), staging.data(), shape, count);
    // The next ones go to the same place.
    if (device.driver.check(device.driver.memcpyHtoDAsync(to + shift, staging.data(),
                                                          size_t(count * panelBytes(shape)),
                                                          device.currentStream()),
                            "copying the weights", error) ||
        waitForCopies(error))
      return error.status;
  }
  return ATTN_OK;
}

attn_status GpuWeights::waitForCopies(Error &error) {
  return device.driver.check(device.driver.streamSynchronize(device.currentStream()),
                             "copying the weights", error);
}

attn_status GpuWeights::makeRoom(bool transposesPanels, Staging &staging, Error &error) {
  int64_t most = stagingBytes, layer = 0;
  for (int32_t s = 0; s < tables->slotCount; ++s) {
    const attn_abi_slot &slot = tables->slots[s];
    int64_t bytes = transposesPanels && isTransposed(slot) ? panelBytes(PanelShape::of(slot)) : 0;
    most = bytes > most ? bytes : most;
    layer = isRegrouped(s) && slot.bytes > layer ? slot.bytes : layer;
  }
  if (!staging.transposed.resize(size_t(most) / sizeof(uint32_t)) ||
      !staging.layer.resize(size_t(layer)))
    return error.outOfMemory("copying the weights");
  return ATTN_OK;
}

/// What lies between slots nobody reads.
attn_status GpuWeights::uploadChanged(const char *packed, bool transposesPanels, Staging &staging,
                                      Error &error) {
  if (attn_status status = makeRoom(transposesPanels, staging, error))
    return status;
  for (int32_t s = 0; s < tables->slotCount; ++s) {
    const attn_abi_slot &slot = tables->slots[s];
    for (int32_t layer = 0; layer < slot.layers; ++layer) {
      size_t shift = size_t(slot.offset + layer * slot.layerStride);
      const char *from = packed + shift;
      CuPointer to = weights->pointer + shift;
      if (isRegrouped(s)) {
        if (waitForCopies(error)) // of the layer before, from the same place
          return error.status;
        regroupPanels(packedSlots[s], from, slot.width, staging.layer.data());
        from = staging.layer.data();
      }
      if (transposesPanels && isTransposed(slot)
              ? uploadPanels(from, to, PanelShape::of(slot), staging.transposed, error)
              : device.driver.check(device.driver.memcpyHtoDAsync(to, from, size_t(slot.bytes),
                                                                  device.currentStream()),
                                    "copying the weights", error))
        return error.status;
    }
  }
  return ATTN_OK;
}

attn_status GpuWeights::uploadAll(const char *packed, bool transposesPanels, Error &error) {
  size_t bytes = size_t(tables->packedBytes);
  Staging staging;
  attn_status status =
      transposesPanels || haveOtherPanels(*tables, packedSlots)
          ? uploadChanged(packed, transposesPanels, staging, error)
          : device.driver.check(device.driver.memcpyHtoDAsync(weights->pointer, packed, bytes,
                                                              device.currentStream()),
                                "copying the weights", error);
  // After an error, too: other contexts are about to read them, or to copy them once more, and the
  // block may be bound anew as soon as the run has returned.
  CuResult ended = device.driver.streamSynchronize(device.currentStream());
  return status ? status : device.driver.check(ended, "copying the weights", error);
}

attn_status GpuWeights::upload(const char *packed, uint32_t binding, bool transposesPanels,
                               Error &error) {
  size_t bytes = size_t(tables->packedBytes);
  if (bytes == 0)
    return ATTN_OK;
  SharedWeights::Lock lock(*shared);
  if (!weights && !(weights = shared->hold(device.number)))
    return error.outOfMemory("the weights");
  if (weights->isThere && weights->binding == binding)
    return ATTN_OK;
  weights->isThere = false;
  if (!weights->pointer) {
    DeviceMemory made;
    if (attn_status status = device.grow(made, bytes, "making room for the weights", error))
      return status;
    weights->pointer = made.pointer;
  } else if (attn_status status = device.driver.check(device.driver.ctxSynchronize(),
                                                      "waiting for earlier runs", error)) {
    return status; // Some of another context may have been reading the earlier weights.
  }
  attn_status status = uploadAll(packed, transposesPanels, error);
  weights->isThere = status == ATTN_OK, weights->binding = binding;
  return status;
}

void GpuWeights::release() {
  if (!weights)
    return;
  SharedWeights::Lock lock(*shared);
  if (CuPointer memory = shared->release(weights))
    device.driver.memFree(memory);
  weights = nullptr;
}
