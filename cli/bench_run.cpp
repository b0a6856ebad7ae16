#include "bench_run.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <new>

#include "bench_summary.hpp"
#include "pinning.hpp"

namespace nz::cli {
namespace {

/// Threads that have nothing to do spin for less than this and then sleep, so that none of them takes time
/// from whoever is next.
constexpr double rest_seconds = 2e-3;

/// Prepares a few times, and takes the shortest: what else the machine does only ever adds. There is never
/// more than one prepared matrix. A plan may choose otherwise than before, as `choice` then says; only the
/// times of the choice that is kept count. `fewest` is more than one where the first loads code.
template <class V>
ready_matrix<V> make_ready_repeatedly(const std::function<ready_matrix<V>()>& make, const std::string& choice,
                                      int fewest) {
  constexpr double patience = 0.5;  // seconds, for all of them
  ready_matrix<V> ready;
  std::map<std::string, double> shortest;
  double all = 0;
  for (int times = 0; times < fewest || (times < 5 && all < patience); ++times) {
    ready = {};
    ready = make();
    const auto known = shortest.emplace(choice, ready.prepare_seconds).first;
    known->second = std::min(known->second, ready.prepare_seconds);
    all += ready.prepare_seconds;
  }
  ready.prepare_seconds = shortest[choice];
  return ready;
}

/// Times what is right among them, in turns; what fails on the way says so in its result.
template <class V>
void time_in_turns(std::span<const std::unique_ptr<entry<V>>> all, const bench_setting& setting,
                   const std::function<void(double)>& report) {
  std::vector<entry<V>*> right;
  for (const auto& c : all)
    if (c->result.is_right()) right.push_back(c.get());
  const bool is_shared = right.size() > 1;
  std::vector<timed_calls> runs;
  runs.reserve(right.size());
  for (entry<V>* c : right)
    runs.emplace_back([c, is_shared](int calls) {
      try {
        return c->run(calls, is_shared);
      } catch (const error& e) {
        c->result.failure = e.what();
      } catch (const std::bad_alloc&) {
        c->result.failure = "out of memory";
      }
      return std::numeric_limits<double>::infinity();
    });
  const auto times = measure_in_turns(
      setting.on->kind(), runs,
      {.budget_seconds = setting.seconds, .rest_seconds = is_shared ? rest_seconds : 0, .report = report});
  for (std::size_t i = 0; i < right.size(); ++i) right[i]->result.time = times[i];
}

}  // namespace

template <class V>
kernel_entry<V>::kernel_entry(const kernel_row* kernel, const csr<V>& a, const trials_of_matrix<V>& against,
                              const bench_setting& setting)
    : entry<V>({{},
                std::string(kernel ? kernel->name : plan_name),
                std::string(kernel ? kernel->format : ""),
                kernel && kernel->is_peer}),
      kernel_(kernel),
      a_(a),
      against_(against),
      setting_(setting) {}

template <class V> ready_matrix<V> kernel_entry<V>::make_ready_once() {
  if (kernel_ != nullptr)
    return make_ready(*kernel_, a_, against_.x, {.budget = setting_.budget, .on = setting_.on});
  const auto made = std::make_shared<const plan<V>>(make_plan_once());
  ready_matrix<V> out;
  out.prepare_seconds = made->report().seconds;
  this->result.format = (made->report().is_reordered ? "rcm + " : "") + made->kernel();
  out.prepared = std::shared_ptr<const prepared_matrix<V>>(made, &made->prepared());
  out.x = vector<V>(setting_.on, against_.x);
  out.y = vector<V>(setting_.on, static_cast<std::size_t>(a_.rows));
  return out;
}

template <class V> plan<V> kernel_entry<V>::make_plan_once() const {
  return placed_ ? make_plan(placed_) : make_plan(a_);
}

template <class V> void kernel_entry<V>::prepare() {
  const device_kind kind = setting_.on->kind();
  const bool is_on_cpu = kind == device_kind::cpu;
  const kernel_row& row = kernel_ ? *kernel_ : find_kernel(is_on_cpu ? "csr_balanced" : "csr_vector", kind);
  const int fewest = kernel_ || is_on_cpu ? 1 : 2;
  static_cast<outcome&>(this->result) = try_kernel<V>(
      row, a_, against_, setting_.budget,
      [&] {
        if (!kernel_ && !is_on_cpu) placed_ = place_csr(a_, setting_.on);
        return make_ready_repeatedly<V>([&] { return make_ready_once(); }, this->result.format, fewest);
      },
      [&](ready_matrix<V>& ready) { ready_ = std::move(ready); });
  placed_ = nullptr;
}

template <class V> double kernel_entry<V>::run(int calls, bool warm_up) {
  const auto multiply = [&](stream in) { ready_.prepared->multiply(V{1}, ready_.x, V{0}, ready_.y, in); };
  if (!warm_up) return setting_.on->measure(calls, multiply, setting_.is_replayed);
  const pinned_threads pinned;
  setting_.on->measure(1, multiply);
  return setting_.on->measure(calls, multiply, setting_.is_replayed);
}

template <class V>
void prepare_once(const std::vector<const kernel_row*>& kernels, const bench_setting& setting) {
  const csr<V> small{1, 1, {0, 1}, {0}, {1}};
  for (const kernel_row* kernel : kernels) {
    try {
      make_ready(*kernel, small, std::vector<V>(1, 1), {.on = setting.on});
    } catch (const error&) {  // it will say so again where it matters
    }
  }
}

template <class V>
std::vector<bench_result> run_bench(entries<V>& all, const bench_setting& setting,
                                    const std::function<void(double)>& report) {
  const auto count = static_cast<double>(all.size());
  double prepared = 0;
  for (auto& c : all) {
    report((setting.in_turns ? 0.5 : 1) * prepared++ / count);
    c->prepare();
    if (setting.in_turns) continue;
    time_in_turns<V>({&c, 1}, setting, nullptr);
    c->release();
  }
  if (setting.in_turns) time_in_turns<V>(all, setting, [&](double part) { report(0.5 + part / 2); });
  std::vector<bench_result> out;
  for (auto& c : all) out.push_back(std::move(c->result));
  all.clear();
  return out;
}

template class kernel_entry<float>;
template class kernel_entry<double>;
template void prepare_once<float>(const std::vector<const kernel_row*>&, const bench_setting&);
template void prepare_once<double>(const std::vector<const kernel_row*>&, const bench_setting&);
template std::vector<bench_result> run_bench(entries<float>&, const bench_setting&,
                                             const std::function<void(double)>&);
template std::vector<bench_result> run_bench(entries<double>&, const bench_setting&,
                                             const std::function<void(double)>&);

}  // namespace nz::cli
