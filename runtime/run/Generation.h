// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run of an entry that generates.
#pragma once

#include "run/BeamRows.h"
#include "run/Beams.h"
#include "run/PromptTokens.h"
#include "run/RunEntry.h"
#include "run/ScoreRules.h"

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

/// The loop over tokens of one call of an entry that generates. What it refers to outlives it.
class Generation {
public:
  /// Of an entry that unfolds two others; dims and buffers have been checked.
  Generation(attn_context &context, const attn_abi_entry &entry, const attn_generation &numbers,
             const attn_tensor *inputs, const attn_tensor *outputs, Error &error)
      : context(context), tables(*context.model->tables), entry(entry), unfold(*entry.unfold),
        numbers(numbers), inputs(inputs), outputs(outputs), error(error),
        step(tables.entries[unfold.step]), rules(numbers),
        beams(numbers.beams > 1 ? numbers.beams : 1), beamRows(context, step, rowDim(), beams) {}

  /// Checks everything, then runs the first entry and the steps.
  attn_status run();

private:
  /// Whether the call's numbers are in their ranges, and what beams go together with.
  attn_status checkNumbers();
  attn_status checkBeams();
  /// The tokens that rules look at, and how many may be chosen.
  attn_status readTokens();
  /// Whether the positions of all runs fit into the caches.
  attn_status checkRoom();
  /// Makes room, and empties outputs and caches.
  attn_status prepare();
  /// The input of the step that takes the tokens.
  int32_t tokenInput() const;
  /// The dim of that input's rows, -1 where their number is fixed.
  int32_t rowDim() const;

  /// The steps, where each row has one continuation.
  attn_status goOn();
  /// Chooses the tokens of all rows by scores; those of a row that has ended is -1 in the outputs.
  attn_status choose(attn_tensor &scores);
  /// Changes scores by the rules, for what follows these tokens of a row.
  void applyRules(int64_t row, const TokenSpan &tokens, float *scores, int64_t vocabulary);
  /// What a row begins with, for rules that look at it: in it is room for all that is chosen.
  int32_t *textOf(int64_t row) { return texts.empty() ? nullptr : texts.data() + row * textSize; }
  /// How many tokens a row begins with.
  int64_t begun(int64_t row) const { return unfold.begin >= 0 ? 1 : prompt.row(row).count; }
  /// Runs the step on what the one before has given, null for the first one.
  attn_status runStep(Outputs *before, Outputs &after);
  /// The inputs of a step: `before` has what the step before gave, null for the first one.
  void bindInputs(Outputs *before);
  /// Puts what a step gives beside to that of the steps before.
  void keepStacked(Outputs &from);
  /// What the next step takes in a row.
  void setTokens(int64_t row, int64_t token);
  /// Whether a row ends with this token.
  bool isStop(int64_t token) const;

  /// The steps of a beam search.
  attn_status goOnWithBeams();
  /// Repeats the rows that the first entry has computed.
  attn_status repeatRows();
  /// Logarithms of probabilities of all slots, by the rules.
  void rateBeams(float *scores, int64_t slots, int64_t vocabulary);
  /// The step of all beams goes on from what a step has given, null where that is the first entry.
  attn_status chooseBeams(attn_tensor &scores, Outputs *given);
  /// Keeps what a step of beams gives beside, of which the best ones' rows are taken at the end.
  attn_status keepSteps(Outputs &from);
  /// The outputs: of each row the best of its hypotheses, and what was given beside in its steps.
  attn_status writeBest();

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
  int64_t most = 0; ///< tokens that may be chosen
  ScoreRules rules;
  PromptTokens prompt;   ///< What rows go on from, or the source of those that begin with a token.
  Vector<int32_t> texts; ///< [rows, textSize], where rules look at them.
  int64_t textSize = 0;
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
