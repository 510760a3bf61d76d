/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing manifests. */
#include "manifest.h"

#include "json_in.h"
#include "json_out.h"
#include "text.h"

#define SECTION "manifest"

enum {
	HEX = 2 * UX_MANIFEST_HASH
};

static const char *const object_kinds[UX_ENTRY_KIND_COUNT] = {
	[UX_ENTRY_GSYM] = "gsym",
	[UX_ENTRY_EXECUTABLE] = "executable",
	[UX_ENTRY_DEBUGINFO] = "debuginfo",
	[UX_ENTRY_DWO] = "dwo",
	[UX_ENTRY_DWP] = "dwp",
	[UX_ENTRY_SOURCES] = "sources",
};

static const char *const object_holds[UX_ENTRY_HOLDS_COUNT] = {"code", "debug", "sections"};

void ux_manifest_init(struct ux_manifest *m)
{
	*m = (struct ux_manifest){0};
	ux_arena_init(&m->arena, UX_MANIFEST_MEMORY_MAX);
}

void ux_manifest_deinit(struct ux_manifest *m)
{
	ux_entries_deinit(&m->objects);
	ux_arena_deinit(&m->arena);
}

const char *ux_entry_kind_name(enum ux_entry_kind kind)
{
	return (unsigned)kind < UX_ENTRY_KIND_COUNT ? object_kinds[kind] : "unknown";
}

bool ux_entry_kind_parse(struct ux_bytes text, enum ux_entry_kind *ret)
{
	for (unsigned i = 0; i < UX_ENTRY_KIND_COUNT; i++) {
		if (!ux_bytes_eq(text, ux_bytes_cstr(object_kinds[i])))
			continue;
		*ret = (enum ux_entry_kind)i;
		return true;
	}
	return false;
}

const char *ux_entry_holds_name(unsigned bit)
{
	for (unsigned i = 0; i < UX_ENTRY_HOLDS_COUNT; i++)
		if (bit == 1U << i)
			return object_holds[i];
	return "unknown";
}

/* --- writing ---------------------------------------------------------------------------------- */

static void object_write_holds(struct ux_json *j, unsigned holds)
{
	if (holds == 0)
		return;
	ux_json_key(j, "holds");
	ux_json_array_begin(j);
	for (unsigned i = 0; i < UX_ENTRY_HOLDS_COUNT; i++)
		if ((holds & 1U << i) != 0)
			ux_json_cstr(j, object_holds[i]);
	ux_json_array_end(j);
}

static void object_write_text(struct ux_json *j, const char *key, const char *text)
{
	if (text[0] != '\0')
		ux_json_key_cstr(j, key, text);
}

void ux_entry_write(const struct ux_entry *o, struct ux_out *out)
{
	char hash[HEX + 1];
	struct ux_json j = ux_json_make(out);
	ux_hex_encode(ux_bytes(o->hash, sizeof(o->hash)), hash);
	ux_json_object_begin(&j);
	object_write_text(&j, "path", o->path);
	ux_json_key_cstr(&j, "sha256", hash);
	ux_json_key_u64(&j, "size", o->size);
	ux_json_key(&j, "ids");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < o->n_ids; i++)
		ux_json_cstr(&j, o->ids[i]);
	ux_json_array_end(&j);
	ux_json_key_cstr(&j, "kind", ux_entry_kind_name(o->kind));
	ux_json_symbols(&j, o->quality, &o->counts);
	object_write_holds(&j, o->holds);
	ux_json_key_cstr(&j, "namespace", o->ns);
	object_write_text(&j, "description", o->description);
	object_write_text(&j, "file", o->file);
	for (int i = 0; i < UX_PROVENANCE_COUNT; i++) {
		const enum ux_provenance_fact fact = (enum ux_provenance_fact)i;
		object_write_text(&j, ux_provenance_name(fact),
				  ux_provenance_get(&o->provenance, fact));
	}
	object_write_text(&j, "trust", ux_trust_name(o->trust));
	ux_json_key_u64(&j, "time", o->time > 0 ? (uint64_t)o->time : 0);
	ux_json_object_end(&j);
}

