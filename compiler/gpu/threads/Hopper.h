// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels for Hopper (sm_90a) are made of: boxes of tensors that the copy engine brings to
// shared memory (TMA), mbarriers that tell of them, and products of warp groups (wgmma). Sections
// are of the PTX ISA 8.7.
#pragma once

#include "compiler/kernels/Integers.h"
#include "dialect/Attributes.h"

namespace attn {

/// Threads of a warp group.
constexpr int64_t warpGroupThreads = 128;
/// Bytes of a row of a box, which the copy engine swizzles: 64 halves.
constexpr int64_t swizzleBytes = 128;
constexpr int64_t swizzleElements = swizzleBytes / 2;
/// The alignment of boxes in shared memory; the pattern of a swizzle repeats every eight rows.
constexpr int64_t boxAlignment = 1024, swizzleRows = boxAlignment / swizzleBytes;
/// Dynamic shared memory of a block.
constexpr int64_t mostSharedBytes = 227 * 1024;

/// A tensor of bf16 or f16 that a kernel copies boxes of, as its launch says it: pointer, sizes and
/// strides as index values of the host's (attn_abi_tensor_map).
struct TensorMap {
  llvm::SmallVector<mlir::Value> words;
  llvm::SmallVector<int64_t, 5> box; ///< innermost first

  /// The map of these dims of a buffer, the innermost last. Ops are created in the host's function.
  static TensorMap of(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer,
                      llvm::ArrayRef<int64_t> box, llvm::ArrayRef<unsigned> dims);
};

/// Emits instructions at the builder's insertion point. Addresses in shared memory are of 32 bits.
class Hopper : public Integers {
public:
  // A kernel with `attributes::watchdog`, its number: a wait that does not end writes that, the
  // block, the thread and what was waited for to where `attn_watchdog` points (runtime/cuda/Code.h,
  // WatchdogReport), and traps.

  /// In a gpu.func, at its beginning. `half`, bf16 or f16, is what is multiplied.
  Hopper(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type half);

  /// The same value for all threads of a warp, which the assembler can tell then.
  mlir::Value uniform(mlir::Value value) const;

  /// An address in shared memory as a pointer.
  mlir::Value pointer(mlir::Value address) const;

  // mbarriers (9.7.13.15), at addresses in shared memory.
  /// Sets up an mbarrier whose phases end with so many arrivals. One thread does.
  void initBarrier(mlir::Value address, int64_t arrivals) const;
  /// Makes them known to the copy engine, and to all threads of the block.
  void publishBarriers() const;
  /// Until the phase of this parity has ended. `place` says what is waited for, in up to 12
  /// letters, where the kernel has a watchdog.
  void wait(mlir::Value address, mlir::Value parity, llvm::StringRef place) const;
  /// One arrival for all of a warp, after what its threads have done before.
  void arriveByWarp(mlir::Value address) const;
  /// An arrival, after which the phase waits for `bytes` of copies, too.
  void expect(mlir::Value address, int64_t bytes) const;
  /// Copies the box at `place` (elements, innermost first) of a tensor map to shared memory, and
  /// tells the mbarrier (9.7.9.27).
  void copyBox(mlir::Value address, mlir::Value map, mlir::ValueRange place,
               mlir::Value barrier) const;

  /// Copies a box in shared memory to `place` of a tensor map, but for what is outside of the
  /// tensor: a group of the thread's own (9.7.9.27, 9.7.9.25.6). Generic stores to the box come
  /// before, with fenceStores and a barrier.
  void storeBox(mlir::Value address, mlir::Value map, mlir::ValueRange place) const;
  /// Until at most `pending` such groups have not been read from shared memory, or, where none is
  /// pending, until all is done.
  void waitForStores(int64_t pending) const;
  /// stmatrix (9.7.14.5.16): four matrices of 8 x 8 halves, of whose row i of matrix m lane
  /// 8 * m + i has the address.
  void storeMatrices(mlir::Value address, llvm::ArrayRef<mlir::Value> words) const;

