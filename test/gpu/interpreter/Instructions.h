// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions that are understood: Instructions.cpp has the table of all, with their sections
// of the PTX manual and whether results were compared with a real GPU's.
#pragma once

#include "test/gpu/interpreter/Decoding.h"

namespace attn::ptx {

enum class Evidence : uint8_t {
  /// After the manual alone.
  Unpinned,
  /// Results were compared with a real GPU's.
  Pinned
};

struct Supported {
  const char *name;
  /// Which types and modifiers, where not all of the manual's.
  const char *forms;
  /// Of the manual, PTX ISA 8.7.
  const char *section;
  Evidence evidence;
  Decoder decoder;
};

const std::vector<Supported> &supportedInstructions();

/// Gives the instruction its action; returns what is wrong, or "".
std::string decode(Instruction &instruction);

// Integers.cpp, Floats.cpp, Conversions.cpp: ISA 9.7.1, 9.7.3 to 9.7.5, 9.7.9.21.
Action decodeAdd(Decoding &decoding);
Action decodeSub(Decoding &decoding);
Action decodeMul(Decoding &decoding);
Action decodeMad(Decoding &decoding);
Action decodeFma(Decoding &decoding);
Action decodeDiv(Decoding &decoding);
Action decodeRem(Decoding &decoding);
Action decodeAbs(Decoding &decoding);
Action decodeNeg(Decoding &decoding);
Action decodeMin(Decoding &decoding);
Action decodeMax(Decoding &decoding);
Action decodePopc(Decoding &decoding);
Action decodeClz(Decoding &decoding);
Action decodeBrev(Decoding &decoding);
Action decodeBfind(Decoding &decoding);
Action decodeBfe(Decoding &decoding);
Action decodeBfi(Decoding &decoding);
Action decodeDp4a(Decoding &decoding);
Action decodeFloatAdd(Decoding &decoding);
Action decodeFloatSub(Decoding &decoding);
Action decodeFloatMul(Decoding &decoding);
Action decodeFloatDiv(Decoding &decoding);
Action decodeFloatAbs(Decoding &decoding);
Action decodeFloatNeg(Decoding &decoding);
Action decodeFloatMin(Decoding &decoding);
Action decodeFloatMax(Decoding &decoding);
Action decodeCopysign(Decoding &decoding);
Action decodeRcp(Decoding &decoding);
Action decodeSqrt(Decoding &decoding);
Action decodeRsqrt(Decoding &decoding);
Action decodeEx2(Decoding &decoding);
Action decodeLg2(Decoding &decoding);
Action decodeSin(Decoding &decoding);
Action decodeCos(Decoding &decoding);
Action decodeTanh(Decoding &decoding);
Action decodeCvt(Decoding &decoding);

// Selection.cpp, Logic.cpp: ISA 9.7.6, 9.7.8.
Action decodeSetp(Decoding &decoding);
Action decodeSelp(Decoding &decoding);
Action decodeAnd(Decoding &decoding);
Action decodeOr(Decoding &decoding);
Action decodeXor(Decoding &decoding);
Action decodeNot(Decoding &decoding);
Action decodeShl(Decoding &decoding);
Action decodeShr(Decoding &decoding);
Action decodeShf(Decoding &decoding);
Action decodeLop3(Decoding &decoding);
Action decodePrmt(Decoding &decoding);

// Moves.cpp: ISA 9.7.9.
Action decodeMov(Decoding &decoding);
Action decodeLd(Decoding &decoding);
Action decodeSt(Decoding &decoding);
Action decodeCvta(Decoding &decoding);
Action decodeMapa(Decoding &decoding);
Action decodePrefetch(Decoding &decoding);
Action decodeAtom(Decoding &decoding);
Action decodeRed(Decoding &decoding);

// ControlFlow.cpp: ISA 9.7.12, 9.7.19.
Action decodeBra(Decoding &decoding);
Action decodeBrx(Decoding &decoding);
Action decodeRet(Decoding &decoding);
Action decodeTrap(Decoding &decoding);
Action decodeNothing(Decoding &decoding);
Action decodeSetmaxnreg(Decoding &decoding);

// Lanes.cpp: what lanes of a warp exchange.
Action decodeShfl(Decoding &decoding);
Action decodeVote(Decoding &decoding);
Action decodeMatch(Decoding &decoding);
Action decodeRedux(Decoding &decoding);
Action decodeActivemask(Decoding &decoding);
Action decodeElect(Decoding &decoding);
Action decodeWarpSync(Decoding &decoding);

// Barriers.cpp, Mbarriers.cpp: ISA 9.7.13.
Action decodeBarSync(Decoding &decoding);
Action decodeBarArrive(Decoding &decoding);
Action decodeBarrierSync(Decoding &decoding);
Action decodeBarrierArrive(Decoding &decoding);
Action decodeFence(Decoding &decoding);
Action decodeMbarrierInit(Decoding &decoding);
Action decodeMbarrierInval(Decoding &decoding);
Action decodeMbarrierArrive(Decoding &decoding);
Action decodeMbarrierExpect(Decoding &decoding);
Action decodeMbarrierWait(Decoding &decoding);

// Copies.cpp, TensorCopies.cpp: ISA 9.7.9.25.
Action decodeCpAsync(Decoding &decoding);
Action decodeCpAsyncCommit(Decoding &decoding);
Action decodeCpAsyncWait(Decoding &decoding);
Action decodeCpAsyncWaitAll(Decoding &decoding);
Action decodeCpAsyncMbarrier(Decoding &decoding);
Action decodeBulkCopy(Decoding &decoding);
Action decodeTensorCopy(Decoding &decoding);
Action decodeBulkCommit(Decoding &decoding);
Action decodeBulkWait(Decoding &decoding);

// Fragments.cpp, Products.cpp: ISA 9.7.14, 9.7.15.
Action decodeLdmatrix(Decoding &decoding);
Action decodeStmatrix(Decoding &decoding);
Action decodeMma(Decoding &decoding);
Action decodeWgmma(Decoding &decoding);
Action decodeWgmmaFence(Decoding &decoding);
Action decodeWgmmaCommit(Decoding &decoding);
Action decodeWgmmaWait(Decoding &decoding);

} // namespace attn::ptx
