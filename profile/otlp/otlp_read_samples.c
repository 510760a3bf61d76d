/* SPDX-License-Identifier: Apache-2.0 */
/* Reads profiles of OpenTelemetry: the samples and their resources. */
#include "otlp_reader.h"

#include "otlp_fields.h"

/* --- samples ---------------------------------------------------------------------------------- */

/* Sets the index of a type of values; adds the type if it is new. */
static enum ux_code otlp_read_type(struct otlp_reader *r, struct ux_cur c, size_t *ret,
				   struct ux_error *err)
{
	uint64_t name = 0, unit = 0;
	struct ux_profile_type type = {0};
	struct ux_profile *p = r->profile;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_TYPE)
			name = f.value;
		else if (f.number == OTLP_UNIT)
			unit = f.value;
	}
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(ux_otlp_reader_text(r, name, &c, &type.name, err));
	UX_TRY(ux_otlp_reader_text(r, unit, &c, &type.unit, err));
	for (size_t i = 0; i < p->n_types; i++)
		if (p->types[i].name == type.name && p->types[i].unit == type.unit) {
			*ret = i;
			return UX_OK;
		}
	if (p->samples.size > 0 || p->n_types == UX_PROFILE_VALUES_MAX)
		return ux_error_at(err, UX_ELIMIT, OTLP_SECTION, ux_cur_off(&c),
				   "profiles have more than %d types", UX_PROFILE_VALUES_MAX);
	*ret = p->n_types;
	p->types[p->n_types++] = type;
	return UX_OK;
}

static enum ux_code otlp_read_sample(struct otlp_reader *r, size_t type, struct ux_cur c,
				     struct ux_error *err)
{
	int64_t values[UX_PROFILE_VALUES_MAX] = {0};
	uint64_t stack = 0, sum = 0, times = 0;
	bool has_value = false;
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_SAMPLE_STACK)
			stack = f.value;
		else if (f.number == OTLP_SAMPLE_VALUES)
			for (uint64_t v; ux_protobuf_integer(&c, &f, &v); has_value = true)
				sum += v;
		else if (f.number == OTLP_SAMPLE_TIMESTAMPS)
			times += f.wire == UX_PROTOBUF_BYTES ? ux_cur_left(&f.bytes) / 8 : 1;
	}
	UX_TRY(ux_cur_status(&c, err));
	if (stack >= r->stacks.size)
		return ux_otlp_dangling(&c, "stack", stack, r->stacks.size, err);
	/* Without values each time stamp counts as one. */
	values[type] = (int64_t)(has_value ? sum : times);
	return ux_profile_add_sample(r->profile, r->thread, r->stacks.data[stack], 0, values, err);
}

/* The first time and the first duration are the whole profile's and its resource's. */
static void otlp_use_time(struct otlp_reader *r, uint64_t ns, bool start)
{
	uint64_t *of_profile = start ? &r->profile->start_ns : &r->profile->duration_ns;
	*of_profile = *of_profile ? *of_profile : ns;
	if (!r->resources || r->thread == 0)
		return;
	struct ux_otlp_resource *one = &r->resources->data[r->thread - 1];
	uint64_t *of_resource = start ? &one->start_ns : &one->duration_ns;
	*of_resource = *of_resource ? *of_resource : ns;
}

/* All types must be known before the first sample: they are read in a pass of their own. */
static enum ux_code otlp_read_profile(struct otlp_reader *r, bool samples, struct ux_cur c,
				      struct ux_error *err)
{
	struct ux_cur types = c;
	size_t type = SIZE_MAX;
	for (struct ux_protobuf_field f; ux_protobuf_next(&types, &f);)
		if (f.number == OTLP_PROFILE_SAMPLE_TYPE && ux_protobuf_is_message(&types, &f))
			UX_TRY(otlp_read_type(r, f.bytes, &type, err));
	UX_TRY(ux_cur_status(&types, err));
	if (type == SIZE_MAX)
		UX_TRY(otlp_read_type(r, (struct ux_cur){.section = OTLP_SECTION}, &type, err));
	for (struct ux_protobuf_field f; samples && ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_PROFILE_SAMPLES && ux_protobuf_is_message(&c, &f))
			UX_TRY(otlp_read_sample(r, type, f.bytes, err));
		else if (f.number == OTLP_PROFILE_TIME)
			otlp_use_time(r, f.value, true);
		else if (f.number == OTLP_PROFILE_DURATION)
			otlp_use_time(r, f.value, false);
	}
	return ux_cur_status(&c, err);
}

/* --- resources -------------------------------------------------------------------------------- */

/* The best attribute of each kind so far for a resource: its rank is lowest. */
struct otlp_about {
	struct ux_bytes text[3]; /* service, host, build */
	unsigned rank[3];
};

/* Attributes that identify a resource, in the order of their precedence. Source: semantic
 * conventions. */
static const struct {
	const char *key;
	unsigned kind; /* index in otlp_about */
} otlp_keys[] = {
	{"service.name", 0},
	{"k8s.deployment.name", 0},
	{"k8s.statefulset.name", 0},
	{"k8s.daemonset.name", 0},
	{"k8s.container.name", 0},
	{"container.name", 0},
	{"process.executable.name", 0},
	{"host.name", 1},
	{"k8s.node.name", 1},
	{"host.id", 1},
	{"service.version", 2},
	{"container.image.id", 2},
};

