#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>

#include <nonzero/io/counter_hash.hpp>
#include <nonzero/io/generate.hpp>

namespace {

namespace gen = nz::generate;
using nz::csr;
using nz::index;
using nz::offset;

constexpr index most = std::numeric_limits<index>::max();

template <class T, class U> bool same(const nz::array<T>& got, std::initializer_list<U> expected) {
  return std::equal(got.begin(), got.end(), expected.begin(), expected.end());
}

// What every generated matrix keeps: the invariants of csr, rows sorted by column, none repeated.
template <class V> void expect_proper(const csr<V>& a) {
  ASSERT_NO_THROW(nz::validate(a));
  for (index i = 0; i < a.rows; ++i)
    for (offset k = a.row_begin[i] + 1; k < a.row_begin[i + 1]; ++k)
      ASSERT_LT(a.col[k - 1], a.col[k]) << "row " << i;
}

// FNV-1a over sizes and arrays, by value and not by memory, so that the order of bytes plays no part.
template <class V> std::uint64_t fingerprint(const csr<V>& a) {
  std::uint64_t h = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte, word >>= 8) h = (h ^ (word & 0xff)) * 0x100000001b3;
  };
  add(a.rows);
  add(a.cols);
  for (const offset k : a.row_begin) add(k);
  for (const index j : a.col) add(j);
  using bits = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;
  for (const V v : a.val) add(std::bit_cast<bits>(v));
  return h;
}

template <class Error, class Make> std::string message_of(const Make& make) {
  try {
    make();
  } catch (const Error& e) {
    return e.what();
  }
  return "(nothing was thrown)";
}

// A spec for each kind, with rows of several blocks for the random ones.
const std::vector<std::string> a_spec_of_each_kind{
    "diagonal:5000",   "tridiagonal:5000",    "banded:5000:3", "poisson1d:5000",
    "poisson2d:70",    "poisson3d:17",        "poisson27:17",  "heat:5000",
    "fem:11",          "uniform:9000:20",     "rmat:13:16",    "dense_rows:4500",
    "empty_rows:9000", "rows:0,3,40,0,7,5:50"};

TEST(Generate, PutsFivePointsOnAGridOfThreeByThree) {
  const auto a = gen::poisson_2d<double>(3, 3);
  EXPECT_EQ(a.rows, 9);
  EXPECT_EQ(a.cols, 9);
  EXPECT_TRUE(same(a.row_begin, {0, 3, 7, 10, 14, 19, 23, 26, 30, 33}));
  EXPECT_TRUE(same(a.col, {0, 1, 3, 0, 1, 2, 4, 1, 2, 5, 0, 3, 4, 6, 1, 3, 4,
                           5, 7, 2, 4, 5, 8, 3, 6, 7, 4, 6, 7, 8, 5, 7, 8}));
  EXPECT_TRUE(same(a.val, {4,  -1, -1, -1, 4, -1, -1, -1, 4,  -1, -1, 4, -1, -1, -1, -1, 4,
                           -1, -1, -1, -1, 4, -1, -1, 4,  -1, -1, -1, 4, -1, -1, -1, 4}));
}

TEST(Generate, NumbersAGridWithXFastest) {
  const auto a = gen::poisson_2d<float>(2, 3);
  EXPECT_TRUE(same(a.row_begin, {0, 3, 6, 10, 14, 17, 20}));
  EXPECT_TRUE(same(a.col, {0, 1, 2, 0, 1, 3, 0, 2, 3, 4, 1, 2, 3, 5, 2, 4, 5, 3, 4, 5}));
}

TEST(Generate, MakesTheHeatStencil) {
  const auto a = gen::heat<double>(4);
  EXPECT_TRUE(same(a.row_begin, {0, 2, 5, 8, 10}));
  EXPECT_TRUE(same(a.col, {0, 1, 0, 1, 2, 1, 2, 3, 2, 3}));
  EXPECT_TRUE(same(a.val, {-2, 1, 1, -2, 1, 1, -2, 1, 1, -2}));
}

