/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions that need no module: identities of a file, demangling, the version. */
#include "unhex/ids.h"

#include "cubin.h"
#include "demangle.h"
#include "fatbin.h"
#include "id.h"
#include "object.h"
#include "public.h"
#include "unhex/demangle.h"
#include "unhex/version.h"

static_assert((size_t)UX_IDS_MAX >= (size_t)UX_ID_SET_MAX, "a set fits the caller's struct");

static enum ux_code ids_of_file(struct ux_bytes file, struct ux_id_set *ret, struct ux_error *err)
{
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	UX_TRY(ux_object_open_headers(file, &object, err));
	UX_TRY(ux_object_ids(object, ret, err));
	return ux_cubin_is(file) ? ux_cubin_ids(file, ret, err) : UX_OK;
}

enum ux_code ux_ids_read(const struct ux_input *in, struct ux_ids *ret, struct ux_error *err)
{
	ux_cleanup(ux_opened_close) struct ux_opened file = {0};
	struct ux_id_set set = {0};
	UX_TRY(ux_opened_open(&file, in, err));
	UX_TRY(ids_of_file(file.bytes, &set, err));
	memset(ret, 0, sizeof(*ret));
	ret->n = set.size;
	for (size_t i = 0; i < set.size; i++)
		ux_id_format(&set.ids[i], ret->text[i]);
	return UX_OK;
}

size_t ux_demangle_name(const char *name, enum ux_demangle_mode mode, char *buf, size_t size)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_bytes plain = ux_bytes_cstr(name);
	ux_demangle(plain, mode, &out);
	struct ux_bytes text = out.failed ? plain : ux_out_bytes(&out);
	if (size == 0)
		return text.size;
	size_t n = ux_min(text.size, size - 1);
	if (n > 0)
		memcpy(buf, text.data, n);
	buf[n] = 0;
	return text.size;
}

const char *ux_version(void)
{
	return UX_VERSION;
}
