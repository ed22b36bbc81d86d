"""Reads the files of a world with one library, named by the argument, and compares the figures with the truth."""

import glob
import os
import sys
from datetime import datetime, timezone

from report import Report, truth, world

CUT = truth['cut']
CUT_TIME = datetime.fromisoformat(CUT)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def folder(table):
    return os.path.join(world['snapshot'], table)


def files(table):
    return sorted(glob.glob(os.path.join(folder(table), '**', '*.parquet'), recursive=True))


def milliseconds(time):
    """A time without a zone is read as the time of this process, as programs do."""
    return round(time.timestamp() * 1000)


def of_sql(one, responses, citations, literal, epoch):
    """Readers of the figures in SQL: `literal` of an instant, `epoch` of a time in milliseconds."""
    return {
        'responses': lambda: one(f'SELECT count(*) FROM {responses}'),
        'mentioned': lambda: one(f'SELECT count(*) FROM {responses} WHERE brand_mentioned'),
        'positionSum': lambda: one(f'SELECT sum(brand_position) FROM {responses}'),
        'citations': lambda: one(f'SELECT count(*) FROM {citations}'),
        'citationPositionSum': lambda: one(f'SELECT sum(position) FROM {citations}'),
        'sinceCut': lambda: one(f'SELECT count(*) FROM {responses} WHERE created_at >= {literal(CUT)}'),
        'firstMs': lambda: one(f'SELECT {epoch("min(created_at)")} FROM {responses}'),
        'lastMs': lambda: one(f'SELECT {epoch("max(created_at)")} FROM {responses}'),
    }


def pyarrow():
    import pyarrow
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    report = Report(pyarrow.__version__)

    def dataset(table):
        return ds.dataset(folder(table), format='parquet', partitioning='hive')

    def column(table, name):
        return dataset(table).to_table(columns=[name])[name]

    cut = pyarrow.scalar(CUT_TIME, pyarrow.timestamp('us', 'UTC'))
    readers = {
        'responses': lambda: dataset('responses').count_rows(),
        'mentioned': lambda: dataset('responses').count_rows(filter=pc.field('brand_mentioned')),
        'positionSum': lambda: pc.sum(column('responses', 'brand_position')).as_py(),
        'citations': lambda: dataset('response_citations').count_rows(),
        'citationPositionSum': lambda: pc.sum(column('response_citations', 'position')).as_py(),
        'sinceCut': lambda: dataset('responses').count_rows(filter=pc.field('created_at') >= cut),
        'firstMs': lambda: milliseconds(pc.min(column('responses', 'created_at')).as_py()),
        'lastMs': lambda: milliseconds(pc.max(column('responses', 'created_at')).as_py()),
    }
    report.figures('Parquet', readers)
    tables = sorted(name for name in os.listdir(world['snapshot']) if os.path.isdir(folder(name)))
    for table in tables:
        report.equal(f'every column of {table}', lambda: dataset(table).to_table().validate(full=True), None)
    return report


def pandas():
    import pandas as pd

    report = Report(pd.__version__)
    responses = pd.read_parquet(folder('responses'))
    citations = pd.read_parquet(folder('response_citations'))
    readers = {
        'responses': lambda: len(responses),
        'mentioned': lambda: int(responses['brand_mentioned'].sum()),
        'positionSum': lambda: int(responses['brand_position'].sum()),
        'citations': lambda: len(citations),
        'citationPositionSum': lambda: int(citations['position'].sum()),
        'sinceCut': lambda: int((responses['created_at'] >= pd.Timestamp(CUT)).sum()),
        'firstMs': lambda: milliseconds(responses['created_at'].min().to_pydatetime()),
        'lastMs': lambda: milliseconds(responses['created_at'].max().to_pydatetime()),
    }
    report.figures('Parquet', readers)
    filters = [('created_at', '>=', pd.Timestamp(CUT))]
    report.equal(
        'Parquet: sinceCut with a pushed filter',
        lambda: len(pd.read_parquet(folder('responses'), filters=filters)),
        truth['figures']['sinceCut'],
    )
    return report


def polars():
    import polars as pl

    report = Report(pl.__version__)

    def scan(table):
        return pl.scan_parquet(os.path.join(folder(table), '**', '*.parquet'))

    def one(frame, expression):
        return frame.select(expression).collect().item()

    responses = scan('responses')
    citations = scan('response_citations')
    created = pl.col('created_at')
    readers = {
        'responses': lambda: one(responses, pl.len()),
        'mentioned': lambda: one(responses, pl.col('brand_mentioned').sum()),
        'positionSum': lambda: one(responses, pl.col('brand_position').sum()),
        'citations': lambda: one(citations, pl.len()),
        'citationPositionSum': lambda: one(citations, pl.col('position').sum()),
        'sinceCut': lambda: one(responses.filter(created >= CUT_TIME), pl.len()),
        'firstMs': lambda: milliseconds(one(responses, created.min())),
        'lastMs': lambda: milliseconds(one(responses, created.max())),
    }
    report.figures('Parquet', readers)
    return report


