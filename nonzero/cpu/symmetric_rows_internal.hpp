// Multiplies a block row of a symmetric matrix: each block left of the diagonal for its own rows and,
// transposed, for the rows of its columns. Compiled once for each instruction set; hence this guard instead
// of a pragma.
#if defined(NONZERO_CPU_SYMMETRIC_ROWS_INTERNAL) == defined(HWY_TARGET_TOGGLE)
#  ifdef NONZERO_CPU_SYMMETRIC_ROWS_INTERNAL
#    undef NONZERO_CPU_SYMMETRIC_ROWS_INTERNAL
#  else
#    define NONZERO_CPU_SYMMETRIC_ROWS_INTERNAL
#  endif

#  include <type_traits>

#  include <hwy/highway.h>

#  if defined(__aarch64__)
#    include <arm_neon.h>
#  endif

#  include <nonzero/cpu/simd_internal.hpp>

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

/// The compiler's vectors, as in bsr_rows.
template <class A, class V, int Lanes> struct vectors {
  using vec [[gnu::vector_size(Lanes * sizeof(V))]] = V;
  using loaded [[gnu::vector_size(Lanes * sizeof(A))]] = A;

  /// From any address.
  static HWY_INLINE vec load(const A* values) {
#  if defined(__aarch64__)
    // GCC 12 converts a vector of two floats one by one.
    if constexpr (Lanes == 2 && sizeof(A) < sizeof(V)) return (vec)vcvt_f64_f32(vld1_f32(values));
#  endif
    loaded out;
    __builtin_memcpy(&out, values, sizeof(out));
    return __builtin_convertvector(out, vec);
  }
  static HWY_INLINE void store(V* to, vec values) { __builtin_memcpy(to, &values, sizeof(values)); }
};

/// The sums of a block row, for blocks whose rows are whole vectors, or one vector with an unused lane.
template <int Size, class A, class V> struct row_by_vectors {
  static constexpr int most_lanes = register_bytes / int{sizeof(V)};
  static constexpr int fitting = Size <= 2 ? 2 : 4;
  static constexpr int lanes = fitting < most_lanes ? fitting : most_lanes;
  static constexpr int count = (Size + lanes - 1) / lanes;
  static constexpr int slots = count * lanes, group_cols = Size;
  static constexpr int past_end = slots - Size;  // numbers read past a block, and past its x
  using held = vectors<A, V, lanes>;
  using numbers = vectors<V, V, lanes>;
  typename held::vec acc[Size * count] = {};
  V own_x[Size];

  explicit HWY_INLINE row_by_vectors(const V* x) {
    for (int r = 0; r < Size; ++r) own_x[r] = x[r];
  }
  HWY_INLINE void add_block(const A* block, const V* x, V* y) {
    for (int p = 0; p < count; ++p) {
      const auto block_x = numbers::load(x + p * lanes);
      auto sums = numbers::load(y + p * lanes);
      for (int r = 0; r < Size; ++r) {
        const auto row = held::load(block + r * Size + p * lanes);
        acc[r * count + p] += row * block_x;
        sums += row * own_x[r];
      }
      numbers::store(y + p * lanes, sums);
    }
  }
  HWY_INLINE void add_diagonal(const A* block, const V* x) {
    for (int p = 0; p < count; ++p) {
      const auto block_x = numbers::load(x + p * lanes);
      for (int r = 0; r < Size; ++r) acc[r * count + p] += held::load(block + r * Size + p * lanes) * block_x;
    }
  }
  HWY_INLINE void store(V* y) const {
    for (int r = 0; r < Size; ++r) {
      V sum = acc[r * count][0];
      for (int c = 1; c < Size; ++c) sum += acc[r * count + c / lanes][c % lanes];
      y[r] = sum;
    }
    for (int r = Size; r < slots; ++r) y[r] = 0;
  }
  static HWY_INLINE V sum(const V* y, int r) { return y[r]; }
};

/// The same for 3 x 3 blocks and vectors of two: the first two columns row by row, then the third.
/// The third sum has two slots.
template <class A, class V> struct row_of_three_by_two {
  static constexpr int slots = 4, group_cols = 2, past_end = 0;
  using held = vectors<A, V, 2>;
  using numbers = vectors<V, V, 2>;
  using vec = typename held::vec;
  vec acc[3] = {}, third = {};  // of the rows' first two columns; of the first two rows' third
  V last = 0;                   // of the third row's third
  vec own_x;
  V own_last;

  explicit HWY_INLINE row_of_three_by_two(const V* x) : own_x(numbers::load(x)), own_last(x[2]) {}

  struct values {
    vec row[3], third;
    V last;
  };
  static HWY_INLINE values load(const A* block) {
#  if defined(__aarch64__)
    if constexpr (sizeof(A) < sizeof(V)) {
      const float32x4_t low = vld1q_f32(block), high = vld1q_f32(block + 4);
      return {{(vec)vcvt_f64_f32(vget_low_f32(low)), (vec)vcvt_high_f64_f32(low),
               (vec)vcvt_f64_f32(vget_low_f32(high))},
              (vec)vcvt_high_f64_f32(high),
              static_cast<V>(block[8])};
    }
#  endif
    return {{held::load(block), held::load(block + 2), held::load(block + 4)},
            held::load(block + 6),
            static_cast<V>(block[8])};
  }
  HWY_INLINE void add_to_own(const values& a, const V* x) {
    const vec block_x = numbers::load(x);
    for (int r = 0; r < 3; ++r) acc[r] += a.row[r] * block_x;
    third += a.third * x[2];
    last += a.last * x[2];
  }
  HWY_INLINE void add_block(const A* block, const V* x, V* y) {
    const values a = load(block);
    add_to_own(a, x);
    vec sums = numbers::load(y), third_sums = numbers::load(y + 2);
    sums += a.row[0] * own_x[0];
    sums += a.row[1] * own_x[1];
    sums += a.row[2] * own_last;
    third_sums += a.third * own_x;
    third_sums += vec{a.last, 0} * vec{own_last, 0};
    numbers::store(y, sums);
    numbers::store(y + 2, third_sums);
  }
  HWY_INLINE void add_diagonal(const A* block, const V* x) { add_to_own(load(block), x); }
  HWY_INLINE void store(V* y) const {
    for (int r = 0; r < 2; ++r) y[r] = (acc[r][0] + acc[r][1]) + third[r];
    y[2] = acc[2][0] + acc[2][1];
    y[3] = last;
  }
  static HWY_INLINE V sum(const V* y, int r) { return r < 2 ? y[r] : y[2] + y[3]; }
};

template <int Size, class A, class V>
using row_for = std::conditional_t<Size == 3 && register_bytes / sizeof(V) == 2, row_of_three_by_two<A, V>,
                                   row_by_vectors<Size, A, V>>;

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
