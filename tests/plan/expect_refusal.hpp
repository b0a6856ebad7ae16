#pragma once

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

/// Expects that `body` throws E, with a message that holds all of `words`.
template <class E> void expect_refusal(const auto& body, std::initializer_list<std::string> words) {
  try {
    body();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& e) {
    for (const std::string& word : words)
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
  }
}
