/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of PostgreSQL: parameters by number, prepared once in a session, rows as text. */
#include "postgres.h"

#include "name_glob.h"
#include "text.h"

enum {
	PARAMETERS_MAX = 48, /* parameters of one statement */
	OID_BYTEA = 17,      /* from pg_type.dat */
	OID_INT8 = 20,
	OID_TEXT = 25,
};

struct postgres_parameter {
	const char *name; /* in the statement's text, without the colon */
	size_t name_size;
	unsigned type;     /* OID; 0: the value was NULL when the statement was prepared */
	const char *value; /* NULL: not bound */
	int size;
	int binary;
	char number[UX_POSTGRES_NUMBER];
	char *owned; /* malloc'ed; NULL: the caller owns the value */
};

/* The state of a statement in a connection. */
struct postgres_statement {
	char name[UX_POSTGRES_NUMBER];
	char *text;       /* with $1, $2... */
	unsigned session; /* the session in which it is prepared; 0: none */
	size_t n;
	struct postgres_parameter parameters[PARAMETERS_MAX];
	PGresult *result; /* NULL: not run yet */
	int row;          /* next one; counted from 0 */
	uint8_t *bytes;   /* value of the column that was read last; malloc'ed */
};

/* Reports a defect of the program that was found when a statement is used. */
static enum ux_code postgres_refuse(struct ux_postgres *p, const char *message)
{
	ux_postgres_keep_error(p, "XX000", message);
	return UX_EIO;
}

static void postgres_clear_result(const struct ux_postgres *p, struct postgres_statement *s)
{
	p->calls.PQclear(s->result);
	s->result = NULL;
}

void ux_postgres_stmt_free(const struct ux_postgres *p, void *handle)
{
	struct postgres_statement *s = handle;
	if (!s)
		return;
	postgres_clear_result(p, s);
	for (size_t i = 0; i < s->n; i++)
		free(s->parameters[i].owned);
	free(s->bytes);
	free(s->text);
	free(s);
}

/* Finds the statement's parameter of this name, without its colon; n: a new one. */
static size_t postgres_find_parameter(const struct postgres_statement *s, const char *name,
				      size_t size)
{
	size_t i = 0;
	while (i < s->n && (s->parameters[i].name_size != size ||
			    memcmp(s->parameters[i].name, name, size) != 0))
		i++;
	return i;
}

static bool postgres_is_name(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Start of a comment that is SQL only for PostgreSQL. No statement has other comments. */
static const char own_sql[] = "/*postgres ";

/* Copies the text with $1 instead of the first name, and so on. Leaves quoted texts unchanged. */
static bool postgres_number_parameters(struct postgres_statement *s, const char *sql,
				       struct ux_out *out)
{
	bool quoted = false;
	char number[UX_POSTGRES_NUMBER];
	for (const char *at = sql; *at != '\0';) {
		quoted ^= *at == '\'';
		if (!quoted && strncmp(at, own_sql, strlen(own_sql)) == 0) {
			at += strlen(own_sql);
			continue;
		}
		if (!quoted && strncmp(at, "*/", 2) == 0) {
			at += 2;
			continue;
		}
		if (quoted || *at != ':' || !postgres_is_name(at[1])) {
			ux_out_put(out, at++, 1);
			continue;
		}
		size_t size = 0;
		while (postgres_is_name(at[1 + size]))
			size++;
		size_t i = postgres_find_parameter(s, at + 1, size);
		if (i == PARAMETERS_MAX)
			return false;
		if (i == s->n)
			s->parameters[s->n++] =
				(struct postgres_parameter){.name = at + 1, .name_size = size};
		snprintf(number, sizeof(number), "$%zu", i + 1);
		ux_out_cstr(out, number);
		at += 1 + size;
	}
	ux_out_put(out, "", 1);
	return !out->failed;
}

static struct postgres_statement *postgres_statement_new(const struct ux_sql *sql, size_t number)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct postgres_statement *s = calloc(1, sizeof(*s));
	if (!s || !postgres_number_parameters(s, sql->text, &out)) {
		free(s);
		return NULL;
	}
	size_t size = 0;
	s->text = (char *)ux_out_steal(&out, &size);
	snprintf(s->name, sizeof(s->name), "s%zu", number);
	return s;
}

