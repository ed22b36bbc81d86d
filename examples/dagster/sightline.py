"""The warehouse of each workspace of sightline.config.json as a partition of one asset, made by its nightly job.

Variables of Dagster's environment: SIGHTLINE_FOLDER, the folder with sightline.config.json; the variables of the keys that the file
names; and, unless `sightline` is on the PATH, SIGHTLINE_COMMAND.
"""

import json
import os
import subprocess
from pathlib import Path

import dagster

FOLDER = Path(os.environ.get("SIGHTLINE_FOLDER", "."))
COMMAND = os.environ.get("SIGHTLINE_COMMAND", "sightline")

workspaces = dagster.StaticPartitionsDefinition(
    list(json.loads((FOLDER / "sightline.config.json").read_text())["workspaces"])
)


def run(*args: str, check: bool = True) -> str:
    return subprocess.run([COMMAND, *args], cwd=FOLDER, check=check, stdout=subprocess.PIPE, text=True).stdout


# Exit code 3 is partial and 4 a workspace in use: the next try resumes.
@dagster.asset(
    partitions_def=workspaces,
    retry_policy=dagster.RetryPolicy(max_retries=3, delay=600),
    kinds={"duckdb"},
)
def warehouse(context: dagster.AssetExecutionContext) -> dagster.MaterializeResult:
    """Tables of the AI-visibility data of one workspace."""
    workspace = context.partition_key
    run("jobs", "run", "nightly", "--workspace", workspace)
    # Ends with 1 if the data are not well; the sentence says why.
    status = json.loads(run("status", "--workspace", workspace, "--json", check=False))
    return dagster.MaterializeResult(metadata={"verdict": status["verdict"]["sentence"], "as of": status["asOf"]})


@dagster.schedule(cron_schedule="15 2 * * *", target=[warehouse])
def nightly():
    return [dagster.RunRequest(partition_key=key) for key in workspaces.get_partition_keys()]


definitions = dagster.Definitions(assets=[warehouse], schedules=[nightly])
