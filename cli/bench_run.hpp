#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <nonzero/plan/plan.hpp>

#include "bench_report.hpp"
#include "checking.hpp"

namespace nz::cli {

/// What takes part in the timing of one matrix: a kernel of ours, or another library's multiply.
template <class V> class entry {
 public:
  explicit entry(bench_result who) : result(std::move(who)) {}
  virtual ~entry() = default;
  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;

  /// Makes the matrix ready and checks what comes out of it; `result` then says all but the time. What fails
  /// is said there too, and not thrown.
  virtual void prepare() = 0;
  /// The seconds that so many multiplies take together, after one to get warm again where others had their
  /// turn since. Throws `nz::error` or std::bad_alloc where it can no more.
  virtual double run(int calls, bool warm_up) = 0;
  /// Gives back what prepare() took.
  virtual void release() = 0;

  bench_result result;
};

template <class V> using entries = std::vector<std::unique_ptr<entry<V>>>;

/// One of our kernels, or what make_plan chooses by itself: then `kernel` is null, the conversion is all of
/// the planning, from a CSR in the device's memory, and the format is named by the kernel that was chosen.
template <class V> class kernel_entry final : public entry<V> {
 public:
  kernel_entry(const kernel_row* kernel, const csr<V>& a, const trials_of_matrix<V>& against,
               const bench_setting& setting);
  void prepare() override;
  double run(int calls, bool warm_up) override;
  void release() override { ready_ = {}; }

 private:
  ready_matrix<V> make_ready_once();
  plan<V> make_plan_once() const;

  const kernel_row* kernel_;
  const csr<V>& a_;
  const trials_of_matrix<V>& against_;
  const bench_setting& setting_;
  std::shared_ptr<const device_csr<V>> placed_;  // what a plan for a GPU is made from, while it is made
  ready_matrix<V> ready_;
};

/// A kernel's first preparation also loads what is loaded once: its code, another library. Not to be counted.
template <class V>
void prepare_once(const std::vector<const kernel_row*>& kernels, const bench_setting& setting);

/// Prepares and times them all: one after the other, with never more than one prepared; or in turns, with all
/// prepared at once. `report` is told from time to time which part is done.
template <class V>
std::vector<bench_result> run_bench(entries<V>& all, const bench_setting& setting,
                                    const std::function<void(double)>& report);

}  // namespace nz::cli
