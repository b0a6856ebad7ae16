#pragma once

#include <gtest/gtest.h>

/// Fails the test, and ends this function, where a call of the CUDA run time does not succeed.
#define ASSERT_CUDA(call) ASSERT_STREQ(cudaGetErrorString(call), cudaGetErrorString(cudaSuccess)) << #call
