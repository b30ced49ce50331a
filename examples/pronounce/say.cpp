// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Says how English words are pronounced, with a compiled model of this folder: letters to phonemes,
// and which letters each phoneme was read from. Compiled once for each model, whose header is
// included by `-include pronounce_lstm.h` and whose tables are `-DMODEL=pronounce_lstm_model`.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Phonemes = std::vector<std::string>;

enum ExitCode { Ok = 0, BadInput = 1, Usage = 2, Environment = 4 };

const char *const usage =
    "usage: say [options] WORD...\n"
    "  --weights FILE   the checkpoint\n"
    "  --phonemes FILE  the names of the tokens (examples/pronounce/phonemes.txt)\n"
    "  --check FILE     say the words of a file of pronunciations, and how many are wrong\n"
    "  --inputs DIR     write the tensors of the first word and the labels of its alignment there\n"
    "  --threads N      0: as many as the machine has (0)\n"
    "Without words, they are read from standard input.\n";

struct Options {
  std::string weights, phonemes = "examples/pronounce/phonemes.txt", check, inputs;
  int threads = 0;
  std::vector<std::string> words;
};

[[noreturn]] void fail(ExitCode code, const std::string &message) {
  std::fprintf(stderr, "say: error: %s\n", message.c_str());
  std::exit(code);
}

void check(attn_status status, char *const *message) {
  if (status != ATTN_OK)
    fail(status == ATTN_BAD_WEIGHTS || status == ATTN_BAD_INPUT ? BadInput : Environment,
         *message ? *message : attn_status_name(status));
}

Options parseOptions(int argc, char **argv) {
  Options options;
  std::map<std::string, std::string *> texts{{"--weights", &options.weights},
                                             {"--phonemes", &options.phonemes},
                                             {"--check", &options.check},
                                             {"--inputs", &options.inputs}};
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") {
      std::fputs(usage, stdout);
      std::exit(Ok);
    }
    if (name.rfind("--", 0) != 0) {
      options.words.push_back(name);
      continue;
    }
    auto text = texts.find(name);
    if (text == texts.end() && name != "--threads")
      fail(Usage, "unknown option `" + name + "`\n" + usage);
    if (i + 1 == argc)
      fail(Usage, name + " needs a value");
    if (text != texts.end()) {
      *text->second = argv[++i];
      continue;
    }
    char *end = nullptr;
    long number = std::strtol(argv[++i], &end, 10);
    if (!*argv[i] || *end || number < 0 || number > 1024)
      fail(Usage, std::string("--threads takes a number from 0 to 1024, not `") + argv[i] + "`");
    options.threads = int(number);
  }
  if (options.weights.empty())
    fail(Usage, std::string("say which checkpoint by --weights\n") + usage);
  return options;
}

std::ifstream open(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    fail(Environment, "cannot read " + path);
  return file;
}

/// What the model says to a word: phonemes, and for each the weights of the letters.
struct Said {
  Phonemes phonemes;
  std::vector<std::vector<float>> alignment;
};

/// The model, ready to run.
class Speaker {
public:
  explicit Speaker(const Options &options) {
    char *message = nullptr;
    check(attn_model_create(MODEL(), nullptr, &model, &message), &message);
    check(attn_model_bind_file(model, options.weights.c_str(), &message), &message);
    check(attn_context_create(model, options.threads, &context, &message), &message);
    entry = attn_model_find_entry(model, "pronounce");
    check(attn_generation_default(model, entry, &generation, &message), &message);
    std::ifstream file = open(options.phonemes);
    for (std::string name; file >> name;)
      names.push_back(name);
  }
  ~Speaker() {
    attn_context_destroy(context);
    attn_model_destroy(model);
  }

  /// Several words at once, of 1 to 32 letters each.
  std::vector<Said> say(const std::vector<std::string> &words) {
    const int64_t count = int64_t(words.size()), limit = generation.limit;
    std::vector<int32_t> lengths, tokens(size_t(count * limit)), counts(words.size());
    for (const std::string &word : words)
      lengths.push_back(int32_t(word.size()));
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    std::vector<int32_t> letters(size_t(count * longest)); // 0 behind the end of a word
    for (size_t n = 0; n < words.size(); ++n)
      for (size_t k = 0; k < words[n].size(); ++k)
        letters[n * size_t(longest) + k] = words[n][k] - 'a' + 1;
    std::vector<float> weights(size_t(limit * count * longest));
    const attn_tensor inputs[] = {
        {letters.data(), ATTN_I32, 2, {count, longest}, nullptr, ATTN_DEVICE_CPU, 0},
        {lengths.data(), ATTN_I32, 1, {count}, nullptr, ATTN_DEVICE_CPU, 0}};
    const attn_tensor outputs[] = {
        {tokens.data(), ATTN_I32, 2, {count, limit}, nullptr, ATTN_DEVICE_CPU, 0},
        {counts.data(), ATTN_I32, 1, {count}, nullptr, ATTN_DEVICE_CPU, 0},
        {weights.data(), ATTN_F32, 3, {limit, count, longest}, nullptr, ATTN_DEVICE_CPU, 0}};
    char *message = nullptr;
    check(attn_generate(context, entry, &generation, inputs, outputs, &message), &message);

    std::vector<Said> said(words.size());
    for (size_t n = 0; n < words.size(); ++n)
      for (int64_t step = 0; step < counts[n]; ++step) {
        said[n].phonemes.push_back(names.at(size_t(tokens[n * size_t(limit) + size_t(step)])));
        const float *row = &weights[(size_t(step) * words.size() + n) * size_t(longest)];
        said[n].alignment.emplace_back(row, row + words[n].size());
      }
    return said;
  }

private:
  attn_model *model = nullptr;
  attn_context *context = nullptr;
  int32_t entry = 0;
  attn_generation generation{};
  std::vector<std::string> names;
};