def duckdb():
    import duckdb as duck

    from attached_marts import read_marts

    report = Report(duck.__version__)
    files_sql = f"read_parquet('{world['snapshot']}/%s/**/*.parquet')"

    def open_one(setup=''):
        connection = duck.connect()
        connection.execute(setup)
        return lambda sql: connection.execute(sql).fetchone()[0]

    literal = "TIMESTAMPTZ '{}'".format
    readers = of_sql(open_one(), files_sql % 'responses', files_sql % 'response_citations', literal, 'epoch_ms({})'.format)
    report.figures('Parquet', readers)
    attached = open_one(f"ATTACH '{world['replica']}' AS other (READ_ONLY)")
    readers = of_sql(attached, 'other.main.responses', 'other.main.response_citations', literal, 'epoch_ms({})'.format)
    report.figures('attached replica', readers)
    use = '--use' in sys.argv
    marts = read_marts(world['replica'], 'UTC', use)
    report.equal('attached replica: has marts', lambda: len(marts) > 30, True)
    for name, found in read_marts(world['replica'], os.environ['TZ'], use).items():
        # An error is a text instead of rows and their hash.
        report.equal(f'attached mart.{name}', lambda: isinstance(found, tuple) and found == marts[name] or found, True)
    return report


def datafusion():
    import datafusion as df

    report = Report(df.__version__)
    context = df.SessionContext()
    for table in ('responses', 'response_citations'):
        context.register_parquet(table, folder(table), table_partition_cols=[('month', 'string')])

    def one(sql):
        return context.sql(sql).to_pydict()['found'][0]

    def found(sql):
        return one(sql.replace(' FROM', ' AS found FROM', 1))

    readers = of_sql(
        found,
        'responses',
        'response_citations',
        lambda text: f"'{text}'",
        lambda time: f'CAST(to_timestamp_millis({time}) AS BIGINT)',
    )
    report.figures('Parquet', readers)
    return report


def ibis():
    import ibis as ib

    report = Report(ib.__version__)
    connection = ib.duckdb.connect()
    responses = connection.read_parquet(files('responses'))
    citations = connection.read_parquet(files('response_citations'))
    readers = {
        'responses': lambda: responses.count().execute(),
        'mentioned': lambda: responses.filter(responses.brand_mentioned).count().execute(),
        'positionSum': lambda: responses.brand_position.sum().execute(),
        'citations': lambda: citations.count().execute(),
        'citationPositionSum': lambda: citations.position.sum().execute(),
        'sinceCut': lambda: responses.filter(responses.created_at >= ib.literal(CUT_TIME)).count().execute(),
        'firstMs': lambda: milliseconds(responses.created_at.min().execute()),
        'lastMs': lambda: milliseconds(responses.created_at.max().execute()),
    }
    report.figures('Parquet', readers)
    return report


def pyiceberg():
    import pyarrow.compute as pc
    import pyiceberg as pi
    from pyiceberg.catalog import load_catalog

    report = Report(pi.__version__)

    catalog = load_catalog('world', type='rest', uri=world['catalog'])

    def table(name):
        return catalog.load_table(('sightline', name))

    def column(name, field):
        return table(name).scan(selected_fields=(field,)).to_arrow()[field]

    readers = {
        'responses': lambda: len(table('responses').scan().to_arrow()),
        'mentioned': lambda: len(table('responses').scan('brand_mentioned = true').to_arrow()),
        'positionSum': lambda: pc.sum(column('responses', 'brand_position')).as_py(),
        'citations': lambda: len(table('response_citations').scan().to_arrow()),
        'citationPositionSum': lambda: pc.sum(column('response_citations', 'position')).as_py(),
        'sinceCut': lambda: len(table('responses').scan(f"created_at >= '{CUT_TIME.isoformat()}'").to_arrow()),
        'firstMs': lambda: milliseconds(pc.min(column('responses', 'created_at')).as_py()),
        'lastMs': lambda: milliseconds(pc.max(column('responses', 'created_at')).as_py()),
    }
    report.figures('Iceberg', readers)
    for _, name in sorted(catalog.list_tables('sightline')):
        report.equal(f'every column of {name}', lambda: table(name).scan().to_arrow().validate(full=True), None)
    return report


READERS = {reader.__name__: reader for reader in (pyarrow, pandas, polars, duckdb, datafusion, ibis, pyiceberg)}
if __name__ == '__main__':
    READERS[sys.argv[1]]().write()