void ux_postgres_stmt_begin(struct ux_stmt *st)
{
	struct ux_db_prepared *prepared = ux_db_prepared(st->db, st->sql);
	ux_postgres_of(st->db)->message[0] = '\0';
	if (!prepared->handle)
		prepared->handle =
			postgres_statement_new(st->sql, (size_t)(prepared - st->db->prepared));
	st->handle = prepared->handle;
	st->status = st->handle ? UX_OK : UX_ENOMEM;
}

void ux_postgres_stmt_again(struct ux_stmt *st)
{
	postgres_clear_result(ux_postgres_of(st->db), st->handle);
}

void ux_postgres_stmt_end(struct ux_stmt *st)
{
	struct postgres_statement *s = st->handle;
	ux_postgres_stmt_again(st);
	for (size_t i = 0; i < s->n; i++) {
		struct postgres_parameter *parameter = &s->parameters[i];
		free(parameter->owned);
		parameter->owned = NULL;
		parameter->value = NULL;
	}
}

/*
 * Finds a parameter. NULL: the statement has no such parameter, and fails. name includes its colon.
 */
static struct postgres_parameter *postgres_parameter(struct ux_stmt *st, const char *name,
						     unsigned type)
{
	struct postgres_statement *s = st->handle;
	if (!s)
		return NULL;
	size_t i = postgres_find_parameter(s, name + 1, strlen(name + 1));
	if (i == s->n) {
		st->status = postgres_refuse(ux_postgres_of(st->db),
					     "the statement has no such parameter");
		return NULL;
	}
	struct postgres_parameter *parameter = &s->parameters[i];
	parameter->binary = type == OID_BYTEA;
	if (s->session == 0)
		parameter->type = type;
	return parameter;
}

void ux_postgres_bind_int(struct ux_stmt *st, const char *name, int64_t v)
{
	struct postgres_parameter *parameter = postgres_parameter(st, name, OID_INT8);
	if (!parameter)
		return;
	snprintf(parameter->number, sizeof(parameter->number), "%" PRId64, v);
	parameter->value = parameter->number;
}

/* Copies a text with U+FFFD instead of bytes that are not UTF-8. NULL: memory is short. */
static char *postgres_make_utf8(struct ux_bytes text)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	size_t size = 0;
	while (text.size > 0) {
		struct ux_bytes c = ux_utf8_take(&text);
		ux_out_put(&out, c.data, c.size);
	}
	ux_out_put(&out, "", 1);
	return out.failed ? NULL : (char *)ux_out_steal(&out, &size);
}

static bool postgres_is_ascii(const char *text)
{
	while (*text != '\0' && (uint8_t)*text < 0x80)
		text++;
	return *text == '\0';
}

/*
 * Binds text. It is stored as UTF-8, but names of files may be any bytes. Invalid bytes are
 * replaced in searches as in rows, so that both still match.
 */
void ux_postgres_bind_text(struct ux_stmt *st, const char *name, const char *text)
{
	struct postgres_parameter *parameter = postgres_parameter(st, name, OID_TEXT);
	if (!parameter)
		return;
	parameter->value = text;
	if (postgres_is_ascii(text))
		return;
	parameter->value = parameter->owned = postgres_make_utf8(ux_bytes_cstr(text));
	if (!parameter->owned)
		st->status = UX_ENOMEM;
}

void ux_postgres_bind_bytes(struct ux_stmt *st, const char *name, const void *data, size_t size)
{
	struct postgres_parameter *parameter = postgres_parameter(st, name, OID_BYTEA);
	if (!parameter)
		return;
	parameter->value = data;
	parameter->size = (int)size;
}

/* Binds a pattern. The empty pattern stays empty: statements treat it as none. */
void ux_postgres_bind_pattern(struct ux_stmt *st, const char *name, const char *pattern)
{
	struct postgres_parameter *parameter = postgres_parameter(st, name, OID_TEXT);
	ux_cleanup(ux_free_ptr) struct ux_glob *glob = malloc(sizeof(*glob));
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	if (!parameter)
		return;
	parameter->value = "";
	if (pattern[0] == '\0')
		return;
	if (!glob || ux_glob_parse(pattern, glob, NULL) != UX_OK) {
		st->status =
			glob ? postgres_refuse(ux_postgres_of(st->db), "the pattern is not valid")
			     : UX_ENOMEM;
		return;
	}
	ux_glob_expression(glob, &out);
	ux_out_put(&out, "", 1);
	size_t size = 0;
	if (out.failed) {
		st->status = UX_ENOMEM;
		return;
	}
	parameter->owned = (char *)ux_out_steal(&out, &size);
	parameter->value = parameter->owned;
}

