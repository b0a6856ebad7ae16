#pragma once

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <nonzero/core/device.hpp>
#include <nonzero/core/errors.hpp>

namespace nz {

template <class T> class vector;

/// Numbers in a device's memory that belong to somebody else: an nz::vector, or an array from cudaMalloc,
/// Thrust, CuPy or PyTorch. `vector_view<const T>` is read only.
///
/// A view borrows. Nothing is copied or freed: the memory and its device must live as long as the view, and
/// as long as any work that was given the view is in flight. See docs/own-arrays.md.
template <class T> class vector_view {
 public:
  vector_view() = default;
  vector_view(const std::shared_ptr<device>& on, T* data, std::size_t size)
      : vector_view(on.get(), data, size) {}
  vector_view(vector<std::remove_const_t<T>>& whole)  // NOLINT: an owner is used where a view is expected
      : vector_view(whole.where(), whole.data(), whole.size()) {}
  vector_view(const vector<std::remove_const_t<T>>& whole)  // NOLINT
      requires std::is_const_v<T> : vector_view(whole.where(), whole.data(), whole.size()) {}
  template <class U>
  requires(std::is_const_v<T>&& std::is_same_v<U, std::remove_const_t<T>>)
      vector_view(const vector_view<U>& other)  // NOLINT
      : vector_view(other.where(), other.data(), other.size()) {}

  /// In the device's memory: the host may dereference it only if the device is_host().
  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  /// Null if the view was not given a device.
  device* where() const { return on_; }

 private:
  template <class U> friend class vector_view;
  vector_view(device* on, T* data, std::size_t size) : on_(on), data_(data), size_(size) {}

  device* on_ = nullptr;  // a shared_ptr's copies would add half to the time of a tiny multiply
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Numbers in a device's memory, owned. Can be moved, not copied.
template <class T> class vector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  vector() = default;
  /// `size` uninitialised numbers.
  vector(std::shared_ptr<device> on, std::size_t size) : on_(std::move(on)), size_(size) {
    if (size > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    if (size > 0 && !on_) throw device_error("a vector that is not empty needs a device");
    if (size > 0) data_ = static_cast<T*>(on_->allocate(bytes()));
  }
  vector(std::shared_ptr<device> on, std::span<const T> values) : vector(std::move(on), values.size()) {
    copy_from(values);
  }
  vector(vector&& other) noexcept { swap(other); }
  vector& operator=(vector&& other) noexcept {
    vector taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~vector() {
    if (data_ != nullptr) on_->release(data_, bytes());
  }

  /// In the device's memory: the host may dereference it only if the device is_host().
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  const std::shared_ptr<device>& where() const { return on_; }

  /// From and to the host, in stream order; done when they return. Throw `shape_error` unless the sizes are
  /// equal.
  void copy_from(std::span<const T> values, stream in = {}) { copy(data_, values.data(), values.size(), in); }
  void copy_to(std::span<T> values, stream in = {}) const { copy(values.data(), data_, values.size(), in); }
  std::vector<T> to_host(stream in = {}) const {
    std::vector<T> out(size_);
    copy_to(out, in);
    return out;
  }

 private:
  void copy(void* to, const void* from, std::size_t size, stream in) const {
    if (size != size_)
      throw shape_error("a vector of " + std::to_string(size_) + " cannot be copied from or to one of " +
                        std::to_string(size));
    if (size == 0) return;
    on_->copy(to, from, bytes(), in);
    on_->synchronize(in);
  }
  void swap(vector& other) noexcept {
    std::swap(on_, other.on_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
  }

  std::shared_ptr<device> on_;
  std::size_t size_ = 0;
  T* data_ = nullptr;
};

}  // namespace nz
