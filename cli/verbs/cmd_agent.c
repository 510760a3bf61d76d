/* SPDX-License-Identifier: Apache-2.0 */
/* unhex agent: keeps pushing the symbols of the programs that run on this host. */
#include "commands.h"

#include "agent.h"
#include "common_options.h"
#include "interrupt.h"
#include "output.h"
#include "push_out.h"
#include "text.h"

#include <pthread.h>

enum {
	ROUND_S = 600, /* s for one query, or for one file: its extraction and its upload */
	RETRIES = 3,
	QUEUE_MAX = 256 << 20,
	PATH_SIZE = 4096,
	CPU_PERCENT = 5,
	CPU_PERCENT_MAX = 100000,
	PPM_IN_PERCENT = 10000,
};

struct agent_values {
	struct ux_server_values server;
	char *debug_dir;
	const char *description;
	const char *proxy;
	const char *state;
	uint64_t memory;
	uint64_t queue;
	uint64_t rate;
	const char *cpu;
	const char *metrics;
	const char *host;
	bool jit;
	bool root_only;
	struct ux_option_each debuginfod;
	struct ux_option_each exclude;
	bool dwarf;
	bool no_gpu;
	bool once;
	bool dry_run;
	bool json;
	bool verbose;
};

static const struct ux_option agent_options[] = {
	UX_SERVER_OPTIONS(struct agent_values, server),
	{"once", 0, UX_OPTION_FLAG, offsetof(struct agent_values, once), NULL,
	 "upload the symbols of running processes once, then exit"},
	{"dry-run", 'n', UX_OPTION_FLAG, offsetof(struct agent_values, dry_run), NULL,
	 "list the files that the server lacks; upload nothing"},
	{"dwarf", 0, UX_OPTION_FLAG, offsetof(struct agent_values, dwarf), NULL,
	 "extract lines and inlined calls, too; takes more memory and time"},
	{"jit", 0, UX_OPTION_FLAG, offsetof(struct agent_values, jit), NULL,
	 "also upload the symbols of run-time code, from perf maps and jitdumps"},
	{"root-only", 0, UX_OPTION_FLAG, offsetof(struct agent_values, root_only), NULL,
	 "leave out files that others than root can change; without it, they are marked"},
	{"host", 0, UX_OPTION_TEXT, offsetof(struct agent_values, host), "NAME",
	 "name of this host on the server and in recordings [uname -n]"},
	UX_DEBUG_DIR_OPTION(struct agent_values, debug_dir),
	{"no-gpu", 0, UX_OPTION_FLAG, offsetof(struct agent_values, no_gpu), NULL,
	 "leave out the GPU code in programs"},
	{"memory", 0, UX_OPTION_BYTES, offsetof(struct agent_values, memory), "SIZE",
	 "maximum memory of an extraction [40M; with --dwarf 100M]"},
	{"cpu", 0, UX_OPTION_TEXT, offsetof(struct agent_values, cpu), "PERCENT",
	 "maximum share of one core in any minute; none: no limit [5%; with --once none]"},
	{"rate", 0, UX_OPTION_BYTES, offsetof(struct agent_values, rate), "SIZE",
	 "maximum bytes per second of uploads"},
	{"debuginfod", 0, UX_OPTION_EACH, offsetof(struct agent_values, debuginfod), "URL",
	 "do not upload symbols that this debuginfod server has, such as a distribution's"},
	{"exclude", 0, UX_OPTION_EACH, offsetof(struct agent_values, exclude), "PATTERN",
	 "leave out files whose path matches, such as '/tmp/*'; '*' matches '/' too"},
	{"metrics", 0, UX_OPTION_TEXT, offsetof(struct agent_values, metrics), "ADDRESS",
	 "serve Prometheus metrics at HOST:PORT or unix:PATH"},
	{"state", 0, UX_OPTION_TEXT, offsetof(struct agent_values, state), "DIR",
	 "folder of the list of known files and of waiting uploads [$STATE_DIRECTORY, else "
	 "$XDG_STATE_HOME/unhex-agent]"},
	{"queue", 0, UX_OPTION_BYTES, offsetof(struct agent_values, queue), "SIZE",
	 "maximum disk space of symbols that wait while the server is unreachable; the oldest "
	 "are dropped [256M]"},
	{"description", 0, UX_OPTION_TEXT, offsetof(struct agent_values, description), "TEXT",
	 "text to store with the symbols, such as a group of hosts"},
	{"proxy", 0, UX_OPTION_TEXT, offsetof(struct agent_values, proxy), "URL",
	 "reach the server through this proxy [https_proxy, http_proxy, no_proxy]"},
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct agent_values, json), NULL,
	 "print one JSON object per file"},
	{"verbose", 'v', UX_OPTION_FLAG, offsetof(struct agent_values, verbose), NULL,
	 "also print the files that the server already has"},
};

