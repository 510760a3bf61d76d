/* SPDX-License-Identifier: Apache-2.0 */
/* Files of web pages, embedded by tools/embed_assets.py. */
#ifndef UX_ASSET_H
#define UX_ASSET_H

#include "base.h"

/* A file that is part of the program. */
struct ux_asset {
	const char *name;
	const char *type; /* content type */
	/*
	 * beginning of its SHA-256 in hex, which is part of the URL, so that a new version has a
	 * new URL
	 */
	const char *tag;
	const char
		*integrity; /* "sha256-...": its SHA-256 in the form of a content security policy */
	const uint8_t *data;
	size_t size;
};

#endif
