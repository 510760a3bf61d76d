/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kinds and roles of packages, and the hashes in their keys. */
#include "package.h"

#include "text.h"

static const char *const kind_names[UX_PACKAGE_KIND_COUNT] = {
	[UX_PACKAGE_DEB] = "deb",       [UX_PACKAGE_RPM] = "rpm",     [UX_PACKAGE_APK] = "apk",
	[UX_PACKAGE_PACMAN] = "pacman", [UX_PACKAGE_LAYER] = "layer", [UX_PACKAGE_DSC] = "dsc",
};

static const char *const role_names[UX_PACKAGE_ROLE_COUNT] = {
	[UX_PACKAGE_STRIPPED] = "stripped",
	[UX_PACKAGE_DEBUG] = "debug",
	[UX_PACKAGE_SOURCE] = "source",
};

/* Returns the number of a name; n if unknown. */
static size_t package_find_name(const char *const *names, size_t n, const char *name)
{
	size_t i = 0;
	while (i < n && strcmp(names[i], name) != 0)
		i++;
	return i;
}

const char *ux_package_kind_name(enum ux_package_kind kind)
{
	return (unsigned)kind < UX_PACKAGE_KIND_COUNT ? kind_names[kind] : "unknown";
}

bool ux_package_kind_parse(const char *name, enum ux_package_kind *ret)
{
	size_t i = package_find_name(kind_names, UX_PACKAGE_KIND_COUNT, name);
	*ret = (enum ux_package_kind)i;
	return i < UX_PACKAGE_KIND_COUNT;
}

const char *ux_package_role_name(enum ux_package_role role)
{
	return (unsigned)role < UX_PACKAGE_ROLE_COUNT ? role_names[role] : "unknown";
}

bool ux_package_role_parse(const char *name, enum ux_package_role *ret)
{
	size_t i = package_find_name(role_names, UX_PACKAGE_ROLE_COUNT, name);
	*ret = (enum ux_package_role)i;
	return i < UX_PACKAGE_ROLE_COUNT;
}

/* Both versions of the keys of an .apk. */
static const struct {
	const char *prefix;
	bool sha256;
} apk_keys[] = {{"apk:", false}, {"apk3:", true}};

void ux_package_apk_key(const struct ux_apk_identity *id, char key[UX_PACKAGE_APK_KEY])
{
	char hex[2 * UX_PACKAGE_APK_BYTES + 1];
	ux_hex_encode(ux_bytes(id->hash, id->size), hex);
	(void)snprintf(key, UX_PACKAGE_APK_KEY, "%s%s", apk_keys[id->sha256 ? 1 : 0].prefix, hex);
}

struct ux_package_hash ux_package_hash_of_key(const char *key)
{
	struct ux_package_hash h = {0};
	struct ux_bytes text = ux_bytes_cstr(key);
	size_t n = 0;
	for (size_t i = 0; i < ux_countof(apk_keys); i++) {
		const struct ux_bytes prefix = ux_bytes_cstr(apk_keys[i].prefix);
		if (!ux_bytes_starts(text, prefix))
			continue;
		struct ux_bytes hex = ux_bytes(text.data + prefix.size, text.size - prefix.size);
		h.apk.sha256 = apk_keys[i].sha256;
		if (ux_hex_decode(hex, h.apk.hash, sizeof(h.apk.hash), &n) &&
		    (n == UX_PACKAGE_SHA1_BYTES || (h.apk.sha256 && n == UX_PACKAGE_APK_BYTES)))
			h.apk.size = (unsigned)n;
		return h;
	}
	h.has_sha256 = ux_hex_decode(text, h.sha256, sizeof(h.sha256), &n) && n == sizeof(h.sha256);
	return h;
}
