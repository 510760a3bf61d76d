/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: manifests, signatures, keys and tar headers, chosen by the first byte. No path leads out
 * of the folder; written data reads back the same.
 */
#include "fuzz.h"

#include "manifest.h"
#include "minisign.h"
#include "tar_header.h"

static void manifest_input(struct ux_bytes text)
{
	struct ux_manifest m, again;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out first = {0}, second = {0};
	ux_manifest_init(&m);
	ux_manifest_init(&again);
	enum ux_code code = ux_manifest_read(text, &m, &err);
	fuzz_truths_of_error(code, &err, text.size);
	if (code == UX_OK) {
		for (size_t i = 0; i < m.objects.size; i++) {
			const char *path = m.objects.data[i].path;
			fuzz_truth(path[0] != '/' && path[0] != '.' && !strstr(path, "/."));
			fuzz_truth(ux_manifest_find(&m, path) == &m.objects.data[i]);
		}
		if (ux_manifest_write(&m, &first, NULL) != UX_OK)
			abort();
		fuzz_truth(ux_manifest_read(ux_out_bytes(&first), &again, NULL) == UX_OK);
		fuzz_truth(ux_manifest_write(&again, &second, NULL) == UX_OK);
		fuzz_truth(ux_bytes_eq(ux_out_bytes(&first), ux_out_bytes(&second)));
		code = ux_manifest_name(&again, NULL);
		fuzz_truth(code == UX_OK || code == UX_ECONFLICT);
	}
	ux_manifest_deinit(&m);
	ux_manifest_deinit(&again);
}

static void signature_input(struct ux_bytes text)
{
	struct ux_minisign_public open = {{0}, {0}};
	struct ux_minisign_secret secret;
	(void)!ux_minisign_public_read(text, &open, NULL);
	/* decrypting a key with a password would take too much memory and time */
	(void)!ux_minisign_secret_read(text, NULL, &secret, NULL);
	fuzz_truth(ux_minisign_verify(&open, UX_STR("message"), text, NULL) != UX_OK);
}

static void tar_input(struct ux_bytes bytes)
{
	struct ux_tar_header h;
	struct ux_bytes block = UX_BYTES_NONE;
	if (!ux_bytes_sub(bytes, 0, UX_TAR_BLOCK, &block) ||
	    ux_tar_header_read(block.data, &h, NULL) != UX_OK)
		return;
	struct ux_bytes rest = ux_bytes(bytes.data + UX_TAR_BLOCK, bytes.size - UX_TAR_BLOCK);
	(void)!ux_tar_extended_apply(h.type, rest, &h, NULL);
	fuzz_truth(memchr(h.path, '\0', sizeof(h.path)) && memchr(h.link, '\0', sizeof(h.link)));
	fuzz_truth(h.size <= INT64_MAX - UX_TAR_BLOCK);
}

FUZZ_TARGET(manifest)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_bytes rest = ux_bytes(data + 1, size - 1);
	switch (data[0] % 3) {
	case 0:
		manifest_input(rest);
		break;
	case 1:
		signature_input(rest);
		break;
	default:
		tar_input(rest);
		break;
	}
	return 0;
}
