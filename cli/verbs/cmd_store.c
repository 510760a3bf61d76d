/* SPDX-License-Identifier: Apache-2.0 */
/* unhex store: maintenance of the directory of a server. */
#include "commands.h"

#include "id.h"
#include "index.h"
#include "json_out.h"
#include "store_job.h"
#include "text.h"

static const struct ux_option store_options[] = {
	UX_FOLDER_OPTIONS(struct store_values, folder),
	{"namespace", 0, UX_OPTION_TEXT, offsetof(struct store_values, ns), "NAME",
	 "pin, unpin: namespace of the module [default]", .verbs = "pin unpin"},
	{"repair", 0, UX_OPTION_FLAG, offsetof(struct store_values, repair), NULL,
	 "check: remove lost blobs from the index, so that clients upload them again",
	 .verbs = "check"},
	{"dry-run", 'n', UX_OPTION_FLAG, offsetof(struct store_values, dry_run), NULL,
	 "sweep: only print the modules to remove", .verbs = "sweep"},
	{"keep-days", 0, UX_OPTION_TEXT, offsetof(struct store_values, keep_days), "N",
	 "limit: days after which unused modules are removed, or never, or served: the "
	 "server's setting. sweep: the same, for namespaces without their own limit [as "
	 "configured]",
	 .verbs = "limit sweep"},
	{"grace-days", 0, UX_OPTION_COUNT, offsetof(struct store_values, grace_days), "N",
	 "sweep: days between the mark of a module and its removal [7]", .verbs = "sweep"},
	{"cache", 0, UX_OPTION_BYTES, offsetof(struct store_values, cache_bytes), "SIZE",
	 "sweep: maximum size of data that the server can extract or fetch again [as configured]",
	 .verbs = "sweep"},
	{"create", 0, UX_OPTION_FLAG, offsetof(struct store_values, create), NULL,
	 "limit: create the namespace if it does not exist", .verbs = "limit"},
	{"quota", 0, UX_OPTION_TEXT, offsetof(struct store_values, quota), "SIZE",
	 "limit: maximum size of uploads in the namespace; any: no limit", .verbs = "limit"},
	{"modules", 0, UX_OPTION_TEXT, offsetof(struct store_values, modules), "N",
	 "limit: maximum number of modules in the namespace; any: no limit", .verbs = "limit"},
	{"reading", 0, UX_OPTION_TEXT, offsetof(struct store_values, reading), "WHO",
	 "limit: who may read without a key: open (everyone), keyed (no one), or served (the "
	 "server's setting)",
	 "open keyed served", .verbs = "limit"},
	{"upstreams", 0, UX_OPTION_TEXT, offsetof(struct store_values, upstreams), "NAMES",
	 "limit: upstreams for missing files, in order: a,b; all; none", .verbs = "limit"},
	{"copy", 0, UX_OPTION_FLAG, offsetof(struct store_values, copy), NULL,
	 "backup, restore: copy files; do not link them", .verbs = "backup restore"},
	{"to-index", 0, UX_OPTION_TEXT, offsetof(struct store_values, to_index), "URL",
	 "migrate: the database of the new index, postgres://HOST/NAME [a file in the new folder]",
	 .verbs = "migrate"},
	{"to-blobs", 0, UX_OPTION_TEXT, offsetof(struct store_values, to_blobs), "URL",
	 "migrate: the bucket of the new store's files, s3://BUCKET/PREFIX [the new folder]",
	 .verbs = "migrate"},
	{"jobs", 0, UX_OPTION_COUNT, offsetof(struct store_values, jobs), "N",
	 "check, migrate: files that are read or copied at the same time, at most 64 [16]",
	 .verbs = "check migrate"},
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct store_values, json), NULL,
	 "print one JSON object per line"},
};

enum {
	DAY_S = 24 * 60 * 60,
	DAYS_MAX = 36500,
	GARBAGE_S = DAY_S, /* blobs without a module are removed only if they are older than this */
	LIST_BUDGET = 64 << 20
};

