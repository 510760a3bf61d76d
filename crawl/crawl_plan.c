/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the packages of a crawl. */
#include "crawl_plan.h"

#include "debian_files.h"
#include "map.h"
#include "registry.h"

#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PLAN_MEMORY = 1 << 30, /* a package takes about 500 bytes */
	PLAN_PACKAGES_MAX = 1000000,
	LABEL_MAX = 512,
};

void ux_crawl_plan_deinit(struct ux_crawl_plan *plan)
{
	ux_crawl_repository_vec_deinit(&plan->repositories);
	ux_crawl_package_vec_deinit(&plan->packages);
	ux_arena_deinit(&plan->arena);
}

/* --- repositories ------------------------------------------------------------------------------
 */

/* Splits a text into words, as an array of the arena. */
static enum ux_code plan_words(struct ux_arena *arena, const char *text, struct ux_crawl_words *ret,
			       struct ux_error *err)
{
	const char **items = ux_arena_array(arena, const char *, UX_CRAWL_WORDS_MAX);
	size_t count = 0;
	if (!items)
		return ux_arena_fail(arena, err);
	for (const char *p = text; count < UX_CRAWL_WORDS_MAX; count++) {
		p += strspn(p, " ");
		size_t n = strcspn(p, " ");
		if (n == 0)
			break;
		items[count] = ux_arena_strndup(arena, p, n);
		if (!items[count])
			return ux_arena_fail(arena, err);
		p += n;
	}
	*ret = (struct ux_crawl_words){items, count};
	return UX_OK;
}

static bool plan_has_word(const struct ux_crawl_words *words, const char *word)
{
	for (size_t i = 0; i < words->n; i++)
		if (strcmp(words->items[i], word) == 0)
			return true;
	return false;
}

static enum ux_code plan_add_one(struct ux_crawl_plan *plan, const struct ux_repository *r,
				 struct ux_error *err)
{
	char label[LABEL_MAX];
	int n = snprintf(label, sizeof(label), "%s %s%s%s %s", r->distribution, r->suite,
			 r->suite[0] != '\0' ? " " : "", r->component, r->arch);
	if (n < 0 || (size_t)n >= sizeof(label))
		return ux_error_set(err, UX_EINVAL, "the name of a repository is too long");
	struct ux_crawl_repository one = {.what = *r,
					  .label = ux_arena_strndup(&plan->arena, label, (size_t)n),
					  .err = UX_ERROR_INIT};
	if (!one.label)
		return ux_arena_fail(&plan->arena, err);
	if (plan->repositories.size == UX_CRAWL_REPOSITORIES_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %u repositories",
				    (unsigned)UX_CRAWL_REPOSITORIES_MAX);
	return ux_crawl_repository_vec_append(&plan->repositories, one) ? UX_OK
									: ux_error_nomem(err);
}

/* Adds each suite with each component and architecture. */
static enum ux_code plan_add_all(struct ux_crawl_plan *plan, const struct ux_distribution *d,
				 struct ux_repository r, const struct ux_crawl_words *suites,
				 const struct ux_crawl_words *components,
				 const struct ux_crawl_words *archs, struct ux_error *err)
{
	for (size_t s = 0; s < suites->n; s++)
		for (size_t c = 0; c < components->n; c++)
			for (size_t a = 0; a < archs->n; a++) {
				r.suite = suites->items[s];
				r.component = components->items[c];
				r.arch = archs->items[a];
				UX_TRY(ux_distribution_path(d, r.suite, r.component, r.arch,
							    &plan->arena, &r.path, err));
				UX_TRY(plan_add_one(plan, &r, err));
			}
	return UX_OK;
}

/* Sets the distribution's own keyrings that are installed. */
static enum ux_code plan_keyrings(struct ux_crawl_plan *plan, const struct ux_distribution *d,
				  struct ux_keyrings *ret, struct ux_error *err)
{
	const char **paths = ux_arena_array(&plan->arena, const char *, ux_countof(d->keys));
	size_t n = 0;
	if (!paths)
		return ux_arena_fail(&plan->arena, err);
	for (size_t i = 0; i < ux_countof(d->keys) && d->keys[i]; i++)
		if (access(d->keys[i], R_OK) == 0)
			paths[n++] = d->keys[i];
	*ret = (struct ux_keyrings){paths, n};
	return UX_OK;
}

