/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: references to images, and challenges of registries: a name cannot leave its path, a value
 * is part of the challenge.
 */
#include "fuzz.h"

#include "registry.h"

static void check_reference(const char *text)
{
	struct ux_image_reference r;
	if (ux_image_reference_parse(text, &r, NULL) != UX_OK)
		return;
	fuzz_truth(r.host[0] != '\0' && r.name[0] != '\0' && r.tag[0] != '\0');
	fuzz_truth(!strstr(r.name, "..") && !strpbrk(r.name, "?#% \r\n") && r.name[0] != '/');
	fuzz_truth(!strpbrk(r.tag, "/?#% \r\n") && !strpbrk(r.host, "/?#%@ \r\n"));
}

static void check_challenge(const char *text)
{
	static const char *const names[] = {"realm", "service", "scope"};
	for (size_t i = 0; i < ux_countof(names); i++) {
		char value[64];
		bool there = ux_challenge_parameter(text, names[i], value, sizeof(value));
		fuzz_truth(there == (value[0] != '\0'));
		fuzz_truth(!there || strstr(text, value));
	}
}

static void check_blob_url(const char *text)
{
	struct ux_image_reference r;
	if (!ux_registry_is_blob_url(text, &r))
		return;
	fuzz_truth(ux_digest_is(r.tag) && r.host[0] != '\0' && r.name[0] != '\0');
	fuzz_truth(!strpbrk(r.name, "?#% \r\n") && strstr(text, r.name));
}

FUZZ_TARGET(registry)(const uint8_t *data, size_t size)
{
	char text[4096];
	size_t n = ux_min(size, sizeof(text) - 1);
	memcpy(text, data, n);
	text[n] = '\0';
	check_reference(text);
	check_challenge(text);
	check_blob_url(text);
	return 0;
}
