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
	struct ux_bytes other; /* title of the profile to compare with */
	size_t type;           /* the value that widths show at first */
	/* Target and text of the link above the page's title. Empty: no link. */
	struct ux_bytes back_url, back_text;
	/*
	 * The page about a frame: a path or an http URL, to which "?id=ID&addr=0x..." is added.
	 * Empty: no such page, and nodes have no links. Pages only.
	 */
	struct ux_bytes frame_url;
};

/*
 * Writes one HTML file. No text of the tree can end its script or become markup, and its content
 * security policy lets it load nothing and run nothing else.
 */
enum ux_code ux_flame_html(const struct ux_call_tree *t, const struct ux_flame_options *options,
			   struct ux_stream *s, struct ux_error *err) ux_must;

/* Writes an SVG. Each frame's values are its title, which browsers show on hover. */
enum ux_code ux_flame_svg(const struct ux_call_tree *t, const struct ux_flame_options *options,
			  struct ux_stream *s, struct ux_error *err) ux_must;

#endif