/* Adds apt's repositories of the distribution, which their URIs name. */
static enum ux_code plan_of_apt(struct ux_crawl_plan *plan, const struct ux_distribution *d,
				const struct ux_crawl_choice *choice, struct ux_repository r,
				const struct ux_crawl_words *archs, struct ux_error *err)
{
	ux_cleanup(ux_apt_source_vec_deinit) struct ux_apt_source_vec sources = {0};
	UX_TRY(ux_apt_sources_read("", &plan->arena, &sources, err));
	for (size_t i = 0; i < sources.size; i++) {
		const struct ux_apt_source *s = &sources.data[i];
		struct ux_crawl_words suites, components, keys, chosen;
		if (!strstr(s->uri, choice->distribution))
			continue;
		UX_TRY(plan_words(&plan->arena, s->suites, &suites, err));
		UX_TRY(plan_words(&plan->arena, s->components, &components, err));
		UX_TRY(plan_words(&plan->arena, s->signed_by, &keys, err));
		const char **kept = ux_arena_array(&plan->arena, const char *, suites.n + 1);
		if (!kept)
			return ux_arena_fail(&plan->arena, err);
		chosen = (struct ux_crawl_words){kept, 0};
		for (size_t k = 0; k < suites.n; k++)
			if (choice->suites.n == 0 ||
			    plan_has_word(&choice->suites, suites.items[k]))
				kept[chosen.n++] = suites.items[k];
		struct ux_repository one = r;
		one.mirror = s->uri;
		if (choice->keys.n == 0 && keys.n > 0)
			one.keys = (struct ux_keyrings){keys.items, keys.n};
		UX_TRY(plan_add_all(plan, d, one, &chosen,
				    choice->components.n > 0 ? &choice->components : &components,
				    archs, err));
	}
	return UX_OK;
}

/* Adds each image as a repository; its layers are the packages. */
static enum ux_code plan_of_images(struct ux_crawl_plan *plan, const struct ux_crawl_choice *choice,
				   struct ux_repository r, const struct ux_crawl_words *archs,
				   struct ux_error *err)
{
	char path[PATH_MAX];
	struct stat st;
	if (choice->images.n == 0)
		return ux_error_set(err, UX_EINVAL, "missing image; use: oci IMAGE");
	for (size_t i = 0; i < choice->images.n; i++) {
		const char *image = choice->images.items[i];
		bool here = stat(image, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) &&
			    realpath(image, path);
		r.suite = "";
		r.path = "";
		r.mirror = ux_arena_strndup(&plan->arena, here ? path : image,
					    strlen(here ? path : image));
		if (!r.mirror)
			return ux_arena_fail(&plan->arena, err);
		r.component = r.mirror;
		for (size_t a = 0; a < archs->n; a++) {
			r.arch = archs->items[a];
			UX_TRY(plan_add_one(plan, &r, err));
		}
	}
	return UX_OK;
}

enum ux_code ux_crawl_plan_choose(struct ux_crawl_plan *plan, const struct ux_crawl_choice *choice,
				  struct ux_error *err)
{
	const struct ux_distribution *d = ux_distribution_find(choice->distribution);
	struct ux_crawl_words suites = choice->suites, archs = choice->archs;
	struct ux_crawl_words components = choice->components;
	ux_arena_init(&plan->arena, PLAN_MEMORY);
	if (!d)
		return ux_error_set(err, UX_EINVAL, "%.60s is not a distribution; expected %s",
				    choice->distribution, ux_crawl_distributions);
	struct ux_repository r = {.form = d->form,
				  .distribution = choice->distribution,
				  .keys = choice->keys,
				  .sources = (ux_crawl_roles(choice) >> UX_PACKAGE_SOURCE & 1) != 0,
				  .allow_expired = choice->allow_expired,
				  .allow_older = choice->allow_older,
				  .allow_unsigned = choice->allow_unsigned};
	if (choice->keys.n == 0)
		UX_TRY(plan_keyrings(plan, d, &r.keys, err));
	if (archs.n == 0)
		UX_TRY(plan_words(&plan->arena, ux_distribution_own_arch(d), &archs, err));
	if (d->form == UX_REPOSITORY_IMAGE)
		return plan_of_images(plan, choice, r, &archs, err);
	if (!choice->mirror && d->apt)
		UX_TRY(plan_of_apt(plan, d, choice, r, &archs, err));
	if (plan->repositories.size > 0)
		return UX_OK;
	if (suites.n == 0 && d->suite)
		UX_TRY(plan_words(&plan->arena, d->suite, &suites, err));
	if (suites.n == 0)
		return ux_error_set(err, UX_EINVAL, "missing suite; name one with --suite");
	if (components.n == 0)
		UX_TRY(plan_words(&plan->arena, d->usual, &components, err));
	r.mirror = choice->mirror ? choice->mirror : d->mirror;
	if (!r.mirror)
		return ux_error_set(err, UX_EINVAL, "missing mirror; name one with --mirror");
	return plan_add_all(plan, d, r, &suites, &components, &archs, err);
}