TEST(Generate, MakesDiagonalTridiagonalAndLinePoisson) {
  const auto d = gen::diagonal<double>(3);
  EXPECT_TRUE(same(d.row_begin, {0, 1, 2, 3}));
  EXPECT_TRUE(same(d.col, {0, 1, 2}));
  EXPECT_TRUE(same(d.val, {1, 2, 3}));
  const auto t = gen::tridiagonal<double>(3);
  EXPECT_TRUE(same(t.col, {0, 1, 0, 1, 2, 1, 2}));
  EXPECT_TRUE(same(t.val, {2, -1, -1, 2, -1, -1, 2}));
  EXPECT_EQ(t, gen::poisson_1d<double>(3));
}

TEST(Generate, PutsSevenPointsInsideAndFourAtCornersOfAThreeDimensionalGrid) {
  const auto a = gen::poisson_3d<double>(3, 4, 5);
  expect_proper(a);
  EXPECT_EQ(a.rows, 60);
  // Each of the three directions lacks one link fewer than it has nodes.
  EXPECT_EQ(a.nnz(), 60 + 2 * (2 * 4 * 5 + 3 * 3 * 5 + 3 * 4 * 4));
  const index inside = (2 * 4 + 1) * 3 + 1;
  ASSERT_EQ(a.row_length(inside), 7);
  const std::vector<index> points{inside - 12, inside - 3, inside - 1, inside,
                                  inside + 1,  inside + 3, inside + 12};
  EXPECT_TRUE(std::equal(points.begin(), points.end(), &a.col[a.row_begin[inside]]));
  EXPECT_EQ(a.val[a.row_begin[inside] + 3], 6);
  EXPECT_EQ(a.row_length(0), 4);
  EXPECT_EQ(a.row_length(59), 4);
}

TEST(Generate, SumsTheInnerRowsOfTwentySevenPointsToZero) {
  const auto a = gen::poisson_27<double>(4, 5, 6);
  expect_proper(a);
  int inner = 0;
  for (index i = 0; i < a.rows; ++i) {
    double sum = 0;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) sum += a.val[k];
    EXPECT_EQ(sum, static_cast<double>(27 - a.row_length(i)));
    inner += a.row_length(i) == 27;
  }
  EXPECT_EQ(inner, 2 * 3 * 4);
  EXPECT_EQ(a.row_length(0), 8);
  // 3 * side - 2 pairs of neighbours along each side, multiplied.
  EXPECT_EQ(a.nnz(), 10 * 13 * 16);
}

TEST(Generate, FillsTheWholeBandAndNoMore) {
  for (const index reach : {0, 1, 7, 99, 100, most}) {
    const auto a = gen::banded<double>(100, reach);
    expect_proper(a);
    for (index i = 0; i < 100; ++i) {
      const offset first = std::max<offset>(0, offset{i} - reach),
                   last = std::min<offset>(99, offset{i} + reach);
      ASSERT_EQ(a.row_length(i), last - first + 1);
      ASSERT_EQ(a.col[a.row_begin[i]], first);
    }
  }
}

TEST(Generate, MakesFemBlocksSymmetricAndDominatedByTheDiagonal) {
  const auto a = gen::fem_blocks<float>(3, 4, 5);
  expect_proper(a);
  EXPECT_EQ(a.rows, 180);
  EXPECT_EQ(a.nnz(), 9 * 7 * 10 * 13);
  EXPECT_EQ(a, nz::transpose(a));
  for (index i = 0; i < a.rows; ++i) {
    float beside = 0;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
      if (a.col[k] == i) {
        EXPECT_EQ(a.val[k], 128);
        continue;
      }
      EXPECT_LT(std::abs(a.val[k]), 1);
      EXPECT_NE(a.val[k], 0);
      EXPECT_EQ(a.val[k] * 1024, std::round(a.val[k] * 1024));
      beside += std::abs(a.val[k]);
    }
    EXPECT_LT(beside, 128);
    EXPECT_EQ(a.row_length(i), a.row_length(i / 3 * 3));
  }
}

