// Reads one Matrix Market file in one way and prints what it took as a line of JSON. One way per process, so
// that the memory of one cannot be mistaken for another's. bench/read.py runs them all and compares.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __has_include(<unsupported/Eigen/SparseExtra>)
#  include <Eigen/SparseCore>
#  include <unsupported/Eigen/SparseExtra>
#  define NONZERO_BENCH_HAS_EIGEN 1
#endif

#include <nonzero/io/matrix_market.hpp>

namespace {

struct settings {
  std::string file;
  int threads = 2;
  int repeats = 1;
  std::string precision = "double";
};

/// What a way of reading found, for checking that all found the same.
struct digest {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::uint64_t index_sum = 0;  // of 3 * row + column, counted from 0: tells a swap of the two
  double sum = 0;               // of the values
  double magnitude = 0;         // of their absolute values

  void add(std::int64_t row, std::int64_t col, double value) {
    index_sum += static_cast<std::uint64_t>(3 * row + col);
    sum += value;
    magnitude += std::abs(value);
  }
};

/// Runs `read` settings.repeats times and prints its times with the digest of what it returned. Neither the
/// digest nor the release of the memory is timed.
template <class Read, class Digest> void measure(const settings& given, Read read, Digest digest_of) {
  std::vector<double> seconds;
  nlohmann::json line;
  for (int i = 0; i < given.repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto result = read();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (i + 1 == given.repeats) line = digest_of(result);
  }
  std::sort(seconds.begin(), seconds.end());
  line["seconds"] = seconds[seconds.size() / 2];
  line["best_seconds"] = seconds.front();
  std::cout << line.dump() << '\n';
}

nlohmann::json as_json(const digest& d) {
  return {{"rows", d.rows},           {"cols", d.cols}, {"nnz", d.nnz},
          {"index_sum", d.index_sum}, {"sum", d.sum},   {"magnitude", d.magnitude}};
}

template <class V> nlohmann::json csr_digest(const nz::csr<V>& a) {
  digest d{a.rows, a.cols, a.nnz()};
  for (nz::index row = 0; row < a.rows; ++row)
    for (nz::offset k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) d.add(row, a.col[k], a.val[k]);
  return as_json(d);
}

template <class V> void run_nonzero(const settings& given) {
  measure(
      given,
      [&] {
        nz::read_options options;
        options.threads = given.threads;
        return nz::read_matrix_market<V>(given.file, options);
      },
      csr_digest<V>);
}

using c_file = std::unique_ptr<std::FILE, decltype([](std::FILE* f) { std::fclose(f); })>;

c_file open_file(const std::string& path) {
  c_file file(std::fopen(path.c_str(), "r"));
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  return file;
}

struct triplets {
  int rows = 0, cols = 0;
  std::vector<int> row, col;
  std::vector<double> val;
};

/// The loop that a C programmer writes first: the example reader of the Matrix Market site.
triplets read_with_fscanf(const std::string& path) {
  const c_file file = open_file(path);
  std::array<char, 4096> line;
  do {
    if (!std::fgets(line.data(), line.size(), file.get())) throw std::runtime_error(path + ": no size line");
  } while (line[0] == '%');
  triplets a;
  std::size_t nnz = 0;
  if (std::sscanf(line.data(), "%d %d %zu", &a.rows, &a.cols, &nnz) != 3)
    throw std::runtime_error(path + ": the size line does not hold three numbers");
  a.row.resize(nnz);
  a.col.resize(nnz);
  a.val.resize(nnz);
  for (std::size_t k = 0; k < nnz; ++k) {
    if (std::fscanf(file.get(), "%d %d %lg", &a.row[k], &a.col[k], &a.val[k]) != 3)
      throw std::runtime_error(path + ": an entry does not hold three numbers");
    --a.row[k];
    --a.col[k];
  }
  return a;
}

void run_fscanf(const settings& given) {
  measure(
      given, [&] { return read_with_fscanf(given.file); },
      [](const triplets& a) {
        digest d{a.rows, a.cols, static_cast<std::int64_t>(a.val.size())};
        for (std::size_t k = 0; k < a.val.size(); ++k) d.add(a.row[k], a.col[k], a.val[k]);
        return as_json(d);
      });
}

#ifdef NONZERO_BENCH_HAS_EIGEN
void run_eigen(const settings& given) {
  using matrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;
  measure(
      given,
      [&] {
        matrix a;
        if (!Eigen::loadMarket(a, given.file)) throw std::runtime_error(given.file + ": cannot be opened");
        return a;
      },
      [](const matrix& a) {
        digest d{a.rows(), a.cols(), a.nonZeros()};
        for (Eigen::Index row = 0; row < a.outerSize(); ++row)
          for (matrix::InnerIterator entry(a, row); entry; ++entry)
            d.add(entry.row(), entry.col(), entry.value());
        return as_json(d);
      });
}
#else
void run_eigen(const settings&) {
  throw std::runtime_error(
      "Eigen was not there when bench_read was built: install libeigen3-dev and build again");
}
#endif

/// A file mapped for reading.
class mapping {
 public:
  explicit mapping(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0 || status.st_size == 0)
      throw std::runtime_error(path + ": cannot be read, or is empty");
    size_ = static_cast<std::size_t>(status.st_size);
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    ::close(descriptor);
    if (data_ == MAP_FAILED) throw std::runtime_error(path + ": cannot be mapped");
  }
  ~mapping() { ::munmap(data_, size_); }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  std::string_view text() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_;
  std::size_t size_;
};

