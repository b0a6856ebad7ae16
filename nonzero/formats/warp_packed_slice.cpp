#include <algorithm>
#include <bit>
#include <limits>

#include <nonzero/formats/exact_internal.hpp>
#include <nonzero/formats/warp_packed_slice_internal.hpp>

namespace nz {
namespace {

/// Walks a slice by diagonals: each step takes the lowest diagonal among the next entries of all lanes, for
/// all lanes that have it. Calls visit(diagonal, mask, entries), where entries[l] is lane l's, if it has one.
/// Gives up, and says so, after `most` steps.
template <class V, class Visit>
bool walk_diagonals(csr_view<V> a, const warp_packed_rows& rows, offset most, Visit visit) {
  constexpr offset none = std::numeric_limits<offset>::max();
  std::array<offset, 32> next = rows.begin, diagonal;
  const auto look = [&](std::size_t l) {
    diagonal[l] = next[l] < rows.end[l] ? a.col[next[l]] - rows.first_place - static_cast<offset>(l) : none;
  };
  for (std::size_t l = 0; l < 32; ++l) look(l);
  for (offset steps = 0;; ++steps) {
    const offset lowest = *std::min_element(diagonal.begin(), diagonal.end());
    if (lowest == none) return true;
    if (steps == most) return false;
    std::uint32_t mask = 0;
    for (std::size_t l = 0; l < 32; ++l) mask |= std::uint32_t{diagonal[l] == lowest} << l;
    visit(lowest, mask, next);
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const auto l = static_cast<std::size_t>(std::countr_zero(left));
      ++next[l];
      look(l);
    }
  }
}

/// Walks a slice by ranks: step k takes every row's k-th entry. Calls visit(lowest column, mask, entries).
template <class V, class Visit> void walk_ranks(csr_view<V> a, const warp_packed_rows& rows, Visit visit) {
  for (std::array<offset, 32> next = rows.begin;;) {
    std::uint32_t mask = 0;
    offset lowest = std::numeric_limits<offset>::max();
    for (std::size_t l = 0; l < 32; ++l) {
      if (next[l] >= rows.end[l]) continue;
      mask |= std::uint32_t{1} << l;
      lowest = std::min<offset>(lowest, a.col[next[l]]);
    }
    if (mask == 0) return;
    visit(lowest, mask, next);
    for (std::size_t l = 0; l < 32; ++l) next[l] += next[l] < rows.end[l];
  }
}

/// body(lane) for each lane of a mask.
template <class Body> void for_each_lane(std::uint32_t mask, Body body) {
  for (; mask != 0; mask &= mask - 1) body(static_cast<std::size_t>(std::countr_zero(mask)));
}

/// Sees the steps of a walk go by and knows the shortest kind of values that is exact for all.
template <class V> class values_builder {
 public:
  void see(std::uint32_t mask, const std::array<offset, 32>& entry) {
    const V first = a_.val[entry[static_cast<std::size_t>(std::countr_zero(mask))]];
    for_each_lane(mask, [&](std::size_t l) {
      const V value = a_.val[entry[l]];
      are_one_ = are_one_ && have_same_bits(value, first);
      are_single_ = are_single_ && is_exactly_single(value);
    });
    ++steps_;
    entries_ += std::popcount(mask);
  }
  explicit values_builder(csr_view<V> a) : a_(a) {}

  warp_packed_choice chosen(std::uint8_t width) const {
    return {steps_, entries_, width, warp_packed_values<V>(are_one_, are_single_)};
  }

 private:
  csr_view<V> a_;
  offset steps_ = 0, entries_ = 0;
  bool are_one_ = true, are_single_ = true;
};

}  // namespace

template <class V> warp_packed_rows rows_of_slice(csr_view<V> a, const array<index>& row, offset slice) {
  warp_packed_rows out{slice * 32, {}, {}};
  const offset count = std::min<offset>(32, a.rows - out.first_place);
  for (offset l = 0; l < count; ++l) {
    const offset place = out.first_place + l, i = row.empty() ? place : row[place];
    out.begin[static_cast<std::size_t>(l)] = a.row_begin[i];
    out.end[static_cast<std::size_t>(l)] = a.row_begin[i + 1];
  }
  return out;
}

