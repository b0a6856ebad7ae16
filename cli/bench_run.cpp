#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>

#include "bench.hpp"

namespace nz::cli {
namespace {

/// Our idle threads spin for two thirds of this and then sleep, so that they take no time from the next
/// entry.
constexpr double rest_seconds = 3e-3;

/// Others had the caches since: after a single multiply, samples were up to a fifth too long. Peers do the
/// same (bench/peers/protocol.hpp).
constexpr int warm_up_calls(int calls) { return 1 + calls / 2; }

/// Prepares a few times, at least `fewest`, and keeps the shortest time. Only one prepared matrix exists at a
/// time. A plan may choose another kernel each time (`choice`); only the times of the last choice count.
template <class V>
ready_matrix<V> prepare_repeatedly(const std::function<ready_matrix<V>()>& make, const std::string& choice,
                                   int fewest) {
  constexpr double budget = 0.5;  // seconds, for all of them
  ready_matrix<V> ready;
  std::map<std::string, double> shortest;
  double all = 0;
  for (int times = 0; times < fewest || (times < 5 && all < budget); ++times) {
    ready = {};
    ready = make();
    const auto known = shortest.emplace(choice, ready.prepare_seconds).first;
    known->second = std::min(known->second, ready.prepare_seconds);
    all += ready.prepare_seconds;
  }
  ready.prepare_seconds = shortest[choice];
  return ready;
}

/// Times the entries whose products are right, in turns. The result of an entry records its failure.
void time_in_turns(std::span<const std::unique_ptr<entry>> all, const bench_setting& setting,
                   const std::function<void(double)>& report) {
  std::vector<entry*> right;
  for (const auto& c : all)
    if (c->result.is_right()) right.push_back(c.get());
  const bool is_shared = right.size() > 1;
  std::vector<timed_calls> runs;
  runs.reserve(right.size());
  for (entry* c : right)
    runs.emplace_back([c, is_shared](int calls) {
      double seconds = std::numeric_limits<double>::infinity();
      record_failure(c->result, [&] { seconds = c->run(calls, is_shared); });
      return seconds;
    });
  const auto times = measure_in_turns(
      setting.on->kind(), runs,
      {.budget_seconds = setting.seconds, .rest_seconds = is_shared ? rest_seconds : 0, .report = report});
  for (std::size_t i = 0; i < right.size(); ++i) right[i]->result.time = times[i];
}

template <class V> class kernel_entry final : public entry {
 public:
  kernel_entry(const kernel_row* kernel, const csr<V>& a, const trials_of_matrix<V>& against,
               const bench_setting& setting)
      : entry({{},
               std::string(kernel ? kernel->name : plan_name),
               std::string(kernel ? kernel->format : ""),
               kernel && kernel->is_peer}),
        kernel_(kernel),
        a_(a),
        against_(against),
        setting_(setting) {}

  void prepare() override {
    const device_kind kind = setting_.on->kind();
    const bool is_on_cpu = kind == device_kind::cpu;
    const kernel_row& row = kernel_ ? *kernel_ : find_kernel(is_on_cpu ? "csr_balanced" : "csr_vector", kind);
    const int fewest = kernel_ || is_on_cpu ? 1 : 2;  // the first plan on a GPU loads code
    const auto make = [&] {
      if (!kernel_ && !is_on_cpu) on_device_ = place_csr(trusted(a_), setting_.on);
      return prepare_repeatedly<V>([&] { return prepare_once(); }, result.chosen, fewest);
    };
    static_cast<outcome&>(result) = try_kernel<V>(row, a_, against_, setting_.budget, make, &ready_);
    on_device_ = nullptr;
  }

  double run(int calls, bool warm_up) override {
    const auto multiply = [&](stream in) { ready_.prepared->multiply(V{1}, ready_.x, V{0}, ready_.y, in); };
    if (!warm_up) return setting_.on->measure(calls, multiply, setting_.is_replayed);
    const pinned_threads pinned;
    setting_.on->measure(warm_up_calls(calls), multiply);
    return setting_.on->measure(calls, multiply, setting_.is_replayed);
  }

  void release() override { ready_ = {}; }

 private:
  ready_matrix<V> prepare_once() {
    if (kernel_ != nullptr)
      return make_ready(*kernel_, a_, against_.x,
                        {.budget = setting_.budget, .on = setting_.on, .is_trusted = true});
    const auto made = std::make_shared<const plan<V>>(on_device_ ? make_plan(on_device_)
                                                                 : make_plan(a_, {.is_trusted = true}));
    result.chosen = made->kernel();
    result.format = find_kernel(made->kernel(), setting_.on->kind()).format;
    result.is_reordered = made->report().is_reordered;
    return {std::shared_ptr<const prepared_matrix<V>>(made, &made->prepared()),
            vector<V>(setting_.on, against_.x), vector<V>(setting_.on, static_cast<std::size_t>(a_.rows)),
            made->report().seconds};
  }

  const kernel_row* kernel_;  // null: a plan
  const csr<V>& a_;
  const trials_of_matrix<V>& against_;
  const bench_setting& setting_;
  std::shared_ptr<const device_csr<V>> on_device_;  // what a plan on a GPU is made from
  ready_matrix<V> ready_;
};

/// The size of a large matrix as CSR in double.
double target_bytes(const device& on) {
  constexpr double mebibyte = 1 << 20;
  if (on.kind() == device_kind::emulator) return 2e4 * 12;  // some 20,000 entries
  const double wanted =
      std::clamp(6.0 * static_cast<double>(on.cache_bytes()), 64 * mebibyte, 1024 * mebibyte);
  return std::min(wanted, static_cast<double>(on.memory_bytes()) / 16);
}

/// The size of a grid of `dimensions` that takes `bytes`, rounded to two digits.
int size_for(double bytes, double bytes_per_node, int dimensions) {
  const double size = std::pow(bytes / bytes_per_node, 1.0 / dimensions);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(size)) - 1));
  return static_cast<int>(std::max(1.0, std::round(size / unit)) * unit);
}

