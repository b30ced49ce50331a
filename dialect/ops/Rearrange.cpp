// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.rearrange, attn.relabel: verification and folding.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

/// Checks that consecutive groups of atoms, counts[d] each, multiply up to the sizes of `type`.
static LogicalResult verifyGroups(RearrangeOp op, RankedTensorType type, ArrayRef<int64_t> counts,
                                  ArrayRef<int64_t> atoms, StringRef what) {
  size_t next = 0;
  if (static_cast<int64_t>(counts.size()) != type.getRank())
    return op.emitOpError("expected ")
           << type.getRank() << " groups for the " << what << ", but got " << counts.size();
  for (auto [count, size] : llvm::zip(counts, type.getShape())) {
    SmallVector<int64_t> group; // of static atoms
    bool dynamic = false;
    for (int64_t a = 0; a < count; ++a, ++next) {
      if (next >= atoms.size())
        return op.emitOpError("expected ")
               << what << " groups of " << atoms.size() << " atoms, but got more";
      if (atoms[next] < 0 && dynamic)
        return op.emitOpError("expected at most one dynamic atom of an axis of the ") << what;
      dynamic |= atoms[next] < 0;
      if (atoms[next] >= 0)
        group.push_back(atoms[next]);
    }
    std::optional<int64_t> product = countElements(group);
    if (dynamic != ShapedType::isDynamic(size) || (!dynamic && product != size))
      return op.emitOpError("expected atoms that make up the ")
             << what << "'s " << type << ", but got " << group;
  }
  if (next != atoms.size())
    return op.emitOpError("expected ")
           << what << " groups of " << atoms.size() << " atoms, but got " << next;
  return success();
}

LogicalResult RearrangeOp::verify() {
  auto atoms = getAtoms(), order = getOrder();
  SmallVector<bool> seen(atoms.size(), false);
  SmallVector<int64_t> ordered;
  for (int64_t atom : atoms)
    if (atom < 1 && atom != -1) // rearrange_c2
      return emitOpError("expected atoms of at least 1, or -1 for a dynamic one, but got ") << atom;
  for (int64_t a : order) {
    if (a < 0 || a >= static_cast<int64_t>(atoms.size()) || seen[a]) // rearrange_c1
      return emitOpError("expected an order of all atoms, but got ")
             << a << " out of range or twice";
    seen[a] = true;
    ordered.push_back(atoms[a]);
  }
  if (ordered.size() != atoms.size())
    return emitOpError("expected an order of ")
           << atoms.size() << " atoms, but got " << ordered.size();
  if (failed(verifyGroups(*this, cast<RankedTensorType>(getInput().getType()), getSplit(), atoms,
                          "input"))) // c2
    return failure();
  return verifyGroups(*this, cast<RankedTensorType>(getResult().getType()), getMerge(), ordered,
                      "result"); // c3
}

LogicalResult RelabelOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  if (input.getShape() != result.getShape() ||
      input.getElementType() != result.getElementType()) // relabel_c1
    return emitOpError("expected the same shape, but got ") << input << " and " << result;
  return success();
}

OpFoldResult RelabelOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

Value attn::withoutRelabels(Value value) {
  while (auto relabel = value.getDefiningOp<RelabelOp>())
    value = relabel.getInput();
  return value;
}
