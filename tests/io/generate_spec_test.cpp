#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/io/generate.hpp>

#include "tests/io/generate_checks.hpp"

namespace {

namespace gen = nz::generate;
using generate_checks::expect_proper;
using generate_checks::message_of;
using nz::csr;
using nz::index;
using nz::offset;

// FNV-1a over sizes and arrays, by value and not by memory: independent of the byte order.
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

// A spec for each kind, with rows of several blocks for the random ones.
const std::vector<std::string> a_spec_of_each_kind{
    "diagonal:5000",   "tridiagonal:5000",    "banded:5000:3", "poisson1d:5000",
    "poisson2d:70",    "poisson3d:17",        "poisson27:17",  "heat:5000",
    "fem:11",          "uniform:9000:20",     "rmat:13:16",    "dense_rows:4500",
    "empty_rows:9000", "rows:0,3,40,0,7,5:50"};

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
  auto specs = a_spec_of_each_kind;
  specs.push_back("rmat:15:20");  // edges for several of the lists it is assembled from
  for (const std::string& spec : specs) {
    const auto a = gen::from_spec<double>(spec);
    for (const int threads : {1, 2, 3, 8}) {
      const nz::thread_limit scope(threads);
      EXPECT_EQ(a, gen::from_spec<double>(spec)) << spec << " on " << threads;
    }
  }
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

TEST(Generate, MakesAnotherMatrixFromAnotherSeed) {
  for (const std::string kind :
       {"banded:50", "fem:3", "uniform:50", "rmat:6", "dense_rows:50", "empty_rows:50", "rows:3,4:9"})
    EXPECT_FALSE(gen::from_spec<double>(kind, 1) == gen::from_spec<double>(kind, 2)) << kind;
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
