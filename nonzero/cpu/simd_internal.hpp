// What several kernels use for one instruction set: the width of registers, and the loop of ELL, SELL and
// transposed JDS, where the k-th entries of eight neighbouring rows are adjacent, so that eight sums are
// computed at once. Compiled once for each instruction set; hence this guard instead of a pragma.
#if defined(NONZERO_CPU_SIMD_INTERNAL) == defined(HWY_TARGET_TOGGLE)
#  ifdef NONZERO_CPU_SIMD_INTERNAL
#    undef NONZERO_CPU_SIMD_INTERNAL
#  else
#    define NONZERO_CPU_SIMD_INTERNAL
#  endif

#  include <cstddef>
#  include <type_traits>

#  include <hwy/highway.h>

#  include <nonzero/core/types.hpp>

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Of a vector register, for kernels that use the compiler's own vectors.
#  if HWY_TARGET == HWY_AVX3
constexpr int register_bytes = 64;
#  elif HWY_TARGET == HWY_AVX2
constexpr int register_bytes = 32;
#  else
constexpr int register_bytes = 16;
#  endif

/// Calls body with `value`, one of those listed, as a constant.
template <int First, int... Others, class Body> HWY_INLINE auto with_constant(int value, const Body& body) {
  if constexpr (sizeof...(Others) > 0)
    if (value != First) return with_constant<Others...>(value, body);
  return body(std::integral_constant<int, First>());
}

constexpr int rows_at_once = 8;
/// x86's gathers took longer than single loads where they were measured (a Xeon with AVX-512); other targets
/// would gather through memory.
constexpr bool has_gather = HWY_TARGET == HWY_SVE;

/// The places of the first of eight rows: entry k is at begin + k * stride.
struct strided_places {
  offset begin, stride;
  HWY_INLINE offset operator()(offset k) const { return begin + k * stride; }
};

/// Numbers at p, converted to the lanes of D.
template <class D, class T> HWY_INLINE hn::Vec<D> load_as(D to, const T* p) {
  if constexpr (sizeof(T) == sizeof(hn::TFromD<D>))
    return hn::LoadU(to, p);
  else
    return hn::PromoteTo(to, hn::LoadU(hn::Rebind<T, D>(), p));
}

/// Adds the first `columns` entries of each of eight rows to the row's sum; no row is shorter.
template <class A, class V, class Places>
HWY_INLINE void add_columns(offset columns, Places at, const index* col, const A* val, const V* x, V* sums) {
  if constexpr (has_gather) {
    const hn::CappedTag<V, rows_at_once> d;
    const hn::RebindToSigned<decltype(d)> di;
    for (std::size_t r = 0; r < rows_at_once; r += hn::Lanes(d)) {
      auto sum = hn::LoadU(d, sums + r);
      for (offset k = 0; k < columns; ++k) {
        const offset p = at(k) + static_cast<offset>(r);
        sum = hn::MulAdd(load_as(d, val + p), hn::GatherIndex(d, x, load_as(di, col + p)), sum);
      }
      hn::StoreU(sum, d, sums + r);
    }
  } else {
    V sum[rows_at_once];
    for (int r = 0; r < rows_at_once; ++r) sum[r] = sums[r];
    for (offset k = 0; k < columns; ++k) {
      const offset p = at(k);
      for (int r = 0; r < rows_at_once; ++r) sum[r] += static_cast<V>(val[p + r]) * x[col[p + r]];
    }
    for (int r = 0; r < rows_at_once; ++r) sums[r] = sum[r];
  }
}

/// The sum over the entries of one row from k on, up to padding or the width.
template <class A, class V, class Places>
HWY_INLINE V sum_row(offset k, offset width, Places at, const index* col, const A* val, const V* x) {
  V sum = 0;
  for (; k < width && col[at(k)] >= 0; ++k) sum += static_cast<V>(val[at(k)]) * x[col[at(k)]];
  return sum;
}

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
