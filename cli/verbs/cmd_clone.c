/* SPDX-License-Identifier: Apache-2.0 */
/* unhex clone: copies a symbol store. */
#include "commands.h"

#include "clock.h"
#include "clone.h"
#include "common_options.h"
#include "crawl_plan.h"
#include "file.h"
#include "interrupt.h"
#include "json_out.h"
#include "key_text.h"
#include "minisign.h"
#include "output.h"
#include "terminal.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct clone_values {
	const char *from_token_file, *to_token_file, *cacert, *s3_endpoint;
	const char *ns, *distribution, *suite, *since, *older;
	const char *pubkey, *sign, *sign_as, *password_file, *store, *max_age;
	unsigned jobs;
	bool dry_run, check, everything, verbose, json;
};

static const struct ux_option clone_options[] = {
	{"from-token-file", 0, UX_OPTION_TEXT, offsetof(struct clone_values, from_token_file),
	 "FILE",
	 "file with the key of the server FROM on its first line [UNHEX_TOKEN, if TO is not a "
	 "server]",
	 .verbs = "!key"},
	{"to-token-file", 0, UX_OPTION_TEXT, offsetof(struct clone_values, to_token_file), "FILE",
	 "file with the key of the server TO on its first line [UNHEX_TOKEN, if FROM is not a "
	 "server]",
	 .verbs = "!key"},
	{"cacert", 0, UX_OPTION_TEXT, offsetof(struct clone_values, cacert), "FILE",
	 "file of root certificates (PEM) for https [UNHEX_CACERT, the system's]", .verbs = "!key"},
	{"s3-endpoint", 0, UX_OPTION_TEXT, offsetof(struct clone_values, s3_endpoint), "URL",
	 "server of an s3:// bucket [Amazon's]; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
	 "hold the keys",
	 .verbs = "!key"},
	{"ns", 0, UX_OPTION_TEXT, offsetof(struct clone_values, ns), "NAME",
	 "copy only objects of this namespace", .verbs = "!key"},
	{"distribution", 0, UX_OPTION_TEXT, offsetof(struct clone_values, distribution), "NAME",
	 "copy only objects from packages of this distribution", ux_crawl_distributions,
	 .verbs = "!key"},
	{"suite", 0, UX_OPTION_TEXT, offsetof(struct clone_values, suite), "NAME",
	 "copy only objects from packages of this suite", .verbs = "!key"},
	{"since", 0, UX_OPTION_TEXT, offsetof(struct clone_values, since), "WHEN",
	 "copy only objects added since then: 30d or 12h ago, or a day, 2027-12-31",
	 .verbs = "!key"},
	{"older", 0, UX_OPTION_TEXT, offsetof(struct clone_values, older), "WHEN",
	 "copy only objects added before then", .verbs = "!key"},
	{"pubkey", 0, UX_OPTION_TEXT, offsetof(struct clone_values, pubkey), "KEY",
	 "copy only if this minisign key (a file or its text) has signed the manifest of FROM",
	 .verbs = "!key"},
	{"sign", 0, UX_OPTION_TEXT, offsetof(struct clone_values, sign), "FILE",
	 "sign the manifest of TO with this secret key", .verbs = "!key"},
	{"sign-as", 0, UX_OPTION_TEXT, offsetof(struct clone_values, sign_as), "NAME",
	 "name of the store in the signed manifest [its earlier name, or the ID of the key]",
	 .verbs = "!key"},
	{"store", 0, UX_OPTION_TEXT, offsetof(struct clone_values, store), "NAME",
	 "copy only if the manifest of FROM is of this store [one that TO has seen, if any]",
	 .verbs = "!key"},
	{"max-age", 0, UX_OPTION_TEXT, offsetof(struct clone_values, max_age), "DURATION",
	 "copy only if the manifest of FROM was signed in the last 7d or 12h", .verbs = "!key"},
	{"password-file", 0, UX_OPTION_TEXT, offsetof(struct clone_values, password_file), "FILE",
	 "file with the password of that key on its first line", .verbs = "!key"},
	{"jobs", 0, UX_OPTION_COUNT, offsetof(struct clone_values, jobs), "N",
	 "modules to copy in parallel; archives always use one [4]", .verbs = "!key"},
	{"check", 0, UX_OPTION_FLAG, offsetof(struct clone_values, check), NULL,
	 "verify the hash of every object in the folder TO, and copy damaged ones again",
	 .verbs = "!key"},
	{"all", 0, UX_OPTION_FLAG, offsetof(struct clone_values, everything), NULL,
	 "list the server FROM from its beginning, including the objects of an earlier copy",
	 .verbs = "!key"},
	{"dry-run", 'n', UX_OPTION_FLAG, offsetof(struct clone_values, dry_run), NULL,
	 "only print the objects to copy", .verbs = "!key"},
	{"verbose", 'v', UX_OPTION_FLAG, offsetof(struct clone_values, verbose), NULL,
	 "print a line for each copied object", .verbs = "!key"},
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct clone_values, json), NULL,
	 "print one JSON object per line, the last with the totals", .verbs = "!key"},
};

