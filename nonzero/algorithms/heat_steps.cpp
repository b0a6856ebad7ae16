#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <nonzero/algorithms/fastest_peer_internal.hpp>
#include <nonzero/algorithms/heat_steps_internal.hpp>
#include <nonzero/algorithms/steps_until_internal.hpp>
#include <nonzero/plan/grid_steps.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/plan.hpp>
#include <nonzero/plan/vector_kernels.hpp>

namespace nz {
namespace {

template <class T> T read(const vector<T>& from, std::size_t at) {
  T out{};
  from.where()->copy(&out, from.data() + at, sizeof(T), {});
  from.where()->synchronize({});
  return out;
}

/// Three vectors that steps take turns in: the one that is remembered is not written.
template <class V> class turning_states {
 public:
  turning_states(const std::shared_ptr<device>& on, std::span<const V> initial)
      : states_{vector<V>(on, initial), vector<V>(on, initial.size()), vector<V>(on, initial.size())} {}
  const vector<V>& now() const { return states_[now_]; }
  vector<V>& next() { return states_[next_place()]; }
  void turn() { now_ = next_place(); }
  void remember() { kept_ = now_; }
  void go_back() { now_ = kept_; }

 private:
  int next_place() const { return now_ == kept_ ? (now_ + 1) % 3 : 3 - now_ - kept_; }
  vector<V> states_[3];
  int now_ = 0, kept_ = 0;
};

/// Without a matrix, several steps in a pass.
template <class V> class stencil_steps final : public heat_steps<V> {
 public:
  stencil_steps(const cell_grid& grid, std::span<const V> initial, double factor, int most_in_pass,
                const std::shared_ptr<device>& on)
      : steps_(make_grid_steps<V>(grid, static_cast<V>(factor), on)), states_(on, initial), norm_(on, 1) {
    this->kernel = "stencil";
    this->steps_per_pass =
        steps_->steps_in_pass(most_in_pass > 0 ? most_in_pass : std::numeric_limits<int>::max());
    constexpr int passes = 8;
    this->block = std::int64_t{passes} * this->steps_per_pass;
  }
  void advance(std::int64_t steps) override {
    while (steps > 0) {
      const int now = steps_->steps_in_pass(std::min<std::int64_t>(steps, this->steps_per_pass));
      steps -= now;
      steps_->run(now, states_.now(), states_.next(), steps == 0 ? &norm_ : nullptr);
      states_.turn();
    }
  }
  double norm() override { return std::sqrt(read(norm_, 0)); }
  void remember() override { states_.remember(); }
  void go_back() override { states_.go_back(); }
  const vector<V>& q() const override { return states_.now(); }

 private:
  std::unique_ptr<grid_steps<V>> steps_;
  turning_states<V> states_;
  vector<double> norm_;
};

/// By a kernel of the table: q' = q + factor A q and the norm in the pass that finds A q.
template <class V> class fused_kernel_steps final : public heat_steps<V> {
 public:
  fused_kernel_steps(const cell_grid& grid, std::span<const V> initial, double factor,
                     const std::string& name, const std::shared_ptr<device>& on)
      : plan_(make_plan(heat_matrix<V>(grid), {.on = on, .kernel = name})),
        factor_(static_cast<V>(factor)),
        states_(on, initial),
        sums_(on, 1) {
    this->kernel = name;
    this->block = steps_per_block(*on);
  }
  void advance(std::int64_t steps) override {
    for (; steps > 0; --steps) {
      fused_step<V> step{.alpha = factor_, .b = states_.now().data()};
      if (steps == 1) step.measure[0] = {measured::squared_distance, states_.now().data()};
      plan_.apply(states_.now(), step, states_.next(), sums_);
      states_.turn();
    }
  }
  /// What was added up is the change of q, factor A q.
  double norm() override { return std::sqrt(read(sums_, 0)) / static_cast<double>(factor_); }
  void remember() override { states_.remember(); }
  void go_back() override { states_.go_back(); }
  const vector<V>& q() const override { return states_.now(); }

 private:
  plan<V> plan_;
  V factor_;
  turning_states<V> states_;
  vector<double> sums_;
};

/// As the lecture has it: y = A q, ||y||, q += factor y, each by a call of its own.
template <class V> class blas_steps final : public heat_steps<V> {
 public:
  blas_steps(named_product<V> a, std::span<const V> initial, double factor, const std::shared_ptr<device>& on)
      : a_(std::move(a)),
        blas_(make_blas<V>(on, initial.size())),
        factor_(static_cast<V>(factor)),
        q_(on, initial),
        kept_(on, initial.size()),
        y_(on, initial.size()),
        norm_(on, 1) {
    this->kernel = a_.kernel;
    this->block = steps_per_block(*on);
  }
  void advance(std::int64_t steps) override {
    for (; steps > 0; --steps) {
      a_.prepared->multiply(V{1}, q_, V{0}, y_);
      blas_->norm2(y_, norm_, 0);
      blas_->axpy(factor_, y_, q_);
    }
  }
  double norm() override { return static_cast<double>(read(norm_, 0)); }
  void remember() override {
    if (this->block > 1) q_.where()->copy(kept_.data(), q_.data(), q_.bytes(), {});
  }
  void go_back() override { q_.where()->copy(q_.data(), kept_.data(), q_.bytes(), {}); }
  const vector<V>& q() const override { return q_; }

 private:
  named_product<V> a_;
  std::unique_ptr<vector_kernels<V>> blas_;
  V factor_;
  vector<V> q_, kept_, y_, norm_;
};

template <class V> named_product<V> in_ell(const cell_grid& grid, const std::shared_ptr<device>& on) {
  const char* const name = on->kind() == device_kind::cpu ? "ell_blocks" : "ell";
  const padding_budget any{std::numeric_limits<double>::infinity()};
  return {name, find_kernel(name, on->kind()).prepare(heat_matrix<V>(grid), {.budget = any, .on = on})};
}

}  // namespace

template <class V>
std::unique_ptr<heat_steps<V>> make_heat_steps(const cell_grid& grid, std::span<const V> initial,
                                               double factor, const heat_options& options,
                                               const std::shared_ptr<device>& on) {
  if (options.method == heat_method::ell_blas)
    return std::make_unique<blas_steps<V>>(in_ell<V>(grid, on), initial, factor, on);
  if (options.method == heat_method::cusparse)
    return std::make_unique<blas_steps<V>>(prepare_fastest_peer<V>(heat_matrix<V>(grid), on, options.kernel),
                                           initial, factor, on);
  if (!options.kernel.empty())
    return std::make_unique<fused_kernel_steps<V>>(grid, initial, factor, options.kernel, on);
  return std::make_unique<stencil_steps<V>>(grid, initial, factor, options.steps_per_pass, on);
}

template std::unique_ptr<heat_steps<float>> make_heat_steps(const cell_grid&, std::span<const float>, double,
                                                            const heat_options&,
                                                            const std::shared_ptr<device>&);
template std::unique_ptr<heat_steps<double>> make_heat_steps(const cell_grid&, std::span<const double>,
                                                             double, const heat_options&,
                                                             const std::shared_ptr<device>&);

}  // namespace nz