static void manifest_write_state(struct ux_json *j, const struct ux_manifest_state *s)
{
	ux_json_key_cstr(j, "store", s->store);
	ux_json_key_u64(j, "serial", s->serial);
}

static void manifest_write_states(struct ux_json *j, const struct ux_manifest_head *head)
{
	if (head->own.store) {
		manifest_write_state(j, &head->own);
		ux_json_key_u64(j, "time", head->time > 0 ? (uint64_t)head->time : 0);
	}
	if (head->n_seen == 0)
		return;
	ux_json_key(j, "seen");
	ux_json_array_begin(j);
	for (size_t i = 0; i < head->n_seen; i++) {
		ux_json_object_begin(j);
		manifest_write_state(j, &head->seen[i]);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
}

enum ux_code ux_manifest_write(const struct ux_manifest *m, struct ux_out *out,
			       struct ux_error *err)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < m->objects.size; i++)
		bytes += m->objects.data[i].size;
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key_u64(&j, "unhex_manifest", UX_MANIFEST_VERSION);
	ux_json_key_u64(&j, "objects", m->objects.size);
	ux_json_key_u64(&j, "bytes", bytes);
	manifest_write_states(&j, &m->head);
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
	for (size_t i = 0; i < m->objects.size; i++) {
		ux_entry_write(&m->objects.data[i], out);
		ux_out_u8(out, '\n');
	}
	UX_TRY(ux_out_status(out, err));
	if (out->size > UX_MANIFEST_SIZE_MAX)
		return ux_error_set(err, UX_ELIMIT, "the manifest exceeds %d bytes",
				    UX_MANIFEST_SIZE_MAX);
	return UX_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The state of reading one object. */
struct object_reader {
	struct ux_cur c;
	struct ux_arena *arena;
	struct ux_entry *o;
	bool nomem;
	bool has_hash, has_size, has_kind;
};

static const char *object_keep(struct object_reader *r, struct ux_bytes text)
{
	const char *kept = ux_arena_strndup(r->arena, text.data, text.size);
	r->nomem = r->nomem || !kept;
	return kept ? kept : "";
}

/* Reads a text of at most `max` bytes, without control characters. */
static const char *object_read_text(struct object_reader *r, size_t max)
{
	ux_cleanup(ux_out_deinit) struct ux_out plain = {0};
	struct ux_json_text text = ux_json_read_text(&r->c);
	struct ux_bytes s = text.raw;
	if (r->c.failed)
		return "";
	if (text.escaped) {
		ux_json_unescape(text, &plain);
		r->nomem = r->nomem || plain.failed;
		s = ux_out_bytes(&plain);
	}
	if (s.size > max)
		ux_cur_bad(&r->c, "the text is too long");
	if (s.size > 0 && memchr(s.data, '\0', s.size))
		ux_cur_bad(&r->c, "the text has a NUL");
	return r->c.failed ? "" : object_keep(r, s);
}

static uint64_t object_read_u64(struct object_reader *r)
{
	uint64_t v = 0;
	bool negative = false;
	struct ux_bytes digits = ux_json_read_number(&r->c);
	if (!r->c.failed && (!ux_json_integer(digits, &v, &negative) || negative || v > INT64_MAX))
		ux_cur_bad(&r->c, "expected an integer from 0 to 2^63 - 1");
	return r->c.failed ? 0 : v;
}

static void object_read_hash(struct object_reader *r)
{
	size_t n = 0;
	struct ux_bytes hex = ux_json_read_text(&r->c).raw;
	if (!r->c.failed &&
	    (!ux_hex_decode(hex, r->o->hash, sizeof(r->o->hash), &n) || n != sizeof(r->o->hash)))
		ux_cur_bad(&r->c, "expected 64 hexadecimal digits");
	r->has_hash = true;
}

