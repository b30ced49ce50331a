// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_main: the command line of compiled executables, from argv to the exit code.
#include "main/LineJob.h"
#include "main/Objects.h"
#include "main/PackProgress.h"
#include "main/Prompt.h"
#include "main/ServeCommand.h"
#include <cerrno>
#include <cstdio>
#include <sys/stat.h>

using namespace attn;

// In libattn_prompt, which is linked only where a program takes text.
#pragma weak attn_main_prompt
#pragma weak attn_main_speech
#pragma weak attn_main_rows
#pragma weak attn_main_serve

namespace {
/// Handles that are destroyed on every way out.
struct Handles {
  attn_model *model = nullptr;
  attn_context *context = nullptr;
  char *message = nullptr;
  ~Handles() {
    attn_context_destroy(context);
    attn_model_destroy(model);
    attn_message_free(message);
  }
};
} // namespace

static int complain(const char *text, int code) {
  fflush(stdout);
  fprintf(stderr, "%s\n", text && *text ? text : "error[R0401]: no memory");
  return code;
}

static int complain(const Error &error) {
  return complain(error.text.c_str(), exitCode(error.status));
}

static int complain(const Handles &handles, attn_status status) {
  return complain(handles.message, exitCode(status));
}

attn_status attn::bindNamedWeights(attn_model *model, const char *weights, char **message) {
  PackProgress progress(*model->tables);
  if (weights && strncmp(weights, "random", 6) == 0 && (weights[6] == 0 || weights[6] == ':')) {
    char *end = nullptr;
    errno = 0;
    uint64_t seed = weights[6] ? strtoull(weights + 7, &end, 10) : 0;
    if (!weights[6] || (errno == 0 && end != weights + 7 && *end == 0 && weights[7] != '-'))
      return attn_model_bind_random(model, seed, message);
  }
  if (weights)
    return attn_model_bind_file(model, weights, message);
  if (attn_model_has_weights(model) || attn_model_packed_bytes(model) == 0)
    return ATTN_OK;
  Error error;
  error.set(ATTN_INVALID_ARGUMENT, "U0004", "model `%s` has no weights embedded",
            attn_model_name(model));
  error.help("pass `--weights FILE` (.safetensors, an index of shards, a directory or GGUF), or "
             "`--weights random`");
  return error.report(message);
}

/// All outputs of the command line, held against what was read until now: all that it names.
static attn_status checkOutputs(const Command &command, char **message) {
  Error error;
  Vector<NamedOutput> outputs;
  bool isGood = outputs.append(command.otherOutputs.data(), command.otherOutputs.size());
  for (const Setting &setting : command.outputs)
    isGood &= outputs.push({"--output", setting.value});
  for (const char *path : command.drawings)
    isGood &= outputs.push({"--draw", path});
  if (command.trace)
    isGood &= outputs.push({"--trace", command.trace});
  if (!isGood)
    error.outOfMemory("the names of outputs");
  else
    checkOutputs(outputs.data(), outputs.size(), error);
  return error.report(message);
}

/// Binds the weights, which are read last: what comes behind takes time.
static attn_status bindWeights(const Command &command, Handles &handles) {
  attn_status status = bindNamedWeights(handles.model, command.weights, &handles.message);
  return status ? status : checkOutputs(command, &handles.message);
}

static bool hasPrompt(const Command &command) {
  return command.prompt || command.promptFile || command.isChat;
}

static bool hasSound(const Command &command) {
  for (const Setting &setting : command.inputs)
    if (isSoundFile(setting.value))
      return true;
  return false;
}

static bool hasPicture(const Command &command) {
  for (const Setting &setting : command.inputs)
    if (isImageFile(setting.value))
      return true;
  return false;
}

/// Whether a picture may become text: no tensors are asked for.
static bool hasWriting(const Command &command) {
  return attn_main_rows && !command.isBench && command.outputs.empty() && hasPicture(command);
}

/// Whether a sound may become text: no tensors are asked for.
static bool hasSpeech(const Command &command) {
  return attn_main_speech && !command.isBench && command.outputs.empty() && hasSound(command);
}

