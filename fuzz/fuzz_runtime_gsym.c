/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: run-time code as GSYMs. The first byte: bit 0: a jitdump, else a perf map; the other
 * bits: how much of the file was known before. The output must be sound, with its spans in order.
 */
#include "fuzz.h"

#include "extract.h"
#include "gsym_inspect.h"
#include "gsym_reader.h"

static enum ux_code take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	ux_out_put(ctx, bytes.data, bytes.size);
	return ux_out_status(ctx, err);
}

static void check_parts(struct ux_bytes left, const struct ux_runtime_request *what, size_t size)
{
	struct ux_runtime_part part;
	struct ux_bytes gsym;
	struct ux_error err = UX_ERROR_INIT;
	int64_t from = what->from_ns;
	size_t n = 0;
	for (; ux_runtime_part_next(&left, &part, &gsym, &err); n++) {
		struct ux_gsym g;
		struct ux_error why = UX_ERROR_INIT;
		fuzz_truth(ux_gsym_open(&g, gsym, &why) == UX_OK);
		fuzz_truth(ux_gsym_verify(&g, NULL, &why) == UX_OK);
		fuzz_truth(part.functions > 0);
		fuzz_truth(part.from_ns >= from && part.until_ns >= part.from_ns);
		fuzz_truth(part.until_ns <= what->until_ns && part.used <= size);
		from = part.from_ns;
	}
	fuzz_truth(err.code == UX_OK);
	fuzz_truth(n <= UX_RUNTIME_PARTS_MAX);
}

FUZZ_TARGET(runtime_gsym)(const uint8_t *data, size_t size)
{
	struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_runtime_span span;
	if (size == 0)
		return 0;
	struct ux_bytes file = ux_bytes(data + 1, size - 1);
	const struct ux_runtime_request what = {
		.format = (data[0] & 1) != 0 ? UX_RUNTIME_JITDUMP : UX_RUNTIME_PERF_MAP,
		.known = file.size * (data[0] >> 1) / 128,
		.wall_ns = 1000,
		.from_ns = 2000,
		.until_ns = 1000000000,
	};
	enum ux_code code = ux_runtime_gsym_write(file, &what, take, &out, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code == UX_OK)
		check_parts(ux_out_bytes(&out), &what, file.size);
	else
		fuzz_truth(code != UX_ENOMEM);
	ux_out_deinit(&out);
	if (ux_runtime_path_parse(file, &span)) {
		char path[UX_RUNTIME_PATH_MAX];
		struct ux_runtime_span again;
		ux_runtime_path_format(&span, path);
		fuzz_truth(ux_runtime_path_parse(ux_bytes_cstr(path), &again));
		fuzz_truth(again.pid == span.pid && again.from_ns == span.from_ns);
	}
	return 0;
}
