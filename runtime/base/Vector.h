// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A growing array of plain values on malloc. The runtime uses no libstdc++ symbol, so there is no
// std::vector; running out of memory is a return value, not an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace attn {

/// A new T on malloc, made of `given`; null where memory is lacking.
template <typename T, typename... Given> T *create(Given &...given) {
  static_assert(alignof(T) <= alignof(max_align_t), "malloc aligns no more");
  void *memory = malloc(sizeof(T));
  return memory ? new (memory) T(given...) : nullptr;
}

/// Ends what `create` made; null is allowed.
template <typename T> void dispose(T *object) {
  if (object)
    object->~T();
  free(object);
}

/// Owns `size` values of a trivially copyable type. Moves, but does not copy.
template <typename T> class Vector {
  static_assert(std::is_trivially_copyable<T>::value, "elements are moved by realloc");

public:
  Vector() = default;
  Vector(const Vector &) = delete;
  Vector &operator=(const Vector &) = delete;
  Vector(Vector &&other) noexcept { swap(other); }
  Vector &operator=(Vector &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Vector() { free(items); }

  /// Appends a value; false where memory is lacking.
  bool push(const T &value) {
    T copy = value; // `value` may lie in the array that is about to move
    if (count == capacity && !reserve(capacity ? 2 * capacity : 8))
      return false;
    items[count++] = copy;
    return true;
  }
  /// Appends `added` values that lie elsewhere; false where memory is lacking.
  bool append(const T *values, size_t added) {
    if (added > capacity - count) {
      size_t doubled = 2 * capacity;
      if (added > SIZE_MAX - count || !reserve(count + added > doubled ? count + added : doubled))
        return false;
    }
    if (added)
      memcpy(static_cast<void *>(items + count), values, added * sizeof(T));
    count += added;
    return true;
  }
  /// Room for `wanted` values in all.
  bool reserve(size_t wanted) {
    if (wanted <= capacity)
      return true;
    if (wanted > SIZE_MAX / sizeof(T))
      return false;
    void *grown = realloc(static_cast<void *>(items), wanted * sizeof(T));
    if (!grown)
      return false;
    items = static_cast<T *>(grown);
    capacity = wanted;
    return true;
  }
  /// Sets the size; new values are zero bytes.
  bool resize(size_t wanted) {
    if (!reserve(wanted))
      return false;
    if (wanted > count)
      memset(static_cast<void *>(items + count), 0, (wanted - count) * sizeof(T));
    count = wanted;
    return true;
  }
  void clear() { count = 0; }
  void pop() { --count; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  T *data() { return items; }
  const T *data() const { return items; }
  T &operator[](size_t i) { return items[i]; }
  const T &operator[](size_t i) const { return items[i]; }
  T &back() { return items[count - 1]; }
  T *begin() { return items; }
  T *end() { return items + count; }
  const T *begin() const { return items; }
  const T *end() const { return items + count; }
  void swap(Vector &other) noexcept {
    char bytes[sizeof(Vector)];
    memcpy(bytes, static_cast<void *>(this), sizeof(Vector));
    memcpy(static_cast<void *>(this), static_cast<void *>(&other), sizeof(Vector));
    memcpy(static_cast<void *>(&other), bytes, sizeof(Vector));
  }

private:
  T *items = nullptr;
  size_t count = 0, capacity = 0;
};

} // namespace attn
