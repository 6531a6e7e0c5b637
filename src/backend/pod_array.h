#pragma once
// A growing array of plain values on the library's own blocks: huge pages and reuse, for first touch of fresh 4-KB
// pages costs more than a radix pass. Elements are not initialised.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "backend/allocator.h"
#include "backend/steps.h"
#include "base/checked.h"

namespace strata {

template <class T> class PodArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PodArray() = default;
  explicit PodArray(std::size_t n) { resize(n); }
  PodArray(const PodArray&) = delete;
  PodArray& operator=(const PodArray&) = delete;
  PodArray(PodArray&& other) noexcept { swap(other); }
  PodArray& operator=(PodArray&& other) noexcept {
    PodArray(std::move(other)).swap(*this);
    return *this;
  }
  ~PodArray() {
    if (data_) release_block(data_, capacity_ * sizeof(T));
  }
  void swap(PodArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    if (n > static_cast<std::size_t>(INT64_MAX) / sizeof(T)) throw OutOfMemory(-1);
    PodArray fresh;
    fresh.data_ = static_cast<T*>(allocate_block(n * sizeof(T)));
    fresh.capacity_ = n;
    fresh.size_ = size_;
    copy_in_steps(fresh.data_, data_, static_cast<std::int64_t>(size_ * sizeof(T)));
    swap(fresh);
  }
  void resize(std::size_t n) {
    if (n > capacity_) reserve(size_ == 0 ? n : std::max(n, 2 * capacity_));
    size_ = n;
  }
  void append(const T* from, std::size_t n) {
    resize(size_ + n);
    if (n > 0) std::memcpy(data_ + size_ - n, from, n * sizeof(T));
  }

  void push_back(T x) {
    resize(size_ + 1);
    data_[size_ - 1] = x;
  }

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace strata