/* --- mirrors ---------------------------------------------------------------------------------- */

/*
 * Returns where the packages of a repository are: the layers of an image are blobs of its registry.
 * NULL: the reference is not valid, as the reading of this repository reports.
 */
static enum ux_code plan_place(struct ux_crawl_plan *plan, const struct ux_repository *r,
			       const char **ret, struct ux_error *err)
{
	char url[2 * PATH_MAX];
	struct ux_image_reference image;
	*ret = r->mirror;
	if (r->form != UX_REPOSITORY_IMAGE || r->mirror[0] == '/')
		return UX_OK;
	*ret = NULL;
	if (ux_image_reference_parse(r->mirror, &image, NULL) != UX_OK)
		return UX_OK;
	UX_TRY(ux_registry_blob_url(&image, "", url, sizeof(url), err));
	*ret = ux_arena_strndup(&plan->arena, url, strlen(url));
	return *ret ? UX_OK : ux_arena_fail(&plan->arena, err);
}

enum ux_code ux_crawl_plan_mirrors(struct ux_crawl_plan *plan, const struct ux_crawl_words *more,
				   struct ux_mirrors *ret, struct ux_error *err)
{
	struct ux_mirror *list =
		ux_arena_array(&plan->arena, struct ux_mirror, plan->repositories.size + more->n);
	size_t n = 0;
	if (!list)
		return ux_arena_fail(&plan->arena, err);
	for (size_t i = 0; i < plan->repositories.size; i++) {
		const struct ux_repository *r = &plan->repositories.data[i].what;
		const struct ux_distribution *d = ux_distribution_find(r->distribution);
		const char *place = NULL;
		UX_TRY(plan_place(plan, r, &place, err));
		if (!place || (n > 0 && strcmp(place, list[n - 1].url) == 0))
			continue;
		/* the very text of the table: the user named no mirror */
		list[n++] = (struct ux_mirror){.url = place,
					       .own_network = !d || r->mirror != d->mirror};
	}
	for (size_t i = 0; i < more->n; i++)
		list[n++] = (struct ux_mirror){.url = more->items[i], .own_network = true};
	*ret = (struct ux_mirrors){list, n};
	return UX_OK;
}

/* --- packages --------------------------------------------------------------------------------- */

unsigned ux_crawl_roles(const struct ux_crawl_choice *choice)
{
	unsigned usual = 1u << UX_PACKAGE_DEBUG | 1u << UX_PACKAGE_STRIPPED;
	return choice->roles ? choice->roles : usual;
}

bool ux_crawl_wants(const struct ux_crawl_choice *choice, const struct ux_package *package,
		    bool named)
{
	unsigned roles = ux_crawl_roles(choice);
	named = named || choice->names.n == 0;
	for (size_t i = 0; i < choice->names.n && !named; i++)
		named = fnmatch(choice->names.items[i], package->name, 0) == 0;
	return named && (roles >> package->role & 1) &&
	       !(choice->size_max > 0 && package->size > choice->size_max) &&
	       !(choice->since > 0 && package->time > 0 && package->time < choice->since);
}

UX_MAP(reading_sources, struct ux_bytes, bool, ux_hash_bytes, ux_bytes_eq);

/* The reading of one repository. */
struct reading {
	/* source packages of the chosen packages, if names select packages */
	struct reading_sources sources;
	struct ux_crawl_plan *plan;
	struct ux_crawl_repository *repository;
	const struct ux_crawl_choice *choice;
};

static const char *reading_text(struct ux_arena *arena, const char *text, bool *failed)
{
	const char *copy = ux_arena_strndup(arena, text, strlen(text));
	*failed = *failed || !copy;
	return copy;
}

static const struct ux_package_file *reading_files(struct ux_arena *arena,
						   const struct ux_package *from, bool *failed)
{
	if (from->n_files == 0)
		return NULL;
	struct ux_package_file *files =
		ux_arena_array(arena, struct ux_package_file, from->n_files);
	*failed = *failed || !files;
	for (size_t i = 0; files && i < from->n_files; i++) {
		files[i] = from->files[i];
		files[i].key = reading_text(arena, from->files[i].key, failed);
		files[i].url = reading_text(arena, from->files[i].url, failed);
	}
	return files;
}

