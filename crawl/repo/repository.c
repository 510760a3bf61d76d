/* SPDX-License-Identifier: Apache-2.0 */
/* A repository of packages. */
#include "repository.h"

#include "arena.h"
#include "repo_url.h"

#include <strings.h>

enum {
	SIGNATURE_MAX = 1 << 20,
	URL_MEMORY = 64 << 10,
};

/* Returns the word for a failure that its reader has not named. */
static const char *repository_cause(enum ux_code code)
{
	switch (code) {
	case UX_ECORRUPT:
		return "corrupt";
	case UX_ENOTFOUND:
		return "absent";
	case UX_EDENIED:
		return "denied";
	case UX_EUNAVAILABLE:
		return "unreachable";
	case UX_ELIMIT:
		return "limit";
	case UX_OK:
	case UX_ENOMEM:
	case UX_EUNSUPPORTED:
	case UX_EINVAL:
	case UX_EIO:
	case UX_ECONFLICT:
	case UX_CODE_COUNT:
		break;
	}
	return "other";
}

enum ux_code ux_repository_read(const struct ux_repository *r, struct ux_polite *client,
				const struct ux_repository_state *known, ux_package_fn *take,
				void *ctx, struct ux_repository_result *ret, struct ux_error *err)
{
	static ux_repository_reader *const readers[UX_REPOSITORY_FORM_COUNT] = {
		[UX_REPOSITORY_DEBIAN] = ux_debian_read, [UX_REPOSITORY_ALPINE] = ux_alpine_read,
		[UX_REPOSITORY_ARCH] = ux_arch_read,     [UX_REPOSITORY_RPM] = ux_rpm_read,
		[UX_REPOSITORY_IMAGE] = ux_image_read,
	};
	*ret = (struct ux_repository_result){0};
	enum ux_code code = readers[r->form](r, client, known, take, ctx, ret, err);
	if (code != UX_OK && !ret->cause)
		ret->cause = repository_cause(code);
	return code;
}

const char *ux_repository_file_cause(const struct ux_error *err)
{
	return err && strncmp(err->text, "truncated", 9) == 0 ? "truncated" : "hash";
}

/* Checks that an unsigned root is trusted: then the mirror's address is all that there is to trust.
 */
static enum ux_code repository_check_unsigned(const struct ux_repository *r, struct ux_error *err)
{
	const char *path = NULL;
	if (r->allow_unsigned || ux_repo_url_is_file(r->mirror, &path) ||
	    strncasecmp(r->mirror, "https://", 8) == 0)
		return UX_OK;
	return ux_error_set(
		err, UX_EDENIED,
		"bad signature: missing, and the mirror does not use https; use --keyring or "
		"--allow-unsigned");
}

static enum ux_code repository_check_root(const struct ux_repository *r, struct ux_polite *client,
					  const char *url, const char *ending, struct ux_bytes root,
					  struct ux_error *err)
{
	char name[UX_REPO_URL_MAX + 16];
	ux_cleanup(ux_file_unmap) struct ux_mapping signature = {0};
	struct ux_fetched f = {0};
	struct ux_error why = UX_ERROR_INIT;
	const struct ux_expected what = {.size = UINT64_MAX, .max = SIGNATURE_MAX};
	if (r->keys.n == 0)
		return repository_check_unsigned(r, err);
	snprintf(name, sizeof(name), "%s%s", url, ending);
	enum ux_code code = ux_polite_fetch(client, name, &what, NULL, &f, &why);
	if (code == UX_ENOTFOUND)
		return ux_error_set(err, UX_EDENIED, "bad signature: missing: %.100s", name);
	if (code != UX_OK) {
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	signature = f.file;
	return ux_signature_detached(&r->keys, root, signature.bytes, err);
}

enum ux_code ux_repository_fetch_root(const struct ux_repository *r, struct ux_polite *client,
				      const char *folder, const char *name, const char *ending,
				      const struct ux_repository_state *known, uint64_t max,
				      struct ux_repository_result *ret, struct ux_mapping *ret_file,
				      struct ux_error *err)
{
	UX_ARENA(arena, URL_MEMORY);
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_fetched f = {0};
	const char *url = NULL;
	const struct ux_expected what = {.size = UINT64_MAX, .max = max};
	bool has_known = known && known->known;
	UX_TRY(ux_repo_url_join(&arena, folder, ux_bytes_cstr(name), &url, err));
	UX_TRY(ux_polite_fetch(client, url, &what, has_known ? &known->validators : NULL, &f, err));
	file = f.file;
	ret->unchanged = f.answer.unchanged ||
			 (has_known && memcmp(known->sha256, f.sha256, sizeof(known->sha256)) == 0);
	if (ret->unchanged) {
		ret->state = *known;
		return UX_OK;
	}
	ret->state = (struct ux_repository_state){.validators = f.answer.validators, .known = true};
	memcpy(ret->state.sha256, f.sha256, sizeof(ret->state.sha256));
	enum ux_code code = repository_check_root(r, client, url, ending, file.bytes, err);
	if (code == UX_EDENIED || code == UX_EINVAL)
		ret->cause = "signature";
	UX_TRY(code);
	*ret_file = file;
	file = (struct ux_mapping){0};
	return UX_OK;
}
