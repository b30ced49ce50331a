// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of tensors in memory.
#include "compiler/transforms/BufferView.h"

using namespace mlir;
using namespace attn;

SizePolynomial attn::sizeOf(RankedTensorType type, int64_t axis) {
  if (!type.isDynamicDim(axis))
    return type.getDimSize(axis);
  LinearSize size = *parseLinearSize(axesOf(type)[axis].getValue());
  return SizePolynomial(size.scale) * SizePolynomial::dim(size.dim) + SizePolynomial(size.offset);
}

Type attn::storedElement(Type element) {
  unsigned bits = element.isInteger(1) ? 8 : element.isBF16() ? 16 : 0;
  return bits ? IntegerType::get(element.getContext(), bits) : element;
}

Type BufferView::element() const { return cast<MemRefType>(base.getType()).getElementType(); }

SizePolynomial attn::elementsOf(RankedTensorType type) {
  SizePolynomial count(1);
  for (int64_t d = 0; d < type.getRank(); ++d)
    count = count * sizeOf(type, d);
  return count;
}

SmallVector<Atom> attn::collapse(ArrayRef<Atom> atoms) {
  SmallVector<Atom> result;
  for (const Atom &atom : atoms) {
    if (atom.size == SizePolynomial(1))
      continue;
    if (!result.empty() && result.back().stride == atom.size * atom.stride)
      result.back() = {result.back().size * atom.size, atom.stride};
    else
      result.push_back(atom);
  }
  return result;
}

SmallVector<Atom> attn::atLeastOne(SmallVector<Atom> atoms) {
  if (atoms.empty())
    atoms.push_back(Atom{1, 1});
  return atoms;
}

BufferView BufferView::dense(RankedTensorType type, Value base, int64_t pitch) {
  BufferView view{base, 0, {}};
  SizePolynomial stride(1);
  view.axes.resize(type.getRank());
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    view.axes[d] = {Atom{sizeOf(type, d), stride}};
    stride = pitch && d == type.getRank() - 1 ? SizePolynomial(pitch) : stride * sizeOf(type, d);
  }
  return view;
}

BufferView BufferView::slice(int64_t axis, int64_t start, int64_t size, bool drop) const {
  BufferView view = *this;
  SmallVector<Atom> atoms = collapse(axes[axis]);
  if (atoms.empty())
    atoms = {Atom{1, 0}};
  // An axis of several atoms can be cut only where all of it or one element is taken.
  int64_t position = start;
  for (size_t a = atoms.size(); a-- > 1;) {
    int64_t extent = atoms[a].size.constant();
    view.offset = view.offset + SizePolynomial(position % extent) * atoms[a].stride;
    position /= extent;
  }
  view.offset = view.offset + SizePolynomial(position) * atoms[0].stride;
  if (drop)
    view.axes.erase(view.axes.begin() + axis);
  else if (atoms.size() == 1)
    view.axes[axis] = {Atom{size, atoms[0].stride}};
  return view;
}

BufferView BufferView::window(int64_t axis, const SizePolynomial &start,
                              const SizePolynomial &size) const {
  BufferView view = *this;
  SmallVector<Atom> atoms = collapse(axes[axis]);
  SizePolynomial stride = atoms.empty() ? SizePolynomial(0) : atoms.front().stride;
  view.offset = view.offset + start * stride;
  view.axes[axis] = {Atom{size, stride}};
  return view;
}

BufferView BufferView::windows(WindowsOp op) const {
  BufferView view = *this;
  RankedTensorType type = op.getResult().getType();
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    SmallVector<Atom> atoms = collapse(axes[axis]);
    SizePolynomial step = atoms.empty() ? SizePolynomial(0) : atoms.front().stride;
    view.axes[axis] = {Atom{sizeOf(type, axis), SizePolynomial(op.getStrides()[i]) * step}};
    SizePolynomial places = sizeOf(type, static_cast<int64_t>(axes.size() + i));
    view.axes.push_back({Atom{places, SizePolynomial(op.getDilations()[i]) * step}});
  }
  return view;
}

bool BufferView::liesLike(const BufferView &other) const {
  auto same = [](const Atom &a, const Atom &b) { return a.size == b.size && a.stride == b.stride; };
  for (auto [own, others] : llvm::zip_equal(axes, other.axes)) {
    SmallVector<Atom> left = collapse(own), right = collapse(others);
    if (!std::equal(left.begin(), left.end(), right.begin(), right.end(), same))
      return false;
  }
  return offset == other.offset;
}

/// The size of the atom of an axis that is known only when running: of `12*T` split into 12 and
/// another, T.
static SizePolynomial dynamicAtom(RankedTensorType input, int64_t d, ArrayRef<int64_t> atoms) {
  int64_t others = 1;
  for (int64_t atom : atoms)
    others *= atom < 0 ? 1 : atom;
  LinearSize size = *parseLinearSize(axesOf(input)[d].getValue());
  return SizePolynomial(size.scale / others) * SizePolynomial::dim(size.dim) +
         SizePolynomial(size.offset / others);
}

BufferView BufferView::rearrange(RearrangeOp op) const {
  // Split every axis into its atoms, innermost last.
  auto input = cast<RankedTensorType>(op.getInput().getType());
  ArrayRef<int64_t> sizes = op.getAtoms();
  SmallVector<SmallVector<Atom, 2>> atoms(sizes.size());
  size_t next = 0;
  for (auto [d, count] : llvm::enumerate(op.getSplit())) {
    if (count == 1) {
      atoms[next++] = axes[d];
      continue;
    }
    SmallVector<Atom> whole = collapse(axes[d]);
    SizePolynomial stride = whole.empty() ? SizePolynomial(0) : whole.back().stride;
    for (size_t a = next + count; a-- > next;) {
      SizePolynomial size =
          sizes[a] < 0 ? dynamicAtom(input, d, sizes.slice(next, count)) : SizePolynomial(sizes[a]);
      atoms[a] = {Atom{size, stride}};
      stride = stride * size;
    }
    next += count;
  }
  BufferView view{base, offset, {}};
  size_t taken = 0;
  for (int64_t count : op.getMerge()) {
    SmallVector<Atom, 2> merged;
    for (int64_t a = 0; a < count; ++a)
      llvm::append_range(merged, atoms[op.getOrder()[taken++]]);
    view.axes.push_back(merged);
  }
  return view;
}

SmallVector<Atom> BufferView::collapsed(int64_t begin, int64_t end) const {
  SmallVector<Atom> atoms;
  for (int64_t d = begin; d < end; ++d)
    llvm::append_range(atoms, axes[d]);
  return collapse(atoms);
}
