import { SQLDialect } from '@codemirror/lang-sql';

/** Words of DuckDB's grammar that occur in statements which read. A test compares them with DuckDB's own list. */
export const KEYWORDS = `all and anti any as asc asof at between both by case cast collate cross cube current desc describe distinct
  else end escape except exclude exists explain false fetch filter first following for from full glob group grouping groups having
  if ignore ilike in inner intersect interval into is isnull join lambda last lateral leading left like limit map materialized
  natural not notnull null nulls offset on only or order ordinality outer over partition percent pivot positional preceding qualify
  range recursive replace respect right rollup row rows sample select semi set sets show similar some struct summarize table
  tablesample then ties to trailing true try_cast unbounded union unpivot using values variable when where window with within without`;

/** Functions that analysts use often; others work too. */
export const FUNCTIONS = `abs any_value approx_count_distinct arg_max arg_min array_agg avg bool_and bool_or ceil coalesce concat contains
  corr count count_if current_date current_timestamp date_diff date_part date_sub date_trunc dayname dense_rank extract first first_value
  floor format generate_series getvariable greatest hash histogram json_extract json_extract_string lag last last_day last_value lead
  least left len length levenshtein list list_aggregate list_contains list_distinct list_sort list_transform ln log lower lpad ltrim max
  max_by mean median min min_by mode monthname ntile nullif percent_rank quantile quantile_cont quantile_disc random range rank
  regexp_extract regexp_matches regexp_replace regr_slope replace right round row_number rpad rtrim sign split_part sqrt starts_with stddev
  strftime string_agg string_split strptime substring sum trim unnest upper uuid variance`;

const TYPES = `array bigint bit blob boolean date decimal double enum float hugeint integer interval json list map smallint struct time
  timestamp timestamptz tinyint ubigint uhugeint uinteger union usmallint utinyint uuid varchar`;

/** DuckDB's words and quotes, for highlighting and completion. */
export const duckdb = SQLDialect.define({
  keywords: KEYWORDS,
  builtin: FUNCTIONS,
  types: TYPES,
  identifierQuotes: '"',
  doubleDollarQuotedStrings: true,
  operatorChars: '+-*/%<>!=&|~^@:?#',
  slashComments: false,
  hashComments: false,
  spaceAfterDashes: false,
  unquotedBitLiterals: false,
});
