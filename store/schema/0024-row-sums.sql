-- Sums of the rows that decide names and access, so that damage on the disk is seen (docs/store.md). row_sum() is a function
-- of store/db/sqlite_row_sum.c. A changed row gets a new sum only if the old one fitted: otherwise a write to another column
-- would hide the damage.

ALTER TABLE ids ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE ids SET sum = row_sum(ns, id, module);
CREATE TRIGGER id_summed AFTER INSERT ON ids
BEGIN
	UPDATE ids SET sum = row_sum(NEW.ns, NEW.id, NEW.module)
	WHERE ns = NEW.ns AND id = NEW.id;
END;
CREATE TRIGGER id_summed_again AFTER UPDATE OF ns, id, module ON ids
WHEN OLD.sum = row_sum(OLD.ns, OLD.id, OLD.module)
BEGIN
	UPDATE ids SET sum = row_sum(NEW.ns, NEW.id, NEW.module)
	WHERE ns = NEW.ns AND id = NEW.id;
END;

ALTER TABLE candidates ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE candidates SET sum = row_sum(number, module, blob, kind, state, quality, trust, holds, parent, file_id);
CREATE TRIGGER candidate_summed AFTER INSERT ON candidates
BEGIN
	UPDATE candidates SET sum = row_sum(NEW.number, NEW.module, NEW.blob, NEW.kind, NEW.state, NEW.quality,
		NEW.trust, NEW.holds, NEW.parent, NEW.file_id)
	WHERE number = NEW.number;
END;
CREATE TRIGGER candidate_summed_again AFTER UPDATE OF number, module, blob, kind, state, quality, trust, holds,
	parent, file_id ON candidates
WHEN OLD.sum = row_sum(OLD.number, OLD.module, OLD.blob, OLD.kind, OLD.state, OLD.quality, OLD.trust,
	OLD.holds, OLD.parent, OLD.file_id)
BEGIN
	UPDATE candidates SET sum = row_sum(NEW.number, NEW.module, NEW.blob, NEW.kind, NEW.state, NEW.quality,
		NEW.trust, NEW.holds, NEW.parent, NEW.file_id)
	WHERE number = NEW.number;
END;

ALTER TABLE tokens ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE tokens SET sum = row_sum(id, hash, key, expires);
CREATE TRIGGER token_summed AFTER INSERT ON tokens
BEGIN
	UPDATE tokens SET sum = row_sum(NEW.id, NEW.hash, NEW.key, NEW.expires)
	WHERE id = NEW.id;
END;
CREATE TRIGGER token_summed_again AFTER UPDATE OF id, hash, key, expires ON tokens
WHEN OLD.sum = row_sum(OLD.id, OLD.hash, OLD.key, OLD.expires)
BEGIN
	UPDATE tokens SET sum = row_sum(NEW.id, NEW.hash, NEW.key, NEW.expires)
	WHERE id = NEW.id;
END;

ALTER TABLE keys ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE keys SET sum = row_sum(id, ns, scopes, expires, revoked);
CREATE TRIGGER key_summed AFTER INSERT ON keys
BEGIN
	UPDATE keys SET sum = row_sum(NEW.id, NEW.ns, NEW.scopes, NEW.expires, NEW.revoked)
	WHERE id = NEW.id;
END;
CREATE TRIGGER key_summed_again AFTER UPDATE OF id, ns, scopes, expires, revoked ON keys
WHEN OLD.sum = row_sum(OLD.id, OLD.ns, OLD.scopes, OLD.expires, OLD.revoked)
BEGIN
	UPDATE keys SET sum = row_sum(NEW.id, NEW.ns, NEW.scopes, NEW.expires, NEW.revoked)
	WHERE id = NEW.id;
END;

ALTER TABLE sources ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE sources SET sum = row_sum(module, path, candidate, blob, off, size);
CREATE TRIGGER source_summed AFTER INSERT ON sources
BEGIN
	UPDATE sources SET sum = row_sum(NEW.module, NEW.path, NEW.candidate, NEW.blob, NEW.off, NEW.size)
	WHERE module = NEW.module AND path = NEW.path AND candidate = NEW.candidate;
END;
CREATE TRIGGER source_summed_again AFTER UPDATE OF module, path, candidate, blob, off, size ON sources
WHEN OLD.sum = row_sum(OLD.module, OLD.path, OLD.candidate, OLD.blob, OLD.off, OLD.size)
BEGIN
	UPDATE sources SET sum = row_sum(NEW.module, NEW.path, NEW.candidate, NEW.blob, NEW.off, NEW.size)
	WHERE module = NEW.module AND path = NEW.path AND candidate = NEW.candidate;
END;

ALTER TABLE profiles ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE profiles SET sum = row_sum(number, ns, service, started, ended, blob, size, off, length);
CREATE TRIGGER profile_summed AFTER INSERT ON profiles
BEGIN
	UPDATE profiles SET sum = row_sum(NEW.number, NEW.ns, NEW.service, NEW.started, NEW.ended, NEW.blob, NEW.size, NEW.off, NEW.length)
	WHERE number = NEW.number;
END;
CREATE TRIGGER profile_summed_again AFTER UPDATE OF number, ns, service, started, ended, blob, size, off, length ON profiles
WHEN OLD.sum = row_sum(OLD.number, OLD.ns, OLD.service, OLD.started, OLD.ended, OLD.blob, OLD.size, OLD.off, OLD.length)
BEGIN
	UPDATE profiles SET sum = row_sum(NEW.number, NEW.ns, NEW.service, NEW.started, NEW.ended, NEW.blob, NEW.size, NEW.off, NEW.length)
	WHERE number = NEW.number;
END;

ALTER TABLE namespaces ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE namespaces SET sum = row_sum(name, reading);
CREATE TRIGGER namespace_summed AFTER INSERT ON namespaces
BEGIN
	UPDATE namespaces SET sum = row_sum(NEW.name, NEW.reading)
	WHERE name = NEW.name;
END;
-- Whoever writes it has said who may read, and so mends a damaged row.
CREATE TRIGGER namespace_summed_again AFTER UPDATE OF name, reading ON namespaces
BEGIN
	UPDATE namespaces SET sum = row_sum(NEW.name, NEW.reading)
	WHERE name = NEW.name;
END;