/* Reads an ID. Only canonical texts are accepted, so that equal IDs are equal texts. */
static void object_read_id(struct object_reader *r, const char **ret)
{
	struct ux_id id;
	char canonical[UX_ID_TEXT];
	const char *text = object_read_text(r, UX_MANIFEST_ID_MAX);
	if (r->c.failed)
		return;
	if (ux_id_parse(ux_bytes_cstr(text), &id, NULL) != UX_OK ||
	    strcmp(ux_id_format(&id, canonical), text) != 0)
		ux_cur_bad(&r->c, "expected an ID in its canonical form");
	*ret = text;
}

static void object_read_ids(struct object_reader *r)
{
	const char *ids[UX_MANIFEST_IDS_MAX];
	size_t i = 0, n = 0;
	while (ux_json_read_element(&r->c, &i)) {
		if (n == ux_countof(ids)) {
			ux_cur_bad(&r->c, "the module has more than 16 IDs");
			return;
		}
		object_read_id(r, &ids[n++]);
	}
	if (r->c.failed || r->nomem || n == 0)
		return;
	const char **kept = ux_arena_array(r->arena, const char *, n);
	r->nomem = !kept;
	if (!kept)
		return;
	memcpy(kept, ids, n * sizeof(*kept));
	r->o->ids = kept;
	r->o->n_ids = n;
}

static void object_read_kind(struct object_reader *r)
{
	struct ux_bytes text = ux_json_read_text(&r->c).raw;
	if (!r->c.failed && !ux_entry_kind_parse(text, &r->o->kind))
		ux_cur_bad(&r->c, "expected a kind of object");
	r->has_kind = true;
}

static void object_read_quality(struct object_reader *r)
{
	struct ux_bytes text = ux_json_read_text(&r->c).raw;
	unsigned q = 0;
	while (q < UX_QUALITY_COUNT &&
	       !ux_bytes_eq(text, ux_bytes_cstr(ux_quality_name((enum ux_quality)q))))
		q++;
	if (!r->c.failed && q == UX_QUALITY_COUNT)
		ux_cur_bad(&r->c, "expected a quality");
	r->o->quality = r->c.failed ? UX_QUALITY_NONE : (enum ux_quality)q;
}

static void object_read_counts(struct object_reader *r)
{
	struct ux_counts *counts = &r->o->counts;
	const struct {
		const char *name;
		uint64_t *value;
	} fields[] = {
		{"functions", &counts->functions},
		{"inlines", &counts->inlines},
		{"rows", &counts->rows},
		{"code_bytes", &counts->code_bytes},
		{"line_bytes", &counts->line_bytes},
		{"unnamed", &counts->unnamed},
		{"unnamed_bytes", &counts->unnamed_bytes},
	};
	struct ux_json_text key;
	size_t n = 0;
	while (ux_json_read_member(&r->c, &n, &key)) {
		size_t i = 0;
		while (i < ux_countof(fields) && !ux_json_text_eq(key, fields[i].name))
			i++;
		if (i < ux_countof(fields))
			*fields[i].value = object_read_u64(r);
		else
			(void)ux_json_skip(&r->c);
	}
}

static void object_read_holds(struct object_reader *r)
{
	size_t n = 0;
	while (ux_json_read_element(&r->c, &n)) {
		struct ux_bytes text = ux_json_read_text(&r->c).raw;
		for (unsigned i = 0; i < UX_ENTRY_HOLDS_COUNT; i++)
			if (ux_bytes_eq(text, ux_bytes_cstr(object_holds[i])))
				r->o->holds |= 1U << i;
	}
}

static bool object_read_provenance(struct object_reader *r, struct ux_json_text key)
{
	for (int i = 0; i < UX_PROVENANCE_COUNT; i++) {
		if (!ux_json_text_eq(key, ux_provenance_name((enum ux_provenance_fact)i)))
			continue;
		r->o->provenance.facts[i] = object_read_text(r, UX_MANIFEST_TEXT_MAX);
		return true;
	}
	return false;
}