/*
 * Prepares a statement with the types of the first use; the type of a parameter that was NULL then
 * is inferred.
 */
static enum ux_code postgres_prepare(struct ux_postgres *p, struct postgres_statement *s)
{
	Oid types[PARAMETERS_MAX];
	for (size_t i = 0; i < s->n; i++)
		types[i] = s->parameters[i].type;

	ux_postgres_note_trip(p);
	PGresult *result = p->calls.PQprepare(p->connection, s->name, s->text, (int)s->n, types);
	enum ux_code code = ux_postgres_check(p, result);
	if (code == UX_OK)
		s->session = p->session;
	return code;
}

static PGresult *postgres_execute(struct ux_postgres *p, const struct postgres_statement *s,
				  const char *const *values, const int *sizes, const int *formats)
{
	if (p->waiting > 0)
		return ux_postgres_send_later(p, s->name, (int)s->n, values, sizes, formats)
			       ? ux_postgres_read_waiting(p, NULL)
			       : NULL;
	if (p->begin)
		return ux_postgres_begin_with(p, s->name, (int)s->n, values, sizes, formats);
	ux_postgres_note_trip(p);
	return p->calls.PQexecPrepared(p->connection, s->name, (int)s->n, values, sizes, formats,
				       /* resultFormat= */ 0);
}

/* Values in the form that libpq takes. */
struct postgres_values {
	const char *values[PARAMETERS_MAX];
	int sizes[PARAMETERS_MAX];
	int formats[PARAMETERS_MAX];
};

/*
 * Prepares the connection and the statement. Reads pending answers before it prepares another
 * statement.
 */
static enum ux_code postgres_ready(struct ux_db *db, struct postgres_statement *s,
				   struct postgres_values *ret)
{
	struct ux_postgres *p = ux_postgres_of(db);
	UX_TRY(ux_postgres_ensure(db));
	UX_TRY(ux_postgres_set_timeout(db));
	if (s->session != p->session) {
		if (p->waiting > 0)
			UX_TRY(ux_postgres_check(p, ux_postgres_read_waiting(p, NULL)));
		UX_TRY(postgres_prepare(p, s));
	}
	for (size_t i = 0; i < s->n; i++) {
		ret->values[i] = s->parameters[i].value;
		ret->sizes[i] = s->parameters[i].size;
		ret->formats[i] = s->parameters[i].binary;
	}
	return UX_OK;
}

static enum ux_code postgres_run(struct ux_db *db, struct postgres_statement *s)
{
	struct ux_postgres *p = ux_postgres_of(db);
	struct postgres_values v;
	UX_TRY(postgres_ready(db, s, &v));
	PGresult *result = postgres_execute(p, s, v.values, v.sizes, v.formats);
	ExecStatusType status = result ? p->calls.PQresultStatus(result) : PGRES_FATAL_ERROR;
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		return ux_postgres_check(p, result);
	s->result = result;
	s->row = -1;
	return UX_OK;
}

/*
 * Runs a query; if its connection was lost, once again on a new one. A write is not repeated: it is
 * unknown whether it was done.
 */
static enum ux_code postgres_run_again(struct ux_db *db, struct postgres_statement *s)
{
	struct ux_postgres *p = ux_postgres_of(db);
	bool reads = strncmp(s->text, "SELECT", strlen("SELECT")) == 0;
	enum ux_code code = postgres_run(db, s);
	bool lost = code != UX_OK && !ux_postgres_is_connected(p);
	return lost && reads && !p->open ? postgres_run(db, s) : code;
}

