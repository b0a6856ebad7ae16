#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nonzero/core/array.hpp>
#include <nonzero/io/zip_internal.hpp>

// NumPy's .npy, the format of the members of an .npz: a header in Python's notation, then one array.
namespace nz::npy {

inline constexpr std::string_view magic = "\x93NUMPY";

/// A header. `{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }` is kind f, bytes 8, shape 3.
struct header {
  std::string descr;
  char kind = 0;            // f: floating point, i: integer, u: unsigned, b: boolean, S: bytes, U: UTF-32
  std::uint64_t bytes = 0;  // of an element
  std::vector<std::uint64_t> shape;
};

/// Parses the text of a header. Throws `parse_error`, and `unsupported` for types that are not read
/// (big-endian, complex, structured, …); messages start with `where`.
header parse_header(std::string_view text, const std::string& where);

/// The length of an array that begins with `start`, header and all; nothing if that is too short to tell.
std::optional<std::uint64_t> length_of(std::string_view start, const std::string& where);

/// The start of a file: magic, version 1.0 and a header padded to a multiple of 64 bytes.
std::string make_header(std::string_view descr, std::string_view shape);

inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// How many elements a member declares in its header; its size makes that number possible.
std::uint64_t count_of(const zip_file& file, const zip_entry& entry, std::uint64_t limit = no_limit);

/// Reads a member as an array of one dimension, converted to To: index and offset from integers, float and
/// double from integers, booleans and floating point. Throws `parse_error` for a value that To cannot hold,
/// for more than `limit` elements, and unless the member ends where the array does. Memory grows with the
/// data that is read, not with what the header declares. `progress` gets the fraction read; it may be empty.
template <class To>
array<To> read_array(const zip_file& file, const zip_entry& entry, std::uint64_t limit = no_limit,
                     const std::function<void(double)>& progress = {});

/// The same where the array may also be one row or one column of two dimensions: a member, or a .npy file.
/// The start of messages is `where`.
template <class To> array<To> read_vector(const zip_file& file, const zip_entry& entry);
template <class To> array<To> read_vector(byte_stream& in, const std::string& where);

/// Reads a member as a short text: a single element of kind S or U, ASCII.
std::string read_text(const zip_file& file, const zip_entry& entry);

}  // namespace nz::npy
