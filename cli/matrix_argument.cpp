#include "matrix_argument.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/read.hpp>

#include "failures.hpp"
#include "progress.hpp"

namespace nz::cli {
namespace {

/// One that cannot be looked at counts: reading it says why.
bool is_file(const std::string& name) {
  std::error_code reason;
  return std::filesystem::exists(input_path(name), reason) || reason;
}

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

void require_known(const std::string& name) {
  if (!is_file(name) && !generate::is_spec(name))
    throw parse_error(
        fmt::format("{}: there is no such file, and no generator of that name (see nz list)", name));
}

template <class V> loaded_matrix<V> load(const std::string& name) {
  require_known(name);
  if (is_file(name)) return load_file<V>(input_path(name));
  try {
    return {generate::from_spec<V>(name), std::nullopt, 0};
  } catch (const error& e) {
    throw usage_error(e.what());
  }
}

void require_stdin_once(const char* command, const std::vector<std::string>& matrices,
                        const std::string& precision) {
  const auto times = std::count(matrices.begin(), matrices.end(), "-");
  if (times > 1 || (times == 1 && precision == "both"))
    throw usage_error(fmt::format("{}: standard input can be read only once", command));
}

std::string input_path(const std::string& name) { return name == "-" ? "/dev/stdin" : name; }
std::string output_path(const std::string& name) { return name == "-" ? "/dev/stdout" : name; }

template loaded_matrix<float> load(const std::string&);
template loaded_matrix<double> load(const std::string&);

}  // namespace nz::cli
