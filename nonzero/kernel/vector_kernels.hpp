#pragma once

#include <string_view>

#include <nonzero/core/vector.hpp>

namespace nz {

/// Operations on vectors between two multiplies, one at a time as in BLAS, for vectors of one size on one
/// device (functions_on in plan/back_ends.hpp finds them). Results stay on the device, where the next call
/// may read them: nothing is allocated or waited for. Sums are made in a fixed order and in double, then
/// rounded to V; those of cuBLAS in its own way. Vectors of another size or device throw `shape_error` or
/// `device_error`.
///
/// Thread safety: any number of threads may call one object at once, in one
/// stream or in several, with results in different places. A captured graph keeps what its calls work in.
template <class V> class vector_kernels {
 public:
  virtual ~vector_kernels() = default;
  vector_kernels(const vector_kernels&) = delete;
  vector_kernels& operator=(const vector_kernels&) = delete;

  /// to[at] = x · y.
  void dot(const vector<V>& x, const vector<V>& y, vector<V>& to, std::size_t at, stream in = {}) const;
  /// to[at] = |x|, the square root of x · x.
  void norm2(const vector<V>& x, vector<V>& to, std::size_t at, stream in = {}) const;
  /// y += alpha x; x and y must be two vectors.
  void axpy(V alpha, const vector<V>& x, vector<V>& y, stream in = {}) const;
  /// y += numbers[at] x, with a factor that lies on the device.
  void axpy(const vector<V>& numbers, std::size_t at, const vector<V>& x, vector<V>& y, stream in = {}) const;
  /// x = alpha x.
  void scale(V alpha, vector<V>& x, stream in = {}) const;
  void scale(const vector<V>& numbers, std::size_t at, vector<V>& x, stream in = {}) const;
  /// numbers[to] = numbers[over] / numbers[under], or 0 where numbers[under] is not above 0: an iteration of
  /// conjugate gradients then changes nothing. numbers[to + 1] = -numbers[to].
  void divide(vector<V>& numbers, std::size_t over, std::size_t under, std::size_t to, stream in = {}) const;
  /// z = x .* y, entry by entry; z may be x or y.
  void multiply(const vector<V>& x, const vector<V>& y, vector<V>& z, stream in = {}) const;

  virtual std::string_view name() const = 0;  // "nonzero", "cuBLAS"
  const std::shared_ptr<device>& where() const { return on_; }
  std::size_t size() const { return size_; }

 protected:
  vector_kernels(std::shared_ptr<device> on, std::size_t size) : on_(std::move(on)), size_(size) {}

 private:
  // The same for vectors that fit. A null `alpha_at` means the factor `alpha`.
  virtual void run_dot(const V* x, const V* y, V* to, stream in) const = 0;
  virtual void run_norm2(const V* x, V* to, stream in) const = 0;
  virtual void run_axpy(V alpha, const V* alpha_at, const V* x, V* y, stream in) const = 0;
  virtual void run_scale(V alpha, const V* alpha_at, V* x, stream in) const = 0;
  virtual void run_divide(const V* over, const V* under, V* to, stream in) const = 0;
  virtual void run_multiply(const V* x, const V* y, V* z, stream in) const = 0;

  template <class... Vectors> void require_fit(const Vectors&... vectors) const;
  void require_number(const vector<V>& numbers, std::size_t at) const;

  std::shared_ptr<device> on_;
  std::size_t size_;
};

}  // namespace nz