/// Whether the options beside --lines go together with it, and --output with what there is.
static attn_status checkLineOptions(const Command &command, Error &error) {
  const char *other = hasPrompt(command)                   ? "--prompt`, `--file` or `--chat"
                      : command.isEmbed || command.isPairs ? "--embed` or `--pairs"
                      : !command.inputs.empty()            ? "--input"
                      : !command.drawings.empty()          ? "--draw"
                      : command.isBench                    ? "--bench"
                                                           : nullptr;
  if (command.lines && other)
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--lines` takes no `%s`", other);
  if (command.shard && !command.lines)
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--shard` has no effect without `--lines`");
  if (command.lines && (command.outputs.size() != 1 || command.outputs[0].length > 0)) {
    error.set(ATTN_INVALID_ARGUMENT, "U0003", "`--lines` writes to one folder or file");
    error.help("pass `--output FOLDER`, `--output FILE.jsonl` or `--output -`");
    return error.status;
  }
  for (const Setting &setting : command.outputs)
    if (!command.lines && setting.length == 0)
      return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--output %s`: expected NAME=FILE",
                       setting.value);
  return ATTN_OK;
}

/// Whether the options of texts go together.
static attn_status checkTextOptions(const Command &command, Error &error) {
  bool hasText = command.prompt || command.promptFile;
  if (command.isChat && hasText)
    return error.set(ATTN_INVALID_ARGUMENT, "U0002",
                     "`--chat` takes no `--prompt` or `--file`: turns are lines of standard input");
  if (checkLineOptions(command, error))
    return error.status;
  bool isVector = command.isEmbed || command.isPairs;
  bool hasLines = command.isPairs ? command.promptFile && !command.prompt : hasText;
  if (isVector && (command.isChat || (command.isPairs && command.isEmbed) || !hasLines))
    return error.set(ATTN_INVALID_ARGUMENT, "U0002",
                     command.isPairs ? "`--pairs` takes the lines of `--file`, and no `--embed`"
                                     : "`--embed` takes `--prompt` or the lines of `--file`");
  bool isKept = command.isEmbed || command.lines;
  if ((command.skipsErrors && !isVector) || (command.resumes && !isKept))
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`%s` has no effect without `--embed`%s",
                     command.resumes ? "--resume" : "--skip-errors",
                     command.resumes ? " or `--lines`" : "");
  const char *ofSound = command.hasTimestamps ? "--timestamps"
                        : command.language    ? "--language"
                        : command.task        ? "--task"
                                              : nullptr;
  if (ofSound && !hasSpeech(command) && !command.lines) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`%s` has no effect without a sound", ofSound);
    error.help("pass `--input NAME=FILE.wav` or FILE.flac, and no `--output`");
    return error.status;
  }
  if (!command.pictures.empty() && (command.lines || isVector || !hasPrompt(command))) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002",
              "`--image` has no effect without `--prompt`, `--file` or `--chat`");
    error.help("a picture of another entry is an input: `--input image=FILE`");
    return error.status;
  }
  const char *option = command.system && !command.isChat     ? "--system"
                       : hasPrompt(command) || command.lines ? nullptr
                       : !command.stops.empty()              ? "--stop"
                       : command.truncates                   ? "--truncate"
                                                             : nullptr;
  if (!option)
    return ATTN_OK;
  bool isOfChat = strcmp(option, "--system") == 0;
  error.set(ATTN_INVALID_ARGUMENT, "U0002", "`%s` has no effect without %s", option,
            isOfChat ? "`--chat`" : "`--prompt`, `--file`, `--chat` or `--lines`");
  if (strcmp(option, "--stop") == 0)
    error.help("a row of tokens ends before those of `--stop-tokens N,N`");
  return error.status;
}

/// The only entry that generates, or writes sounds down frame by frame; -1 where there are several,
/// or none.
static int32_t onlyGenerating(const attn_abi_model &tables) {
  int32_t found = -1;
  for (int32_t i = 0; i < tables.entryCount; ++i)
    if (tables.entries[i].unfold || inputOfFrames(tables, i) >= 0)
      found = found < 0 ? i : tables.entryCount;
  return found < tables.entryCount ? found : -1;
}

/// The only entry that makes vectors of texts; -1 where there are several, or none.
static int32_t onlyEmbedding(const attn_abi_model &tables) {
  int32_t found = -1;
  for (int32_t i = 0; i < tables.entryCount; ++i) {
    const attn_abi_entry &entry = tables.entries[i];
    bool isVector = !entry.unfold && entry.cacheCount == 0 && entry.outputCount > 0 &&
                    entry.outputs[0].dtype == ATTN_F32 && entry.outputs[0].rank == 2;
    if (isVector)
      found = found < 0 ? i : tables.entryCount;
  }
  return found < tables.entryCount ? found : -1;
}

/// The weights of a text's run, bound when all else has been found right.
static attn_status bindOfRun(const PromptRun &run) {
  auto &own = *static_cast<Handles *>(run.user);
  attn_status status = bindWeights(*run.command, own);
  return status ? run.error->take(status, own.message) : status;
}

/// Goes on from a prompt; an exit code.
static int answerPrompt(const Command &command, Handles &handles, int32_t entry,
                        const attn_generation &generation) {
  Error error;
  PromptRun run{&command,    handles.model, handles.context, entry,
                &generation, &error,        bindOfRun,       &handles};
  const attn_abi_entry &found = handles.model->tables->entries[entry];
  if (!attn_main_prompt)
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "this program takes no text: `%s`",
              command.isChat ? "--chat" : "--prompt"),
        error.help("`attn run` does, of a spec or a shared library");
  else if (!found.unfold && !command.isEmbed && !command.isPairs)
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`%s`: entry `%s` generates no tokens",
              command.isChat ? "--chat" : "--prompt", found.name);
  else
    attn_main_prompt(&run);
  return error.status ? complain(error) : ExitOk;
}

/// Writes sounds down; an exit code. Not where `isText` becomes false.
static int writeSpeech(const Command &command, Handles &handles, int32_t entry,
                       const attn_generation &generation, bool &isText) {
  Error error;
  PromptRun run{&command,    handles.model, handles.context, entry,
                &generation, &error,        bindOfRun,       &handles};
  attn_status status = attn_main_speech(&run, &isText);
  return isText && status ? complain(error) : ExitOk;
}

/// Prints what an entry has written of a picture; an exit code. Not where `isText` becomes false.
static int printRows(const Command &command, Handles &handles, int32_t entry,
                     const Tensors &outputs, bool &isText) {
  Error error;
  PromptRun run{&command, handles.model, handles.context, entry, nullptr, &error, nullptr, nullptr};
  attn_status status = attn_main_rows(&run, outputs.list.data(), &isText);
  return isText && status ? complain(error) : ExitOk;
}

/// The only input of an entry that takes a picture, and generates nothing.
static bool takesPicture(const attn_abi_model &tables, int32_t entry) {
  bool isPicture = false;
  for (int32_t i = 0; i < tables.imageCount; ++i)
    isPicture |= tables.images[i].entry == entry;
  return isPicture && !tables.entries[entry].unfold && tables.entries[entry].inputCount == 1;
}

/// Runs the lines of a file; an exit code.
static int answerLines(const Command &command, Handles &handles, int32_t entry,
                       const attn_generation &generation, const Labels &labels) {
  Error error;
  PromptRun run{&command, handles.model, handles.context, entry,  &generation,
                &error,   bindOfRun,     &handles,        &labels};
  if (takesPicture(*handles.model->tables, entry))
    runPictureLines(run, error);
  else if (attn_main_prompt)
    attn_main_prompt(&run);
  else
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "this program takes no text: `--lines`"),
        error.help("`attn run` does, of a spec or a shared library");
  return error.status ? complain(error) : ExitOk;
}

/// The entry asked for, or the only one.
static attn_status chooseEntry(const Command &command, const attn_abi_model &tables, int32_t &entry,
                               Error &error) {
  entry = -1;
  for (int32_t i = 0; command.entryName && i < tables.entryCount; ++i)
    if (strcmp(tables.entries[i].name, command.entryName) == 0)
      entry = i;
  if (!command.entryName && tables.entryCount == 1)
    entry = 0;
  else if (!command.entryName && (command.isEmbed || command.isPairs))
    entry = onlyEmbedding(tables);
  else if (!command.entryName && (hasPrompt(command) || hasSound(command) || hasPicture(command)))
    entry = onlyGenerating(tables);
  else if (!command.entryName && command.lines)
    entry = onlyGenerating(tables) >= 0 ? onlyGenerating(tables) : onlyEmbedding(tables);
  if (entry >= 0)
    return ATTN_OK;
  Text names;
  for (int32_t i = 0; i < tables.entryCount; ++i)
    names.append(i ? ", `%s`" : "`%s`", tables.entries[i].name);
  if (command.entryName)
    error.set(ATTN_NOT_FOUND, "R0102", "model `%s` has no entry `%s`", tables.name,
              command.entryName);
  else
    error.set(ATTN_INVALID_ARGUMENT, "U0003", "model `%s` has %d entries: say which by `--entry`",
              tables.name, int(tables.entryCount));
  error.help("its entries are %s", names.c_str());
  return error.status;
}

static int32_t writtenOutputs(const Command &command, const attn_abi_model &tables, int32_t entry) {
  return command.written ? command.written[entry] : tables.entries[entry].outputCount;
}

static attn_status checkOutputNames(const Command &command, const attn_abi_entry &entry,
                                    int32_t count, Error &error) {
  for (const Setting &setting : command.outputs) {
    bool isKnown = command.lines != nullptr; // a folder
    for (int32_t i = 0; i < count; ++i)
      isKnown |= strlen(entry.outputs[i].name) == size_t(setting.length) &&
                 memcmp(entry.outputs[i].name, setting.name, size_t(setting.length)) == 0;
    if (isKnown)
      continue;
    Text names;
    for (int32_t i = 0; i < count; ++i)
      names.append(i ? ", `%s`" : "`%s`", entry.outputs[i].name);
    error.set(ATTN_NOT_FOUND, "R0102", "entry `%s` has no output `%.*s`", entry.name,
              setting.length, setting.name);
    error.help("its outputs are %s", names.c_str());
    return error.status;
  }
  return ATTN_OK;
}

static void readLabels(const Command &command, const attn_abi_model &tables, Labels &labels) {
  if (command.weights)
    labels.readFolder(command.weights);
  else
    labels.take(tables.labels, size_t(tables.labelBytes), tables.labelFunction);
}

namespace {
/// A command and what it runs on.
struct CommandRun {
  const Command &command;
  Handles &handles;
};
} // namespace

/// Answers requests; an exit code.
static int serveModel(const Command &command, const attn_abi_model &tables) {
  Error error;
  Handles handles;
  if (!attn_main_serve) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--serve`: this program has no server");
    error.help("`attn compile --with-server` puts one into it");
    return complain(error);
  }
  if (attn_status status = attn_model_create(&tables, nullptr, &handles.model, &handles.message))
    return complain(handles, status);
  CommandRun run{command, handles};
  auto bind = [](void *user, Error &error) {
    auto *run = static_cast<CommandRun *>(user);
    attn_status status = bindWeights(run->command, run->handles);
    return status ? error.take(status, run->handles.message) : ATTN_OK;
  };
  return attn_main_serve(&command, handles.model, bind, &run, &error) ? complain(error) : ExitOk;
}