static enum ux_code reading_keep(const struct reading *r, const struct ux_package *from,
				 struct ux_error *err)
{
	struct ux_crawl_plan *plan = r->plan;
	struct ux_arena *a = &plan->arena;
	struct ux_package p = *from;
	bool failed = false;
	p.key = reading_text(a, from->key, &failed);
	p.arch = reading_text(a, from->arch, &failed);
	p.name = reading_text(a, from->name, &failed);
	p.version = reading_text(a, from->version, &failed);
	p.source = reading_text(a, from->source, &failed);
	p.source_version =
		reading_text(a, from->source_version ? from->source_version : "", &failed);
	p.url = reading_text(a, from->url, &failed);
	p.files = reading_files(a, from, &failed);
	if (from->n_build_ids > 0) {
		struct ux_id *ids = ux_arena_array(a, struct ux_id, from->n_build_ids);
		if (ids)
			memcpy(ids, from->build_ids, from->n_build_ids * sizeof(*ids));
		failed = failed || !ids;
		p.build_ids = ids;
	}
	if (failed)
		return ux_arena_fail(a, err);
	if (plan->packages.size == PLAN_PACKAGES_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %u packages in one crawl",
				    (unsigned)PLAN_PACKAGES_MAX);
	const struct ux_crawl_package one = {p,
					     (uint32_t)(r->repository - plan->repositories.data)};
	return ux_crawl_package_vec_append(&plan->packages, one) ? UX_OK : ux_error_nomem(err);
}

/* Notes the source package of the last package: Debian's index of these is read later. */
static enum ux_code reading_note_source(struct reading *r, struct ux_error *err)
{
	const struct ux_crawl_package_vec *v = &r->plan->packages;
	const char *source = v->data[v->size - 1].package.source;
	bool fresh = false;
	return reading_sources_insert(&r->sources, ux_bytes_cstr(source), &fresh)
		       ? UX_OK
		       : ux_error_nomem(err);
}

static enum ux_code reading_take(void *ctx, const struct ux_package *package, struct ux_error *err)
{
	struct reading *r = ctx;
	struct ux_crawl_sum *sum = &r->repository->roles[package->role];
	bool named = package->role == UX_PACKAGE_SOURCE &&
		     reading_sources_find(&r->sources, ux_bytes_cstr(package->source)) != NULL;
	if (!ux_crawl_wants(r->choice, package, named))
		return UX_OK;
	sum->packages++;
	sum->bytes += package->size;
	/* other packages' files are packages themselves */
	for (size_t i = 0; package->role == UX_PACKAGE_SOURCE && i < package->n_files; i++)
		sum->bytes += package->files[i].size;
	sum->installed += package->installed;
	sum->build_ids += package->n_build_ids;
	UX_TRY(reading_keep(r, package, err));
	return r->choice->names.n > 0 && r->repository->what.sources ? reading_note_source(r, err)
								     : UX_OK;
}

/* Puts debug packages first, since their names are better; otherwise keeps the order of the
 * indexes. */
static enum ux_code plan_order_roles(struct ux_crawl_plan *plan, struct ux_error *err)
{
	static const enum ux_package_role order[] = {UX_PACKAGE_DEBUG, UX_PACKAGE_STRIPPED,
						     UX_PACKAGE_SOURCE};
	ux_cleanup(ux_crawl_package_vec_deinit) struct ux_crawl_package_vec sorted = {0};
	if (!ux_crawl_package_vec_reserve(&sorted, plan->packages.size))
		return ux_error_nomem(err);
	for (size_t k = 0; k < ux_countof(order); k++)
		for (size_t i = 0; i < plan->packages.size; i++)
			if (plan->packages.data[i].package.role == order[k])
				sorted.data[sorted.size++] = plan->packages.data[i];
	struct ux_crawl_package_vec old = plan->packages;
	plan->packages = sorted;
	sorted = old;
	return UX_OK;
}

enum ux_code ux_crawl_plan_read(struct ux_crawl_plan *plan, const struct ux_crawl_choice *choice,
				struct ux_polite *client, const struct ux_repository_state *known,
				struct ux_error *err)
{
	for (size_t i = 0; i < plan->repositories.size; i++) {
		struct ux_crawl_repository *one = &plan->repositories.data[i];
		struct reading reading = {.plan = plan, .repository = one, .choice = choice};
		size_t before = plan->packages.size;
		enum ux_code code =
			ux_repository_read(&one->what, client, known ? &known[i] : NULL,
					   reading_take, &reading, &one->result, &one->err);
		reading_sources_deinit(&reading.sources);
		if (code == UX_OK)
			continue;
		/* drop a partially read index: an error may show only at its end */
		plan->packages.size = before;
		memset(one->roles, 0, sizeof(one->roles));
		if (code == UX_ENOMEM) {
			if (err && err->code == UX_OK)
				*err = one->err;
			return code;
		}
	}
	return plan_order_roles(plan, err);
}
