// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// argv to a Command, and the help that says what there is.
#include "main/Command.h"
#include <cerrno>
#include <cstdio>

using namespace attn;

static int usage(Error &error) {
  error.help("`--help` shows the options");
  return ExitUsage;
}

static bool parseSetting(const char *text, Vector<Setting> &settings) {
  const char *equals = strchr(text, '=');
  return equals && equals != text && equals[1] &&
         settings.push({text, int(equals - text), equals + 1});
}

static bool parseCount(const char *text, int32_t least, int32_t most, int32_t &value) {
  char *end;
  errno = 0;
  long parsed = strtol(text, &end, 10);
  if (errno || end == text || *end || parsed < least || parsed > most)
    return false;
  value = int32_t(parsed);
  return true;
}

/// "cpu", "cuda" or "cuda:1".
static bool parseDevice(const char *text, int32_t &gpu) {
  gpu = -1;
  if (strcmp(text, "cpu") == 0)
    return true;
  if (strncmp(text, "cuda", 4) != 0)
    return false;
  gpu = 0;
  return text[4] == 0 || strcmp(text + 4, ":0") == 0 ||
         (text[4] == ':' && parseCount(text + 5, 1, 1023, gpu));
}

/// An option with a value, which may also stand after "=".
static int applyOption(const char *name, const char *value, Command &command, Error &error) {
  bool isGood = true;
  const char *expected = "";
  if (strcmp(name, "--weights") == 0) {
    command.weights = value;
  } else if (strcmp(name, "--entry") == 0) {
    command.entryName = value;
  } else if (strcmp(name, "--prompt") == 0) {
    command.prompt = value;
  } else if (strcmp(name, "--file") == 0) {
    command.promptFile = value;
  } else if (strcmp(name, "--system") == 0) {
    command.system = value;
  } else if (strcmp(name, "--stop") == 0) {
    isGood = command.stops.push(value);
  } else if (strcmp(name, "--draw") == 0) {
    isGood = command.drawings.push(value);
  } else if (strcmp(name, "--language") == 0) {
    command.language = value;
  } else if (strcmp(name, "--task") == 0) {
    command.task = value;
  } else if (strcmp(name, "--tokenizer") == 0) {
    command.tokenizer = value;
  } else if (strcmp(name, "--trace") == 0) {
    command.trace = value;
  } else if (strcmp(name, "--input") == 0) {
    isGood = parseSetting(value, command.inputs);
    expected = "NAME=FILE or NAME=random[:SEED]";
  } else if (strcmp(name, "--output") == 0) {
    isGood = parseSetting(value, command.outputs);
    expected = "NAME=FILE";
  } else if (strcmp(name, "--set-size") == 0) {
    isGood = parseSetting(value, command.sizes);
    expected = "DIM=N";
  } else if (strcmp(name, "--pad") == 0) {
    isGood = parseSetting(value, command.pads);
    expected = "NAME=NUMBER";
  } else if (strcmp(name, "--threads") == 0) {
    isGood = parseCount(value, 1, 1024, command.threads);
    expected = "1 to 1024";
  } else if (strcmp(name, "--repeat") == 0) {
    isGood = parseCount(value, 1, 1000000, command.repeat);
    expected = "1 to 1000000";
  } else if (strcmp(name, "--cached") == 0) {
    isGood = parseCount(value, 0, INT32_MAX, command.cached);
    expected = "a number of positions";
  } else if (generationOption(name)) {
    isGood = command.choices.push({name, value});
  } else if (strcmp(name, "--device") == 0) {
    isGood = parseDevice(value, command.gpu);
    expected = "cpu or cuda[:N]";
  }
  if (isGood)
    return ExitOk;
  error.set(ATTN_INVALID_ARGUMENT, "U0002", "`%s %s`: expected %s", name, value, expected);
  return usage(error);
}

bool attn::isOption(const char *argument, const char *option) {
  size_t length = strlen(option);
  return strncmp(argument, option, length) == 0 &&
         (argument[length] == 0 || argument[length] == '=');
}

