/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of a server, as text. */
#include "remote_modules.h"

#include "output.h"

#include <jansson.h>

static const char *modules_text(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	return text ? text : "";
}

/* Writes `before` and the text of the member `key`; nothing if the member is absent or empty. */
static void modules_put(struct ux_out *out, const char *before, const json_t *o, const char *key)
{
	const char *text = modules_text(o, key);
	if (*text == '\0')
		return;
	ux_out_cstr(out, before);
	ux_text(out, ux_bytes_cstr(text));
}

/* Returns the file name of the best candidate that has one. */
static const char *modules_file(const json_t *module)
{
	const json_t *candidates = json_object_get(module, "candidates");
	for (size_t i = 0; i < json_array_size(candidates); i++) {
		const char *file = modules_text(json_array_get(candidates, i), "file");
		if (*file)
			return file;
	}
	return "";
}

void ux_module_line(struct ux_out *out, const json_t *module)
{
	const char *file = modules_file(module);
	modules_put(out, "", module, "id");
	modules_put(out, "  ", module, "quality");
	modules_put(out, "  ", module, "updated");
	if (*file) {
		ux_out_cstr(out, "  ");
		ux_text(out, ux_bytes_cstr(file));
	}
	if (json_is_true(json_object_get(module, "pinned")))
		ux_out_cstr(out, "  pinned");
	ux_out_u8(out, '\n');
}

/* Writes the origin of a candidate: the build, the package. */
static void modules_put_provenance(struct ux_out *out, const json_t *candidate)
{
	static const struct {
		const char *key;
		const char *label;
	} facts[] = {
		{"description", "description"},
		{"git_revision", "revision"},
		{"git_branch", "branch"},
		{"git_repository", "repository"},
		{"ci_run", "CI run"},
		{"distribution", "distribution"},
		{"suite", "suite"},
		{"package", "package"},
		{"package_version", "version"},
		{"host", "host"},
		{"owner", "owner"},
		{"mount_namespace", "mounts"},
	};
	for (size_t i = 0; i < ux_countof(facts); i++) {
		const char *text = modules_text(candidate, facts[i].key);
		if (*text == '\0')
			continue;
		ux_out_fmt(out, "      %-13s  ", facts[i].label);
		ux_text(out, ux_bytes_cstr(text));
		ux_out_u8(out, '\n');
	}
}

static void modules_candidate_text(struct ux_out *out, const json_t *c)
{
	json_int_t size = json_integer_value(json_object_get(c, "size"));
	modules_put(out, "    ", c, "kind");
	modules_put(out, " ", c, "quality");
	modules_put(out, ", ", c, "state");
	modules_put(out, ": ", c, "reason");
	ux_out_cstr(out, ", ");
	ux_text_size(out, (uint64_t)ux_max(size, (json_int_t)0));
	if (json_is_true(json_object_get(c, "extracted")))
		ux_out_cstr(out, ", extracted here");
	modules_put(out, ", trust ", c, "trust");
	modules_put(out, ", by ", c, "origin");
	modules_put(out, " ", c, "origin_name");
	modules_put(out, ", ", c, "created");
	modules_put(out, ", ", c, "file");
	ux_out_u8(out, '\n');
	modules_put_provenance(out, c);
}

static void modules_put_pin(struct ux_out *out, const json_t *pin)
{
	ux_out_cstr(out, "  pinned         ");
	modules_put(out, "", pin, "label");
	modules_put(out, ", by key ", pin, "key");
	modules_put(out, ", ", pin, "created");
	ux_out_u8(out, '\n');
}

void ux_module_text(struct ux_out *out, const json_t *module)
{
	const json_t *ids = json_object_get(module, "ids");
	const json_t *pins = json_object_get(module, "pins");
	const json_t *candidates = json_object_get(module, "candidates");
	modules_put(out, "", module, "id");
	for (size_t i = 1; i < json_array_size(ids); i++) {
		const char *id = json_string_value(json_array_get(ids, i));
		ux_out_cstr(out, "\n  also           ");
		ux_text(out, ux_bytes_cstr(id ? id : ""));
	}
	modules_put(out, "\n  quality        ", module, "quality");
	modules_put(out, "\n  created        ", module, "created");
	modules_put(out, "\n  updated        ", module, "updated");
	modules_put(out, "\n  last used      ", module, "last_used");
	ux_out_u8(out, '\n');
	for (size_t i = 0; i < json_array_size(pins); i++)
		modules_put_pin(out, json_array_get(pins, i));
	ux_out_cstr(out, "  candidates, best first:\n");
	for (size_t i = 0; i < json_array_size(candidates); i++)
		modules_candidate_text(out, json_array_get(candidates, i));
}
