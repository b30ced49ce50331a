// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-mlir-lsp-server: mlir-lsp-server with the attn dialect, for editors that show `.mlir` files
// of this compiler.
#include "dialect/AttnDialect.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<attn::AttnDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
