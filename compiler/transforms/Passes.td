// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The target-independent passes. Order and reasons: compiler/Pipeline.cpp.
include "FusePasses.td"
include "MemoryPasses.td"
include "SimplifyPasses.td"
