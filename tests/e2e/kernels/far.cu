/* SPDX-License-Identifier: Apache-2.0 */
/* With near.cu: functions of two files, compiled with -dc and linked by nvlink. */
#include "reduce.h"

extern __device__ float elsewhere(float x, int n);

__global__ void calls_far(float *p, int n)
{
	int i = threadIdx.x;
	p[i] = elsewhere(combine(p[i], n), n);
}
