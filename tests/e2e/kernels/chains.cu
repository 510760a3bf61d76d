/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined calls three deep, templates, several kernels, a function that stays out of line. */
template <typename T> __device__ __forceinline__ T square(T x)
{
	return x * x;
}

template <typename T> __device__ __forceinline__ T quad(T x)
{
	T y = square(x);
	return y * square(y);
}

__device__ __forceinline__ float sum_of_quads(float x, int n)
{
	float s = 0;
	for (int i = 0; i < n; i++)
		s += quad(x + i);
	return s;
}

__device__ __noinline__ double apart(double a, float b)
{
	return a / b + sqrt(a) * quad(b);
}

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = sum_of_quads(a[i], n) + apart(b[i], a[i]);
}

template <typename T, int N> __global__ void scale(T *p)
{
	int i = threadIdx.x;
#pragma unroll
	for (int k = 0; k < N; k++)
		p[i * N + k] = quad(p[i * N + k]);
}

template __global__ void scale<double, 4>(double *);
template __global__ void scale<int, 3>(int *);
