// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention on tensor cores (Dao 2023, FlashAttention-2): a block of threads has 64 rows of
// queries, 16 for each warp, and goes through their keys tile by tile. Queries, sums and statistics
// are in registers, keys and values in shared memory, in bf16 or f16; each is copied there while
// the other is multiplied:
//
//   wait for keys -> copy values -> scores = queries * keys -> weights
//   -> wait for values -> copy the next keys -> sums = sums * factors + weights * values
//
// Tiles that a mask empties are not copied; hooks and masks are computed element by element.
#include "compiler/gpu/attention/Attention.h"
#include "compiler/gpu/attention/AttentionFragments.h"
#include "compiler/gpu/attention/BlockAttentionShape.h"
#include "compiler/gpu/attention/ValueProducts.h"
#include "compiler/gpu/ptx/Ptx.h"
#include "compiler/kernels/ScoreFunction.h"
#include "dialect/Attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

class AttentionBlock {
public:
  AttentionBlock(AttentionKernelOp op, const ScoreFunction &score, OpBuilder &builder);

  void run(const TilingContext &context);

private:
  /// What is carried from tile to tile.
  struct State {
    FragmentSoftmax::State softmax;
    SmallVector<Value> sums; ///< fragments of [16 rows, value features]

    SmallVector<Value> values() const {
      SmallVector<Value> all = softmax.values();
      llvm::append_range(all, sums);
      return all;
    }
    static State of(ValueRange values) {
      return {FragmentSoftmax::State::of(values.take_front(4)),
              SmallVector<Value>(values.drop_front(4))};
    }
  };

  Value shared(int64_t bytes);
  void unit(Value head, Value firstRow, Value part);
  void fetchQueries(Value firstRow);
  void fetchKeys(const SharedTile &to, const GlobalRows &from, Value areAligned, Value tile);
  State initial();
  void fetchNext(Value tile);
  State overTiles(Value first);
  State step(Value tile, const State &before, bool isFirst, Value next);
  SmallVector<Value> products();
  void addValues(ArrayRef<Value> weights, MutableArrayRef<Value> sums, Value isTested);
  void wait();

  Value firstWarpRow() { return index.mul(cores.warp, index.constant(warpRows)); }
  Value isBelow(Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, a, b);
  }
  /// Values of one of two branches.
  SmallVector<Value> branch(Value condition, llvm::function_ref<SmallVector<Value>()> yes,
                            llvm::function_ref<SmallVector<Value>()> no);

  AttentionKernelOp op;
  OpBuilder &builder;
  Location loc;
  TensorCores cores;
  const IndexBuilder &index;
  GlobalRows query, key, value;
  int64_t valueTiles;
  AttentionFragments fragments;
  QueryRows &rows;
  int64_t tileKeys;
  std::optional<SharedTile> queryTile, keyTile, valueTile;
  Value queryAligned, keyAligned, valueAligned;
  // What belongs to the unit that is computed.
  SmallVector<SmallVector<Value>> queries; ///< A words; none of those that stay
  Value headNumber, part, tileEnd;         ///< behind the last tile of the part
};

} // namespace

static int64_t tileKeysOf(AttentionKernelOp op, ScoreElements elements, const GlobalRows &key,
                          const GlobalRows &value) {
  int64_t count = op.getKey().getType().getShape()[op.getBatch()];
  return tileKeysOf(key.features, value.features,
                    ShapedType::isDynamic(count) ? std::nullopt : std::optional(count),
                    elements.isProportional(), elements.isMasked());
}

AttentionBlock::AttentionBlock(AttentionKernelOp op, const ScoreFunction &score, OpBuilder &builder)
    : op(op), builder(builder), loc(op.getLoc()), cores(builder, loc, halfOf(op)),
      index(cores.index), query(cores, op.getQuery()), key(cores, op.getKey()),
      value(cores, op.getValue()), valueTiles(SharedTile::chunksOf(value.features)),
      fragments(op, score, cores, tileKeysOf(op, ScoreElements(op, score, builder), key, value),
                /*packsRows=*/true),
      rows(fragments.rows), tileKeys(fragments.tileKeys) {
  queryAligned = query.areAligned(16), keyAligned = key.areAligned(16);
  valueAligned = value.areAligned(16);
  int64_t keyBytes = tileKeys * SharedTile::rowBytesOf(key.features),
          queryBytes = blockRows * SharedTile::rowBytesOf(key.features);
  Value start = shared(sharedBytesOf(tileKeys, key.features, value.features)),
        second = cores.at(start, keyBytes);
  keyTile.emplace(cores, start, tileKeys, key.features);
  queryTile.emplace(cores, second, blockRows, key.features);
  valueTile.emplace(cores, queriesStay(key.features) ? cores.at(second, queryBytes) : second,
                    tileKeys, value.features);
}

