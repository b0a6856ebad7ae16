#include "matrix_argument.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/io/read.hpp>

#include "failures.hpp"
#include "progress.hpp"

namespace nz::cli {
namespace {

/// An .npz is a zip file. Only a regular file can be looked into without taking something from it.
bool is_zip(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  char magic[2] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return magic[0] == 'P' && magic[1] == 'K';
}

template <class V> loaded_matrix<V> load_file(const std::string& path) {
  progress_bar bar("reading " + path);
  const read_options options{.threads = 0, .progress = [&bar](double part) { bar.show(part); }};
  if (is_zip(path)) return {read<V>(path, options), std::nullopt};
  matrix_market_info info;
  csr<V> a = read_matrix_market<V>(path, options, &info);
  return {std::move(a), info};
}

}  // namespace

void add_precision_option(CLI::App& command, std::string& precision) {
  command.add_option("--precision", precision, "float or double")
      ->check(CLI::IsMember({"float", "double"}))
      ->type_name("TYPE")
      ->capture_default_str();
}

void matrix_argument::add_to(CLI::App& command) {
  command.add_option("matrix", name, "A file, - for standard input, or a generator such as poisson2d:300")
      ->required()
      ->type_name("");
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