template <class V> warp_packed_choice choose(csr_view<V> a, const warp_packed_rows& rows) {
  values_builder<V> by_rank(a), by_diagonal(a);
  offset span = 0;
  walk_ranks(a, rows, [&](offset lowest, std::uint32_t mask, const auto& entry) {
    for_each_lane(mask, [&](std::size_t l) { span = std::max(span, a.col[entry[l]] - lowest); });
    by_rank.see(mask, entry);
  });
  const warp_packed_choice ranks = by_rank.chosen(warp_packed_width(span));
  if (!walk_diagonals(a, rows, most_diagonals(ranks),
                      [&](offset, std::uint32_t mask, const auto& entry) { by_diagonal.see(mask, entry); }))
    return ranks;
  const warp_packed_choice diagonals = by_diagonal.chosen(0);
  return are_better<V>(diagonals, ranks) ? diagonals : ranks;
}

template <class V>
void append_pattern(csr_view<V> a, const warp_packed_rows& rows, const warp_packed_choice& how,
                    warp_packed_dictionary<V>& out) {
  const warp_packed_pattern made{static_cast<offset>(out.steps.size()), how.steps,
                                 static_cast<offset>(out.offsets.size() / 32), how.width, how.values};
  std::uint64_t hash = mixed_hash(how.width, static_cast<std::uint64_t>(how.values));
  const auto append = [&](offset column, std::uint32_t mask, const auto& entry) {
    const V value = how.values == packed_values::one
                        ? a.val[entry[static_cast<std::size_t>(std::countr_zero(mask))]]
                        : V{0};
    out.steps.push_back({static_cast<index>(column), mask, value});
    hash = mixed_hash(hash, static_cast<std::uint64_t>(column) << 32 | mask);
    hash = mixed_hash(hash, std::bit_cast<bits_of<V>>(value));
  };
  out.patterns.push_back(made);
  if (how.width == 0) {
    walk_diagonals(a, rows, how.steps, append);
  } else {
    walk_ranks(a, rows, [&](offset lowest, std::uint32_t mask, const auto& entry) {
      append(lowest - rows.first_place, mask, entry);
      const std::size_t begin = out.offsets.size();
      out.offsets.resize(begin + std::size_t{32} * how.width);
      for_each_lane(mask, [&](std::size_t l) {
        const auto from_lowest = static_cast<std::uint32_t>(a.col[entry[l]] - lowest);
        for (std::size_t byte = 0; byte < how.width; ++byte)
          out.offsets[begin + l * how.width + byte] = static_cast<std::uint8_t>(from_lowest >> 8 * byte);
        hash = mixed_hash(hash, from_lowest);
      });
    });
  }
  out.hashes.push_back(hash);
}

template <class V>
bool is_same_pattern(const warp_packed_dictionary<V>& a, std::size_t i, const warp_packed_dictionary<V>& b,
                     std::size_t j) {
  const warp_packed_pattern &p = a.patterns[i], &q = b.patterns[j];
  const auto is_same_step = [](const warp_packed_step<V>& s, const warp_packed_step<V>& t) {
    return s.column == t.column && s.mask == t.mask && have_same_bits(s.value, t.value);
  };
  const auto step = a.steps.begin() + p.step;
  const auto offsets = a.offsets.begin() + p.offsets * 32;
  return a.hashes[i] == b.hashes[j] && p.steps == q.steps && p.width == q.width && p.values == q.values &&
         std::equal(step, step + p.steps, b.steps.begin() + q.step, is_same_step) &&
         std::equal(offsets, offsets + p.steps * p.width * 32, b.offsets.begin() + q.offsets * 32);
}

template warp_packed_rows rows_of_slice(csr_view<float>, const array<index>&, offset);
template warp_packed_rows rows_of_slice(csr_view<double>, const array<index>&, offset);
template warp_packed_choice choose(csr_view<float>, const warp_packed_rows&);
template warp_packed_choice choose(csr_view<double>, const warp_packed_rows&);
template void append_pattern(csr_view<float>, const warp_packed_rows&, const warp_packed_choice&,
                             warp_packed_dictionary<float>&);
template void append_pattern(csr_view<double>, const warp_packed_rows&, const warp_packed_choice&,
                             warp_packed_dictionary<double>&);
template bool is_same_pattern(const warp_packed_dictionary<float>&, std::size_t,
                              const warp_packed_dictionary<float>&, std::size_t);
template bool is_same_pattern(const warp_packed_dictionary<double>&, std::size_t,
                              const warp_packed_dictionary<double>&, std::size_t);

}  // namespace nz
