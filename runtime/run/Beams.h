// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beam search: which tokens the hypotheses of each row go on with, and the best one at the end.
#pragma once

#include "base/Vector.h"
#include <cmath>
#include <cstdint>

namespace attn {

/// When a row is done for which as many hypotheses are finished as it has beams: when the best one
/// that goes on cannot be better than the worst of them, judged by its length now (Soon) or by the
/// length at which it scores most (Never), or at once.
enum class EarlyStopping { Soon = 0, AtOnce = 1, Never = 2 };

/// How hypotheses are judged.
struct BeamNumbers {
  int64_t beams, limit;
  double lengthPenalty;
  EarlyStopping earlyStopping;
  const int64_t *stops; ///< outlives who uses it
  int32_t stopCount;
};

/// What is written of several rows. A row has `beams` slots, each of a hypothesis that goes on: its
/// tokens, and the sum of the logarithms of their probabilities. In each step the likeliest
/// continuations of all take the slots; those that end with a stop token or at the limit, and are
/// among the first `beams`, are finished, with the sum divided by (number of tokens, that one
/// included) to the power of the length penalty (Wu et al. 2016 have another one).
class Beams {
public:
  /// False where memory is lacking.
  bool prepare(int64_t rows, const BeamNumbers &numbers);

  /// Goes on by one token. Scores are [rows, slots, vocabulary], logarithms of probabilities of
  /// each slot, where there are `slots` of each row: `beams`, or 1 the first time; then slot 0
  /// alone goes on. NaN is never chosen. The row whose scores are all NaN or -infinity; -1: none.
  int64_t extend(const float *scores, int64_t slots, int64_t vocabulary);

  /// Of the last step: the slot of the same row from which a slot goes on, and its token. A slot
  /// that others go on from goes on from itself, so that rows can be copied in any order.
  int64_t parent(int64_t row, int64_t slot) const { return step(row, slot).parent; }
  int64_t token(int64_t row, int64_t slot) const { return step(row, slot).token; }
  bool isDone() const { return doneRows == rows; }
  /// Whether something goes on in a slot.
  bool isLive(int64_t row, int64_t slot) const { return sum(row, slot) > -INFINITY; }
  /// The tokens that were chosen in a slot, as many as steps; there is room for them.
  void history(int64_t row, int64_t slot, int32_t *tokens) const;

  /// What a hypothesis consists of.
  struct Written {
    int64_t tokens; ///< Without the stop token.
    int64_t steps;  ///< With it.
  };
  /// The best hypothesis of a row: its tokens, and the slots whose scores they were chosen by, in
  /// the order of steps. Both have room for the limit. It is known when the row is done.
  Written best(int64_t row, int32_t *tokens, int32_t *slots) const;

private:
  /// Of a slot in one step: the token it goes on with, and the slot it goes on from.
  struct Step {
    int32_t token, parent;
  };
  /// A slot that could go on with a token, and the sum of both.
  struct Candidate {
    double sum;
    int32_t slot, token;
  };
  /// Ended in step `step`, going on from `slot`, with a token, or with a stop: then that is -1.
  struct Finished {
    double score;
    int64_t step;
    int32_t slot, token;
  };

  /// Of the last step.
  const Step &step(int64_t row, int64_t slot) const {
    return steps[size_t(((done - 1) * rows + row) * beams + slot)];
  }
  double sum(int64_t row, int64_t slot) const { return sums[size_t(row * beams + slot)]; }
  /// What a sum is worth that so many tokens have.
  double scoreOf(double sum, int64_t length) const;
  /// Whether a row that has its hypotheses finished is done with them.
  bool isSettled(int64_t row) const;
  /// Whether a hypothesis ends with this token.
  bool isStop(int64_t token) const;
  /// Adds the tokens of one slot to the candidates of its row.
  void collect(const float *scores, int64_t vocabulary, double sum, int32_t slot);
  /// Gives the candidates of a row its slots: one that goes on from a slot of which nothing else
  /// does takes that slot, the others what is left.
  void takeSlots(int64_t row);
  /// Keeps a hypothesis that ended, if there is room for it, or a worse one.
  void finish(int64_t row, const Finished &hypothesis);

  BeamNumbers numbers = {};
  int64_t rows = 0, beams = 0, done = 0, doneRows = 0;
  Vector<Step> steps;        ///< [limit, rows, beams]
  Vector<double> sums;       ///< [rows, beams]; -infinity where nothing goes on.
  Vector<Finished> finished; ///< [rows, beams], the best first.
  Vector<int32_t> counts;    ///< Of what is finished in each row.
  Vector<uint8_t> isRowDone;
  Vector<Candidate> candidates; ///< Of one row, the likeliest first.
  size_t candidateCount = 0;
};

} // namespace attn
