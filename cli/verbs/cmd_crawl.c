/* SPDX-License-Identifier: Apache-2.0 */
/* unhex crawl: symbols of the packages of distributions. */
#include "commands.h"

#include "common_options.h"
#include "crawl_plan.h"
#include "crawl_worker.h"
#include "json_out.h"
#include "output.h"
#include "package.h"
#include "plan_announce.h"
#include "polite_client.h"
#include "remote.h"
#include "repo_url.h"
#include "text.h"

#include <time.h>

enum {
	SERVER_TRIES = 4, /* attempts of a request to the server */
};

struct crawl_values {
	struct ux_server_values server;
	struct ux_option_each suites, components, archs, names, keyrings, from;
	const char *mirror;
	const char *since;
	uint64_t max_size;
	bool allow_expired, allow_older, allow_unsigned;
	bool debug_only, sources;
	bool dry_run;
	bool no_work;
	bool on_demand;
	const char *contact;
	unsigned jobs;
	uint64_t memory;
	bool json;
};

static const struct ux_option crawl_options[] = {
	UX_SERVER_OPTIONS(struct crawl_values, server),
	{"suite", 0, UX_OPTION_EACH, offsetof(struct crawl_values, suites), "SUITE",
	 "suite or release, such as bookworm; may be repeated [apt's]",
	 "bookworm trixie sid jammy noble rolling latest", 's', .verbs = "!work status"},
	{"component", 0, UX_OPTION_EACH, offsetof(struct crawl_values, components), "NAME",
	 "component, such as main; may be repeated [apt's]",
	 "main contrib non-free non-free-firmware universe restricted multiverse community", 'c',
	 .verbs = "!work status"},
	{"arch", 0, UX_OPTION_EACH, offsetof(struct crawl_values, archs), "ARCH",
	 "architecture, as the distribution names it; may be repeated [this machine's]",
	 "amd64 arm64 armhf i386 ppc64el riscv64 s390x x86_64 aarch64", 'a',
	 .verbs = "!work status"},
	{"package", 0, UX_OPTION_EACH, offsetof(struct crawl_values, names), "GLOB",
	 "only packages whose name matches; may be repeated", NULL, 'p', .verbs = "!work status"},
	{"since", 0, UX_OPTION_TEXT, offsetof(struct crawl_values, since), "DATE",
	 "only packages built on or after YYYY-MM-DD, where the index has a date",
	 .verbs = "!work status"},
	{"max-size", 0, UX_OPTION_BYTES, offsetof(struct crawl_values, max_size), "SIZE",
	 "leave out larger packages", .verbs = "!work status"},
	{"debug-only", 0, UX_OPTION_FLAG, offsetof(struct crawl_values, debug_only), NULL,
	 "only packages with debug files; no stripped ones", .verbs = "!work status"},
	{"sources", 0, UX_OPTION_FLAG, offsetof(struct crawl_values, sources), NULL,
	 "also announce source packages: the server fetches one when a source file is missing",
	 .verbs = "!work status"},
	{"mirror", 0, UX_OPTION_TEXT, offsetof(struct crawl_values, mirror), "URL",
	 "root of a mirror: a URL or a folder [apt's]", NULL, 'm', .verbs = "!work status"},
	{"keyring", 0, UX_OPTION_EACH, offsetof(struct crawl_values, keyrings), "FILE",
	 "file of trusted signing keys; may be repeated [apt's, the distribution's]",
	 .verbs = "!work status"},
	{"allow-expired", 0, UX_OPTION_FLAG, offsetof(struct crawl_values, allow_expired), NULL,
	 "accept metadata after its Valid-Until date", .verbs = "!work status"},
	{"allow-older", 0, UX_OPTION_FLAG, offsetof(struct crawl_values, allow_older), NULL,
	 "accept a Release that is older than the one that was read before",
	 .verbs = "!work status"},
	{"allow-unsigned", 0, UX_OPTION_FLAG, offsetof(struct crawl_values, allow_unsigned), NULL,
	 "accept metadata without a signature, even without https", .verbs = "!work status"},
	{"from", 0, UX_OPTION_EACH, offsetof(struct crawl_values, from), "MIRROR",
	 "URL or folder below which leased packages may be; may be repeated [the repositories']",
	 .verbs = "!status"},
	{"contact", 0, UX_OPTION_TEXT, offsetof(struct crawl_values, contact), "TEXT",
	 "e-mail address or URL for mirror administrators, sent in the User-Agent",
	 .verbs = "!status"},
	{"dry-run", 'n', UX_OPTION_FLAG, offsetof(struct crawl_values, dry_run), NULL,
	 "only count packages and bytes", .verbs = "!work status"},
	{"no-work", 0, UX_OPTION_FLAG, offsetof(struct crawl_values, no_work), NULL,
	 "only announce the packages to the server, for other workers", .verbs = "!work status"},
	{"on-demand", 0, UX_OPTION_FLAG, offsetof(struct crawl_values, on_demand), NULL,
	 "announce only build IDs: the server fetches a package when one is missing",
	 .verbs = "!work status"},
	{"jobs", 0, UX_OPTION_COUNT, offsetof(struct crawl_values, jobs), "N",
	 "packages to read in parallel [one per processor]", .verbs = "!status"},
	{"memory", 0, UX_OPTION_BYTES, offsetof(struct crawl_values, memory), "SIZE",
	 "maximum memory of all extractions together; the rest goes to files in TMPDIR [160M]",
	 .verbs = "!status"},
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct crawl_values, json), NULL,
	 "print one JSON object per repository or package"},
};