  /// Named barriers (9.7.13.1) for `threads` threads in all: waiting, or only arriving.
  void syncNamed(mlir::Value id, int64_t threads) const;
  void arriveNamed(mlir::Value id, int64_t threads) const;
  /// Lets the threads of a warp meet.
  void syncWarp() const;
  /// Whether this is the one thread of a whole warp that was chosen.
  mlir::Value elect() const;
  /// Registers of each thread of this warp group from here on (9.7.19.5).
  void setRegisters(int64_t count, bool increase) const;

  // Products of a warp group (9.7.15).
  /// Describes a matrix in shared memory that lies in swizzled boxes, 64 elements wide. Products
  /// are along the boxes' rows; or, of the right operand, down their columns, where the next 64
  /// elements are `boxBytes` further.
  mlir::Value descriptor(mlir::Value address, int64_t boxBytes = 16) const;
  /// A descriptor so many bytes further.
  mlir::Value advance(mlir::Value descriptor, int64_t bytes) const;
  /// sums[64 x N] += a[64 x 16] b[16 x N], from descriptors; `isFirst`: sums are 0 before, whatever
  /// they are. N is twice the number of sums of a thread, which are those of TensorCores, of 16
  /// rows for each warp.
  void multiply(llvm::MutableArrayRef<mlir::Value> sums, mlir::Value a, mlir::Value b,
                bool isFirst = false) const;
  /// Multiplies as above with words of halves as a, 4 of each thread, and b down the columns of its
  /// boxes.
  void multiplyWords(llvm::MutableArrayRef<mlir::Value> sums, llvm::ArrayRef<mlir::Value> a,
                     mlir::Value b) const;
  void fenceProducts() const;
  /// What the thread has stored to shared memory, for products behind a barrier (9.7.13.4).
  void fenceStores() const;
  void commitProducts() const;
  /// Until at most `pending` groups of products are on their way.
  void waitForProducts(int64_t pending) const;
  /// Values that nothing before or after this may be moved across.
  void pin(llvm::MutableArrayRef<mlir::Value> values) const;

  mlir::Type half;
  mlir::Value thread;        ///< of the block
  mlir::Value sharedBase;    ///< address of dynamic shared memory
  mlir::IntegerAttr watched; ///< the kernel's number; null where it has no watchdog

private:
  mlir::Value watchdog; ///< where the address of its report is

  /// Waits as `wait` does, but for 2 s at most; then reports and traps.
  void watch(mlir::Value address, mlir::Value parity, llvm::StringRef place) const;
  /// An instruction that has no op of its own, as PTX.
  llvm::SmallVector<mlir::Value> assembly(llvm::StringRef text, llvm::StringRef constraints,
                                          mlir::ValueRange operands, mlir::TypeRange results) const;
};

/// A ring of stages in shared memory that copies fill and products empty.
struct StageRing {
  int64_t stages;
  int64_t bytes;        ///< of a stage
  int64_t firstBarrier; ///< offsets in shared memory: those of filled stages, then of emptied ones
  int64_t firstStage;

  /// Addresses of a stage: the mbarrier that its copies complete, the one that its readers do, and
  /// its memory.
  mlir::Value filled(const Hopper &hopper, mlir::Value stage) const;
  mlir::Value emptied(const Hopper &hopper, mlir::Value stage) const;
  mlir::Value memory(const Hopper &hopper, mlir::Value stage) const;
  /// The next stage and the parity of its use: {stage, parity}.
  std::pair<mlir::Value, mlir::Value> next(const Hopper &hopper, mlir::Value stage,
                                           mlir::Value parity) const;
  /// One thread's part of the setup. `consumers`: arrivals that empty a stage.
  void init(const Hopper &hopper, int64_t consumers) const;
};

} // namespace attn
