// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A walk over a planned function that keeps, of each buffer, who has written what of it last. Loops
// are walked twice, with the places of the first turn and of the second, which reads what the first
// has written. Behind a loop, what has another place in each turn is taken to be anywhere.
#include "compiler/transforms/plan/DataFlow.h"
#include "compiler/transforms/Footprint.h"
#include "compiler/transforms/OutlineKernel.h"
#include "dialect/Attributes.h"
#include "dialect/Caches.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace attn::planning {

namespace {

using Bytes = std::optional<SizePolynomial>;

/// Memory that a node reads or writes: a part of it, where that is known.
struct Piece {
  Value root; ///< the pointer of a buffer, of a function's argument, of weights or of a cache
  std::optional<Footprint> part;
  Bytes bytes;
};

/// What a node has written.
struct Write {
  int64_t node;
  Piece piece;
  bool isOfTurn = false; ///< whether its place is that of one turn of a loop
};

using Writes = std::vector<Write>;
using Contents = DenseMap<Value, Writes>;

/// Data that goes from one node to another.
struct Edge {
  SmallVector<Footprint> read; ///< each once
  Bytes bytes;
  bool isLater = false;
};

class DataFlow {
public:
  explicit DataFlow(FunctionPlan &plan) : plan(plan), own(plan.builder) {}

  void run();

private:
  int64_t addNode(StringRef kind, StringRef name);
  int64_t cacheNode(StringRef name);
  /// Gives all kernels and calls their nodes, in the order of the function.
  void numberSteps();
  /// The node of the barrier behind a kernel; -1 where there is none.
  int64_t nodeOf(Operation *kernel) const;

  Value rootOf(Value pointer) const;
  Piece pieceOf(Value buffer);
  Bytes polynomial(OpFoldResult size) const;
  Bytes bytesOf(Value buffer) const;

  void walk(Block &block);
  void visitKernel(Operation *kernel);
  void visitCall(func::CallOp call);
  void visitLoop(scf::ForOp loop);
  /// Takes what turns of a loop have written at places of their own to be anywhere.
  void leaveTurns();
  bool dependsOnTurn(Value value) const;
  void read(int64_t node, const Piece &piece);
  void write(int64_t node, const Piece &piece, bool isWhole, bool isOfTurn);
  void connect(int64_t from, int64_t to, const Piece &what, const Bytes &bytes);
  /// What is noted of the function for those who call it.
  FlowSummary &summary() { return plan.module.flows[plan.source.getSymName()]; }
  void attach();

  FunctionPlan &plan;
  Builder own;
  Footprints footprints;
  Contents contents;
  SmallVector<NamedAttrList> nodes;
  DenseMap<Operation *, int64_t> stepOf; ///< of barriers and calls
  llvm::StringMap<int64_t> caches;
  DenseMap<int64_t, unsigned> argumentOf; ///< of nodes that are inputs
  llvm::SmallMapVector<std::pair<int64_t, int64_t>, Edge, 16> edges;
  SmallVector<Value> turns; ///< the indices of the loops that are walked
  bool isSecondTurn = false;
};

} // namespace

int64_t DataFlow::addNode(StringRef kind, StringRef name) {
  NamedAttrList node;
  node.set(kind, own.getStringAttr(name));
  nodes.push_back(std::move(node));
  return int64_t(nodes.size()) - 1;
}

int64_t DataFlow::cacheNode(StringRef name) {
  auto [known, isNew] = caches.try_emplace(name, int64_t(nodes.size()));
  if (isNew)
    addNode("cache", name);
  return known->second;
}

void DataFlow::numberSteps() {
  plan.target.walk([&](Operation *op) {
    if (auto barrier = dyn_cast<BarrierOp>(op); barrier && barrier.getCost())
      stepOf[op] = addNode("cost", *barrier.getCost());
    else if (auto call = dyn_cast<func::CallOp>(op))
      stepOf[op] = addNode("call", call.getCallee());
  });
}

int64_t DataFlow::nodeOf(Operation *kernel) const {
  for (Operation *next = kernel->getNextNode(); next; next = next->getNextNode())
    if (isa<BarrierOp>(next))
      return stepOf.contains(next) ? stepOf.lookup(next) : -1;
  return -1;
}

