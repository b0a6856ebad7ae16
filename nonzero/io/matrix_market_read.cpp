#include <algorithm>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/mapped_file.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/matrix_market_body_internal.hpp>

namespace nz {
namespace matrix_market {

void throw_at(std::string_view name, offset line, std::string_view reason) {
  throw parse_error(fmt::format("{}:{}: {}", name, line, reason));
}

header take_header(std::string_view& text, std::string_view name, offset& lines) {
  cursor c{text.data(), text.data() + text.size()};
  try {
    const header h = parse_header(c, lines);
    text.remove_prefix(static_cast<std::size_t>(c.at - text.data()));
    return h;
  } catch (const bad_line& bad) {
    throw_at(name, lines, bad.reason);
  } catch (const unsupported& no) {
    throw unsupported(fmt::format("{}:{}: {}", name, lines, no.what()));
  }
}

void require_possible(const header& h, std::size_t bytes, std::string_view name, offset line) {
  const std::size_t least = h.info.layout == matrix_market_info::layouts::array   ? 2
                            : h.info.field == matrix_market_info::fields::pattern ? 4
                                                                                  : 6;
  const auto most = static_cast<offset>(bytes / least + 1);
  if (h.entries > most)
    throw_at(name, line,
             fmt::format("{} entries are declared, but the {} bytes that follow hold at most {}", h.entries,
                         bytes, most));
}

}  // namespace matrix_market

template <class V>
csr<V> parse_matrix_market(std::string_view text, std::string_view name, const read_options& options,
                           matrix_market_info* info) {
  offset lines = 0;
  const matrix_market::header h = matrix_market::take_header(text, name, lines);
  matrix_market::require_possible(h, text.size(), name, lines);
  // The second way starts over where the first gives up: what is reported must not fall back.
  read_options rising = options;
  double highest = 0;
  if (options.progress)
    rising.progress = [&](double part) { options.progress(highest = std::max(highest, part)); };
  if (h.info.layout == matrix_market_info::layouts::coordinate) {
    require_reasonable_shape(h.rows, h.cols, h.entries, fmt::format("{}:{}", name, lines));
    if (auto a = matrix_market::parse_in_order<V>(text, h, rising)) {
      if (info) *info = h.info;
      return std::move(*a);
    }
  }
  matrix_market::body<V> entries(h, name, lines, rising);
  entries.take(text, [](double part) { return part; });
  return entries.finish(info);
}

template <class V>
csr<V> read_matrix_market(const std::filesystem::path& path, const read_options& options,
                          matrix_market_info* info) {
  const mapped_file file(path);
  const bool is_plain = file.is_mapped() && (file.text().empty() || file.text().starts_with('%'));
  if (!is_plain) return matrix_market::read_archive<V>(path, options, info);
  return parse_matrix_market<V>(file.text(), path.string(), options, info);
}

template <class V> std::vector<V> read_vector(const std::filesystem::path& path) {
  const csr<V> a = read_matrix_market<V>(path);
  if (a.rows != 1 && a.cols != 1)
    throw shape_error(fmt::format("{}: {} x {} is no vector: one row or one column is needed", path.string(),
                                  a.rows, a.cols));
  std::vector<V> x(static_cast<std::size_t>(a.cols == 1 ? a.rows : a.cols), V{0});
  for (index i = 0; i < a.rows; ++i)
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) x[a.cols == 1 ? i : a.col[k]] = a.val[k];
  return x;
}

std::string_view to_string(matrix_market_info::layouts layout) {
  return layout == matrix_market_info::layouts::array ? "array" : "coordinate";
}

std::string_view to_string(matrix_market_info::fields field) {
  constexpr std::string_view names[] = {"real", "integer", "pattern"};
  return names[static_cast<int>(field)];
}

std::string_view to_string(matrix_market_info::symmetries symmetry) {
  constexpr std::string_view names[] = {"general", "symmetric", "skew-symmetric"};
  return names[static_cast<int>(symmetry)];
}

#define NONZERO_INSTANTIATE(V)                                                                 \
  template csr<V> parse_matrix_market(std::string_view, std::string_view, const read_options&, \
                                      matrix_market_info*);                                    \
  template csr<V> read_matrix_market(const std::filesystem::path&, const read_options&,        \
                                     matrix_market_info*);                                     \
  template std::vector<V> read_vector(const std::filesystem::path&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
