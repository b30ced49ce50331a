// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run of an entry that generates.
#ifndef ATTN_RUN_GENERATION_H
#define ATTN_RUN_GENERATION_H
#include "run/BeamRows.h"
#include "run/Beams.h"
#include "run/RunEntry.h"

namespace attn {

/// The outputs of one run of an entry, in memory of their own.
class Outputs {
public:
  /// Makes room for the outputs of an entry, for these inputs.
  attn_status prepare(const attn_context &context, int32_t entry, const attn_tensor *inputs,
                      Error &error);
  attn_tensor *data() { return tensors.data(); }
  attn_tensor &operator[](int32_t i) { return tensors[size_t(i)]; }

private:
  Vector<attn_tensor> tensors;
  PageBlock memory;
};

class Generation {
public:
  Generation(attn_context &context, const attn_abi_entry &entry, const attn_generation &numbers,
             const attn_tensor *inputs, const attn_tensor *outputs, Error &error)
      : context(context), tables(*context.model->tables), entry(entry), unfold(*entry.unfold),
        numbers(numbers), inputs(inputs), outputs(outputs), error(error),
        step(tables.entries[unfold.step]), beams(numbers.beams > 1 ? numbers.beams : 1),
        beamRows(context, step, rowDim(), beams) {}

  attn_status run();

private:
  attn_status checkNumbers();
  attn_status checkRoom();
  attn_status prepare();
  /// The input of the step that takes the tokens, and the dim of its rows, -1 where they are fixed.
  int32_t tokenInput() const;
  int32_t rowDim() const;
  /// Of a beam search: repeats the rows that the first entry has computed.
  attn_status repeatRows();
  /// Sets scores that no choice may look at to -infinity.
  void restrictScores(attn_tensor &scores) const;
  attn_status chooseBeams(attn_tensor &scores, Outputs *given);
  attn_status goOn();
  attn_status goOnWithBeams();
  attn_status runStep(Outputs *before, Outputs &after);
  attn_status keepSteps(Outputs &from);
  attn_status writeBest();
  /// Chooses the tokens of all rows by scores; those of a row that has ended is -1 in the outputs.
  attn_status choose(attn_tensor &scores);
  void bindInputs(Outputs *before);
  void keepStacked(Outputs &from);
  void setTokens(int64_t row, int64_t token);
  bool isStop(int64_t token) const;

  attn_context &context;
  const attn_abi_model &tables;
  const attn_abi_entry &entry;
  const attn_abi_unfold &unfold;
  const attn_generation &numbers;
  const attn_tensor *inputs, *outputs;
  Error &error;
  const attn_abi_entry &step;
  Outputs first, steps[2];
  Vector<attn_tensor> stepInputs;
  Vector<int64_t> tokens; ///< What the step takes, as i32 or i64.
  Vector<int32_t> now;    ///< Of each row, -1 where it has ended.
  int64_t rows = 0, chosen = 0, live = 0;
  // Of a beam search.
  int64_t beams;
  BeamRows beamRows;
  Beams search;
  Vector<attn_tensor> repeated; ///< What the step takes at first, by inputs.
  Vector<BeamRows::Copy> copies;
  PageBlock kept; ///< What steps give beside, all of them: of each output, limit times its bytes.
  Vector<attn_tensor> keptShapes;
};

} // namespace attn
#endif
