// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the assembler said of a model's kernels to remarks and warnings at their places in the spec.
#include "compiler/gpu/ptx/AssemblyRemarks.h"

#include "compiler/kernels/KernelFacts.h"
#include "compiler/target/GpuOccupancy.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;

static const AssembledKernel *findKernel(const Assembly *assembly, llvm::StringRef name) {
  if (!assembly)
    return nullptr;
  auto found = llvm::find_if(assembly->kernels,
                             [&](const AssembledKernel &own) { return own.name == name; });
  return found == assembly->kernels.end() ? nullptr : &*found;
}

namespace {

/// The blocks of a kernel that a multiprocessor holds.
struct Blocks {
  Blocks(const GpuTarget &target, const GpuKernelInfo &info, const AssembledKernel *assembled)
      : shared(info.sharedBytes + (assembled ? assembled->sharedBytes : 0)) {
    BlockNeeds needs{info.threads, std::nullopt, shared, info.blocks};
    if (assembled)
      needs.registers = assembled->registers;
    occupancy = Occupancy::of(target, needs);
  }

  int64_t shared; ///< bytes
  Occupancy occupancy;
};

} // namespace

static std::string describe(const GpuKernelInfo &info, const Blocks &blocks,
                            const AssembledKernel *assembled) {
  const auto &[shared, occupancy] = blocks;
  // Registers, which only the assembler knows, may leave fewer.
  std::string text =
      llvm::formatv("`{0}` in PTX: {1} threads, {2}{3} {4} a multiprocessor ({5})", info.name,
                    info.threads, assembled ? "" : "at most ", occupancy.blocks,
                    occupancy.blocks == 1 ? "block" : "blocks", occupancy.limit);
  if (shared)
    text += llvm::formatv("; {0} bytes of {1}shared memory", shared, assembled ? "" : "dynamic ");
  std::string quotients =
      info.approximatesQuotients ? "; quotients within 2 units of the last place" : "";
  if (!assembled)
    return text + quotients;
  text += llvm::formatv("; {0} registers, ", assembled->registers);
  if (assembled->spillStores || assembled->spillLoads)
    text += llvm::formatv("spills of {0} bytes stored and {1} loaded", assembled->spillStores,
                          assembled->spillLoads);
  else
    text += "no spills";
  if (assembled->stackBytes)
    text += llvm::formatv(", {0} bytes of stack", assembled->stackBytes);
  return text + quotients;
}

static std::string factsText(const GpuKernelInfo &info, const Blocks &blocks,
                             const AssembledKernel *assembled) {
  llvm::json::Object facts{{"ptx", info.name},
                           {"threads", info.threads},
                           {"blocks", blocks.occupancy.blocks},
                           {"limit", blocks.occupancy.limit},
                           {"shared_bytes", blocks.shared},
                           {"assembled", assembled != nullptr}};
  if (!info.cost.empty())
    facts["cost"] = info.cost;
  if (assembled) {
    facts["registers"] = assembled->registers;
    facts["spill_stores"] = assembled->spillStores, facts["spill_loads"] = assembled->spillLoads;
    facts["stack_bytes"] = assembled->stackBytes;
  }
  return llvm::formatv("{0}", llvm::json::Value(std::move(facts)));
}

static void warnOf(const AssembledKernel &kernel, Location loc, llvm::StringRef chip) {
  if (kernel.spillStores || kernel.spillLoads)
    emitWarning(loc) << "kernel `" << kernel.name << "` spills registers on " << chip << ": "
                     << kernel.spillStores << " bytes of stores, " << kernel.spillLoads
                     << " bytes of loads a thread";
  for (const std::string &text : kernel.warnings)
    emitWarning(loc) << "the assembler says of kernel `" << kernel.name << "` on " << chip << ": "
                     << text;
}

void attn::remarkAssembly(Location model, const GpuCode &code, const Assembly *assembly) {
  for (const GpuKernelInfo &info : code.kernels) {
    const AssembledKernel *assembled = findKernel(assembly, info.name);
    Location loc = info.location;
    Blocks blocks(*code.target, info, assembled);
    remark::passed(loc, remark::RemarkOpts::name(assembled ? "Assembled" : "Generated")
                            .category(code.target->name)
                            .function(info.kernel))
        << describe(info, blocks, assembled)
        << remark::metric(factsKey, factsText(info, blocks, assembled));
    if (assembled)
      warnOf(*assembled, loc, code.target->name);
  }
  if (!assembly)
    return;
  for (const AssembledKernel &kernel : assembly->kernels)
    if (llvm::none_of(code.kernels,
                      [&](const GpuKernelInfo &info) { return info.name == kernel.name; }))
      warnOf(kernel, model, code.target->name);
  for (const std::string &text : assembly->warnings)
    emitWarning(model) << "the assembler says of the code for " << code.target->name << ": "
                       << text;
}
