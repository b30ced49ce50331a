// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To add a level: a row here, a code in runtime/include/attn/abi.h, and what the runtime asks of
// the CPU (runtime/base/Features*.cpp).
#include "compiler/target/CpuTarget.h"
#include "dialect/WeightFormat.h"
#include "runtime/include/attn/abi.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace attn {

using llvm::StringRef;

static CpuTarget v3() {
  CpuTarget target{};
  target.name = target.cpu = target.plain = "x86-64-v3";
  target.code = ATTN_LEVEL_X86_64_V3;
  target.suffix = ".v3";
  target.architecture = &x86Architecture;
  target.hostFeatures = {"cx16", "sahf", "popcnt", "sse4.2", "avx",   "avx2", "bmi",
                         "bmi2", "f16c", "fma",    "lzcnt",  "movbe", "xsave"};
  target.lanes = 8;
  target.registers = 16;
  target.panelWidth = 24;
  target.addWords = "llvm.x86.avx2.pmadd.wd";
  target.addBytes = "llvm.x86.avx2.pmadd.ub.sw";
  return target;
}

/// x86-64-v3 with AVX-VNNI: Intel's clients since Alder Lake, Zen 5, Sapphire Rapids.
static CpuTarget avxVnniLevel() {
  CpuTarget target = v3();
  target.name = "avxvnni";
  target.code = ATTN_LEVEL_AVX_VNNI;
  target.suffix = ".avxvnni";
  target.features.push_back("+avxvnni");
  target.hostFeatures.push_back("avxvnni");
  target.gainsBytes = true;
  target.dotBytes = "llvm.x86.avx512.vpdpbusd.256";
  return target;
}