/* The state of the command. */
struct clone_job {
	const struct clone_values *values;
	FILE *to; /* standard output, or standard error if the archive goes to standard output */
	struct ux_out out;
	struct ux_progress progress;
	struct ux_clone_summary done; /* counts so far */
	pthread_mutex_t lock;         /* protects `done`: on a signal, another thread prints the
					 summary */
};

static void clone_flush(struct clone_job *job)
{
	if (job->out.size > 0)
		(void)fwrite(job->out.data, 1, job->out.size, job->to);
	(void)fflush(job->to);
	ux_out_reset(&job->out);
}

static void clone_on_progress(void *ctx, const struct ux_clone_progress *p)
{
	struct clone_job *job = ctx;
	(void)pthread_mutex_lock(&job->lock);
	job->progress.files = p->objects;
	job->progress.files_total = p->objects_total;
	job->progress.bytes = job->progress.work = p->bytes;
	job->progress.bytes_total = job->progress.work_total = p->bytes_total;
	ux_progress_show(&job->progress);
	(void)pthread_mutex_unlock(&job->lock);
}

static void clone_write_json(struct ux_out *out, const struct ux_entry *o,
			     enum ux_clone_outcome outcome, const char *reason)
{
	char hash[2 * UX_MANIFEST_HASH + 1];
	struct ux_json j = ux_json_make(out);
	ux_hex_encode(ux_bytes(o->hash, sizeof(o->hash)), hash);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "path", o->path);
	ux_json_key_cstr(&j, "id", o->ids[0]);
	ux_json_key_cstr(&j, "sha256", hash);
	ux_json_key_u64(&j, "size", o->size);
	ux_json_key_cstr(&j, "status", ux_clone_outcome_name(outcome));
	ux_json_key_cstr(&j, "reason", reason);
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

static void clone_on_report(void *ctx, const struct ux_entry *o, enum ux_clone_outcome outcome,
			    const char *reason)
{
	struct clone_job *job = ctx;
	const struct clone_values *v = job->values;
	(void)pthread_mutex_lock(&job->lock);
	job->done.objects[outcome]++;
	bool failed = outcome == UX_CLONE_FAILED || outcome == UX_CLONE_GONE;
	if (v->json) {
		clone_write_json(&job->out, o, outcome, reason);
	} else if (v->verbose || v->dry_run || failed) {
		ux_out_fmt(&job->out, "%-12s  %s  ", ux_clone_outcome_name(outcome), o->path);
		ux_text_size(&job->out, o->size);
		if (reason[0] != '\0' && !v->dry_run) {
			ux_out_cstr(&job->out, "  ");
			ux_text(&job->out, ux_bytes_cstr(reason));
		}
		ux_out_u8(&job->out, '\n');
	}
	if (job->out.size > 0) {
		ux_progress_clear(&job->progress);
		clone_flush(job);
	}
	(void)pthread_mutex_unlock(&job->lock);
}

static void clone_write_sum(struct clone_job *job, const struct ux_clone_summary *sum)
{
	struct ux_out *out = &job->out;
	if (job->values->json) {
		struct ux_json j = ux_json_make(out);
		ux_json_object_begin(&j);
		for (int i = 0; i < UX_CLONE_OUTCOME_COUNT; i++)
			ux_json_key_u64(&j, ux_clone_outcome_name((enum ux_clone_outcome)i),
					sum->objects[i]);
		ux_json_key_u64(&j, "bytes", sum->bytes);
		ux_json_key_bool(&j, "dry_run", job->values->dry_run);
		ux_json_object_end(&j);
		ux_out_u8(out, '\n');
		return;
	}
	const char *separator = "";
	for (int i = 0; i < UX_CLONE_OUTCOME_COUNT; i++) {
		if (sum->objects[i] == 0 && i != UX_CLONE_COPIED)
			continue;
		ux_out_fmt(out, "%s%" PRIu64 " %s", separator, sum->objects[i],
			   ux_clone_outcome_name((enum ux_clone_outcome)i));
		separator = ", ";
	}
	ux_out_cstr(out, "; ");
	ux_text_size(out, sum->bytes);
	ux_out_cstr(out, job->values->dry_run ? " would be copied\n" : " copied\n");
}

