"""Runs the nightly job of each workspace of sightline.config.json as one mapped task.

Variables of the scheduler's environment: SIGHTLINE_FOLDER, the folder with sightline.config.json; the variables of the keys that the file
names; and, unless `sightline` is on the PATH, SIGHTLINE_COMMAND.
"""

import json
import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pendulum
from airflow.sdk import dag, task

FOLDER = Path(os.environ.get("SIGHTLINE_FOLDER", "."))
COMMAND = os.environ.get("SIGHTLINE_COMMAND", "sightline")


@dag(
    schedule="15 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    # A workspace has one writer.
    max_active_runs=1,
    tags=["sightline"],
)
def sightline():
    @task
    def workspaces() -> list[str]:
        return list(json.loads((FOLDER / "sightline.config.json").read_text())["workspaces"])

    # Exit code 3 is partial and 4 a workspace in use: the next try resumes.
    @task(retries=3, retry_delay=timedelta(minutes=10))
    def nightly(workspace: str) -> None:
        subprocess.run([COMMAND, "jobs", "run", "nightly", "--workspace", workspace], cwd=FOLDER, check=True)

    nightly.expand(workspace=workspaces())


sightline()