void checkWord(const std::string &word) {
  auto isLetter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (word.empty() || word.size() > 32 || !std::all_of(word.begin(), word.end(), isLetter))
    fail(BadInput, "`" + word + "`: expected 1 to 32 of the letters a to z");
}

/// A row for each phoneme, a column for each letter, the darker the more it was looked at.
void print(const std::string &word, const Said &said) {
  static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
  std::printf("%s:", word.c_str());
  for (const std::string &phoneme : said.phonemes)
    std::printf(" %s", phoneme.c_str());
  std::printf("\n      ");
  for (char letter : word)
    std::printf(" %c", letter);
  std::printf("\n");
  for (size_t n = 0; n < said.phonemes.size(); ++n) {
    std::printf("  %-4s", said.phonemes[n].c_str());
    for (float weight : said.alignment[n]) {
      const char *shade = shades[std::clamp(int(weight * 5), 0, 4)];
      std::printf("%s%s", shade, shade);
    }
    std::printf("\n");
  }
}

/// The fewest insertions, deletions and changes that make `b` of `a`.
size_t distance(const Phonemes &a, const Phonemes &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t before = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j)
      before = std::exchange(
          row[j], std::min({row[j] + 1, row[j - 1] + 1, before + (a[i - 1] != b[j - 1])}));
  }
  return row.back();
}

/// Says the words of lines "word phoneme phoneme ...", and which share is wrong.
void checkFile(Speaker &speaker, const std::string &path) {
  std::map<std::string, std::vector<Phonemes>> wanted;
  std::ifstream file = open(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::string word;
    Phonemes phonemes;
    if (line[0] == '#' || !(text >> word))
      continue;
    checkWord(word);
    for (std::string phoneme; text >> phoneme;)
      phonemes.push_back(phoneme);
    wanted[word].push_back(phonemes);
  }
  if (wanted.empty())
    fail(BadInput, path + " holds no words");
  size_t edits = 0, length = 0, wrong = 0;
  std::vector<std::string> batch;
  for (auto at = wanted.begin(); at != wanted.end();) {
    batch.push_back(at->first);
    if (++at != wanted.end() && batch.size() < 64)
      continue;
    const std::vector<Said> said = speaker.say(batch);
    for (size_t n = 0; n < batch.size(); ++n) {
      std::pair<size_t, size_t> best{SIZE_MAX, 0};
      for (const Phonemes &phonemes : wanted[batch[n]])
        best = std::min(best, {distance(said[n].phonemes, phonemes), phonemes.size()});
      edits += best.first;
      length += best.second;
      wrong += best.first > 0;
    }
    batch.clear();
  }
  std::printf("%zu words that were held out: %.2f%% of phonemes and %.2f%% of words wrong\n",
              wanted.size(), 100 * double(edits) / double(length),
              100 * double(wrong) / double(wanted.size()));
}

/// Integers as .npy: magic, version, header padded to a multiple of 64, data.
void writeNpy(const std::string &path, const std::string &shape,
              const std::vector<int32_t> &values) {
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\1\0", 8) << char(header.size()) << char(header.size() >> 8)
       << header;
  file.write(reinterpret_cast<const char *>(values.data()), std::streamsize(4 * values.size()));
  if (!file.flush())
    fail(Environment, "cannot write " + path);
}

/// What `attn run --map alignment=FILE.png` needs to draw the alignment of a word.
void writeInputs(const std::string &folder, const std::string &word, const Said &said) {
  std::vector<int32_t> letters;
  std::ofstream columns(folder + "/letters"), rows(folder + "/phonemes");
  for (char letter : word) {
    letters.push_back(letter - 'a' + 1);
    columns << letter << '\n';
  }
  for (const std::string &phoneme : said.phonemes)
    rows << phoneme << '\n';
  if (!columns.flush() || !rows.flush())
    fail(Environment, "cannot write into " + folder);
  writeNpy(folder + "/word.npy", "1, " + std::to_string(word.size()), letters);
  writeNpy(folder + "/n.npy", "1,", {int32_t(word.size())});
}

} // namespace

int main(int argc, char **argv) {
  Options options = parseOptions(argc, argv);
  if (options.words.empty() && options.check.empty())
    for (std::string word; std::cin >> word;)
      options.words.push_back(word);
  for (const std::string &word : options.words)
    checkWord(word);
  Speaker speaker(options);
  for (const std::string &word : options.words) {
    const Said said = speaker.say({word}).front();
    print(word, said);
    if (!options.inputs.empty() && &word == &options.words.front())
      writeInputs(options.inputs, word, said);
  }
  if (!options.check.empty())
    checkFile(speaker, options.check);
  return Ok;
}
