// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a command to a verb with its options; help, the manual page, and errors that
// name the nearest verb or option.
#include "Options.h"

#include "Report.h"
#include "compiler/emit/ModelInfo.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "compiler/target/TargetSet.h"
#include "dialect/WeightFormat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::opt;

namespace attn::tool {
namespace {

#define OPTTABLE_STR_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_STR_TABLE_CODE
#define OPTTABLE_PREFIXES_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE
#define OPTTABLE_SUBCOMMAND_IDS_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_SUBCOMMAND_IDS_TABLE_CODE
#define OPTTABLE_SUBCOMMANDS_CODE
#include "Options.inc"
#undef OPTTABLE_SUBCOMMANDS_CODE

constexpr OptTable::Info infoTable[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

class Options : public GenericOptTable {
public:
  Options()
      : GenericOptTable(OptionStrTable, OptionPrefixesTable, infoTable, /*IgnoreCase=*/false,
                        OptionSubCommands, OptionSubCommandIDsTable) {}
};

/// Verbs in the order a person meets them, not the table's alphabetical one.
constexpr StringRef verbOrder[] = {"check",  "compile",  "run",     "serve", "bench",
                                   "verify", "explain",  "explore", "diff",  "inspect",
                                   "import", "tokenize", "cache",   "fmt"};
static_assert(std::size(verbOrder) == std::size(OptionSubCommands), "every verb has its place");

/// Groups of options in the order of their use; others follow.
constexpr unsigned groupOrder[] = {OPT_options_Model,   OPT_options_Code,       OPT_options_Spec,
                                   OPT_options_Text,    OPT_options_Tokens,     OPT_options_Speech,
                                   OPT_options_Vectors, OPT_options_Comparison, OPT_options_Serving,
                                   OPT_options_Machine, OPT_options_Timing,     OPT_options_Maps,
                                   OPT_options_Tool,    OPT_options_Developers};

const OptTable::SubCommand *findVerb(StringRef name) {
  for (const OptTable::SubCommand &verb : OptionSubCommands)
    if (name == verb.Name)
      return &verb;
  return nullptr;
}

/// Options without a list of verbs belong to all.
bool belongsTo(const OptTable::Info &info, const OptTable::SubCommand *verb) {
  if (!info.hasSubCommands())
    return true;
  return verb && is_contained(info.getSubCommandIDs(OptionSubCommandIDsTable),
                              unsigned(verb - OptionSubCommands));
}

bool isSpelledOption(const OptTable::Info &info) {
  return info.ID != OPT_INPUT && info.ID != OPT_UNKNOWN && info.ID != OPT_rest &&
         info.Kind != Option::GroupClass;
}

/// Of the two forms of an option with a value the one that people read: `--name`, not `--name=`.
bool isShown(const OptTable::Info &info) {
  return isSpelledOption(info) && !info.getPrefixedName(OptionStrTable).ends_with("=");
}

StringRef spelling(const OptTable::Info &info) { return info.getPrefixedName(OptionStrTable); }

int unknownVerb(StringRef name) {
  auto nearest = frontend::nearestName(name, verbOrder);
  return fail(Usage, "`attn` has no verb `" + name + "`",
              nearest ? "did you mean `attn " + nearest->str() + "`?"
                      : std::string("`attn --help` lists the verbs"));
}

/// For an option that `verb` does not take: the nearest it does, or who takes it.
int unknownOption(StringRef text, const OptTable::SubCommand &verb) {
  StringRef name = text.take_until([](char c) { return c == '=' || c == ' '; });
  SmallVector<StringRef> candidates;
  std::string takers;
  for (const OptTable::Info &info : infoTable) {
    if (!isShown(info))
      continue;
    if (belongsTo(info, &verb))
      candidates.push_back(spelling(info));
    else if (spelling(info) == name)
      for (StringRef other : verbOrder)
        if (belongsTo(info, findVerb(other)))
          takers += (takers.empty() ? "`attn " : ", `attn ") + other.str() + "`";
  }
  std::string help;
  auto nearest = frontend::nearestName(name, candidates);
  if (!takers.empty())
    help = "it is an option of " + takers;
  else if (nearest)
    help = "did you mean `" + nearest->str() + "`?";
  else
    help = "`attn " + std::string(verb.Name) + " --help` lists its options";
  return fail(Usage, "`attn " + Twine(verb.Name) + "` has no option `" + name + "`", help);
}

constexpr StringRef summary = "Compiles short specs of transformers to native code.";
constexpr std::pair<ExitCode, StringRef> exitCodes[] = {
    {Ok, "ok"},
    {BadInput, "wrong input"},
    {Usage, "wrong options"},
    {Differs, "a comparison failed"},
    {Environment, "environment"},
    {Internal, "internal error"},
};

void printVerbs() {
  outs() << "usage: attn VERB ... (`attn VERB --help` says more)\n\n" << summary << "\n\n";
  for (StringRef name : verbOrder)
    outs() << "  " << left_justify(name, 10) << findVerb(name)->HelpText << '\n';
  outs() << "\n  --version prints the version\n\nexit codes: ";
  interleave(
      exitCodes, outs(), [](auto &row) { outs() << int(row.first) << ' ' << row.second; }, ", ");
  outs() << '\n';
}

/// A text of the table, in which `{targets}` stands for all levels and chips, and `{precisions}`
/// for all formats of weights.
std::string fill(StringRef given) {
  std::string text = given.str();
  for (auto &[word, list] :
       {std::pair("{targets}", listTargets()), std::pair("{precisions}", formatNames(" or "))})
    if (size_t place = text.find(word); place != std::string::npos)
      text.replace(place, StringRef(word).size(), list);
  return text;
}

void printOption(const OptTable::Info &info) {
  constexpr unsigned width = 24;
  std::string name = spelling(info).str();
  if (info.MetaVar)
    name += (info.Kind == Option::JoinedClass ? "" : " ") + std::string(info.MetaVar);
  outs() << "  " << left_justify(name, width) << fill(info.HelpText) << '\n';
}

/// All groups, those of `groupOrder` first.
std::vector<const OptTable::Info *> sortedGroups() {
  std::vector<const OptTable::Info *> groups;
  for (const OptTable::Info &info : infoTable)
    if (info.Kind == Option::GroupClass && info.HelpText)
      groups.push_back(&info);
  auto place = [](const OptTable::Info *group) {
    return std::pair(llvm::find(groupOrder, group->ID) - groupOrder, group->ID);
  };
  llvm::sort(groups,
             [&](const OptTable::Info *a, const OptTable::Info *b) { return place(a) < place(b); });
  return groups;
}

/// The options of a verb by groups, those for developers where `isAll`.
void printOptions(const OptTable::SubCommand &verb, bool isAll) {
  outs() << "usage: " << verb.Usage << "\n\n" << verb.HelpText << ".\n";
  bool hasHidden = false;
  for (const OptTable::Info *group : sortedGroups()) {
    bool isEmpty = true;
    for (const OptTable::Info &info : infoTable) {
      bool isOfGroup = info.GroupID == group->ID && info.HelpText && isSpelledOption(info);
      if (!isOfGroup || !belongsTo(info, &verb) || info.ID == OPT_version)
        continue;
      bool isHidden = (info.Flags & HelpHidden) && !isAll;
      hasHidden |= isHidden;
      if (isHidden)
        continue;
      if (isEmpty)
        outs() << '\n' << group->HelpText << ":\n";
      isEmpty = false;
      printOption(info);
    }
  }
  if (hasHidden)
    outs() << "\n`attn " << verb.Name << " --help-all` prints those for developers of Attn, too\n";
}

/// A text as troff prints it: what stands in backticks is bold.
std::string toTroff(StringRef text) {
  std::string made;
  bool isBold = false;
  for (char letter : text)
    switch (letter) {
    case '`':
      isBold = !isBold;
      made += isBold ? "\\fB" : "\\fR";
      break;
    case '\\':
      made += "\\e";
      break;
    case '-':
      made += "\\-";
      break;
    case '~':
      made += "\\(ti";
      break;
    case '^':
      made += "\\(ha";
      break;
    case '\'':
      made += "\\(aq";
      break;
    default:
      made += letter;
    }
  return StringRef(made).starts_with(".") ? "\\&" + made : made;
}

/// A paragraph of the manual page, under what it explains.
void printEntry(StringRef name, StringRef rest, const Twine &text) {
  outs() << ".TP\n\\fB" << toTroff(name) << "\\fR" << toTroff(rest) << '\n'
         << toTroff(text.str()) << ".\n";
}

/// An option, and which verbs take it.
void printManualOption(const OptTable::Info &info) {
  std::string verbs;
  for (StringRef name : verbOrder)
    if (info.hasSubCommands() && belongsTo(info, findVerb(name)))
      verbs += (verbs.empty() ? " (`" : ", `") + name.str() + "`";
  std::string value;
  if (info.MetaVar)
    value = (info.Kind == Option::JoinedClass ? "" : " ") + std::string(info.MetaVar);
  printEntry(spelling(info), value, fill(info.HelpText) + (verbs.empty() ? "" : verbs + ")"));
}

/// `attn --manual`: the page attn(1), in the macros of man(7).
void printManual() {
  outs() << ".TH ATTN 1 \"\" \"attn " << compilerVersion() << "\" \"User Commands\"\n.ad l\n.nh\n"
         << ".SH NAME\nattn \\- compiler of transformers to native code\n"
         << ".SH SYNOPSIS\n\\fBattn\\fR \\fIVERB\\fR ...\n.br\n"
         << "\\fBattn\\fR [\\fIVERB\\fR] \\fB\\-\\-help\\fR\n"
         << ".br\n\\fBattn \\-\\-version\\fR\n.SH DESCRIPTION\n"
         << toTroff(summary) << "\n.SH VERBS\n";
  for (StringRef name : verbOrder) {
    const OptTable::SubCommand &verb = *findVerb(name);
    printEntry(verb.Usage, "", verb.HelpText);
  }
  outs() << ".SH OPTIONS\nEach option says in parentheses which verbs take it.\n";
  for (const OptTable::Info *group : sortedGroups()) {
    bool isEmpty = true;
    for (const OptTable::Info &info : infoTable) {
      bool isOfGroup = info.GroupID == group->ID && info.HelpText && isSpelledOption(info);
      if (!isOfGroup || info.Flags & HelpHidden)
        continue;
      if (isEmpty)
        outs() << ".SS " << toTroff(group->HelpText) << '\n';
      isEmpty = false;
      printManualOption(info);
    }
  }
  outs() << ".SH EXIT STATUS\n";
  for (auto &[code, text] : exitCodes)
    printEntry(std::to_string(code), "", text);
}

/// All values of an option; none where these are not a list.
std::vector<std::string> valuesOf(const OptTable::Info &info) {
  StringRef text = info.Values ? info.Values : "";
  SmallVector<StringRef> rows, names;
  text.split(rows, ',', -1, /*KeepEmpty=*/false);
  std::vector<std::string> values;
  for (StringRef row : rows) { // one, or the names that a word stands for: "a, b or c"
    std::string filled = fill(row);
    for (StringRef name : split(filled, ' '))
      if (name = name.rtrim(','); name != "or")
        values.push_back(name.str());
  }
  return values;
}

/// Prints what begins with `start`, and what it is.
void printCandidate(StringRef name, StringRef text, StringRef start) {
  if (name.starts_with(start))
    outs() << name << '\t' << text << '\n';
}

/// `attn --complete WORDS...`: what the last word, which may be empty, can become. Nothing where it
/// is a file.
void printCandidates(ArrayRef<const char *> words) {
  StringRef last = words.empty() ? "" : words.back();
  if (words.size() <= 1) {
    for (StringRef verb : verbOrder)
      printCandidate(verb, findVerb(verb)->HelpText, last);
    return;
  }
  const OptTable::SubCommand *verb = findVerb(words.front());
  auto [option, value] = last.split('=');
  bool hasSign = last.starts_with("-") && last.contains('=');
  for (const OptTable::Info &info : infoTable) {
    if (!verb || !isShown(info) || !belongsTo(info, verb))
      continue;
    StringRef name = spelling(info);
    if (hasSign && name == option)
      for (const std::string &known : valuesOf(info))
        printCandidate((option + "=" + known).str(), "", last);
    else if (words.size() > 2 && name == words[words.size() - 2])
      for (const std::string &known : valuesOf(info))
        printCandidate(known, "", last);
    else if (!hasSign && last.starts_with("-") && info.HelpText && !(info.Flags & HelpHidden))
      printCandidate(name, fill(info.HelpText), last);
  }
}

int checkArguments(const InputArgList &args, const OptTable::SubCommand &verb) {
  for (const Arg *arg : args) {
    const OptTable::Info &info = infoTable[arg->getOption().getID() - 1];
    if (info.ID == OPT_UNKNOWN || !belongsTo(info, &verb))
      return unknownOption(arg->getAsString(args), verb);
    if (info.Kind == Option::SeparateClass && StringRef(arg->getValue()).empty())
      return fail(Usage, "`" + arg->getSpelling() + "` needs a value");
  }
  return Ok;
}

} // namespace

CommandLine parseCommandLine(ArrayRef<const char *> arguments) {
  CommandLine line;
  if (arguments.empty()) {
    line.exitCode = fail(Usage, "say what to do: `attn VERB ...`", "`attn --help` lists the verbs");
    return line;
  }
  StringRef first = arguments.front();
  if (first == "--version") {
    outs() << "attn " << compilerVersion() << '\n';
    line.exitCode = Ok;
    return line;
  }
  if (first == "--manual") {
    printManual();
    line.exitCode = Ok;
    return line;
  }
  if (first == "--complete") {
    printCandidates(arguments.drop_front());
    line.exitCode = Ok;
    return line;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    printVerbs();
    line.exitCode = Ok;
    return line;
  }
  const OptTable::SubCommand *verb = findVerb(first);
  if (!verb) {
    line.exitCode = unknownVerb(first);
    return line;
  }
  line.verb = verb->Name;
  int code = parseOptions(line.verb, arguments.drop_front(), line.args);
  if (line.args.hasArg(OPT_help, OPT_help_all)) {
    printOptions(*verb, line.args.hasArg(OPT_help_all));
    line.exitCode = Ok;
  } else if (code) {
    line.exitCode = code;
  }
  return line;
}

int parseOptions(StringRef name, ArrayRef<const char *> arguments, InputArgList &args) {
  const OptTable::SubCommand &verb = *findVerb(name);
  unsigned missingIndex, missingCount;
  static const Options options;
  args = options.ParseArgs(arguments, missingIndex, missingCount);
  if (args.getLastArgValue(OPT_diagnostics) == "json" && !listener())
    useJsonDiagnostics();
  if (args.hasArg(OPT_help, OPT_help_all))
    return Ok;
  if (int code = checkArguments(args, verb))
    return code;
  if (missingCount)
    return fail(Usage, "`" + Twine(args.getArgString(missingIndex)) + "` needs a value");
  StringRef form = args.getLastArgValue(OPT_diagnostics, "text");
  if (form != "text" && form != "json")
    return fail(Usage, "`--diagnostics " + form + "`: expected text or json");
  return Ok;
}

std::vector<std::string> valuesOf(OptionId option) { return valuesOf(infoTable[option - 1]); }

std::vector<std::string> allFiles(const InputArgList &args) {
  std::vector<std::string> files = args.getAllArgValues(OPT_INPUT);
  for (const std::string &file : args.getAllArgValues(OPT_rest))
    files.push_back(file);
  return files;
}

StringRef onlyFile(const InputArgList &args, StringRef what) {
  std::vector<std::string> files = allFiles(args);
  if (files.size() == 1 && !files.front().empty())
    return args.hasArg(OPT_INPUT) ? args.getLastArgValue(OPT_INPUT)
                                  : args.getLastArgValue(OPT_rest);
  if (files.size() > 1)
    fail(Usage, "expected one " + what + ", but got " + Twine(files.size()));
  else
    fail(Usage, "expected a " + what);
  return "";
}

std::optional<int64_t> parseNumber(StringRef value, int64_t least, int64_t most) {
  int64_t number;
  if (value.getAsInteger(10, number) || number < least || number > most)
    return std::nullopt;
  return number;
}

} // namespace attn::tool