static CpuTarget v4() {
  CpuTarget target = v3();
  target.name = target.cpu = target.plain = "x86-64-v4";
  target.code = ATTN_LEVEL_X86_64_V4;
  target.suffix = ".v4";
  target.vectorWidth = "512";
  target.hostFeatures.append({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  target.lanes = 16;
  target.registers = 32;
  target.panelWidth = 48;
  target.addWords = "llvm.x86.avx512.pmaddw.d.512";
  target.addBytes = "llvm.x86.avx512.pmaddubs.w.512";
  target.avx512 = true;
  return target;
}

/// x86-64-v4 with AVX512-VNNI.
static CpuTarget vnniLevel() {
  CpuTarget target = v4();
  target.name = "vnni";
  target.code = ATTN_LEVEL_VNNI;
  target.suffix = ".vnni";
  target.features.push_back("+avx512vnni");
  target.hostFeatures.push_back("avx512vnni");
  target.gainsBytes = true;
  target.dotBytes = "llvm.x86.avx512.vpdpbusd.512";
  return target;
}

static void addRounding(CpuTarget &target) {
  target.roundPairs = "llvm.x86.avx512bf16.cvtne2ps2bf16.512";
  target.roundPair = "llvm.x86.avx512bf16.cvtneps2bf16.512";
}

/// The level of AVX512-VNNI with an AVX512-BF16 as fast as f32: by its definition Zen 4 and later,
/// since Intel's vdpbf16ps has a quarter of the rate of f32's products.
static CpuTarget bf16Level() {
  CpuTarget target = vnniLevel();
  target.name = "avx512bf16";
  target.code = ATTN_LEVEL_AVX512_BF16;
  target.suffix = ".bf16";
  target.features.push_back("+avx512bf16");
  target.hostFeatures.push_back("avx512bf16");
  target.tune = "znver4";
  target.hostCpus = "znver";
  target.gainsPairs = true;
  target.dotPairs = "llvm.x86.avx512bf16.dpbf16ps.512";
  addRounding(target);
  return target;
}

/// The level of AVX512-VNNI with AMX: tiles of bf16 and bytes.
static CpuTarget amxLevel() {
  CpuTarget target = vnniLevel();
  target.name = "amx";
  target.code = ATTN_LEVEL_X86_AMX;
  target.suffix = ".amx";
  target.features.append({"+avx512bf16", "+amx-tile", "+amx-bf16", "+amx-int8"});
  target.hostFeatures.append({"avx512bf16", "amx-tile", "amx-bf16", "amx-int8"});
  target.gainsPairs = true;
  target.amx = true;
  addRounding(target);
  return target;
}

/// Armv8.2-A with dot products of bytes: since 2017, Graviton 2 and Apple's M1 among them.
static CpuTarget neon() {
  CpuTarget target{};
  target.name = target.plain = "neon";
  target.code = ATTN_LEVEL_NEON;
  target.suffix = ".neon";
  target.architecture = &armArchitecture;
  target.cpu = "generic";
  target.features = {"+v8.2a", "+dotprod"};
  target.tune = "neoverse-n1";
  target.hostFeatures = {"neon", "dotprod"};
  target.lanes = 4;
  target.registers = 32;
  target.rowWords = 2;
  target.maxima = target.signedBytes = true;
  target.dotBytes = "llvm.aarch64.neon.sdot.v4i32.v16i8";
  return target;
}

/// That with products of matrices of bytes, and bf16: Armv8.6-A asks for both, and Graviton 3 and
/// Apple's M2 have them.
static CpuTarget neonMatrices() {
  CpuTarget target = neon();
  target.name = "neon-i8mm";
  target.code = ATTN_LEVEL_NEON_I8MM;
  target.suffix = ".i8mm";
  target.features.append({"+i8mm", "+bf16"});
  target.tune = "neoverse-v1";
  target.hostFeatures.append({"i8mm", "bf16"});
  target.gainsBytes = target.gainsPairs = true;
  target.roundsToBfloat = true;
  target.dotPairs = "llvm.aarch64.neon.bfdot.v4f32.v8bf16";
  target.squarePairs = "llvm.aarch64.neon.bfmmla";
  target.squareBytes = "llvm.aarch64.neon.smmla.v4i32.v16i8";
  return target;
}

/// For tests: AMX's code with functions in place of its instructions, on machines of x86-64-v4.
static CpuTarget emulatedAmx() {
  CpuTarget target = v4();
  target.name = "amx-emulated";
  target.amx = target.emulatesTiles = true;
  return target;
}

llvm::ArrayRef<CpuTarget> cpuTargets() {
  static const CpuTarget rows[] = {v3(),        avxVnniLevel(), v4(),   vnniLevel(),
                                   bf16Level(), amxLevel(),     neon(), neonMatrices()};
  return rows;
}

const CpuTarget *CpuTarget::find(StringRef name) {
  static const CpuTarget emulated = emulatedAmx();
  if (name == emulated.name)
    return &emulated;
  const auto *found =
      llvm::find_if(cpuTargets(), [&](const CpuTarget &target) { return target.name == name; });
  return found == cpuTargets().end() ? nullptr : found;
}

const CpuTarget &CpuTarget::lowestOf(const CpuArchitecture &architecture) {
  return *llvm::find_if(
      cpuTargets(), [&](const CpuTarget &target) { return target.architecture == &architecture; });
}

bool CpuTarget::runsOnHost() const {
  static const llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  return architecture->isHost() &&
         llvm::all_of(hostFeatures, [](StringRef feature) { return has.lookup(feature); });
}

const CpuTarget *CpuTarget::ofHost() {
  const CpuTarget *highest = nullptr;
  for (const CpuTarget &target : cpuTargets())
    if (target.runsOnHost() && llvm::sys::getHostCPUName().starts_with(target.hostCpus))
      highest = &target;
  return highest;
}

const CpuTarget &CpuTarget::usefulFor(Precision precision) const {
  // No level multiplies f16; tile registers, vdpbf16ps and bfmmla are of bf16.
  bool gains = (gainsBytes && formatOf(precision).takesBytes()) ||
               (gainsPairs && precision == Precision::BF16);
  return gains ? *this : *find(plain);
}

} // namespace attn
