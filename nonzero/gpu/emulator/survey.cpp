#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/survey.cuh>

namespace nz {

template <class V> device_surveys<V> emulator_surveys() { return gpu::surveys_on<emulator_queue, V>; }

template device_surveys<float> emulator_surveys();
template device_surveys<double> emulator_surveys();

}  // namespace nz
