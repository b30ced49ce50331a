// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beam search: which tokens the hypotheses of each row go on with, and the best one at the end.
#ifndef ATTN_RUN_BEAMS_H
#define ATTN_RUN_BEAMS_H
#include "base/Vector.h"
#include <cstdint>

namespace attn {

/// What is written of several rows. A row has `beams` slots, each of a hypothesis that goes on: its
/// tokens, and the sum of the logarithms of their probabilities. In each step the likeliest
/// continuations of all take the slots; those that end with a stop token, and are among the first
/// `beams`, are finished, with the sum divided by (number of tokens, that one included) to the
/// power of the length penalty (Wu et al. 2016 have another one). A row is done when `beams` of its
/// hypotheses are finished; at the limit, those in slots count as finished.
class Beams {
public:
  /// False where memory is lacking. `stops` outlives this.
  bool prepare(int64_t rows, int64_t beams, int64_t limit, double lengthPenalty,
               const int64_t *stops, int32_t stopCount);

  /// Goes on by one token. Scores are [rows, slots, vocabulary], logits of each slot, where there
  /// are `slots` of each row: `beams`, or 1 the first time; then slot 0 alone goes on. NaN is never
  /// chosen. The row whose scores are all NaN or -infinity; -1: none.
  int64_t extend(const float *scores, int64_t slots, int64_t vocabulary);

  /// Of the last step: the slot of the same row from which a slot goes on, and its token. A slot
  /// that others go on from goes on from itself, so that rows can be copied in any order.
  int64_t parent(int64_t row, int64_t slot) const { return step(row, slot).parent; }
  int64_t token(int64_t row, int64_t slot) const { return step(row, slot).token; }
  bool isDone() const { return doneRows == rows; }

  /// What a hypothesis consists of.
  struct Written {
    int64_t tokens; ///< Without the stop token.
    int64_t steps;  ///< With it.
  };
  /// The best hypothesis of a row: its tokens, and the slots whose scores they were chosen by, in
  /// the order of steps. Both have room for the limit. No more tokens come behind this.
  Written best(int64_t row, int32_t *tokens, int32_t *slots);

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
  /// Ended in step `step`, going on from `slot`; or not ended, and in `slot` behind that step.
  struct Finished {
    double score;
    int64_t step;
    int32_t slot;
    bool hasStop;
  };

  /// Of the last step.
  const Step &step(int64_t row, int64_t slot) const {
    return steps[size_t(((done - 1) * rows + row) * beams + slot)];
  }
  /// Whether a hypothesis ends with this token.
  bool isStop(int64_t token) const;
  /// Adds the tokens of one slot to the candidates of its row.
  void collect(const float *scores, int64_t vocabulary, double sum, int32_t slot);
  /// Gives the candidates of a row its slots: one that goes on from a slot of which nothing else
  /// does takes that slot, the others what is left.
  void takeSlots(int64_t row);
  /// Keeps a hypothesis that ended, if there is room for it, or a worse one.
  void finish(int64_t row, const Finished &hypothesis);

  int64_t rows = 0, beams = 0, limit = 0, done = 0, doneRows = 0;
  double lengthPenalty = 1;
  const int64_t *stops = nullptr;
  int32_t stopCount = 0;
  Vector<Step> steps;           ///< [limit, rows, beams]
  Vector<double> sums;          ///< [rows, beams]; -infinity where nothing goes on.
  Vector<Finished> finished;    ///< [rows, beams], the best first.
  Vector<int32_t> counts;       ///< Of what is finished in each row.
  Vector<Candidate> candidates; ///< Of one row, the likeliest first.
  size_t candidateCount = 0;
};

} // namespace attn
#endif
