import { join } from 'node:path';
import { type MavenFiles, mavenPaths, type Source } from './prepare.ts';

/** A program that uses sightline's output with one client, and what it tries. */
export interface Client {
  /** Name in commands and results. */
  readonly name: string;
  /** Name and edition of the client, for results.json. */
  readonly tool: string;
  /** What the program does with the client, for results.json. */
  readonly tried: string;
  readonly source: Source;
  /** Programs that must be installed beside the source. */
  readonly programs: readonly string[];
  /** Files of Maven Central beside the source; the program is given their paths as INTEROP_JARS. */
  readonly jars: MavenFiles;
  /** Whether the world needs a catalog with Iceberg tables. */
  readonly needsCatalog: boolean;
  /** Time zones of the process; the program runs once in each. */
  readonly zones: readonly string[];
  /** Returns the command, given the folder of the installed source. */
  readonly command: (place: string) => readonly string[];
}

const HERE = import.meta.dirname;
const ANY_ZONE = ['UTC'];
const ZONES = ['UTC', 'America/New_York'];
const IN_ZONES = 'rows, sums, first and last instant, and a filter by an instant, in two time zones';
const TOOLS =
  'lists and calls all 29 tools, over HTTP and stdio, and compares the results of `query_metrics`, `query` and `explain_change` with the figures';
const ENDPOINTS = 'calls every endpoint of an upstream that sends unknown fields';

const JDBC: MavenFiles = {
  'org.duckdb:duckdb_jdbc:2.0.0.1': '6cb8b0e0fc51b2e45aead2d2c1e1fd09dd10267db2966e69aaab0de67319f826',
};
const ICEBERG_SPARK: MavenFiles = {
  'org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0':
    '8dd8c90e54ed1a20f2461309d047a255ee56382eb7c0a46162b27a4936fd86dc',
};
const GENERATOR: MavenFiles = {
  'org.openapitools:openapi-generator-cli:7.25.0': '41ce4f6b07f196676439d710759fa1ced7a08066d06ff1bf314681470289efae',
};
/** What the generated Java client needs. */
const JAVA_LIBRARIES: MavenFiles = {
  'com.fasterxml.jackson.core:jackson-core:2.21.5': 'b64b5874162b503a0e58a8f7758266e8dd9f91bf49e3a59ae0b5f47589a231b7',
  'com.fasterxml.jackson.core:jackson-databind:2.21.5':
    '507418c0fafd38b2b2cfb704521630da613a8e4cc8381195a6f418017883e2c0',
  'com.fasterxml.jackson.core:jackson-annotations:2.21':
    '53ca085f4a150f703f49e1aabd935bd03b43e1ea3d55d135438292af22cef56b',
  'com.fasterxml.jackson.datatype:jackson-datatype-jsr310:2.21.5':
    'e941f9718d16a649614cb06711de06da34722afff9cee0b7725fc5318638304c',
  'org.openapitools:jackson-databind-nullable:0.2.11':
    '07417c949d66a67eb8bc1e919f3f1f13a741badf8b4fcbd39ac16a509d38d34c',
  'jakarta.annotation:jakarta.annotation-api:1.3.5': '85fb03fc054cdf4efca8efd9b6712bbb418e1ab98241c4539c8585bbc23e1b8a',
  'com.google.code.findbugs:jsr305:3.0.2': '766ad2a0783f2687962c8ad74ceecc38a28b9f72a2d085ee438b7813e928d0c7',
};

