#include "matrices.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/core/hash.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/read.hpp>

#include "output.hpp"

namespace nz::cli {
namespace {

constexpr const char* matrix_endings[] = {".mtx", ".mtx.gz", ".tar.gz", ".npz"};

/// True also for a file that cannot be inspected: reading it gives the reason.
bool is_file(const std::string& name) {
  std::error_code reason;
  return std::filesystem::exists(input_path(name), reason) || reason;
}

/// "; did you mean 'web.mtx'?" where the folder that a path names has a similar name.
std::string similar_file(const std::string& name) {
  namespace fs = std::filesystem;
  constexpr std::size_t most_names = 10000;
  fs::path path(name);
  if (!path.has_filename()) path = path.parent_path();  // "matrices/"
  std::vector<std::string> names;
  std::error_code reason;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (fs::directory_iterator at(folder, reason), end; !reason && at != end && names.size() < most_names;
       at.increment(reason))
    names.push_back(at->path().filename().string());
  return suggestion(path.filename().string(), names);
}

template <class V> loaded_matrix<V> load_file(const std::string& path) {
  progress_bar bar("reading " + path);
  const read_options options{.threads = 0, .progress = [&bar](double fraction) { bar.show(fraction); }};
  read_info info;
  csr<V> matrix = read<V>(path, options, &info);
  return {std::move(matrix), info.file, info.duplicates_summed};
}

}  // namespace

void matrix_argument::add_to(command& c) {
  c.argument("MATRIX", name, "A file, - for standard input, or a generator such as poisson2d:300");
  c.precision(precision);
  c.threads();
}

std::string similar_generator(const std::string& word) {
  return suggestion(word, names_in(generate::kinds()));
}

void require_known(const std::string& name) {
  if (name.empty()) throw usage_error("the name of the matrix is missing: the value is empty");
  if (is_file(name) || generate::is_spec(name)) return;
  if (name == "-") throw parse_error("-: standard input is closed");
  std::string similar = similar_generator(name.substr(0, name.find(':')));
  if (similar.empty()) similar = similar_file(name);
  throw parse_error(
      fmt::format("{}: there is no such file and no such generator (see nz list){}", name, similar));
}

std::vector<std::string> matrices_in(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  std::error_code reason;
  for (fs::directory_iterator at(folder, reason), end; !reason && at != end; at.increment(reason)) {
    const std::string name = at->path().string();
    const auto has_ending = [&](const char* ending) { return name.ends_with(ending); };
    std::error_code ignored;
    if (std::ranges::any_of(matrix_endings, has_ending) && !fs::is_directory(at->path(), ignored))
      out.push_back(name);
  }
  if (reason) throw parse_error(fmt::format("{}: {}", folder, reason.message()));
  if (out.empty())
    throw parse_error(fmt::format("{}: no file there ends in {}", folder, fmt::join(matrix_endings, ", ")));
  std::ranges::sort(out);
  return out;
}

template <class V> loaded_matrix<V> load(const std::string& name) {
  require_known(name);
  if (is_file(name)) return load_file<V>(input_path(name));
  try {
    return {generate::from_spec<V>(name)};
  } catch (const error& e) {
    throw usage_error(e.what());
  }
}

template <class V> csr<V> load_matrix(const std::string& name, const std::string& values) {
  csr<V> out = load<V>(name).matrix;
  if (values != "random") return out;
  // The value of entry k is a hash of k, uniform in [-1, 1) with a full mantissa (in float, rounded).
  constexpr int digits = 53;
  constexpr std::int64_t grain = 1 << 16;
  parallel_ranges(out.nnz(), grain, 0, [&](std::int64_t begin, std::int64_t end) {
    for (offset k = begin; k < end; ++k) {
      const std::uint64_t bits = hash(static_cast<std::uint64_t>(k), 0) >> (64 - digits);
      out.val[k] = static_cast<V>(std::ldexp(static_cast<double>(bits), 1 - digits) - 1);
    }
  });
  return out;
}

void require_stdin_once(const char* command, const std::vector<std::string>& matrices,
                        const std::string& precision) {
  const auto times = std::count(matrices.begin(), matrices.end(), "-");
  if (times > 1 || (times == 1 && precision == "both"))
    throw usage_error(fmt::format("{}: standard input can be read only once", command));
}

std::string input_path(const std::string& name) { return name == "-" ? "/dev/stdin" : name; }
std::string output_path(const std::string& name) { return name == "-" ? "/dev/stdout" : name; }

void matrix_output::add_to(command& c) {
  c.flag("--compress", compress, "Compress an .npz file: smaller, but many times slower to write");
}

void matrix_output::require_valid() const {
  if (name.empty()) throw usage_error("the file to write has no name");
  require_output(name, "a matrix", {".mtx", ".npz"});
  if (compress && !has_extension(name, ".npz"))
    throw usage_error(fmt::format("{}: --compress is for .npz files", name));
}

template <class V> void matrix_output::write(const csr<V>& a) const {
  if (has_extension(name, ".npz"))
    write_npz(name, trusted(a), {.compress = compress});
  else
    write_matrix_market(output_path(name), trusted(a));
}

template <class V>
std::vector<V> read_vector_or(const std::string& name, const char* role, index length, V otherwise) {
  if (name.empty()) return std::vector<V>(static_cast<std::size_t>(length), otherwise);
  std::vector<V> out = read_vector<V>(input_path(name));
  if (out.size() != static_cast<std::size_t>(length))
    throw shape_error(fmt::format("{}: {} must have {} to fit the matrix, but has {}", name, role,
                                  counted(length, "entry"), out.size()));
  return out;
}

void require_vector_output(const std::string& file) {
  require_output(file, "a vector", {".mtx", ".npy", ".npz", ".txt"});
}

template <class V> void write_vector_file(const std::string& name, std::span<const V> x) {
  nz::write_vector_file<V>(output_path(name), x);
}

#define NZ_INSTANTIATE(V)                                                            \
  template loaded_matrix<V> load(const std::string&);                                \
  template csr<V> load_matrix(const std::string&, const std::string&);               \
  template void matrix_output::write(const csr<V>&) const;                           \
  template std::vector<V> read_vector_or(const std::string&, const char*, index, V); \
  template void write_vector_file(const std::string&, std::span<const V>);
NONZERO_FOR_EACH_VALUE(NZ_INSTANTIATE)

}  // namespace nz::cli
