#include <string>

#include <nonzero/formats/kernel_row.hpp>

namespace nz {

std::shared_ptr<device> device_for(device_kind kind, const prepare_options& options,
                                   std::shared_ptr<device> (*otherwise)()) {
  if (!options.on) return otherwise();
  if (options.on->kind() != kind)
    throw device_error("a kernel for the device '" + std::string(name_of(kind)) + "' cannot run on '" +
                       std::string(name_of(options.on->kind())) + "'");
  return options.on;
}

std::vector<kernel_row> join(std::initializer_list<std::span<const kernel_row>> parts) {
  std::vector<kernel_row> all;
  for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace nz
