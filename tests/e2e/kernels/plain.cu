// SPDX-License-Identifier: Apache-2.0
// What clang compiles without NVIDIA's headers: tests/e2e/test_cuda_jit.py.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

static inline __device__ float square(float x)
{
	return x * x;
}

static inline __device__ float fourth(float x)
{
	return square(square(x)) + 1;
}

__attribute__((noinline)) __device__ float apart(float x, float y)
{
	return x / y;
}

__global__ void plain(float *p, int n)
{
	float v = p[n];
	p[n] = fourth(v);
	p[n + 1] = apart(v, p[n + 2]);
}
