// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory planner's state. PlanMemory.cpp places buffers, PlanKernels.cpp writes the kernels'
// operands, PlanLinear.cpp and PlanAttention.cpp those of linears and attentions, PlanControl.cpp
// what stands around the kernels, PlanInPlace.cpp which results take an operand's place.
#pragma once

#include "compiler/target/TargetSet.h"
#include "compiler/transforms/BufferView.h"
#include "compiler/transforms/KernelCost.h"
#include "compiler/transforms/ParameterLayout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace attn {

using mlir::ArrayRef, mlir::Block, mlir::DenseMap, mlir::FailureOr, mlir::FloatAttr,
    mlir::IRMapping, mlir::Location, mlir::LogicalResult, mlir::ModuleOp, mlir::OpBuilder,
    mlir::Operation, mlir::SmallVector, mlir::StringRef, mlir::Type, mlir::Value;
namespace func = mlir::func;
namespace scf = mlir::scf;

inline mlir::RankedTensorType typeOf(Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType());
}

/// The tensor that lies in the same place: relabelling moves nothing.
Value rootOf(Value tensor);

/// Row pitch of a buffer in elements, 0 for dense: rows that are a multiple of 4 KB apart would
/// fall into the same cache sets.
int64_t pitchOf(mlir::RankedTensorType type);

/// Whether `isReader` holds for all that reads a tensor, or a view of it.
bool isReadOnlyBy(Value tensor, llvm::function_ref<bool(mlir::OpOperand &)> isReader);

/// Whether all that reads a tensor, or a view of it, are attentions, as keys or values.
bool isOnlyAttendedTo(Value tensor);

/// Whether a map's function is nothing but a conversion from `half`, or to it.
bool converts(MapOp op, mlir::Type half);

/// Whether the lookup's rows are the table's first ones in order, which is no copy but a view.
bool isBeginning(LookupOp op);

/// What the functions of a module share.
struct ModulePlan {
  ModuleOp module;
  /// The buffer of constants that holds `elements`.
  mlir::memref::GlobalOp constants(mlir::DenseElementsAttr elements, Location loc);
  DenseMap<mlir::Attribute, mlir::memref::GlobalOp> tables;
  /// Elements of one layer of a state, whatever its cache holds.
  SizePolynomial layerOf(StateOp state);
  /// Where a state begins in the memory of its cache, in elements of the spec.
  SizePolynomial placeOf(StateOp state);
  /// What a state's elements are in memory. Narrow ones leave the rest of their room empty, so that
  /// all states begin at the same bytes everywhere.
  Type elementOf(StateOp state);
  ParameterLayout layout;
  SmallVector<StringRef> dims;                // dynamic ones, in order
  std::optional<AttentionLowering> attention; // asked for
  Precision precision = Precision::F32;       // of linears
  TargetSet targets;                          // all that the memory is planned for
  bool isGpu() const { return targets.isGpu(); }
  /// What attention is rounded to, and rows of linears in bf16 for such a level, or null.
  Type roundedTo() const;
  bool multipliesPairs() const { return bool(roundedTo()); }
  /// The 16 bits that tensors which are only multiplied are kept in, or null.
  Type keptHalf() const { return isGpu() && isHalf(precision) ? roundedTo() : Type(); }
  /// Whether all that reads a tensor, or a view of it, multiplies it, by pairs along its last dim,
  /// or keeps it for that.
  bool isOnlyMultiplied(Value tensor);
  /// What an element is in memory.
  Type stored(Type element) const {
    return isGpu() && element.isBF16() ? element : storedElement(element);
  }
  llvm::StringMap<SizePolynomial>
      frames; // bytes of every planned function's frame, callees included
  /// Of every planned function, (result, argument) that may be passed the same place.
  llvm::StringMap<SmallVector<std::pair<unsigned, unsigned>>> inPlace;
  explicit ModulePlan(ModuleOp module);

private:
  llvm::StringSet<> readStates; ///< which more than products read
};

