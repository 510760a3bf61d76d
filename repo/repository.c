/* SPDX-License-Identifier: Apache-2.0 */
/* A repository of packages. */
#include "repository.h"

/* The word for a failure whose reader has not named it. */
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
		[UX_REPOSITORY_DEBIAN] = ux_debian_read,
	};
	*ret = (struct ux_repository_result){0};
	enum ux_code code = readers[r->form](r, client, known, take, ctx, ret, err);
	if (code != UX_OK && !ret->cause)
		ret->cause = repository_cause(code);
	return code;
}
