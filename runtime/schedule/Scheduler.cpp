// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests as they come in from any thread, and the loop of the one that runs steps.
#include "schedule/Scheduler.h"
#include "base/Clock.h"
#include "run/Rows.h"
#include "run/Settings.h"

using namespace attn;

attn_status ScheduledEntry::check(Error &error) const {
  bool takesTokens = entry.inputCount == 1 && entry.inputs[0].rank == 2 &&
                     (entry.inputs[0].dtype == ATTN_I32 || entry.inputs[0].dtype == ATTN_I64),
       givesScores = entry.outputCount == 1 && entry.outputs[0].rank == 2 &&
                     entry.outputs[0].dtype == ATTN_F32 &&
                     entry.outputs[0].axes[0].dim == entry.rows && entry.outputs[0].axes[1].dim < 0;
  if (entry.rows >= 0 && takesTokens && givesScores)
    return ATTN_OK;
  error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s` shares no steps", entry.name);
  error.help("take an entry `forward by B last T` of tokens, i32[B, T], which gives scores, "
             "f32[B, V]");
  return error.status;
}

int64_t ScheduledEntry::capacity() const {
  int64_t least = tables.dims[entry.inputs[0].axes[1].dim].value;
  for (int32_t c = 0; c < entry.cacheCount; ++c) {
    int64_t own = tables.dims[tables.caches[entry.caches[c].cache].dim].value;
    least = own < least ? own : least;
  }
  return least;
}

int64_t ScheduledEntry::rowBytes(int64_t length) const {
  int64_t bytes = 0;
  for (int32_t c = 0; c < entry.cacheCount; ++c)
    bytes += attn::rowBytes(tables, entry.caches[c].cache, entry.rows, length);
  return bytes;
}

attn_scheduler::attn_scheduler(attn_context &context, const int32_t &entry,
                               const attn_schedule_options &options)
    : context(context), number(entry), entry(*context.model->tables, entry), options(options),
      capacity(this->entry.capacity()) {
  for (int64_t most = capacity, least = 0; least < most;) { // of positions that there is memory for
    int64_t middle = (least + most + 1) / 2;
    bool hasRoom = this->entry.rowBytes(middle) <= options.memory;
    (hasRoom ? least : most) = hasRoom ? middle : middle - 1;
    capacity = least;
  }
  // A piece of a prompt has room beside single tokens.
  if (this->options.mostRows > capacity / 2)
    this->options.mostRows = capacity / 2 > 1 ? capacity / 2 : 1;
}

attn_scheduler::~attn_scheduler() {
  takeNew();
  for (Vector<Sequence *> *list : {&waiting, &running})
    for (Sequence *sequence : *list)
      end(sequence, ATTN_TEXT_ENDED_BY_CALLER);
  for (Sequence *sequence : incoming) // which a callback has submitted
    dispose(sequence);
  pthread_cond_destroy(&isThere);
  pthread_mutex_destroy(&lock);
}

//===-- any thread --------------------------------------------------------------------------===//

attn_status attn_scheduler::checkRequest(const attn_request &request, Sequence &sequence,
                                         Error &error) const {
  const attn_generation &numbers = request.numbers;
  auto invalid = [&](const char *what) {
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_scheduler_submit: %s", what);
  };
  if (!request.tokens && request.count > 0)
    return invalid("null pointer");
  if (const NumberSetting *wrong = wrongNumber(numbers))
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_scheduler_submit: `%s` is %s",
                     wrong->name, wrong->expected);
  if (const char *wrong = wrongList(numbers))
    return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                     "attn_scheduler_submit: `%s` is a list of tokens", wrong);
  if (numbers.beams != 1 || numbers.limit < 1)
    return invalid("expected one beam, and a limit of at least one token");
  if (request.logprobs < 0 || request.logprobs > 100)
    return invalid("expected 0 to 100 likeliest tokens");
  if (request.count < 1)
    return error.set(ATTN_BAD_INPUT, "R0214", "the prompt has no tokens");
  int64_t room = capacity - request.count + 1;
  if (room < 1) {
    error.set(ATTN_BAD_INPUT, "R0215",
              "the prompt has %lld tokens, but the context has room for %lld",
              static_cast<long long>(request.count), static_cast<long long>(capacity));
    if (capacity < entry.capacity())
      error.note("caches hold %lld tokens, but the scheduler has %lld bytes for them",
                 static_cast<long long>(entry.capacity()), static_cast<long long>(options.memory));
    return error.status;
  }
  for (int64_t i = 0; i < request.count; ++i)
    if (int64_t below = entry.entry.inputs[0].below;
        request.tokens[i] < 0 || (below > 0 && request.tokens[i] >= below))
      return error.set(
          ATTN_BAD_INPUT, "R0206", "token %lld of the prompt is %d, expected 0 to %lld",
          static_cast<long long>(i), request.tokens[i], static_cast<long long>(below - 1));
  sequence.most = numbers.limit;
  if (numbers.maxLength > 0 && numbers.maxLength - request.count < sequence.most)
    sequence.most = numbers.maxLength - request.count;
  if (sequence.most < 1)
    return error.set(ATTN_BAD_INPUT, "R0216",
                     "there are %lld tokens, and `max_length` is %lld with those that are written",
                     static_cast<long long>(request.count),
                     static_cast<long long>(numbers.maxLength));
  sequence.isCut = room < sequence.most;
  if (sequence.isCut)
    sequence.most = room;
  return ATTN_OK;
}

attn_status attn_scheduler::submit(const attn_request &request, int64_t *number, Error &error) {
  auto *sequence = create<Sequence>(request);
  if (!sequence)
    return error.outOfMemory("a request");
  attn_status status = checkRequest(request, *sequence, error);
  auto vocabulary = size_t(entry.vocabulary()), likeliest = size_t(request.logprobs);
  if (!status && (!sequence->tokens.reserve(size_t(request.count + sequence->most)) ||
                  !sequence->tokens.append(request.tokens, size_t(request.count)) ||
                  !sequence->rules.prepare(int64_t(vocabulary)) ||
                  (request.onLogprobs && (!sequence->scores.resize(vocabulary) ||
                                          !sequence->likeliest.resize(likeliest) ||
                                          !sequence->logprobs.resize(likeliest)))))
    status = error.outOfMemory("a request");
  if (status) {
    dispose(sequence);
    return status;
  }
  sequence->promptSize = request.count;
  sequence->submitted = secondsNow();
  pthread_mutex_lock(&lock);
  bool isTaken = incoming.reserve(incoming.size() + 1) && known.push(sequence);
  if (isTaken) {
    sequence->number = nextNumber++;
    incoming.push(sequence);
    ++told.waiting;
    if (number)
      *number = sequence->number;
    pthread_cond_signal(&isThere);
  }
  pthread_mutex_unlock(&lock);
  if (isTaken)
    return ATTN_OK;
  dispose(sequence);
  return error.outOfMemory("a request");
}

void attn_scheduler::cancel(int64_t number) {
  pthread_mutex_lock(&lock);
  for (Sequence *sequence : known)
    sequence->isCancelled |= sequence->number == number;
  pthread_cond_signal(&isThere);
  pthread_mutex_unlock(&lock);
}

void attn_scheduler::stop() {
  pthread_mutex_lock(&lock);
  stops = true;
  pthread_cond_signal(&isThere);
  pthread_mutex_unlock(&lock);
}

attn_schedule_counts attn_scheduler::counts() const {
  pthread_mutex_lock(&lock);
  attn_schedule_counts counts = told;
  pthread_mutex_unlock(&lock);
  return counts;
}

//===-- the thread that runs steps ----------------------------------------------------------===//

void attn_scheduler::takeNew() {
  Vector<Sequence *> added, ended;
  pthread_mutex_lock(&lock);
  added.swap(incoming);
  auto endCancelled = [&](Vector<Sequence *> &list) {
    size_t left = 0;
    for (Sequence *sequence : list)
      if (!sequence->isCancelled || !ended.push(sequence))
        list[left++] = sequence;
    list.resize(left);
  };
  endCancelled(added);
  endCancelled(waiting);
  endCancelled(running);
  pthread_mutex_unlock(&lock);
  for (Sequence *sequence : ended)
    end(sequence, ATTN_TEXT_ENDED_BY_CALLER);
  // Those that run may have to wait again.
  bool hasRoom = waiting.reserve(waiting.size() + running.size() + added.size());
  for (Sequence *sequence : added)
    if (hasRoom)
      insert(waiting, sequence);
    else
      end(sequence, ATTN_TEXT_ENDED_BY_LIMIT, ATTN_OUT_OF_MEMORY,
          "error[R0401]: no memory for a request");
}

void attn_scheduler::publish() {
  pthread_mutex_lock(&lock);
  own.waiting = int64_t(waiting.size() + incoming.size());
  own.running = int64_t(running.size());
  own.keptBytes = kept.bytes();
  own.usedBytes = usedBytes();
  told = own;
  pthread_mutex_unlock(&lock);
}

void attn_scheduler::run() {
  for (;;) {
    bool isBusy = step();
    pthread_mutex_lock(&lock);
    while (!isBusy && !stops && incoming.empty())
      pthread_cond_wait(&isThere, &lock);
    bool ends = stops;
    pthread_mutex_unlock(&lock);
    if (ends)
      return;
  }
}

void attn_scheduler::end(Sequence *sequence, int32_t ending, attn_status status,
                         const char *message) {
  attn_request_result &result = sequence->result;
  double now = secondsNow();
  result.ending = ending, result.status = status, result.message = message;
  result.written = sequence->chosen;
  if (sequence->took == 0) // it has never begun
    result.waitSeconds = now - sequence->submitted;
  else if (sequence->chosen == 0)
    result.readSeconds = now - sequence->took;
  else
    result.writeSeconds = now - sequence->took - result.readSeconds;
  pthread_mutex_lock(&lock);
  for (Sequence *&other : known)
    if (other == sequence) {
      other = known.back();
      known.pop();
      break;
    }
  pthread_mutex_unlock(&lock);
  ++own.ended;
  wasFull = false;
  if (HeldRow *held = sequence->held) {
    sequence->held = nullptr;
    kept.add(held, ++turn, size_t(2 * options.mostRows));
  }
  if (sequence->request.onEnd)
    sequence->request.onEnd(sequence->request.user, &result);
  dispose(sequence);
}
