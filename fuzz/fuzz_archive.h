/* SPDX-License-Identifier: Apache-2.0 */
/* Code shared by targets that unpack archives: libarchive's functions, and the folder where the
 * pack is written. */
#ifndef UX_FUZZ_ARCHIVE_H
#define UX_FUZZ_ARCHIVE_H

#include "fuzz.h"

#include "bundle.h"

static inline int fuzz_archive_leave_out(struct archive *a)
{
	(void)a;
	return ARCHIVE_OK;
}

/*
 * Decoders of xz, lzma and zstd take the window that an input demands, up to gigabytes. The
 * confined child limits that; this process cannot, so they are left out.
 */
static inline struct ux_archive_calls *fuzz_archive_calls(void)
{
	static struct ux_archive_calls calls;
	static bool loaded;
	if (!loaded)
		fuzz_truth(ux_archive_load(&calls, NULL) == UX_OK);
	loaded = true;
	calls.archive_read_support_filter_lzma = fuzz_archive_leave_out;
	calls.archive_read_support_filter_xz = fuzz_archive_leave_out;
	calls.archive_read_support_filter_zstd = fuzz_archive_leave_out;
	return &calls;
}

#endif
