#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/kernels.hpp>

namespace nz {
namespace {

/// How many devices can be used; none where the driver fails: find_device reports why.
int usable_devices(const back_end& of) {
  try {
    return of.device_count();
  } catch (const device_error&) {
    return 0;
  }
}

struct device_name {
  device_kind kind;
  int number;
};

/// {cuda, 0} for "cuda", {cuda, 1} for "cuda:1"; none for what is no device's name. Only cards have numbers.
std::optional<device_name> parse_device(std::string_view name) {
  constexpr std::size_t most_digits = 4;
  for (const device_kind kind : {device_kind::cpu, device_kind::emulator, device_kind::cuda}) {
    if (name == name_of(kind)) return device_name{kind, 0};
    const std::string prefix = std::string(name_of(kind)) + ":";
    if (kind != device_kind::cuda || !name.starts_with(prefix)) continue;
    const std::string_view digits = name.substr(prefix.size());
    const bool is_number = !digits.empty() && digits.size() <= most_digits &&
                           digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number) continue;
    int number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return device_name{kind, number};
  }
  return std::nullopt;
}

template <class Accepts> std::string names_of(Accepts accepts) {
  std::vector<std::string_view> names;
  for (const kernel_row& kernel : kernels())
    if (accepts(kernel) && std::find(names.begin(), names.end(), kernel.name) == names.end())
      names.push_back(kernel.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

const kernel_row& find_kernel(std::string_view name, device_kind runs_on) {
  const auto runs_there = [&](const kernel_row& kernel) { return kernel.runs_on == runs_on; };
  for (const kernel_row& kernel : kernels())
    if (kernel.name == name && runs_there(kernel)) return kernel;
  if (runs_on == device_kind::cuda) back_end_for(runs_on).find_device(0);  // throws where there is no card
  throw unsupported(fmt::format("there is no kernel '{}' for the device '{}'; there are {}", name,
                                name_of(runs_on), names_of(runs_there)));
}

const kernel_row& find_kernel(std::string_view name) {
  const kernel_row* found = nullptr;
  for (const kernel_row& kernel : kernels()) {
    if (kernel.name != name) continue;
    found = &kernel;
    if (usable_devices(back_end_for(kernel.runs_on)) > 0) return kernel;
  }
  if (found != nullptr) return *found;  // it runs on a card only, and there is none
  throw unsupported(fmt::format("there is no kernel '{}'; there are {}", name,
                                names_of([](const kernel_row&) { return true; })));
}

std::vector<std::shared_ptr<device>> devices() {
  std::vector<std::shared_ptr<device>> all;
  for (const back_end* each : back_ends())
    for (int number = 0, count = usable_devices(*each); number < count; ++number)
      all.push_back(each->find_device(number));
  return all;
}

bool is_device_name(std::string_view name) { return parse_device(name).has_value(); }

std::shared_ptr<device> find_device(std::string_view name) {
  if (const auto found = parse_device(name)) return back_end_for(found->kind).find_device(found->number);
  throw unsupported(
      fmt::format("there is no device '{}'; a device is cpu, cuda (or cuda:1, …) or emulator", name));
}

}  // namespace nz
