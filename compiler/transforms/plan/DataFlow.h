// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernel reads what which other one has written, of a function that is planned: exactly what
// its buffers say while each is still by itself.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// Says of a planned function how data flows between its kernels and calls (attributes::flow), and
/// keeps what those who call it need to know. Functions that it calls have been described.
///
/// `nodes` are dictionaries in the order of the function: inputs and caches (`input`, `cache`: the
/// name), kernels (`cost`: the name of their attn.cost, with the slots of their `weights`), calls
/// (`call`: the function) and outputs (`output`: the name). `edges` are dictionaries as well:
/// `from` and `to` are numbers of nodes, `bytes` a sum of products as attn.cost has it; `later`:
/// what the turn of a loop before has written.
void describeFlow(FunctionPlan &plan);

} // namespace attn::planning
