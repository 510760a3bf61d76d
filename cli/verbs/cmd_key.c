/* SPDX-License-Identifier: Apache-2.0 */
/* unhex key: creates, lists, rotates and revokes API keys of a store. */
#include "clock.h"
#include "commands.h"

#include "index.h"
#include "key_text.h"
#include "keys.h"
#include "output.h"
#include "store.h"
#include "store_folder.h"

#include <unistd.h>

struct key_values {
	struct ux_folder_values folder;
	const char *ns;
	const char *scopes;
	const char *description;
	unsigned days;
	const char *expires;
	unsigned rate;
	unsigned uploads;
	const char *overlap;
	bool json;
};

static const struct ux_option key_options[] = {
	UX_FOLDER_OPTIONS(struct key_values, folder),
	{"namespace", 0, UX_OPTION_TEXT, offsetof(struct key_values, ns), "NAME",
	 "create: namespace of the key [default]; list: only the keys of this namespace [all]",
	 .verbs = "create list"},
	{"scopes", 0, UX_OPTION_TEXT, offsetof(struct key_values, scopes), "LIST",
	 "create: read, symbolize, upload, delete, admin, metrics, server, crawl, agent [first 3]",
	 "read symbolize upload delete admin metrics server crawl agent", .verbs = "create"},
	{"description", 0, UX_OPTION_TEXT, offsetof(struct key_values, description), "TEXT",
	 "create: owner or purpose of the key", .verbs = "create"},
	{"days", 0, UX_OPTION_COUNT, offsetof(struct key_values, days), "N",
	 "create: days until the key expires [never]", .verbs = "create"},
	{"expires", 0, UX_OPTION_TEXT, offsetof(struct key_values, expires), "WHEN",
	 "create: when the key expires: after 90d, 12h or 30m, or on a day, 2027-12-31 [never]",
	 .verbs = "create"},
	{"rate", 0, UX_OPTION_COUNT, offsetof(struct key_values, rate), "N",
	 "create: maximum requests per second [the server's setting]", .verbs = "create"},
	{"uploads", 0, UX_OPTION_COUNT, offsetof(struct key_values, uploads), "N",
	 "create: maximum parallel uploads [the server's setting]", .verbs = "create"},
	{"overlap", 0, UX_OPTION_TEXT, offsetof(struct key_values, overlap), "TIME",
	 "rotate: time that earlier tokens stay valid: 0, 30m, 12h or 7d [7d]", .verbs = "rotate"},
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct key_values, json), NULL,
	 "print one JSON object per key"},
};

enum {
	LIST_BUDGET = 256 << 20, /* bytes for all keys of a store */
	DAY_S = 24 * 60 * 60,
};

static void key_write_json(struct ux_out *out, const struct ux_key *key, const char *token)
{
	struct ux_json j = ux_json_make(out);
	ux_json_api_key(&j, key, token);
	ux_out_u8(out, '\n');
}

static void key_write_text(struct ux_out *out, const struct ux_key *key)
{
	char text[UX_SCOPES_TEXT];
	char when[UX_TIME_TEXT];
	ux_out_fmt(out, "%s  %s  %s  %s", key->id, ux_time_text(key->created, when), key->ns,
		   ux_scopes_text(key->scopes, text));
	if (key->tokens > 1)
		ux_out_fmt(out, "  %u tokens", key->tokens);
	if (key->last_used)
		ux_out_fmt(out, "  last used %s", ux_time_text(key->last_used, when));
	if (key->expires)
		ux_out_fmt(out, "  expires %s", ux_time_text(key->expires, when));
	if (key->revoked)
		ux_out_fmt(out, "  revoked %s", ux_time_text(key->revoked, when));
	if (key->description && *key->description) {
		ux_out_cstr(out, "  ");
		ux_text(out, ux_bytes_cstr(key->description));
	}
	ux_out_u8(out, '\n');
}

/* The state of the command. */
struct key_job {
	struct ux_store store;  /* open when index is set */
	struct ux_index *index; /* index of the store */
	const struct key_values *values;
	const char *id; /* ID of the key to revoke or to rotate */
	struct ux_out out;
};

static void key_job_deinit(struct key_job *job)
{
	if (job->index)
		ux_store_close(&job->store);
	ux_out_deinit(&job->out);
}

static const struct ux_who key_actor = {.key_id = "", .from = "cli"};

static enum ux_code key_parse_expiry(const struct key_values *v, ux_time now, ux_time *ret,
				     struct ux_error *err)
{
	*ret = v->days ? now + (ux_time)v->days * DAY_S : 0;
	if (!v->expires)
		return UX_OK;
	if (v->days)
		return ux_error_set(err, UX_EINVAL,
				    "--days and --expires are both given; expected one of them");
	return ux_key_expiry_parse(v->expires, "--expires", now, ret, err);
}

/* Sets whether the namespace exists. NULL: the default one, which always exists. */
static enum ux_code key_namespace_exists(struct ux_index *ix, const char *name, bool *ret,
					 struct ux_error *err)
{
	UX_ARENA(arena, 64 << 10);
	struct ux_namespace ns;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = name ? ix->namespaces.find(ix, name, &arena, &ns, &why) : UX_OK;
	*ret = code == UX_OK;
	return code == UX_OK || code == UX_ENOTFOUND ? UX_OK
						     : ux_error_set(err, code, "%s", why.text);
}