static struct ux_crawl_words crawl_words(const struct ux_option_each *each)
{
	return (struct ux_crawl_words){each->items, each->n};
}

/* Parses "YYYY-MM-DD" as 0:00 UTC. */
static bool crawl_parse_date(const char *text, int64_t *ret)
{
	struct tm tm = {0};
	uint64_t part[3] = {0};
	struct ux_bytes t = ux_bytes_cstr(text);
	for (size_t i = 0; i < 3; i++) {
		size_t n = ux_digits_parse(t, 10, &part[i]);
		if (n != (i == 0 ? 4 : 2) || (i < 2 && (t.size <= n || t.data[n] != '-')) ||
		    (i == 2 && t.size != n))
			return false;
		t = ux_bytes(t.data + n + 1, t.size - ux_min(t.size, n + 1));
	}
	tm.tm_year = (int)part[0] - 1900;
	tm.tm_mon = (int)part[1] - 1;
	tm.tm_mday = (int)part[2];
	*ret = timegm(&tm);
	return tm.tm_mon == (int)part[1] - 1 && tm.tm_mday == (int)part[2];
}

static struct ux_crawl_sum crawl_total(const struct ux_crawl_repository *r)
{
	struct ux_crawl_sum all = {0};
	for (size_t i = 0; i < UX_PACKAGE_ROLE_COUNT; i++) {
		all.packages += r->roles[i].packages;
		all.bytes += r->roles[i].bytes;
		all.installed += r->roles[i].installed;
		all.build_ids += r->roles[i].build_ids;
	}
	return all;
}

static void crawl_print_json(struct ux_out *out, const struct ux_crawl_repository *r)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "repository", r->label);
	if (r->err.code != UX_OK) {
		ux_json_key_cstr(&j, "cause", r->result.cause);
		ux_json_key_cstr(&j, "error", ux_error_format(&r->err, text, sizeof(text)));
		ux_json_object_end(&j);
		ux_out_u8(out, '\n');
		return;
	}
	ux_json_key_bool(&j, "unchanged", r->result.unchanged);
	ux_json_key_u64(&j, "in_index", r->result.packages);
	for (size_t i = 0; i < UX_PACKAGE_ROLE_COUNT; i++) {
		ux_json_key(&j, ux_package_role_name((enum ux_package_role)i));
		ux_json_object_begin(&j);
		ux_json_key_u64(&j, "packages", r->roles[i].packages);
		ux_json_key_u64(&j, "bytes", r->roles[i].bytes);
		ux_json_key_u64(&j, "installed", r->roles[i].installed);
		ux_json_key_u64(&j, "build_ids", r->roles[i].build_ids);
		ux_json_object_end(&j);
	}
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

static void crawl_print_sum(struct ux_out *out, const char *what, const struct ux_crawl_sum *s)
{
	ux_out_fmt(out, "  %-9s %" PRIu64 " packages, ", what, s->packages);
	ux_text_size(out, s->bytes);
	ux_out_cstr(out, " to fetch, ");
	ux_text_size(out, s->installed);
	ux_out_fmt(out, " unpacked, %" PRIu64 " build IDs\n", s->build_ids);
}

