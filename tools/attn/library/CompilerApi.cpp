// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API of the compiler: the verb `compile` on a thread that hears what it says, and what it
// would print, as structs.
#include "attn/compiler.h"
#include "compiler/emit/ModelInfo.h"
#include "compiler/support/InputFile.h"
#include "main/ReadFiles.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/Reproducer.h"
#include "tools/attn/verbs/Verbs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>
#include <pthread.h>

using namespace llvm;
using namespace attn::tool;

namespace {

/// A diagnostic, and what it points to.
struct Finding {
  attn_compiler_diagnostic diagnostic = {};
  std::deque<std::string> texts;
  std::vector<const char *> notes, helps;
};

} // namespace

/// What has come of a call: hears the verb.
struct attn_compiler_result : Listener {
  void hear(json::Object object) override;
  void write(StringRef bytes) override { output = bytes.str(), hasOutput = true; }

  std::string output;
  bool hasOutput = false;
  std::deque<Finding> findings; ///< stay where they are
};

static attn_compiler_severity severityOf(StringRef name) {
  return name == "error"     ? ATTN_COMPILER_ERROR
         : name == "warning" ? ATTN_COMPILER_WARNING
                             : ATTN_COMPILER_NOTE;
}

/// The line and column of a place; left alone where there is none.
static void readPlace(const json::Object *place, int32_t &line, int32_t &column) {
  if (!place)
    return;
  line = int32_t(place->getInteger("line").value_or(0));
  column = int32_t(place->getInteger("column").value_or(0));
}

void attn_compiler_result::hear(json::Object object) {
  Finding &finding = findings.emplace_back();
  attn_compiler_diagnostic &diagnostic = finding.diagnostic;
  auto keep = [&](std::string text) {
    std::replace(text.begin(), text.end(), '\0', ' '); // as JSON could have it
    return finding.texts.emplace_back(std::move(text)).c_str();
  };
  auto textOf = [&](StringRef member) { return keep(object.getString(member).value_or("").str()); };
  auto addTexts = [&](StringRef member, std::vector<const char *> &texts) {
    if (const json::Array *array = object.getArray(member))
      for (const json::Value &value : *array)
        texts.push_back(keep(value.getAsString().value_or("").str()));
  };
  diagnostic.severity = severityOf(object.getString("severity").value_or(""));
  diagnostic.code = textOf("code");
  diagnostic.message = textOf("message");
  diagnostic.label = textOf("label");
  diagnostic.file = textOf("file");
  if (const json::Object *range = object.getObject("range")) {
    readPlace(range->getObject("start"), diagnostic.line, diagnostic.column);
    diagnostic.endLine = diagnostic.line, diagnostic.endColumn = diagnostic.column;
    readPlace(range->getObject("end"), diagnostic.endLine, diagnostic.endColumn);
  }
  addTexts("lines", finding.notes); // tables of names, which are printed as they are
  addTexts("notes", finding.notes);
  addTexts("helps", finding.helps);
  diagnostic.noteCount = int32_t(finding.notes.size());
  diagnostic.helpCount = int32_t(finding.helps.size());
  diagnostic.notes = finding.notes.data();
  diagnostic.helps = finding.helps.data();
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(object));
  diagnostic.json = keep(std::move(text));
}

static attn_status statusOf(int code) {
  switch (code) {
  case Ok:
    return ATTN_OK;
  case BadInput:
    return ATTN_BAD_INPUT;
  case Usage:
    return ATTN_INVALID_ARGUMENT;
  case Environment:
    return ATTN_IO;
  default:
    return ATTN_INTERNAL;
  }
}

static int runCommand(ArrayRef<const char *> arguments) {
  opt::InputArgList args;
  if (int code = parseOptions("compile", arguments, args))
    return code;
  if (args.hasArg(OPT_help, OPT_help_all))
    return fail(Usage, "`--help` is of the command line", "`attn compile --help` prints it");
  return runCompile(args);
}

namespace {

/// What a call's thread is given, and what it gives.
struct Call {
  ArrayRef<const char *> arguments;
  attn::GivenFiles files;
  attn_compiler_result *result;
  int code = Ok;
};

} // namespace

static void *runCall(void *given) {
  auto &call = *static_cast<Call *>(given);
  attn::ReadFiles read;
  attn::ReadFiles::use(&read);
  attn::giveInputFiles(&call.files);
  listen(call.result);
  SmallVector<const char *> command{"compile"};
  command.append(call.arguments.begin(), call.arguments.end());
  rememberCommand(command);
  call.code = runCommand(call.arguments);
  read.clear();
  return nullptr;
}

/// Runs a call on a thread of its own. Whether there was one.
static bool runOnThread(Call &call) {
  constexpr size_t stack = size_t(8) << 20;
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  bool isRunning = pthread_attr_setstacksize(&attributes, stack) == 0 &&
                   pthread_create(&thread, &attributes, runCall, &call) == 0;
  pthread_attr_destroy(&attributes);
  return isRunning && pthread_join(thread, nullptr) == 0;
}

extern "C" attn_status attn_compile(const char *const *arguments, int32_t argumentCount,
                                    const attn_compiler_file *files, int32_t fileCount,
                                    attn_compiler_result **result) {
  static const bool isObserved = (attn::observeInputFiles(attn_main_note_file), true);
  (void)isObserved;
  if (!result || argumentCount < 0 || fileCount < 0 || (argumentCount > 0 && !arguments) ||
      (fileCount > 0 && !files))
    return ATTN_INVALID_ARGUMENT;
  Call call;
  for (int32_t i = 0; i < fileCount; ++i) {
    if (!files[i].name || (!files[i].text && files[i].size))
      return ATTN_INVALID_ARGUMENT;
    call.files[files[i].name] = StringRef(files[i].text, files[i].size);
  }
  call.arguments = ArrayRef(arguments, size_t(argumentCount));
  if (is_contained(call.arguments, nullptr))
    return ATTN_INVALID_ARGUMENT;
  auto made = std::make_unique<attn_compiler_result>();
  call.result = made.get();
  if (!runOnThread(call))
    return ATTN_OUT_OF_MEMORY;
  if (call.code != Ok)
    made->hasOutput = false;
  *result = made.release();
  return statusOf(call.code);
}

extern "C" const void *attn_compiler_output(const attn_compiler_result *result, size_t *size) {
  bool isThere = result && result->hasOutput;
  if (size)
    *size = isThere ? result->output.size() : 0;
  return isThere ? result->output.data() : nullptr;
}

extern "C" int32_t attn_compiler_diagnostic_count(const attn_compiler_result *result) {
  return result ? int32_t(result->findings.size()) : 0;
}

extern "C" const attn_compiler_diagnostic *
attn_compiler_diagnostic_at(const attn_compiler_result *result, int32_t index) {
  bool isThere = result && index >= 0 && size_t(index) < result->findings.size();
  return isThere ? &result->findings[size_t(index)].diagnostic : nullptr;
}

extern "C" void attn_compiler_result_destroy(attn_compiler_result *result) { delete result; }

extern "C" const char *attn_compiler_version(void) { return attn::compilerVersion().data(); }