/// A row of CSR: 12 bytes per entry and a 4-byte offset.
constexpr double row_bytes(double entries) { return 12 * entries + 4; }

}  // namespace

cpu_set_t own_processors() {
  cpu_set_t out;
  CPU_ZERO(&out);
  sched_getaffinity(0, sizeof out, &out);
  return out;
}

pinned_threads::pinned_threads() {
  const cpu_set_t own = own_processors();
  std::vector<int> processors;
  for (int p = 0; p < CPU_SETSIZE; ++p)
    if (CPU_ISSET(p, &own)) processors.push_back(p);
  const auto threads = static_cast<std::size_t>(thread_count());
  if (threads > processors.size()) return;
  before_.resize(threads);
  in_team(static_cast<int>(threads), [&](const team_thread& me) {
    const auto t = static_cast<std::size_t>(me.number);
    sched_getaffinity(0, sizeof before_[t], &before_[t]);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[t], &one);
    sched_setaffinity(0, sizeof one, &one);
  });
}

pinned_threads::~pinned_threads() {
  if (before_.empty()) return;
  in_team(static_cast<int>(before_.size()), [&](const team_thread& me) {
    const cpu_set_t& own = before_[static_cast<std::size_t>(me.number)];
    if (CPU_COUNT(&own) > 0) sched_setaffinity(0, sizeof own, &own);
  });
}

void load_kernels(const std::vector<const kernel_row*>& kernels, const bench_setting& setting) {
  const auto load = [&](const kernel_row& kernel, auto one) {
    const csr<decltype(one)> small{1, 1, {0, 1}, {0}, {one}};
    try {
      make_ready(kernel, small, std::vector(1, one), {.on = setting.on});
    } catch (const error&) {  // the measurement reports it
    }
  };
  for (const kernel_row* kernel : kernels) load(*kernel, 1.0F), load(*kernel, 1.0);
}

template <class V>
std::vector<bench_result> run_bench(const csr<V>& a, const chosen_rows& rows, const bench_setting& setting,
                                    const std::function<void(double)>& report) {
  const trials_of_matrix<V> against = make_trials(a, 2);
  entries all;
  if (rows.with_plan) all.push_back(std::make_unique<kernel_entry<V>>(nullptr, a, against, setting));
  for (const kernel_row* kernel : rows.kernels)
    all.push_back(std::make_unique<kernel_entry<V>>(kernel, a, against, setting));
  add_peers(all, a, against, rows);
  const auto count = static_cast<double>(all.size());
  double prepared = 0;
  for (auto& c : all) {
    report((setting.with_peers ? 0.5 : 1) * prepared++ / count);
    c->prepare();
    if (setting.with_peers) continue;
    time_in_turns({&c, 1}, setting, nullptr);
    c->release();
  }
  if (setting.with_peers) time_in_turns(all, setting, [&](double done) { report(0.5 + done / 2); });
  std::vector<bench_result> out;
  for (auto& c : all) out.push_back(std::move(c->result));
  return out;
}

std::vector<std::string> suite_for(const device& on) {
  const double bytes = target_bytes(on);
  const bool is_emulated = on.kind() == device_kind::emulator;
  const auto rmat_vertices = static_cast<unsigned>(bytes / row_bytes(16));
  return {
      fmt::format("tridiagonal:{}", size_for(bytes, row_bytes(3), 1)),
      fmt::format("poisson2d:{}", size_for(bytes, row_bytes(5), 2)),
      fmt::format("poisson3d:{}", size_for(bytes, row_bytes(7), 3)),
      fmt::format("poisson27:{}", size_for(bytes, row_bytes(27), 3)),
      fmt::format("fem:{}", size_for(bytes, 3 * row_bytes(81), 3)),
      fmt::format("rmat:{}", std::bit_width(rmat_vertices) - 1),
      fmt::format("uniform:{}", size_for(bytes, row_bytes(16), 1)),
      fmt::format("dense_rows:{}:8:2", size_for(bytes, row_bytes(8 + 2), 1)),
      fmt::format("empty_rows:{}", size_for(bytes, row_bytes(1.6), 1)),
      is_emulated ? "poisson2d:20" : "poisson2d:100",
      is_emulated ? "rmat:6" : "rmat:10",
  };
}

#define NZ_INSTANTIATE(V)                                                                               \
  template std::vector<bench_result> run_bench(const csr<V>&, const chosen_rows&, const bench_setting&, \
                                               const std::function<void(double)>&);
NONZERO_FOR_EACH_VALUE(NZ_INSTANTIATE)

}  // namespace nz::cli