/* Checks that the statement could be prepared and its parameters are bound. */
static enum ux_code postgres_check_statement(const struct ux_stmt *st, struct ux_error *err)
{
	if (st->status == UX_ENOMEM)
		return ux_error_nomem(err);
	return st->status == UX_OK ? UX_OK
				   : ux_error_set(err, UX_EIO, "%s: %s", st->sql->name,
						  ux_postgres_of(st->db)->message);
}

static enum ux_code postgres_send(struct ux_db *db, struct postgres_statement *s)
{
	struct ux_postgres *p = ux_postgres_of(db);
	struct postgres_values v;
	UX_TRY(postgres_ready(db, s, &v));
	bool sent = ux_postgres_send_later(p, s->name, (int)s->n, v.values, v.sizes, v.formats);
	if (sent && p->waiting < UX_POSTGRES_WAITING_MAX)
		return UX_OK;
	return ux_postgres_check(p, sent ? ux_postgres_read_waiting(p, NULL) : NULL);
}

/*
 * Runs a statement whose result is not needed. Outside a transaction nothing would read the answer
 * later, so it is run immediately.
 */
enum ux_code ux_postgres_run_later(struct ux_stmt *st, struct ux_error *err)
{
	const struct ux_postgres *p = ux_postgres_of(st->db);
	bool row = false;
	if (!p->pipelines || !p->open || p->reads)
		return ux_postgres_step(st, &row, err);
	UX_TRY(postgres_check_statement(st, err));
	return postgres_send(st->db, st->handle) == UX_OK ? UX_OK : ux_postgres_fail(st->db, err);
}

enum ux_code ux_postgres_step(struct ux_stmt *st, bool *ret_row, struct ux_error *err)
{
	struct ux_postgres *p = ux_postgres_of(st->db);
	struct postgres_statement *s = st->handle;
	UX_TRY(postgres_check_statement(st, err));
	if (!s->result && postgres_run_again(st->db, s) != UX_OK)
		return ux_postgres_fail(st->db, err);
	s->row++;
	*ret_row = s->row < p->calls.PQntuples(s->result);
	return UX_OK;
}

uint64_t ux_postgres_changed(struct ux_stmt *st)
{
	const struct postgres_statement *s = st->handle;
	uint64_t n = 0;
	const char *text = ux_postgres_of(st->db)->calls.PQcmdTuples(s->result);
	return ux_hex_parse_u64(ux_bytes_cstr(text), /* hex= */ false, &n) ? n : 0;
}

bool ux_postgres_column_is_null(struct ux_stmt *st, int n)
{
	const struct postgres_statement *s = st->handle;
	return ux_postgres_of(st->db)->calls.PQgetisnull(s->result, s->row, n) != 0;
}

const char *ux_postgres_column_text(struct ux_stmt *st, int n, size_t *ret_size)
{
	const struct ux_postgres *p = ux_postgres_of(st->db);
	const struct postgres_statement *s = st->handle;
	*ret_size = (size_t)p->calls.PQgetlength(s->result, s->row, n);
	return ux_postgres_column_is_null(st, n) ? NULL : p->calls.PQgetvalue(s->result, s->row, n);
}

/* Returns a number. Truth values are "t" and "f"; NULL is 0. */
int64_t ux_postgres_column_int(struct ux_stmt *st, int n)
{
	size_t size = 0;
	const char *text = ux_postgres_column_text(st, n, &size);
	return !text || text[0] == 'f' ? 0 : text[0] == 't' ? 1 : strtoll(text, NULL, 10);
}

/* Returns bytes, which arrive as "\x" and two hexadecimal digits each (section 8.4.1). */
const void *ux_postgres_column_bytes(struct ux_stmt *st, int n, size_t *ret_size)
{
	struct postgres_statement *s = st->handle;
	size_t size = 0;
	const char *text = ux_postgres_column_text(st, n, &size);
	*ret_size = 0;
	free(s->bytes);
	s->bytes = malloc(size / 2 + 1);
	if (!text || !s->bytes || size < 2 || size % 2 != 0)
		return NULL;
	for (size_t i = 2; i < size; i += 2) {
		uint64_t byte = 0;
		if (!ux_hex_parse_u64(ux_bytes(text + i, 2), /* hex= */ true, &byte))
			return NULL;
		s->bytes[i / 2 - 1] = (uint8_t)byte;
	}
	*ret_size = size / 2 - 1;
	return s->bytes;
}
