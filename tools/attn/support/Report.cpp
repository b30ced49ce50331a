// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors to text or JSON on stderr, and to exit codes.
#include "Report.h"

#include "Progress.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "compiler/support/Printable.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace llvm;

namespace attn::tool {

static bool jsonDiagnostics = false;

void useJsonDiagnostics() { jsonDiagnostics = true; }
bool usesJsonDiagnostics() { return jsonDiagnostics; }

bool wantsColour() {
  const char *noColour = std::getenv("NO_COLOR");
  return (!noColour || !*noColour) && sys::Process::StandardErrHasColors();
}

static thread_local Listener *current = nullptr;

Listener *listener() { return current; }
void listen(Listener *listener) { current = listener; }

/// To the listener, or a line of JSON.
static void tell(json::Object finding) {
  if (current)
    return current->hear(std::move(finding));
  errs() << json::Value(std::move(finding)) << '\n';
}

static bool isText() { return !current && !jsonDiagnostics; }

/// A message may end in lines of its own, "= help: ..." as the runtime writes them: they become
/// members.
static json::Object findingOf(StringRef severity, StringRef message) {
  SmallVector<StringRef> lines;
  message.split(lines, '\n');
  std::string text;
  json::Array notes, helps;
  for (StringRef line : lines) {
    if (StringRef rest = line.ltrim(); rest.consume_front("= note: "))
      notes.push_back(json::fixUTF8(rest));
    else if (rest.consume_front("= help: "))
      helps.push_back(json::fixUTF8(rest));
    else
      text += (text.empty() ? "" : "\n") + line.str();
  }
  json::Object finding{{"severity", severity}, {"message", json::fixUTF8(text)}};
  if (!notes.empty())
    finding["notes"] = std::move(notes);
  if (!helps.empty())
    finding["helps"] = std::move(helps);
  return finding;
}

/// What is printed comes behind what was, and not into a line that is written anew.
static void beginPrinting() {
  Progress::erase();
  if (!current)
    outs().flush();
}

int fail(ExitCode code, const Twine &message, const Twine &help) {
  beginPrinting();
  std::string helpText = help.str();
  if (!isText()) {
    json::Object finding = findingOf("error", message.str());
    if (!helpText.empty())
      finding["helps"] = json::Array{json::fixUTF8(helpText)};
    return tell(std::move(finding)), code;
  }
  errs().enable_colors(wantsColour());
  errs().changeColor(raw_ostream::RED, /*Bold=*/true) << "error";
  errs().resetColor() << ": " << printable(message.str()) << '\n';
  if (!helpText.empty())
    errs() << "  = help: " << printable(helpText) << '\n';
  return code;
}

int failWithMessage(ExitCode code, StringRef message) {
  beginPrinting();
  if (message.empty())
    message = "error[R0401]: no memory";
  StringRef text = message;
  if (!isText() && text.consume_front("error[")) {
    auto [name, rest] = text.split("]: ");
    json::Object finding = findingOf("error", rest);
    finding["code"] = name;
    tell(std::move(finding));
  } else {
    errs() << printable(message) << '\n';
  }
  return code;
}

void printFinding(bool isError, const Twine &message, StringRef file, unsigned line,
                  unsigned column, ArrayRef<std::string> notes) {
  beginPrinting();
  StringRef severity = isError ? "error" : "warning";
  if (!isText()) {
    json::Object finding = findingOf(severity, message.str());
    if (!file.empty()) {
      finding["file"] = json::fixUTF8(file);
      finding["range"] = json::Object{{"start", json::Object{{"line", line}, {"column", column}}}};
    }
    if (!notes.empty())
      finding["notes"] = json::Array(
          map_range(notes, [](const std::string &text) { return json::fixUTF8(text); }));
    return tell(std::move(finding));
  }
  errs() << severity << ": " << message << '\n';
  if (!file.empty())
    errs() << "  --> " << file << ':' << line << ':' << column << '\n';
  for (const std::string &text : notes)
    errs() << "  = note: " << text << '\n';
}

void note(const Twine &text) {
  beginPrinting();
  if (isText())
    errs() << "note: " << text << '\n';
  else
    tell(findingOf("note", text.str()));
}

void say(const Twine &text) {
  if (!current)
    errs() << text;
}

void printDiagnostics(const frontend::DiagnosticEngine &diagnostics) {
  beginPrinting();
  if (!isText()) {
    for (json::Object &finding : diagnostics.toJson())
      tell(std::move(finding));
    return;
  }
  std::string text; // in one piece: stderr has no buffer
  raw_string_ostream os(text);
  diagnostics.render(os, {wantsColour()});
  errs() << text;
}

int notSupportedYet(const Twine &what) { return fail(Usage, what + " is not supported yet"); }

int finish(int code) {
  outs().flush();
  if (!outs().has_error())
    return code;
  outs().clear_error();
  int failed = fail(Environment, "cannot write to standard output");
  return code == Ok ? failed : code;
}

} // namespace attn::tool
