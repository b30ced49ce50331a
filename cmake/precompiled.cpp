// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The source of the target that holds the precompiled headers (AttnTargets.cmake).
