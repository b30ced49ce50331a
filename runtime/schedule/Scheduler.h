// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests that share the steps of an entry whose rows are by themselves (attn/schedule.h).
#pragma once

#include "attn/schedule.h"
#include "run/Context.h"
#include "run/ScoreRules.h"
#include "schedule/KeptRows.h"
#include <atomic>
#include <pthread.h>

namespace attn {

/// A request from its submission to its end.
struct Sequence {
  attn_request request;
  int64_t number = 0;
  Vector<int32_t> tokens; ///< the prompt, and what has been chosen
  int64_t promptSize = 0, chosen = 0;
  int64_t most = 0;               ///< tokens that may be chosen
  bool isCut = false;             ///< whether that is what there is room for, below the limit
  HeldRow *held = nullptr;        ///< while it runs
  int64_t adds = 0;               ///< positions that the step adds to its row
  int64_t token = 0;              ///< that the step has chosen; -1: no score is a number
  bool isCancelled = false;       ///< under the scheduler's lock
  double submitted = 0, took = 0; ///< seconds of a clock: its arrival, when its work began
  attn_request_result result = {};
  ScoreRules rules{request.numbers};
  Vector<float> scores; ///< of the step, before rules, where probabilities are asked for
  Vector<int32_t> likeliest;
  Vector<float> logprobs; ///< of the likeliest
  float logprob = 0;      ///< of the token

  explicit Sequence(const attn_request &request) : request(request) {}
  Sequence(const Sequence &) = delete;
  Sequence &operator=(const Sequence &) = delete;
  ~Sequence() { dispose(held); }
  /// How many tokens its row does not hold yet.
  int64_t unread() const { return int64_t(tokens.size()) - int64_t(held->tokens.size()); }
  /// Whether it goes before another one.
  bool isBefore(const Sequence &other) const {
    return request.priority != other.request.priority ? request.priority > other.request.priority
                                                      : number < other.number;
  }
};

/// The entry that a scheduler runs: its tokens and scores.
struct ScheduledEntry {
  const attn_abi_model &tables;
  const attn_abi_entry &entry;

  ScheduledEntry(const attn_abi_model &tables, int32_t entry)
      : tables(tables), entry(tables.entries[entry]) {}
  /// Whether it takes tokens alone, and gives scores alone.
  attn_status check(Error &error) const;
  int64_t vocabulary() const { return entry.outputs[0].axes[1].offset; }
  /// Positions that a row holds at most, and a step adds.
  int64_t capacity() const;
  /// Bytes of a row's caches with so many positions.
  int64_t rowBytes(int64_t length) const;
};

/// Puts a sequence into a list by its urgency; there is room for it.
inline void insert(Vector<Sequence *> &list, Sequence *sequence) {
  list.push(sequence);
  for (size_t i = list.size() - 1; i > 0 && sequence->isBefore(*list[i - 1]); --i) {
    list[i] = list[i - 1];
    list[i - 1] = sequence;
  }
}

/// Takes a sequence out of a list, the order of which stays.
inline void remove(Vector<Sequence *> &list, const Sequence *sequence) {
  size_t left = 0;
  for (Sequence *other : list)
    if (other != sequence)
      list[left++] = other;
  list.resize(left);
}

} // namespace attn

/// What schedule.h calls a scheduler. Steps are run by one thread; what others change is under a
/// lock.
struct attn_scheduler {
public:
  attn_scheduler(attn_context &context, const int32_t &entry, const attn_schedule_options &options);
  attn_scheduler(const attn_scheduler &) = delete;
  attn_scheduler &operator=(const attn_scheduler &) = delete;
  ~attn_scheduler();

  /// attn_scheduler_submit and attn_scheduler_cancel.
  attn_status submit(const attn_request &request, int64_t *number, attn::Error &error);
  void cancel(int64_t number);
  /// Whether those who run an entry of a model share these steps.
  bool isOf(const attn_model &model, int32_t entry) const {
    return context.model == &model && attn_model_shared_entry(&model, entry) == number;
  }
  /// Runs a step; whether there are requests afterwards.
  bool step();
  void run();
  void stop();
  attn_schedule_counts counts() const;

private:
  using Sequence = attn::Sequence; ///< A request on its way.
  using HeldRow = attn::HeldRow;   ///< Its row.

  /// Whether a request can be run; sets how many tokens it may choose.
  attn_status checkRequest(const attn_request &request, Sequence &sequence,
                           attn::Error &error) const;
  /// Takes what was submitted to those that wait, and ends what was cancelled.
  void takeNew();
  // Which sequences have rows (Admission.cpp).
  /// Gives rows to those that wait, as far as there is room.
  void admit();
  /// The same for one; false where there is none.
  bool admit(Sequence &sequence);
  /// Whether another request is about to hold more of its beginning than is held now.
  bool isReadByAnother(const Sequence &sequence);
  /// Makes room for one more row of so many bytes: frees those that are kept, then takes those of
  /// less urgent requests. False where that is not enough.
  bool makeRoom(int64_t bytes, const Sequence &sequence);
  /// A new row, with what another one holds of a sequence's beginning; null without memory.
  HeldRow *copyBeginning(const Sequence &sequence);
  int64_t usedBytes() const;
  /// Takes a sequence's row away: it waits again, and is read again.
  void preempt(Sequence *sequence);
  /// The least urgent one that runs; null where none does.
  Sequence *leastUrgent() const { return running.empty() ? nullptr : running[running.size() - 1]; }
  /// Whether there is a row for a sequence, or one that it may take.
  bool hasRowFor(const Sequence &sequence) const;

  // A step (Step.cpp).
  /// How many positions each sequence adds: one where a token was chosen, or a piece of a prompt.
  void plan();
  /// The same, of what has room.
  void planWithinMemory();
  attn_status compute(attn::Error &error);
  /// After it: rows hold what was added.
  void noteAdded(Sequence &sequence);
  float *scoresOf(size_t row) const;
  void chooseTokens();
  void choose(Sequence &sequence, float *scores) const;
  /// Takes what the step has chosen: callbacks, and the ends of sequences.
  void settle();
  /// The same of one sequence; whether it goes on, else how it ends.
  bool take(Sequence &sequence, int32_t &ending);
  /// Ends a sequence that is in no list any more.
  void end(Sequence *sequence, int32_t ending, attn_status status = ATTN_OK,
           const char *message = nullptr);
  void publish();

  attn_context &context;
  int32_t number;
  attn::ScheduledEntry entry;
  attn_schedule_options options;
  int64_t capacity; ///< positions of a row, within the memory that there is
  // Of the thread that runs steps.
  attn::Vector<Sequence *> waiting, running; ///< in order of urgency
  attn::Vector<Sequence *> batch;            ///< of the step, in the order of its rows
  attn::KeptRows kept;
  bool wasFull = false; ///< memory was lacking for one that ran, and none has ended since
  int64_t turn = 0;
  attn::Vector<int64_t> ids, batchCounts;
  attn::Vector<attn_row *> batchRows;
  attn::PageBlock scores;
  attn_schedule_counts own = {};
  // Under the lock.
  mutable pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t isThere = PTHREAD_COND_INITIALIZER;
  attn::Vector<Sequence *> incoming, known; ///< not yet taken; all that have not ended
  int64_t nextNumber = 1;
  bool stops = false;
  attn_schedule_counts told = {};
};
