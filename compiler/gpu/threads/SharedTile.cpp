// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows in global memory to a tile in shared memory, and the tile to words of fragments.
#include "compiler/gpu/threads/SharedTile.h"
#include "compiler/gpu/threads/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace attn;

SharedTile::SharedTile(const TensorCores &cores, Value pointer, int64_t rows, int64_t features)
    : rows(rows), cores(cores), pointer(pointer), features(features),
      rowBytes(rowBytesOf(features)) {
  const IndexBuilder &index = cores.index;
  Value eight = index.constant(8), bytes = index.constant(rowBytes);
  Value across = index.constant(threadsOfRow);
  down = index.div(cores.thread, across), part = index.rem(cores.thread, across);
  start = cores.at(pointer,
                   index.add(index.mul(down, bytes), index.mul(part, index.constant(chunkBytes))));
  Value inMatrix = index.mul(index.rem(cores.lane, eight), bytes),
        matrix = index.mul(index.div(cores.lane, eight), index.constant(16));
  rowLane = cores.addressOf(cores.at(pointer, index.add(inMatrix, matrix)));
  columnLane = cores.addressOf(cores.at(pointer, index.mul(cores.lane, bytes)));
}

//===-- copies ------------------------------------------------------------------------------===//

static Value isBelow(const IndexBuilder &index, Value a, Value b) {
  return index.builder.createOrFold<arith::CmpIOp>(index.loc, arith::CmpIPredicate::ult, a, b);
}

static Value select(const TensorCores &cores, Value condition, Value a, Value b) {
  return cores.builder.createOrFold<arith::SelectOp>(cores.loc, condition, a, b);
}

/// Unrolled: places are a register and a constant, and nothing waits.
void SharedTile::copyRows(const GlobalRows &from, Rows rowOf) const {
  const IndexBuilder &index = cores.index;
  Value address = cores.addressOf(start);
  for (int64_t first = 0; first < rows; first += rowStep) {
    Value row = index.add(down, index.constant(first));
    auto copyRow = [&] {
      std::pair<Value, Value> source = rowOf(row);
      Value own = cores.at(source.first, index.mul(part, index.constant(chunkBytes)));
      for (int64_t c = 0; c < chunks(); c += threadsOfRow) {
        Value isChunk = c + threadsOfRow <= chunks()
                            ? index.truth(true)
                            : isBelow(index, part, index.constant(chunks() - c));
        choose(index, isChunk, [&] {
          cores.copyAsync(address, first * rowBytes + c * chunkBytes, own, c * chunkBytes,
                          source.second);
        });
      }
    };
    choose(index,
           first + rowStep <= rows ? index.truth(true) : isBelow(index, row, index.constant(rows)),
           copyRow);
  }
  cores.commitCopies();
}

/// Eight features, aligned.
void SharedTile::convertChunk(const GlobalRows &from, Value shared, Value global,
                              Value isThere) const {
  SmallVector<Value> elements = from.loadEight(global), words;
  for (int64_t i = 0; i < chunk; i += 2)
    words.push_back(
        select(cores, isThere, cores.word(elements[i], elements[i + 1]), cores.integer(0)));
  cores.store(cores.vectorOf(words), shared, chunkBytes);
}

/// Element by element; those from the last feature on are zeros.
void SharedTile::convertElements(const GlobalRows &from, Value shared, Value row, Value first,
                                 Value isThere) const {
  const IndexBuilder &index = cores.index;
  OpBuilder &builder = cores.builder;
  Value count = index.constant(features), last = index.constant(features - 1);
  SmallVector<Value> words, pair;
  for (int64_t i = 0; i < chunk; ++i) {
    Value feature = index.add(first, index.constant(i)), at = index.min(feature, last);
    Value element = cores.load(cores.at(row, index.mul(at, index.constant(from.elementBytes))),
                               from.element, from.elementBytes);
    if (!from.element.isF32())
      element = LLVM::FPExtOp::create(builder, cores.loc, builder.getF32Type(), element);
    Value isFeature =
        arith::AndIOp::create(builder, cores.loc, isThere, isBelow(index, feature, count));
    pair.push_back(select(cores, isFeature, element, cores.number(0)));
    if (pair.size() == 2) {
      words.push_back(cores.word(pair[0], pair[1]));
      pair.clear();
    }
  }
  cores.store(cores.vectorOf(words), shared, 16);
}

