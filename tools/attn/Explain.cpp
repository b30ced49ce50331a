// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn explain`: what the compiler did with each op, in its own remarks.
#include "Build.h"
#include "Report.h"
#include "Verbs.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

/// Remarks are what this verb is asked for: they go to standard output, in the order of the places
/// they speak of.
static void printRemark(mlir::Diagnostic &remark) {
  if (auto place = remark.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
    outs() << place.getFilename().getValue() << ':' << place.getLine() << ':' << place.getColumn()
           << ": ";
  outs() << remark.str() << '\n';
}

int runExplain(const opt::InputArgList &args) {
  CompileOptions options;
  if (int code = readCompileOptions(args, options))
    return code;
  Spec spec;
  if (int code = loadForCompiling(spec, args))
    return code;
  DiagnosticPrinter errors(spec.context());
  size_t count = 0;
  mlir::ScopedDiagnosticHandler remarks(&spec.context(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Remark)
      return mlir::failure(); // the other handler's
    printRemark(diagnostic);
    ++count;
    return mlir::success();
  });
  if (lowerTo(spec.module(), Stage::Kernels, options).empty())
    return errors.failure();
  if (count == 0)
    outs() << "the compiler has no remarks\n";
  return Ok;
}

} // namespace attn::tool
