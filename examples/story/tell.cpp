// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes on with a text in the manner of the King James Bible: text to tokens, the compiled loop over
// tokens, and each token's text on the terminal as soon as it is chosen. story.h and libstory.a
// come from `attn compile story.attn --emit=static`.
#include "story.h"
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

enum ExitCode { Ok = 0, BadInput = 1, Usage = 2, Environment = 4 };

const char *const usage = "usage: tell [options] TEXT\n"
                          "  --weights FILE     the checkpoint (story.safetensors)\n"
                          "  --vocabulary FILE  the pairs that tokens are made of (story.pairs)\n"
                          "  --tokens N         how many, 1 to 256 (120)\n"
                          "  --temperature X    0: the likeliest token each time (0.7)\n"
                          "  --seed N           of what is drawn (1)\n"
                          "  --threads N        0: as many as the machine has (0)\n";

struct Options {
  std::string weights = "story.safetensors", vocabulary = "story.pairs", text;
  double tokens = 120, temperature = -1, seed = -1, threads = 0;
};

[[noreturn]] void fail(ExitCode code, const std::string &message) {
  std::fprintf(stderr, "tell: error: %s\n", message.c_str());
  std::exit(code);
}

void check(attn_status status, char *const *message) {
  if (status != ATTN_OK)
    fail(status == ATTN_BAD_WEIGHTS || status == ATTN_BAD_INPUT ? BadInput : Environment,
         *message ? *message : attn_status_name(status));
}

struct NumberOption {
  double *value;
  double least, most;
  bool isWhole;
};

double parseNumber(const std::string &name, const char *text, const NumberOption &option) {
  char *end = nullptr;
  const double number = std::strtod(text, &end);
  if (!*text || *end || !(number >= option.least && number <= option.most) ||
      (option.isWhole && number != double(int64_t(number))))
    fail(Usage, name + " takes a " + (option.isWhole ? "whole " : "") + "number from " +
                    std::to_string(int64_t(option.least)) + " to " +
                    std::to_string(int64_t(option.most)) + ", not `" + text + "`");
  return number;
}

Options parseOptions(int argc, char **argv) {
  Options options;
  const std::map<std::string, std::string *> texts{{"--weights", &options.weights},
                                                   {"--vocabulary", &options.vocabulary}};
  const std::map<std::string, NumberOption> numbers{
      {"--tokens", {&options.tokens, 1, 256, true}},
      {"--temperature", {&options.temperature, 0, 100, false}},
      {"--seed", {&options.seed, 0, 1 << 30, true}},
      {"--threads", {&options.threads, 0, 1024, true}}};
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") {
      std::fputs(usage, stdout);
      std::exit(Ok);
    }
    if (name.rfind("--", 0) != 0) {
      options.text += (options.text.empty() ? "" : " ") + name;
      continue;
    }
    const auto text = texts.find(name);
    const auto number = numbers.find(name);
    if (text == texts.end() && number == numbers.end())
      fail(Usage, "unknown option `" + name + "`\n" + usage);
    if (++i == argc)
      fail(Usage, name + " needs a value");
    if (text != texts.end())
      *text->second = argv[i];
    else
      *number->second.value = parseNumber(name, argv[i], number->second);
  }
  if (options.text.empty())
    fail(Usage, std::string("say how the text begins\n") + usage);
  return options;
}

/// Byte pairs: tokens 0 to 255 are bytes, token 256 + n is the n-th pair of earlier tokens.
class Vocabulary {
public:
  explicit Vocabulary(const std::string &path) {
    for (int byte = 0; byte < 256; ++byte)
      texts.push_back(std::string(1, char(byte)));
    std::ifstream file(path);
    if (!file)
      fail(Environment, "cannot read " + path);
    for (size_t first, second; file >> first >> second;) {
      if (first >= texts.size() || second >= texts.size())
        fail(BadInput, path + ": a pair of a token that is not there yet");
      joined[{int32_t(first), int32_t(second)}] = int32_t(texts.size());
      texts.push_back(texts[first] + texts[second]);
    }
    if (!file.eof())
      fail(BadInput, path + ": expected two numbers in each line");
  }

  const std::string &text(int32_t token) const { return texts.at(size_t(token)); }

