"""Drive the Dagster UI in a headless browser: materialize every asset, wait for the run, take pictures. Run by hand.

    pip install playwright            # a Chromium of the system is used: no browser is downloaded
    dagster dev -p 3333 &             # from the project's root
    python tests/integration/ui_materialize.py --url http://127.0.0.1:3333 --pictures build/ui

The exit code is 0 when the run ended in success. The pictures: the graph before and after, the run, assets,
checks, launchpads. This is no test of its own because it needs a browser and a running server.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

TIMEOUT_MS = 120_000


def query(url: str, text: str) -> Any:
    """Ask the server's GraphQL."""
    body = json.dumps({"query": text}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["data"]


def newest_run(url: str) -> tuple[str, str, str]:
    """Return id, status and job of the newest run, or empty texts."""
    data = query(url, "{ runsOrError(limit: 1) { ... on Runs { results { runId status pipelineName } } } }")
    runs = data["runsOrError"]["results"]
    return (runs[0]["runId"], runs[0]["status"], runs[0]["pipelineName"]) if runs else ("", "", "")


def take(page: Page, folder: Path, name: str, seconds: float = 3.0) -> None:
    page.wait_for_timeout(seconds * 1000)
    page.screenshot(path=str(folder / f"{name}.png"))


def materialize_all(page: Page, url: str) -> str:
    """Press "Materialize all" on the graph and return the id of the run that was started."""
    before = newest_run(url)[0]
    page.get_by_role("button", name=re.compile("Materialize", re.IGNORECASE)).first.click()
    for _ in range(120):
        page.wait_for_timeout(1000)
        run_id = newest_run(url)[0]
        if run_id != before:
            return run_id
    raise TimeoutError("no run was started")


def wait_for_run(url: str, run_id: str, seconds: float) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found, status, _ = newest_run(url)
        if found == run_id and status in ("SUCCESS", "FAILURE", "CANCELED"):
            return status
        time.sleep(2)
    return "TIMEOUT"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:3333")
    parser.add_argument("--pictures", type=Path, default=Path("build/ui"))
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--run", default="", help="Take pictures of this run instead of starting one.")
    options = parser.parse_args()
    options.pictures.mkdir(parents=True, exist_ok=True)
    location = "locations/__repository__@research_copilot"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(f"{options.url}/asset-groups")
        page.get_by_role("button", name=re.compile("Materialize all")).first.wait_for()
        take(page, options.pictures, "graph_before")
        run_id = options.run or materialize_all(page, options.url)
        print(f"run {run_id}: {newest_run(options.url)[2]}")
        status = wait_for_run(options.url, run_id, options.seconds)
        print(f"run {run_id}: {status}")
        page.goto(f"{options.url}/runs/{run_id}")
        take(page, options.pictures, "run", 6)
        page.goto(f"{options.url}/asset-groups")
        page.get_by_role("button", name=re.compile("Materialize all")).first.wait_for()
        take(page, options.pictures, "graph_after", 6)
        for name in ("raw_text", "summary_cards", "published_corpus"):
            page.goto(f"{options.url}/assets/{name}")
            take(page, options.pictures, f"asset_{name}", 6)
        page.goto(f"{options.url}/assets/summary_cards?view=checks")
        take(page, options.pictures, "checks", 6)
        for job in ("ask", "corpus"):
            page.goto(f"{options.url}/{location}/jobs/{job}/playground")
            take(page, options.pictures, f"launchpad_{job}", 6)
        page.goto(f"{options.url}/{location}/jobs/ask")
        take(page, options.pictures, "job_ask", 6)
        browser.close()
    return 0 if status == "SUCCESS" else 1


if __name__ == "__main__":
    sys.exit(main())
