/* SPDX-License-Identifier: Apache-2.0 */
/* Counts attempts at requests. */
#include "s3_request.h"

#include "clock.h"

const unsigned ux_s3_durations_ms[UX_S3_DURATIONS] = {2, 5, 10, 25, 100, 250, 1000, 5000, 15000};

static void s3_count_add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

void ux_s3_count(struct ux_s3_counts *counts, const struct ux_s3_request *r,
		 const struct ux_http_answer *answer, enum ux_s3_result result, int64_t began_ns)
{
	const int64_t ns = ux_clock_ns() - began_ns;
	size_t i = 0;
	s3_count_add(&counts->requests[r->method][result], 1);
	s3_count_add(&counts->sent, r->from_file ? r->size : r->body.size);
	if (r->method != UX_METHOD_HEAD)
		s3_count_add(&counts->received,
			     answer->length != UINT64_MAX ? answer->length : answer->body.size);
	s3_count_add(&counts->duration_us, (uint64_t)ns / 1000);
	while (i < UX_S3_DURATIONS && ns > (int64_t)ux_s3_durations_ms[i] * 1000000)
		i++;
	s3_count_add(&counts->durations[i], 1);
}
