// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms with files (RFC 7578), as HTTP clients send them.
#pragma once

#include "base/Slice.h"
#include "serve/Exchange.h"

namespace attn {

/// A field of a form: places in the body.
struct FormField {
  Slice name, file; ///< `file` has null data where it is no file
  Slice value;
};

/// Reads the fields of the body; false, with an error, where it is no form. The boundary is what
/// its first line says.
bool readForm(Exchange &exchange, Vector<FormField> &fields);

} // namespace attn
