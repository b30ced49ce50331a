// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-opt: mlir-opt with the attn dialect and passes, for tests and for looking at one pass at a
// time.
#include "compiler/cpu/Passes.h"
#include "compiler/emit/Passes.h"
#include "compiler/gpu/Passes.h"
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<attn::AttnDialect>();
  mlir::registerAllPasses();
  attn::registerAttnPasses();
  attn::registerAttnCpuPasses();
  attn::registerAttnEmitPasses();
  attn::registerAttnGpuPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Attn's optimiser driver\n", registry));
}
