// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A spec and sizes to the shares of pairs that masks leave: kernels are tiled once more, with these
// sizes, and the tiles counted by the same code that `attn explain` has its numbers from.
#include "LiveShares.h"

#include "compiler/cpu/attention/MaskVerdicts.h"
#include "compiler/kernels/AssumedSizes.h"
#include "dialect/AttnDialect.h"
#include "mlir/IR/Builders.h"
#include "tools/attn/support/Report.h"

using namespace llvm;

namespace attn::tool {

int assumeSizes(mlir::ModuleOp module, const opt::InputArgList &args) {
  mlir::Builder builder(module.getContext());
  SmallVector<mlir::NamedAttribute> sizes;
  for (const std::string &text : args.getAllArgValues(OPT_set_size)) {
    StringRef name, number;
    std::tie(name, number) = StringRef(text).split('=');
    auto dims = module.getOps<DimOp>();
    auto dim = find_if(dims, [&](DimOp own) { return own.getSymName() == name; });
    if (number.empty())
      return fail(Usage, "`--set-size " + text + "`: expected DIM=N");
    if (dim == dims.end() || !(*dim).getDynamic())
      return fail(Usage, "`--set-size " + text + "`: the model has no `dyn` dim `" + name + "`");
    auto size = parseNumber(number, 1, int64_t((*dim).getSize()));
    if (!size)
      return fail(Usage, "`--set-size " + text + "`: expected 1 to " +
                             std::to_string((*dim).getSize()) + ", the bound of `" + name + "`");
    sizes.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(*size)));
  }
  module->setAttr(attributes::sizes, mlir::DictionaryAttr::get(module.getContext(), sizes));
  return Ok;
}

double LiveShares::of(int32_t kernel, const int64_t *dims, StringRef level) {
  if (!isCounted) {
    isCounted = true;
    mlir::Builder builder(&spec.context());
    SmallVector<mlir::NamedAttribute> sizes;
    for (DimOp dim : spec.module().getOps<DimOp>())
      sizes.push_back(builder.getNamedAttr(dim.getSymName(), builder.getI64IntegerAttr(*dims++)));
    spec.module()->setAttr(attributes::sizes, builder.getDictionaryAttr(sizes));
    for (Staged &staged : lowerTo(spec.module(), Stage::Tiled, options)) {
      int32_t number = 0;
      for (CostOp cost : staged.module->getOps<CostOp>()) {
        if (auto share = cost->getAttrOfType<mlir::FloatAttr>(attributes::liveShare);
            share && staged.target == level)
          known[number] = share.getValueAsDouble();
        ++number;
      }
    }
    spec.module()->removeAttr(attributes::sizes);
  }
  auto found = known.find(kernel);
  return found == known.end() ? -1 : found->second;
}

} // namespace attn::tool
