// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Instructions.h"

namespace attn::ptx {

const std::vector<Supported> &supportedInstructions() {
  constexpr Evidence unpinned = Evidence::Unpinned;
  static const std::vector<Supported> table = {
      {"add", "integers, .f32 .f64 .rn, halves", "9.7.1.1, 9.7.3.3", unpinned, decodeAdd},
      {"sub", "integers, .f32 .f64 .rn, halves", "9.7.1.2, 9.7.3.4", unpinned, decodeSub},
      {"mul", ".lo .hi .wide, .f32 .f64 .rn, halves", "9.7.1.3, 9.7.3.5", unpinned, decodeMul},
      {"mad", ".lo .hi .wide", "9.7.1.4", unpinned, decodeMad},
      {"fma", ".rn", "9.7.3.6, 9.7.4.4", unpinned, decodeFma},
      {"div", "integers, .rn, .approx and .full as .rn", "9.7.1.8, 9.7.3.8", unpinned, decodeDiv},
      {"rem", "", "9.7.1.9", unpinned, decodeRem},
      {"abs", "", "9.7.1.10, 9.7.3.9", unpinned, decodeAbs},
      {"neg", "", "9.7.1.11, 9.7.3.10", unpinned, decodeNeg},
      {"min", ".NaN", "9.7.1.12, 9.7.3.11", unpinned, decodeMin},
      {"max", ".NaN", "9.7.1.13, 9.7.3.12", unpinned, decodeMax},
      {"popc", "", "9.7.1.14", unpinned, decodePopc},
      {"clz", "", "9.7.1.15", unpinned, decodeClz},
      {"bfind", "", "9.7.1.16", unpinned, decodeBfind},
      {"brev", "", "9.7.1.18", unpinned, decodeBrev},
      {"bfe", "", "9.7.1.19", unpinned, decodeBfe},
      {"bfi", "", "9.7.1.20", unpinned, decodeBfi},
      {"dp4a", "", "9.7.1.23", unpinned, decodeDp4a},
      {"copysign", ".f32 .f64", "9.7.3.2", unpinned, decodeCopysign},
      {"rcp", ".rn, .approx as .rn", "9.7.3.13", unpinned, decodeRcp},
      {"sqrt", ".rn, .approx as .rn", "9.7.3.15", unpinned, decodeSqrt},
      {"rsqrt", ".approx, correctly rounded", "9.7.3.16", unpinned, decodeRsqrt},
      {"sin", ".approx, correctly rounded", "9.7.3.18", unpinned, decodeSin},
      {"cos", ".approx, correctly rounded", "9.7.3.19", unpinned, decodeCos},
      {"lg2", ".approx, correctly rounded", "9.7.3.20", unpinned, decodeLg2},
      {"ex2", ".approx, correctly rounded", "9.7.3.21", unpinned, decodeEx2},
      {"tanh", ".approx, correctly rounded", "9.7.3.22", unpinned, decodeTanh},
      {"setp", "not .f16x2 .bf16x2", "9.7.6.2, 9.7.7.2", unpinned, decodeSetp},
      {"selp", "", "9.7.6.3", unpinned, decodeSelp},
      {"and", "", "9.7.8.1", unpinned, decodeAnd},
      {"or", "", "9.7.8.2", unpinned, decodeOr},
      {"xor", "", "9.7.8.3", unpinned, decodeXor},
      {"not", "", "9.7.8.4", unpinned, decodeNot},
      {"lop3", ".b32", "9.7.8.6", unpinned, decodeLop3},
      {"shf", "", "9.7.8.7", unpinned, decodeShf},
      {"shl", "", "9.7.8.8", unpinned, decodeShl},
      {"shr", "", "9.7.8.9", unpinned, decodeShr},
      {"mov", "not .b128", "9.7.9.3, 9.7.9.4", unpinned, decodeMov},
      {"shfl.sync", "", "9.7.9.6", unpinned, decodeShfl},
      {"prmt", "generic mode", "9.7.9.7", unpinned, decodePrmt},
      {"ld", "cache operators do nothing", "9.7.9.8, 9.7.9.9", unpinned, decodeLd},
      {"st", "cache operators do nothing", "9.7.9.11", unpinned, decodeSt},
      {"prefetch", "does nothing", "9.7.9.15", unpinned, decodePrefetch},
      {"prefetchu", "does nothing", "9.7.9.15", unpinned, decodePrefetch},
      {"cvta", "", "9.7.9.20", unpinned, decodeCvta},
      {"cvt", "not .e4m3 .e5m2, .rm and .rp", "9.7.9.21", unpinned, decodeCvt},
      {"mapa", "a cluster is one block", "9.7.9.23", unpinned, decodeMapa},
      {"cp.async", ".ca .cg", "9.7.9.25.3.1", unpinned, decodeCpAsync},
      {"cp.async.commit_group", "", "9.7.9.25.3.2", unpinned, decodeCpAsyncCommit},
      {"cp.async.wait_group", "", "9.7.9.25.3.3", unpinned, decodeCpAsyncWait},
      {"cp.async.wait_all", "", "9.7.9.25.3.3", unpinned, decodeCpAsyncWaitAll},
      {"cp.async.bulk", "global to and from shared", "9.7.9.25.4.1", unpinned, decodeBulkCopy},
      {"cp.async.bulk.commit_group", "", "9.7.9.25.6.1", unpinned, decodeBulkCommit},
      {"cp.async.bulk.wait_group", "", "9.7.9.25.6.2", unpinned, decodeBulkWait},
      {"cp.async.bulk.tensor", ".tile, no multicast", "9.7.9.25.5.2", unpinned, decodeTensorCopy},
      {"cp.async.bulk.prefetch", "does nothing", "9.7.9.25.4.3", unpinned, decodePrefetch},
      {"bra", "", "9.7.12.3", unpinned, decodeBra},
      {"brx.idx", "", "9.7.12.4", unpinned, decodeBrx},
      {"ret", "of kernels", "9.7.12.6", unpinned, decodeRet},
      {"exit", "", "9.7.12.7", unpinned, decodeRet},
      {"bar.sync", "", "9.7.13.1", unpinned, decodeBarSync},
      {"bar.cta.sync", "", "9.7.13.1", unpinned, decodeBarSync},
      {"bar.arrive", "", "9.7.13.1", unpinned, decodeBarArrive},
      {"bar.cta.arrive", "", "9.7.13.1", unpinned, decodeBarArrive},
      {"barrier.sync", "", "9.7.13.1", unpinned, decodeBarrierSync},
      {"barrier.cta.sync", "", "9.7.13.1", unpinned, decodeBarrierSync},
      {"barrier.arrive", "", "9.7.13.1", unpinned, decodeBarrierArrive},
      {"barrier.cta.arrive", "", "9.7.13.1", unpinned, decodeBarrierArrive},
      {"bar.warp.sync", "", "9.7.13.2", unpinned, decodeWarpSync},
      {"fence", ".proxy.async, .mbarrier_init; others do nothing", "9.7.13.4", unpinned,
       decodeFence},
      {"membar", "does nothing", "9.7.13.4", unpinned, decodeNothing},
      {"atom", ".relaxed whatever it says", "9.7.13.5", unpinned, decodeAtom},
      {"red", ".relaxed whatever it says", "9.7.13.6", unpinned, decodeRed},
      {"vote.sync", "", "9.7.13.9", unpinned, decodeVote},
      {"match.any.sync", "", "9.7.13.10", unpinned, decodeMatch},
      {"activemask", "", "9.7.13.11", unpinned, decodeActivemask},
      {"redux.sync", "integers", "9.7.13.12", unpinned, decodeRedux},
      {"griddepcontrol", "does nothing", "9.7.13.13", unpinned, decodeNothing},
      {"elect.sync", "", "9.7.13.14", unpinned, decodeElect},
      {"mbarrier.init", "", "9.7.13.15.9", unpinned, decodeMbarrierInit},
      {"mbarrier.inval", "", "9.7.13.15.10", unpinned, decodeMbarrierInval},
      {"mbarrier.expect_tx", "", "9.7.13.15.11", unpinned, decodeMbarrierExpect},
      {"mbarrier.arrive", ".expect_tx, counts", "9.7.13.15.13", unpinned, decodeMbarrierArrive},
      {"cp.async.mbarrier.arrive", "", "9.7.13.15.15", unpinned, decodeCpAsyncMbarrier},
      {"mbarrier.test_wait", ".parity, states", "9.7.13.15.16", unpinned, decodeMbarrierWait},
      {"mbarrier.try_wait", ".parity, states", "9.7.13.15.16", unpinned, decodeMbarrierWait},
      {"mma.sync", ".f16 .bf16 .tf32 to .f32, .s8 .u8 to .s32", "9.7.14.5.14", unpinned, decodeMma},
      {"ldmatrix", ".m8n8 .b16", "9.7.14.5.15", unpinned, decodeLdmatrix},
      {"stmatrix", ".m8n8 .b16", "9.7.14.5.16", unpinned, decodeStmatrix},
      {"wgmma.mma_async", ".f16 .bf16 .tf32 to .f32", "9.7.15.5.2", unpinned, decodeWgmma},
      {"wgmma.fence", "", "9.7.15.7.1", unpinned, decodeWgmmaFence},
      {"wgmma.commit_group", "", "9.7.15.7.2", unpinned, decodeWgmmaCommit},
      {"wgmma.wait_group", "", "9.7.15.7.3", unpinned, decodeWgmmaWait},
      {"nanosleep", "does nothing", "9.7.19.2", unpinned, decodeNothing},
      {"trap", "", "9.7.19.4", unpinned, decodeTrap},
      {"setmaxnreg", ".inc .dec", "9.7.19.5", unpinned, decodeSetmaxnreg},
  };
  return table;
}

std::string decode(Instruction &instruction) {
  const Supported *best = nullptr;
  size_t length = 0;
  const std::string &name = instruction.name;
  for (const Supported &row : supportedInstructions()) {
    std::string prefix = row.name;
    bool matches = name.compare(0, prefix.size(), prefix) == 0 &&
                   (name.size() == prefix.size() || name[prefix.size()] == '.');
    if (matches && prefix.size() > length) {
      best = &row;
      length = prefix.size();
    }
  }
  if (!best)
    return "unknown instruction '" + name + "'";
  Decoding decoding(instruction, name.substr(length));
  instruction.action = best->decoder(decoding);
  if (!decoding.error.empty())
    return decoding.error;
  if (!decoding.left().empty())
    return "'" + name + "': modifier '." + decoding.left() + "' is not supported";
  return instruction.action ? "" : "'" + name + "' is not supported";
}

} // namespace attn::ptx
