// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of attn/schedule.h.
#include "run/RunEntry.h"
#include "schedule/Scheduler.h"
#include <unistd.h>

using namespace attn;

/// Whether a model has an entry that a scheduler can run.
static attn_status checkEntry(const attn_model &model, int32_t entry, Error &error) {
  if (entry < 0 || entry >= model.tables->entryCount)
    return error.set(ATTN_INVALID_ARGUMENT, "R0102", "there is no entry %d", int(entry));
  return ScheduledEntry(*model.tables, entry).check(error);
}

extern "C" int32_t attn_model_shared_entry(const attn_model *model, int32_t entry) {
  return model && generates(*model, entry) ? model->tables->entries[entry].unfold->shared : -1;
}

extern "C" attn_status attn_schedule_options_default(const attn_model *model, int32_t entry,
                                                     attn_schedule_options *options,
                                                     char **message) {
  Error error;
  if (!model || !options)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_schedule_options_default: null pointer");
  else if (checkEntry(*model, entry, error) == ATTN_OK) {
    ScheduledEntry own(*model->tables, entry);
    int64_t rows = model->tables->dims[own.entry.rows].value,
            quarter = int64_t(sysconf(_SC_PHYS_PAGES)) / 4 * int64_t(sysconf(_SC_PAGESIZE)),
            row = own.rowBytes(own.capacity());
    // Twice what all rows can have: as much is kept of others.
    *options = {64, 512, rows, row < quarter / (2 * rows) ? row * 2 * rows : quarter};
    options->memory = options->memory < row ? row : options->memory;
  }
  return error.report(message);
}

extern "C" attn_status attn_scheduler_create(attn_context *context, int32_t entry,
                                             const attn_schedule_options *options,
                                             attn_scheduler **scheduler, char **message) {
  Error error;
  if (!context || !options || !scheduler)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_scheduler_create: null pointer");
  else if (context->gpu)
    error.set(ATTN_INVALID_ARGUMENT, "R0101",
              "attn_scheduler_create: entries whose rows are by themselves run on CPUs alone");
  else if (checkEntry(*context->model, entry, error) == ATTN_OK) {
    ScheduledEntry own(*context->model->tables, entry);
    int64_t rows = own.tables.dims[own.entry.rows].value;
    if (options->stepTokens < 1 || options->readTokens < 1 || options->mostRows < 1 ||
        options->mostRows > rows || options->memory < own.rowBytes(1))
      error.set(ATTN_INVALID_ARGUMENT, "R0101",
                "attn_scheduler_create: expected at least 1 token a step, 1 to %lld rows, and %lld "
                "bytes",
                static_cast<long long>(rows), static_cast<long long>(own.rowBytes(1)));
    else if (!(*scheduler = create<attn_scheduler>(*context, entry, *options)))
      error.outOfMemory("a scheduler");
  }
  return error.report(message);
}

extern "C" void attn_scheduler_destroy(attn_scheduler *scheduler) { dispose(scheduler); }

extern "C" attn_status attn_scheduler_submit(attn_scheduler *scheduler, const attn_request *request,
                                             int64_t *number, char **message) {
  Error error;
  if (!scheduler || !request)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_scheduler_submit: null pointer");
  else
    scheduler->submit(*request, number, error);
  return error.report(message);
}

extern "C" void attn_scheduler_cancel(attn_scheduler *scheduler, int64_t number) {
  if (scheduler)
    scheduler->cancel(number);
}

extern "C" attn_status attn_scheduler_step(attn_scheduler *scheduler, int32_t *isBusy,
                                           char **message) {
  Error error;
  if (!scheduler || !isBusy)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_scheduler_step: null pointer");
  else
    *isBusy = scheduler->step();
  return error.report(message);
}

extern "C" void attn_scheduler_run(attn_scheduler *scheduler) {
  if (scheduler)
    scheduler->run();
}

extern "C" void attn_scheduler_stop(attn_scheduler *scheduler) {
  if (scheduler)
    scheduler->stop();
}

extern "C" attn_schedule_counts attn_scheduler_counts(const attn_scheduler *scheduler) {
  return scheduler ? scheduler->counts() : attn_schedule_counts{};
}
