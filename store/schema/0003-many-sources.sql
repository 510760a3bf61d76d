-- Candidates of several kinds and states; use, pins and marks; answers of upstreams; source files;
-- jobs; namespaces with quotas; keys with several tokens; the audit.
ALTER TABLE modules ADD COLUMN last_used INTEGER NOT NULL DEFAULT 0;
ALTER TABLE modules ADD COLUMN marked INTEGER NOT NULL DEFAULT 0;
UPDATE modules SET last_used = updated;
CREATE INDEX modules_by_use ON modules (ns, last_used);

CREATE TABLE pins (
	module INTEGER NOT NULL REFERENCES modules ON DELETE CASCADE,
	label TEXT NOT NULL,
	key_id TEXT NOT NULL,
	created INTEGER NOT NULL,
	PRIMARY KEY (module, label)
) STRICT, WITHOUT ROWID;

-- state: 0 ready, 1 pending, 2 failed. origin: 0 upload, 1 upstream, 2 crawl. parent: what it was
-- extracted from. cached: can be made or fetched again, so it counts against no quota. holds: UX_HOLDS_*.
ALTER TABLE candidates ADD COLUMN state INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN parent INTEGER REFERENCES candidates ON DELETE CASCADE;
ALTER TABLE candidates ADD COLUMN origin INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN origin_name TEXT NOT NULL DEFAULT '';
ALTER TABLE candidates ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN claim INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN code_total INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN unnamed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN unnamed_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN holds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN parser INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN forced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN base_name TEXT NOT NULL DEFAULT '';
UPDATE candidates SET
	size = coalesce((SELECT b.size FROM blobs b WHERE b.hash = blob), 0),
	claim = quality,
	base_name = replace(file_name, rtrim(file_name, replace(file_name, '/', '')), '');
CREATE INDEX candidates_of_parent ON candidates (parent) WHERE parent IS NOT NULL;
CREATE INDEX candidates_by_file ON candidates (ns, file_name);
CREATE INDEX candidates_by_base ON candidates (ns, base_name);
CREATE INDEX candidates_cached ON candidates (module) WHERE cached = 1;
CREATE INDEX candidates_pending ON candidates (number) WHERE state = 1;
CREATE INDEX candidates_failed ON candidates (parser) WHERE state = 2;

-- candidate: the row that the upload became, which may be gone. state: also 3, pending.
ALTER TABLE uploads ADD COLUMN candidate INTEGER NOT NULL DEFAULT 0;
CREATE INDEX uploads_of_candidate ON uploads (candidate) WHERE state = 3;
CREATE INDEX uploads_at_work ON uploads (ns, key_id) WHERE state IN (0, 3);

CREATE TRIGGER candidates_left AFTER DELETE ON candidates WHEN OLD.state = 1
BEGIN
	UPDATE uploads SET state = 2, status = 'failed', reason = 'its module was deleted meanwhile'
	WHERE candidate = OLD.number AND state = 3;
END;

-- size bytes at off of the blob.
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

-- outcome: 0 found, 1 absent, 2 failed.
CREATE TABLE fetched (
	ns TEXT NOT NULL,
	id TEXT NOT NULL,
	artifact TEXT NOT NULL,
	upstream TEXT NOT NULL,
	outcome INTEGER NOT NULL,
	status INTEGER NOT NULL,
	reason TEXT NOT NULL,
	asked INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	took_ms INTEGER NOT NULL,
	blob BLOB REFERENCES blobs,
	size INTEGER NOT NULL,
	file_name TEXT NOT NULL,
	PRIMARY KEY (ns, id, artifact, upstream)
) STRICT, WITHOUT ROWID;
CREATE INDEX fetched_by_expiry ON fetched (expires);
CREATE INDEX fetched_of_blob ON fetched (blob) WHERE blob IS NOT NULL;

-- A blob has a row while a candidate, a source or an answer refers to it.
DROP TRIGGER candidates_gone;
CREATE VIEW blobs_referred AS
	SELECT blob FROM candidates UNION ALL SELECT blob FROM sources
	UNION ALL SELECT blob FROM fetched WHERE blob IS NOT NULL;
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

-- What each namespace holds, kept up by triggers: a quota is checked by one row.
CREATE TABLE usage (
	ns TEXT NOT NULL PRIMARY KEY,
	modules INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	cache_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO usage SELECT ns, count(*), 0, 0 FROM modules GROUP BY ns;
UPDATE usage SET
	bytes = (SELECT coalesce(sum(size), 0) FROM candidates c WHERE c.ns = usage.ns);
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

-- failed: it is never leased again.
CREATE TABLE jobs (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	kind TEXT NOT NULL,
	subject TEXT NOT NULL,
	ns TEXT NOT NULL,
	candidate INTEGER REFERENCES candidates ON DELETE CASCADE,
	payload TEXT NOT NULL,
	attempts INTEGER NOT NULL DEFAULT 0,
	failed INTEGER NOT NULL DEFAULT 0,
	next INTEGER NOT NULL,
	lease_until INTEGER NOT NULL DEFAULT 0,
	owner TEXT NOT NULL DEFAULT '',
	reason TEXT NOT NULL DEFAULT '',
	created INTEGER NOT NULL,
	UNIQUE (kind, subject)
) STRICT;
CREATE INDEX jobs_due ON jobs (kind, next, number) WHERE failed = 0;
CREATE INDEX jobs_of_candidate ON jobs (candidate) WHERE candidate IS NOT NULL;

-- reading: 0 by the server's setting, 1 open, 2 keyed. retention_s: -1 by the server's setting.
CREATE TABLE namespaces (
	name TEXT NOT NULL PRIMARY KEY,
	reading INTEGER NOT NULL DEFAULT 0,
	quota_bytes INTEGER NOT NULL DEFAULT 0,
	quota_modules INTEGER NOT NULL DEFAULT 0,
	retention_s INTEGER NOT NULL DEFAULT -1,
	upstreams TEXT NOT NULL DEFAULT '*',
	description TEXT NOT NULL DEFAULT '',
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO namespaces (name, created, updated)
	SELECT ns, min(created), min(created) FROM
		(SELECT ns, created FROM keys UNION ALL SELECT ns, created FROM modules)
	GROUP BY ns;
INSERT INTO namespaces (name, created, updated) VALUES ('default', 0, 0) ON CONFLICT DO NOTHING;

-- A key has several tokens while it is rotated. The first one's ID is the key's.
ALTER TABLE keys RENAME TO keys_2;
CREATE TABLE keys (
	id TEXT NOT NULL PRIMARY KEY,
	ns TEXT NOT NULL,
	scopes INTEGER NOT NULL,
	description TEXT NOT NULL,
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	revoked INTEGER NOT NULL,
	last_used INTEGER NOT NULL DEFAULT 0,
	rate INTEGER NOT NULL DEFAULT 0,
	uploads INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE tokens (
	id TEXT NOT NULL PRIMARY KEY,
	hash BLOB NOT NULL UNIQUE,
	key TEXT NOT NULL REFERENCES keys ON DELETE CASCADE,
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_of_key ON tokens (key);
INSERT INTO keys (id, ns, scopes, description, created, expires, revoked)
	SELECT id, ns, scopes, description, created, expires, revoked FROM keys_2;
INSERT INTO tokens (id, hash, key, created, expires) SELECT id, hash, id, created, 0 FROM keys_2;
DROP TABLE keys_2;

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

CREATE TABLE numbers (
	name TEXT NOT NULL PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
