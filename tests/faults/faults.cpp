// Loaded before other libraries (LD_PRELOAD), it lets the allocation with the number NZ_FAIL_AT fail, counted
// from 1: by malloc, and by all that libraries call beside it. Without that variable it prints how many there
// were.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

namespace {

std::atomic<long> allocations{0};

long number_to_fail() {
  static const long number = [] {
    const char* const text = getenv("NZ_FAIL_AT");
    return text == nullptr ? 0 : atol(text);
  }();
  return number;
}

std::atomic<bool> is_in_main{false};

bool fails() {
  if (!is_in_main || ++allocations != number_to_fail()) return false;
  errno = ENOMEM;
  return true;
}

int (*program)(int, char**, char**);

int begin(int argc, char** argv, char** environment) {
  is_in_main = true;
  return program(argc, argv, environment);
}

struct report {
  ~report() {
    if (getenv("NZ_FAIL_AT") == nullptr || number_to_fail() != 0) return;
    char text[32];
    const int length = snprintf(text, sizeof text, "%ld\n", allocations.load());
    if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) return;
  }
} at_exit;

}  // namespace

// glibc's own; dlsym(RTLD_NEXT) allocates.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) { return fails() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails() ? nullptr : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return fails() ? nullptr : __libc_realloc(old, size); }
void* memalign(size_t unit, size_t size) { return fails() ? nullptr : __libc_memalign(unit, size); }
void* aligned_alloc(size_t unit, size_t size) { return memalign(unit, size); }
int posix_memalign(void** out, size_t unit, size_t size) {
  void* const found = memalign(unit, size);
  if (found == nullptr) return ENOMEM;
  *out = found;
  return 0;
}

int __libc_start_main(int (*entry)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  program = entry;
  const auto original = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return original(begin, argc, argv, init, fini, rtld_fini, stack_end);
}

int pthread_create(pthread_t* id, const pthread_attr_t* how, void* (*body)(void*), void* with) {
  if (getenv("NZ_NO_THREADS") != nullptr) return EAGAIN;
  static const auto original =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return original(id, how, body, with);
}
}
