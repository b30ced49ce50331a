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

static void printJson(StringRef message, StringRef code, StringRef help) {
  json::Object object{{"severity", "error"}, {"message", json::fixUTF8(message)}};
  if (!code.empty())
    object["code"] = code;
  if (!help.empty())
    object["helps"] = json::Array{json::fixUTF8(help)};
  errs() << json::Value(std::move(object)) << '\n';
}

int fail(ExitCode code, const Twine &message, const Twine &help) {
  Progress::erase();
  outs().flush();
  std::string helpText = help.str();
  if (jsonDiagnostics) {
    printJson(message.str(), "", helpText);
    return code;
  }
  errs().enable_colors(wantsColour());
  errs().changeColor(raw_ostream::RED, /*Bold=*/true) << "error";
  errs().resetColor() << ": " << printable(message.str()) << '\n';
  if (!helpText.empty())
    errs() << "  = help: " << printable(helpText) << '\n';
  return code;
}

int failWithMessage(ExitCode code, StringRef message) {
  Progress::erase();
  outs().flush();
  StringRef text = message;
  if (jsonDiagnostics && text.consume_front("error[")) {
    auto [name, rest] = text.split("]: ");
    printJson(rest, name, "");
  } else {
    errs() << (message.empty() ? "error[R0401]: no memory" : printable(message)) << '\n';
  }
  return code;
}

void printDiagnostics(const frontend::DiagnosticEngine &diagnostics) {
  Progress::erase();
  outs().flush();
  std::string text; // in one piece: stderr has no buffer
  raw_string_ostream os(text);
  if (jsonDiagnostics)
    diagnostics.renderJson(os);
  else
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
