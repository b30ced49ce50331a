// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--serve` of a program: in an archive of its own with the server, which is linked only where it
// is asked for; attn_main refers to it weakly.
#include "main/ServeCommand.h"

#include "serve/Serve.h"
#include <initializer_list>

using namespace attn;

namespace {
/// A number on the command line, 0 for none, and what it sets.
struct Given {
  int32_t given;
  int32_t *option;
};
} // namespace

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
  for (auto [given, option] :
       {Given{command->mostQueued, &options.mostQueued},
        Given{command->mostBody, &options.mostBody}, Given{command->idleTimeout, &options.timeout},
        Given{command->drain, &options.drain}})
    if (given)
      *option = given;
  ServedModel served = {model, command->weights, command->tokenizer};
  return serve(&served, 1, options, {user, bind}, *error);
}
