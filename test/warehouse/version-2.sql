-- What version 2 added to the tables of version 1.
CREATE TABLE sync.conventions (
  name VARCHAR NOT NULL, value JSON, source VARCHAR NOT NULL, compared BIGINT NOT NULL, agreed BIGINT NOT NULL,
  largest_error DOUBLE, note VARCHAR, decided_at TIMESTAMP NOT NULL);
CREATE TABLE sync.shapes (resource VARCHAR NOT NULL, name VARCHAR NOT NULL, value VARCHAR);
CREATE TABLE sync.listings (
  resource VARCHAR NOT NULL, table_name VARCHAR NOT NULL, brand_id UUID, keys VARCHAR[]);
COMMENT ON TABLE sync.conventions IS 'How upstream computes and writes its numbers, as far as its own numbers show it.';
COMMENT ON COLUMN sync.conventions.name IS 'The question that the specification leaves open.';
COMMENT ON COLUMN sync.conventions.value IS 'The answer that the read server goes by, unless the configuration has another.';
COMMENT ON COLUMN sync.conventions.source IS 'learned: upstream''s numbers show it; default: they do not, and the note says why.';
COMMENT ON COLUMN sync.conventions.compared IS 'Numbers that upstream reported and that the rows held here could be compared with.';
COMMENT ON COLUMN sync.conventions.agreed IS 'How many of them are the same when computed by the value.';
COMMENT ON COLUMN sync.conventions.largest_error IS 'The largest difference among those compared.';
COMMENT ON COLUMN sync.conventions.note IS 'How sure the answer is, in words.';
COMMENT ON COLUMN sync.conventions.decided_at IS 'When the row was written (UTC).';
COMMENT ON TABLE sync.shapes IS 'How upstream''s answers look where the specification does not say.';
COMMENT ON TABLE sync.listings IS 'The order in which upstream sent its lists.';
UPDATE sync.meta SET value = '2';