static int runCommand(const Command &command, const attn_abi_model &tables) {
  if (command.serve)
    return serveModel(command, tables);
  Error error;
  Handles handles;
  Tensors inputs, outputs;
  int32_t entry;
  if (checkTextOptions(command, error) || chooseEntry(command, tables, entry, error) ||
      checkOutputNames(command, tables.entries[entry], writtenOutputs(command, tables, entry),
                       error))
    return complain(error);
  if (attn_status status = attn_model_create(&tables, nullptr, &handles.model, &handles.message))
    return complain(handles, status);
  if (attn_status status =
          attn_context_create(handles.model, command.threads, &handles.context, &handles.message))
    return complain(handles, status);
  if (command.gpu >= 0)
    if (attn_status status = attn_context_set_device(handles.context, ATTN_DEVICE_CUDA, command.gpu,
                                                     &handles.message))
      return complain(handles, status);
  attn_generation generation;
  Vector<int64_t> stops;
  if (readGeneration(command, *handles.model, entry, generation, stops, error))
    return complain(error);
  if (hasPrompt(command))
    return answerPrompt(command, handles, entry, generation);
  Labels labels;
  readLabels(command, tables, labels);
  if (command.lines)
    return answerLines(command, handles, entry, generation, labels);
  if (hasSpeech(command) && (tables.entries[entry].unfold || inputOfFrames(tables, entry) >= 0)) {
    bool isText = false;
    int code = writeSpeech(command, handles, entry, generation, isText);
    if (isText)
      return code;
  }
  // Inputs first: a mistake in them shows before seconds are spent on weights.
  if (readInputs(command, *handles.model, entry, inputs, error))
    return complain(error);
  if (!outputs.list.resize(size_t(tables.entries[entry].outputCount)))
    return complain(nullptr, ExitEnvironment);
  if (attn_status status = attn_infer_shapes(handles.context, entry, inputs.list.data(),
                                             outputs.list.data(), &handles.message))
    return complain(handles, status);
  if (checkDrawings(command, tables, entry, labels, outputs, error))
    return complain(error);
  for (attn_tensor &tensor : outputs.list)
    if (!outputs.allocate(tensor))
      return complain(nullptr, ExitEnvironment);
  if (attn_status status = bindWeights(command, handles))
    return complain(handles, status);
  attn_status status = command.isBench ? benchEntry(command, *handles.model, handles.context, entry,
                                                    inputs, outputs, &handles.message)
                       : tables.entries[entry].unfold
                           ? attn_generate(handles.context, entry, &generation, inputs.list.data(),
                                           outputs.list.data(), &handles.message)
                           : attn_run(handles.context, entry, inputs.list.data(),
                                      outputs.list.data(), &handles.message);
  if (status != ATTN_OK)
    return complain(handles, status);
  if (!command.isBench && command.observe)
    if (int code = command.observe(command.observeContext, entry, inputs, outputs))
      return code;
  if (command.isBench)
    return ExitOk;
  if (hasWriting(command) && tables.entries[entry].unfold) {
    bool isText = false;
    int code = printRows(command, handles, entry, outputs, isText);
    if (isText)
      return code;
  }
  if (writeOutputs(command, tables.entries[entry], writtenOutputs(command, tables, entry), labels,
                   outputs, error) ||
      drawObjects(command, tables, entry, labels, outputs, error))
    return complain(error);
  return ExitOk;
}

extern "C" int attn_main(const attn_abi_model *tables, int argc, char **argv) {
  Command command;
  reserveStandardFiles();
  return runCommandLine(*tables, argc, argv, command);
}

int attn::runCommandLine(const attn_abi_model &tables, int argc, char **argv, Command &command) {
  Error error;
  struct stat own;
  if (stat("/proc/self/exe", &own) == 0) // the program itself is read, too
    attn_main_note_file("/proc/self/exe", &own);
  if (int code = parseCommand(argc, argv, command, error))
    return complain(error.text.c_str(), code);
  int code = ExitOk;
  if (command.isHelp) {
    printHelp(command, tables);
  } else if (command.isVersion) {
    printf("%s, compiled by attn %s\n", tables.name, tables.version);
  } else if (command.isDescribe) {
    Handles handles;
    if (attn_status status = attn_model_create(&tables, nullptr, &handles.model, &handles.message))
      return complain(handles, status);
    printDescription(*handles.model, command.isJson);
  } else {
    code = runCommand(command, tables);
  }
  if (fflush(stdout) != 0 || ferror(stdout))
    return complain("error[R0502]: cannot write to standard output", ExitEnvironment);
  return code;
}
