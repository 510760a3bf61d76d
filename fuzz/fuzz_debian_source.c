/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: source packages of Debian: whatever their archives contain, the pack is readable, and
 * each file is inside of it and below the folder of the package.
 */
#include "fuzz_archive.h"

#include "debian_source.h"

enum {
	OUT_MAX = 1 << 20
};

FUZZ_TARGET(debian_source)(const uint8_t *data, size_t size)
{
	UX_ARENA(arena, 64 << 20);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_source_packer_deinit) struct ux_source_packer p = {.write = fuzz_collect,
									 .ctx = &out};
	struct ux_packed_source *list = NULL;
	struct ux_error err = UX_ERROR_INIT;
	size_t n = 0;
	if (!ux_debian_source_is(ux_bytes(data, size)))
		return 0;
	enum ux_code code = ux_debian_source_unpack(fuzz_archive_calls(), ux_bytes(data, size),
						    OUT_MAX, &p, &err);
	fuzz_truth(code == err.code);
	if (code != UX_OK)
		return 0;
	fuzz_truth(p.size <= OUT_MAX);
	fuzz_truth(ux_source_pack_read(ux_out_bytes(&out), &arena, &list, &n, NULL) == UX_OK);
	for (size_t i = 0; i < n; i++)
		fuzz_truth(strncmp(list[i].path, "/usr/src/", strlen("/usr/src/")) == 0);
	return 0;
}
