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

const std::shared_ptr<device>& device_of(const std::shared_ptr<device>& where, device_kind kind,
                                         const prepare_options& options) {
  require_kind(kind, *where);
  if (options.on && options.on != where)
    throw device_error("the matrix is on " + where->description() +
                       ", not on the device asked for: " + options.on->description());
  return where;
}

void kernel_row::refuse(bool on_device) const {
  if (on_device && runs_on == device_kind::cpu)
    throw unsupported(
        "the kernel '" + std::string(name) +
        "' runs on the CPU and takes no matrix in a device's memory; prepare it from a csr of the host");
  throw unsupported("the kernel '" + std::string(name) + "' of the device '" + std::string(name_of(runs_on)) +
                    "' does not exist for these value types");
}

std::vector<kernel_row> join(std::initializer_list<std::span<const kernel_row>> tables) {
  std::vector<kernel_row> all;
  for (const auto table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace nz