/// In loops: what is on its way has registers.
void SharedTile::convertRows(const GlobalRows &from, Value areAligned, Rows rowOf) const {
  const IndexBuilder &index = cores.index;
  forLoop(index, down, index.constant(rows), rowStep, [&](Value row) {
    std::pair<Value, Value> source = rowOf(row);
    Value to = cores.at(pointer, index.mul(row, index.constant(rowBytes)));
    forLoop(index, part, index.constant(chunks()), threadsOfRow, [&](Value own) {
      Value shared = cores.at(to, index.mul(own, index.constant(chunkBytes))),
            first = index.mul(own, index.constant(chunk));
      choose(
          index, areAligned,
          [&] {
            Value bytes = index.mul(first, index.constant(from.elementBytes));
            convertChunk(from, shared, cores.at(source.first, bytes), source.second);
          },
          [&] { convertElements(from, shared, source.first, first, source.second); });
    });
  });
}

void SharedTile::fetch(const GlobalRows &from, Value areAligned, Rows rowOf) const {
  const IndexBuilder &index = cores.index;
  Value inChunks = features % chunk == 0 ? areAligned : index.truth(false);
  if (from.element != cores.half)
    return convertRows(from, inChunks, rowOf);
  choose(
      index, inChunks, [&] { copyRows(from, rowOf); },
      [&] { convertRows(from, index.truth(false), rowOf); });
}

//===-- fragments ---------------------------------------------------------------------------===//

void attn::forMatrices(int64_t count, llvm::function_ref<void(int64_t, int64_t)> body) {
  int64_t from = 0;
  for (int64_t size : {4, 2, 1})
    for (; from + size <= count; from += size)
      body(from, size);
}

SmallVector<SmallVector<Value>> SharedTile::left(Value firstRow, int64_t from,
                                                 int64_t count) const {
  const IndexBuilder &index = cores.index;
  Value rowsDown = index.constant(16), row = index.add(firstRow, index.rem(cores.lane, rowsDown)),
        half = index.mul(index.div(cores.lane, rowsDown), index.constant(16));
  Value start =
      cores.addressOf(cores.at(pointer, index.add(index.mul(row, index.constant(rowBytes)), half)));
  SmallVector<SmallVector<Value>> steps;
  for (int64_t c = 0; c < count; c += 2)
    steps.push_back(cores.loadMatrices(start, 16 * (from + c), c + 1 < count ? 4 : 2,
                                       /*isTransposed=*/false));
  return steps;
}

SmallVector<Value> SharedTile::rowWords(int64_t row, int64_t from, int64_t count) const {
  return cores.loadMatrices(rowLane, row * rowBytes + from * 16, count,
                            /*isTransposed=*/false);
}

SmallVector<Value> SharedTile::columnWords(int64_t row, int64_t chunk, int64_t count) const {
  return cores.loadMatrices(columnLane, row * rowBytes + chunk * 16, count,
                            /*isTransposed=*/true);
}

SmallVector<Value> SharedTile::chunkWords(Value row, Value own) const {
  const IndexBuilder &index = cores.index;
  Value place = index.add(index.mul(row, index.constant(rowBytes)),
                          index.mul(own, index.constant(chunkBytes)));
  auto type = VectorType::get({4}, cores.builder.getI32Type());
  Value vector = cores.load(cores.at(pointer, place), type, chunkBytes);
  SmallVector<Value> words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(
        LLVM::ExtractElementOp::create(cores.builder, cores.loc, vector, cores.integer(i)));
  return words;
}

Value SharedTile::pairWord(Value row, int64_t own) const {
  const IndexBuilder &index = cores.index;
  Value place = index.add(index.mul(row, index.constant(rowBytes)),
                          index.mul(cores.t, index.constant(chunkBytes / 4)));
  return cores.load(cores.at(cores.at(pointer, place), own * chunkBytes),
                    cores.builder.getI32Type(), chunkBytes / 4);
}
