-- As 0024-row-sums.sql of SQLite, which says what sums are for. The numbers are the same.
CREATE FUNCTION row_text_sum(TEXT) RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT ('x' || encode(substr(sha256(convert_to($1, 'UTF8')), 1, 4), 'hex'))::BIT(32)::INTEGER::BIGINT $$;

CREATE FUNCTION row_sum(TEXT, TEXT, BIGINT)
	RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT row_text_sum(concat_ws('|', $1, $2, $3)) $$;
ALTER TABLE ids ADD COLUMN sum BIGINT NOT NULL DEFAULT 0;
UPDATE ids SET sum = row_sum(ns, id, module);
CREATE FUNCTION id_summed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' OR OLD.sum = row_sum(OLD.ns, OLD.id, OLD.module) THEN
		NEW.sum := row_sum(NEW.ns, NEW.id, NEW.module);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER id_summed BEFORE INSERT OR UPDATE OF ns, id, module ON ids
	FOR EACH ROW EXECUTE FUNCTION id_summed();

CREATE FUNCTION row_sum(BIGINT, BIGINT, BYTEA, TEXT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, TEXT)
	RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT row_text_sum(concat_ws('|', $1, $2, encode($3, 'hex'), $4, $5, $6, $7, $8,
		coalesce($9::TEXT, '-'), $10)) $$;
ALTER TABLE candidates ADD COLUMN sum BIGINT NOT NULL DEFAULT 0;
UPDATE candidates SET sum = row_sum(number, module, blob, kind, state, quality, trust, holds, parent, file_id);
CREATE FUNCTION candidate_summed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' OR OLD.sum = row_sum(OLD.number, OLD.module, OLD.blob, OLD.kind, OLD.state,
		OLD.quality, OLD.trust, OLD.holds, OLD.parent, OLD.file_id) THEN
		NEW.sum := row_sum(NEW.number, NEW.module, NEW.blob, NEW.kind, NEW.state, NEW.quality,
			NEW.trust, NEW.holds, NEW.parent, NEW.file_id);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER candidate_summed BEFORE INSERT OR UPDATE OF number, module, blob, kind, state, quality, trust,
	holds, parent, file_id ON candidates
	FOR EACH ROW EXECUTE FUNCTION candidate_summed();

CREATE FUNCTION row_sum(TEXT, BYTEA, TEXT, BIGINT)
	RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT row_text_sum(concat_ws('|', $1, encode($2, 'hex'), $3, $4)) $$;
ALTER TABLE tokens ADD COLUMN sum BIGINT NOT NULL DEFAULT 0;
UPDATE tokens SET sum = row_sum(id, hash, key, expires);
CREATE FUNCTION token_summed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' OR OLD.sum = row_sum(OLD.id, OLD.hash, OLD.key, OLD.expires) THEN
		NEW.sum := row_sum(NEW.id, NEW.hash, NEW.key, NEW.expires);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER token_summed BEFORE INSERT OR UPDATE OF id, hash, key, expires ON tokens
	FOR EACH ROW EXECUTE FUNCTION token_summed();

CREATE FUNCTION row_sum(TEXT, TEXT, BIGINT, BIGINT, BIGINT)
	RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT row_text_sum(concat_ws('|', $1, $2, $3, $4, $5)) $$;
ALTER TABLE keys ADD COLUMN sum BIGINT NOT NULL DEFAULT 0;
UPDATE keys SET sum = row_sum(id, ns, scopes, expires, revoked);
CREATE FUNCTION key_summed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' OR OLD.sum = row_sum(OLD.id, OLD.ns, OLD.scopes, OLD.expires, OLD.revoked) THEN
		NEW.sum := row_sum(NEW.id, NEW.ns, NEW.scopes, NEW.expires, NEW.revoked);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER key_summed BEFORE INSERT OR UPDATE OF id, ns, scopes, expires, revoked ON keys
	FOR EACH ROW EXECUTE FUNCTION key_summed();

CREATE FUNCTION row_sum(BIGINT, TEXT, BIGINT, BYTEA, BIGINT, BIGINT)
	RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT row_text_sum(concat_ws('|', $1, $2, $3, encode($4, 'hex'), $5, $6)) $$;
ALTER TABLE sources ADD COLUMN sum BIGINT NOT NULL DEFAULT 0;
UPDATE sources SET sum = row_sum(module, path, candidate, blob, off, size);
CREATE FUNCTION source_summed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' OR OLD.sum = row_sum(OLD.module, OLD.path, OLD.candidate, OLD.blob, OLD.off,
		OLD.size) THEN
		NEW.sum := row_sum(NEW.module, NEW.path, NEW.candidate, NEW.blob, NEW.off, NEW.size);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER source_summed BEFORE INSERT OR UPDATE OF module, path, candidate, blob, off, size ON sources
	FOR EACH ROW EXECUTE FUNCTION source_summed();

CREATE FUNCTION row_sum(BIGINT, TEXT, TEXT, BIGINT, BIGINT, BYTEA, BIGINT, BIGINT, BIGINT)
	RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT row_text_sum(concat_ws('|', $1, $2, $3, $4, $5, encode($6, 'hex'), $7, $8, $9)) $$;
ALTER TABLE profiles ADD COLUMN sum BIGINT NOT NULL DEFAULT 0;
UPDATE profiles SET sum = row_sum(number, ns, service, started, ended, blob, size, off, length);
CREATE FUNCTION profile_summed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' OR OLD.sum = row_sum(OLD.number, OLD.ns, OLD.service, OLD.started, OLD.ended,
		OLD.blob, OLD.size, OLD.off, OLD.length) THEN
		NEW.sum := row_sum(NEW.number, NEW.ns, NEW.service, NEW.started, NEW.ended, NEW.blob, NEW.size, NEW.off, NEW.length);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER profile_summed BEFORE INSERT OR UPDATE OF number, ns, service, started, ended, blob, size, off, length ON profiles
	FOR EACH ROW EXECUTE FUNCTION profile_summed();

CREATE FUNCTION row_sum(TEXT, BIGINT)
	RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT row_text_sum(concat_ws('|', $1, $2)) $$;
ALTER TABLE namespaces ADD COLUMN sum BIGINT NOT NULL DEFAULT 0;
UPDATE namespaces SET sum = row_sum(name, reading);
CREATE FUNCTION namespace_summed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	NEW.sum := row_sum(NEW.name, NEW.reading);
	RETURN NEW;
END $$;
CREATE TRIGGER namespace_summed BEFORE INSERT OR UPDATE OF name, reading ON namespaces
	FOR EACH ROW EXECUTE FUNCTION namespace_summed();