static void store_job_deinit(struct store_job *job)
{
	if (job->open)
		ux_store_close(&job->store);
	ux_out_deinit(&job->out);
	ux_folder_deinit(&job->folder);
}

static const struct ux_who store_actor = {.key_id = "", .from = "cli"};

/* check */

static void store_check_report(void *ctx, const struct ux_check_one *one)
{
	struct store_job *job = ctx;
	if (job->values->json) {
		struct ux_json j = ux_json_make(&job->out);
		ux_json_object_begin(&j);
		ux_json_key_cstr(&j, "problem", ux_check_problem_name(one->problem));
		ux_json_key_cstr(&j, "sha256", one->hash);
		ux_json_key_cstr(&j, "reason", one->words);
		ux_json_key_cstr(&j, "id", one->id);
		ux_json_key_u64(&j, "modules", one->modules);
		ux_json_key_bool(&j, "repaired", one->repaired);
		ux_json_object_end(&j);
		ux_out_u8(&job->out, '\n');
		return;
	}
	ux_out_fmt(&job->out, "%s%s  %s  ", ux_check_problem_name(one->problem),
		   one->repaired ? " (repaired)" : "", one->hash);
	if (one->id[0] != '\0') {
		ux_text(&job->out, ux_bytes_cstr(one->id));
		if (one->modules > 1)
			ux_out_fmt(&job->out, " and %" PRIu64 " more", one->modules - 1);
		ux_out_cstr(&job->out, "  ");
	}
	ux_text(&job->out, ux_bytes_cstr(one->words));
	ux_out_u8(&job->out, '\n');
}

