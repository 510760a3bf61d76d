-- Servers that share this index: see docs/fleet.md.
-- A node writes its row every few seconds; one that does not any more has ended, and others have its leases.
CREATE TABLE nodes (
	name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	instance TEXT COLLATE "C" NOT NULL,
	version TEXT COLLATE "C" NOT NULL,
	started BIGINT NOT NULL,
	seen BIGINT NOT NULL
);
-- Which modules changed lately, so that nodes drop what they remember of them. place: number of the transaction.
CREATE TABLE changes (
	place BIGINT NOT NULL,
	module BIGINT NOT NULL,
	time BIGINT NOT NULL,
	PRIMARY KEY (place, module)
);
CREATE INDEX changes_by_time ON changes (time);
CREATE FUNCTION module_changed(BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO changes (place, module, time)
		VALUES (txid_current(), $1, floor(extract(epoch FROM clock_timestamp()))::BIGINT) ON CONFLICT DO NOTHING;
	PERFORM pg_notify('unhex', 'module');
END $$;
CREATE FUNCTION part_of_module_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		PERFORM module_changed(OLD.module);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		PERFORM module_changed(NEW.module);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER candidate_changed AFTER INSERT OR DELETE OR UPDATE OF module, state, quality, blob, size, holds ON candidates
	FOR EACH ROW EXECUTE FUNCTION part_of_module_changed();
CREATE TRIGGER id_changed AFTER INSERT OR DELETE OR UPDATE OF module ON ids
	FOR EACH ROW EXECUTE FUNCTION part_of_module_changed();

-- removing: when a node began to remove the file; 0: none has. Until it has ended no row may name the blob.
ALTER TABLE garbage ADD COLUMN removing BIGINT NOT NULL DEFAULT 0;
CREATE OR REPLACE FUNCTION blob_returned() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM garbage WHERE hash = NEW.hash AND removing = 0;
	IF EXISTS (SELECT 1 FROM garbage WHERE hash = NEW.hash) THEN
		RAISE EXCEPTION 'a file with the same bytes is being removed; send it again' USING ERRCODE = 'UX001';
	END IF;
	RETURN NULL;
END $$;
