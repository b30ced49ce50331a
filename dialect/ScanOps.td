// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of later stages for a recurrence that is one kernel, whose states stay near while its steps go by. Constraints as of AttnOps.td.
#ifndef ATTN_SCAN_OPS_TD
#define ATTN_SCAN_OPS_TD

include "dialect/AttnKernelOps.td"
include "dialect/tiles/Rows.td"

def Attn_ScanKernelOp : AttnKernelOp<"scan_kernel", [KernelOpInterface, AttrSizedOperandSegments]> {
  let summary = "a recurrence, all steps of one piece of the states after the other";
  let description = [{
    Inputs and outputs are [rows..., steps, depth, columns], states [rows..., depth, columns]; a piece is some columns of a row, of any depth. What is the same along
    depth has a depth of 1. The body takes an element of each input and each state, and ends with attn.step: those of each output and of each new state.
    attn.fold in it is of all elements along depth. In `reverse`, the last step is the first. `scratch` [threads, floats] has room for a piece of the states for each
    thread. `initial` and `final` states may be the same buffers.
  }];
  let arguments = (ins Variadic<Attn_Buffer>:$inputs, Variadic<Attn_Buffer>:$initial, Arg<Variadic<Attn_Buffer>, "", [MemWrite]>:$outs,
                       Arg<Variadic<Attn_Buffer>, "", [MemWrite]>:$final, Arg<MemRefRankOf<[F32], [2]>, "", [MemWrite]>:$scratch, UnitAttr:$reverse);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `over` `(` $inputs `)` `from` `(` $initial `)` `into` `(` $outs `)` `states` `(` $final `)` `scratch` $scratch (`reverse` $reverse^)? attr-dict `:`
    `(` type($inputs) `)` `,` `(` type($initial) `)` `,` `(` type($outs) `)` `,` `(` type($final) `)` `,` type($scratch) $body
  }];
  let hasVerifier = 1;
}

def Attn_ScanRowOp : AttnKernelOp<"scan_row", [RowTileOpInterface, AttrSizedOperandSegments]> {
  let summary = "all steps of one piece of a recurrence's states (attn.scan_kernel)";
  let description = [{ Inputs and outputs are [steps, depth, columns], states [depth, columns]. `room` is the thread's row of scratch. }];
  let arguments = (ins Variadic<Attn_Buffer>:$inputs, Variadic<Attn_Buffer>:$initial, Variadic<Attn_Buffer>:$outs, Variadic<Attn_Buffer>:$final,
                       MemRefRankOf<[F32], [1]>:$room, UnitAttr:$reverse);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `over` `(` $inputs `)` `from` `(` $initial `)` `into` `(` $outs `)` `states` `(` $final `)` `room` $room (`reverse` $reverse^)? attr-dict `:`
    `(` type($inputs) `)` `,` `(` type($initial) `)` `,` `(` type($outs) `)` `,` `(` type($final) `)` `,` type($room) $body
  }];
}

def Attn_FoldOp : AttnKernelOp<"fold", [Pure, ParentOneOf<["ScanKernelOp", "ScanRowOp"]>]> {
  let summary = "the sum, mean, largest or smallest of all elements along depth, in a recurrence's body";
  let arguments = (ins Attn_ReductionAttr:$kind, F32:$element);
  let results = (outs F32:$result);
  let assemblyFormat = "$kind $element attr-dict";
}

def Attn_StepOp : AttnKernelOp<"step", [Pure, Terminator, ParentOneOf<["ScanKernelOp", "ScanRowOp"]>]> {
  let summary = "ends a recurrence's body: an element of each output, then of each new state";
  let arguments = (ins Variadic<F32>:$values);
  let assemblyFormat = "$values attr-dict";
}

#endif // ATTN_SCAN_OPS_TD
