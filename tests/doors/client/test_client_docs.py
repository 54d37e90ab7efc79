"""The page about moving to a server is true: its Python runs, against a real one."""

import re

from served import serving

FENCED = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_page_about_moving_runs(pytestconfig, tmp_path, monkeypatch, capsys):
    page = (pytestconfig.rootpath / "docs/howto/move-from-embedded-to-remote.md").read_text(encoding="utf-8")
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path / "here"))
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    blocks = [block for block in FENCED.findall(page) if "example.com" not in block]
    assert len(blocks) == 4
    with serving(tmp_path / "there") as url:
        names: dict[str, object] = {}
        for block in blocks:
            exec(block.replace("http://127.0.0.1:7285", url), names)
    shown = re.findall(r"# → (.+)$", "".join(blocks), re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == shown