/* A level that this version does not know counts as none. */
static void object_read_trust(struct object_reader *r)
{
	const char *text = object_read_text(r, UX_MANIFEST_TEXT_MAX);
	if (!text || !ux_trust_parse(ux_bytes_cstr(text), &r->o->trust))
		r->o->trust = UX_TRUST_NONE;
}

static void object_read_member(struct object_reader *r, struct ux_json_text key)
{
	struct ux_entry *o = r->o;
	if (ux_json_text_eq(key, "path")) {
		o->path = object_read_text(r, UX_MANIFEST_PATH_MAX - 1);
	} else if (ux_json_text_eq(key, "sha256")) {
		object_read_hash(r);
	} else if (ux_json_text_eq(key, "size")) {
		o->size = object_read_u64(r);
		r->has_size = true;
	} else if (ux_json_text_eq(key, "ids")) {
		object_read_ids(r);
	} else if (ux_json_text_eq(key, "kind")) {
		object_read_kind(r);
	} else if (ux_json_text_eq(key, "quality")) {
		object_read_quality(r);
	} else if (ux_json_text_eq(key, "counts")) {
		object_read_counts(r);
	} else if (ux_json_text_eq(key, "holds")) {
		object_read_holds(r);
	} else if (ux_json_text_eq(key, "namespace")) {
		o->ns = object_read_text(r, UX_MANIFEST_NS_MAX);
	} else if (ux_json_text_eq(key, "description")) {
		o->description = object_read_text(r, UX_MANIFEST_TEXT_MAX);
	} else if (ux_json_text_eq(key, "file")) {
		o->file = object_read_text(r, UX_MANIFEST_TEXT_MAX);
	} else if (ux_json_text_eq(key, "trust")) {
		object_read_trust(r);
	} else if (ux_json_text_eq(key, "time")) {
		o->time = (int64_t)object_read_u64(r);
	} else if (!object_read_provenance(r, key)) {
		(void)ux_json_skip(&r->c);
	}
}

static enum ux_code object_check(const struct object_reader *r, uint64_t off, struct ux_error *err)
{
	char folder[UX_MANIFEST_PATH_MAX];
	const struct ux_entry *o = r->o;
	if (!r->has_hash || !r->has_size || !r->has_kind || o->n_ids == 0)
		return ux_error_at(err, UX_ECORRUPT, SECTION, off,
				   "the object lacks its sha256, size, kind or ids");
	struct ux_error why = UX_ERROR_INIT;
	if (ux_manifest_folder(o->ns, o->ids[0], folder, &why) != UX_OK)
		return ux_error_at(err, UX_ECORRUPT, SECTION, off, "%s", why.text);
	return UX_OK;
}

enum ux_code ux_entry_read(struct ux_bytes line, uint64_t off, struct ux_arena *arena,
			   struct ux_entry *ret, struct ux_error *err)
{
	struct object_reader r = {.c = ux_cur_make(line, SECTION, false), .arena = arena, .o = ret};
	struct ux_json_text key;
	size_t n = 0;
	r.c.base = off;
	*ret = (struct ux_entry){
		.path = "", .ns = UX_MANIFEST_NS_DEFAULT, .description = "", .file = ""};
	while (!r.nomem && ux_json_read_member(&r.c, &n, &key))
		object_read_member(&r, key);
	if (r.nomem)
		return arena->over ? ux_arena_fail(arena, err) : ux_error_nomem(err);
	ux_json_read_end(&r.c);
	UX_TRY(ux_cur_status(&r.c, err));
	return object_check(&r, off, err);
}

/* The numbers of the first line. */
struct manifest_numbers {
	uint64_t version, objects, bytes;
};

