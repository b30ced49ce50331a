// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a spec may cost, whatever is written in it.
#include "compiler/frontend/sema/Limits.h"
#include "dialect/Choices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace attn::frontend {

using namespace ast;

constexpr size_t mostExpressions = 300000;
constexpr size_t mostAxes = 32;
constexpr size_t mostInSignature = 1000; // tensors
constexpr double mostOperations = 1 << 24;

bool spend(Sema &sema, size_t count, SourceRange range) {
  if (sema.limits.spent > mostExpressions)
    return false;
  sema.limits.spent += count;
  if (sema.limits.spent <= mostExpressions)
    return true;
  sema.report.diagnostics
      .error(DiagCode::SizeOverflow, range,
             "the model is more than " + llvm::Twine(mostExpressions) +
                 " expressions and declarations")
      .note("those of a block count for each set of sizes that it is applied to, and where "
            "intermediates are asked for, for each layer");
  return false;
}

bool checkRank(Reporter &report, size_t count, SourceRange range) {
  if (count <= mostAxes)
    return true;
  report.error(DiagCode::SizeOverflow, range, "a tensor of " + llvm::Twine(count) + " axes")
      .note("the most are " + llvm::Twine(mostAxes));
  return false;
}

bool checkLength(Reporter &report, const Signature &signature) {
  if (signature.parameters.size() <= mostInSignature && signature.results.size() <= mostInSignature)
    return true;
  report
      .error(DiagCode::SizeOverflow, signature.name.range,
             "`" + signature.name.text + "` takes or gives too many tensors")
      .note("the most are " + llvm::Twine(mostInSignature) + " either way");
  return false;
}

static double operationsOf(Sema &sema, mlir::func::FuncOp function) {
  auto [known, isFirst] = sema.limits.operations.insert({function, 0});
  if (!isFirst)
    return known->second;
  double count = 0;
  function.walk([&](mlir::Operation *op) {
    auto call = llvm::dyn_cast<mlir::func::CallOp>(op);
    auto callee =
        call ? sema.output.module->lookupSymbol<mlir::func::FuncOp>(call.getCallee()) : nullptr;
    if (!callee) {
      ++count;
      return;
    }
    auto loop = llvm::dyn_cast<mlir::scf::ForOp>(op->getParentOp());
    auto route = llvm::dyn_cast<RouteOp>(op->getParentOp());
    std::optional<llvm::APInt> times = loop ? loop.getStaticTripCount() : std::nullopt;
    int64_t most = times ? times->getSExtValue() : route ? int64_t(route.getExperts()) : 1;
    count += operationsOf(sema, callee) * static_cast<double>(most);
  });
  return sema.limits.operations[function] = count;
}

bool checkOperations(Sema &sema, mlir::func::FuncOp entry, SourceRange place) {
  if (operationsOf(sema, entry) <= mostOperations)
    return true;
  sema.report.error(DiagCode::SizeOverflow, place, "this entry computes too many operations")
      .note("a call computes at most 2^24, those of a block counted each time that it is applied, "
            "and for each layer");
  return false;
}

} // namespace attn::frontend