/* The state of the command. */
struct agent_command {
	const struct agent_values *values;
	struct ux_out out;
	struct ux_push_summary done;
	pthread_mutex_t lock; /* protects output and counts: on a signal, another thread prints the
				 summary */
	bool broken;          /* standard output is closed */
};

static void agent_values_deinit(struct agent_values *v)
{
	free(v->debug_dir);
}

static pthread_mutex_t *agent_lock(struct agent_command *c)
{
	(void)pthread_mutex_lock(&c->lock);
	return &c->lock;
}

static void agent_unlock(pthread_mutex_t **lock)
{
	(void)pthread_mutex_unlock(*lock);
}

static void agent_on_result(void *ctx, const struct ux_push_result *r)
{
	struct agent_command *c = ctx;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(agent_unlock) pthread_mutex_t *lock = agent_lock(c);
	(void)lock; /* held to the end of the scope */
	c->done.counts[r->status]++;
	c->done.planned += r->planned;
	bool news = r->status == UX_PUSH_DONE_UPLOADED || r->status == UX_PUSH_DONE_FAILED ||
		    r->planned;
	if (!news && !c->values->verbose)
		return;
	if (c->values->json)
		ux_push_result_json(&c->out, r);
	else
		ux_push_result_text(&c->out, r);
	if (ux_flush(&c->out, &err) != UX_OK && !c->broken) {
		ux_print_error("standard output", &err);
		c->broken = true;
	}
}

static void agent_on_notice(void *ctx, const char *text)
{
	struct agent_command *c = ctx;
	ux_cleanup(agent_unlock) pthread_mutex_t *lock = agent_lock(c);
	(void)lock;
	ux_print_message("agent: %s", text);
}

/* Prints the summary when a signal ends the command, with the lock held. */
static void agent_on_interrupt(void *ctx)
{
	struct agent_command *c = ctx;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	(void)agent_lock(c);
	ux_push_summary_write(&out, &c->done, c->values->dry_run);
	if (!c->values->json)
		(void)!ux_flush(&out, &err);
}

static int agent_finish(struct agent_command *c, const struct ux_agent_summary *s)
{
	if (!c->values->json)
		ux_push_summary_write(&c->out, &s->push, c->values->dry_run);
	bool good = s->push.counts[UX_PUSH_DONE_FAILED] == 0 && !c->broken;
	return ux_finish(&c->out, good ? UX_EXIT_DONE : UX_EXIT_SOME);
}

static void agent_command_deinit(struct agent_command *c)
{
	ux_out_deinit(&c->out);
}

/* Parses "5%", "5" or "none". False: any other text. */
static bool agent_cpu_parse(const char *text, uint64_t *ret_ppm)
{
	struct ux_bytes t = ux_bytes_cstr(text);
	uint64_t percent = 0;
	*ret_ppm = 0;
	if (strcmp(text, "none") == 0)
		return true;
	if (t.size > 0 && t.data[t.size - 1] == '%')
		t.size--;
	if (!ux_decimal_parse(t, &percent) || percent == 0 || percent > CPU_PERCENT_MAX)
		return false;
	*ret_ppm = percent * PPM_IN_PERCENT;
	return true;
}

