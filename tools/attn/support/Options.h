// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line, parsed by LLVM's OptTable from Options.td.
#pragma once

#include "llvm/Option/ArgList.h"
#include <optional>

namespace attn::tool {

/// The options of Options.td, by which arguments are asked for.
enum OptionId {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

/// A verb with its options, or the exit code where there is nothing left to do (`--help`, a usage
/// error, which has been printed).
struct CommandLine {
  std::string verb;
  llvm::opt::InputArgList args;
  std::optional<int> exitCode;
};

/// `arguments` is argv without the program's name; it must outlive the result.
CommandLine parseCommandLine(llvm::ArrayRef<const char *> arguments);

/// The arguments behind a verb that there is; they must outlive `args`. 0, or an exit code after an
/// error. Whether `--help` is among them, of which nothing is checked then, the caller looks.
int parseOptions(llvm::StringRef verb, llvm::ArrayRef<const char *> arguments,
                 llvm::opt::InputArgList &args);

/// All values that an option takes, as Options.td lists them.
std::vector<std::string> valuesOf(OptionId option);

/// All files that a verb is given, those behind `--` too.
std::vector<std::string> allFiles(const llvm::opt::InputArgList &args);

/// The only file that a verb takes; an empty string after a usage error has been printed.
llvm::StringRef onlyFile(const llvm::opt::InputArgList &args, llvm::StringRef what);

/// `value` as a number from `least` to `most`.
std::optional<int64_t> parseNumber(llvm::StringRef value, int64_t least, int64_t most);

} // namespace attn::tool
