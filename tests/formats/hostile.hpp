#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <nonzero/core/errors.hpp>

template <class Format> void expect_refused(const Format& a, const std::string& reason) {
  try {
    validate(a);
    ADD_FAILURE() << "accepted: " << reason;
  } catch (const nz::shape_error& e) {
    EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
  }
}

/// Calls `body` with the number at `place` set to others: next to it, negative and huge. Then puts it back.
template <class T, class Body> void try_hostile(T& place, const Body& body) {
  using limits = std::numeric_limits<T>;
  const T before = place;
  const auto one_off = [&](int by) {
    return static_cast<T>(static_cast<std::uint64_t>(before) + static_cast<std::uint64_t>(by));
  };
  for (const T value : {one_off(-1), one_off(1), T{0}, static_cast<T>(-1), limits::min(), limits::max(),
                        static_cast<T>(limits::max() / 2), static_cast<T>(limits::max() - 1)}) {
    place = value;
    body();
  }
  place = before;
}
