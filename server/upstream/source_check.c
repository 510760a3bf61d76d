/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a source file that an upstream sent. A source file has no identity of its own: an error
 * page with status 200, or any other file, would be kept and shown as the source. The file is
 * compared with everything that the debug information records about it; nothing else can be
 * checked.
 */
#include "upstream_set.h"

#include <nettle/md5.h>
#include <strings.h>
#include <unistd.h>

enum {
	HEAD_BYTES = 512,      /* bytes at the start of a page that identify its kind */
	MODULE_MAX = 64 << 20, /* memory for the rows of one module */
};

/* Returns the extension of a path, without the dot; "": none. */
static const char *source_ending(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');
	return dot ? dot + 1 : "";
}

/* Tests for sources that may be HTML, or begin like a page of HTML. */
static bool source_may_be_page(const char *path)
{
	static const char *const endings[] = {"html", "htm", "xhtml", "php", "vue", "svelte",
					      "tmpl", "tpl", "jsp",   "asp", "erb", "ejs",
					      "xml",  "xsl", "xslt",  "svg", "ui",  "in"};
	for (size_t i = 0; i < ux_countof(endings); i++)
		if (strcasecmp(source_ending(path), endings[i]) == 0)
			return true;
	return false;
}

static bool source_begins(struct ux_bytes text, const char *word)
{
	size_t n = strlen(word);
	return text.size >= n && strncasecmp((const char *)text.data, word, n) == 0;
}

/* Returns the text after white space and a byte order mark of UTF-8. */
static struct ux_bytes source_head(struct ux_bytes text)
{
	static const char skipped[] = " \t\r\n\f\v\xef\xbb\xbf";
	size_t at = 0;
	while (at < text.size && at < HEAD_BYTES && text.data[at] != 0 &&
	       strchr(skipped, (char)text.data[at]))
		at++;
	return ux_bytes(text.data + at, ux_min(text.size - at, (size_t)HEAD_BYTES));
}

static bool source_contains(struct ux_bytes text, struct ux_bytes word)
{
	return text.data && memmem(text.data, text.size, word.data, word.size) != NULL;
}

/* Tests for an error page of a proxy or a bucket. */
static bool source_is_page(struct ux_bytes bytes)
{
	struct ux_bytes head = source_head(bytes);
	return source_begins(head, "<!doctype html") || source_begins(head, "<html") ||
	       (source_begins(head, "<?xml") && (source_contains(head, UX_STR("<Error>")) ||
						 source_contains(head, UX_STR("<html"))));
}

/* Tests for UTF-16 and UTF-32, which contain zero bytes and begin with a byte order mark. */
static bool source_is_wide(struct ux_bytes bytes)
{
	return bytes.size >= 2 && ((bytes.data[0] == 0xff && bytes.data[1] == 0xfe) ||
				   (bytes.data[0] == 0xfe && bytes.data[1] == 0xff));
}

/* Opens the module's file with debug information; -1: not in the store. */
static int source_open_debug(struct ux_store *s, const struct ux_arrived *a)
{
	UX_ARENA(arena, MODULE_MAX);
	struct ux_module m;
	int fd = -1;
	if (s->index->modules.find(s->index, a->ns, a->id, &arena, &m, NULL) != UX_OK)
		return -1;
	const struct ux_candidate *c = ux_module_elf(&m, UX_HOLDS_DEBUG);
	return c && ux_blobs_open(s->blobs, &c->blob, c->size, &fd, NULL) == UX_OK ? fd : -1;
}

/*
 * Compares the file with its MD5 in the module's line tables. If the store has only a GSYM, or the
 * compiler wrote no hashes, the check passes.
 */
static enum ux_code source_check_hash(struct ux_store *s, const struct ux_arrived *a,
				      struct ux_error *err)
{
	uint8_t md5[MD5_DIGEST_SIZE];
	struct md5_ctx hash;
	int fd = source_open_debug(s, a);
	if (fd < 0)
		return UX_OK;
	md5_init(&hash);
	md5_update(&hash, a->bytes.size, a->bytes.data);
	md5_digest(&hash, sizeof(md5), md5);
	enum ux_code code = ux_sandbox_check_source(fd, a->source, md5, &ux_inspect_limits,
						    /* program= */ NULL, NULL);
	close(fd);
	return code == UX_ECONFLICT
		       ? ux_error_set(err, UX_ECONFLICT,
				      "the source file that it sent has another version")
		       : UX_OK;
}

enum ux_code ux_upstream_source_check(void *ctx, const struct ux_arrived *a, struct ux_error *err)
{
	struct ux_server *s = ctx;
	if (a->bytes.size > UX_FETCH_SOURCE_MAX)
		return ux_error_set(err, UX_ELIMIT, "the source file that it sent exceeds %d bytes",
				    UX_FETCH_SOURCE_MAX);
	if (!source_is_wide(a->bytes) && memchr(a->bytes.data, 0, a->bytes.size))
		return ux_error_set(err, UX_ECORRUPT, "the source file that it sent is not text");
	if (!source_may_be_page(a->source) && source_is_page(a->bytes))
		return ux_error_set(err, UX_ECORRUPT,
				    "it sent an error page instead of the source file");
	return source_check_hash(s->store, a, err);
}