static void crawl_print_text(struct ux_out *out, const struct ux_crawl_repository *r)
{
	if (r->err.code != UX_OK)
		return;
	ux_text(out, ux_bytes_cstr(r->label));
	if (r->result.unchanged) {
		ux_out_cstr(out, ": unchanged\n");
		return;
	}
	ux_out_fmt(out, ": %" PRIu64 " packages\n", r->result.packages);
	for (size_t i = 0; i < UX_PACKAGE_ROLE_COUNT; i++)
		if (r->roles[i].packages > 0)
			crawl_print_sum(out, ux_package_role_name((enum ux_package_role)i),
					&r->roles[i]);
}

/* Prints the plan; returns the exit status. */
static int crawl_print_plan(const struct ux_crawl_plan *plan, const struct crawl_values *v)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_crawl_sum all = {0};
	int status = UX_EXIT_DONE;
	for (size_t i = 0; i < plan->repositories.size; i++) {
		const struct ux_crawl_repository *r = &plan->repositories.data[i];
		struct ux_crawl_sum sum = crawl_total(r);
		if (r->err.code != UX_OK)
			status = ux_max(status, v->json ? ux_exit_of(r->err.code)
							: ux_print_error(r->label, &r->err));
		(v->json ? crawl_print_json : crawl_print_text)(&out, r);
		all.packages += sum.packages;
		all.bytes += sum.bytes;
		all.installed += sum.installed;
		all.build_ids += sum.build_ids;
	}
	if (!v->json && plan->repositories.size > 1)
		crawl_print_sum(&out, "all", &all);
	return ux_finish(&out, status);
}

/* Announces the plan; returns the exit status. */
static int crawl_announce(struct ux_crawl_client *server,
			  const struct ux_server_selection *selected,
			  const struct ux_crawl_plan *plan, const struct ux_crawl_choice *choice,
			  const struct crawl_values *v)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_crawl_announced sum;
	struct ux_error err = UX_ERROR_INIT;
	if (ux_crawl_announce(server, plan, choice, &sum, &err) != UX_OK) {
		(void)ux_server_print_error(selected, "server", &err);
		return UX_EXIT_SERVER;
	}
	if (v->json) {
		struct ux_json j = ux_json_make(&out);
		ux_json_object_begin(&j);
		ux_json_key_u64(&j, "new", sum.fresh);
		ux_json_key_u64(&j, "known", sum.known);
		ux_json_key_u64(&j, "again", sum.again);
		ux_json_object_end(&j);
		ux_out_u8(&out, '\n');
	} else {
		ux_out_fmt(&out,
			   "announced: %" PRIu64 " new, %" PRIu64 " known, %" PRIu64
			   " of these again\n",
			   sum.fresh, sum.known, sum.again);
	}
	return ux_finish(&out, UX_EXIT_DONE);
}

/* Reads the repositories and prints their contents; returns the exit status. */
static int crawl_read(struct ux_crawl_plan *plan, const struct ux_crawl_choice *choice,
		      const struct ux_repository_state *known, const struct crawl_values *v)
{
	struct ux_polite *client = NULL;
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_polite_options polite = {.contact = v->contact};
	if (ux_polite_open(&client, &polite, &err) != UX_OK)
		return ux_print_error("crawl", &err);
	enum ux_code code = ux_crawl_plan_read(plan, choice, client, known, &err);
	ux_polite_close(client);
	return code == UX_OK ? crawl_print_plan(plan, v) : ux_print_error("crawl", &err);
}

static void crawl_free_states(struct ux_repository_state **states)
{
	free(*states);
}

/* Selects the server. False: an error was printed, and the command ends with UX_EXIT_USAGE. */
static bool crawl_select(struct crawl_values *v, struct ux_server_selection *ret)
{
	struct ux_error err = UX_ERROR_INIT;
	if (ux_server_select(&v->server, ret, &err) == UX_OK)
		return true;
	(void)ux_print_error(ret->subject, &err);
	return false;
}

/*
 * Works on packages, or if none is named, on packages that the server leases: from repositories
 * that the pattern matches, NULL for all, below the mirrors.
 */
static int crawl_work(const struct ux_server_selection *server, const struct crawl_values *v,
		      const char *repository, const struct ux_mirrors *mirrors,
		      char *const *packages, size_t n)
{
	const struct ux_crawl_work_options options = {.url = server->url,
						      .token = server->token,
						      .cacert = server->cacert,
						      .contact = v->contact,
						      .jobs = v->jobs,
						      .memory = v->memory,
						      .retries = SERVER_TRIES - 1,
						      .mirrors = *mirrors,
						      .repository = repository};
	return ux_crawl_work_run(server, &options, packages, n, v->json);
}

