// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--serve` of a program: in an archive of its own with the server, which is linked only where it
// is asked for; attn_main refers to it weakly.
#include "main/ServeCommand.h"

#include "serve/Serve.h"

using namespace attn;

extern "C" attn_status attn_main_serve(const Command *command, attn_model *model,
                                       attn_status (*bind)(void *user, Error &error), void *user,
                                       Error *error) {
  ServeOptions options;
  options.listen = command->serve;
  options.keys = command->apiKeys;
  options.mostRows = command->batch;
  options.batchWait = command->batchWait;
  options.workers = command->workers;
  options.threads = command->threads ? command->threads : 1;
  ServedModel served = {model, command->weights, command->tokenizer};
  return serve(&served, 1, options, {user, bind}, *error);
}
