// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels of packed weights of 16 bits, as a GPU's kernels want them.
#pragma once

#include "attn/abi.h"

namespace attn {

/// A slot of ATTN_PACK_PANELS_BF16 or _F16 in words of two neighbours along k:
/// [panels][depth][width].
struct PanelShape {
  int64_t panels, depth, width;

  /// The shape of a slot's panels.
  static PanelShape of(const attn_abi_slot &slot) {
    return {slot.padded / slot.width, ((slot.k + 1) / 2 + 15) / 16 * 16, slot.width};
  }
  int64_t words() const { return depth * width; } ///< of a panel
};

/// Transposes panels: [count][depth][width] words become [count][width][depth].
void transposePanels(const uint32_t *from, uint32_t *to, const PanelShape &shape, int64_t count);

} // namespace attn