/* Reads and announces; returns the exit status. */
static int crawl_for_server(const struct ux_server_selection *selected, struct ux_crawl_plan *plan,
			    const struct ux_crawl_choice *choice, const struct crawl_values *v)
{
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_crawl_client_close) struct ux_crawl_client server = {0};
	ux_cleanup(crawl_free_states) struct ux_repository_state *known =
		calloc(plan->repositories.size, sizeof(*known));
	const struct ux_crawl_client_options options = {.url = selected->url,
							.token = selected->token,
							.cacert = selected->cacert,
							.tries = SERVER_TRIES};
	if (!known)
		return ux_print_error("crawl", (ux_error_nomem(&err), &err));
	if (ux_crawl_client_open(&server, &options, &err) != UX_OK) {
		(void)ux_print_error("crawl", &err);
		return UX_EXIT_USAGE;
	}
	if (ux_crawl_known(&server, plan, choice, known, &err) != UX_OK) {
		(void)ux_server_print_error(
			selected, err.code == UX_EUNAVAILABLE ? NULL : selected->url, &err);
		return UX_EXIT_SERVER;
	}
	int status = crawl_read(plan, choice, known, v);
	int announced = crawl_announce(&server, selected, plan, choice, v);
	return ux_max(status, announced);
}

/* Reads, announces and works; returns the exit status. */
static int crawl_all(struct ux_crawl_plan *plan, const struct ux_crawl_choice *choice,
		     struct crawl_values *v)
{
	static struct ux_server_selection server;
	char repository[128];
	const struct ux_crawl_words from = crawl_words(&v->from);
	struct ux_mirrors mirrors;
	struct ux_error err = UX_ERROR_INIT;
	if (!crawl_select(v, &server))
		return UX_EXIT_USAGE;
	int status = crawl_for_server(&server, plan, choice, v);
	if (v->no_work || v->on_demand || status == UX_EXIT_SERVER)
		return status;
	if (ux_crawl_plan_mirrors(plan, &from, &mirrors, &err) != UX_OK)
		return ux_print_error("crawl", &err);
	if (mirrors.n == 0) /* no image has a valid reference, which was printed */
		return status;
	snprintf(repository, sizeof(repository), "%.100s *", choice->distribution);
	int worked = crawl_work(&server, v,
				plan->repositories.size == 1 ? plan->repositories.data[0].label
							     : repository,
				&mirrors, NULL, 0);
	return ux_max(status, worked);
}

/* Fills the choice from the command line. False: *ret_status is the exit status. */
static bool crawl_choose(const struct ux_command *cmd, const struct crawl_values *v,
			 const char *distribution, struct ux_crawl_choice *ret, int *ret_status)
{
	struct ux_error err = UX_ERROR_INIT;
	*ret = (struct ux_crawl_choice){
		.distribution = distribution,
		.suites = crawl_words(&v->suites),
		.components = crawl_words(&v->components),
		.archs = crawl_words(&v->archs),
		.mirror = v->mirror,
		.keys = {v->keyrings.items, v->keyrings.n},
		.allow_expired = v->allow_expired,
		.allow_older = v->allow_older,
		.allow_unsigned = v->allow_unsigned,
		.names = crawl_words(&v->names),
		.roles = 1u << UX_PACKAGE_DEBUG | (v->debug_only ? 0 : 1u << UX_PACKAGE_STRIPPED) |
			 (v->sources ? 1u << UX_PACKAGE_SOURCE : 0),
		.size_max = v->max_size,
		.only_index = v->on_demand,
	};
	if (v->since && !crawl_parse_date(v->since, &ret->since)) {
		*ret_status = ux_usage_error(
			cmd, "--since: \"%.32s\" is not a date; expected YYYY-MM-DD", v->since);
		return false;
	}
	if (v->mirror && ux_repo_url_check(v->mirror, &err) != UX_OK) {
		*ret_status = ux_usage_error(cmd, "--mirror: %s", err.text);
		return false;
	}
	return true;
}

/* Prints the progress of crawls; returns the exit status. */
static int crawl_print_status(const struct ux_server_selection *server, bool json)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	if (ux_crawl_status(server, json, &out, &err) == UX_OK)
		return ux_finish(&out, UX_EXIT_DONE);
	(void)ux_server_print_error(server, server->url, &err);
	return UX_EXIT_SERVER;
}

