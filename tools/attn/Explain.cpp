// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn explain`: what the compiler did with each kernel, in its own remarks.
#include "Build.h"
#include "LiveShares.h"
#include "Report.h"
#include "Reproducer.h"
#include "Verbs.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

namespace {

/// Remarks are what this verb is asked for: they go to standard output, under the CPU level or
/// GPU they are about, with the layer's function and its place in the spec.
class RemarkPrinter : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  void streamOptimizationRemark(const mlir::remark::detail::Remark &remark) override {
    if (remark.getCategoryName() != level) {
      level = remark.getCategoryName().str();
      outs() << level << '\n';
    }
    outs() << "  " << remark.getFunction();
    if (auto place = remark.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
      outs() << " (" << place.getFilename().getValue() << ':' << place.getLine() << ':'
             << place.getColumn() << ')';
    outs() << "\n    ";
    for (const auto &argument : remark.getArgs())
      outs() << argument.val;
    outs() << '\n';
  }

private:
  std::string level; ///< of the remark before
};

} // namespace

int runExplain(const opt::InputArgList &args) {
  CompileOptions options;
  Spec spec;
  mlir::remark::RemarkCategories all{".*", ".*", ".*", ".*", ".*"};
  if (failed(mlir::remark::enableOptimizationRemarks(
          spec.context(), std::make_unique<RemarkPrinter>(),
          std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), all)))
    return internalError();
  if (int code = loadForCompiling(args, options, spec, /*onlyLooks=*/true))
    return code;
  if (int code = findAssembler(options))
    return code;
  if (int code = assumeSizes(spec.module(), args))
    return code;
  DiagnosticPrinter errors(spec.context());
  CompileOptions ofCpus = options;
  ofCpus.targets = options.targets.onlyLevels();
  bool isDone =
      (ofCpus.targets.levels.empty() || !lowerTo(spec.module(), Stage::Kernels, ofCpus).empty()) &&
      succeeded(explainGpus(spec.module(), options));
  return isDone ? int(Ok) : errors.failure();
}

} // namespace attn::tool
