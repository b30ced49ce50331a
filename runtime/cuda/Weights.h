// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's packed weights on one GPU: copied there once for all contexts, with panels transposed
// where its code wants them so.
#pragma once

#include "base/RegroupPanels.h"
#include "cuda/Device.h"
#include "cuda/Panels.h"
#include "cuda/SharedWeights.h"

namespace attn {

/// A context's hold of the weights on its GPU. All inside of an EnteredGpu.
class GpuWeights {
public:
  explicit GpuWeights(GpuDevice &device) : device(device) {}
  GpuWeights(const GpuWeights &) = delete;
  GpuWeights &operator=(const GpuWeights &) = delete;

  /// Whose weights they are, as they are packed for CPUs by `own`, one for each slot; all, and
  /// `common`, the model's, outlive this.
  void open(const attn_abi_model &model, const attn_abi_slot *own, SharedWeights &common) {
    tables = &model, packedSlots = own, shared = &common;
  }
  /// Makes sure that the weights of this binding, `packed`, are on the GPU: one of the contexts
  /// there copies them, others that run meanwhile wait. New ones take the place of those before.
  /// `transposesPanels`: panels of 16 bits get rows along k.
  attn_status upload(const char *packed, uint32_t binding, bool transposesPanels, Error &error);
  /// Gives up the hold; where it was the last, the memory goes.
  void release();
  /// Where they are; 0 before they were uploaded, and of a model without any.
  CuPointer pointer() const { return weights ? weights->pointer : 0; }

private:
  /// Copies the packed block to the GPU, with panels transposed where that is asked for.
  attn_status uploadAll(const char *packed, bool transposesPanels, Error &error);
  /// Where panels are changed on their way; stays until the stream was waited for.
  struct Staging {
    Vector<char> layer;          ///< of a slot, with panels of the GPU's width
    Vector<uint32_t> transposed; ///< some of its panels
  };
  /// Whether a slot is packed with other panels than the GPU's.
  bool isRegrouped(int32_t slot) const {
    return hasOtherPanels(tables->slots[slot], packedSlots[slot]);
  }
  /// Waits until what was copied so far has arrived.
  attn_status waitForCopies(Error &error);
  /// Makes room for the largest panels and layers that are changed.
  attn_status makeRoom(bool transposesPanels, Staging &staging, Error &error);
  /// Copies the block slot by slot: panels of CPUs that have others get the GPU's width, those of
  /// 16 bits are transposed where that is asked for.
  attn_status uploadChanged(const char *packed, bool transposesPanels, Staging &staging,
                            Error &error);
  /// Transposes the panels of one layer of a slot and copies them, a part at a time.
  attn_status uploadPanels(const char *from, CuPointer to, const PanelShape &shape,
                           Vector<uint32_t> &staging, Error &error);

  GpuDevice &device;
  const attn_abi_model *tables = nullptr;
  const attn_abi_slot *packedSlots = nullptr;
  SharedWeights *shared = nullptr;
  DeviceWeights *weights = nullptr; ///< Null until first needed.
};

} // namespace attn