/* Checks the mirrors of --from. False: an error was printed. */
static bool crawl_check_from(const struct ux_command *cmd, const struct crawl_values *v)
{
	struct ux_error err = UX_ERROR_INIT;
	for (size_t i = 0; i < v->from.n; i++)
		if (ux_repo_url_check(v->from.items[i], &err) != UX_OK) {
			(void)ux_usage_error(cmd, "--from: %s", err.text);
			return false;
		}
	return true;
}

/* Works on named packages, or below --from on leased ones; returns the exit status. */
static int crawl_only_work(const struct ux_command *cmd, struct crawl_values *v,
			   char *const *packages, size_t n)
{
	static struct ux_server_selection server;
	struct ux_mirror list[UX_OPTION_EACH_MAX];
	const struct ux_mirrors mirrors = {list, v->from.n};
	if (n == 0 && v->from.n == 0)
		return ux_usage_error(cmd, "work: missing --from MIRROR, below which packages may "
					   "be, or PACKAGE");
	for (size_t i = 0; i < v->from.n; i++)
		list[i] = (struct ux_mirror){.url = v->from.items[i], .own_network = true};
	return crawl_select(v, &server) ? crawl_work(&server, v, NULL, &mirrors, packages, n)
					: UX_EXIT_USAGE;
}

static int cmd_crawl_run(const struct ux_command *cmd, int argc, char **argv)
{
	struct crawl_values v = {0};
	struct ux_args args;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_crawl_choice choice;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n == 0)
		return ux_usage_verb(cmd, NULL, ux_crawl_distributions);
	if (!crawl_check_from(cmd, &v))
		return UX_EXIT_USAGE;
	if (strcmp(args.items[0], "work") == 0)
		return crawl_only_work(cmd, &v, args.items + 1, args.n - 1);
	if (strcmp(args.items[0], "status") == 0 && args.n == 1) {
		static struct ux_server_selection server;
		return crawl_select(&v, &server) ? crawl_print_status(&server, v.json)
						 : UX_EXIT_USAGE;
	}
	if (args.n > 1 && strcmp(args.items[0], "oci") != 0)
		return ux_usage_error(cmd, "unexpected operand %.64s", args.items[1]);
	if (!crawl_choose(cmd, &v, args.items[0], &choice, &status))
		return status;
	choice.images = (struct ux_crawl_words){(const char *const *)args.items + 1, args.n - 1};
	ux_cleanup(ux_crawl_plan_deinit) struct ux_crawl_plan plan = {0};
	if (ux_crawl_plan_choose(&plan, &choice, &err) != UX_OK)
		return err.code == UX_EINVAL ? ux_usage_error(cmd, "%s", err.text)
					     : ux_print_error("crawl", &err);
	return v.dry_run ? crawl_read(&plan, &choice, NULL, &v) : crawl_all(&plan, &choice, &v);
}

const struct ux_command ux_cmd_crawl = {
	.name = "crawl",
	.usage = "DISTRIBUTION [options]\noci IMAGE... [options]\nwork [PACKAGE...] [options]\n"
		 "status [options]",
	.words = ux_crawl_distributions,
	.line = "upload symbols of a distribution's packages",
	.text = "Reads the metadata of a distribution and verifies it, from its signature to the hash of each\n"
		"package. Chooses the packages that have symbols: packages with debug files "
		"first, then\n"
		"stripped ones. DISTRIBUTION is debian, debian-debug,\n"
		"ubuntu, ubuntu-ddebs, alpine, arch, fedora, amazon, opensuse, or rpm with "
		"--mirror.\n"
		"IMAGE is an OCI layout folder or a tar of one, an output of docker save, or a "
		"reference to\n"
		"a registry; crawl reads each layer once.\n"
		"Announces the packages to the server, which leases them to workers: to this "
		"command, until\n"
		"none is left, and to others. work reads the named packages (.deb, .rpm, .apk, "
		".pkg.tar.*,\n"
		"layers), or packages that the server leases and that are below --from, and "
		"uploads their\n"
		"symbols. status prints the progress of the server's crawls, their speed and "
		"their failures.",
	.examples = "  unhex crawl debian --dry-run\n"
		    "  unhex crawl debian --suite bookworm --package 'libc6*' --dry-run\n"
		    "  unhex crawl debian --mirror /srv/mirror --suite bookworm --dry-run --json",
	.options = crawl_options,
	.n_options = ux_countof(crawl_options),
	.run = cmd_crawl_run,
};
