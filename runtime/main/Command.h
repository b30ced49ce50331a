// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of a compiled executable, in phases: options, inputs, running or timing,
// outputs.
#pragma once

#include "io/File.h"
#include "main/Labels.h"
#include "main/ReadFiles.h"
#include "run/Model.h"
#include "run/Settings.h"

namespace attn {

/// NAME=VALUE of the command line; `name` is not NUL-terminated, and empty where there is a value
/// alone.
struct Setting {
  const char *name;
  int length;
  const char *value;
};

/// An option that changes a setting of an entry that generates.
struct Choice {
  const char *option;
  SettingName setting;
  const char *value;
};

struct Tensors;

/// What the options of ProgramOptions.def ask for, a field each; null, 0 and empty where an option
/// is not given.
struct ProgramOptions {
#define ATTN_FLAG(group, name, field, verbs, help) bool field = false;
#define ATTN_PROGRAM_FLAG(group, name, field, help) bool field = false;
#define ATTN_PROGRAM_TEXT(group, name, field, meta, help) const char *field = nullptr;
#define ATTN_TEXT(group, name, field, meta, verbs, help) const char *field = nullptr;
#define ATTN_TEXTS(group, name, field, meta, verbs, help) Vector<const char *> field;
#define ATTN_PAIRS(group, name, field, meta, expected, verbs, help) Vector<Setting> field;
#define ATTN_PLACES(group, name, field, meta, expected, verbs, help) Vector<Setting> field;
#define ATTN_COUNT(group, name, field, least, most, expected, verbs, help) int32_t field = 0;
#define ATTN_DEVICE(group, name, field, meta, expected, verbs, help)                               \
  int32_t field = -1; // -1 is the CPU, others are the numbers of GPUs.
#include "main/ProgramOptions.def"
  Vector<Choice> choices; ///< of settings, in the order in which they are given
};

/// What the command line asks for.
struct Command : ProgramOptions {
  const char *program = "model";

  // For programs around the command line; no options set them.
  /// Sees a run's tensors before the outputs are written; an exit code.
  int (*observe)(void *context, int32_t entry, const Tensors &inputs,
                 const Tensors &outputs) = nullptr;
  void *observeContext = nullptr;
  /// Of an attention under a mask, by its kernel's number: the share of pairs in tiles that are not
  /// empty, with these dims on a level; negative where that is unknown.
  double (*liveShare)(void *context, int32_t kernel, const int64_t *dims,
                      const char *level) = nullptr;
  void *liveShareContext = nullptr;
  Vector<NamedOutput> otherOutputs; ///< that the observer writes
  /// How many outputs of every entry are written; the others are for the observer. Null: all.
  const int32_t *written = nullptr;
  bool isQuiet = false; ///< Notes about inputs have been printed.
};

/// Exit codes of compiled executables.
enum { ExitOk = 0, ExitInput = 1, ExitUsage = 2, ExitEnvironment = 4, ExitInternal = 70 };
int exitCode(attn_status status);

/// attn_main with what `command` holds already.
int runCommandLine(const attn_abi_model &tables, int argc, char **argv, Command &command);

/// Binds the weights that a command line names: a checkpoint, or random[:SEED]; null: those that
/// are embedded. U0004 where there are none.
attn_status bindNamedWeights(attn_model *model, const char *weights, char **message);

/// The exit code 0, or usage error `error`.
int parseCommand(int argc, char **argv, Command &command, Error &error);
void printHelp(const Command &command, const attn_abi_model &tables);
void printDescription(const attn_model &model, bool isJson);

/// Tensors of an entry, owning their memory.
struct Tensors {
  Vector<attn_tensor> list;
  Vector<void *> memory;
  ~Tensors() {
    for (void *block : memory)
      free(block);
  }
  /// Allocates the data of a tensor whose dtype and shape are set.
  bool allocate(attn_tensor &tensor);
};

/// Reads the inputs from files, or draws them at random; ready for attn_run.
attn_status readInputs(const Command &command, const attn_model &model, int32_t entry,
                       Tensors &inputs, Error &error);

/// Whether a file is a picture, by its name.
bool isImageFile(const char *path);
/// Whether a path ends so, in letters of either case.
bool hasSuffix(const char *path, const char *suffix);

/// Whether a file is a sound, by its name.
bool isSoundFile(const char *path);

/// Says that an input takes no sound.
attn_status refuseSound(const attn_abi_entry &entry, const attn_abi_tensor &input, Error &error);

/// What the spec and the command line say of an entry that generates; of another one, that the
/// command line says nothing. The stops of the command line go to `stops`.
attn_status readGeneration(const Command &command, const attn_model &model, int32_t entry,
                           attn_generation &generation, Vector<int64_t> &stops, Error &error);

/// Writes the first `count` outputs to files or prints them short: rows of scores of the classes in
/// `labels` as the most probable ones, `logits` and `boxes` of a detector as the objects found.
attn_status writeOutputs(const Command &command, const attn_abi_entry &entry, int32_t count,
                         const Labels &labels, const Tensors &outputs, Error &error);

/// Runs the entry again and again and prints the times.
attn_status benchEntry(const Command &command, const attn_model &model, attn_context *context,
                       int32_t entry, const Tensors &inputs, const Tensors &outputs,
                       char **message);

} // namespace attn
