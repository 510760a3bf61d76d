/* SPDX-License-Identifier: Apache-2.0 */
#include "store_folder.h"

#include "output.h"
#include "serve.h"

#include <stdlib.h>
#include <unistd.h>

const char *ux_config_file(const char *option)
{
	const char *file = option ? option : getenv("UNHEX_CONFIG");
	return file && file[0] != '\0' ? file : NULL;
}

/* Sets the default folder: for root the service's, if there is one. */
static enum ux_code folder_take_default(struct ux_folder *f, struct ux_error *err)
{
	const char *xdg = getenv("XDG_DATA_HOME");
	if (!f->service || (xdg && xdg[0] == '/'))
		return ux_store_default_dir(&f->dir, err);
	f->dir = strdup(f->service);
	if (!f->dir)
		return ux_error_nomem(err);
	ux_print_message("using the service's folder %s; choose another with --data", f->dir);
	return UX_OK;
}

/* Loads the settings: from the named file, or for root from the service's file. */
static enum ux_code folder_load_settings(const struct ux_folder_values *values, struct ux_folder *f,
					 struct ux_error *err)
{
	ux_cleanup(ux_service_deinit) struct ux_service service = {0};
	bool found = false;
	if (geteuid() == 0)
		UX_TRY(ux_service_find(&service, &found, err));
	f->service = ux_take(&service.dir);
	const char *named = ux_config_file(values->config);
	const struct ux_settings_source source = {.file = named || values->data ? named
										: service.config};
	return ux_settings_load(&source, &f->settings, err);
}

enum ux_code ux_folder_select(const struct ux_folder_values *values, struct ux_folder *ret,
			      struct ux_error *err)
{
	*ret = (struct ux_folder){0};
	enum ux_code code = folder_load_settings(values, ret, err);
	if (code != UX_OK) /* the named file is missing or invalid */
		return code == UX_ENOMEM ? code : UX_EINVAL;
	ret->index = values->index ? values->index : ret->settings->index;
	if (ret->index && !ux_index_is_url(ret->index))
		return ux_error_set(err, UX_EINVAL, "--index %.100s; expected postgres://HOST/NAME",
				    ret->index);
	ret->blobs = values->blobs ? values->blobs : ret->settings->blobs;
	ret->s3_endpoint = values->s3_endpoint ? values->s3_endpoint : ret->settings->s3_endpoint;
	const char *chosen = values->data ? values->data : ret->settings->data;
	if (!chosen)
		return folder_take_default(ret, err);
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

enum ux_code ux_folder_become_owner(const struct ux_folder *f, struct ux_error *err)
{
	bool is_new = access(f->dir, F_OK) != 0;
	return ux_service_become_owner(is_new && f->service ? f->service : f->dir, err);
}

void ux_folder_deinit(struct ux_folder *f)
{
	ux_settings_destroy(f->settings);
	free(f->dir);
	free(f->service);
	*f = (struct ux_folder){0};
}