/* Prints the summary on Ctrl-C. Copied objects stay, and the next run continues from there. */
static void clone_on_interrupt(void *ctx)
{
	struct clone_job *job = ctx;
	(void)pthread_mutex_lock(&job->lock);
	ux_progress_clear(&job->progress);
	ux_print_message("clone: interrupted after %" PRIu64
			 " objects; run the same command to continue",
			 job->done.objects[UX_CLONE_COPIED]);
	(void)pthread_mutex_unlock(&job->lock);
}

/* --- values of options ------------------------------------------------------------------------ */

static bool clone_parse_day(const char *text, int64_t *ret)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	*ret = end && *end == '\0' ? timegm(&tm) : 0;
	return *ret > 0;
}

/* Parses a duration before now, or a day. NULL: 0. */
static enum ux_code clone_parse_when(const char *option, const char *text, int64_t *ret,
				     struct ux_error *err)
{
	int64_t seconds = 0;
	*ret = 0;
	if (!text)
		return UX_OK;
	if (ux_key_duration_parse(text, &seconds) && seconds > 0) {
		*ret = ux_max(ux_clock_wall() - seconds, (int64_t)1);
		return UX_OK;
	}
	return clone_parse_day(text, ret)
		       ? UX_OK
		       : ux_error_set(err, UX_EINVAL,
				      "%s is \"%.40s\"; expected 30d, 12h, 30m or "
				      "2027-12-31",
				      option, text);
}

/* Sets which manifest of FROM is accepted, and the name in the one of TO. */
static enum ux_code clone_parse_state(const struct clone_values *v, struct ux_clone_options *o,
				      struct ux_error *err)
{
	o->store = v->store;
	o->sign_as = v->sign_as;
	if (v->max_age && (!ux_key_duration_parse(v->max_age, &o->max_age_s) || o->max_age_s <= 0))
		return ux_error_set(err, UX_EINVAL, "--max-age is \"%.40s\"; expected 7d or 12h",
				    v->max_age);
	if (v->sign_as && !v->sign)
		return ux_error_set(err, UX_EINVAL, "--sign-as needs --sign");
	if (v->sign_as && (v->sign_as[0] == '\0' || strlen(v->sign_as) > UX_MANIFEST_STORE_MAX))
		return ux_error_set(err, UX_EINVAL, "--sign-as needs 1 to %d bytes",
				    UX_MANIFEST_STORE_MAX);
	return UX_OK;
}

static enum ux_code clone_map_small(const char *path, struct ux_mapping *ret, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_file_map(path, ret, &why);
	if (code == UX_OK && ret->bytes.size > UX_MINISIGN_FILE_MAX)
		code = ux_error_set(&why, UX_ELIMIT, "is larger than %d bytes",
				    UX_MINISIGN_FILE_MAX);
	return code == UX_OK ? UX_OK : ux_error_set(err, code, "%.100s: %s", path, why.text);
}

/* Reads a key from a file of that name, or from the text itself. */
static enum ux_code clone_read_pubkey(const char *text, struct ux_minisign_public *ret,
				      struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (access(text, F_OK) != 0 &&
	    ux_minisign_public_read(ux_bytes_cstr(text), ret, NULL) == UX_OK)
		return UX_OK;
	UX_TRY(clone_map_small(text, &file, err));
	return ux_minisign_public_read(file.bytes, ret, err);
}

static enum ux_code clone_read_secret(const struct clone_values *v, struct ux_minisign_secret *ret,
				      struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0}, line = {0};
	char password[UX_MINISIGN_FILE_MAX + 1] = "";
	if (v->password_file) {
		UX_TRY(clone_map_small(v->password_file, &line, err));
		memcpy(password, line.bytes.data ? line.bytes.data : (const uint8_t *)"",
		       line.bytes.size);
		password[line.bytes.size] = '\0';
		password[strcspn(password, "\r\n")] = '\0';
	}
	UX_TRY(clone_map_small(v->sign, &file, err));
	enum ux_code code =
		ux_minisign_secret_read(file.bytes, v->password_file ? password : NULL, ret, err);
	explicit_bzero(password, sizeof(password));
	return code;
}

/* If the place is a server, its URL follows this prefix. */
static const char bucket[] = "bucket+";