static void otlp_use_about(struct otlp_about *about, struct ux_bytes key, struct ux_bytes value)
{
	for (unsigned i = 0; i < ux_countof(otlp_keys) && value.size > 0; i++) {
		unsigned kind = otlp_keys[i].kind;
		if (i + 1 >= about->rank[kind] ||
		    !ux_bytes_eq(key, ux_bytes_cstr(otlp_keys[i].key)))
			continue;
		about->rank[kind] = i + 1;
		about->text[kind] = value;
	}
}

static struct ux_bytes otlp_indexed(const struct otlp_reader *r, uint64_t number)
{
	return number < r->strings.size ? r->strings.data[number] : UX_STR("");
}

/* Reads a KeyValue. Its texts are inline or in the dictionary. */
static enum ux_code otlp_read_about(struct otlp_reader *r, struct ux_cur c,
				    struct otlp_about *about, struct ux_error *err)
{
	struct ux_bytes key = UX_STR(""), value = UX_STR("");
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == OTLP_KEY_VALUE_KEY && f.wire == UX_PROTOBUF_BYTES)
			key = ux_protobuf_text(&f);
		else if (f.number == OTLP_KEY_VALUE_KEY_INDEX)
			key = otlp_indexed(r, f.value);
		if (f.number != OTLP_KEY_VALUE_VALUE || !ux_protobuf_is_message(&c, &f))
			continue;
		for (struct ux_protobuf_field inner; ux_protobuf_next(&f.bytes, &inner);)
			if (inner.number == OTLP_VALUE_STRING && inner.wire == UX_PROTOBUF_BYTES)
				value = ux_protobuf_text(&inner);
			else if (inner.number == OTLP_VALUE_STRING_INDEX)
				value = otlp_indexed(r, inner.value);
		UX_TRY(ux_cur_status(&f.bytes, err));
	}
	otlp_use_about(about, key, value);
	return ux_cur_status(&c, err);
}

/* Sets the thread for the samples of a resource: an equal resource's thread, or a new one. */
static enum ux_code otlp_set_thread(struct otlp_reader *r, const struct otlp_about *about,
				    uint64_t off, struct ux_error *err)
{
	struct ux_otlp_resource one = {0};
	uint32_t *numbers[] = {&one.service, &one.host, &one.build};
	ux_cleanup(ux_out_deinit) struct ux_out key = {0};
	uint32_t number = 0;
	bool fresh = false;
	for (size_t i = 0; i < ux_countof(numbers); i++) {
		UX_TRY(ux_profile_string(r->profile, about->text[i], numbers[i], err));
		ux_out_u32(&key, *numbers[i]);
	}
	UX_TRY(ux_out_status(&key, err));
	UX_TRY(ux_strings_add(&r->resource_keys, ux_out_bytes(&key), &number, err));
	uint32_t *thread = ux_profile_numbers_insert(&r->resource_of, number, &fresh);
	if (!thread)
		return ux_error_nomem(err);
	if (fresh && r->resources->size >= UX_OTLP_RESOURCES_MAX)
		return ux_error_at(err, UX_ELIMIT, OTLP_SECTION, off,
				   "more than %d resources of different services, hosts and "
				   "builds; send smaller messages",
				   UX_OTLP_RESOURCES_MAX);
	if (fresh) {
		UX_TRY(ux_profile_add_thread(r->profile, (struct ux_profile_thread){0}, thread,
					     err));
		if (!ux_otlp_resources_append(r->resources, one))
			return ux_error_nomem(err);
	}
	r->thread = *thread;
	return UX_OK;
}

static enum ux_code otlp_find_resource(struct otlp_reader *r, struct ux_cur c, struct ux_error *err)
{
	struct otlp_about about = {.rank = {UINT_MAX, UINT_MAX, UINT_MAX}};
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number != OTLP_RESOURCE || !ux_protobuf_is_message(&c, &f))
			continue;
		for (struct ux_protobuf_field inner; ux_protobuf_next(&f.bytes, &inner);)
			if (inner.number == OTLP_RESOURCE_ATTRIBUTES &&
			    ux_protobuf_is_message(&f.bytes, &inner))
				UX_TRY(otlp_read_about(r, inner.bytes, &about, err));
		UX_TRY(ux_cur_status(&f.bytes, err));
	}
	UX_TRY(ux_cur_status(&c, err));
	return otlp_set_thread(r, &about, ux_cur_off(&c), err);
}

enum ux_code ux_otlp_reader_resource(struct otlp_reader *r, bool samples, struct ux_cur c,
				     struct ux_error *err)
{
	if (samples && r->resources)
		UX_TRY(otlp_find_resource(r, c, err));
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number != OTLP_SCOPE_PROFILES || !ux_protobuf_is_message(&c, &f))
			continue;
		struct ux_protobuf_field inner;
		while (ux_protobuf_next(&f.bytes, &inner))
			if (inner.number == OTLP_PROFILES &&
			    ux_protobuf_is_message(&f.bytes, &inner))
				UX_TRY(otlp_read_profile(r, samples, inner.bytes, err));
		UX_TRY(ux_cur_status(&f.bytes, err));
	}
	return ux_cur_status(&c, err);
}
