"""Reads Parquet with Spark, and Iceberg tables if it is given the library for them, with the time zone of this process."""

import os

import pyspark
from pyspark.sql import SparkSession

from files import folder, of_sql
from report import Report, truth, world

builder = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').config('spark.sql.shuffle.partitions', '1')
builder = builder.config('spark.driver.bindAddress', '127.0.0.1').config('spark.driver.host', '127.0.0.1')
# The library for Iceberg tables, if the client has one.
library = os.environ['INTEROP_JARS']
if library:
    builder = builder.config('spark.jars', library).config('spark.sql.catalog.world', 'org.apache.iceberg.spark.SparkCatalog')
    builder = builder.config('spark.sql.catalog.world.type', 'rest').config('spark.sql.catalog.world.uri', world['catalog'])
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel('ERROR')
report = Report(pyspark.__version__)


def one(sql):
    return spark.sql(sql).first()[0]


def literal(text):
    return f"'{text}'"


def epoch(time):
    return f'unix_millis({time})'


def views(load):
    for table in ('responses', 'response_citations'):
        load(table).createOrReplaceTempView(table)
    return of_sql(one, 'responses', 'response_citations', literal, epoch)


def pushed():
    plan = spark.sql(f"SELECT count(*) FROM responses WHERE created_at >= '{truth['cut']}'")
    return 'GreaterThanOrEqual(created_at' in plan._jdf.queryExecution().toString()


report.figures('Parquet', views(lambda table: spark.read.parquet(folder(table))))
report.equal('Parquet: the filter is pushed down', pushed, True)
if library:
    report.figures('Iceberg', views(lambda table: spark.table(f'world.sightline.{table}')))
report.write()
spark.stop()