static bool clone_is_url(const char *where)
{
	const char *url = strncmp(where, bucket, sizeof(bucket) - 1) == 0
				  ? where + sizeof(bucket) - 1
				  : where;
	return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

/*
 * Selects the key of a server. The environment's key is sent only if exactly one of the two places
 * is a server: otherwise it would be unclear which of them it belongs to.
 */
static enum ux_code clone_select_token(const char *where, const char *token_file, bool other_is_url,
				       struct ux_server_selection *ret, const char *cacert,
				       struct ux_error *err)
{
	struct ux_server_values values = {.url = where, .token_file = token_file, .cacert = cacert};
	*ret = (struct ux_server_selection){.url = where};
	if (!clone_is_url(where))
		return token_file ? ux_error_set(err, UX_EINVAL,
						 "a key is given for \"%.100s\", which is not a "
						 "server; omit the key",
						 where)
				  : UX_OK;
	if (strncmp(where, bucket, sizeof(bucket) - 1) == 0)
		values.url = where + sizeof(bucket) - 1;
	enum ux_code code = ux_server_select(&values, ret, err);
	if (code != UX_OK && strcmp(ret->subject, "--url") == 0)
		ret->subject = where; /* the operand has the URL */
	UX_TRY(code);
	ret->url = where;
	ret->subject = NULL;
	if (!token_file && (other_is_url || values.url != where)) {
		ret->token[0] = '\0';
		ret->key_source = NULL;
	}
	return UX_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

/* The parsed command line. */
struct clone_inputs {
	struct ux_server_selection from, to;
	struct ux_minisign_public key;
	struct ux_minisign_secret signer;
	struct ux_clone_options o;
};

static enum ux_code clone_read_inputs(const struct clone_values *v, char **operands,
				      struct clone_inputs *in, struct ux_error *err)
{
	bool from_url = clone_is_url(operands[0]), to_url = clone_is_url(operands[1]);
	UX_TRY(clone_select_token(operands[0], v->from_token_file, to_url, &in->from, v->cacert,
				  err));
	UX_TRY(clone_select_token(operands[1], v->to_token_file, from_url, &in->to, v->cacert,
				  err));
	in->o = (struct ux_clone_options){
		.from = {.where = operands[0], .token = in->from.token},
		.to = {.where = operands[1], .token = in->to.token},
		.cacert = in->from.cacert ? in->from.cacert : in->to.cacert,
		.s3_endpoint = v->s3_endpoint,
		.filter = {.ns = v->ns, .distribution = v->distribution, .suite = v->suite},
		.jobs = v->jobs,
		.dry_run = v->dry_run,
		.check = v->check,
		.everything = v->everything,
	};
	UX_TRY(clone_parse_when("--since", v->since, &in->o.filter.since, err));
	UX_TRY(clone_parse_when("--older", v->older, &in->o.filter.before, err));
	UX_TRY(clone_parse_state(v, &in->o, err));
	if (v->pubkey) {
		UX_TRY(clone_read_pubkey(v->pubkey, &in->key, err));
		in->o.key = &in->key;
	}
	if (v->sign) {
		UX_TRY(clone_read_secret(v, &in->signer, err));
		in->o.signer = &in->signer;
	}
	return UX_OK;
}

static void clone_inputs_deinit(struct clone_inputs *in)
{
	explicit_bzero(&in->signer, sizeof(in->signer));
	explicit_bzero(in->from.token, sizeof(in->from.token));
	explicit_bzero(in->to.token, sizeof(in->to.token));
}

/* Two servers may each have a key: the message then names the sources of both. */
static int clone_print_error(const struct clone_inputs *in, const struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out both = {0};
	const char *from = in->from.key_source, *to = in->to.key_source;
	struct ux_server_selection server = {.key_source = from ? from : to};
	if (from && to) {
		ux_out_fmt(&both, "%s or %s", from, to);
		ux_out_u8(&both, 0);
		server.key_source = both.failed ? NULL : (const char *)both.data;
	}
	return ux_server_print_error(&server, "clone", err);
}

static int clone_copy_run(struct clone_job *job, char **operands)
{
	ux_cleanup(clone_inputs_deinit) struct clone_inputs in = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_clone_summary sum;
	if (clone_read_inputs(job->values, operands, &in, &err) != UX_OK) {
		const char *subject = in.to.subject ? in.to.subject : in.from.subject;
		ux_print_error(subject ? subject : "clone", &err);
		return UX_EXIT_USAGE;
	}
	in.o.report = clone_on_report;
	in.o.progress = clone_on_progress;
	in.o.ctx = job;
	ux_progress_init(&job->progress, job->values->dry_run ? "clone (dry run)" : "clone");
	ux_interrupt_begin(clone_on_interrupt, job);
	enum ux_code code = ux_clone_run(&in.o, &sum, &err);
	(void)pthread_mutex_lock(&job->lock);
	ux_progress_clear(&job->progress);
	if (code == UX_OK)
		clone_write_sum(job, &sum);
	clone_flush(job);
	(void)pthread_mutex_unlock(&job->lock);
	if (code != UX_OK) {
		int status = clone_print_error(&in, &err);
		return code == UX_EINVAL || code == UX_EUNSUPPORTED ? UX_EXIT_USAGE : status;
	}
	if (sum.undated)
		ux_print_message(
			"clone: the signed manifest has no serial, so an earlier one would "
			"be accepted too; sign it with unhex clone --sign");
	return sum.objects[UX_CLONE_FAILED] > 0 ? UX_EXIT_SOME : UX_EXIT_DONE;
}

static enum ux_code clone_write_key(const char *name, const char *suffix, unsigned mode,
				    const struct ux_out *text, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	if (asprintf(&path, "%s%s", name, suffix) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create %.100s", path);
	enum ux_code code = ux_file_write(fd, ux_out_bytes(text), err);
	if (close(fd) != 0 && code == UX_OK)
		code = ux_error_os(err, errno, "cannot write %.100s", path);
	if (code != UX_OK)
		(void)unlink(path);
	return code;
}

/* Writes NAME.key and NAME.pub; existing files are not replaced. */
static int clone_key_run(const char *name)
{
	ux_cleanup(ux_out_deinit) struct ux_out secret = {0}, public_key = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_minisign_generate(&secret, &public_key, &err);
	if (code == UX_OK)
		code = clone_write_key(name, ".key", 0600, &secret, &err);
	if (code == UX_OK)
		code = clone_write_key(name, ".pub", 0666, &public_key, &err);
	if (secret.data)
		explicit_bzero(secret.data, secret.cap);
	if (code != UX_OK)
		return ux_print_error("clone key", &err);
	(void)fwrite(public_key.data, 1, public_key.size, stdout);
	return fflush(stdout) == 0 ? UX_EXIT_DONE : UX_EXIT_SOME;
}

static void clone_job_deinit(struct clone_job *job)
{
	ux_out_deinit(&job->out);
}

static int cmd_clone_run(const struct ux_command *cmd, int argc, char **argv)
{
	struct clone_values v = {0};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n != 2)
		return ux_usage_error(cmd, "expected FROM and TO, or key NAME");
	if (strcmp(args.items[0], "key") == 0)
		return clone_key_run(args.items[1]);
	if (v.password_file && !v.sign)
		return ux_usage_error(cmd, "--password-file needs --sign");
	if (v.sign && clone_is_url(args.items[1]))
		return ux_usage_error(
			cmd, "--sign: expected a folder, bucket or archive as TO; a server has no "
			     "manifest");
	ux_cleanup(clone_job_deinit) struct clone_job job = {
		.values = &v,
		.to = strcmp(args.items[1], "-") == 0 && !v.dry_run ? stderr : stdout,
		.lock = PTHREAD_MUTEX_INITIALIZER};
	return clone_copy_run(&job, args.items);
}

const struct ux_command ux_cmd_clone = {
	.name = "clone",
	.usage = "FROM TO [options]\nkey NAME",
	.line = "copy a symbol store",
	.text = "Copies the objects that TO lacks. FROM and TO are servers (http://, https://), folders, buckets\n"
		"(s3://BUCKET/PREFIX), or archives (FILE.tar, or - for a pipe); FROM may also "
		"be a folder that a static web server serves\n"
		"(bucket+https://...). clone verifies the SHA-256 of every object before TO "
		"gets it. After an\n"
		"interruption, the same command continues; a later run copies only new "
		"objects. A folder has a\n"
		"manifest of its objects, and a layout that a static web server can serve to "
		"debuginfod clients\n"
		"and to unhex. --sign and --pubkey sign and verify the manifest as minisign "
		"does; key creates\n"
		"such a pair of keys, NAME.key and NAME.pub.",
	.examples = "  unhex clone https://symbols.example.com /srv/symbols --from-token-file key\n"
		    "  unhex clone /srv/symbols - | ssh host unhex clone - /srv/symbols\n"
		    "  unhex clone https://symbols.example.com s3://mirror/symbols "
		    "--from-token-file key\n"
		    "  unhex clone bucket+https://mirror.example.com/symbols http://127.0.0.1:8420 "
		    "--pubkey mirror.pub",
	.options = clone_options,
	.n_options = ux_countof(clone_options),
	.run = cmd_clone_run,
};
