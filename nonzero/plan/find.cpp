#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/plan/kernels.hpp>

namespace nz {
namespace {

/// How many cards can be used; none where the driver fails, which whoever asks for one by name is told.
int usable_cards() {
  try {
    return static_cast<int>(cuda_devices().size());
  } catch (const device_error&) {
    return 0;
  }
}

/// 0 for "cuda", 1 for "cuda:1"; none for what is no card's name.
std::optional<int> card_number(std::string_view name) {
  if (name == "cuda") return 0;
  constexpr std::string_view prefix = "cuda:";
  constexpr std::size_t most_digits = 4;
  const std::string_view digits = name.starts_with(prefix) ? name.substr(prefix.size()) : "";
  const bool is_number = !digits.empty() && digits.size() <= most_digits &&
                         digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) return std::nullopt;
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
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
  if (runs_on == device_kind::cuda) cuda_device();  // says what is missing, if all are
  throw unsupported(fmt::format("there is no kernel '{}' for the device '{}'; there are {}", name,
                                name_of(runs_on), names_of(runs_there)));
}

const kernel_row& find_kernel(std::string_view name) {
  const kernel_row* found = nullptr;
  for (const kernel_row& kernel : kernels()) {
    if (kernel.name != name) continue;
    found = &kernel;
    if (kernel.runs_on != device_kind::cuda || usable_cards() > 0) return kernel;
  }
  if (found != nullptr) return *found;  // a peer that runs on a card only, and there is none
  throw unsupported(fmt::format("there is no kernel '{}'; there are {}", name,
                                names_of([](const kernel_row&) { return true; })));
}

std::vector<std::shared_ptr<device>> devices() {
  std::vector<std::shared_ptr<device>> all{cpu_device()};
  const int cards = usable_cards();
  for (int number = 0; number < cards; ++number) all.push_back(cuda_device(number));
  all.push_back(emulator_device());
  return all;
}

bool is_device_name(std::string_view name) {
  return name == name_of(device_kind::cpu) || name == name_of(device_kind::emulator) || card_number(name);
}

std::shared_ptr<device> find_device(std::string_view name) {
  if (name == "cpu") return cpu_device();
  if (name == "emulator") return emulator_device();
  if (const std::optional<int> number = card_number(name)) return cuda_device(*number);
  throw unsupported(
      fmt::format("there is no device '{}'; a device is cpu, cuda (or cuda:1, …) or emulator", name));
}

}  // namespace nz
