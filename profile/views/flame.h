/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs: a page that needs no network, and a picture that needs no script. */
#ifndef UX_FLAME_H
#define UX_FLAME_H

#include "asset.h"
#include "call_tree.h"
#include "stream.h"

enum {
	UX_FLAME_NODES_MAX = 500000 /* in a page, which then has 4 MB and opens in a second */
};

extern const struct ux_asset ux_asset_flame_style, ux_asset_flame_script;

struct ux_flame_options {
	struct ux_bytes title; /* such as the profile's file */
	struct ux_bytes other; /* title of the profile that it is compared with */
	size_t type;           /* the value that widths show at first */
	/* Where a page links to above its title: a path, and what is there. Empty: nowhere. */
	struct ux_bytes back_url, back_text;
	/*
	 * The page about a frame, to which its place is added as "?id=ID&addr=0x...": a path or an
	 * http URL. Empty: there is none, and nodes have no links. In pages alone.
	 */
	struct ux_bytes frame_url;
};

/*
 * Writes one HTML file. No text of the tree can end its script or become markup, and its content
 * security policy lets it load nothing and run nothing else.
 */
enum ux_code ux_flame_html(const struct ux_call_tree *t, const struct ux_flame_options *options,
			   struct ux_stream *s, struct ux_error *err) ux_must;

/* Writes an SVG whose frames have their values as titles, which browsers show on hover. */
enum ux_code ux_flame_svg(const struct ux_call_tree *t, const struct ux_flame_options *options,
			  struct ux_stream *s, struct ux_error *err) ux_must;

#endif
