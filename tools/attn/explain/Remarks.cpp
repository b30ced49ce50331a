// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's remarks to entries.
#include "Remarks.h"

#include "compiler/kernels/KernelFacts.h"
#include "dialect/Locations.h"
#include "dialect/Reasons.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::tool {

class Remarks::Streamer : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(Remarks &remarks) : remarks(remarks) {}
  void streamOptimizationRemark(const mlir::remark::detail::Remark &remark) override {
    remarks.add(remark);
  }

private:
  Remarks &remarks;
};

bool Remarks::listenTo(mlir::MLIRContext &context) {
  mlir::remark::RemarkCategories all{".*", ".*", ".*", ".*", ".*"};
  return succeeded(mlir::remark::enableOptimizationRemarks(
      context, std::make_unique<Streamer>(*this),
      std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), all));
}

void Remarks::add(const mlir::remark::detail::Remark &remark) {
  Entry entry;
  entry.function = remark.getFunction().str();
  for (std::string &place : placeTexts(remark.getLocation()))
    entry.at.push_back(std::move(place));
  bool isReason = remark.getCategoryName() == reasonCategory;
  for (const auto &argument : remark.getArgs()) {
    if (argument.key == factsKey)
      entry.facts = std::move(*cantFail(json::parse(argument.val)).getAsObject());
    else
      (argument.key == mendKey ? entry.mend : entry.text) += argument.val;
  }
  if (!isReason) {
    entry.target = remark.getCategoryName().str();
    ofKernels.push_back(std::move(entry));
    return;
  }
  entry.code = remark.getRemarkName().str();
  entry.target = remark.getCombinedCategoryName().split(':').second.str();
  // A model that is lowered for CPUs and for GPUs gives what concerns both twice.
  bool isKnown = any_of(ofReasons, [&](const Entry &other) {
    return other.code == entry.code && other.at == entry.at && other.text == entry.text &&
           other.target == entry.target;
  });
  if (!isKnown)
    ofReasons.push_back(std::move(entry));
}

} // namespace attn::tool
