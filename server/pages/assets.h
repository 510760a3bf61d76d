/* SPDX-License-Identifier: Apache-2.0 */
/* What pages are made of besides HTML: files of web/assets/, embedded by tools/embed_assets.py. */
#ifndef UX_ASSETS_H
#define UX_ASSETS_H

#include "base.h"

struct ux_asset {
	const char *name;
	const char *type; /* content type */
	const char *tag;  /* beginning of its SHA-256, in hex: another content has another URL */
	const uint8_t *data;
	size_t size;
};

extern const struct ux_asset ux_asset_style, ux_asset_upload, ux_asset_icon;

#endif
