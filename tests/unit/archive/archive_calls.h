/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of archives: libarchive, and a source and a target for bytes. */
#ifndef TEST_ARCHIVE_CALLS_H
#define TEST_ARCHIVE_CALLS_H

#include "bundle.h"
#include "out.h"

#include <stdio.h>

static struct ux_archive_calls calls;

static int load(void **state)
{
	struct ux_error err = UX_ERROR_INIT;
	(void)state;
	if (ux_archive_load(&calls, &err) != UX_OK)
		fprintf(stderr, "%s\n", err.text);
	return err.code == UX_OK ? 0 : -1;
}

static enum ux_code collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

#endif