Value AttentionBlock::shared(int64_t bytes) {
  auto function = op->getParentOfType<gpu::GPUFuncOp>();
  auto space = gpu::AddressSpaceAttr::get(op.getContext(), gpu::AddressSpace::Workgroup);
  if (bytes > usualSharedBytes) {
    function->setAttr(attributes::shared, builder.getI64IntegerAttr(bytes));
    return cores.dynamicSharedPointer(function->getParentOfType<gpu::GPUModuleOp>());
  }
  // The elements are vectors, whose alignment ldmatrix needs.
  auto word = VectorType::get({4}, builder.getI32Type());
  auto type = MemRefType::get({bytes / 16}, word, AffineMap(), space);
  return cores.sharedPointer(function.addWorkgroupAttribution(type, loc));
}

SmallVector<Value> AttentionBlock::branch(Value condition,
                                          llvm::function_ref<SmallVector<Value>()> yes,
                                          llvm::function_ref<SmallVector<Value>()> no) {
  if (auto known = constantIndex(condition))
    return *known != 0 ? yes() : no();
  auto body = [&](llvm::function_ref<SmallVector<Value>()> values) {
    return [&, values](OpBuilder &, Location) { scf::YieldOp::create(builder, loc, values()); };
  };
  return scf::IfOp::create(builder, loc, condition, body(yes), body(no)).getResults();
}

//===-- copies ------------------------------------------------------------------------------===//

void AttentionBlock::fetchQueries(Value firstRow) {
  Value last = index.sub(rows.count, index.constant(1));
  queryTile->fetch(query, queryAligned, [&](Value row) {
    Value at = index.min(index.add(firstRow, row), last); // rows behind the last are not stored
    return std::pair(query.row(rows.positionsOf(fragments.head, at)), index.truth(true));
  });
}

/// Behind the last key there are zeros, so that weights of 0 add nothing.
void AttentionBlock::fetchKeys(const SharedTile &to, const GlobalRows &from, Value areAligned,
                               Value tile) {
  Value start = from.row(fragments.head), firstKey = fragments.firstKeyOf(tile),
        bytes = from.rowBytes(), last = index.sub(rows.keyCount, index.constant(1));
  to.fetch(from, areAligned, [&](Value row) {
    Value at = index.add(firstKey, row);
    if (!fragments.hasTail)
      return std::pair(cores.at(start, index.mul(at, bytes)), index.truth(true));
    return std::pair(cores.at(start, index.mul(index.min(at, last), bytes)),
                     isBelow(at, rows.keyCount));
  });
}

/// For the block's own copies.
void AttentionBlock::wait() {
  cores.waitForCopies();
  gpu::BarrierOp::create(builder, loc);
}

//===-- scores ------------------------------------------------------------------------------===//

SmallVector<Value> AttentionBlock::products() {
  SmallVector<Value> scores(tileKeys / 2, cores.number(0));
  forMatrices(keyTile->chunks(), [&](int64_t from, int64_t count) {
    SmallVector<SmallVector<Value>> own(
        queries.empty() ? queryTile->left(firstWarpRow(), from, count)
                        : ArrayRef(queries).slice(from / 2, llvm::divideCeil(count, 2)));
    for (int64_t row = 0; row < tileKeys; row += 8) {
      SmallVector<Value> words = keyTile->rowWords(row, from, count);
      for (int64_t c = 0; c < count; c += 2)
        cores.multiply(MutableArrayRef(scores).slice(row / 2, 4), own[c / 2],
                       ArrayRef(words).slice(c, std::min<int64_t>(2, count - c)));
    }
  });
  return scores;
}

//===-- values ------------------------------------------------------------------------------===//

/// A value behind the mask adds nothing, not even 0 * inf; where all pairs of a tile are live,
/// there is none.
void AttentionBlock::addValues(ArrayRef<Value> weights, MutableArrayRef<Value> sums,
                               Value isTested) {
  SmallVector<SmallVector<Value>> words = cores.wordsOf(weights);
  ValueProducts products(cores, *valueTile);
  if (!fragments.elements.isMasked())
    return products.multiply(words, sums);
  Value isPlain = branch(
      isTested, [&]() -> SmallVector<Value> { return {products.areFinite()}; },
      [&]() -> SmallVector<Value> { return {index.truth(true)}; })[0];
  SmallVector<Value> before(sums);
  auto product = [&](auto multiply) {
    return [&, multiply] {
      SmallVector<Value> result(before);
      (products.*multiply)(words, result);
      return result;
    };
  };
  llvm::copy(
      branch(isPlain, product(&ValueProducts::multiply), product(&ValueProducts::multiplyLive)),
      sums.begin());
}

