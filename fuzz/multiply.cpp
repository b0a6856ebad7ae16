// Any bytes make a matrix: every kernel of the CPU gives its product within the error bound, the same for one
// thread and for three, and the formats that compress give it back.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include <fuzz/checks.hpp>
#include <tests/battery/may_refuse.hpp>

#include <nonzero/core/threads.hpp>
#include <nonzero/cpu/kernels.hpp>
#include <nonzero/cpu/targets.hpp>
#include <nonzero/formats/binned.hpp>
#include <nonzero/formats/hubs.hpp>
#include <nonzero/formats/packed.hpp>
#include <nonzero/formats/sbsr.hpp>
#include <nonzero/formats/warp_packed.hpp>
#include <nonzero/reference/exact.hpp>

namespace fuzz {
namespace {

/// A width, then instructions that add rows, until there are no more bytes or enough rows.
class recipe {
 public:
  recipe(const std::uint8_t* bytes, std::size_t size) : bytes_(bytes), end_(bytes + size) {}

  csr<double> follow() {
    const unsigned wide = byte();
    a_.cols = static_cast<index>(1 + number() % 2000 + (wide % 16 == 15 ? 65536 * (wide / 16 % 3) : 0));
    while (bytes_ != end_ && a_.rows < 1500 && a_.nnz() < most_entries) add_rows();
    return a_;
  }
  unsigned byte() { return bytes_ == end_ ? 0 : *bytes_++; }

 private:
  static constexpr offset most_entries = 10000;

  unsigned number() { return byte() | byte() << 8; }

  double value(unsigned which) {
    constexpr double inf = std::numeric_limits<double>::infinity(),
                     nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double odd[] = {inf, -inf, nan, -0.0, 0.0, 0.1, 1e300, 5e-324};
    return which % 32 < std::size(odd) && which >= 128 ? odd[which % 32]
                                                       : (static_cast<int>(which) - 64) / 4.0;
  }

  void put(unsigned col, double val) {
    a_.col.push_back(static_cast<index>(col % static_cast<unsigned>(a_.cols)));
    a_.val.push_back(val);
  }
  void end_row() {
    ++a_.rows;
    a_.row_begin.push_back(static_cast<offset>(a_.col.size()));
  }

  /// The last row again, a column further, as often as it fits.
  void repeat(unsigned times, bool with_new_values) {
    if (a_.rows == 0) return;
    for (; times > 0 && a_.nnz() < most_entries; --times) {
      const offset begin = a_.row_begin[a_.rows - 1], end = a_.row_begin[a_.rows];
      for (offset k = begin; k < end; ++k)
        if (a_.col[k] + 1 == a_.cols) return;
      for (offset k = begin; k < end; ++k)
        put(static_cast<unsigned>(a_.col[k]) + 1, with_new_values ? value(times * 7 + 3) : a_.val[k]);
      end_row();
    }
  }

  void add_rows() {
    switch (byte() % 6) {
      case 0:  // columns anywhere, in any order
        for (unsigned left = byte() % 12; left > 0; --left) {
          const unsigned col = number() * 5;
          put(col, value(byte()));
        }
        return end_row();
      case 1:  // columns in steps
        for (unsigned col = byte(), step = byte() % 16, left = byte() % 24; left > 0; --left)
          put(col += step, value(left));
        return end_row();
      case 2:
        return repeat(byte(), false);
      case 3:
        return repeat(byte(), true);
      case 4:
        for (unsigned left = byte() % 40; left > 0; --left) end_row();
        return;
      default:  // a long row
        for (unsigned col = byte(), step = byte(), left = number() % 9000; left > 0; --left, col += step)
          put(col, value(left % 100));
        return end_row();
    }
  }