static void manifest_read_store(struct object_reader *r, struct ux_manifest_state *ret)
{
	ret->store = object_read_text(r, UX_MANIFEST_STORE_MAX);
	if (ret->store[0] == '\0')
		ux_cur_bad(&r->c, "the name of the store is empty");
}

static void manifest_read_seen(struct object_reader *r, struct ux_manifest_head *head)
{
	struct ux_json_text key;
	size_t i = 0;
	while (ux_json_read_element(&r->c, &i)) {
		struct ux_manifest_state s = {0};
		size_t n = 0;
		while (ux_json_read_member(&r->c, &n, &key)) {
			if (ux_json_text_eq(key, "store"))
				manifest_read_store(r, &s);
			else if (ux_json_text_eq(key, "serial"))
				s.serial = object_read_u64(r);
			else
				(void)ux_json_skip(&r->c);
		}
		if (!s.store || s.serial == 0 || head->n_seen == ux_countof(head->seen)) {
			ux_cur_bad(&r->c, "expected up to 64 stores with their serials");
			return;
		}
		head->seen[head->n_seen++] = s;
	}
}

static enum ux_code manifest_read_head(struct ux_bytes line, struct ux_manifest *m,
				       struct manifest_numbers *ret, struct ux_error *err)
{
	struct object_reader r = {.c = ux_cur_make(line, SECTION, false), .arena = &m->arena};
	struct ux_manifest_head *head = &m->head;
	struct ux_json_text key;
	size_t n = 0;
	*ret = (struct manifest_numbers){0};
	while (ux_json_read_member(&r.c, &n, &key)) {
		if (ux_json_text_eq(key, "unhex_manifest"))
			ret->version = object_read_u64(&r);
		else if (ux_json_text_eq(key, "objects"))
			ret->objects = object_read_u64(&r);
		else if (ux_json_text_eq(key, "bytes"))
			ret->bytes = object_read_u64(&r);
		else if (ux_json_text_eq(key, "store"))
			manifest_read_store(&r, &head->own);
		else if (ux_json_text_eq(key, "serial"))
			head->own.serial = object_read_u64(&r);
		else if (ux_json_text_eq(key, "time"))
			head->time = (int64_t)object_read_u64(&r);
		else if (ux_json_text_eq(key, "seen"))
			manifest_read_seen(&r, head);
		else
			(void)ux_json_skip(&r.c);
	}
	ux_json_read_end(&r.c);
	if (r.nomem)
		return ux_error_nomem(err);
	UX_TRY(ux_cur_status(&r.c, err));
	if (ret->version == 0)
		return ux_error_at(err, UX_ECORRUPT, SECTION, 0,
				   "the first line is not a manifest header");
	if (ret->version > UX_MANIFEST_VERSION)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the manifest has version %" PRIu64 "; this unhex reads %d",
				    ret->version, UX_MANIFEST_VERSION);
	if (ret->objects > UX_MANIFEST_OBJECTS_MAX)
		return ux_error_set(err, UX_ELIMIT,
				    "the manifest has %" PRIu64 " objects; the limit is %d",
				    ret->objects, UX_MANIFEST_OBJECTS_MAX);
	bool any = head->own.store || head->own.serial > 0 || head->time > 0;
	if (any && (!head->own.store || head->own.serial == 0 || head->time == 0))
		return ux_error_at(err, UX_ECORRUPT, SECTION, 0,
				   "the first line has only some of store, serial and time");
	return UX_OK;
}

/* Takes the next line without its end; false after the last one. */
static bool manifest_next_line(struct ux_bytes *text, struct ux_bytes *ret)
{
	const uint8_t *end = text->size > 0 ? memchr(text->data, '\n', text->size) : NULL;
	if (!end)
		return false;
	size_t n = (size_t)(end - text->data);
	*ret = ux_bytes(text->data, n);
	*text = ux_bytes(end + 1, text->size - n - 1);
	return true;
}

