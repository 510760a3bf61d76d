/* SPDX-License-Identifier: Apache-2.0 */
/* The other half of far.cu. */
#include "reduce.h"

__device__ __noinline__ float elsewhere(float x, int n)
{
	float s = x;
	for (int i = 0; i < n; i++)
		s = normalized(s, i + 1);
	return s;
}

extern __global__ void calls_far(float *p, int n);

__global__ void near(float *p)
{
	p[threadIdx.x] = elsewhere(p[threadIdx.x], 3);
}

int main()
{
	float *p = nullptr;
	near<<<1, 1>>>(p);
	calls_far<<<1, 1>>>(p, 1);
	return 0;
}