//===-- tiles -------------------------------------------------------------------------------===//

AttentionBlock::State AttentionBlock::initial() {
  return {fragments.initial(), SmallVector<Value>(4 * valueTiles, cores.number(0))};
}

/// One tile, whose keys are on their way.
AttentionBlock::State AttentionBlock::step(Value tile, const State &before, bool isFirst,
                                           Value next) {
  wait(); // the values before have been multiplied, too
  fetchKeys(*valueTile, value, valueAligned, tile);
  SmallVector<Value> scores = products();
  Value isTested = fragments.applyHooks(scores, tile);
  State state = before;
  std::array<Value, 2> factors = fragments.softmax.weigh(scores, state.softmax);
  if (!isFirst)
    for (auto [i, sum] : llvm::enumerate(state.sums))
      sum = arith::MulFOp::create(builder, loc, sum,
                                  factors[FragmentPlace::of(static_cast<int64_t>(i)).row]);
  wait(); // the keys have been multiplied, too
  if (!isFirst)
    fetchNext(next);
  addValues(scores, state.sums, isTested);
  return state;
}

void AttentionBlock::fetchNext(Value tile) {
  choose(index, isBelow(tile, tileEnd), [&] { fetchKeys(*keyTile, key, keyAligned, tile); });
}

AttentionBlock::State AttentionBlock::overTiles(Value first) {
  if (fragments.hasOneTile() && !fragments.elements.isMasked() && !op.getPartials())
    return step(first, initial(), /*isFirst=*/true, {});
  SmallVector<Value> carried{first};
  llvm::append_range(carried, initial().values());
  auto loop = scf::WhileOp::create(
      builder, loc, ValueRange(carried).getTypes(), carried,
      [&](OpBuilder &, Location, ValueRange values) {
        scf::ConditionOp::create(builder, loc, isBelow(values[0], tileEnd), values);
      },
      [&](OpBuilder &, Location, ValueRange values) {
        Value next = fragments.nextTile(index.add(values[0], index.constant(1)));
        State state = step(values[0], State::of(values.drop_front()), /*isFirst=*/false, next);
        SmallVector<Value> carried{next};
        llvm::append_range(carried, state.values());
        scf::YieldOp::create(builder, loc, carried);
      });
  return State::of(loop.getResults().drop_front());
}

//===-- rows --------------------------------------------------------------------------------===//

void AttentionBlock::unit(Value unitHead, Value firstRow, Value unitPart) {
  headNumber = unitHead, part = unitPart;
  fragments.enter(rows.headOf(unitHead), firstRow, blockRows, firstWarpRow());
  Value firstTile = index.constant(0);
  tileEnd = fragments.tileCount;
  if (op.getPartials()) {
    Value size = index.ceilDiv(fragments.tileCount, index.dim(op.getPartials(), 1));
    firstTile = index.mul(part, size);
    tileEnd = index.min(fragments.tileCount, index.add(firstTile, size));
  }
  gpu::BarrierOp::create(builder, loc); // the unit before has read its values
  Value tile = fragments.nextTile(firstTile);
  fetchNext(tile);
  fetchQueries(firstRow);
  wait();
  if (!queriesStay(key.features))
    queries = queryTile->left(firstWarpRow(), 0, queryTile->chunks());
  State state = overTiles(tile);
  if (op.getPartials())
    fragments.storePart(state.sums, state.softmax, headNumber, part);
  else
    fragments.store(state.sums, state.softmax);
}

void AttentionBlock::run(const TilingContext &context) {
  // Two blocks of a multiprocessor can have all registers that a thread can have. Unasked, ptxas
  // would spill some to have a third.
  op->getParentOfType<gpu::GPUFuncOp>()->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                                                 builder.getI32IntegerAttr(2));
  // A head's last rows come first: under a causal mask they take longest.
  Value blocks = index.ceilDiv(rows.count, index.constant(blockRows)),
        parts = op.getPartials() ? index.dim(op.getPartials(), 1) : index.constant(1),
        ofHead = index.mul(blocks, parts);
  context.forEachUnit(index, index.mul(rows.heads, ofHead), [&](Value number) {
    Value inHead = index.rem(number, ofHead),
          fromEnd = index.add(index.div(inHead, parts), index.constant(1)),
          firstRow = index.mul(index.sub(blocks, fromEnd), index.constant(blockRows));
    unit(index.div(number, ofHead), firstRow, index.rem(inHead, parts));
  });
}

void attn::emitBlockAttention(AttentionKernelOp op, const ScoreFunction &score,
                              const TilingContext &context) {
  OpBuilder builder(op);
  AttentionBlock(op, score, builder).run(context);
}