  const std::uint8_t *bytes_, *end_;
  csr<double> a_;
};

/// A symmetric matrix with full blocks where `a` has entries, folded into a few block rows, and on the
/// diagonal.
csr<double> symmetric_blocks(const csr<double>& a, index size) {
  const index block_rows = std::min<index>(a.rows + 1, 200);
  std::map<std::pair<index, index>, double> blocks;
  for (index i = 0; i < block_rows; ++i) blocks[{i, i}] = i;
  for (index i = 0; i < a.rows; ++i)
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
      const index row = i % block_rows, col = a.col[k] % block_rows;
      blocks[{row, col}] = blocks[{col, row}] = a.val[k];
    }
  csr<double> out;
  out.rows = out.cols = block_rows * size;
  for (index row = 0; row < out.rows; ++row) {
    for (auto at = blocks.lower_bound({row / size, 0}); at != blocks.end() && at->first.first == row / size;
         ++at)
      for (index c = 0; c < size; ++c) {
        const index col = at->first.second * size + c;
        out.col.push_back(col);
        out.val.push_back(at->second + (row % size) * c + std::max(row, col));
      }
    out.row_begin.push_back(static_cast<offset>(out.col.size()));
  }
  return out;
}

/// Rows in the order of their blocks of columns: all that `binned` keeps of it, and `hubs` for blocks of one.
csr<double> by_blocks(const csr<double>& a, index block_cols) {
  csr<double> out = a;
  std::vector<offset> order(a.col.size());
  std::iota(order.begin(), order.end(), 0);
  for (index i = 0; i < a.rows; ++i)
    std::stable_sort(order.begin() + a.row_begin[i], order.begin() + a.row_begin[i + 1],
                     [&](offset k, offset l) { return a.col[k] / block_cols < a.col[l] / block_cols; });
  for (std::size_t k = 0; k < order.size(); ++k) {
    out.col[k] = a.col[order[k]];
    out.val[k] = a.val[order[k]];
  }
  return out;
}

template <class Format>
void require_back(const Format& there, nz::footprint predicted, const csr<double>& a) {
  validate(there);
  require(footprint_of(there) == predicted);
  const csr<double> back = to_csr(there);
  require(back.rows == a.rows && back.cols == a.cols && back.row_begin == a.row_begin && back.col == a.col);
  require(have_same_bits(back.val, a.val));
}

void require_product(const nz::kernel_row& kernel, const csr<double>& a, std::string_view simd,
                     const std::vector<double>& x, const std::vector<double>& y0,
                     const nz::reference::exact_product& exact) {
  std::unique_ptr<nz::prepared_matrix<double>> ready;
  try {
    ready = kernel.prepare(a, {.simd = simd});
  } catch (const nz::unsupported&) {
    // Too much padding, too few blocks, or not symmetric. sell_slices cuts slices of its own: their padding
    // is not that of the format's default.
    require(kernel.format == "sell" || may_refuse(kernel.format, a, {0}));
    return;
  }
  std::vector<double> alone = y0, together = y0;
  nz::set_threads(1);
  ready->multiply(-2.5, x, 0.75, alone);
  require(nz::reference::largest_error<double>(exact, alone) <= 1);
  nz::set_threads(3);
  ready->multiply(-2.5, x, 0.75, together);
  require(have_same_bits(alone, together));
}

/// Every kernel, by one instruction set.
void require_products(const csr<double>& a, unsigned choice) {
  std::vector<double> x(static_cast<std::size_t>(a.cols)), y(static_cast<std::size_t>(a.rows));
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<double>(j * 2654435761U % 1000) / 500 - 1;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i % 10);
  if (choice % 2 != 0) x[choice * 7 % x.size()] = std::numeric_limits<double>::infinity();
  const auto exact = nz::reference::multiply_exactly<double>(-2.5, a, x, 0.75, y);
  const auto targets = nz::simd_targets();
  for (const nz::kernel_row& kernel : nz::cpu_kernels())
    require_product(kernel, a, targets[choice / 2 % targets.size()], x, y, exact);
}

index block_size_for(unsigned choice) {
  return nz::symmetric_block_sizes[choice / 8 % std::size(nz::symmetric_block_sizes)];
}

/// One triangle gives a symmetric matrix back, and every kernel its product.
void require_triangle(const csr<double>& a, unsigned choice) {
  const index block_size = block_size_for(choice),
              group_cols = static_cast<index>(choice / 32) % block_size + 1;
  const auto triangle = to_sbsr(a, {.block_size = block_size, .group_cols = group_cols});
  require_back(triangle, footprint_of(triangle), a);
  require_products(a, choice);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  recipe from(bytes, size);
  const unsigned choice = from.byte();
  const csr<double> a = from.follow();
  validate(a);
  require_back(to_packed(a), packed_footprint(a), a);
  require_back(to_warp_packed(a, {std::numeric_limits<double>::infinity()}), warp_packed_footprint(a), a);
  require_back(to_binned(a), binned_footprint(a), by_blocks(a, nz::binned<double>::most_block_cols));
  const csr<double> sorted = by_blocks(a, 1);
  require_back(to_hubs(sorted, {}, {std::numeric_limits<double>::infinity()}), hubs_footprint(sorted),
               sorted);
  require_products(a, choice);
  require_triangle(symmetric_blocks(a, block_size_for(choice)), choice);
  return 0;
}

}  // namespace fuzz
