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
  loaded_matrix<V> out;
  if (is_npz(path)) {
    out.matrix = read_npz<V>(path, options, &out.duplicates_summed);
  } else {
    out.matrix = read_matrix_market<V>(path, options, &out.file.emplace());
    out.duplicates_summed = out.file->duplicates_summed;
  }
  return out;
}

}  // namespace

void add_precision_option(CLI::App& command, std::string& precision) {
  command.add_option("--precision", precision, "What the values are held in (double)")
      ->check(CLI::IsMember({"float", "double"}))
      ->option_text("float|double");
}

void matrix_argument::add_to(CLI::App& command) {
  command
      .add_option("MATRIX", name,
                  "A file, - for text on standard input, or a generator such as poisson2d:300")
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
    return {generate::from_spec<V>(name), std::nullopt, 0};
  } catch (const error& e) {
    throw usage_error(e.what());
  }
}

std::string input_path(const std::string& name) { return name == "-" ? "/dev/stdin" : name; }
std::string output_path(const std::string& name) { return name == "-" ? "/dev/stdout" : name; }

template loaded_matrix<float> load(const std::string&);
template loaded_matrix<double> load(const std::string&);

}  // namespace nz::cli