  std::vector<int32_t> tokens(const std::string &text) const {
    std::vector<int32_t> all;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = endOfWord(text, begin);
      const std::vector<int32_t> word = joinPairs(text.substr(begin, end - begin));
      all.insert(all.end(), word.begin(), word.end());
      begin = end;
    }
    return all;
  }

private:
  enum class Kind { Letter, Space, Mark };
  static Kind kindOf(char c) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      return Kind::Letter;
    return std::isspace(static_cast<unsigned char>(c)) ? Kind::Space : Kind::Mark;
  }

  /// A word is letters, or marks, with the space in front of them; any other space is one by
  /// itself.
  static size_t endOfWord(const std::string &text, size_t begin) {
    size_t at = begin;
    if (text[at] == ' ' && at + 1 < text.size() && kindOf(text[at + 1]) != Kind::Space)
      ++at;
    const Kind kind = kindOf(text[at++]);
    while (kind != Kind::Space && at < text.size() && kindOf(text[at]) == kind)
      ++at;
    return at;
  }

  /// Joins the pair that was learnt first, again and again.
  std::vector<int32_t> joinPairs(const std::string &word) const {
    std::vector<int32_t> tokens;
    for (char c : word)
      tokens.push_back(static_cast<unsigned char>(c));
    while (true) {
      auto best = joined.end();
      for (size_t n = 0; n + 1 < tokens.size(); ++n)
        if (auto found = joined.find({tokens[n], tokens[n + 1]});
            found != joined.end() && (best == joined.end() || found->second < best->second))
          best = found;
      if (best == joined.end())
        return tokens;
      std::vector<int32_t> shorter;
      for (size_t n = 0; n < tokens.size(); ++n)
        if (n + 1 < tokens.size() && best->first == std::pair(tokens[n], tokens[n + 1])) {
          shorter.push_back(best->second);
          ++n;
        } else {
          shorter.push_back(tokens[n]);
        }
      tokens = std::move(shorter);
    }
  }

  std::vector<std::string> texts;
  std::map<std::pair<int32_t, int32_t>, int32_t> joined;
};

/// Prints a token as soon as it is there.
int32_t print(void *vocabulary, const int32_t *tokens, int64_t) {
  if (*tokens >= 0)
    std::fputs(static_cast<const Vocabulary *>(vocabulary)->text(*tokens).c_str(), stdout);
  std::fflush(stdout);
  return 1;
}

void tell(const Options &options, Vocabulary &vocabulary) {
  attn_model *model = nullptr;
  attn_context *context = nullptr;
  char *message = nullptr;
  check(attn_model_create(story_model(), nullptr, &model, &message), &message);
  check(attn_model_bind_file(model, options.weights.c_str(), &message), &message);
  check(attn_context_create(model, int32_t(options.threads), &context, &message), &message);
  const int32_t entry = attn_model_find_entry(model, "tell");
  attn_generation generation;
  check(attn_generation_default(model, entry, &generation, &message), &message);
  const int64_t limit = generation.limit;
  generation.limit = int64_t(options.tokens);
  if (options.temperature >= 0)
    generation.sampling.temperature = float(options.temperature);
  if (options.seed >= 0)
    generation.sampling.seed = uint64_t(options.seed);
  generation.onTokens = print;
  generation.user = &vocabulary;

  std::vector<int32_t> prompt = vocabulary.tokens(options.text), tokens(static_cast<size_t>(limit));
  int32_t count = 0;
  const attn_tensor input{prompt.data(), ATTN_I32,        2, {1, int64_t(prompt.size())},
                          nullptr,       ATTN_DEVICE_CPU, 0};
  const attn_tensor outputs[] = {
      {tokens.data(), ATTN_I32, 2, {1, limit}, nullptr, ATTN_DEVICE_CPU, 0},
      {&count, ATTN_I32, 1, {1}, nullptr, ATTN_DEVICE_CPU, 0}};
  std::printf("%s", options.text.c_str());
  check(attn_generate(context, entry, &generation, &input, outputs, &message), &message);
  std::printf("\n");
  attn_context_destroy(context);
  attn_model_destroy(model);
}

} // namespace

int main(int argc, char **argv) {
  const Options options = parseOptions(argc, argv);
  Vocabulary vocabulary(options.vocabulary);
  tell(options, vocabulary);
  return Ok;
}
