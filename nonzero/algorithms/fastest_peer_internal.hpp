#pragma once

#include <memory>
#include <string>

#include <nonzero/formats/csr.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>

namespace nz {

template <class V> struct named_product {
  std::string kernel;
  std::unique_ptr<prepared_matrix<V>> prepared;
};

/// The matrix for the kernel of another library that multiplies it fastest on `on`, or for the one of that
/// name. Throws `unsupported` where that device has none.
template <class V>
named_product<V> prepare_fastest_peer(csr_view<V> a, const std::shared_ptr<device>& on,
                                      const std::string& kernel);

}  // namespace nz
