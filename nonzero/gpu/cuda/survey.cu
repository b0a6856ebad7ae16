#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/survey.cuh>

namespace nz {

template <class V> device_surveys<V> cuda_surveys() { return gpu::surveys_on<cuda_queue, V>; }

template device_surveys<float> cuda_surveys();
template device_surveys<double> cuda_surveys();

}  // namespace nz
