/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Many users of one model: requests come in from any thread, and their tokens go out by callbacks.
 * All of them share the steps of an entry `by B` (attn/rows.h): each step adds one token to every
 * row that writes, and pieces of the prompts that are still to be read. A request gets the same
 * tokens whatever others there are. What rows hold is kept for prompts that begin in the same way.
 *
 *   attn_schedule_options options;
 *   attn_scheduler *scheduler = NULL;
 *   attn_schedule_options_default(model, entry, &options, &message);
 *   attn_scheduler_create(context, entry, &options, &scheduler, &message);
 *   attn_scheduler_submit(scheduler, &request, &number, &message);
 *   for (int32_t isBusy = 1; isBusy;)
 *     attn_scheduler_step(scheduler, &isBusy, &message);
 *
 * Yu et al. 2022, "Orca: A Distributed Serving System for Transformer-Based Generative Models"
 * (steps that requests join and leave); Agrawal et al. 2024, "Taming Throughput-Latency Tradeoff in
 * LLM Inference with Sarathi-Serve" (prompts in pieces). Ownership, threads, errors and messages
 * are as in attn.h; functions that any thread may call say so.
 */
#pragma once

#include "attn/rows.h"
#include "attn/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Requests of one model, and the rows that they share steps in. */
typedef struct attn_scheduler attn_scheduler;

/* The entry of a model by which those who run `entry`, one that generates, share steps: of tokens
 * alone it computes what that one's entries do. -1 where there is none: they take turns. */
ATTN_API int32_t attn_model_shared_entry(const attn_model *model, int32_t entry);

/* What a scheduler bears. Start from attn_schedule_options_default. */
typedef struct {
  int64_t stepTokens; /* of prompts that a step reads at most, where other rows wait for a token */
  int64_t readTokens; /* the same where none does */
  int64_t mostRows;   /* requests that share steps; others wait */
  int64_t memory;     /* bytes of caches, of which one request at least has its share */
} attn_schedule_options;

/* 64 and 512 tokens, as many rows as the entry takes, and a quarter of the machine's
 * memory, as far as the entry can use them. ATTN_INVALID_ARGUMENT: a null pointer, or an entry that
 * a scheduler cannot run: it takes tokens alone, i32 or i64 [B, T], and gives first the scores of
 * what follows, f32 [B, V]. */
ATTN_API attn_status attn_schedule_options_default(const attn_model *model, int32_t entry,
                                                   attn_schedule_options *options, char **message);

/* What became of a request. Of the prompt's tokens some were held already (`kept`), the others were
 * read, those that were preempted again; seconds until its work began, from there to the first
 * token, and to the end. `ending` is ATTN_TEXT_ENDED_BY_TOKEN, _LIMIT, _CALLER, which has cancelled
 * it or returned 0 from onTokens, or _CONTEXT (attn/text.h). `status` and `message` are those of an
 * error, which ended it. */
typedef struct {
  int64_t kept, read, written, preempted;
  double waitSeconds, readSeconds, writeSeconds;
  int32_t ending;
  attn_status status;
  const char *message;
} attn_request_result;

/* A request. Its callbacks are called with `user` by the thread that runs steps, onScores by its
 * team, for one request by one thread at a time; they may submit and cancel requests. */
typedef struct {
  /* Start from attn_generation_default. onTokens and onScores are called with one row, onTokens not
   * for what ends it; `beams` is 1. What it points to is needed until onEnd is called. */
  attn_generation numbers;
  const int32_t *tokens; /* the prompt, which is copied */
  int64_t count;
  int32_t priority; /* larger ones go first; of equal ones the one that came first */
  int32_t logprobs; /* how many likeliest tokens onLogprobs is told, at most 100 */
  /* Called before onTokens, where it is not NULL. */
  void (*onLogprobs)(void *user, const attn_logprobs *chosen);
  /* Called once, at the end; may be NULL. */
  void (*onEnd)(void *user, const attn_request_result *result);
  void *user;
} attn_request;

/* What a scheduler has done, and has to do. */
typedef struct {
  int64_t waiting, running; /* requests */
  int64_t ended, preempted;
  int64_t steps;
  int64_t keptTokens, readTokens, writtenTokens;
  int64_t usedBytes, keptBytes; /* of caches: all, and those that no request works on */
} attn_schedule_counts;

/* Makes a scheduler. The context is the scheduler's until attn_scheduler_destroy.
 * ATTN_INVALID_ARGUMENT: a null pointer, another entry, a context on a GPU, options below 1;
 * ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_scheduler_create(attn_context *context, int32_t entry,
                                           const attn_schedule_options *options,
                                           attn_scheduler **scheduler, char **message);

/* Ends all requests as cancelled ones, then the scheduler. Nobody else may use it any more; NULL is
 * allowed. */
ATTN_API void attn_scheduler_destroy(attn_scheduler *scheduler);

/* Adds a request, whose number is written to *number where that is not NULL; called by any thread.
 * ATTN_INVALID_ARGUMENT: a null pointer, numbers outside of their ranges; ATTN_BAD_INPUT: a prompt
 * without tokens, with one outside of the vocabulary, or with more than there is room for;
 * ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_scheduler_submit(attn_scheduler *scheduler, const attn_request *request,
                                           int64_t *number, char **message);

/* Ends a request before the next step; called by any thread. One that has ended is left alone. */
ATTN_API void attn_scheduler_cancel(attn_scheduler *scheduler, int64_t number);

/* Runs one step, and calls the callbacks; *isBusy becomes whether there are requests. An error of a
 * request is in its result. ATTN_INVALID_ARGUMENT: a null pointer. */
ATTN_API attn_status attn_scheduler_step(attn_scheduler *scheduler, int32_t *isBusy,
                                         char **message);

/* Runs steps whenever there are requests, until attn_scheduler_stop is called, by any thread;
 * requests that are there then are left. */
ATTN_API void attn_scheduler_run(attn_scheduler *scheduler);
ATTN_API void attn_scheduler_stop(attn_scheduler *scheduler);

/* Only in artifacts that take texts. From now on, texts that a model goes on from are requests of a
 * scheduler of the same model, whose steps another thread runs: attn_text_generate and
 * attn_chat_answer wait for the end, and call onText in that thread. Beams, and prompts with
 * pictures, run in the text's own context as before. NULL ends it. The scheduler lives longer than
 * the text. ATTN_INVALID_ARGUMENT: a null pointer, a scheduler of another entry than that by which
 * the text's one shares steps. */
ATTN_API attn_status attn_text_schedule(attn_text *text, attn_scheduler *scheduler, char **message);

/* Called by any thread. */
ATTN_API attn_schedule_counts attn_scheduler_counts(const attn_scheduler *scheduler);

#ifdef __cplusplus
}
#endif
