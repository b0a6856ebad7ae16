#include "matrix_output.hpp"

#include <filesystem>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/npz.hpp>

#include "failures.hpp"
#include "matrix_argument.hpp"

namespace nz::cli {
namespace {

bool ends_in_npz(const std::string& name) { return std::filesystem::path(name).extension() == ".npz"; }

}  // namespace

void matrix_output::add_to(CLI::App& command) {
  command.add_flag("--compress", compress, "Deflate an .npz: smaller, and many times slower to write");
}

void matrix_output::require_known_ending() const {
  const bool is_text = name == "-" || std::filesystem::path(name).extension() == ".mtx";
  if (!is_text && !ends_in_npz(name))
    throw usage_error(fmt::format("{}: can be written as .mtx or .npz; name it so", name));
  // Found out before any work is done; whether the file can be written shows when it is.
  const std::filesystem::path folder = std::filesystem::path(name).parent_path();
  if (std::error_code ignored;
      name != "-" && !folder.empty() && !std::filesystem::is_directory(folder, ignored))
    throw error(fmt::format("{}: there is no folder {}", name, folder.string()));
  if (is_text && compress) throw usage_error(fmt::format("{}: --compress is for .npz files", name));
}

template <class V> void matrix_output::write(const csr<V>& a) const {
  if (ends_in_npz(name))
    write_npz(name, a, {.compress = compress});
  else
    write_matrix_market(output_path(name), a);
}

template void matrix_output::write(const csr<float>&) const;
template void matrix_output::write(const csr<double>&) const;

}  // namespace nz::cli
