// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn serve`: specs, which are compiled in memory, and shared libraries, over HTTP in one server.
#include "serve/Serve.h"
#include "Verbs.h"
#include "tools/attn/artifact/Artifact.h"
#include "tools/attn/build/Build.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/RuntimeErrors.h"
#include <deque>
#include <dlfcn.h>

using namespace llvm;

namespace attn::tool {
namespace {

/// A spec or a library, its model and weights.
struct SpecToServe {
  std::string path;
  std::unique_ptr<Spec> spec; ///< null of a library
  LoadedModel code;           ///< of a spec
  attn_model *model = nullptr;
  std::string weights; ///< a checkpoint, `random[:SEED]`, or nothing where they are embedded

  SpecToServe() = default;
  SpecToServe(const SpecToServe &) = delete;
  SpecToServe &operator=(const SpecToServe &) = delete;
  ~SpecToServe() { attn_model_destroy(model); }

  int load(const opt::InputArgList &args, StringRef file);
  attn_status bind(attn::Error &error) const;

private:
  int loadSpec(const opt::InputArgList &args, const attn_abi_model *&tables);
  int loadLibrary(const opt::InputArgList &args, const attn_abi_model *&tables);
};

int SpecToServe::loadSpec(const opt::InputArgList &args, const attn_abi_model *&tables) {
  CompileOptions options;
  spec = std::make_unique<Spec>();
  if (int code = loadForCompiling(args, options, *spec, /*onlyLooks=*/false, path))
    return code;
  weights = spec->weights(args);
  if (int failure = code.compile(*spec, args, options))
    return failure;
  tables = code.tables();
  return Ok;
}

int SpecToServe::loadLibrary(const opt::InputArgList &args, const attn_abi_model *&tables) {
  auto buffer = readInput(path, mostOfMemory());
  if (!buffer)
    return Environment;
  auto artifact = readArtifact(buffer->getBuffer());
  if (!artifact)
    return fail(BadInput,
                "`" + path + "` holds no compiled model: " + toString(artifact.takeError()));
  if (artifact->form == ArtifactForm::Executable)
    return fail(Usage, "`" + path + "` is a program, which serves by itself",
                "compile it with `--with-server`, and run it with `--serve HOST:PORT`");
  if (artifact->form != ArtifactForm::Shared)
    return fail(BadInput, "`" + path + "` is no shared library",
                "compile the spec with `--emit=shared`, or serve the spec itself");
  auto description = parseDescription(*artifact);
  if (!description)
    return fail(BadInput, "`" + path + "`: " + toString(description.takeError()));
  weights = args.getLastArgValue(OPT_weights);
  if (weights.empty() && !description->getBoolean("embedded").value_or(false))
    return fail(Usage, "`" + path + "` has no weights inside", "pass `--weights FILE`");
  std::string file = StringRef(path).contains('/') ? path : "./" + path;
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string symbol = description->getString("symbol").value_or("").str();
  tables = library ? static_cast<const attn_abi_model *>(dlsym(library, symbol.c_str())) : nullptr;
  if (tables)
    return Ok;
  const char *problem = dlerror();
  return fail(Environment, "`" + path + "` could not be loaded: " + (problem ? problem : "?"));
}

int SpecToServe::load(const opt::InputArgList &args, StringRef file) {
  path = file.str();
  const attn_abi_model *tables = nullptr;
  if (int code = isArtifact(path) ? loadLibrary(args, tables) : loadSpec(args, tables))
    return code;
  if (spec && weights.empty() && tables->parameterCount)
    return fail(Usage, "`" + path + "` names no weights",
                "pass `--weights FILE`, or `--weights random`");
  char *message = nullptr;
  if (attn_status status = attn_model_create(tables, nullptr, &model, &message))
    return failWithStatus(status, message);
  return Ok;
}

attn_status SpecToServe::bind(attn::Error &error) const {
  char *message = nullptr;
  attn_status status =
      bindNamedWeights(model, weights.empty() ? nullptr : weights.c_str(), &message);
  if (status)
    error.take(status, message);
  attn_message_free(message);
  return status;
}

/// A whole number in a range; where the option is not given, `count` stays as it is. 0, or an exit
/// code after an error.
int readCount(const opt::InputArgList &args, OptionId id, int64_t least, int64_t most,
              int32_t &count) {
  const opt::Arg *arg = args.getLastArg(id);
  if (!arg)
    return Ok;
  auto number = parseNumber(arg->getValue(), least, most);
  if (!number)
    return fail(Usage, "`" + arg->getSpelling() + " " + arg->getValue() + "`: expected " +
                           Twine(least) + " to " + Twine(most));
  count = int32_t(*number);
  return Ok;
}

} // namespace

int runServe(const opt::InputArgList &args) {
  std::vector<std::string> files = allFiles(args);
  if (files.empty())
    return fail(Usage, "expected a spec or a shared library");
  for (OptionId id : {OPT_weights, OPT_tokenizer})
    if (const opt::Arg *arg = args.getLastArg(id); arg && files.size() > 1)
      return fail(
          Usage,
          "`" + arg->getSpelling() + "` is for one model, and there are " + Twine(files.size()),
          "a spec names its own by a line `weights \"FOLDER\"`, and libraries hold theirs with "
          "`--embed-weights`");
  ServeOptions options;
  std::string listen = args.getLastArgValue(OPT_listen, options.listen).str();
  std::string keys = args.getLastArgValue(OPT_api_keys).str();
  std::string tokenizer = args.getLastArgValue(OPT_tokenizer).str();
  options.listen = listen.c_str();
  options.keys = keys.empty() ? nullptr : keys.c_str();
  for (auto [id, least, most, count] : {std::tuple(OPT_workers, 1, 1024, &options.workers),
                                        std::tuple(OPT_threads, 1, 1024, &options.threads),
                                        std::tuple(OPT_batch, 1, 65536, &options.mostRows),
                                        std::tuple(OPT_batch_wait, 0, 10000, &options.batchWait),
                                        std::tuple(OPT_max_queue, 1, 1000000, &options.mostQueued),
                                        std::tuple(OPT_max_body, 1, 2047, &options.mostBody),
                                        std::tuple(OPT_idle_timeout, 1, 86400, &options.timeout),
                                        std::tuple(OPT_drain, 1, 3600, &options.drain)})
    if (int code = readCount(args, id, least, most, *count))
      return code;
  std::deque<SpecToServe> models;
  std::vector<ServedModel> served;
  for (const std::string &file : files) {
    SpecToServe &model = models.emplace_back();
    if (int code = model.load(args, file))
      return code;
    served.push_back({model.model, model.weights.empty() ? nullptr : model.weights.c_str(),
                      tokenizer.empty() ? nullptr : tokenizer.c_str()});
  }
  auto bind = [](void *user, attn::Error &error) {
    for (const SpecToServe &model : *static_cast<std::deque<SpecToServe> *>(user))
      if (model.bind(error))
        return error.status;
    return ATTN_OK;
  };
  attn::Error error;
  return serve(served.data(), served.size(), options, {&models, bind}, error) ? failWithError(error)
                                                                              : Ok;
}

} // namespace attn::tool