/* Checks that the path is the one that ux_manifest_name() gives to such an object. */
static bool object_path_is_right(const struct ux_entry *o)
{
	char folder[UX_MANIFEST_PATH_MAX], hash[HEX + 1];
	if (ux_manifest_folder(o->ns, o->ids[0], folder, NULL) != UX_OK)
		return false;
	size_t n = strlen(folder);
	if (strncmp(o->path, folder, n) != 0 || o->path[n] != '/')
		return false;
	const char *name = o->path + n + 1;
	bool elf = o->kind == UX_ENTRY_EXECUTABLE || o->kind == UX_ENTRY_DEBUGINFO;
	bool ranked = elf || o->kind == UX_ENTRY_GSYM;
	if (elf && (strcmp(name, "executable") == 0 || strcmp(name, "debuginfo") == 0))
		return true;
	const char *kind = ux_entry_kind_name(o->kind);
	n = strlen(kind);
	if (strncmp(name, kind, n) != 0)
		return false;
	ux_hex_encode(ux_bytes(o->hash, sizeof(o->hash)), hash);
	hash[UX_ENTRY_NAME_DIGITS] = '\0';
	return name[n] == '\0' ? ranked : name[n] == '.' && strcmp(name + n + 1, hash) == 0;
}

static enum ux_code manifest_add_line(struct ux_manifest *m, struct ux_bytes line, uint64_t off,
				      struct ux_error *err)
{
	struct ux_entry o;
	if (line.size > UX_MANIFEST_LINE_MAX)
		return ux_error_at(err, UX_ELIMIT, SECTION, off, "a line exceeds %d bytes",
				   UX_MANIFEST_LINE_MAX);
	UX_TRY(ux_entry_read(line, off, &m->arena, &o, err));
	if (!object_path_is_right(&o))
		return ux_error_at(err, UX_ECORRUPT, SECTION, off,
				   "the path \"%.60s\" does not match the object", o.path);
	size_t n = m->objects.size;
	if (n > 0 && strcmp(m->objects.data[n - 1].path, o.path) >= 0)
		return ux_error_at(err, UX_ECORRUPT, SECTION, off,
				   "the path \"%.60s\" is out of order", o.path);
	return ux_entries_append(&m->objects, o) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_manifest_read(struct ux_bytes text, struct ux_manifest *ret, struct ux_error *err)
{
	const uint8_t *start = text.data;
	struct manifest_numbers head;
	struct ux_bytes line;
	uint64_t bytes = 0;
	if (text.size > UX_MANIFEST_SIZE_MAX)
		return ux_error_set(err, UX_ELIMIT, "the manifest exceeds %d bytes",
				    UX_MANIFEST_SIZE_MAX);
	if (!manifest_next_line(&text, &line) || line.size > UX_MANIFEST_LINE_MAX)
		return ux_error_at(err, UX_ECORRUPT, SECTION, 0,
				   "the first line is not a manifest header");
	UX_TRY(manifest_read_head(line, ret, &head, err));
	while (manifest_next_line(&text, &line)) {
		const uint64_t off = (uint64_t)(line.data - start);
		if (ret->objects.size == head.objects)
			return ux_error_at(err, UX_ECORRUPT, SECTION, off,
					   "more objects than the %" PRIu64
					   " that the first line announces",
					   head.objects);
		UX_TRY(manifest_add_line(ret, line, off, err));
		if (__builtin_add_overflow(bytes, ret->objects.data[ret->objects.size - 1].size,
					   &bytes))
			return ux_error_at(err, UX_ECORRUPT, SECTION, off,
					   "the sizes are too large");
	}
	if (text.size > 0 || ret->objects.size != head.objects || bytes != head.bytes)
		return ux_error_at(err, UX_ECORRUPT, SECTION, (uint64_t)(text.data - start),
				   "the manifest is truncated: %zu of %" PRIu64 " objects, %" PRIu64
				   " of %" PRIu64 " bytes",
				   ret->objects.size, head.objects, bytes, head.bytes);
	return UX_OK;
}
