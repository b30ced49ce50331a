// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reasons as remarks: the code is the remark's name.
#include "dialect/Reasons.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace attn;

static constexpr struct {
  llvm::StringLiteral code, meaning;
} reasons[] = {
#define ATTN_REASON(code, name, meaning) {code, meaning},
#include "dialect/Reasons.def"
};

llvm::StringRef attn::codeText(Reason reason) { return reasons[static_cast<size_t>(reason)].code; }

llvm::StringRef attn::codeMeaning(Reason reason) {
  return reasons[static_cast<size_t>(reason)].meaning;
}

bool attn::wantsReasons(Operation *op) { return op->getContext()->getRemarkEngine() != nullptr; }

void attn::missed(Operation *op, Reason reason, const llvm::Twine &text, const llvm::Twine &mend,
                  llvm::StringRef target) {
  if (!wantsReasons(op))
    return;
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto options = remark::RemarkOpts::name(codeText(reason))
                     .category(reasonCategory)
                     .subCategory(target)
                     .function(function ? function.getName() : StringRef());
  auto remark = remark::missed(op->getLoc(), options);
  remark << text.str();
  if (std::string what = mend.str(); !what.empty())
    remark << remark::metric(mendKey, what);
}

std::string attn::readersText(Value value) {
  size_t reads = 0;
  bool isReturned = false;
  for (Operation *user : value.getUsers())
    user->hasTrait<OpTrait::IsTerminator>() ? void(isReturned = true) : void(++reads);
  std::string times = reads == 1 ? "once" : reads == 2 ? "twice" : std::to_string(reads) + " times";
  return "is read " + times + (isReturned ? ", and returned" : "");
}