static enum ux_code cmd_key_create(struct key_job *job, struct ux_error *err)
{
	char token[UX_TOKEN_SIZE];
	const struct key_values *v = job->values;
	ux_time now = 0;
	UX_TRY(ux_store_key_now_of(job->index, &now, err));
	struct ux_key key = {
		.ns = v->ns, .description = v->description, .rate = v->rate, .uploads = v->uploads};
	UX_TRY(key_parse_expiry(v, now, &key.expires, err));
	if (!ux_scopes_parse(ux_bytes_cstr(v->scopes), &key.scopes))
		return ux_error_set(err, UX_EINVAL,
				    "--scopes: \"%.64s\" is not a list of scopes; expected some of "
				    "read,symbolize,upload,delete,admin,metrics,server,crawl,agent",
				    v->scopes);
	bool known = false;
	UX_TRY(key_namespace_exists(job->index, v->ns, &known, err));
	UX_TRY(ux_key_create(job->index, &key, &key_actor, now, token, err));
	if (!known)
		ux_print_message("created namespace %.64s", key.ns);
	if (v->json)
		key_write_json(&job->out, &key, token);
	else
		ux_out_fmt(&job->out, "%s\n", token);
	return UX_OK;
}

static enum ux_code cmd_key_list(struct key_job *job, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_key_list keys = {0};
	UX_TRY(job->index->keys.list(job->index, &arena, &keys, err));
	for (size_t i = 0; i < keys.n; i++) {
		if (job->values->ns && strcmp(job->values->ns, keys.keys[i].ns) != 0)
			continue;
		if (job->values->json)
			key_write_json(&job->out, &keys.keys[i], NULL);
		else
			key_write_text(&job->out, &keys.keys[i]);
	}
	return UX_OK;
}

static enum ux_code cmd_key_revoke(struct key_job *job, struct ux_error *err)
{
	ux_time now = 0;
	UX_TRY(ux_store_key_now_of(job->index, &now, err));
	return job->index->keys.revoke(job->index, job->id, &key_actor, now, err);
}

static enum ux_code cmd_key_rotate(struct key_job *job, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	char token[UX_TOKEN_SIZE];
	struct ux_key key;
	struct ux_index *ix = job->index;
	int64_t overlap = 0;
	UX_TRY(ux_key_overlap_parse(job->values->overlap, "--overlap", &overlap, err));
	ux_time now = 0;
	UX_TRY(ux_store_key_now_of(ix, &now, err));
	UX_TRY(ux_key_rotate(ix, job->id, overlap, &key_actor, now, token, err));
	UX_TRY(ix->keys.get(ix, job->id, &arena, &key, err));
	if (job->values->json)
		key_write_json(&job->out, &key, token);
	else
		ux_out_fmt(&job->out, "%s\n", token);
	return UX_OK;
}

typedef enum ux_code key_verb_fn(struct key_job *job, struct ux_error *err);

static enum ux_code key_open_index(struct key_job *job, struct ux_error *err)
{
	ux_cleanup(ux_folder_deinit) struct ux_folder folder = {0};
	UX_TRY(ux_folder_select(&job->values->folder, &folder, err));
	UX_TRY(ux_folder_become_owner(&folder, err));
	/* Refuse a folder that is not a store, so that a mistyped name does not create one. */
	const struct ux_store_place place = ux_folder_place(&folder);
	UX_TRY(ux_store_open_beside(&job->store, &place, err));
	job->index = job->store.index;
	return UX_OK;
}

static int key_verb_run(key_verb_fn *verb, struct key_job *job)
{
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = key_open_index(job, &err);
	if (code == UX_OK)
		code = verb(job, &err);
	if (code == UX_OK)
		return ux_finish(&job->out, UX_EXIT_DONE);
	int status = ux_print_error(job->id ? job->id : "key", &err);
	return code == UX_EINVAL ? UX_EXIT_USAGE : status;
}

static int cmd_key_run(const struct ux_command *cmd, int argc, char **argv)
{
	struct key_values v = {.scopes = "read,symbolize,upload",
			       .overlap = UX_KEY_OVERLAP_DEFAULT};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	const char *word = args.n > 0 ? args.items[0] : "";
	key_verb_fn *verb = strcmp(word, "create") == 0   ? cmd_key_create
			    : strcmp(word, "list") == 0   ? cmd_key_list
			    : strcmp(word, "revoke") == 0 ? cmd_key_revoke
			    : strcmp(word, "rotate") == 0 ? cmd_key_rotate
							  : NULL;
	if (!verb)
		return ux_usage_verb(cmd, args.n > 0 ? word : NULL, "create list rotate revoke");
	bool of_one = verb == cmd_key_revoke || verb == cmd_key_rotate;
	if (of_one && args.n != 2)
		return ux_usage_error(cmd, "%s needs the ID of one key", word);
	if (!of_one && args.n != 1)
		return ux_usage_error(cmd, "unexpected argument \"%.64s\"", args.items[1]);
	ux_cleanup(key_job_deinit) struct key_job job = {.values = &v};
	job.id = of_one ? args.items[1] : NULL;
	return key_verb_run(verb, &job);
}

const struct ux_command ux_cmd_key = {
	.name = "key",
	.usage = "create [options]\nlist [options]\nrotate ID [options]\nrevoke ID [options]",
	.line = "create, list, rotate and revoke API keys of a server",
	.text = "create prints a new key, and creates its namespace if it does not exist. The server stores\n"
		"only the hash of a key, so it is shown only once. list prints the keys. "
		"rotate prints a\n"
		"second token of a key; earlier tokens expire after the overlap. revoke ends a "
		"key\n"
		"immediately. All verbs work while the server runs; the server must have "
		"started once in\n"
		"its folder.",
	.examples = "  unhex key create --namespace team --scopes read,upload --description CI\n"
		    "  unhex key list\n"
		    "  unhex key rotate 4f1c09a2be77 --overlap 24h",
	.options = key_options,
	.n_options = ux_countof(key_options),
	.run = cmd_key_run,
};
