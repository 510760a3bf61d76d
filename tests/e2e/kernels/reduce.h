/* SPDX-License-Identifier: Apache-2.0 */
/* Code that kernels of another file inline. */
#ifndef REDUCE_H
#define REDUCE_H

struct pair {
	float sum, error;

	__device__ __forceinline__ void add(float x)
	{
		float y = x - error;
		float t = sum + y;
		error = (t - sum) - y;
		sum = t;
	}
};

__device__ __forceinline__ float combine(float a, float b)
{
	pair p = {a, 0};
	p.add(b);
	p.add(a * b);
	return p.sum - p.error;
}

__device__ __forceinline__ float normalized(float x, int n)
{
	return combine(x, x) / n;
}

#endif