/// What an attention works in: a row for each thread, and where a head's keys are divided, what
/// becomes of each part.
struct AttentionWork {
  Value scratch, partials;
  SizePolynomial partialBytes;
};

class FunctionPlan {
public:
  FunctionPlan(ModulePlan &plan, func::FuncOp source)
      : plan(plan), source(source), builder(source.getContext()), loc(source.getLoc()) {}

  LogicalResult run();

private:
  struct Slot {
    SizePolynomial bytes;
    bool free;
    Value offset;       // a placeholder until all slots are known
    Value pointer = {}; // of the buffer that lies there now; null while it is free
  };

  // The new function.
  void createFunction();
  void resolveOffsets();
  Value dim(StringRef name);

  // Buffers.
  size_t allocateSlot(SizePolynomial bytes);
  Value workspaceAt(Value offset, Type element);
  Value slotPointer(size_t slot, Type element);
  /// Whether a buffer was released: what lies there by now may be another.
  bool isReleased(Value pointer);
  /// Whether an op's result lies where its first operand does.
  bool isInInput(Operation *op);
  /// `element`: another than the type's, where it is stored narrower.
  BufferView allocate(mlir::RankedTensorType type, Operation *last, Type element = {});
  Type elementFor(Value tensor);
  /// Whether rows of a linear's input are multiplied in bf16, or as bytes that are made of bf16,
  /// whatever CPU runs it.
  bool areRounded(LinearOp op);
  /// Whether an attention's queries, keys and values are multiplied in bf16.
  bool areRounded(AttentionOp op);
  /// Whether all that reads a tensor, or a view of it, is such attentions.
  bool isOnlyRounded(Value tensor);
  /// The linear whose rows are rounded, as are those of all others that read a tensor; or null.
  LinearOp roundedFor(Value tensor);
  /// A new buffer whose rows, of the last `contract` dims each, are `pitch` elements apart, with
  /// room for `spareRows` more behind the last.
  BufferView pitchedRows(mlir::RankedTensorType type, int64_t contract, int64_t pitch,
                         int64_t spareRows, Type element, Operation *last);
  /// Room for rows of the bits of bf16, of the last `contract` dims each, as linears read them.
  BufferView roundedRows(mlir::RankedTensorType type, int64_t contract, Operation *last);
  /// Of a concat's result, what its part at `position` is.
  static BufferView partOfConcat(ConcatOp concat, size_t position, const BufferView &whole);
  BufferView outputOf(Value tensor);
  BufferView laidOut(Type type, Value pointer);
  Operation *lastUse(Value root, Block *block);
  void latestUse(Value value, Block *block, Operation *&latest);
  void releaseAfter(Operation *op);

  // Operands of kernels.
  BufferView viewOf(Value tensor);
  Value pointerTo(SlotOp slot, Value layer, Type element);
  Value memrefOf(const BufferView &view, ArrayRef<Atom> atoms);
  /// A row of `columns` for each thread to work in until `op` has run; behind them `shared` more.
  /// `element`: another than f32.
  Value threadRows(Operation *op, int64_t columns, int64_t shared = 0, Type element = {});
  FailureOr<Value> rowsAndColumns(Operation *op, const BufferView &view, int64_t rowAxes);
  FailureOr<Value> readRows(Operation *op, const BufferView &view, mlir::RankedTensorType type,
                            int64_t rowAxes);
  BufferView broadcast(const BufferView &view, Type from, Type to);

