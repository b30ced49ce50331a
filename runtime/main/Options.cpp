// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// argv to a Command, and the help that says what there is: both by the rows of ProgramOptions.def.
#include "base/Names.h"
#include "main/Command.h"
#include <cerrno>
#include <cstdio>
#include <getopt.h>

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

namespace {

/// What a row of ProgramOptions.def says, in the order of `texts`.
struct ProgramOption {
  const char *group, *name, *meta, *help; ///< no meta: it has no value

  bool hasValue() const { return *meta; }
};

/// A group of options in the help.
struct OptionGroup {
  const char *name, *title;
};

// The texts of all rows are one string: each pointer in a table would be a relocation.
constexpr char texts[] =
#define ATTN_VALUED(group, name, meta, verbs, help) #group "\0" name "\0" meta "\0" help "\0"
#define ATTN_PROGRAM_FLAG(group, name, field, help) ATTN_VALUED(group, name, "", , help)
#define ATTN_PROGRAM_TEXT(group, name, field, meta, help) ATTN_VALUED(group, name, meta, , help)
#define ATTN_FLAG(group, name, field, verbs, help) ATTN_VALUED(group, name, "", verbs, help)
#include "main/ProgramOptions.def"
    ;

constexpr int optionCount = 0
#define ATTN_VALUED(group, name, meta, verbs, help) +1
#define ATTN_PROGRAM_FLAG(group, name, field, help) +1
#define ATTN_PROGRAM_TEXT(group, name, field, meta, help) +1
#define ATTN_FLAG(group, name, field, verbs, help) +1
#include "main/ProgramOptions.def"
    ;

constexpr OptionGroup optionGroups[] = {
#define ATTN_GROUP(group, title) {#group, title},
#include "main/ProgramOptions.def"
};

/// All rows.
struct OptionRows {
  ProgramOption rows[optionCount];

  OptionRows() {
    const char *at = texts;
    auto next = [&] {
      const char *text = at;
      at += strlen(at) + 1;
      return text;
    };
    for (ProgramOption &row : rows)
      row.group = next(), row.name = next(), row.meta = next(), row.help = next();
  }
};

} // namespace

/// Sets what a row's option sets. Null, or what was expected in the place of `value`.
static const char *take(int row, Command &command, const char *value) {
  int next = 0;
#define ATTN_ROW(expected, expression)                                                             \
  if (row == next++)                                                                               \
    return (expression) ? nullptr : expected;
#define ATTN_PROGRAM_FLAG(group, name, field, help) ATTN_ROW("", command.field = true)
#define ATTN_FLAG(group, name, field, verbs, help) ATTN_ROW("", command.field = true)
#define ATTN_PROGRAM_TEXT(group, name, field, meta, help) ATTN_ROW("", (command.field = value))
#define ATTN_TEXT(group, name, field, meta, verbs, help) ATTN_ROW("", (command.field = value))
#define ATTN_TEXTS(group, name, field, meta, verbs, help) ATTN_ROW("", command.field.push(value))
#define ATTN_PAIRS(group, name, field, meta, expected, verbs, help)                                \
  ATTN_ROW(expected, parseSetting(value, command.field))
#define ATTN_PLACES(group, name, field, meta, expected, verbs, help)                               \
  ATTN_ROW(expected, parseSetting(value, command.field) ||                                         \
                         (!strchr(value, '=') && command.field.push({value, 0, value})))
#define ATTN_COUNT(group, name, field, least, most, expected, verbs, help)                         \
  ATTN_ROW(expected, parseCount(value, least, most, command.field))
#define ATTN_DEVICE(group, name, field, meta, expected, verbs, help)                               \
  ATTN_ROW(expected, parseDevice(value, command.field))
#define ATTN_SETTING(group, name, setting, meta, verbs, help)                                      \
  ATTN_ROW("", command.choices.push({"--" name, SettingName::setting, value}))
#include "main/ProgramOptions.def"
#undef ATTN_ROW
  return nullptr;
}

/// Whether an argument is an option in full, which may be followed by `=` and its value.
static bool isSpelled(const char *argument, const ProgramOption &option) {
  size_t length = strlen(option.name);
  return strncmp(argument, "--", 2) == 0 && strncmp(argument + 2, option.name, length) == 0 &&
         (argument[2 + length] == 0 || argument[2 + length] == '=');
}

