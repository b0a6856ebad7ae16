#pragma once

#include <algorithm>
#include <array>
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"

// Multiplies and fused steps of one prepared matrix by several threads at once, each with an x of its own.
namespace many_threads {

constexpr int threads = 8;

/// Rows of 6, and one that every kernel that splits rows splits; for csr_merge it lies in two tiles of five,
/// so that the last block finishes it. With small blocks, and entries in none of them, for formats of blocks.
inline nz::csr<double> matrix_for(const nz::kernel_row& kernel) {
  if (kernel.format != "bsr") {
    std::vector<nz::index> lengths(700, 6);
    lengths[170] = 1000;
    return nz::generate::row_lengths<double>(1100, lengths, 5);
  }
  const auto blocks = nz::generate::fem_blocks<double>(6, 5, 4);
  nz::csr<double> out{blocks.rows, blocks.cols, {0}, {}, {}};
  for (nz::index i = 0; i < blocks.rows; ++i) {
    for (nz::offset k = blocks.row_begin[i]; k < blocks.row_begin[i + 1]; ++k) {
      out.col.push_back(blocks.col[k]);
      out.val.push_back(blocks.val[k]);
    }
    if (i % 7 == 0 && out.col.back() < blocks.cols - 4) {
      out.col.push_back(blocks.cols - 1);
      out.val.push_back(0.5 * i);
    }
    out.row_begin.push_back(static_cast<nz::offset>(out.col.size()));
  }
  return out;
}

/// What one thread multiplies, several times.
struct work {
  std::vector<double> host_x;
  nz::vector<double> x, sums;
  std::vector<nz::vector<double>> y;

  work(const nz::prepared_matrix<double>& a, unsigned salt, int times)
      : host_x(battery::numbers<double>(static_cast<std::size_t>(a.cols()), salt)),
        x(a.where(), host_x),
        sums(a.where(), std::vector<double>(2 * static_cast<std::size_t>(times), -1.0)) {
    for (int i = 0; i < times; ++i) y.emplace_back(a.where(), static_cast<std::size_t>(a.rows()));
  }
  void run(const nz::prepared_matrix<double>& a, int time, bool is_step, nz::stream in) {
    nz::vector<double>& to = y[static_cast<std::size_t>(time)];
    if (!is_step) return a.multiply(1.5, x, 0.0, to, in);
    const nz::fused_step<double> step{.alpha = 1.5,
                                      .measure = {{nz::measured::product}, {nz::measured::squared_distance}}};
    a.apply(x, step, to, sums, in, 2 * static_cast<std::size_t>(time));
  }
};

inline bool same_bits(const std::vector<double>& one, const std::vector<double>& other) {
  return one.size() == other.size() &&
         std::memcmp(one.data(), other.data(), one.size() * sizeof(double)) == 0;
}

/// Thread t works in streams[t % their number].
inline void check(const nz::kernel_row& kernel, const std::shared_ptr<nz::device>& on,
                  const std::vector<nz::stream>& streams, int times) {
  const nz::csr<double> a = matrix_for(kernel);
  const auto ready = kernel.prepare(a, {.budget = {1e9}, .on = on});
  for (const bool is_step : {false, true}) {
    SCOPED_TRACE(is_step ? "fused step" : "multiply");
    std::vector<work> alone, together;
    for (unsigned t = 0; t < threads; ++t) {
      alone.emplace_back(*ready, 70 + t, 1).run(*ready, 0, is_step, {});
      together.emplace_back(*ready, 70 + t, times);
    }
    on->synchronize({});
    std::array<std::string, threads> failure;
    std::barrier begin(threads);
    std::vector<std::thread> team;
    for (std::size_t t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        const nz::stream in = streams[t % streams.size()];
        begin.arrive_and_wait();
        try {
          for (int i = 0; i < times; ++i) together[t].run(*ready, i, is_step, in);
          on->synchronize(in);
        } catch (const std::exception& e) {
          failure[t] = e.what();
        }
      });
    for (std::thread& each : team) each.join();
    for (std::size_t t = 0; t < threads; ++t) {
      ASSERT_EQ(failure[t], "") << "thread " << t;
      const std::vector<double> y0 = alone[t].y[0].to_host(), sums0 = alone[t].sums.to_host(),
                                sums = together[t].sums.to_host();
      for (int i = 0; i < times; ++i) {
        const std::vector<double> y = together[t].y[static_cast<std::size_t>(i)].to_host();
        if (kernel.is_repeatable) {
          ASSERT_TRUE(same_bits(y, y0)) << "thread " << t << ", time " << i;
          ASSERT_TRUE(same_bits({sums.begin() + 2 * i, sums.begin() + 2 * i + 2}, sums0))
              << "thread " << t << ", time " << i;
        } else {
          const std::vector<double> unread(y.size());
          const auto exact = nz::reference::multiply_exactly<double>(1.5, a, together[t].host_x, 0.0, unread);
          ASSERT_LE(nz::reference::largest_error<double>(exact, y), 1.0L) << "thread " << t << ", time " << i;
        }
      }
    }
  }
}

}  // namespace many_threads
