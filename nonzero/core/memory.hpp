#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace nz {

/// There is too little memory for what was asked; nothing was allocated. It is known beforehand: an
/// allocation may succeed, and the system ends the program when it uses the memory.
struct not_enough_memory : std::bad_alloc {
  explicit not_enough_memory(std::string message)
      : message_(std::make_shared<const std::string>(std::move(message))) {}
  const char* what() const noexcept override { return message_->c_str(); }

 private:
  std::shared_ptr<const std::string> message_;  // whose copies do not throw
};

/// The bytes of memory that this process could use now: what Linux says is available, or less where a cgroup
/// (of a container, say) limits it. `root` is the root of the file system, for tests.
std::uint64_t available_memory(const std::string& root = "/");

/// `bytes` for people: "1.4 GiB".
std::string format_bytes(std::uint64_t bytes);

/// Throws `not_enough_memory` unless so many bytes are available now. The message begins with `subject`: "out
/// of memory: a matrix of 3 rows takes".
void require_memory(std::string_view subject, std::uint64_t bytes);

}  // namespace nz