Value DataFlow::rootOf(Value pointer) const {
  while (true) {
    if (auto cast = pointer.getDefiningOp<memref::ReinterpretCastOp>()) {
      pointer = cast.getSource();
      continue;
    }
    auto view = pointer.getDefiningOp<memref::ViewOp>();
    auto whole = view ? view.getSource().getDefiningOp<memref::ReinterpretCastOp>()
                      : memref::ReinterpretCastOp();
    if (!whole || whole.getSource() == plan.arguments.workspace)
      return pointer;
    pointer = whole.getSource(); // a piece of a buffer
  }
}

Bytes DataFlow::polynomial(OpFoldResult size) const {
  if (std::optional<int64_t> known = getConstantIntValue(size))
    return SizePolynomial(*known);
  auto value = cast<Value>(size);
  for (auto &[name, dim] : plan.arguments.dims)
    if (dim == value)
      return plan.module.withMeanRows(SizePolynomial::dim(name));
  Operation *op = value.getDefiningOp();
  if (!op || !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  Bytes a = polynomial(op->getOperand(0)), b = polynomial(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  return isa<arith::AddIOp>(op) ? *a + *b : isa<arith::SubIOp>(op) ? *a - *b : *a * *b;
}

Bytes DataFlow::bytesOf(Value buffer) const {
  auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>();
  if (!view)
    return std::nullopt;
  SizePolynomial bytes(cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8);
  for (auto [size, stride] : llvm::zip(view.getMixedSizes(), view.getMixedStrides())) {
    if (isConstantIntValue(stride, 0)) // repeated
      continue;
    Bytes own = polynomial(size);
    if (!own)
      return std::nullopt;
    bytes = bytes * *own;
  }
  return bytes;
}

Piece DataFlow::pieceOf(Value buffer) {
  Piece piece{rootOf(buffer), std::nullopt, bytesOf(buffer)};
  if (!buffer.getDefiningOp<memref::ReinterpretCastOp>())
    return piece;
  piece.part = footprints.of(buffer);
  llvm::erase_if(piece.part->atoms,
                 [](const Atom &atom) { return atom.stride == SizePolynomial(0); });
  piece.part->atoms = collapse(piece.part->atoms);
  return piece;
}

static bool haveNothingInCommon(const Piece &a, const Piece &b) {
  return a.part && b.part && a.part->shift == b.part->shift && areDisjoint(*a.part, *b.part);
}

/// The lesser of two, where it is seen which that is; else the first.
static Bytes lesser(const Bytes &a, const Bytes &b) {
  if (!a || !b)
    return a ? a : b;
  return (*a - *b).isNeverNegative() ? b : a;
}

void DataFlow::connect(int64_t from, int64_t to, const Piece &what, const Bytes &bytes) {
  if (from == to || from < 0 || to < 0)
    return;
  if (auto input = argumentOf.find(from); input != argumentOf.end())
    summary().arguments[input->second].addRead(bytes);
  auto [edge, isNew] = edges.insert({{from, to}, Edge()});
  if (isNew)
    edge->second.isLater = isSecondTurn;
  else if (what.part && llvm::is_contained(edge->second.read, *what.part))
    return;
  else if (isSecondTurn && !edge->second.isLater)
    return; // as in the first
  if (what.part)
    edge->second.read.push_back(*what.part);
  else if (!isNew)
    return; // the same pointer again
  if (bytes)
    edge->second.bytes = edge->second.bytes ? *edge->second.bytes + *bytes : *bytes;
}

void DataFlow::read(int64_t node, const Piece &piece) {
  if (auto address = piece.root.getDefiningOp<AddressOp>()) {
    auto weights = dyn_cast_or_null<ArrayAttr>(nodes[size_t(node)].get("weights"));
    SmallVector<Attribute> slots;
    if (weights)
      llvm::append_range(slots, weights);
    if (!llvm::is_contained(slots, address.getSlotAttr().getAttr()))
      slots.push_back(address.getSlotAttr().getAttr());
    nodes[size_t(node)].set("weights", own.getArrayAttr(slots));
    return;
  }
  if (auto cache = piece.root.getDefiningOp<CachePlaceOp>()) {
    summary().caches[cache.getCache().str()].isRead = true;
    summary().caches[cache.getCache().str()].bytes = piece.bytes;
    return connect(cacheNode(cache.getCache()), node, piece, piece.bytes);
  }
  for (const Write &write : contents.lookup(piece.root))
    if (!haveNothingInCommon(write.piece, piece))
      connect(write.node, node, piece, lesser(piece.bytes, write.piece.bytes));
}

void DataFlow::write(int64_t node, const Piece &piece, bool isWhole, bool isOfTurn) {
  if (auto cache = piece.root.getDefiningOp<CachePlaceOp>()) {
    summary().caches[cache.getCache().str()].isWritten = true;
    return connect(node, cacheNode(cache.getCache()), piece, piece.bytes);
  }
  Writes &writes = contents[piece.root];
  llvm::erase_if(writes, [&](const Write &other) {
    return isWhole || (piece.part && other.piece.part && *piece.part == *other.piece.part);
  });
  writes.push_back({node, piece, isOfTurn});
}

void DataFlow::visitKernel(Operation *kernel) {
  int64_t node = nodeOf(kernel);
  if (node < 0)
    return;
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(kernel).getEffects(effects);
  DenseSet<OpOperand *> written;
  for (MemoryEffects::EffectInstance &effect : effects)
    if (auto *operand = effect.getEffectValue<OpOperand *>();
        operand && isa<MemoryEffects::Write>(effect.getEffect()))
      written.insert(operand);
  // What attention makes of parts of the keys is written by what combines them.
  auto attention = dyn_cast<AttentionKernelOp>(kernel);
  auto isLeftAlone = [&](OpOperand &operand) {
    return attention && attention.getPartials() && operand.get() == attention.getOut();
  };
  for (OpOperand &operand : kernel->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()) && !written.contains(&operand))
      read(node, pieceOf(operand.get()));
  for (OpOperand &operand : kernel->getOpOperands())
    if (written.contains(&operand) && !isLeftAlone(operand))
      write(node, pieceOf(operand.get()), /*isWhole=*/false, dependsOnTurn(operand.get()));
}

void DataFlow::visitCall(func::CallOp call) {
  int64_t node = stepOf.lookup(call);
  const FlowSummary &callee = plan.module.flows[call.getCallee()];
  auto pieceOfArgument = [&](unsigned number, const Bytes &bytes) {
    return Piece{rootOf(call.getOperand(number)), std::nullopt, bytes};
  };
  for (auto &[number, use] : callee.arguments)
    if (use.isRead)
      read(node, pieceOfArgument(number, use.bytes));
  for (auto &[name, use] : callee.caches) {
    FlowSummary::Use &all = summary().caches[name];
    all.isRead |= use.isRead, all.isWritten |= use.isWritten, all.bytes = use.bytes;
    Piece whole{call.getOperand(0), std::nullopt, use.bytes};
    if (use.isRead)
      connect(cacheNode(name), node, whole, use.bytes);
    if (use.isWritten)
      connect(node, cacheNode(name), whole, std::nullopt);
  }
  for (auto &[number, use] : callee.arguments)
    if (use.isWritten) {
      Piece piece = pieceOfArgument(number, use.bytes);
      write(node, piece, /*isWhole=*/piece.root == call.getOperand(number),
            dependsOnTurn(call.getOperand(number)));
    }
}

static Writes joined(Writes writes, ArrayRef<Write> more) {
  llvm::append_range(writes, more);
  return writes;
}

bool DataFlow::dependsOnTurn(Value value) const {
  if (llvm::is_contained(turns, value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && !turns.empty() &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return dependsOnTurn(operand); });
}

void DataFlow::leaveTurns() {
  for (auto &[root, writes] : contents) {
    Writes kept;
    for (Write &write : writes) {
      if (std::exchange(write.isOfTurn, false))
        write.piece.part.reset(), write.piece.bytes.reset();
      bool isKnown = !write.piece.part && llvm::any_of(kept, [&](const Write &other) {
        return other.node == write.node && !other.piece.part;
      });
      if (!isKnown)
        kept.push_back(std::move(write));
    }
    writes = std::move(kept);
  }
}

void DataFlow::visitLoop(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  std::optional<APInt> trips = loop.getStaticTripCount();
  std::vector<Writes> first, last;
  for (Value init : loop.getInitArgs())
    first.push_back(contents.lookup(rootOf(init)));
  SizePolynomial index = footprints.sizeOf(loop.getLowerBound());
  turns.push_back(loop.getInductionVar());
  auto turn = [&] {
    footprints.set(loop.getInductionVar(), index);
    walk(*loop.getBody());
    index = index + footprints.sizeOf(loop.getStep());
    last.clear();
    for (Value value : yield.getOperands())
      last.push_back(contents.lookup(rootOf(value)));
  };
  for (auto [argument, writes] : llvm::zip(loop.getRegionIterArgs(), first))
    contents[argument] = writes;
  turn();
  if (!trips || trips->ugt(1)) {
    bool wasSecondTurn = std::exchange(isSecondTurn, true);
    for (auto [argument, writes] : llvm::zip(loop.getRegionIterArgs(), last))
      contents[argument] = writes;
    turn();
    isSecondTurn = wasSecondTurn;
  }
  turns.pop_back();
  leaveTurns();
  for (auto [i, result] : llvm::enumerate(loop.getResults()))
    contents[result] = trips && !trips->isZero() ? last[i] : joined(last[i], first[i]);
}

void DataFlow::walk(Block &block) {
  for (Operation &op : block) {
    if (attn::isKernel(&op))
      visitKernel(&op);
    else if (auto call = dyn_cast<func::CallOp>(op))
      visitCall(call);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      visitLoop(loop);
    else
      for (Region &piece : op.getRegions())
        for (Block &inner : piece)
          walk(inner);
  }
}

/// The name that an entry gives to what it takes or returns; a number where it gives none.
static std::string nameOf(DictionaryAttr attributes, StringRef otherwise, size_t number) {
  auto name = attributes ? attributes.getAs<StringAttr>(attributes::name) : StringAttr();
  if (name)
    return name.str();
  return number ? otherwise.str() + " " + std::to_string(number + 1) : otherwise.str();
}

void DataFlow::run() {
  func::FuncOp source = plan.source;
  size_t count = 0;
  for (auto [i, argument] : llvm::enumerate(plan.arguments.own)) {
    if (!isa<MemRefType>(argument.getType()))
      continue;
    Piece whole{argument, std::nullopt, std::nullopt};
    std::string name = nameOf(source.getArgAttrDict(unsigned(i)), "input", count++);
    int64_t node = addNode("input", name);
    argumentOf[node] = cast<BlockArgument>(argument).getArgNumber();
    contents[argument] = {{node, whole}};
  }
  numberSteps();
  walk(plan.target.getBody().front());
  for (auto [i, result] : llvm::enumerate(plan.arguments.results)) {
    int64_t node = addNode("output", nameOf(source.getResultAttrDict(unsigned(i)), "output", i));
    for (const Write &write : contents.lookup(result)) {
      connect(write.node, node, write.piece, write.piece.bytes);
      summary().arguments[result.getArgNumber()].addWrite(write.piece.bytes);
    }
  }
  attach();
}

void DataFlow::attach() {
  SmallVector<Attribute> described, connections;
  for (const NamedAttrList &node : nodes)
    described.push_back(node.getDictionary(own.getContext()));
  for (auto &[ends, edge] : edges) {
    NamedAttrList own;
    own.set("from", this->own.getI64IntegerAttr(ends.first));
    own.set("to", this->own.getI64IntegerAttr(ends.second));
    if (edge.bytes)
      own.set("bytes", edge.bytes->attribute(this->own));
    if (edge.isLater)
      own.set("later", this->own.getUnitAttr());
    connections.push_back(own.getDictionary(this->own.getContext()));
  }
  plan.target->setAttr(
      attributes::flow,
      own.getDictionaryAttr({own.getNamedAttr("nodes", own.getArrayAttr(described)),
                             own.getNamedAttr("edges", own.getArrayAttr(connections))}));
}

void describeFlow(FunctionPlan &plan) { DataFlow(plan).run(); }

} // namespace attn::planning
