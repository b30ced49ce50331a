// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What attentions work in.
#include "compiler/transforms/plan/AttentionWork.h"
#include "compiler/transforms/AttentionShape.h"
#include "compiler/transforms/FewQueries.h"
#include "compiler/transforms/plan/Buffers.h"

using namespace mlir;

namespace attn::planning {

/// The batch dims of queries with keys of their own, and how many queries share these: those of the
/// other batch dims, behind them.
static std::pair<int64_t, int64_t> sharingQueries(MemRefType queries, Value key, Value value) {
  auto isRepeated = [](Value buffer, int64_t dim) {
    return cast<MemRefType>(buffer.getType()).getStridesAndOffset().first[dim] == 0;
  };
  int64_t own = queries.getRank() - 2, rows = queries.getDimSize(own);
  while (own > 0 && isRepeated(key, own - 1) && isRepeated(value, own - 1)) {
    int64_t size = queries.getDimSize(--own);
    bool isKnown = !ShapedType::isDynamic(rows) && !ShapedType::isDynamic(size);
    rows = isKnown ? rows * size : ShapedType::kDynamic;
  }
  return {own, rows};
}

/// The scratch of many queries, on the level of the plan that takes most; of GPUs, which take none,
/// as if all levels were planned for.
static int64_t mostFloats(FunctionPlan &plan, AttentionOp op, Value key, Value value, Value out) {
  SmallVector<const CpuTarget *> levels = plan.module.targets.levels;
  if (levels.empty())
    for (const CpuTarget &level : cpuTargets())
      levels.push_back(&level);
  int64_t floats = 0;
  for (const CpuTarget *level : levels) {
    auto problem = AttentionProblem::on(*level, op, key, value, out, plan.module.multipliesPairs());
    KernelChoice choice = choiceFor(plan.module.op, level->name, problem.name());
    floats = std::max(floats, AttentionShape::of(problem, plan.module.attention, choice).floats);
  }
  return floats;
}

AttentionWork workOf(FunctionPlan &plan, AttentionOp op, const SizePolynomial &states, Value key,
                     Value value, Value out) {
  auto type = cast<MemRefType>(out.getType());
  int64_t batch = type.getRank() - 2, queries = type.getDimSize(batch);
  const Placement &placement = plan.module.placement();
  int64_t heads = batch, rows = queries;
  if (placement.headsShareKeys)
    std::tie(heads, rows) = sharingQueries(type, key, value);
  if (!areFewQueries(op, rows, placement.mostFewQueries))
    return {threadRows(plan, op, mostFloats(plan, op, key, value, out)), {}, {}};
  FewQueriesShape few{/*lanes=*/16, type.getShape().back()}; // of any CPU the most
  int64_t parts =
      keyPartsOf(type.getShape().take_front(heads),
                 cast<MemRefType>(key.getType()).getDimSize(batch), placement.keyDivision(rows));
  Value scratch = threadRows(plan, op, few.scratchFloats(queries, parts > 1));
  if (parts == 1)
    return {scratch, {}, {}};
  int64_t state = queries * few.stateFloats();
  SizePolynomial partialBytes = states * SizePolynomial(4 * parts * state);
  Value pointer = plan.frame.take(partialBytes, plan.builder.getF32Type(), op);
  Value partials = memrefOf(plan, BufferView{pointer, 0, {}},
                            {Atom{states, parts * state}, Atom{parts, state}, Atom{state, 1}});
  return {scratch, partials, partialBytes};
}

} // namespace attn::planning