  // Ops.
  LogicalResult emit(Operation &op);
  LogicalResult emitBlock(Block &block);
  LogicalResult emitLinear(LinearOp op);
  /// That a linear is multiplied in.
  Precision precisionOf(LinearOp op);
  /// The rows of a linear's input in bf16, or as bytes with the scale and zero of each: with all
  /// of their padding, and as the products read them.
  struct NarrowRows {
    Value padded, elements, range;
  };
  NarrowRows allocateNarrow(LinearOp op, Precision precision);
  FailureOr<NarrowRows> narrow(LinearOp op, const BufferView &input, Precision precision);
  /// Of a linear with a norm.
  FailureOr<NarrowRows> normedBytes(LinearOp op, Precision precision);
  /// The rows of a linear's input in bf16, for GPUs.
  FailureOr<Value> halfRows(LinearOp op, const BufferView &input);
  /// What a norm reads: rows, gamma and beta.
  struct NormRows {
    Value input, weight, bias; ///< rows; null where there is none
  };
  FailureOr<NormRows> normRows(Operation *op, Value input, const RowNorm &norm);
  LogicalResult emitNorm(Operation *op, Value input, const RowNorm &norm, const BufferView &out);
  bool isOfCache(MapOp op);
  bool isInPlace(MapOp op);
  LogicalResult emitMap(MapOp op);
  LogicalResult emitMean(ReduceMeanOp op);
  LogicalResult emitLookup(LookupOp op);
  LogicalResult emitRotary(RotaryOp op);
  LogicalResult emitTable(TableOp op);
  LogicalResult emitPush(PushOp op);
  LogicalResult emitAttention(AttentionOp op);
  AttentionWork workOf(AttentionOp op, const SizePolynomial &states, Value key, Value value,
                       Value out);
  FailureOr<BufferView> readDense(Operation *op, Value tensor);
  LogicalResult emitConcat(ConcatOp op);
  LogicalResult emitCall(func::CallOp op);
  LogicalResult emitStack(scf::ForOp op);
  LogicalResult emitView(Operation *op);
  LogicalResult copy(Operation *op, BufferView from, BufferView to);
  /// After the kernel that an op has become.
  void barrier(Operation *op, const KernelCost &cost);
  void barrier(Operation *op) { barrier(op, costOf(op)); }
  /// Of fewer bytes than types say where elements are stored narrower; `read`: operands of which
  /// the kernel reads a copy of another element.
  KernelCost costOf(Operation *op, ArrayRef<std::pair<Value, Type>> read = {});

  // Results in an operand's place.
  void chooseInPlace(Block &block);
  void chooseInPlace(Value result, mlir::OpOperand &operand);
  /// Whether nothing reads the operand's tensor, or a view of it, at the same time or later.
  bool isLastReader(mlir::OpOperand &operand);
  /// Whether an op's results lie in buffers that are no other tensor's.
  bool hasOwnBuffers(Operation *op);
  /// The first of the tensors each of which may have the place of the one before.
  Value beginningOf(Value tensor);
  /// Whether what a loop carries may stay in its place.
  bool isInPlace(scf::ForOp loop, size_t carried);
  void recordInPlace(func::ReturnOp op);
  /// The place that a tensor takes over, if it can.
  std::optional<BufferView> inPlaceOf(Value result);

  // Results in place.
  void chooseParts(Block &block);
  void chooseDestination(Value tensor, const BufferView &place);
  LogicalResult deliver(Operation *op, Value tensor, const BufferView &place);
  FailureOr<Value> argument(Operation *op, Value tensor);
  bool isEntry() { return source->hasAttr("attn.entry"); }

  ModulePlan &plan;
  func::FuncOp source, target;
  OpBuilder builder;
  Location loc;
  Value packed, workspace, call, thread, threads;
  llvm::StringMap<Value> dims;
  SmallVector<Value> resultPointers;
  IRMapping scalars;
  DenseMap<Value, BufferView> views;                   // of every tensor that has been computed
  DenseMap<Value, std::pair<ConcatOp, size_t>> partOf; // tensors computed straight into a concat
  DenseMap<Value, BufferView> destinations; // tensors computed straight into a given place
  DenseMap<Value, Value> inPlace;           // tensors, and the operands whose place they may take
  SmallVector<Slot> slots;
  DenseMap<Value, size_t> slotOf; // by the pointers of all buffers there have been
  bool usesReleased = false;      // a kernel of the op being planned does: a defect
  SmallVector<std::pair<Operation *, size_t>> releases; // (last user, slot)
  size_t costs = 0;                                     // that this function has
  SizePolynomial calleeFrame;
  SmallVector<Value> framePlaceholders; // the frame's own size, where callees' frames begin
};

} // namespace attn
