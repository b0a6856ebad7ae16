#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace nz {

/// Memory that a const function writes while it runs. Calls at the same time have one T each: the first is
/// made with this, others when they are first needed; most are kept. Neither locks nor waits.
template <class T> class scratch {
 public:
  explicit scratch(std::function<T()> make) : make_(std::move(make)) { put_back(new T(make_())); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    for (const std::atomic<T*>& place : idle_) delete place.load(std::memory_order_acquire);
  }

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
    for (std::atomic<T*>& place : idle_)
      if (place.load(std::memory_order_relaxed) != nullptr)
        if (T* const found = place.exchange(nullptr, std::memory_order_acquire)) return found;
    return new T(make_());
  }
  void put_back(T* what) const {
    for (std::atomic<T*>& place : idle_) {
      T* none = nullptr;
      if (place.load(std::memory_order_relaxed) == nullptr &&
          place.compare_exchange_strong(none, what, std::memory_order_release, std::memory_order_relaxed))
        return;
    }
    delete what;
  }

  std::function<T()> make_;
  mutable std::array<std::atomic<T*>, most_kept> idle_{};
};

}  // namespace nz
