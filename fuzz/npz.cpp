// Any bytes as a whole .npz. Zip's check sums keep most changes from getting far: see npz_members.

#include <fuzz/npz_check.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::check_npz(bytes, size);
  return 0;
}
