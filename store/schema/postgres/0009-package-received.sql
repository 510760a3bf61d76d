-- Has the worker received all of the package? Then its host has room for another one, although the
-- lease goes on until the symbols are sent.
ALTER TABLE packages ADD COLUMN received BIGINT NOT NULL DEFAULT 0;
