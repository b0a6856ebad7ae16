#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench_report.hpp"

// Ours against the peers, over one matrix and over all of them.
namespace nz::cli {

/// How many times as fast as the fastest peer ours are on one matrix.
struct duel {
  std::string matrix, precision, ours, peer;
  double ratio = 0;
};

/// The fastest of ours against the fastest peer, or `only` that one of ours; none where one of them is
/// missing.
std::optional<duel> find_duel(const bench_matrix& matrix, std::string_view only = {});

/// "csr_serial is 1.23 × as fast as the fastest peer, eigen", and the plan too where it takes part; a line.
/// Empty where there are no peers.
std::string duel_text(const bench_matrix& matrix);
nlohmann::ordered_json duel_json(const bench_matrix& matrix);

/// All duels of a run.
class bench_summary {
 public:
  void add(const bench_matrix& matrix, const bench_setting& setting);
  /// For each precision a line: the geometric mean and the worst; likewise for the plan, with a line of what
  /// it takes. Empty for less than two matrices, or without peers.
  std::string text() const;
  nlohmann::ordered_json as_json() const;

 private:
  /// What a plan reached and took.
  struct plan_figures {
    std::string precision;
    double part_of_ceiling = 0;
    double times_csr = 0;  // its bytes against CSR's
    std::optional<double> pays_after;
  };
  std::string figures_line(std::string_view precision) const;
  nlohmann::ordered_json figures_json(std::string_view precision) const;
  std::vector<plan_figures> figures_of(std::string_view precision) const;

  std::vector<duel> best_, plan_;
  std::vector<plan_figures> figures_;
};

}  // namespace nz::cli