/// An argument that is no option: which one may be meant.
static int unknownOption(const char *argument, Error &error) {
  error.set(ATTN_INVALID_ARGUMENT, "U0001", "unknown option `%s`", argument);
  const char *name = argument + strspn(argument, "-"), *nearest = nullptr;
  size_t length = strcspn(name, "="), best = length / 4 + 2;
  const OptionRows options;
  for (const ProgramOption &option : options.rows) {
    size_t distance = editDistance(name, length, option.name, strlen(option.name), best);
    if (distance < best)
      best = distance, nearest = option.name;
  }
  if (nearest && length > 1)
    error.help("did you mean `--%s`?", nearest);
  return usage(error);
}

static int wrongOption(const ProgramOption &option, const char *problem, Error &error) {
  error.set(ATTN_INVALID_ARGUMENT, "U0002", "option `--%s` %s", option.name, problem);
  return usage(error);
}

int attn::parseCommand(int argc, char **argv, Command &command, Error &error) {
  const OptionRows options;
  option longOptions[optionCount + 1] = {};
  // What getopt_long returns: a row's number above all characters.
  constexpr int firstRow = 256;
  for (int i = 0; i < optionCount; ++i)
    longOptions[i] = {options.rows[i].name,
                      options.rows[i].hasValue() ? required_argument : no_argument, nullptr,
                      firstRow + i};
  if (argc > 0 && argv[0])
    command.program = argv[0];
  optind = 0; // begins anew: a process may read several command lines
  for (int at = 1;; at = optind) {
    // `+` stops at what is no option, `:` tells a missing value from an unknown option.
    int found = getopt_long(argc, argv, "+:h", longOptions, nullptr);
    if (found < 0)
      return at < argc ? unknownOption(argv[at], error) : ExitOk;
    bool isMissing = found == ':', isFlag = found == '?' && optopt >= firstRow;
    int row = isMissing || isFlag ? optopt : found;
    if (found == 'h' && strcmp(argv[at], "-h") == 0) {
      command.isHelp = true;
      continue;
    }
    // getopt_long takes beginnings of names, too, which a later option could make ambiguous.
    if (row < firstRow || !isSpelled(argv[at], options.rows[row - firstRow]))
      return unknownOption(argv[at], error);
    const ProgramOption &option = options.rows[row - firstRow];
    if (isFlag)
      return wrongOption(option, "takes no value", error);
    if (isMissing || (option.hasValue() && !*optarg))
      return wrongOption(option, "needs a value", error);
    const char *expected = take(row - firstRow, command, optarg);
    if (!expected)
      continue;
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--%s %s`: expected %s", option.name, optarg,
              expected);
    return usage(error);
  }
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
  case ATTN_INTERNAL:
    break;
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

/// Prints words behind what stands in a line already, in lines of at most 100 columns that begin
/// with as many spaces as the first one has columns.
static void printWords(const char *text, int indent) {
  constexpr int width = 100;
  for (int column = indent; *text;) {
    int length = int(strcspn(text, " "));
    if (column > indent && column + 1 + length > width) {
      printf("\n%*s", indent, "");
      column = indent;
    }
    bool isFirst = column == indent;
    printf(isFirst ? "%.*s" : " %.*s", length, text);
    column += length + !isFirst;
    text += length;
    text += strspn(text, " ");
  }
  printf("\n");
}

static void printOption(const ProgramOption &option) {
  constexpr int indent = 26;
  int column = printf("  --%s%s%s", option.name, option.hasValue() ? " " : "", option.meta);
  printf("%*s", column < indent ? indent - column : 1, "");
  printWords(option.help, indent);
}

void attn::printHelp(const Command &command, const attn_abi_model &tables) {
  printf("usage: %s [options]\n\nRuns the model %s.%s\n", command.program, tables.name,
         tables.embedded ? " Its weights are embedded: --weights names others." : "");
  printEntries(tables);
  const OptionRows options;
  for (const OptionGroup &group : optionGroups) {
    printf("\n%s:\n", group.title);
    for (const ProgramOption &option : options.rows)
      if (strcmp(option.group, group.name) == 0)
        printOption(option);
  }
  printf("\nexit codes: 0 ok, 1 wrong input or weights, 2 wrong options, 4 environment (file, "
         "memory, CPU)\n");
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
