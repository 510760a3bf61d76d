/* SPDX-License-Identifier: Apache-2.0 */
#include "store_folder.h"

#include "serve.h"

#include <stdlib.h>

const char *ux_config_file(const char *option)
{
	const char *file = option ? option : getenv("UNHEX_CONFIG");
	return file && file[0] != '\0' ? file : NULL;
}

enum ux_code ux_folder_select(const struct ux_folder_values *values, struct ux_folder *ret,
			      struct ux_error *err)
{
	const struct ux_settings_source source = {.file = ux_config_file(values->config)};
	*ret = (struct ux_folder){0};
	enum ux_code code = ux_settings_load(&source, &ret->settings, err);
	if (code != UX_OK) /* the caller named a file that is not there, or says what it may not */
		return code == UX_ENOMEM ? code : UX_EINVAL;
	ret->index = values->index ? values->index : ret->settings->index;
	if (ret->index && !ux_index_is_url(ret->index))
		return ux_error_set(err, UX_EINVAL, "--index %.100s; expected postgres://HOST/NAME",
				    ret->index);
	ret->blobs = values->blobs ? values->blobs : ret->settings->blobs;
	ret->s3_endpoint = values->s3_endpoint ? values->s3_endpoint : ret->settings->s3_endpoint;
	const char *chosen = values->data ? values->data : ret->settings->data;
	if (!chosen)
		return ux_store_default_dir(&ret->dir, err);
	ret->dir = strdup(chosen);
	return ret->dir ? UX_OK : ux_error_nomem(err);
}

struct ux_store_place ux_folder_place(const struct ux_folder *f)
{
	struct ux_store_place place = ux_store_place_of(f->settings, f->dir);
	place.index = f->index;
	place.blobs = f->blobs;
	place.s3_endpoint = f->s3_endpoint;
	return place;
}

void ux_folder_deinit(struct ux_folder *f)
{
	ux_settings_destroy(f->settings);
	free(f->dir);
	*f = (struct ux_folder){0};
}