/** The clients, in the order of results.json. */
export const clients: readonly Client[] = [
  reader('pyarrow', 'pyarrow', 'files', 'Parquet, all columns of all tables'),
  reader('pandas', 'pandas', 'files', 'Parquet'),
  reader('polars', 'polars', 'files', 'Parquet'),
  reader('duckdb', 'DuckDB in Python', 'files', 'Parquet, and the attached replica with all marts'),
  reader(
    'duckdb-1.4',
    'DuckDB in Python, oldest for `ATTACH`',
    'duckdb-1.4',
    'Parquet, and the attached replica with all marts',
    {
      args: ['duckdb'],
    },
  ),
  reader('duckdb-1.1', 'DuckDB in Python, oldest with `USE`', 'duckdb-1.1', 'Parquet, and the replica with all marts', {
    args: ['duckdb', '--use'],
  }),
  reader('datafusion', 'DataFusion', 'files', 'Parquet'),
  reader('ibis', 'ibis', 'files', 'Parquet'),
  reader('pyiceberg', 'PyIceberg', 'files', 'Iceberg through the catalog, all columns of all tables', {
    needsCatalog: true,
  }),
  spark('spark', 'Spark 4', 'spark-4', 'Parquet, with the filter pushed down', null),
  spark(
    'spark-3',
    'Spark 3.5',
    'spark-3',
    'Parquet, with the filter pushed down, and Iceberg through the catalog',
    ICEBERG_SPARK,
  ),
  python('dbt', 'dbt', 'dbt', 'dbt_build.py', '`dbt build` of examples/dbt: sources, models, tests, exposures'),
  python(
    'metricflow',
    'MetricFlow',
    'metricflow',
    'metricflow_query.py',
    'the metrics of examples/dbt: parsed, validated, and queried by brand, engine, topic, entity, domain, source and week',
  ),
  python('airflow', 'Apache Airflow', 'airflow', 'airflow_run.py', 'the DAG of examples/airflow with two workspaces'),
  python('dagster', 'Dagster', 'dagster', 'dagster_run.py', 'the asset of examples/dagster with two workspaces'),
  python(
    'kubernetes',
    'kubernetes-validate',
    'kubernetes',
    'kubernetes_schemas.py',
    'the manifests of docs/deploy/kubernetes',
  ),
  {
    ...base('jdbc', 'DuckDB over JDBC', `the replica: ${IN_ZONES}`, { kind: 'maven', files: JDBC }),
    programs: ['java'],
    zones: ZONES,
    command: (place) => node('jdbc.mjs', ...mavenPaths(place, JDBC), '2.0.0.1'),
  },
  inNode('openapi-fetch', 'openapi-fetch', `${ENDPOINTS}, compiled strictly`),
  python('openapi-python-client', 'openapi-python-client', 'openapi-python-client', 'generated_client.py', ENDPOINTS),
  inNode('redocly', 'Redocly', 'the recommended rules of its linter for the OpenAPI document'),
  generated('go', 'Go', ['go'], {}),
  generated('java', 'Java', ['javac'], JAVA_LIBRARIES),
  python('schemathesis', 'Schemathesis', 'schemathesis', 'schemathesis_run.py', 'all checks, at least 5,000 cases'),
  tools('mcp-1', 'MCP Python SDK 1'),
  tools('mcp-2', 'MCP Python SDK 2'),
  inNode('mcp-conformance', 'MCP conformance suite', 'the scenarios for a server with read-only tools'),
  inNode('mcp-sdk-1', 'MCP TypeScript SDK 1', TOOLS),
  inNode('mcp-sdk-2', 'MCP TypeScript SDK 2', TOOLS),
  tools('fastmcp', 'FastMCP'),
  tools('langchain', 'langchain-mcp-adapters'),
  tools('openai-agents', 'OpenAI Agents SDK'),
  tools('pydantic-ai', 'Pydantic AI'),
];

function base(name: string, tool: string, tried: string, source: Source): Omit<Client, 'command'> {
  return { name, tool, tried, source, programs: [], jars: {}, needsCatalog: false, zones: ANY_ZONE };
}

function python(
  name: string,
  tool: string,
  requirements: string,
  program: string,
  tried: string,
  args: readonly string[] = [],
): Client {
  return {
    ...base(name, tool, tried, { kind: 'python', requirements }),
    command: (place) => [join(place, 'bin/python'), join(HERE, 'python', program), ...args],
  };
}

function reader(
  name: string,
  tool: string,
  requirements: string,
  tried: string,
  { args = [name], needsCatalog = false }: { readonly args?: readonly string[]; readonly needsCatalog?: boolean } = {},
): Client {
  return { ...python(name, tool, requirements, 'files.py', `${tried}: ${IN_ZONES}`, args), needsCatalog, zones: ZONES };
}

function spark(name: string, tool: string, requirements: string, tried: string, library: MavenFiles | null): Client {
  const client = python(name, tool, requirements, 'spark.py', `${tried}: ${IN_ZONES}`);
  return { ...client, programs: ['java'], needsCatalog: library !== null, zones: ZONES, jars: library ?? {} };
}

function generated(language: string, title: string, programs: readonly string[], libraries: MavenFiles): Client {
  const source = { kind: 'maven', files: { ...GENERATOR, ...libraries } } as const;
  return {
    ...base(`openapi-${language}`, `openapi-generator, ${title}`, ENDPOINTS, source),
    programs: ['java', ...programs],
    command: (place) => node('openapi-generator.mjs', language, '7.25.0', ...mavenPaths(place, source.files)),
  };
}

function tools(name: string, tool: string): Client {
  return python(name, tool, name, 'mcp_tools.py', TOOLS, [name]);
}

function inNode(name: string, tool: string, tried: string): Client {
  return {
    ...base(name, tool, tried, { kind: 'npm', folder: name }),
    command: (place) => [process.execPath, join(place, 'run.mjs')],
  };
}

function node(program: string, ...args: readonly string[]): string[] {
  return [process.execPath, join(HERE, 'node', program), ...args];
}
