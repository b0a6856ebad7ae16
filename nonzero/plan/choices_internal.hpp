#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <nonzero/plan/plan.hpp>

// The file of choices that plans made before: JSON, one entry for each matrix, machine and set of options.
// Matrices are told apart by a hash of their shape and of a sample of their entries. Where two have the same
// hash, the second gets a kernel that may be slow for it; its products are right.
namespace nz {

struct remembered_choice {
  std::string kernel;
  bool is_reordered = false;
};

/// What Linux says of the processor: its name, or on ARM the numbers that stand for it. Empty where it says
/// nothing.
std::string processor_name();

/// What the choice depends on, as a key in the file: the matrix, of which formats/fingerprint.hpp has a
/// sample, the machine, which the report names, and the options.
std::string choice_key(std::span<const std::uint64_t> fingerprint, const plan_options& options,
                       const plan_report& report);

/// The choice of that key; none where there is none, or no file. Throws `parse_error` where the file holds
/// something else, `error` where the choice is missing and could not be added.
std::optional<remembered_choice> recall_choice(const std::string& file, const std::string& key);

/// Adds the choice, or replaces the one of that key. The file is written like every output_file: throws
/// `parse_error` where it holds something else, `error` where it cannot be written. Threads and processes
/// that add at the same time wait for each other. They do not where the system does not lock folders (NFS):
/// then one may lose its choice, and measures again.
void remember_choice(const std::string& file, const std::string& key, const plan_report& report);

}  // namespace nz
