#pragma once

#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// Stands for file systems that cannot do everything, and for the moment at which a process is killed.

/// From now on the system call of that number does `action` (SECCOMP_RET_...) for this process, where its
/// third argument has one of these bits (0: always). False where the system does not allow that.
inline bool change_system_call(long number, std::uint32_t action, std::uint32_t bits = 0) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, bits == 0 ? 0 : UINT32_MAX, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// What the C library may call for rename().
inline constexpr long rename_calls[] = {
#ifdef SYS_rename
    SYS_rename,
#endif
    SYS_renameat, SYS_renameat2};

inline bool refuse_system_call(long number, int reason, std::uint32_t bits = 0) {
  return change_system_call(number, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(reason), bits);
}
