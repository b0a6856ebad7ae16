#include <fmt/format.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/cpu/targets.hpp>
#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/io/generate.hpp>

#include "options.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

/// A kernel of the same name on another device may have another summary: then it has a line of its own.
std::string devices_of(const kernel_row& of) {
  std::string out;
  for (const kernel_row& kernel : kernels())
    if (kernel.name == of.name && kernel.summary == of.summary)
      out += (out.empty() ? "" : ", ") + std::string(name_of(kernel.runs_on));
  return out;
}

void print_tables() {
  table format_table({"format", ""});
  for (const format_row& format : formats())
    format_table.add({std::string(format.name), std::string(format.summary)});
  table kernel_table({"kernel", "format", "runs on", "repeatable", ""});
  for (const kernel_row& kernel : kernels()) {
    const std::string devices = devices_of(kernel);
    if (!devices.starts_with(name_of(kernel.runs_on))) continue;  // the first of these rows names all devices
    kernel_table.add({std::string(kernel.name), std::string(kernel.format), devices,
                      kernel.is_repeatable ? "yes" : "no", std::string(kernel.summary)});
  }
  table generator_table({"generator", "parameters", ""});
  for (const generate::kind& kind : generate::kinds())
    generator_table.add({std::string(kind.name), std::string(kind.parameters), std::string(kind.summary)});
  table device_table({"device", ""});
  for (const auto& device : devices())
    device_table.add({std::string(name_of(device->kind())), device->description()});
  try {
    cuda_devices();
  } catch (const device_error& e) {
    device_table.add({"cuda", yellow("fails: ") + e.what()});
  }
  table simd_table({"instruction set", ""});
  for (const std::string_view name : simd_targets())
    simd_table.add({std::string(name), name == simd_targets().front() ? "used by the CPU's kernels" : ""});
  print(bold("Formats") + "\n" + format_table.text());
  print("\n" + bold("Kernels") + "\n" + kernel_table.text());
  print("\n" + bold("Generators") + "\n" + generator_table.text());
  print("\n" + bold("Devices") + "\n" + device_table.text());
  print("\n" + bold("Instruction sets") + "\n" + simd_table.text());
}

json json_of_all() {
  std::vector<json> format_rows, kernel_rows, generators, simd;
  std::vector<json> device_rows = {{{"name", "cpu"}, {"threads", thread_count(0)}},
                                   {{"name", "emulator"}, {"threads", thread_count(0)}}};
  for (const format_row& format : formats())
    format_rows.push_back({{"name", format.name}, {"summary", format.summary}});
  for (const kernel_row& kernel : kernels())
    kernel_rows.push_back({{"name", kernel.name},
                           {"format", kernel.format},
                           {"runs_on", name_of(kernel.runs_on)},
                           {"repeatable", kernel.is_repeatable},
                           {"peer", kernel.is_peer},
                           {"candidate", kernel.is_candidate},
                           {"summary", kernel.summary}});
  for (const generate::kind& kind : generate::kinds())
    generators.push_back({{"name", kind.name}, {"parameters", kind.parameters}, {"summary", kind.summary}});
  for (const std::string_view name : simd_targets())
    simd.push_back({{"name", name}, {"used", name == simd_targets().front()}});
  json failure = json::object();
  try {
    for (const cuda_properties& gpu : cuda_devices())
      device_rows.push_back(
          {{"name", "cuda"},
           {"model", gpu.name},
           {"memory_bytes", gpu.memory_bytes},
           {"compute_capability", fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor)}});
  } catch (const device_error& e) {
    failure = {{"cuda_failure", e.what()}};
  }
  return joined({{"formats", format_rows},
                 {"kernels", kernel_rows},
                 {"generators", generators},
                 {"devices", device_rows},
                 {"instruction_sets", simd}},
                failure);
}

void run(const bool& as_json) { as_json ? print_json(json_of_all()) : print_tables(); }

}  // namespace

void set_up_list(command& c) {
  c.json(c.runs(run));
  c.footer(
      R"(A repeatable kernel gives the same bits every time; the CPU kernels also for any number of threads. The option
--simd of other commands selects another instruction set.

Examples:
  nz list
  nz list --json | jq -r '.kernels[].name')");
}

}  // namespace nz::cli
