-- The schema of an index in SQLite. Its twin for PostgreSQL is postgres/0013-base.sql, and has the same tables and columns.
-- Times are seconds since 1970, sizes are bytes, hashes are the 32 bytes of a SHA-256; ns is a namespace.

-- ---- Namespaces, keys, audit ----

CREATE TABLE namespaces (
	name TEXT NOT NULL PRIMARY KEY,
	-- 0: the server's setting, 1: open, 2: keyed
	reading INTEGER NOT NULL DEFAULT 0,
	quota_bytes INTEGER NOT NULL DEFAULT 0,
	quota_modules INTEGER NOT NULL DEFAULT 0,
	-- -1: the server's setting
	retention_s INTEGER NOT NULL DEFAULT -1,
	upstreams TEXT NOT NULL DEFAULT '*',
	description TEXT NOT NULL DEFAULT '',
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A key has several tokens while it is rotated. The ID of the first token is the ID of the key.
CREATE TABLE keys (
	id TEXT NOT NULL PRIMARY KEY,
	ns TEXT NOT NULL,
	scopes INTEGER NOT NULL,
	description TEXT NOT NULL,
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	revoked INTEGER NOT NULL,
	last_used INTEGER NOT NULL DEFAULT 0,
	-- requests a second, and open uploads at a time; 0: the server's setting
	rate INTEGER NOT NULL DEFAULT 0,
	uploads INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- hash is the SHA-256 of the token, id the first digits of its hexadecimal form.
CREATE TABLE tokens (
	id TEXT NOT NULL PRIMARY KEY,
	hash BLOB NOT NULL UNIQUE,
	key TEXT NOT NULL REFERENCES keys ON DELETE CASCADE,
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_of_key ON tokens (key);

CREATE TABLE audit (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	time INTEGER NOT NULL,
	key_id TEXT NOT NULL,
	origin TEXT NOT NULL,
	ns TEXT NOT NULL,
	what TEXT NOT NULL,
	subject TEXT NOT NULL,
	detail TEXT NOT NULL,
	module INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_of_ns ON audit (ns, number);
CREATE INDEX audit_of_module ON audit (module, number) WHERE module > 0;
CREATE INDEX audit_by_time ON audit (time);

-- Single numbers of the store, by name.
CREATE TABLE numbers (
	name TEXT NOT NULL PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- ---- Blobs ----

-- A blob has a row while a row of another table refers to it (the view blobs_referred).
CREATE TABLE blobs (
	hash BLOB NOT NULL PRIMARY KEY,
	size INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Blobs that lost their last row, until their files are removed.
CREATE TABLE garbage (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	hash BLOB NOT NULL UNIQUE,
	-- for servers that share an index: see PostgreSQL's schema
	removing INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TRIGGER blob_gone AFTER DELETE ON blobs
BEGIN
	INSERT INTO garbage (hash) VALUES (OLD.hash) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER blob_returned AFTER INSERT ON blobs
BEGIN
	DELETE FROM garbage WHERE hash = NEW.hash;
END;

-- ---- Modules, their IDs and candidates ----

CREATE TABLE modules (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	ns TEXT NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	last_used INTEGER NOT NULL DEFAULT 0,
	-- time at which retention found it idle; 0: not marked
	marked INTEGER NOT NULL DEFAULT 0,
	-- best quality that a client with the module's file is offered: of the ready GSYMs, and the claim of pending candidates
	-- other than sources; NULL: nothing. A query of ten thousand IDs reads one row a module.
	offer INTEGER
) STRICT;
CREATE INDEX modules_of_ns ON modules (ns, number);
CREATE INDEX modules_by_use ON modules (ns, last_used);

CREATE TABLE ids (
	ns TEXT NOT NULL,
	id TEXT NOT NULL,
	module INTEGER NOT NULL REFERENCES modules ON DELETE CASCADE,
	-- order of the IDs of a module: gnu, go, uuid, file
	rank INTEGER NOT NULL,
	-- answer of a query for the ID: the offer of its module; -1: read the module's row, since retention marked it. So a
	-- query of ten thousand IDs reads rows of IDs alone.
	offer INTEGER,
	PRIMARY KEY (ns, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ids_of_module ON ids (module, rank, id);

-- Labels that keep a module.
CREATE TABLE pins (
	module INTEGER NOT NULL REFERENCES modules ON DELETE CASCADE,
	label TEXT NOT NULL,
	key_id TEXT NOT NULL,
	created INTEGER NOT NULL,
	PRIMARY KEY (module, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE candidates (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	ns TEXT NOT NULL,
	module INTEGER NOT NULL REFERENCES modules ON DELETE CASCADE,
	blob BLOB NOT NULL REFERENCES blobs,
	kind TEXT NOT NULL,
	-- a number of include/unhex/quality.h, like claim
	quality INTEGER NOT NULL,
	functions INTEGER NOT NULL,
	inlines INTEGER NOT NULL,
	rows INTEGER NOT NULL,
	code_bytes INTEGER NOT NULL,
	line_bytes INTEGER NOT NULL,
	description TEXT NOT NULL,
	file_name TEXT NOT NULL,
	key_id TEXT NOT NULL,
	created INTEGER NOT NULL,
	-- 0: ready, 1: pending, 2: failed
	state INTEGER NOT NULL DEFAULT 0,
	reason TEXT NOT NULL DEFAULT '',
	size INTEGER NOT NULL DEFAULT 0,
	-- the candidate that this one was extracted from
	parent INTEGER REFERENCES candidates ON DELETE CASCADE,
	-- 0: upload, 1: upstream, 2: crawl
	origin INTEGER NOT NULL DEFAULT 0,
	origin_name TEXT NOT NULL DEFAULT '',
	-- 1: it can be made or fetched again, so it counts against no quota
	cached INTEGER NOT NULL DEFAULT 0,
	claim INTEGER NOT NULL DEFAULT 0,
	code_total INTEGER NOT NULL DEFAULT 0,
	unnamed INTEGER NOT NULL DEFAULT 0,
	unnamed_bytes INTEGER NOT NULL DEFAULT 0,
	-- UX_HOLDS_*
	holds INTEGER NOT NULL DEFAULT 0,
	parser INTEGER NOT NULL DEFAULT 0,
	forced INTEGER NOT NULL DEFAULT 0,
	base_name TEXT NOT NULL DEFAULT '',
	-- origin of the build: provenance.h
	git_revision TEXT NOT NULL DEFAULT '',
	git_branch TEXT NOT NULL DEFAULT '',
	git_repository TEXT NOT NULL DEFAULT '',
	ci_run TEXT NOT NULL DEFAULT '',
	-- package of a distribution that has the build: provenance.h
	distribution TEXT NOT NULL DEFAULT '',
	suite TEXT NOT NULL DEFAULT '',
	package TEXT NOT NULL DEFAULT '',
	package_version TEXT NOT NULL DEFAULT '',
	package_sha256 TEXT NOT NULL DEFAULT '',
	-- order in which candidates became ready; 0: it never was ready
	sequence INTEGER NOT NULL DEFAULT 0,
	UNIQUE (module, blob)
) STRICT;
CREATE INDEX candidates_of_blob ON candidates (blob);
CREATE INDEX candidates_of_parent ON candidates (parent) WHERE parent IS NOT NULL;
CREATE INDEX candidates_by_file ON candidates (ns, file_name);
CREATE INDEX candidates_by_base ON candidates (ns, base_name);
CREATE INDEX candidates_cached ON candidates (module) WHERE cached = 1;
CREATE INDEX candidates_pending ON candidates (number) WHERE state = 1;
CREATE INDEX candidates_failed ON candidates (parser) WHERE state = 2;
CREATE INDEX candidates_by_revision ON candidates (ns, git_revision) WHERE git_revision <> '';
CREATE INDEX candidates_by_run ON candidates (ns, ci_run) WHERE ci_run <> '';
CREATE INDEX candidates_by_package ON candidates (ns, package) WHERE package <> '';
CREATE INDEX candidates_by_sequence ON candidates (ns, sequence, number) WHERE sequence > 0;

-- The supplementary file (of dwz) that the debug information of a candidate refers to, by the file's canonical ID.
CREATE TABLE supplementary (
	ns TEXT NOT NULL,
	id TEXT NOT NULL,
	candidate INTEGER NOT NULL REFERENCES candidates ON DELETE CASCADE,
	-- 1: extracted with it; 2: without, since the store did not have it; 3: without, since it was unusable
	state INTEGER NOT NULL,
	PRIMARY KEY (ns, id, candidate)
) STRICT, WITHOUT ROWID;
CREATE INDEX supplementary_of_candidate ON supplementary (candidate);

-- A source file: size bytes at off of the blob.
CREATE TABLE sources (
	module INTEGER NOT NULL REFERENCES modules ON DELETE CASCADE,
	path TEXT NOT NULL,
	candidate INTEGER NOT NULL REFERENCES candidates ON DELETE CASCADE,
	blob BLOB NOT NULL REFERENCES blobs,
	off INTEGER NOT NULL,
	size INTEGER NOT NULL,
	PRIMARY KEY (module, path, candidate)
) STRICT, WITHOUT ROWID;
CREATE INDEX sources_of_candidate ON sources (candidate);
CREATE INDEX sources_of_blob ON sources (blob);

-- ---- Uploads ----

CREATE TABLE uploads (
	uid TEXT NOT NULL PRIMARY KEY,
	ns TEXT NOT NULL,
	key_id TEXT NOT NULL,
	size INTEGER NOT NULL,
	hash BLOB NOT NULL,
	kind TEXT NOT NULL,
	claim INTEGER NOT NULL,
	description TEXT NOT NULL,
	file_name TEXT NOT NULL,
	force INTEGER NOT NULL,
	-- 0: open, 1: done, 2: failed, 3: pending
	state INTEGER NOT NULL,
	status TEXT NOT NULL,
	reason TEXT NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	-- number of the candidate that the upload became, which may be gone; 0: none
	candidate INTEGER NOT NULL DEFAULT 0,
	-- origin of the build, as in candidates
	git_revision TEXT NOT NULL DEFAULT '',
	git_branch TEXT NOT NULL DEFAULT '',
	git_repository TEXT NOT NULL DEFAULT '',
	ci_run TEXT NOT NULL DEFAULT '',
	distribution TEXT NOT NULL DEFAULT '',
	suite TEXT NOT NULL DEFAULT '',
	package TEXT NOT NULL DEFAULT '',
	package_version TEXT NOT NULL DEFAULT '',
	package_sha256 TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_change ON uploads (updated);
CREATE INDEX uploads_of_candidate ON uploads (candidate) WHERE state = 3;
CREATE INDEX uploads_at_work ON uploads (ns, key_id) WHERE state IN (0, 3);
CREATE INDEX uploads_of_ns ON uploads (ns, updated);
-- Each announcement checks the limits on open uploads, while thousands of others may be pending.
CREATE INDEX uploads_open ON uploads (created, key_id, size) WHERE state = 0;

CREATE TABLE upload_ids (
	uid TEXT NOT NULL REFERENCES uploads ON DELETE CASCADE,
	position INTEGER NOT NULL,
	id TEXT NOT NULL,
	PRIMARY KEY (uid, position)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER candidates_left AFTER DELETE ON candidates WHEN OLD.state = 1
BEGIN
	UPDATE uploads SET state = 2, status = 'failed', reason = 'its module was deleted meanwhile'
	WHERE candidate = OLD.number AND state = 3;
END;

-- ---- Usage of namespaces ----

-- Kept up by triggers, so that a check of a quota reads one row.
CREATE TABLE usage (
	ns TEXT NOT NULL PRIMARY KEY,
	modules INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	cache_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER module_counted AFTER INSERT ON modules
BEGIN
	INSERT INTO usage VALUES (NEW.ns, 1, 0, 0)
		ON CONFLICT (ns) DO UPDATE SET modules = modules + 1;
END;
CREATE TRIGGER module_discounted AFTER DELETE ON modules
BEGIN
	UPDATE usage SET modules = modules - 1 WHERE ns = OLD.ns;
END;
CREATE TRIGGER candidate_counted AFTER INSERT ON candidates
BEGIN
	UPDATE usage SET bytes = bytes + NEW.size * (1 - NEW.cached),
		cache_bytes = cache_bytes + NEW.size * NEW.cached WHERE ns = NEW.ns;
END;
CREATE TRIGGER candidate_discounted AFTER DELETE ON candidates
BEGIN
	UPDATE usage SET bytes = bytes - OLD.size * (1 - OLD.cached),
		cache_bytes = cache_bytes - OLD.size * OLD.cached WHERE ns = OLD.ns;
END;
CREATE TRIGGER candidate_recounted AFTER UPDATE OF cached, size ON candidates
BEGIN
	UPDATE usage SET
		bytes = bytes + NEW.size * (1 - NEW.cached) - OLD.size * (1 - OLD.cached),
		cache_bytes = cache_bytes + NEW.size * NEW.cached - OLD.size * OLD.cached
	WHERE ns = NEW.ns;
END;

-- ---- Answers of upstreams ----

CREATE TABLE fetched (
	ns TEXT NOT NULL,
	id TEXT NOT NULL,
	artifact TEXT NOT NULL,
	upstream TEXT NOT NULL,
	-- 0: found, 1: absent, 2: failed
	outcome INTEGER NOT NULL,
	status INTEGER NOT NULL,
	reason TEXT NOT NULL,
	-- time of the upstream's answer
	queried INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	took_ms INTEGER NOT NULL,
	blob BLOB REFERENCES blobs,
	size INTEGER NOT NULL,
	file_name TEXT NOT NULL,
	PRIMARY KEY (ns, id, artifact, upstream)
) STRICT, WITHOUT ROWID;
CREATE INDEX fetched_by_expiry ON fetched (expires);
CREATE INDEX fetched_of_blob ON fetched (blob) WHERE blob IS NOT NULL;

-- ---- Jobs ----

-- Namespaces take turns. Within a namespace, a job comes before the jobs that are due later than it by more than its size
-- costs.
CREATE TABLE jobs (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	kind TEXT NOT NULL,
	subject TEXT NOT NULL,
	ns TEXT NOT NULL,
	candidate INTEGER REFERENCES candidates ON DELETE CASCADE,
	payload TEXT NOT NULL,
	attempts INTEGER NOT NULL DEFAULT 0,
	-- 1: it is never leased again
	failed INTEGER NOT NULL DEFAULT 0,
	next INTEGER NOT NULL,
	lease_until INTEGER NOT NULL DEFAULT 0,
	owner TEXT NOT NULL DEFAULT '',
	reason TEXT NOT NULL DEFAULT '',
	created INTEGER NOT NULL,
	size INTEGER NOT NULL DEFAULT 0,
	-- 1: it exceeded the time of a quick job
	slow INTEGER NOT NULL DEFAULT 0,
	-- 1: it waits among the slow jobs, which never take all workers
	lane INTEGER GENERATED ALWAYS AS (slow OR size > 67108864) VIRTUAL,
	turn INTEGER GENERATED ALWAYS AS (next + (size >> 20)) VIRTUAL,
	UNIQUE (kind, subject)
) STRICT;
CREATE INDEX jobs_due ON jobs (kind, next, number) WHERE failed = 0;
CREATE INDEX jobs_of_candidate ON jobs (candidate) WHERE candidate IS NOT NULL;
CREATE INDEX jobs_turn ON jobs (kind, lane, ns, turn, number) WHERE failed = 0;
CREATE INDEX jobs_leased ON jobs (kind) WHERE lease_until > 0;
CREATE INDEX jobs_of_ns ON jobs (ns, number);
CREATE INDEX jobs_by_age ON jobs (kind, created, lease_until) WHERE failed = 0;
CREATE TRIGGER jobs_size AFTER INSERT ON jobs WHEN NEW.candidate IS NOT NULL
BEGIN
	UPDATE jobs SET size = coalesce((SELECT c.size FROM candidates c WHERE c.number = NEW.candidate), 0)
	WHERE number = NEW.number;
END;

-- Numbers of jobs by kind, kept up by triggers, so that a scrape reads one row and not all jobs.
CREATE TABLE job_counts (
	kind TEXT NOT NULL PRIMARY KEY,
	going INTEGER NOT NULL,
	failed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER job_counted AFTER INSERT ON jobs
BEGIN
	INSERT INTO job_counts VALUES (NEW.kind, 1 - NEW.failed, NEW.failed)
		ON CONFLICT (kind) DO UPDATE SET going = going + 1 - NEW.failed, failed = failed + NEW.failed;
END;
CREATE TRIGGER job_discounted AFTER DELETE ON jobs
BEGIN
	UPDATE job_counts SET going = going - (1 - OLD.failed), failed = failed - OLD.failed
	WHERE kind = OLD.kind;
END;
CREATE TRIGGER job_recounted AFTER UPDATE OF failed ON jobs WHEN NEW.failed <> OLD.failed
BEGIN
	UPDATE job_counts SET going = going + OLD.failed - NEW.failed,
		failed = failed + NEW.failed - OLD.failed
	WHERE kind = NEW.kind;
END;

-- ---- Kept profiles ----

-- A profile of a service on a host, from started until ended.
CREATE TABLE profiles (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	ns TEXT NOT NULL,
	service TEXT NOT NULL,
	host TEXT NOT NULL,
	build TEXT NOT NULL,
	started INTEGER NOT NULL,
	ended INTEGER NOT NULL,
	samples INTEGER NOT NULL,
	-- merges with its neighbours in time so far; -1: it is never merged, since a client knows its number
	level INTEGER NOT NULL,
	blob BLOB NOT NULL REFERENCES blobs,
	size INTEGER NOT NULL,
	key_id TEXT NOT NULL,
	created INTEGER NOT NULL
) STRICT;
CREATE INDEX profiles_of_service ON profiles (ns, service, started, number);
CREATE INDEX profiles_by_level ON profiles (level, ns, service, host, build, started);
CREATE INDEX profiles_by_age ON profiles (created, number);
CREATE INDEX profiles_of_ns ON profiles (ns, created, number);
CREATE INDEX profiles_of_blob ON profiles (blob);

-- Profiles of each service, their bytes and the newest time, kept up by triggers.
CREATE TABLE services (
	ns TEXT NOT NULL,
	service TEXT NOT NULL,
	profiles INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	ended INTEGER NOT NULL,
	PRIMARY KEY (ns, service)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER profile_counted AFTER INSERT ON profiles
BEGIN
	INSERT INTO services VALUES (NEW.ns, NEW.service, 1, NEW.size, NEW.ended)
		ON CONFLICT (ns, service) DO UPDATE SET profiles = services.profiles + 1,
			bytes = services.bytes + NEW.size, ended = max(services.ended, NEW.ended);
END;
CREATE TRIGGER profile_discounted AFTER DELETE ON profiles
BEGIN
	UPDATE services SET profiles = profiles - 1, bytes = bytes - OLD.size
		WHERE ns = OLD.ns AND service = OLD.service;
	DELETE FROM services WHERE ns = OLD.ns AND service = OLD.service AND profiles = 0;
END;

-- ---- References to blobs ----

-- The last reference takes the blob's row with it. A new table with blobs joins the view, and gets a trigger.
CREATE VIEW blobs_referred AS
	SELECT blob FROM candidates UNION ALL SELECT blob FROM sources
	UNION ALL SELECT blob FROM fetched WHERE blob IS NOT NULL
	UNION ALL SELECT blob FROM profiles;
CREATE TRIGGER candidates_gone AFTER DELETE ON candidates
WHEN NOT EXISTS (SELECT 1 FROM blobs_referred WHERE blob = OLD.blob)
BEGIN
	DELETE FROM blobs WHERE hash = OLD.blob;
END;
CREATE TRIGGER sources_gone AFTER DELETE ON sources
WHEN NOT EXISTS (SELECT 1 FROM blobs_referred WHERE blob = OLD.blob)
BEGIN
	DELETE FROM blobs WHERE hash = OLD.blob;
END;
CREATE TRIGGER fetched_gone AFTER DELETE ON fetched
WHEN OLD.blob IS NOT NULL AND NOT EXISTS (SELECT 1 FROM blobs_referred WHERE blob = OLD.blob)
BEGIN
	DELETE FROM blobs WHERE hash = OLD.blob;
END;
CREATE TRIGGER profiles_gone AFTER DELETE ON profiles
WHEN NOT EXISTS (SELECT 1 FROM blobs_referred WHERE blob = OLD.blob)
BEGIN
	DELETE FROM blobs WHERE hash = OLD.blob;
END;

-- ---- Order in which candidates became ready ----

-- A list of the candidates that are new since an earlier list is short. A candidate is listed again when its description
-- changes or its module gets a further ID.
CREATE TRIGGER candidate_ready AFTER INSERT ON candidates WHEN NEW.state = 0
BEGIN
	UPDATE numbers SET value = value + 1 WHERE name = 'sequence';
	UPDATE candidates SET sequence = (SELECT value FROM numbers WHERE name = 'sequence')
	WHERE number = NEW.number;
END;
CREATE TRIGGER candidate_settled AFTER UPDATE OF state ON candidates WHEN NEW.state = 0 AND OLD.state <> 0
BEGIN
	UPDATE numbers SET value = value + 1 WHERE name = 'sequence';
	UPDATE candidates SET sequence = (SELECT value FROM numbers WHERE name = 'sequence')
	WHERE number = NEW.number;
END;
CREATE TRIGGER candidate_described
AFTER UPDATE OF description, file_name, git_revision, ci_run, distribution, suite, package ON candidates WHEN NEW.state = 0
BEGIN
	UPDATE numbers SET value = value + 1 WHERE name = 'sequence';
	UPDATE candidates SET sequence = (SELECT value FROM numbers WHERE name = 'sequence')
	WHERE number = NEW.number;
END;
CREATE TRIGGER id_added AFTER INSERT ON ids
WHEN EXISTS (SELECT 1 FROM candidates WHERE module = NEW.module AND sequence > 0)
BEGIN
	UPDATE numbers SET value = value + 1 WHERE name = 'sequence';
	UPDATE candidates SET sequence = (SELECT value FROM numbers WHERE name = 'sequence')
	WHERE module = NEW.module AND sequence > 0;
END;

-- ---- Offers ----

CREATE TRIGGER candidate_offered AFTER INSERT ON candidates
WHEN NEW.state = 0 AND NEW.kind = 'gsym' OR NEW.state = 1 AND NEW.kind <> 'sources'
BEGIN
	UPDATE modules SET offer = max(coalesce(offer, 0), CASE NEW.state WHEN 0 THEN NEW.quality ELSE NEW.claim END)
	WHERE number = NEW.module;
END;
CREATE TRIGGER candidate_offered_otherwise AFTER UPDATE OF state, kind, quality, claim ON candidates
WHEN NEW.state <> OLD.state OR NEW.kind <> OLD.kind OR NEW.quality <> OLD.quality OR NEW.claim <> OLD.claim
BEGIN
	UPDATE modules SET offer = (SELECT max(CASE WHEN c.state = 0 AND c.kind = 'gsym' THEN c.quality
		WHEN c.state = 1 AND c.kind <> 'sources' THEN c.claim END) FROM candidates c WHERE c.module = NEW.module)
	WHERE number = NEW.module;
END;
CREATE TRIGGER candidate_withdrawn AFTER DELETE ON candidates
BEGIN
	UPDATE modules SET offer = (SELECT max(CASE WHEN c.state = 0 AND c.kind = 'gsym' THEN c.quality
		WHEN c.state = 1 AND c.kind <> 'sources' THEN c.claim END) FROM candidates c WHERE c.module = OLD.module)
	WHERE number = OLD.module;
END;
CREATE TRIGGER module_offered AFTER UPDATE OF offer, marked ON modules
WHEN NEW.offer IS NOT OLD.offer OR (NEW.marked <> 0) <> (OLD.marked <> 0)
BEGIN
	UPDATE ids SET offer = CASE WHEN NEW.marked <> 0 THEN -1 ELSE NEW.offer END WHERE module = NEW.number;
END;

-- ---- Crawls ----

CREATE TABLE repositories (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	ns TEXT NOT NULL,
	name TEXT NOT NULL,
	-- JSON object from the last complete announcement
	state TEXT NOT NULL DEFAULT '',
	announced INTEGER NOT NULL,
	completed INTEGER NOT NULL DEFAULT 0,
	-- turn at which one of its packages was leased last
	taken INTEGER NOT NULL DEFAULT 0,
	UNIQUE (ns, name)
) STRICT;

-- A package is a job of a worker.
CREATE TABLE packages (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	ns TEXT NOT NULL,
	key TEXT NOT NULL,
	-- the first one that announced it
	repository INTEGER NOT NULL REFERENCES repositories ON DELETE CASCADE,
	name TEXT NOT NULL,
	version TEXT NOT NULL,
	arch TEXT NOT NULL,
	source TEXT NOT NULL,
	distribution TEXT NOT NULL,
	suite TEXT NOT NULL,
	component TEXT NOT NULL,
	kind TEXT NOT NULL,
	role TEXT NOT NULL,
	url TEXT NOT NULL,
	host TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	size INTEGER NOT NULL,
	installed INTEGER NOT NULL,
	-- 0: waiting, 1: leased, 2: done, 3: failed and due again at `next`, 4: quarantined, 5: only known
	state INTEGER NOT NULL,
	-- failures
	tries INTEGER NOT NULL DEFAULT 0,
	-- leases that ended by themselves
	losses INTEGER NOT NULL DEFAULT 0,
	next INTEGER NOT NULL,
	worker TEXT NOT NULL DEFAULT '',
	-- lease of the last worker
	lease TEXT NOT NULL DEFAULT '',
	-- 1: that worker has said how it ended
	answered INTEGER NOT NULL DEFAULT 0,
	lease_until INTEGER NOT NULL DEFAULT 0,
	cause TEXT NOT NULL DEFAULT '',
	reason TEXT NOT NULL DEFAULT '',
	modules INTEGER NOT NULL DEFAULT 0,
	fetched INTEGER NOT NULL DEFAULT 0,
	stored INTEGER NOT NULL DEFAULT 0,
	extractor INTEGER NOT NULL DEFAULT 0,
	created INTEGER NOT NULL,
	ended INTEGER NOT NULL DEFAULT 0,
	-- further files that the package is read with, a JSON array: packages with the stripped files of debug files that do not
	-- name them by build ID
	files TEXT NOT NULL DEFAULT '',
	-- 1: the worker has received all of the package; the host has room for another one, although the lease lasts until the
	-- symbols are sent
	received INTEGER NOT NULL DEFAULT 0,
	-- version of the source package; '': the same as of the package
	source_version TEXT NOT NULL DEFAULT '',
	UNIQUE (ns, key)
) STRICT;
CREATE INDEX packages_due ON packages (repository, next, number) WHERE state IN (0, 3);
CREATE INDEX packages_leased ON packages (lease_until) WHERE state = 1;
CREATE INDEX packages_of_host ON packages (host) WHERE state = 1;
CREATE INDEX packages_done ON packages (ns, ended) WHERE state = 2;
CREATE INDEX packages_failed ON packages (ns, ended) WHERE state IN (3, 4);
CREATE INDEX packages_quarantined ON packages (extractor) WHERE state = 4;
-- Source packages, by the name that binary packages have in `source`.
CREATE INDEX packages_source ON packages (ns, source) WHERE role = 'source';

-- Build IDs, mostly of 20 bytes, of the files in a package.
CREATE TABLE package_ids (
	ns TEXT NOT NULL,
	id BLOB NOT NULL,
	package INTEGER NOT NULL REFERENCES packages ON DELETE CASCADE,
	PRIMARY KEY (ns, id, package)
) STRICT, WITHOUT ROWID;
CREATE INDEX package_ids_of_package ON package_ids (package);

-- Packages of a repository by state and cause, kept up by triggers, so that a page reads some rows and not all packages.
CREATE TABLE package_counts (
	ns TEXT NOT NULL,
	repository INTEGER NOT NULL,
	state INTEGER NOT NULL,
	cause TEXT NOT NULL,
	packages INTEGER NOT NULL,
	-- sums of the packages' columns
	size INTEGER NOT NULL,
	modules INTEGER NOT NULL,
	fetched INTEGER NOT NULL,
	stored INTEGER NOT NULL,
	PRIMARY KEY (ns, repository, state, cause)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER package_counted AFTER INSERT ON packages
BEGIN
	INSERT INTO package_counts VALUES (NEW.ns, NEW.repository, NEW.state, NEW.cause, 1, NEW.size,
			NEW.modules, NEW.fetched, NEW.stored)
		ON CONFLICT (ns, repository, state, cause) DO UPDATE SET packages = packages + 1,
			size = size + NEW.size, modules = modules + NEW.modules,
			fetched = fetched + NEW.fetched, stored = stored + NEW.stored;
END;
CREATE TRIGGER package_discounted AFTER DELETE ON packages
BEGIN
	UPDATE package_counts SET packages = packages - 1, size = size - OLD.size,
		modules = modules - OLD.modules, fetched = fetched - OLD.fetched,
		stored = stored - OLD.stored
	WHERE ns = OLD.ns AND repository = OLD.repository AND state = OLD.state AND cause = OLD.cause;
	DELETE FROM package_counts WHERE ns = OLD.ns AND repository = OLD.repository
		AND state = OLD.state AND cause = OLD.cause AND packages = 0;
END;
CREATE TRIGGER package_recounted AFTER UPDATE OF state, cause, size, modules, fetched, stored ON packages
BEGIN
	UPDATE package_counts SET packages = packages - 1, size = size - OLD.size,
		modules = modules - OLD.modules, fetched = fetched - OLD.fetched,
		stored = stored - OLD.stored
	WHERE ns = OLD.ns AND repository = OLD.repository AND state = OLD.state AND cause = OLD.cause;
	DELETE FROM package_counts WHERE ns = OLD.ns AND repository = OLD.repository
		AND state = OLD.state AND cause = OLD.cause AND packages = 0;
	INSERT INTO package_counts VALUES (NEW.ns, NEW.repository, NEW.state, NEW.cause, 1, NEW.size,
			NEW.modules, NEW.fetched, NEW.stored)
		ON CONFLICT (ns, repository, state, cause) DO UPDATE SET packages = packages + 1,
			size = size + NEW.size, modules = modules + NEW.modules,
			fetched = fetched + NEW.fetched, stored = stored + NEW.stored;
END;

-- ---- Servers that share an index (docs/fleet.md) ----

-- An index in a file has one server, which leaves these tables empty. PostgreSQL's schema describes their columns.
CREATE TABLE nodes (
	name TEXT NOT NULL PRIMARY KEY,
	instance TEXT NOT NULL,
	version TEXT NOT NULL,
	started INTEGER NOT NULL,
	seen INTEGER NOT NULL,
	steps INTEGER NOT NULL DEFAULT 10
);
CREATE TABLE changes (
	place INTEGER NOT NULL,
	module INTEGER NOT NULL,
	time INTEGER NOT NULL,
	PRIMARY KEY (place, module)
);
CREATE INDEX changes_by_time ON changes (time);

-- ---- First rows ----

INSERT INTO namespaces (name, created, updated) VALUES ('default', 0, 0);
INSERT INTO numbers (name, value) VALUES ('sequence', 0);
-- A copy of the index has the same number: a place in it that the copy has not reached is not used.
INSERT INTO numbers (name, value) VALUES ('store', (random() & 9007199254740991) | 1);
