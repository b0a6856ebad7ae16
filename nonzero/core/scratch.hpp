#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace nz {

/// Memory that a const function writes while it runs. Calls at the same time have one T each: `reserved` are
/// made with this, others when they are first needed; most are kept. Neither locks nor waits.
template <class T> class scratch {
 public:
  explicit scratch(std::function<T()> make, int reserved = 1) : make_(std::move(make)) {
    for (int i = 0; i < reserved; ++i) put_back(make_one());
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  /// How many there are.
  int count() const { return count_.load(std::memory_order_relaxed); }

  /// One that nobody else has, until this goes out of scope.
  class lease {
   public:
    explicit lease(const scratch& from) : from_(from), what_(from.take()) {}
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease() { from_.put_back(what_); }
    T& operator*() const { return *what_; }
    T* operator->() const { return what_; }

   private:
    const scratch& from_;
    T* what_;
  };

 private:
  static constexpr int most_kept = 64;

  T* take() const {
    for (std::atomic<T*>& place : idle_.places)
      if (place.load(std::memory_order_relaxed) != nullptr)
        if (T* const found = place.exchange(nullptr, std::memory_order_acquire)) return found;
    return make_one();
  }
  T* make_one() const {
    T* const made = new T(make_());
    count_.fetch_add(1, std::memory_order_relaxed);
    return made;
  }
  void put_back(T* what) const {
    for (std::atomic<T*>& place : idle_.places) {
      T* none = nullptr;
      if (place.load(std::memory_order_relaxed) == nullptr &&
          place.compare_exchange_strong(none, what, std::memory_order_release, std::memory_order_relaxed))
        return;
    }
    delete what;
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// A member, so that what was made is deleted where the constructor of a scratch fails, too.
  struct kept {
    std::array<std::atomic<T*>, most_kept> places{};
    ~kept() {
      for (const std::atomic<T*>& place : places) delete place.load(std::memory_order_acquire);
    }
  };

  std::function<T()> make_;
  mutable kept idle_;
  mutable std::atomic<int> count_{0};
};

}  // namespace nz
