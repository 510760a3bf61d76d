-- What SQLite's step of this name describes. Whatever of the index of IDs a query needs is in its entries, so that rows are
-- not read; and IDs come first in it, since most comparisons would find the namespace equal.
ALTER TABLE ids ADD COLUMN offer BIGINT;
UPDATE ids SET offer = CASE WHEN m.marked <> 0 THEN -1 ELSE m.offer END FROM modules m WHERE m.number = ids.module;
ALTER TABLE ids DROP CONSTRAINT ids_pkey;
ALTER TABLE ids ADD CONSTRAINT ids_pkey PRIMARY KEY (id, ns) INCLUDE (module, offer);
CREATE FUNCTION module_offered() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	UPDATE ids SET offer = CASE WHEN NEW.marked <> 0 THEN -1 ELSE NEW.offer END WHERE module = NEW.number;
	RETURN NULL;
END $$;
CREATE TRIGGER module_offered AFTER UPDATE OF offer, marked ON modules FOR EACH ROW
	WHEN (NEW.offer IS DISTINCT FROM OLD.offer OR (NEW.marked <> 0) <> (OLD.marked <> 0))
	EXECUTE FUNCTION module_offered();
-- Nodes of earlier versions do not write the column.
CREATE FUNCTION id_offered() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
	NEW.offer := (SELECT CASE WHEN m.marked <> 0 THEN -1 ELSE m.offer END FROM modules m WHERE m.number = NEW.module);
	RETURN NEW;
END $$;
CREATE TRIGGER id_offered_first BEFORE INSERT ON ids FOR EACH ROW WHEN (NEW.offer IS NULL) EXECUTE FUNCTION id_offered();
CREATE TRIGGER id_offered_anew BEFORE UPDATE OF module ON ids FOR EACH ROW WHEN (NEW.module <> OLD.module)
	EXECUTE FUNCTION id_offered();