/* Returns the folder of the agent's own files; NULL: there is no place for it. */
static const char *agent_state_dir(const struct agent_values *v, char path[PATH_SIZE])
{
	const char *given = v->state ? v->state : getenv("STATE_DIRECTORY");
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n = 0;
	if (given && *given)
		n = snprintf(path, PATH_SIZE, "%s", given);
	else if (xdg && *xdg == '/')
		n = snprintf(path, PATH_SIZE, "%s/unhex-agent", xdg);
	else if (home && *home == '/')
		n = snprintf(path, PATH_SIZE, "%s/.local/state/unhex-agent", home);
	return n > 0 && n < PATH_SIZE ? path : NULL;
}

static int cmd_agent_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(agent_values_deinit) struct agent_values v = {.queue = QUEUE_MAX};
	static struct ux_server_selection server;
	static char state[PATH_SIZE];
	struct ux_error err = UX_ERROR_INIT;
	struct ux_args args;
	struct ux_agent_summary summary;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	uint64_t cpu_ppm = v.once ? 0 : CPU_PERCENT * PPM_IN_PERCENT;
	if (v.cpu && !agent_cpu_parse(v.cpu, &cpu_ppm))
		return ux_usage_error(
			cmd,
			"--cpu: \"%.32s\" is not a share of a core; expected a number such as 5%%",
			v.cpu);
	if (args.n > 0)
		return ux_usage_error(cmd, "unexpected operand %.64s", args.items[0]);
	if (ux_server_select(&v.server, &server, &err) != UX_OK) {
		ux_print_error(server.subject, &err);
		return UX_EXIT_USAGE;
	}
	ux_cleanup(agent_command_deinit) struct agent_command c = {
		.values = &v, .lock = PTHREAD_MUTEX_INITIALIZER};
	const struct ux_agent_options how = {
		.push = {.url = server.url,
			 .cacert = server.cacert,
			 .token = server.token,
			 .debug_dirs = v.debug_dir,
			 .description = v.description,
			 .no_gpu = v.no_gpu,
			 .no_dwarf = !v.dwarf,
			 .dry_run = v.dry_run,
			 .timeout_ms = ROUND_S * INT64_C(1000),
			 .retries = RETRIES,
			 .proxy = v.proxy,
			 .rate = v.rate,
			 .memory = v.memory > 0 ? v.memory
				   : v.dwarf    ? UX_AGENT_MEMORY_DWARF
						: UX_AGENT_MEMORY,
			 .result = agent_on_result,
			 .ctx = &c},
		.state = agent_state_dir(&v, state),
		.queue_max = v.queue,
		.cpu_ppm = cpu_ppm,
		.metrics = v.metrics,
		.root_only = v.root_only,
		.jit = v.jit,
		.host = v.host,
		.exclude = v.exclude.items,
		.n_exclude = v.exclude.n,
		.debuginfod = v.debuginfod.items,
		.n_debuginfod = v.debuginfod.n,
		.once = v.once,
		.notice = agent_on_notice,
	};
	ux_interrupt_begin(agent_on_interrupt, &c);
	enum ux_code code = ux_agent_run(&how, &summary, &err);
	if (code == UX_OK)
		return agent_finish(&c, &summary);
	if (!summary.subject && code != UX_EUNAVAILABLE)
		summary.subject = server.url;
	return ux_server_print_error(&server, summary.subject, &err);
}

const struct ux_command ux_cmd_agent = {
	.name = "agent",
	.usage = "[options]\n--once [options]",
	.line = "upload symbols of the programs that run on this host",
	.text = "Finds the files that processes of this host execute, and uploads the symbols that the\n"
		"server does not have yet. Covers containers, deleted files and short-lived "
		"processes. The\n"
		"kernel reports new mappings, so an idle host costs nothing. The agent reads "
		"each file once,\n"
		"in a confined child. Without --dwarf it uploads only the names in symbol "
		"tables and in Go's\n"
		"own tables.\n"
		"Prints a line for each file that it uploads or fails to upload.",
	.examples =
		"  unhex agent --url https://symbols.example.com --token-file /etc/unhex/token\n"
		"  unhex agent --once --dry-run",
	.options = agent_options,
	.n_options = ux_countof(agent_options),
	.run = cmd_agent_run,
};
