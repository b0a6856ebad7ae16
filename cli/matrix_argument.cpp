#include "matrix_argument.hpp"

#include <filesystem>

#include <fmt/format.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/read.hpp>

#include "failures.hpp"
#include "progress.hpp"

namespace nz::cli {
namespace {

template <class V> loaded_matrix<V> load_file(const std::string& path) {
  progress_bar bar("reading " + path);
  const read_options options{.threads = 0, .progress = [&bar](double part) { bar.show(part); }};
  if (is_npz(path)) return {read_npz<V>(path, options), std::nullopt};
  matrix_market_info info;
  csr<V> a = read_matrix_market<V>(path, options, &info);
  return {std::move(a), info};
}

}  // namespace

void add_precision_option(CLI::App& command, std::string& precision) {
  command.add_option("--precision", precision, "What the values are held in (double)")
      ->check(CLI::IsMember({"float", "double"}))
      ->option_text("float|double");
}

void matrix_argument::add_to(CLI::App& command) {
  command.add_option("MATRIX", name, "A file, - for standard input, or a generator such as poisson2d:300")
      ->required()
      ->option_text(" ");
  add_precision_option(command, precision);
}

template <class V> loaded_matrix<V> load(const std::string& name) {
  const std::string path = input_path(name);
  std::error_code reason;
  if (std::filesystem::exists(path, reason) || reason) return load_file<V>(path);
  if (!generate::is_spec(name))
    throw parse_error(
        fmt::format("{}: there is no such file, and no generator of that name (see nz list)", name));
  try {
    return {generate::from_spec<V>(name), std::nullopt};
  } catch (const error& e) {
    throw usage_error(e.what());
  }
}

std::string input_path(const std::string& name) { return name == "-" ? "/dev/stdin" : name; }
std::string output_path(const std::string& name) { return name == "-" ? "/dev/stdout" : name; }

template loaded_matrix<float> load(const std::string&);
template loaded_matrix<double> load(const std::string&);

}  // namespace nz::cli
