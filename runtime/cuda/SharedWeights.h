// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's weights in the memory of GPUs: one copy on each, which all contexts there read.
#pragma once

#include "base/Vector.h"
#include "cuda/Driver.h"
#include <pthread.h>

namespace attn {

/// The copy on one GPU.
struct DeviceWeights {
  int32_t device = 0;
  int32_t holders = 0;   ///< Contexts; the last one frees it.
  CuPointer pointer = 0; ///< Null until there is room. Stays while anyone holds it.
  bool isThere = false;
  uint32_t binding = 0; ///< Of the weights that are there.
  DeviceWeights *next = nullptr;
};

/// All copies of a model. Fields of a copy are looked at and changed under the lock, but for
/// `pointer`, which holders may read once weights are there.
class SharedWeights {
public:
  SharedWeights() = default;
  SharedWeights(const SharedWeights &) = delete;
  SharedWeights &operator=(const SharedWeights &) = delete;
  ~SharedWeights() { pthread_mutex_destroy(&mutex); }

  /// Holds the lock as long as it lives.
  class Lock {
  public:
    explicit Lock(SharedWeights &shared) : own(shared) { pthread_mutex_lock(&own.mutex); }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;
    ~Lock() { pthread_mutex_unlock(&own.mutex); }

  private:
    SharedWeights &own;
  };

  /// The copy on a device, held once more; null where memory is lacking. Under the lock.
  DeviceWeights *hold(int32_t device) {
    for (DeviceWeights *copy = first; copy; copy = copy->next)
      if (copy->device == device) {
        ++copy->holders;
        return copy;
      }
    auto *copy = create<DeviceWeights>();
    if (!copy)
      return nullptr;
    copy->device = device, copy->holders = 1, copy->next = first;
    return first = copy;
  }

  /// Gives up a hold. Where it was the last, the copy is gone and the memory it had is returned, to
  /// be freed; else 0. Under the lock.
  CuPointer release(DeviceWeights *copy) {
    if (--copy->holders > 0)
      return 0;
    DeviceWeights **link = &first;
    while (*link != copy)
      link = &(*link)->next;
    *link = copy->next;
    CuPointer memory = copy->pointer;
    dispose(copy);
    return memory;
  }

private:
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  DeviceWeights *first = nullptr;
};

} // namespace attn
