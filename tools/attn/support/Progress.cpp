// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts to a line on stderr that is written over and over.
#include "Progress.h"

#include "Report.h"
#include "compiler/support/Printable.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

/// Back to the first column, and nothing behind the cursor.
static constexpr StringRef emptyLine = "\r\033[K";
static bool isProgressShown = false;

/// Terminals that know these codes; without them each text would stay.
static bool canShowProgress() {
  static const bool can = sys::Process::StandardErrIsDisplayed() &&
                          sys::Process::GetEnv("TERM").value_or("dumb") != "dumb";
  return can && !usesJsonDiagnostics() && !listener();
}

void Progress::show(const Twine &text) {
  auto now = Clock::now();
  if (now < next || !canShowProgress())
    return;
  next = now + std::chrono::milliseconds(100);
  constexpr size_t width = 79; // a line that is wrapped could not be erased
  outs().flush();
  errs() << (emptyLine + StringRef(printable(text.str())).take_front(width)).str();
  isProgressShown = true;
}

void Progress::erase() {
  if (!isProgressShown)
    return;
  errs() << emptyLine;
  isProgressShown = false;
}

} // namespace attn::tool
