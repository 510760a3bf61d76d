/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: archives that are pushed: whatever libarchive reads, the pack is readable, its members
 * are inside of it and of a known kind, and the output does not exceed the limit.
 */
#include "fuzz_archive.h"

#include "members.h"

enum {
	OUT_MAX = 1 << 20
};

static void check_pack(struct ux_bytes pack, enum ux_members_mode mode)
{
	UX_ARENA(arena, 64 << 20);
	struct ux_packed_source *list = NULL;
	size_t n = 0;
	/* A name that is only a slash is not canonical after the folder of its kind. */
	if (ux_source_pack_read(pack, &arena, &list, &n, NULL) != UX_OK)
		return;
	for (size_t i = 0; i < n; i++) {
		enum ux_member_kind kind = UX_MEMBER_OTHER;
		const char *name = NULL;
		struct ux_bytes content = UX_BYTES_NONE;
		fuzz_truth(ux_member_of_path(list[i].path, &kind, &name));
		fuzz_truth(name[0] == '/' && !strstr(name, "/../"));
		fuzz_truth(ux_bytes_sub(pack, list[i].off, list[i].size, &content));
		fuzz_truth(mode == UX_MEMBERS_CONTENTS || list[i].size == 0 ||
			   kind != UX_MEMBER_OTHER);
		fuzz_truth(mode != UX_MEMBERS_SYMBOLS ||
			   (kind != UX_MEMBER_OTHER && kind != UX_MEMBER_LINK &&
			    kind != UX_MEMBER_FOLDER));
	}
}

FUZZ_TARGET(members)(const uint8_t *data, size_t size)
{
	struct ux_archive_calls *calls = fuzz_archive_calls();
	calls->archive_read_support_format_zip =
		fuzz_archive_leave_out; /* same as for the filters */
	if (size == 0)
		return 0;
	enum ux_members_mode mode = (enum ux_members_mode)(data[0] % 3);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_source_packer_deinit) struct ux_source_packer packer = {.write = fuzz_collect,
									      .ctx = &out};
	if (size > 6 && memcmp(data + 1, "ADBc\2", 5) == 0)
		return 0; /* zstd, as above */
	(void)ux_member_kind(ux_bytes(data + 1, ux_min(size - 1, (size_t)UX_MEMBERS_HEAD)),
			     "a.tar.gz");
	enum ux_code code = ux_members_unpack(calls, ux_bytes(data + 1, size - 1), OUT_MAX, mode,
					      &packer, NULL);
	fuzz_truth(packer.size <= OUT_MAX);
	if (code == UX_OK)
		check_pack(ux_out_bytes(&out), mode);
	return 0;
}
