/* SPDX-License-Identifier: Apache-2.0 */
/* Names and checks of the facts about a build. */
#include "provenance.h"

#include <string.h>

enum {
	REVISION_SHA1 = 40,
	REVISION_SHA256 = UX_GIT_REVISION_MAX,
};

static size_t provenance_digits(const char *text)
{
	size_t n = strspn(text, "0123456789abcdef");
	return text[n] == '\0' ? n : 0;
}

const char *ux_provenance_name(enum ux_provenance_fact fact)
{
	static const char *const names[UX_PROVENANCE_COUNT] = {
		[UX_GIT_REVISION] = "git_revision",
		[UX_GIT_BRANCH] = "git_branch",
		[UX_GIT_REPOSITORY] = "git_repository",
		[UX_CI_RUN] = "ci_run",
		[UX_DISTRIBUTION] = "distribution",
		[UX_SUITE] = "suite",
		[UX_PACKAGE] = "package",
		[UX_PACKAGE_VERSION] = "package_version",
		[UX_PACKAGE_SHA256] = "package_sha256",
		[UX_HOST] = "host",
		[UX_OWNER] = "owner",
		[UX_MOUNT_NAMESPACE] = "mount_namespace",
	};
	return names[fact];
}

static const char *const trust_names[UX_TRUST_COUNT] = {
	[UX_TRUST_NONE] = "",     [UX_TRUST_USER] = "user", [UX_TRUST_CONTAINER] = "container",
	[UX_TRUST_HOST] = "host", [UX_TRUST_CI] = "ci",     [UX_TRUST_PACKAGE] = "package",
};

const char *ux_trust_name(enum ux_trust trust)
{
	return trust_names[trust];
}

bool ux_trust_parse(struct ux_bytes text, enum ux_trust *ret)
{
	for (int i = UX_TRUST_NONE + 1; i < UX_TRUST_COUNT; i++) {
		if (!ux_bytes_eq(text, ux_bytes_cstr(trust_names[i])))
			continue;
		*ret = (enum ux_trust)i;
		return true;
	}
	return false;
}

bool ux_provenance_is_known(const struct ux_provenance *p)
{
	for (size_t i = 0; i < UX_PROVENANCE_COUNT; i++)
		if (p->facts[i] && p->facts[i][0] != '\0')
			return true;
	return false;
}

struct ux_provenance ux_provenance_without_host(const struct ux_provenance *p)
{
	struct ux_provenance ret = *p;
	ret.facts[UX_HOST] = ret.facts[UX_OWNER] = ret.facts[UX_MOUNT_NAMESPACE] = NULL;
	return ret;
}

bool ux_git_is_revision(const char *text)
{
	size_t n = provenance_digits(text);
	return n == REVISION_SHA1 || n == REVISION_SHA256;
}

bool ux_git_is_prefix(const char *text)
{
	size_t n = provenance_digits(text);
	return n >= UX_GIT_PREFIX_MIN && n <= UX_GIT_REVISION_MAX;
}