TEST(Generate, MakesTheSameFemBlocksInBothPrecisions) {
  const auto single = gen::fem_blocks<float>(4, 4, 4);
  const auto twice = gen::fem_blocks<double>(4, 4, 4);
  EXPECT_TRUE(std::equal(single.val.begin(), single.val.end(), twice.val.begin(), twice.val.end()));
}

TEST(Generate, DrawsThePublishedSplitmixNumbers) {
  // The first outputs of splitmix64 from state 0.
  EXPECT_EQ(gen::hash(0, 0), 0xe220a8397b1dcdaf);
  EXPECT_EQ(gen::hash(0, 1), 0x6e789e6aa1b965f4);
  EXPECT_EQ(gen::hash(0, 2), 0x06c45d188009454f);
}

TEST(Generate, ScalesHashesToNumbersWithoutRounding) {
  EXPECT_EQ(gen::below(10, 0), 0);
  EXPECT_EQ(gen::below(10, ~0ull), 9);
  EXPECT_EQ(gen::below(most, ~0ull), most - 1);
  EXPECT_EQ(gen::below(1, ~0ull), 0);
  EXPECT_EQ(gen::below(4, 0x7fffffffffffffff), 1);
  EXPECT_EQ(gen::below(4, 0x8000000000000000), 2);
  EXPECT_EQ(gen::between_minus_one_and_one<double>(0), -1 + 0x1p-52);
  EXPECT_EQ(gen::between_minus_one_and_one<double>(~0ull), 1 - 0x1p-52);
  EXPECT_EQ(gen::between_minus_one_and_one<double>(1ull << 63), 0x1p-52);
  EXPECT_EQ(gen::between_minus_one_and_one<float>(0), -1 + 0x1p-23f);
  EXPECT_EQ(gen::between_minus_one_and_one<float>(~0ull), 1 - 0x1p-23f);
}

TEST(Generate, GivesEachUniformRowItsNumberOfDifferentColumns) {
  // Both ways of choosing columns, both sides of the switch between them, and rows longer than 64.
  for (const index cols : {1, 2, 3, 7, 64, 79, 80, 81, 500, 3000})
    for (const index per_row : {0, 1, 2, 16, 33, 64, 65, 250, 251, 499, 500}) {
      const auto a = gen::uniform<double>(50, cols, per_row);
      expect_proper(a);
      EXPECT_EQ(a.cols, cols);
      for (index i = 0; i < a.rows; ++i)
        ASSERT_EQ(a.row_length(i), std::min(cols, per_row)) << per_row << " of " << cols;
    }
}

TEST(Generate, FillsUniformRowsThatAskForEveryColumn) {
  const auto a = gen::uniform<double>(20, 100, most);
  for (index i = 0; i < 20; ++i)
    for (index j = 0; j < 100; ++j) ASSERT_EQ(a.col[a.row_begin[i] + j], j);
}

TEST(Generate, HitsAllColumnsOfAUniformMatrixEquallyOften) {
  // 16 of 1000: drawn. 300 of 1000: selected. Counts are binomial; 6 standard deviations either way.
  for (const index per_row : {16, 300}) {
    constexpr index rows = 20000, cols = 1000;
    const auto a = gen::uniform<float>(rows, cols, per_row);
    std::vector<int> hits(cols);
    for (const index j : a.col) ++hits[j];
    const double p = double(per_row) / cols, mean = rows * p, deviation = std::sqrt(rows * p * (1 - p));
    const auto [fewest, mostly] = std::minmax_element(hits.begin(), hits.end());
    EXPECT_GT(*fewest, mean - 6 * deviation);
    EXPECT_LT(*mostly, mean + 6 * deviation);
    EXPECT_NE(*fewest, *mostly);
  }
}

