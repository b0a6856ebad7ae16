#include <string>

#include <nonzero/kernel/kernel_row.hpp>

namespace nz {

namespace {

void require_kind(device_kind wanted, const device& on) {
  if (on.kind() != wanted)
    throw device_error("a kernel for the device '" + std::string(name_of(wanted)) + "' cannot run on '" +
                       std::string(name_of(on.kind())) + "'");
}

}  // namespace

std::shared_ptr<device> device_for(device_kind kind, const prepare_options& options,
                                   std::shared_ptr<device> (*otherwise)()) {
  if (!options.on) return otherwise();
  require_kind(kind, *options.on);
  return options.on;
}

template <class V>
const std::shared_ptr<device>& device_of(const device_csr<V>& a, device_kind kind,
                                         const prepare_options& options) {
  require_kind(kind, *a.where());
  if (options.on && options.on != a.where())
    throw device_error("the matrix is on " + a.where()->description() +
                       ", not on the device asked for: " + options.on->description());
  return a.where();
}

template const std::shared_ptr<device>& device_of(const device_csr<float>&, device_kind,
                                                  const prepare_options&);
template const std::shared_ptr<device>& device_of(const device_csr<double>&, device_kind,
                                                  const prepare_options&);

void kernel_row::refuse_placed() const {
  throw unsupported("the kernel '" + std::string(name) + "' of the device '" + std::string(name_of(runs_on)) +
                    "' takes no matrix in a device's memory; prepare it from a csr of the host");
}

std::vector<kernel_row> join(std::initializer_list<std::span<const kernel_row>> parts) {
  std::vector<kernel_row> all;
  for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace nz