static void store_check_sum_json(struct ux_out *out, const struct ux_check_sum *sum)
{
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key_u64(&j, "blobs", sum->blobs);
	ux_json_key_u64(&j, "bytes", sum->bytes);
	ux_json_key_u64(&j, "problems", sum->problems);
	ux_json_key_u64(&j, "repaired", sum->repaired);
	ux_json_key_u64(&j, "garbage", sum->garbage);
	ux_json_key_u64(&j, "requeued", sum->requeued);
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

static enum ux_code store_check(struct store_job *job, struct ux_error *err)
{
	struct ux_check_sum sum;
	UX_TRY(ux_store_check(&job->store, job->values->repair, job->values->jobs,
			      store_check_report, job, &sum, err));
	if (sum.problems > sum.repaired)
		job->status = UX_EXIT_SOME;
	if (job->values->json) {
		store_check_sum_json(&job->out, &sum);
		return UX_OK;
	}
	ux_out_fmt(&job->out, "%" PRIu64 " blobs of ", sum.blobs);
	ux_text_size(&job->out, sum.bytes);
	ux_out_fmt(&job->out, ": %" PRIu64 " problems", sum.problems);
	if (sum.repaired > 0)
		ux_out_fmt(&job->out, ", %" PRIu64 " repaired", sum.repaired);
	if (sum.requeued > 0)
		ux_out_fmt(&job->out, "; %" PRIu64 " uploads are extracted again", sum.requeued);
	if (sum.garbage > 0)
		ux_out_fmt(&job->out, "; %" PRIu64 " unused, for the next sweep", sum.garbage);
	ux_out_u8(&job->out, '\n');
	return UX_OK;
}

/* sweep */

static void store_sweep_report(void *ctx, const struct ux_retained_one *one)
{
	struct store_job *job = ctx;
	char when[UX_TIME_TEXT];
	if (job->values->json) {
		struct ux_json j = ux_json_make(&job->out);
		ux_json_object_begin(&j);
		ux_json_key_cstr(&j, "what", ux_retained_name(one->what));
		ux_json_key_cstr(&j, "namespace", one->ns);
		ux_json_key_cstr(&j, "id", one->id);
		ux_json_key_cstr(&j, "last_used", ux_time_text(one->last_used, when));
		ux_json_key_u64(&j, "bytes", one->bytes);
		ux_json_object_end(&j);
		ux_out_u8(&job->out, '\n');
		return;
	}
	ux_out_fmt(&job->out, "%-7s  %s  last used %s  ", ux_retained_name(one->what), one->ns,
		   ux_time_text(one->last_used, when));
	ux_text(&job->out, ux_bytes_cstr(one->id));
	ux_out_cstr(&job->out, "  ");
	ux_text_size(&job->out, one->bytes);
	ux_out_u8(&job->out, '\n');
}

static void store_sweep_sum(struct store_job *job, const struct ux_retained_sum *sum,
			    const struct ux_sweep *garbage)
{
	const char *would = job->values->dry_run ? "would be " : "";
	if (job->values->json) {
		struct ux_json j = ux_json_make(&job->out);
		ux_json_object_begin(&j);
		for (int i = 0; i < UX_RETAINED_COUNT; i++)
			ux_json_key_u64(&j, ux_retained_name((enum ux_retained)i), sum->n[i]);
		ux_json_key_u64(&j, "blobs", garbage->blobs);
		ux_json_key_u64(&j, "parts", garbage->parts);
		ux_json_key_bool(&j, "dry_run", job->values->dry_run);
		ux_json_object_end(&j);
		ux_out_u8(&job->out, '\n');
		return;
	}
	ux_out_fmt(&job->out,
		   "%" PRIu64 " modules %sremoved, %" PRIu64 " marked, %" PRIu64 " wait; %" PRIu64
		   " cached evicted; %" PRIu64 " blobs and %" PRIu64
		   " broken uploads without a module\n",
		   sum->n[UX_RETAINED_SWEPT], would, sum->n[UX_RETAINED_MARKED],
		   sum->n[UX_RETAINED_IDLE], sum->n[UX_RETAINED_EVICTED], garbage->blobs,
		   garbage->parts);
}

/* Parses --keep-days to seconds, as in struct ux_namespace: 0: never, -1: as configured. */
static enum ux_code store_parse_days(const char *text, int64_t *ret, struct ux_error *err)
{
	uint64_t days = 0;
	if (strcmp(text, "never") == 0)
		*ret = 0;
	else if (strcmp(text, "served") == 0)
		*ret = -1;
	else if (ux_decimal_parse(ux_bytes_cstr(text), &days) && days > 0 && days <= DAYS_MAX)
		*ret = (int64_t)days * DAY_S;
	else
		return ux_error_set(err, UX_EINVAL,
				    "--keep-days is \"%.32s\"; expected 1 to %d, never or served",
				    text, DAYS_MAX);
	return UX_OK;
}

static enum ux_code store_sweep(struct store_job *job, struct ux_error *err)
{
	const struct store_values *v = job->values;
	const struct ux_settings *settings = job->folder.settings;
	struct ux_retention how = {.default_s = (int64_t)settings->keep_days * DAY_S,
				   .grace_s = (int64_t)v->grace_days * DAY_S,
				   .cache_bytes =
					   v->cache_bytes ? v->cache_bytes : settings->cache_bytes,
				   .dry_run = v->dry_run};
	if (v->keep_days)
		UX_TRY(store_parse_days(v->keep_days, &how.default_s, err));
	struct ux_retained_sum sum;
	struct ux_sweep garbage = {0};
	struct ux_store *s = &job->store;
	UX_TRY(ux_store_retain(s, &how, store_sweep_report, job, &sum, err));
	if (ux_store_clock_agrees(&s->clock))
		UX_TRY(ux_store_sweep(s, GARBAGE_S, ux_store_now(s), v->dry_run, &garbage, err));
	else
		ux_print_message(
			"the clock changed since the last sweep; this sweep removes no unused "
			"blobs");
	store_sweep_sum(job, &sum, &garbage);
	return v->dry_run ? UX_OK : ux_store_tick(s, err);
}

/* pins and usage */

static enum ux_code store_parse_id(const char *text, char *ret, struct ux_error *err)
{
	struct ux_id id;
	UX_TRY(ux_id_parse(ux_bytes_cstr(text), &id, err));
	ux_id_format(&id, ret);
	return UX_OK;
}

static enum ux_code store_pin(struct store_job *job, struct ux_error *err)
{
	char id[UX_ID_TEXT];
	struct ux_index *ix = job->store.index;
	UX_TRY(store_parse_id(job->operands[0], id, err));
	return ix->modules.pin(ix, job->values->ns, id, job->operands[1], &store_actor,
			       ux_store_now(&job->store), err);
}

static enum ux_code store_unpin(struct store_job *job, struct ux_error *err)
{
	char id[UX_ID_TEXT];
	struct ux_index *ix = job->store.index;
	UX_TRY(store_parse_id(job->operands[0], id, err));
	return ix->modules.unpin(ix, job->values->ns, id, job->operands[1], &store_actor,
				 ux_store_now(&job->store), err);
}

static const char *const reading_words[] = {
	[UX_NS_AS_SERVED] = "served", [UX_NS_OPEN] = "open", [UX_NS_KEYED] = "keyed"};

static void store_usage_json(struct ux_out *out, const struct ux_namespace *ns,
			     const struct ux_usage *u)
{
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "namespace", ns->name);
	ux_json_key_cstr(&j, "reading", reading_words[ns->reading]);
	ux_json_key_u64(&j, "modules", u->modules);
	ux_json_key_u64(&j, "bytes", u->bytes);
	ux_json_key_u64(&j, "cache_bytes", u->cache_bytes);
	ux_json_key_u64(&j, "quota_modules", ns->quota_modules);
	ux_json_key_u64(&j, "quota_bytes", ns->quota_bytes);
	if (ns->retention_s >= 0) /* otherwise the server's setting applies */
		ux_json_key_u64(&j, "keep_days", (uint64_t)ns->retention_s / DAY_S);
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

static void store_usage_text(struct ux_out *out, const struct ux_namespace *ns,
			     const struct ux_usage *u)
{
	ux_out_fmt(out, "%s  ", ns->name);
	if (ns->reading != UX_NS_AS_SERVED)
		ux_out_fmt(out, "%s  ", reading_words[ns->reading]);
	ux_out_fmt(out, "%" PRIu64 " modules", u->modules);
	if (ns->quota_modules)
		ux_out_fmt(out, " of %" PRIu64, ns->quota_modules);
	ux_out_cstr(out, "  ");
	ux_text_size(out, u->bytes);
	if (ns->quota_bytes) {
		ux_out_cstr(out, " of ");
		ux_text_size(out, ns->quota_bytes);
	}
	ux_out_cstr(out, "  cached ");
	ux_text_size(out, u->cache_bytes);
	if (ns->retention_s > 0)
		ux_out_fmt(out, "  kept %" PRIi64 " days after the last use",
			   ns->retention_s / DAY_S);
	else if (ns->retention_s == 0)
		ux_out_cstr(out, "  kept forever");
	ux_out_u8(out, '\n');
}

static enum ux_code store_usage(struct store_job *job, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = job->store.index;
	struct ux_namespace_list list;
	UX_TRY(ix->namespaces.list(ix, &arena, &list, err));
	for (size_t i = 0; i < list.n; i++) {
		struct ux_usage u;
		UX_TRY(ix->namespaces.usage(ix, list.items[i].name, &u, err));
		if (job->values->json)
			store_usage_json(&job->out, &list.items[i], &u);
		else
			store_usage_text(&job->out, &list.items[i], &u);
	}
	return UX_OK;
}

static enum ux_code store_parse_reading(const char *word, enum ux_ns_reading *ret,
					struct ux_error *err)
{
	for (size_t i = 0; i < ux_countof(reading_words); i++) {
		if (strcmp(word, reading_words[i]) != 0)
			continue;
		*ret = (enum ux_ns_reading)i;
		return UX_OK;
	}
	return ux_error_set(err, UX_EINVAL,
			    "--reading is \"%.32s\"; expected open, keyed or served", word);
}

/* Converts a list like "a,b" to the index's form. */
static enum ux_code store_parse_upstreams(const char *text, struct ux_arena *arena,
					  const char **ret, struct ux_error *err)
{
	if (strcmp(text, "all") == 0)
		text = "*";
	else if (strcmp(text, "none") == 0)
		text = "";
	char *list = ux_arena_strndup(arena, text, strlen(text));
	if (!list)
		return ux_arena_fail(arena, err);
	for (char *p = list; *p; p++)
		*p = *p == ',' ? ' ' : *p;
	*ret = list;
	return UX_OK;
}

static enum ux_code store_set_quotas(const struct store_values *v, struct ux_namespace *ns,
				     struct ux_error *err)
{
	uint64_t n = 0;
	if (v->quota && strcmp(v->quota, "any") != 0 &&
	    (!ux_option_parse_bytes(v->quota, &n) || n == 0))
		return ux_error_set(err, UX_EINVAL,
				    "--quota is \"%.32s\"; expected a size like 50G, or any",
				    v->quota);
	if (v->quota)
		ns->quota_bytes = n;
	n = 0;
	if (v->modules && strcmp(v->modules, "any") != 0 &&
	    (!ux_decimal_parse(ux_bytes_cstr(v->modules), &n) || n == 0))
		return ux_error_set(err, UX_EINVAL,
				    "--modules is \"%.32s\"; expected at least 1, or any",
				    v->modules);
	if (v->modules)
		ns->quota_modules = n;
	return UX_OK;
}

/* Changes the settings of a namespace that are given; the others stay unchanged. */
static enum ux_code store_limit(struct store_job *job, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	const struct store_values *v = job->values;
	struct ux_index *ix = job->store.index;
	struct ux_namespace ns;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ix->namespaces.find(ix, job->operands[0], &arena, &ns, &why);
	if (code == UX_ENOTFOUND && v->create)
		ns = (struct ux_namespace){.name = job->operands[0],
					   .retention_s = -1,
					   .upstreams = "*",
					   .description = ""};
	else if (code == UX_ENOTFOUND)
		return ux_error_set(err, code, "no such namespace; create it with --create");
	else if (code != UX_OK)
		return ux_error_set(err, code, "%s", why.text);
	if (ns.damaged && !v->reading)
		return ux_error_set(err, UX_EIO,
				    "the row of namespace %.64s is damaged; say with --reading who "
				    "may read it",
				    job->operands[0]);
	if (v->reading)
		UX_TRY(store_parse_reading(v->reading, &ns.reading, err));
	if (v->upstreams)
		UX_TRY(store_parse_upstreams(v->upstreams, &arena, &ns.upstreams, err));
	if (v->keep_days)
		UX_TRY(store_parse_days(v->keep_days, &ns.retention_s, err));
	UX_TRY(store_set_quotas(v, &ns, err));
	return ix->namespaces.put(ix, &ns, &store_actor, ux_store_now(&job->store), err);
}

/* the command */

static const struct store_verb {
	const char *name;
	ux_store_verb_fn *fn;
	size_t operands;
} store_verbs[] = {
	{"check", store_check, 0},
	{"sweep", store_sweep, 0},
	{"pin", store_pin, 2},
	{"unpin", store_unpin, 2},
	{"usage", store_usage, 0},
	{"limit", store_limit, 1},
	{"backup", ux_store_job_backup, 1},
	{"restore", ux_store_job_restore, 1},
	{"migrate", ux_store_job_migrate, 1},
};

/* Returns whether a verb removes data, which requires exclusive access to the directory. */
static bool store_verb_is_exclusive(const struct store_verb *verb, const struct store_values *v)
{
	return (verb->fn == store_check && v->repair) || (verb->fn == store_sweep && !v->dry_run);
}

static enum ux_code store_job_open(struct store_job *job, const struct store_verb *verb,
				   struct ux_error *err)
{
	UX_TRY(ux_folder_select(&job->values->folder, &job->folder, err));
	UX_TRY(ux_folder_become_owner(&job->folder, err));
	struct ux_store_place place = ux_folder_place(&job->folder);
	if (verb->fn == ux_store_job_restore)
		place = (struct ux_store_place){.dir = job->operands[0]};
	UX_TRY(ux_store_open_beside(&job->store, &place, err)); /* never creates a directory */
	if (store_verb_is_exclusive(verb, job->values)) {
		ux_store_close(&job->store);
		UX_TRY(ux_store_open_at(&job->store, &place, err));
	}
	job->open = true;
	return UX_OK;
}

static int store_verb_run(struct store_job *job, const struct store_verb *verb)
{
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = store_job_open(job, verb, &err);
	if (code == UX_OK)
		code = verb->fn(job, &err);
	if (code == UX_OK)
		return ux_finish(&job->out, job->status);
	struct ux_error flush = UX_ERROR_INIT;
	if (ux_flush(&job->out, &flush) != UX_OK) /* writes the output that precedes the failure */
		return ux_print_error(NULL, &flush);
	int status = ux_print_error(verb->operands > 0 ? job->operands[0] : "store", &err);
	return code == UX_EINVAL ? UX_EXIT_USAGE : status;
}

static int cmd_store_run(const struct ux_command *cmd, int argc, char **argv)
{
	struct store_values v = {.ns = UX_NAMESPACE_DEFAULT, .grace_days = 7};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	const struct store_verb *verb = NULL;
	for (size_t i = 0; i < ux_countof(store_verbs) && args.n > 0; i++)
		if (strcmp(store_verbs[i].name, args.items[0]) == 0)
			verb = &store_verbs[i];
	if (!verb)
		return ux_usage_verb(cmd, args.n > 0 ? args.items[0] : NULL,
				     "check sweep pin unpin usage limit backup restore migrate");
	if (args.n - 1 > verb->operands)
		return ux_usage_error(cmd, "unexpected argument \"%.64s\"",
				      args.items[1 + verb->operands]);
	if (args.n - 1 < verb->operands)
		return ux_usage_error(cmd, "%s needs %s", verb->name,
				      verb->operands == 2       ? "the ID of a module and a label"
				      : verb->fn == store_limit ? "the name of a namespace"
				      : verb->fn == ux_store_job_migrate
					      ? "the new folder"
					      : "the folder of the backup");
	if (verb->fn == store_limit && !v.create && !v.quota && !v.modules && !v.keep_days &&
	    !v.reading && !v.upstreams)
		return ux_usage_error(cmd, "limit needs --quota, --modules, --keep-days, --reading "
					   "or --upstreams");
	ux_cleanup(store_job_deinit) struct store_job job = {.values = &v,
							     .operands = args.items + 1};
	return store_verb_run(&job, verb);
}

const struct ux_command ux_cmd_store = {
	.name = "store",
	.usage = "check [--repair] [options]\nsweep [--dry-run] [options]\npin ID LABEL [options]\n"
		 "unpin ID LABEL [options]\nusage [options]\nlimit NAMESPACE [options]\n"
		 "backup DIR [options]\nrestore DIR [options]\nmigrate DIR [options]",
	.line = "check, sweep, back up and configure the store of a server",
	.text = "check verifies the hash of every blob and compares the index with the blobs; exit status 1\n"
		"reports an error. sweep does immediately what the server does every hour: it "
		"marks unused\n"
		"modules, and removes them after the grace period; pinned modules stay. usage "
		"prints the usage, quotas and retention of each namespace. limit changes "
		"settings of\n"
		"a namespace. backup copies the store to DIR, or updates an earlier backup "
		"there; restore\n"
		"creates a store from a backup. migrate copies the store to DIR and, with "
		"--to-index, its index\n"
		"to a database, or back to a file; run it again after an interruption. All "
		"verbs work while the\n"
		"server runs, except check --repair, sweep without --dry-run, and restore.",
	.examples = "  unhex store check\n"
		    "  unhex store limit team --quota 50G --keep-days 90\n"
		    "  unhex store sweep --dry-run\n"
		    "  unhex store migrate /srv/unhex --to-index postgres://unhex@db/unhex",
	.options = store_options,
	.n_options = ux_countof(store_options),
	.run = cmd_store_run,
};