TEST(Generate, ReachesTheLastColumnsOfTheWidestMatrix) {
  const auto a = gen::uniform<float>(100, most, 100);
  expect_proper(a);
  EXPECT_GT(*std::max_element(a.col.begin(), a.col.end()), most / 100 * 99);
}

TEST(Generate, SpreadsRandomValuesEvenlyAndNeverMakesAZero) {
  const auto a = gen::uniform<float>(10000, 10000, 100);
  double sum = 0, squares = 0;
  for (const float v : a.val) {
    ASSERT_NE(v, 0);
    ASSERT_LT(std::abs(v), 1);
    sum += v;
    squares += double(v) * v;
  }
  const auto n = static_cast<double>(a.nnz());
  EXPECT_NEAR(sum / n, 0, 6 / std::sqrt(3 * n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 6 / std::sqrt(n));
}

TEST(Generate, MakesAnotherMatrixFromAnotherSeed) {
  for (const std::string kind :
       {"banded:50", "fem:3", "uniform:50", "rmat:6", "dense_rows:50", "empty_rows:50", "rows:3,4:9"})
    EXPECT_FALSE(gen::from_spec<double>(kind, 1) == gen::from_spec<double>(kind, 2)) << kind;
}

TEST(Generate, SumsRmatEdgesThatFallTogether) {
  const auto a = gen::rmat<double>(10, 16);
  expect_proper(a);
  EXPECT_EQ(a.rows, 1024);
  double edges = 0;
  for (const double v : a.val) edges += v;
  EXPECT_EQ(edges, 1024 * 16);
  EXPECT_LT(a.nnz(), 1024 * 16);
}

TEST(Generate, SkewsTheDegreesOfAnRmatGraph) {
  const auto a = gen::rmat<float>(14, 16);
  EXPECT_GT(nz::longest_row(a), 30 * 16);
  EXPECT_GT(nz::longest_row(nz::transpose(a)), 30 * 16);
  offset lonely = 0;
  for (index i = 0; i < a.rows; ++i) lonely += a.row_length(i) == 0;
  EXPECT_GT(lonely, a.rows / 10);
}

TEST(Generate, ChoosesRmatQuadrantsWithTheirChancesAtEveryLevel) {
  // Scales that use part of a word of four levels, all of it, and several.
  for (const int scale : {1, 3, 4, 5, 9}) {
    const index per_vertex = 200000 >> scale;
    const auto a = gen::rmat<double>(scale, per_vertex);
    const double edges = static_cast<double>(per_vertex) * (1 << scale);
    for (int level = 0; level < scale; ++level) {
      double share[2][2] = {};
      for (index i = 0; i < a.rows; ++i)
        for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
          share[i >> level & 1][a.col[k] >> level & 1] += a.val[k] / edges;
      EXPECT_NEAR(share[0][0], 0.57, 0.007) << "scale " << scale << " bit " << level;
      EXPECT_NEAR(share[0][1], 0.19, 0.006) << "scale " << scale << " bit " << level;
      EXPECT_NEAR(share[1][0], 0.19, 0.006) << "scale " << scale << " bit " << level;
      EXPECT_NEAR(share[1][1], 0.05, 0.004) << "scale " << scale << " bit " << level;
    }
  }
}

TEST(Generate, SpacesDenseRowsEvenly) {
  const auto a = gen::dense_rows<double>(100, 3, 4);
  expect_proper(a);
  for (index i = 0; i < 100; ++i) EXPECT_EQ(a.row_length(i), i % 25 == 0 ? 100 : 3) << i;
  const auto uneven = gen::dense_rows<double>(10, 0, 3);
  EXPECT_TRUE(same(uneven.row_begin, {0, 10, 10, 10, 10, 20, 20, 20, 30, 30, 30}));
  EXPECT_EQ(gen::dense_rows<double>(5, 1, 9).nnz(), 25);
  EXPECT_EQ(gen::dense_rows<double>(5, 1, 0).nnz(), 5);
}

TEST(Generate, LeavesAllButEveryTenthRowEmpty) {
  const auto a = gen::empty_rows<double>(95, 16, 10);
  expect_proper(a);
  for (index i = 0; i < 95; ++i) EXPECT_EQ(a.row_length(i), i % 10 == 0 ? 16 : 0) << i;
}

TEST(Generate, GivesRowsTheLengthsAsked) {
  const std::vector<index> lengths{0, 5, 1, 0, 9, 10};
  const auto a = gen::row_lengths<double>(10, lengths);
  expect_proper(a);
  EXPECT_EQ(a.rows, 6);
  EXPECT_EQ(a.cols, 10);
  EXPECT_TRUE(same(a.row_begin, {0, 0, 5, 6, 6, 15, 25}));
}

TEST(Generate, MakesValidEmptyMatricesOfSizeZero) {
  for (const std::string spec :
       {"diagonal:0", "tridiagonal:0", "banded:0", "poisson1d:0", "poisson2d:0", "poisson3d:0", "poisson27:0",
        "heat:0", "fem:0", "uniform:0", "dense_rows:0", "empty_rows:0", "uniform:0:3:7", "uniform:7:3:0",
        "poisson3d:0:2147483647:2147483647", "poisson3d:2147483647:2147483647:0", "rmat:4:0",
        "rows:0,0,0:0"}) {
    const auto a = gen::from_spec<double>(spec);
    expect_proper(a);
    EXPECT_EQ(a.nnz(), 0) << spec;
  }
  EXPECT_EQ(gen::uniform<float>(7, 0, 3).rows, 7);
  EXPECT_EQ(gen::row_lengths<float>(4, {}).cols, 4);
}

TEST(Generate, KeepsItsPromisesForEveryKindInBothPrecisions) {
  ASSERT_EQ(a_spec_of_each_kind.size(), gen::kinds().size());
  for (std::size_t k = 0; k < a_spec_of_each_kind.size(); ++k) {
    const std::string& spec = a_spec_of_each_kind[k];
    SCOPED_TRACE(spec);
    EXPECT_EQ(spec.substr(0, spec.find(':')), gen::kinds()[k].name);
    const auto a = gen::from_spec<double>(spec);
    const auto b = gen::from_spec<float>(spec);
    expect_proper(a);
    expect_proper(b);
    EXPECT_GT(a.nnz(), 0);
    EXPECT_EQ(a.row_begin, b.row_begin);
    EXPECT_EQ(a.col, b.col);
  }
}

TEST(Generate, MakesTheSameMatrixForAnyNumberOfThreads) {
  const int usual = omp_get_max_threads();
  auto specs = a_spec_of_each_kind;
  specs.push_back("rmat:15:20");  // edges for several of the lists it is assembled from
  for (const std::string& spec : specs) {
    omp_set_num_threads(1);
    const auto a = gen::from_spec<double>(spec);
    for (const int threads : {2, 3, 8}) {
      omp_set_num_threads(threads);
      EXPECT_EQ(a, gen::from_spec<double>(spec)) << spec << " on " << threads;
    }
  }
  omp_set_num_threads(usual);
}

TEST(Generate, MakesTheSameBitsOnEveryPlatform) {
  struct golden {
    const char* spec;
    std::uint64_t in_double, in_float;
  };
  for (const auto& [spec, in_double, in_float] : std::initializer_list<golden>{
           {"banded:5000:3", 0x1b6e193ca01697e3, 0x924bfd26a99df34e},
           {"fem:11", 0x7970e43bef268154, 0xf298c80b1bec6d55},
           {"uniform:9000:20", 0x18199530c41c3eb8, 0x592f91ee68008fb2},
           {"uniform:200:60:150", 0xac348796a948d1d1, 0x801bfc2130842779},
           {"rmat:13:16", 0xc31368e9fd411ac6, 0x8598b33fb147284e},
           {"dense_rows:4500", 0x4868d11a656fa160, 0x175c36771389f7ba},
           {"empty_rows:9000", 0xa3b07a6eb0463748, 0x277dceada1081d65},
           {"rows:0,3,40,0,7,5:50", 0x8927ff7d4a5814bb, 0x7306110c041fe18d},
       }) {
    EXPECT_EQ(fingerprint(gen::from_spec<double>(spec)), in_double) << spec;
    EXPECT_EQ(fingerprint(gen::from_spec<float>(spec)), in_float) << spec;
  }
}

TEST(Generate, RefusesMoreRowsThanAnIndexHolds) {
  EXPECT_EQ(message_of<nz::shape_error>([] { gen::poisson_3d<double>(2000, 2000, 2000); }),
            "poisson_3d: 2000 x 2000 x 2000 nodes make more rows than the 2147483647 an index holds");
  EXPECT_THROW(gen::poisson_2d<double>(46341, 46341), nz::shape_error);
  EXPECT_THROW(gen::poisson_3d<double>(most, most, most), nz::shape_error);
  EXPECT_THROW(gen::poisson_27<double>(1, 2, most), nz::shape_error);
  EXPECT_THROW(gen::fem_blocks<double>(1, 1, most / 3 + 1), nz::shape_error);
}

TEST(Generate, RefusesNegativeSizes) {
  EXPECT_EQ(message_of<nz::shape_error>([] { gen::poisson_2d<double>(4, -3); }),
            "poisson_2d: a size of 4 x -3 x 1 is negative");
  EXPECT_EQ(message_of<nz::shape_error>([] { gen::uniform<double>(4, 4, -3); }),
            "uniform: a row length of -3 is negative");
  for (const std::string spec :
       {"diagonal:-1",      "tridiagonal:-1",    "banded:-1",         "banded:5:-1",   "poisson1d:-1",
        "poisson2d:-1",     "poisson3d:1:1:-1",  "poisson3d:0:-1:0",  "poisson27:-1",  "heat:-1",
        "fem:-1",           "uniform:-1:1:1",    "uniform:5:1:-1",    "rmat:-1",       "rmat:4:-1",
        "dense_rows:-1",    "dense_rows:5:-1",   "dense_rows:5:1:-1", "empty_rows:-1", "empty_rows:5:-1",
        "empty_rows:5:1:0", "empty_rows:5:1:-1", "rows:3,-1",         "rows:0:-1"})
    EXPECT_THROW(gen::from_spec<double>(spec), nz::shape_error) << spec;
}

TEST(Generate, RefusesRowsLongerThanTheMatrixIsWide) {
  const std::vector<index> lengths{1, 11};
  EXPECT_EQ(message_of<nz::shape_error>([&] { gen::row_lengths<double>(10, lengths); }),
            "row_lengths: row 1 cannot have 11 entries among 10 columns");
}

TEST(Generate, RefusesAnRmatScalePastThirty) {
  EXPECT_THROW(gen::rmat<double>(31, 1), nz::shape_error);
  EXPECT_THROW(gen::rmat<double>(64, 1), nz::shape_error);
}

TEST(Generate, RefusesMoreEntriesThanMemoryCanAddress) {
  EXPECT_EQ(message_of<nz::shape_error>([] { gen::uniform<double>(1 << 30, most, most); }),
            "2305843008139952128 entries are more than memory can be addressed for; ask for fewer");
}

TEST(GenerateSpec, FillsInTheParametersLeftOut) {
  EXPECT_EQ(gen::from_spec<double>("poisson2d:7"), gen::poisson_2d<double>(7, 7));
  EXPECT_EQ(gen::from_spec<double>("poisson2d:7:4"), gen::poisson_2d<double>(7, 4));
  EXPECT_EQ(gen::from_spec<double>("poisson3d:4"), gen::poisson_3d<double>(4, 4, 4));
  EXPECT_EQ(gen::from_spec<double>("poisson3d:4:5"), gen::poisson_3d<double>(4, 5, 4));
  EXPECT_EQ(gen::from_spec<double>("poisson27:4:5:6"), gen::poisson_27<double>(4, 5, 6));
  EXPECT_EQ(gen::from_spec<double>("fem:2:3"), gen::fem_blocks<double>(2, 3, 2));
  EXPECT_EQ(gen::from_spec<double>("banded:40"), gen::banded<double>(40, 8));
  EXPECT_EQ(gen::from_spec<double>("uniform:40"), gen::uniform<double>(40, 40, 16));
  EXPECT_EQ(gen::from_spec<double>("uniform:40:3:50"), gen::uniform<double>(40, 50, 3));
  EXPECT_EQ(gen::from_spec<double>("rmat:5"), gen::rmat<double>(5, 16));
  EXPECT_EQ(gen::from_spec<double>("dense_rows:40"), gen::dense_rows<double>(40, 4, 4));
  EXPECT_EQ(gen::from_spec<double>("empty_rows:40"), gen::empty_rows<double>(40, 16, 10));
  EXPECT_EQ(gen::from_spec<float>("uniform:40", 9), gen::uniform<float>(40, 40, 16, 9));
}

TEST(GenerateSpec, WidensAListOfRowsToTheLongest) {
  EXPECT_EQ(gen::from_spec<double>("rows:1,0,2,1,1").cols, 5);
  EXPECT_EQ(gen::from_spec<double>("rows:1,9").cols, 9);
  EXPECT_EQ(gen::from_spec<double>("rows:1,9:20").cols, 20);
  EXPECT_EQ(gen::from_spec<double>("rows:3").rows, 1);
}

TEST(GenerateSpec, KnowsASpecFromAFileName) {
  EXPECT_TRUE(gen::is_spec("poisson2d:300"));
  EXPECT_TRUE(gen::is_spec("poisson2d"));
  EXPECT_TRUE(gen::is_spec("poisson2d:"));
  EXPECT_FALSE(gen::is_spec("poisson2d.mtx"));
  EXPECT_FALSE(gen::is_spec("poisson"));
  EXPECT_FALSE(gen::is_spec(""));
  EXPECT_FALSE(gen::is_spec(":3"));
}

TEST(GenerateSpec, NamesTheKindsThereAreWhenItIsNotOne) {
  EXPECT_EQ(
      message_of<nz::unsupported>([] { gen::from_spec<double>("poison2d:3"); }),
      "'poison2d' is no kind of matrix to generate; there are diagonal, tridiagonal, banded, poisson1d, "
      "poisson2d, poisson3d, poisson27, heat, fem, uniform, rmat, dense_rows, empty_rows, rows");
  EXPECT_THROW(gen::from_spec<double>(""), nz::unsupported);
}

TEST(GenerateSpec, SaysWhatIsWrongWithParametersAndHowTheyGo) {
  const auto message = [](const char* spec) {
    return message_of<nz::parse_error>([&] { gen::from_spec<double>(spec); });
  };
  EXPECT_EQ(message("poisson2d:abc"), "poisson2d:abc: 'abc' is not a whole number; use poisson2d:NX[:NY=NX]");
  EXPECT_EQ(message("poisson2d"), "poisson2d: NX is missing; use poisson2d:NX[:NY=NX]");
  EXPECT_EQ(message("heat:3:4"), "heat:3:4: 2 parameters instead of at most 1; use heat:N");
  EXPECT_EQ(message("heat:99999999999"),
            "heat:99999999999: 99999999999 is past what an index holds; use heat:N");
  for (const char* spec :
       {"heat:", "heat:3x", "heat: 3", "heat:+3", "heat:3.0", "heat:1e3", "poisson2d:3:", "poisson2d:3:x",
        "poisson2d::3", "rows:", "rows:1,", "rows:,1", "rows:1,,2", "rows:1,a", "rows:1:2:3", "rows:1:"})
    EXPECT_THROW(gen::from_spec<double>(spec), nz::parse_error) << spec;
}

}  // namespace
