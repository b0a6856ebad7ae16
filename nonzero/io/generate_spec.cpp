#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/core/memory.hpp>
#include <nonzero/io/generate.hpp>

namespace nz::generate {
namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> words;
  for (std::size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + separator.size()))
    words.push_back(text.substr(0, end));
  words.push_back(text);
  return words;
}

// What a kind's `parameters` text says: `NX[:NY=NX[:NZ=1]]` is the grammar as well as the help.
struct parameter {
  std::string_view name;
  std::string_view fallback;  // a number, or the name of an earlier parameter
};

// The parameters of a spec, read as the kind's builder asks for them.
class arguments {
 public:
  arguments(const kind& k, std::string_view spec) : kind_(k), spec_(spec) {
    for (const std::string_view text : split(k.parameters.substr(0, k.parameters.find(']')), "[:")) {
      const std::size_t equals = text.find('=');
      parameters_.push_back({text.substr(0, equals), equals == text.npos ? "" : text.substr(equals + 1)});
    }
    if (spec.size() > k.name.size()) given_ = split(spec.substr(k.name.size() + 1), ":");
    if (given_.empty()) fail(fmt::format("{} is missing", parameters_[0].name));
    if (given_.size() > parameters_.size())
      fail(fmt::format("{} parameters instead of at most {}", given_.size(), parameters_.size()));
  }

  bool has(std::size_t i) const { return i < given_.size(); }

  index number(std::size_t i) const {
    if (has(i)) return parse(given_[i]);
    const std::string_view fallback = parameters_[i].fallback;
    for (std::size_t earlier = 0; earlier < i; ++earlier)
      if (parameters_[earlier].name == fallback) return number(earlier);
    return parse(fallback);
  }

  std::vector<index> list(std::size_t i) const {
    std::vector<index> numbers;
    for (const std::string_view text : split(given_[i], ",")) numbers.push_back(parse(text));
    return numbers;
  }

 private:
  index parse(std::string_view text) const {
    index value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status == std::errc::result_out_of_range) fail(fmt::format("{} is past what an index holds", text));
    if (status != std::errc{} || end != text.data() + text.size())
      fail(fmt::format("'{}' is not a whole number", text));
    return value;
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw parse_error(fmt::format("{}: {}; use {}:{}", spec_, why, kind_.name, kind_.parameters));
  }

  const kind& kind_;
  std::string_view spec_;
  std::vector<parameter> parameters_;
  std::vector<std::string_view> given_;
};

template <class V> struct generator : kind { csr<V> (*build)(const arguments& with, std::uint64_t seed); };

template <class V> csr<V> build_rows(const arguments& with, std::uint64_t seed) {
  const std::vector<index> lengths = with.list(0);
  const index enough =
      std::max(static_cast<index>(lengths.size()), *std::max_element(lengths.begin(), lengths.end()));
  return row_lengths<V>(with.has(1) ? with.number(1) : enough, lengths, seed);
}

// The one table of generators: adding a row makes it known to `nz generate`, its help and every matrix
// argument.
template <class V> const auto& generators() {
  using args = const arguments&;
  using seed_t = std::uint64_t;
  static const auto table = std::to_array<generator<V>>({
      {{"diagonal", "N", "1, 2, 3, … on the diagonal"},
       [](args a, seed_t) { return diagonal<V>(a.number(0)); }},
      {{"tridiagonal", "N", "-1 2 -1 around the diagonal"},
       [](args a, seed_t) { return tridiagonal<V>(a.number(0)); }},
      {{"banded", "N[:REACH=8]", "all entries within REACH of the diagonal, random values"},
       [](args a, seed_t s) { return banded<V>(a.number(0), a.number(1), s); }},
      {{"poisson1d", "N", "the Laplacian of a line of nodes: 3 points, -1 2 -1"},
       [](args a, seed_t) { return poisson_1d<V>(a.number(0)); }},
      {{"poisson2d", "NX[:NY=NX]", "the Laplacian of a grid: 5 points, 4 and -1"},
       [](args a, seed_t) { return poisson_2d<V>(a.number(0), a.number(1)); }},
      {{"poisson3d", "NX[:NY=NX[:NZ=NX]]", "the Laplacian of a 3-D grid: 7 points, 6 and -1"},
       [](args a, seed_t) { return poisson_3d<V>(a.number(0), a.number(1), a.number(2)); }},
      {{"poisson27", "NX[:NY=NX[:NZ=NX]]", "a 3-D grid with diagonals: 27 points, 26 and -1"},
       [](args a, seed_t) { return poisson_27<V>(a.number(0), a.number(1), a.number(2)); }},
      {{"heat", "N", "the heat equation on a rod: 1 -2 1"},
       [](args a, seed_t) { return heat<V>(a.number(0)); }},
      {{"fem", "NX[:NY=NX[:NZ=NX]]",
        "a 3-D grid of 3x3 blocks, like linear elasticity; symmetric, random values"},
       [](args a, seed_t s) { return fem_blocks<V>(a.number(0), a.number(1), a.number(2), s); }},
      {{"uniform", "N[:PER_ROW=16[:COLS=N]]", "PER_ROW random columns in each row"},
       [](args a, seed_t s) { return uniform<V>(a.number(0), a.number(2), a.number(1), s); }},
      {{"rmat", "SCALE[:PER_VERTEX=16]", "a power-law graph of 2^SCALE vertices (R-MAT, as in Graph500)"},
       [](args a, seed_t s) { return rmat<V>(a.number(0), a.number(1), s); }},
      {{"dense_rows", "N[:PER_ROW=4[:DENSE=4]]", "DENSE full rows among rows of PER_ROW random columns"},
       [](args a, seed_t s) { return dense_rows<V>(a.number(0), a.number(1), a.number(2), s); }},
      {{"empty_rows", "N[:PER_ROW=16[:EVERY=10]]",
        "PER_ROW random columns in every EVERY-th row, the others empty"},
       [](args a, seed_t s) { return empty_rows<V>(a.number(0), a.number(1), a.number(2), s); }},
      {{"rows", "L1,L2,...[:COLS]",
        "rows of these lengths, random columns; square, or as wide as the longest row"},
       build_rows<V>},
  });
  return table;
}

std::string_view name_in(std::string_view spec) { return spec.substr(0, spec.find(':')); }

}  // namespace

std::span<const kind> kinds() {
  static const auto all = [] {
    const auto& table = generators<double>();
    return std::vector<kind>(table.begin(), table.end());
  }();
  return all;
}

bool is_spec(std::string_view spec) {
  const auto all = kinds();
  return std::any_of(all.begin(), all.end(), [&](const kind& k) { return k.name == name_in(spec); });
}

template <class V> csr<V> from_spec(std::string_view spec, std::uint64_t seed) {
  std::vector<std::string_view> names;
  for (const generator<V>& g : generators<V>()) {
    names.push_back(g.name);
    if (g.name != name_in(spec)) continue;
    try {
      return g.build(arguments(g, spec), seed);
    } catch (const not_enough_memory& e) {
      throw not_enough_memory(fmt::format("{}: {}", spec, e.what()));
    }
  }
  throw unsupported(fmt::format("'{}' is no kind of matrix to generate; there are {}", name_in(spec),
                                fmt::join(names, ", ")));
}

#define NONZERO_INSTANTIATE(V) template csr<V> from_spec(std::string_view, std::uint64_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::generate
