#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// What nz bench --peers says to a peer, one line at a time, and what that answers, one line each:
//   matrix FILE  ready SECONDS LIBRARY VERSION   the library's own form of the matrix was made in SECONDS
//                cannot REASON                   this library does not take this matrix
//   result FILE  written                         y = A x was written there, over what it held
//   time CALLS   took SECONDS                    CALLS multiplies took so long, after one that is not counted
//   quit         ends the program, as does the end of the input
// The file of a matrix holds, each part starting at a multiple of 64 bytes: eight 64-bit integers (1, the
// bytes of a value, rows, cols, entries, 0, 0, 0); rows+1 64-bit row offsets; a 32-bit column and then a
// value for each entry; x. The file of a result is as long as y.
namespace peers {

/// What a library does not take, for the user to read.
struct cannot : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file seen as memory.
class mapped_file {
 public:
  mapped_file(const std::string& path, bool writes) {
    const int file = open(path.c_str(), writes ? O_RDWR : O_RDONLY);
    struct stat about = {};
    if (file < 0 || fstat(file, &about) != 0) throw std::runtime_error("cannot open " + path);
    size_ = static_cast<std::size_t>(about.st_size);
    if (size_ > 0)
      memory_ = mmap(nullptr, size_, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (memory_ == MAP_FAILED) throw std::runtime_error("cannot map " + path);
  }
  ~mapped_file() {
    if (size_ > 0) munmap(memory_, size_);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  char* data() const { return static_cast<char*>(memory_); }
  std::size_t size() const { return size_; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

/// A matrix as nz hands it over.
class matrix_file {
 public:
  explicit matrix_file(const std::string& path) : file_(path, false) {
    const char* at = file_.data();
    const auto* const header = take<std::int64_t>(at, 8);
    if (file_.size() < 64 || header[0] != 1)
      throw std::runtime_error("the matrix is not in the form of this version");
    value_size = header[1], rows = header[2], cols = header[3], nnz = header[4];
    row_begin = take<std::int64_t>(at, rows + 1);
    col = take<std::int32_t>(at, nnz);
    val_ = take<char>(at, nnz * value_size);
    x_ = at;
  }

  std::int64_t value_size, rows, cols, nnz;
  const std::int64_t* row_begin;
  const std::int32_t* col;
  template <class V> const V* val() const { return reinterpret_cast<const V*>(val_); }
  template <class V> const V* x() const { return reinterpret_cast<const V*>(x_); }

  /// Columns in each row rise, and none comes twice.
  bool is_sorted() const {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t k = row_begin[i] + 1; k < row_begin[i + 1]; ++k)
        if (col[k] <= col[k - 1]) return false;
    return true;
  }

 private:
  template <class T> static const T* take(const char*& at, std::int64_t count) {
    const auto* const out = reinterpret_cast<const T*>(at);
    at += (count * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
    return out;
  }

  mapped_file file_;
  const char *val_, *x_;
};

/// Memory of a peer's own; the threads that fill it are the first to touch it.
template <class T> class own_array {
 public:
  own_array() = default;
  /// A copy, converted where the types differ.
  template <class From> own_array(const From* from, std::int64_t size) : own_array(size) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < size; ++i) data_[i] = static_cast<T>(from[i]);
  }
  explicit own_array(std::int64_t size) : data_(new T[static_cast<std::size_t>(size)]), size_(size) {}

  T* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  T& operator[](std::int64_t i) const { return data_[static_cast<std::size_t>(i)]; }
  /// Who gets it has to `delete[]` it.
  T* give_away() { return data_.release(); }

 private:
  std::unique_ptr<T[]> data_;
  std::int64_t size_ = 0;
};

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A matrix that a library has made its own. Its maker sets the seconds that this took; reading the file is
/// none of that.
class multiplier {
 public:
  virtual ~multiplier() = default;
  virtual double time(int calls) = 0;
  virtual void write_result(const std::string& path) = 0;

  double seconds = 0;
};

/// Before a sample: others had the caches since.
constexpr int warm_up_calls(int calls) { return 1 + calls / 2; }

/// One in a single process.
class simple_multiplier : public multiplier {
 public:
  double time(int calls) final {
    for (int i = 0; i < warm_up_calls(calls); ++i) multiply();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) multiply();
    return seconds_since(start);
  }
  void write_result(const std::string& path) final {
    const mapped_file out(path, true);
    multiply();
    copy_result(out.data());
  }

 private:
  /// y = A x
  virtual void multiply() = 0;
  virtual void copy_result(char* to) = 0;
};

using maker = std::function<std::unique_ptr<multiplier>(const std::string& file)>;

inline void answer(const char* format, auto... values) {
  if constexpr (sizeof...(values) == 0)
    std::fputs(format, stdout);
  else
    std::printf(format, values...);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

/// Does what it is told until there is no more. The exit status.
inline int serve(const std::string& library, const maker& make) {
  std::unique_ptr<multiplier> ready;
  std::string line;
  while (std::getline(std::cin, line) && line != "quit") {
    const std::size_t gap = line.find(' ');
    const std::string word = line.substr(0, gap), rest = gap == line.npos ? "" : line.substr(gap + 1);
    try {
      if (word == "matrix") {
        ready.reset();
        ready = make(rest);
        answer("ready %.9f %s", ready->seconds, library.c_str());
      } else if (ready && word == "result") {
        ready->write_result(rest);
        answer("written");
      } else if (ready && word == "time") {
        answer("took %.9f", ready->time(std::stoi(rest)));
      } else {
        answer("cannot do '%s'", line.c_str());
      }
    } catch (const std::bad_alloc&) {
      answer("cannot out of memory");
    } catch (const std::exception& e) {
      answer("cannot %s", e.what());
    }
  }
  return 0;
}

/// A multiplier for the file's precision.
template <template <class> class Multiplier>
std::unique_ptr<multiplier> make_in_its_precision(const std::string& path) {
  const matrix_file file(path);
  if (file.value_size == sizeof(float)) return std::make_unique<Multiplier<float>>(file);
  return std::make_unique<Multiplier<double>>(file);
}

/// For libraries that count entries in 32 bits.
inline void require_short(const matrix_file& file) {
  if (file.nnz > INT32_MAX) throw cannot("more than 2^31 entries");
}

}  // namespace peers
