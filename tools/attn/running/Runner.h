// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code with weights, run entry by entry for comparisons, on the runtime's own reading of
// inputs. Apart from MLIR's headers: plain C++ on both sides.
#pragma once

#include "attn/abi.h"
#include "attn/attn.h"
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attn::tool {

/// A dense tensor of numbers.
struct Numbers {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<double> values;
  double rounding = 0; ///< the largest relative error that its dtype, narrower than f32, explains
};

class Emulator;

/// A loaded model with its weights and a context. Used by one thread.
class Runner {
public:
  explicit Runner(const attn_abi_model *tables);
  ~Runner();

  /// Binds a checkpoint, or random weights where `path` is empty. 0, or an exit code after an
  /// error.
  int bind(const std::string &path, uint64_t seed, int32_t threads);

  /// Sizes that are known only when running, by the names of their dims.
  using Sizes = std::vector<std::pair<std::string, int64_t>>;

  /// Reads `--set-size DIM=N`. 0, or an exit code after an error.
  int readSizes(const std::vector<std::string> &settings, Sizes &sizes) const;

  /// What the inputs of an entry are to be.
  struct Request {
    int32_t entry = 0;
    std::vector<std::pair<std::string, std::string>> inputs; ///< NAME=FILE
    Sizes sizes;                                             ///< of random inputs
    uint64_t seed = 0;
    int64_t cached = 0; ///< positions in the caches that the entry adds to
  };
  /// Reads or draws the inputs of an entry. 0, or an exit code after an error.
  int read(const Request &request, std::vector<Numbers> &inputs);
  /// From here on, outputs are those of a program that an emulator runs; it must outlive the
  /// runner.
  void emulate(Emulator &emulator);
  /// Runs an entry. 0, or an exit code after an error.
  int run(int32_t entry, const std::vector<Numbers> &inputs, std::vector<Numbers> &outputs);

  /// Operations of a run with these sizes, of an entry that has run; `cached` positions before.
  double operations(int32_t entry, const Sizes &sizes, int64_t cached) const;

  /// Empties all caches.
  void emptyCaches();

  /// A tensor of the weights that are bound, by its name and shape. False where there is none, or
  /// where its file can no longer be read, which `problem` then says.
  bool readWeights(const std::string &name, const std::vector<int64_t> &shape,
                   std::vector<double> &values, std::string &problem) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// The elements of a tensor of any dtype.
Numbers toNumbers(const char *name, const attn_tensor &tensor);

/// Reads a .npy file. 0, or an exit code after an error.
int readNumbers(const std::string &path, Numbers &numbers);

} // namespace attn::tool
