-- What a query answers for an ID: the offer of its module; -1: the module's row has to be read, since retention has marked
-- it. So a query of ten thousand IDs reads rows of IDs alone.
ALTER TABLE ids ADD COLUMN offer INTEGER;
UPDATE ids SET offer = (SELECT CASE WHEN marked <> 0 THEN -1 ELSE offer END FROM modules WHERE number = ids.module);
CREATE TRIGGER module_offered AFTER UPDATE OF offer, marked ON modules
WHEN NEW.offer IS NOT OLD.offer OR (NEW.marked <> 0) <> (OLD.marked <> 0)
BEGIN
	UPDATE ids SET offer = CASE WHEN NEW.marked <> 0 THEN -1 ELSE NEW.offer END WHERE module = NEW.number;
END;