/// Counts in 64 byte-wide lanes, each emptied before it can overflow: a shape that compilers turn into vector
/// instructions, so that memory and not the counting is the limit.
std::int64_t count_newlines(std::string_view text) {
  constexpr std::size_t lanes = 64, most = 255;
  std::int64_t count = 0;
  while (text.size() >= lanes) {
    std::array<std::uint8_t, lanes> found{};
    const std::size_t blocks = std::min(text.size() / lanes, most);
    for (std::size_t block = 0; block < blocks; ++block)
      for (std::size_t lane = 0; lane < lanes; ++lane) found[lane] += text[block * lanes + lane] == '\n';
    for (const std::uint8_t in_lane : found) count += in_lane;
    text.remove_prefix(blocks * lanes);
  }
  return count + std::count(text.begin(), text.end(), '\n');
}

std::int64_t count_newlines_in_file(const std::string& path, int threads) {
  const mapping file(path);
  std::vector<std::int64_t> counts(threads);
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&, t] {
        const std::size_t begin = file.text().size() * t / threads;
        const std::size_t end = file.text().size() * (t + 1) / threads;
        counts[t] = count_newlines(file.text().substr(begin, end - begin));
      });
  }
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) sum += count;
  return sum;
}

void run_newlines(const settings& given) {
  measure(
      given, [&] { return count_newlines_in_file(given.file, given.threads); },
      [](std::int64_t newlines) {
        return nlohmann::json{{"newlines", newlines}};
      });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Reads a Matrix Market file in one way and prints the time as a line of JSON.\n\n"
      "  bench_read nonzero big.mtx --threads 2 --precision float\n"
      "  bench_read newlines big.mtx --repeats 5\n"};
  app.require_subcommand(1);
  settings given;
  const auto add_way = [&](const char* name, const char* summary, std::function<void()> way) {
    CLI::App* sub = app.add_subcommand(name, summary);
    sub->add_option("FILE", given.file, "a Matrix Market file: coordinate real general")->required();
    sub->add_option("--repeats", given.repeats, "how often to read it")->check(CLI::PositiveNumber);
    sub->callback(std::move(way));
    return sub;
  };
  const auto add_threads = [&](CLI::App* sub) {
    sub->add_option("--threads", given.threads, "threads to read with")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
  };
  CLI::App* nonzero = add_way("nonzero", "this library, into CSR", [&] {
    given.precision == "float" ? run_nonzero<float>(given) : run_nonzero<double>(given);
  });
  nonzero->add_option("--precision", given.precision, "float or double")
      ->capture_default_str()
      ->check(CLI::IsMember({"float", "double"}));
  add_threads(nonzero);
  add_way("fscanf", "a C loop over fscanf, into triplets", [&] { run_fscanf(given); });
  add_way("eigen", "Eigen::loadMarket, into a row-major SparseMatrix", [&] { run_eigen(given); });
  add_threads(add_way("newlines", "only counts the lines: the limit", [&] { run_newlines(given); }));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << "bench_read: " << error.what() << '\n';
    return 1;
  }
}
