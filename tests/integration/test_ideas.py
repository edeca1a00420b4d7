"""The ideas job and command on a real published corpus."""

from __future__ import annotations

from corpus_assets.settings import ClusterSettings, EmbeddingSettings, Settings
from dagster_project.cli.main import main
from dagster_project.runs import run_job
from tests.integration.cli_corpus import InProcess

NOTES = {
    "moss-1": "Extracts of moss raised enzyme MPK6 in barley. Barley roots grew faster in moss extracts.",
    "moss-2": "Barley seedlings in moss extracts had longer roots. Moss extracts fed barley roots for a month.",
    "moss-3": "Roots of barley took up moss extracts within hours. Moss extracts doubled barley root hairs.",
    "frost-1": "Enzyme MPK6 stayed active in frozen glacier algae. Glacier algae darken the ice in summer.",
    "frost-2": "Glacier algae colour the melting ice purple. The ice loses more mass where algae grow.",
    "frost-3": "Algae on glacier ice survive the winter. Purple algae lower the albedo of glacier ice.",
}


def test_ideas_are_spun_by_the_job_shown_by_the_command_and_verified(tmp_path, capsys):
    papers, home = tmp_path / "papers", tmp_path / "home"
    papers.mkdir()
    for name, text in NOTES.items():
        (papers / f"{name}.md").write_text(f"# On {name}\n\n## Results\n\n{text}\n")
    assert main(["ingest", str(papers), "--embedder", "hash", "--home", str(home)]) == 0
    settings = Settings(
        home=home, papers_dir=papers, embedding=EmbeddingSettings(model="hash"), clusters=ClusterSettings(max_k=2)
    )
    result = run_job("spin_ideas", settings, run_config={"home": str(home), "limit": 5}, is_persistent=False)
    (event,) = result.get_asset_materialization_events()
    metadata = event.step_materialization_data.materialization.metadata
    cli = InProcess(home, capsys)
    shown = cli("ideas", "--json").document
    assert metadata["num_ideas"].value == len(shown["ideas"])
    bonds = {tuple(idea["shared"]): idea for idea in shown["ideas"]}
    idea = bonds[("MPK6",)]
    assert {premise["quote"] for premise in idea["premises"]} == {
        "Extracts of moss raised enzyme MPK6 in barley.",
        "Enzyme MPK6 stayed active in frozen glacier algae.",
    }
    assert "MPK6" in metadata["ideas"].value
    assert "MPK6" in cli("ideas").out