int attn::parseCommand(int argc, char **argv, Command &command, Error &error) {
  static const char *const valued[] = {
      "--weights", "--entry",     "--input",    "--output", "--set-size", "--pad",  "--threads",
      "--repeat",  "--cached",    "--device",   "--trace",  "--stop",     "--file", "--system",
      "--prompt",  "--tokenizer", "--language", "--task",   "--draw"};
  if (argc > 0 && argv[0])
    command.program = argv[0];
  for (int i = 1; i < argc; ++i) {
    const char *argument = argv[i];
    if (strcmp(argument, "--bench") == 0)
      command.isBench = true;
    else if (strcmp(argument, "--profile") == 0)
      command.isProfile = true;
    else if (strcmp(argument, "--embed") == 0)
      command.isEmbed = true;
    else if (strcmp(argument, "--pairs") == 0)
      command.isPairs = true;
    else if (strcmp(argument, "--chat") == 0)
      command.isChat = true;
    else if (strcmp(argument, "--timestamps") == 0)
      command.hasTimestamps = true;
    else if (strcmp(argument, "--truncate") == 0)
      command.truncates = true;
    else if (strcmp(argument, "--skip-errors") == 0)
      command.skipsErrors = true;
    else if (strcmp(argument, "--resume") == 0)
      command.resumes = true;
    else if (strcmp(argument, "--json") == 0)
      command.isJson = true;
    else if (strcmp(argument, "--describe") == 0)
      command.isDescribe = true;
    else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
      command.isHelp = true;
    else {
      const char *name = nullptr, *value = nullptr;
      for (const char *option : valued)
        name = isOption(argument, option) ? option : name;
      if (!name)
        name = generationOption(argument);
      if (name) {
        size_t length = strlen(name);
        value = argument[length] ? argument + length + 1 : i + 1 < argc ? argv[++i] : nullptr;
      }
      if (!name) {
        error.set(ATTN_INVALID_ARGUMENT, "U0001", "unknown option `%s`", argument);
        return usage(error);
      }
      if (!value || !*value) {
        error.set(ATTN_INVALID_ARGUMENT, "U0002", "option `%s` needs a value", name);
        return usage(error);
      }
      if (int code = applyOption(name, value, command, error))
        return code;
    }
  }
  return ExitOk;
}

int attn::exitCode(attn_status status) {
  switch (status) {
  case ATTN_OK:
    return ExitOk;
  case ATTN_BAD_WEIGHTS:
  case ATTN_BAD_INPUT:
    return ExitInput;
  case ATTN_INVALID_ARGUMENT:
  case ATTN_NOT_FOUND:
    return ExitUsage;
  case ATTN_IO:
  case ATTN_UNSUPPORTED_CPU:
  case ATTN_OUT_OF_MEMORY:
  case ATTN_NO_DEVICE:
    return ExitEnvironment;
  }
  return ExitInternal;
}

static void printTensors(const attn_abi_tensor *tensors, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    printf("%s%s: %s[", i ? ", " : "", tensors[i].name, attn_dtype_name(tensors[i].dtype));
    for (int32_t a = 0; a < tensors[i].rank; ++a)
      printf(a ? ", %s" : "%s", tensors[i].axes[a].name);
    printf("]");
  }
}

static void printEntries(const attn_abi_model &tables) {
  for (int32_t i = 0; i < tables.entryCount; ++i) {
    const attn_abi_entry &entry = tables.entries[i];
    printf("  entry %s(", entry.name);
    printTensors(entry.inputs, entry.inputCount);
    printf(") -> ");
    printTensors(entry.outputs, entry.outputCount);
    printf("\n");
  }
}

