"""Reads every mart of a replica that is attached under another name, in two time zones.

    python attached_marts.py REPLICA [--use]

Prints one line per failed mart and a summary, and exits with 1 if a mart fails, if the zones give different rows, or if
there are no marts. With --use the attached database is selected first, which DuckDB needs before 1.4.4.
"""

import sys

import duckdb

ZONES = ("UTC", "America/New_York")


def read_marts(path: str, zone: str, use: bool) -> dict[str, object]:
    """Returns the number of rows and their hash by mart, or the first line of the error."""
    connection = duckdb.connect()
    # With several threads, sums of floating-point numbers depend on the order of the rows.
    connection.execute("SET threads = 1")
    connection.execute(f"SET TimeZone = '{zone}'")
    quoted = path.replace("'", "''")
    connection.execute(f"ATTACH '{quoted}' AS renamed (READ_ONLY)")
    if use:
        connection.execute("USE renamed")
    names = connection.execute(
        "SELECT view_name FROM duckdb_views() WHERE database_name = 'renamed' AND schema_name = 'mart' ORDER BY 1"
    ).fetchall()
    found: dict[str, object] = {}
    for (name,) in names:
        mart = f'mart."{name}"' if use else f'renamed.mart."{name}"'
        try:
            found[name] = connection.execute(f"SELECT count(*), bit_xor(hash(t)) FROM {mart} t").fetchone()
        except duckdb.Error as error:
            found[name] = str(error).split("\n")[0]
    return found


def main(arguments: list[str]) -> int:
    use = "--use" in arguments
    paths = [argument for argument in arguments if argument != "--use"]
    if len(paths) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    results = [read_marts(paths[0], zone, use) for zone in ZONES]
    failures = 0
    for name in results[0]:
        found = [result[name] for result in results]
        if isinstance(found[0], tuple) and found[0] == found[1]:
            continue
        failures += 1
        print(f"{name}: " + "; ".join(f"{zone}: {value}" for zone, value in zip(ZONES, found)))
    rows = sum(value[0] for value in results[0].values() if isinstance(value, tuple))
    marts = len(results[0])
    print(f"DuckDB {duckdb.__version__}: {marts} marts, {rows} rows, {failures} failed")
    return 0 if failures == 0 and marts > 0 and rows > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
