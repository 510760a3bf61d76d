/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of the bucket that stores the blobs, and of this node's copies of them. */
#include "serve.h"

#include "metric_text.h"
#include "s3_client.h"

static void bucket_put_requests(const struct ux_s3_counts *c, struct ux_out *out)
{
	static const char *const results[UX_S3_RESULTS] = {
		[UX_S3_OK] = "ok",
		[UX_S3_ABSENT] = "absent",
		[UX_S3_REFUSED] = "refused",
		[UX_S3_FAILED] = "failed",
	};
	static const enum ux_method methods[] = {UX_METHOD_GET, UX_METHOD_HEAD, UX_METHOD_PUT,
						 UX_METHOD_POST, UX_METHOD_DELETE};
	ux_metric_head(out, "unhex_bucket_requests_total", "counter",
		       "Request attempts to the bucket by result.");
	for (size_t i = 0; i < ux_countof(methods); i++)
		for (int k = 0; k < UX_S3_RESULTS; k++)
			ux_out_fmt(
				out,
				"unhex_bucket_requests_total{method=\"%s\",result=\"%s\"} %" PRIu64
				"\n",
				ux_method_name(methods[i]), results[k],
				atomic_load_explicit(&c->requests[methods[i]][k],
						     memory_order_relaxed));
}

static void bucket_put_durations(const struct ux_s3_counts *c, struct ux_out *out)
{
	static const char name[] = "unhex_bucket_request_duration_seconds";
	uint64_t sum = 0;
	ux_metric_head(out, name, "histogram", "Duration of request attempts to the bucket.");
	for (size_t i = 0; i <= UX_S3_DURATIONS; i++) {
		sum += atomic_load_explicit(&c->durations[i], memory_order_relaxed);
		if (i < UX_S3_DURATIONS)
			ux_out_fmt(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
				   (double)ux_s3_durations_ms[i] / 1e3, sum);
	}
	ux_out_fmt(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, sum);
	ux_out_fmt(out, "%s_sum %.6f\n%s_count %" PRIu64 "\n", name,
		   (double)atomic_load_explicit(&c->duration_us, memory_order_relaxed) / 1e6, name,
		   sum);
}

void ux_bucket_metrics(struct ux_store *s, struct ux_out *out)
{
	struct ux_blobs *b = s->blobs;
	struct ux_blob_copies copies;
	if (!b->copies)
		return;
	b->copies(b, &copies);
	const struct ux_s3_counts *c = ux_s3_get_counts(copies.s3);
	ux_metric_one(out, "unhex_bucket_up", "gauge",
		      "1 if the bucket's server answered the last request.",
		      ux_s3_is_up(copies.s3));
	bucket_put_requests(c, out);
	bucket_put_durations(c, out);
	ux_metric_one(out, "unhex_bucket_sent_bytes_total", "counter",
		      "Bytes of request bodies sent to the bucket.",
		      atomic_load_explicit(&c->sent, memory_order_relaxed));
	ux_metric_one(out, "unhex_bucket_received_bytes_total", "counter",
		      "Bytes of response bodies from the bucket.",
		      atomic_load_explicit(&c->received, memory_order_relaxed));
	ux_metric_one(out, "unhex_blob_copies", "gauge", "Cached copies of the bucket's files.",
		      copies.files);
	ux_metric_one(out, "unhex_blob_copy_bytes", "gauge",
		      "Bytes of cached copies of the bucket's files.", copies.bytes);
	ux_metric_one(out, "unhex_blob_copy_limit_bytes", "gauge",
		      "Maximum bytes of cached copies: the setting blob-cache; 0: no limit.",
		      copies.bytes_max);
	ux_metric_one(out, "unhex_blob_copy_hits_total", "counter",
		      "Opened files with a cached copy.", copies.hits);
	ux_metric_one(out, "unhex_blob_copy_misses_total", "counter",
		      "Opened files that had to be fetched completely.", copies.misses);
	ux_metric_one(out, "unhex_blob_copy_evictions_total", "counter",
		      "Cached copies removed to make room.", copies.evictions);
	ux_metric_one(out, "unhex_blob_part_bytes", "gauge",
		      "Bytes fetched of partially read GSYMs.", copies.view_bytes);
	ux_metric_one(out, "unhex_blobs_lost_total", "counter",
		      "Files of the index that the bucket was found to lack.",
		      atomic_load_explicit(&s->lost.lost, memory_order_relaxed));
	ux_metric_one(out, "unhex_blobs_compared_total", "counter",
		      "Files of the index that were compared with the list of the bucket.",
		      atomic_load_explicit(&s->lost.compared, memory_order_relaxed));
}
