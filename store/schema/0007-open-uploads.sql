-- The limits on open uploads are checked at each announcement, while thousands of others may be pending.
CREATE INDEX uploads_open ON uploads (created, key_id, size) WHERE state = 0;
