// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops that choose (ChoiceOps.td).
#pragma once

#include "dialect/AttnDialect.h"

#define GET_OP_CLASSES
#include "dialect/ChoiceOps.h.inc"