void attn::printHelp(const Command &command, const attn_abi_model &tables) {
  printf("usage: %s [options]\n\nRuns the model %s.\n", command.program, tables.name);
  printEntries(tables);
  printf(
      "\n"
      "  --weights FILE      a .safetensors file, an index of shards, a directory, a GGUF file, or "
      "random[:SEED]%s\n"
      "  --input NAME=FILE   .npy (- for standard input), .safetensors, or random[:SEED]%s\n"
      "  --output NAME=FILE  .npy (- for standard output); without it outputs are printed short\n"
      "  --entry NAME        which entry to run, where there are several\n"
      "  --set-size DIM=N    of random inputs: a size that is known only when running (default 1)\n"
      "  --threads N         default: ATTN_NUM_THREADS, else the CPUs this process may use\n"
      "  --device DEVICE     cpu (default), or cuda[:N] where it has code for GPUs\n"
      "  --max-tokens N      of an entry that generates: tokens, at most; --stop-tokens N,N: a row "
      "ends\n"
      "                      before them\n"
      "  --temperature X     draw tokens, with --top-k N, --top-p X, --min-p X, --seed N\n"
      "  --beams N           the likeliest hypothesis, with --length-penalty X, --early-stopping "
      "WORD\n"
      "  --repetition X      tokens that were there count less; --no-repeat N: no N of them come "
      "again;\n"
      "                      --min-tokens N: at least N are written\n"
      "  --prompt TEXT       where text is linked: goes on from a text, or from that in --file "
      "FILE\n"
      "  --tokenizer FILE    its tokens: tokenizer.json, vocab.txt, .model, .gguf (default: what "
      "lies\n"
      "                      in the folder of --weights)\n"
      "  --chat              answers each line of standard input, by the template beside the "
      "tokenizer;\n"
      "                      --system TEXT says what comes before the first one\n"
      "  --embed             of a sentence encoder: the vector of --prompt, or of each line of "
      "--file,\n"
      "                      of a .jsonl file that of each `text`; so may --output be\n"
      "  --skip-errors       with --embed: a row of NaN and a note for a line that is an error\n"
      "  --resume            with --embed: goes on behind the rows that a run before has left in "
      "FILE.part\n"
      "  --pairs             how near each line of --file is to the one behind it, from -1 to 1\n"
      "  --stop TEXT         ends the text before this one, any number of times\n"
      "  --truncate          leaves out the beginning of a prompt that the context has no room "
      "for\n"
      "  --language XX       of a sound (.wav, .flac) that is written down: its language; --task "
      "transcribe\n"
      "                      or translate, into English; --timestamps: when what is spoken\n"
      "  --draw FILE.png     of a detector: the picture with what is found in it; once for each "
      "picture\n"
      "  --beams N           the likeliest of N hypotheses of each row, with --length-penalty X\n"
      "  --bench             time the entry, with random inputs where none are given\n"
      "  --repeat N          how often --bench runs it\n"
      "  --cached N          of an entry with a cache, how many positions that holds before each\n"
      "                      run of --bench (default 0)\n"
      "  --profile           with --bench: the time of each kernel of the fastest run\n"
      "  --trace FILE        with --bench: that run as a Chrome trace\n"
      "  --json              --bench and --describe in JSON\n"
      "  --describe          print what the model is\n"
      "  --help              print this\n"
      "\n"
      "exit codes: 0 ok, 1 wrong input or weights, 2 wrong options, 4 environment (file, memory, "
      "CPU)\n",
      tables.embedded ? " (default: embedded)" : "",
      tables.imageCount ? "; .png or .jpg where a picture is taken, several make a batch" : "");
}

void attn::printDescription(const attn_model &model, bool isJson) {
  const attn_abi_model &tables = *model.tables;
  if (isJson) {
    printf("%s\n", tables.description);
    return;
  }
  printf("model %s, %s, compiled by attn %s\n", tables.name, tables.precision, tables.version);
  printEntries(tables);
  for (int32_t i = 0; i < tables.dimCount; ++i)
    printf("  %s %s %s %lld\n", tables.dims[i].isDynamic ? "dyn" : "dim", tables.dims[i].name,
           tables.dims[i].isDynamic ? "<=" : "=", static_cast<long long>(tables.dims[i].value));
  long long tensors = 0, elements = 0;
  for (int32_t i = 0; i < tables.parameterCount; ++i) {
    const attn_abi_parameter &parameter = tables.parameters[i];
    long long count = parameter.layers ? parameter.layers : 1;
    tensors += count;
    for (int32_t a = 0; a < parameter.rank; ++a)
      count *= parameter.shape[a];
    elements += count;
  }
  printf("  %lld parameters in %lld tensors, packed %lld bytes%s\n  levels:", elements, tensors,
         static_cast<long long>(tables.packedBytes), tables.embedded ? ", embedded" : "");
  for (int32_t i = 0; i < tables.levelCount; ++i)
    printf(" %s%s", tables.levels[i].name, &tables.levels[i] == model.level ? " (used here)" : "");
  for (int32_t i = 0; i < tables.gpuCount; ++i)
    printf(" %s", tables.gpus[i].chip);
  printf("\n");
}
