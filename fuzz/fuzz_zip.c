/* SPDX-License-Identifier: Apache-2.0 */
/* Target: a ZIP archive, its members, RECORD among them, and the archive with some of them
 * replaced. */
#include "fuzz.h"

#include "split.h"
#include "zip_file.h"

enum {
	READ_MAX = 1 << 20, /* most bytes read of one member: more only takes time */
};

static void read_member(const struct ux_zip_member *m, struct ux_bytes file)
{
	ux_cleanup(ux_out_deinit) struct ux_out content = {0}, record = {0};
	struct ux_wheel_change change = {m->name, UX_STR("new")};
	struct ux_error err = UX_ERROR_INIT;
	fuzz_truth(fuzz_inside(m->name, file) && fuzz_inside(m->data, file));
	if (m->size > READ_MAX)
		return;
	enum ux_code code = ux_zip_read(m, &content, &err);
	fuzz_truths_of_error(code, &err, file.size);
	if (code != UX_OK)
		return;
	fuzz_truth(content.size == m->size);
	err = (struct ux_error)UX_ERROR_INIT;
	code = ux_wheel_record_update(ux_out_bytes(&content), &change, 1, &record, &err);
	fuzz_truths_of_error(code, &err, content.size);
}

static void replace(const struct ux_zip_file *zip, const struct ux_zip_change *changes)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_zip_close) struct ux_zip_file again = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_zip_rewrite(zip, changes, fuzz_collect, &out, &err);
	fuzz_truths_of_error(code, &err, zip->file.size);
	if (code != UX_OK || ux_zip_open(&again, ux_out_bytes(&out), NULL) != UX_OK)
		return;
	fuzz_truth(again.members.size == zip->members.size);
}

FUZZ_TARGET(zip)(const uint8_t *data, size_t size)
{
	struct ux_bytes file = ux_bytes(data, size);
	ux_cleanup(ux_zip_close) struct ux_zip_file zip = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_zip_open(&zip, file, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code != UX_OK)
		return 0;
	struct ux_zip_change *changes = calloc(zip.members.size + 1, sizeof(*changes));
	fuzz_truth(changes != NULL);
	for (size_t i = 0; i < zip.members.size; i++) {
		read_member(&zip.members.data[i], file);
		changes[i] = (struct ux_zip_change){UX_STR("replaced"), i % 2 == 0};
	}
	replace(&zip, changes);
	free(changes);
	return 0;
}
