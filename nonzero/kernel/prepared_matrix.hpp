#pragma once

#include <span>
#include <string>
#include <vector>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/core/types.hpp>
#include <nonzero/core/vector.hpp>
#include <nonzero/formats/footprint.hpp>

namespace nz {

/// A matrix made ready for one kernel: converted to its format, and placed where it runs.
///
/// Thread safety: whatever is const may be called from any number of threads at once, with vectors that no
/// other call writes. Each call in flight has scratch memory of its own: what one call needs is made with the
/// matrix, more when more are in flight at once. So a multiply may throw for want of memory only then; y is
/// as it was. Multiplies in one stream follow each other; those with vectors of the host are in the default
/// stream, which does not wait for a cuda_stream.
template <class V> class prepared_matrix {
 public:
  virtual ~prepared_matrix() = default;
  prepared_matrix(const prepared_matrix&) = delete;
  prepared_matrix& operator=(const prepared_matrix&) = delete;

  /// y = alpha * A x + beta * y. With beta = 0, y is never read. Vectors of the host, which are staged where
  /// the kernel runs elsewhere; y is there when this returns. Throws `shape_error` if x or y does not fit, or
  /// if they overlap.
  void multiply(V alpha, std::span<const V> x, V beta, std::span<V> y) const;

  /// The same with vectors on where(), in a stream. On a GPU it returns before the work is done; it allocates
  /// nothing and waits for nothing, so that it can be captured in a graph. The first multiply loads the
  /// kernel's code: do one before capturing. Matrix, x and y must outlive what is in flight, and the graph.
  void multiply(V alpha, vector_view<const V> x, V beta, vector_view<V> y, stream in = {}) const;

  /// A fused step: y, and what else the step writes, from A x in one pass. The step's sums go to sums[at] and
  /// behind it, so that several steps can use one vector. Vectors on where(), in a stream, as in multiply:
  /// nothing is allocated or waited for, and what the step points to must also outlive what is in flight.
  /// Sums are made in a fixed order, in double: the same bits every time if the kernel is repeatable. Kernels
  /// that have no fused steps (see docs/kernels.md) find all of A x first, and make the step in a second
  /// pass. Throws `shape_error` if a vector does not fit or what is written overlaps what is read.
  void apply(vector_view<const V> x, const fused_step<V>& step, vector_view<V> y, vector_view<double> sums,
             stream in = {}, std::size_t at = 0) const;

  /// The same with vectors of the host, done when this returns. Throws `unsupported` where the matrix is not
  /// in the host's memory.
  void apply(std::span<const V> x, const fused_step<V>& step, std::span<V> y, std::span<double> sums) const;

  /// A fused step with any epilogue, on the CPU: finds A x, calls the epilogue for each chunk of rows, and
  /// returns the sum of what it returns. The CPU's kernels do so while the chunk is in L1; the others find
  /// all of A x first. Throws `shape_error` if x does not fit, `unsupported` where the matrix is not in the
  /// host's memory.
  double apply(std::span<const V> x, const rows_epilogue<V>& epilogue) const;

  /// The memory of the converted matrix.
  virtual footprint storage() const = 0;
  /// The least bytes that a multiply reads and writes: the matrix, x and y once, and more if the kernel needs
  /// more.
  virtual std::uint64_t traffic() const;
  /// How it is stored, as text: "blocks of 3 x 3"; empty where the format says it all.
  virtual std::string encodings() const { return {}; }
  const std::shared_ptr<device>& where() const { return on_; }
  index rows() const { return rows_; }
  index cols() const { return cols_; }
  /// Keeps what the matrix borrows alive as long as it.
  void keep(std::shared_ptr<const void> borrowed) { kept_.push_back(std::move(borrowed)); }

 protected:
  prepared_matrix(index rows, index cols, std::shared_ptr<device> on)
      : rows_(rows), cols_(cols), on_(std::move(on)) {}
  /// A fused step, for vectors that fit, in the device's memory. This one is for the host's.
  virtual void run_step(const V* x, const fused_step<V>& step, V* y, double* sums, stream in) const;

 private:
  /// y = alpha * A x + beta * y, for vectors that fit, in the device's memory.
  virtual void run(V alpha, const V* x, V beta, V* y, stream in) const = 0;
  virtual step_sums run_fused(const V* x, const chunk_epilogue<V>& epilogue) const;

  index rows_, cols_;
  std::shared_ptr<device> on_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace nz
