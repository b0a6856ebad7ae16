// What several kernels use for one instruction set: the width of registers, and the loop of ELL, SELL and
// transposed JDS, where the k-th entries of eight neighbouring rows are adjacent, so that eight sums are
// computed at once. Compiled once for each instruction set; hence this guard instead of a pragma.
#if defined(NONZERO_CPU_SIMD_INTERNAL) == defined(HWY_TARGET_TOGGLE)
#  ifdef NONZERO_CPU_SIMD_INTERNAL
#    undef NONZERO_CPU_SIMD_INTERNAL
#  else
#    define NONZERO_CPU_SIMD_INTERNAL
#  endif

#  include <bit>
#  include <cstddef>
#  include <cstdint>
#  include <cstring>
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

/// One value, read as an array.
template <class A> struct constant_values {
  A value;
  HWY_INLINE A operator[](offset) const { return value; }
  HWY_INLINE constant_values operator+(offset) const { return *this; }
};

/// The columns of eight entries, none negative. On x86 two of them are loaded by one word: a processor adds
/// more often than it loads.
template <class Column> struct eight_columns {
#  if HWY_ARCH_X86
  using word = std::conditional_t<sizeof(Column) == 2, std::uint32_t, std::uint64_t>;
  static constexpr int in_word = 2;
#  else
  using word = std::conditional_t<sizeof(Column) == 2, std::uint64_t, std::uint32_t>;
  static constexpr int in_word = sizeof(Column) == 2 ? 4 : 1;
#  endif
  static constexpr int bits = 8 * sizeof(Column);
  word words[rows_at_once / in_word];
  HWY_INLINE explicit eight_columns(const Column* from) {
    // Each by itself: GCC would copy all of them by vectors, through memory.
    for (int w = 0; w < rows_at_once / in_word; ++w)
      std::memcpy(&words[w], from + w * in_word, sizeof words[w]);
  }
  HWY_INLINE offset operator[](int e) const {
    return static_cast<offset>(
        static_cast<std::make_unsigned_t<Column>>(words[e / in_word] >> (bits * (e % in_word))));
  }
};
static_assert(std::endian::native == std::endian::little);

/// Eight sums: of eight rows, or partial sums of one. On x86 they are in vectors, so that values are loaded
/// several at a time; elements of x are loaded one by one.
template <class V> struct eight_sums {
  static constexpr int prefetch_bytes = 4096;
  static constexpr int in_register = register_bytes / int{sizeof(V)};
  static constexpr int lanes = !HWY_ARCH_X86 ? 1 : in_register < rows_at_once ? in_register : rows_at_once;
  static constexpr int parts = rows_at_once / lanes;
  template <class T> struct vector_of { using type [[gnu::vector_size(lanes * sizeof(T))]] = T; };
  template <class T>
  using vec = typename std::conditional_t<lanes == 1, std::type_identity<T>, vector_of<T>>::type;

  vec<V> part[parts] = {};

  eight_sums() = default;
  HWY_INLINE explicit eight_sums(const V* from) { std::memcpy(part, from, sizeof part); }
  HWY_INLINE void store(V* to) const { std::memcpy(to, part, sizeof part); }
  HWY_INLINE V total() const {
    V sums[rows_at_once];
    store(sums);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }

  /// Adds to each of them the product of one of eight values and its element of x.
  template <class Values, class Columns> HWY_INLINE void add(Values val, const Columns& col, const V* x) {
    // Eight doubles are a cache line, and x86's own prefetching ends at a page.
    if constexpr (HWY_ARCH_X86 && std::is_same_v<Values, const double*>)
      __builtin_prefetch(reinterpret_cast<const char*>(val) + prefetch_bytes);
    for (int p = 0; p < parts; ++p) part[p] += load(val + p * lanes) * elements(x, col, p * lanes);
  }

 private:
  template <class A> static HWY_INLINE vec<V> load(const A* val) {
    vec<A> values;
    std::memcpy(&values, val, sizeof values);
    if constexpr (std::is_same_v<A, V>)
      return values;
    else if constexpr (lanes == 1)
      return static_cast<V>(values);
    else
      return __builtin_convertvector(values, vec<V>);
  }
  template <class A> static HWY_INLINE V load(constant_values<A> values) {
    return static_cast<V>(values.value);
  }
  template <class Columns> static HWY_INLINE vec<V> elements(const V* x, const Columns& col, int e) {
    if constexpr (lanes == 1)
      return x[col[e]];
    else if constexpr (lanes == 2)
      return vec<V>{x[col[e]], x[col[e + 1]]};
    else if constexpr (lanes == 4)
      return vec<V>{x[col[e]], x[col[e + 1]], x[col[e + 2]], x[col[e + 3]]};
    else
      return vec<V>{x[col[0]], x[col[1]], x[col[2]], x[col[3]], x[col[4]], x[col[5]], x[col[6]], x[col[7]]};
  }
};

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
    eight_sums<V> sum(sums);
    for (offset k = 0; k < columns; ++k) sum.add(val + at(k), eight_columns<index>(col + at(k)), x);
    sum.store(sums);
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
