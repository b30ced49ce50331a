// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks to lines, or to JSON.
#include "RemarkPrinter.h"

#include "dialect/Reasons.h"
#include "tools/attn/support/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

class RemarkPrinter::Streamer : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(RemarkPrinter &printer) : printer(printer) {}
  void streamOptimizationRemark(const mlir::remark::detail::Remark &remark) override {
    printer.add(remark);
  }

private:
  RemarkPrinter &printer;
};

bool RemarkPrinter::listenTo(mlir::MLIRContext &context) {
  mlir::remark::RemarkCategories all{".*", ".*", ".*", ".*", ".*"};
  return succeeded(mlir::remark::enableOptimizationRemarks(
      context, std::make_unique<Streamer>(*this),
      std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), all));
}

void RemarkPrinter::add(const mlir::remark::detail::Remark &remark) {
  Entry entry;
  entry.function = remark.getFunction().str();
  remark.getLocation()->walk([&](mlir::Location part) {
    if (auto place = dyn_cast<mlir::FileLineColLoc>(part))
      entry.at.push_back((place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" +
                          Twine(place.getColumn()))
                             .str());
    return mlir::WalkResult::advance();
  });
  bool isReason = remark.getCategoryName() == reasonCategory;
  for (const auto &argument : remark.getArgs())
    (argument.key == mendKey ? entry.mend : entry.text) += argument.val;
  if (!isReason) {
    entry.target = remark.getCategoryName().str();
    kernels.push_back(std::move(entry));
    return;
  }
  entry.code = remark.getRemarkName().str();
  entry.target = remark.getCombinedCategoryName().split(':').second.str();
  // A model that is lowered for CPUs and for GPUs gives what concerns both twice.
  bool isKnown = any_of(reasons, [&](const Entry &other) {
    return other.code == entry.code && other.at == entry.at && other.text == entry.text &&
           other.target == entry.target;
  });
  if (!isKnown)
    reasons.push_back(std::move(entry));
}

void RemarkPrinter::printReason(const Entry &reason) const {
  outs() << "    note[" << reason.code << "]: " << reason.text << '\n';
  if (!reason.mend.empty())
    outs() << "      = help: " << reason.mend << '\n';
}

static void printHead(StringRef function, ArrayRef<std::string> at) {
  outs() << "  " << function;
  if (!at.empty())
    outs() << " (" << at.front() << ')';
  outs() << '\n';
}

void RemarkPrinter::printKernels(std::vector<bool> &isShown) const {
  StringRef target;
  std::vector<bool> isOfTargetShown; // several kernels may have one place
  for (const Entry &kernel : kernels) {
    if (kernel.target != target) {
      outs() << (target = kernel.target) << '\n';
      isOfTargetShown.assign(reasons.size(), false);
    }
    printHead(kernel.function, kernel.at);
    outs() << "    " << kernel.text << '\n';
    for (auto [i, reason] : enumerate(reasons)) {
      bool isOfTarget = reason.target.empty() || reason.target == target;
      if (usesJsonDiagnostics() || !isOfTarget || isOfTargetShown[i] || reason.at.empty() ||
          !is_contained(kernel.at, reason.at.front()))
        continue;
      printReason(reason);
      isShown[i] = isOfTargetShown[i] = true;
    }
  }
}

void RemarkPrinter::print() const {
  bool isJson = usesJsonDiagnostics();
  std::vector<bool> isShown(reasons.size(), isJson);
  printKernels(isShown);
  bool isFirst = true;
  for (auto [i, reason] : enumerate(reasons)) {
    if (isShown[i])
      continue;
    if (isFirst)
      outs() << "of no kernel by itself\n";
    isFirst = false;
    printHead(reason.function, reason.at);
    printReason(reason);
  }
  outs().flush();
  for (const Entry &reason : reasons) {
    if (!isJson)
      break;
    json::Object object{{"severity", "note"},
                        {"code", reason.code},
                        {"message", json::fixUTF8(reason.text)},
                        {"function", json::fixUTF8(reason.function)}};
    if (!reason.target.empty())
      object["target"] = reason.target;
    if (!reason.mend.empty())
      object["helps"] = json::Array{json::fixUTF8(reason.mend)};
    if (!reason.at.empty()) {
      auto [rest, column] = StringRef(reason.at.front()).rsplit(':');
      auto [file, line] = rest.rsplit(':');
      object["file"] = json::fixUTF8(file);
      json::Object place{{"line", std::stoll(line.str())}, {"column", std::stoll(column.str())}};
      object["range"] = json::Object{{"start", json::Object(place)}, {"end", json::Object(place)}};
    }
    errs() << json::Value(std::move(object)) << '\n';
  }
}

} // namespace attn::tool
