-- Schema `sync` as version 1 made it.
CREATE SCHEMA IF NOT EXISTS sync;
CREATE TABLE IF NOT EXISTS sync.meta (name VARCHAR NOT NULL, value VARCHAR);
CREATE TABLE IF NOT EXISTS sync.runs (
  run_id UUID NOT NULL, pass_id UUID NOT NULL, started_at TIMESTAMP NOT NULL, ended_at TIMESTAMP,
  status VARCHAR NOT NULL, options VARCHAR NOT NULL, requests BIGINT, retries BIGINT, waited_ms BIGINT,
  quarantined BIGINT, tables JSON, error VARCHAR, data_version BIGINT,
  pid BIGINT);
CREATE TABLE IF NOT EXISTS sync.requests (
  run_id UUID NOT NULL, sent_at TIMESTAMP NOT NULL, resource VARCHAR NOT NULL, chain VARCHAR NOT NULL,
  path VARCHAR NOT NULL, query JSON, attempt BIGINT, status BIGINT, waited_ms BIGINT, took_ms BIGINT, bytes BIGINT,
  rows BIGINT, inserted BIGINT, updated BIGINT, deleted BIGINT, error VARCHAR,
  data_version BIGINT);
CREATE TABLE IF NOT EXISTS sync.coverage (
  chain VARCHAR NOT NULL, resource VARCHAR NOT NULL, brand_id UUID, range_from DATE, range_to DATE,
  pass_id UUID NOT NULL, run_id UUID NOT NULL, closed_at TIMESTAMP NOT NULL, rows BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS sync.checkpoints (
  chain VARCHAR NOT NULL, resource VARCHAR NOT NULL, brand_id UUID, range_from DATE, range_to DATE,
  pass_id UUID NOT NULL, page BIGINT NOT NULL, table_name VARCHAR NOT NULL, next_cursor VARCHAR, seen VARCHAR[],
  unidentified BIGINT NOT NULL, read_at TIMESTAMP NOT NULL);
CREATE TABLE IF NOT EXISTS sync.quarantine (
  id VARCHAR NOT NULL, resource VARCHAR NOT NULL, table_name VARCHAR NOT NULL, brand_id UUID, reason VARCHAR NOT NULL,
  item JSON, first_seen_at TIMESTAMP NOT NULL, last_seen_at TIMESTAMP NOT NULL, run_id UUID NOT NULL);
COMMENT ON TABLE sync.meta IS 'The version of the tables in this schema.';
COMMENT ON TABLE sync.runs IS 'Every sync run with its status and what it cost.';
COMMENT ON TABLE sync.requests IS 'Every request sent to upstream, each attempt a row.';
COMMENT ON TABLE sync.coverage IS 'What was read whole, and when: one row per chain of pages, the latest time.';
COMMENT ON TABLE sync.checkpoints IS 'Pages of chains that are not finished; the next run goes on from here.';
COMMENT ON TABLE sync.quarantine IS 'Items upstream sent that could not be taken as rows, with the reason.';
INSERT INTO sync.meta VALUES ('schema_version', '1');
