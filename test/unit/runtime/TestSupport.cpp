// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestSupport.h"
#include "tiny_model.h"
#include <cstring>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace attn::test;

Tensor attn::test::floatTensor(std::vector<int64_t> shape, const std::vector<float> &values) {
  return {"F32", std::move(shape),
          std::string(reinterpret_cast<const char *>(values.data()), 4 * values.size())};
}

std::vector<float> attn::test::floats(const Tensor &tensor) {
  std::vector<float> values(tensor.bytes.size() / 4);
  memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

static std::string lengthBytes(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes.push_back(char(length >> 8 * i));
  return bytes;
}

std::string attn::test::withHeader(const std::string &header, size_t bodySize) {
  return lengthBytes(header.size()) + header + std::string(bodySize, 0);
}

std::string attn::test::safetensors(const Tensors &tensors) {
  std::ostringstream header;
  std::string body;
  header << "{\"__metadata__\":{\"format\":\"pt\"}";
  for (const auto &[name, tensor] : tensors) {
    header << ",\"" << name << "\":{\"dtype\":\"" << tensor.dtype << "\",\"shape\":[";
    for (size_t a = 0; a < tensor.shape.size(); ++a)
      header << (a ? "," : "") << tensor.shape[a];
    header << "],\"data_offsets\":[" << body.size() << "," << body.size() + tensor.bytes.size()
           << "]}";
    body += tensor.bytes;
  }
  header << "}";
  return withHeader(header.str(), 0) + body;
}

Tensors attn::test::tinyWeights(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.5f);
  auto draw = [&](std::vector<int64_t> shape) {
    size_t count = 1;
    for (int64_t size : shape)
      count *= size_t(size);
    std::vector<float> values(count);
    for (float &value : values)
      value = normal(random);
    return floatTensor(shape, values);
  };
  Tensors weights;
  for (std::string layer : {"0", "1"}) {
    weights["layers." + layer + ".weight"] = draw({TINY_D, TINY_D});
    weights["layers." + layer + ".bias"] = draw({TINY_D});
  }
  weights["head.weight"] = draw({TINY_K, TINY_D});
  weights["pos"] = draw({1, TINY_D});
  return weights;
}

std::vector<double> attn::test::tinyReference(const Tensors &weights, const std::vector<float> &x) {
  size_t batch = x.size() / TINY_D;
  std::vector<float> pos = floats(weights.at("pos")), head = floats(weights.at("head.weight"));
  std::vector<double> logits;
  for (size_t b = 0; b < batch; ++b) {
    std::vector<double> h(TINY_D);
    for (int n = 0; n < TINY_D; ++n)
      h[n] = double(x[b * TINY_D + n]) + pos[n];
    for (std::string layer : {"0", "1"}) {
      std::vector<float> weight = floats(weights.at("layers." + layer + ".weight"));
      std::vector<float> bias = floats(weights.at("layers." + layer + ".bias"));
      std::vector<double> next = h;
      for (int n = 0; n < TINY_D; ++n) {
        next[n] += bias[n];
        for (int k = 0; k < TINY_D; ++k)
          next[n] += h[k] * weight[n * TINY_D + k];
      }
      h = next;
    }
    for (int n = 0; n < TINY_K; ++n) {
      double sum = 0;
      for (int k = 0; k < TINY_D; ++k)
        sum += h[k] * head[n * TINY_D + k];
      logits.push_back(sum);
    }
  }
  return logits;
}

std::string attn::test::scratchPath(const std::string &name) {
  std::string folder = std::string(ATTN_TEST_SCRATCH) + "/" + std::to_string(getpid());
  mkdir(ATTN_TEST_SCRATCH, 0777);
  mkdir(folder.c_str(), 0777);
  return folder + "/" + name;
}

void attn::test::writeText(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string attn::test::readText(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Finished attn::test::shell(const std::string &command) {
  std::string text;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  char chunk[4096];
  while (size_t got = fread(chunk, 1, sizeof chunk, pipe))
    text.append(chunk, got);
  int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text};
}

Handles::~Handles() {
  attn_context_destroy(context);
  attn_model_destroy(model);
  attn_message_free(message);
}

std::string Handles::text() {
  std::string taken = message ? message : "";
  attn_message_free(message);
  message = nullptr;
  return taken;
}
