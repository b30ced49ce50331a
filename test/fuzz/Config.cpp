// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// config.json: where a spec takes sizes from.
#include "Targets.h"
#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn::frontend;

static constexpr char spec[] = R"(attn 1
model M {
  dim D = config.hidden_size ?? 8, H = config.heads, E = D / H
  dim S = config.rope_scaling.original_max_position_embeddings ?? 16
  dyn B <= config.batch ?? 4
  layernorm norm: D eps config.layer_norm_eps ?? 1e-5
  linear fc: D -> S
  entry run(x: [B, D]) -> [B, S] {
    return fc(norm(x)) * (config.scale ?? 2)
  }
}
)";

void attn::fuzz::config(const uint8_t *data, size_t size) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  MemoryFile file(data, size);
  FrontendOptions options;
  options.config = file.path();
  SourceFile source("fuzz.attn", ::spec);
  DiagnosticEngine diagnostics(source);
  auto module = buildModel(source, options, context, diagnostics);
  std::string said;
  llvm::raw_string_ostream os(said);
  diagnostics.render(os);
  require(static_cast<bool>(module) != diagnostics.hasErrors(), "neither a module nor an error");
  for (const Diagnostic *diagnostic : diagnostics.sorted())
    require(diagnostic->code != DiagCode::InternalError, said.c_str());
}
