"""The params of a small checkout: nano's, and a large profile whose weights and endpoint are not there."""

NANO = "# nano, with a comment\nprofile: nano\nseed: 7\nmodel: {base: ./no/base}\n"
BIG = (
    "profile: big\nmodel: {base: org/big, dtype: bfloat16}\ngrpo: {rollouts: vllm}\n"
    "teacher: {model: m, base_url: http://127.0.0.1:9/v1}\n"
)


def checked_out(folder, monkeypatch):
    """Write the checkout into a folder and go there, without what this machine has of models and keys."""
    (folder / "params.yaml").write_text(NANO)
    (folder / "experiments/profiles").mkdir(parents=True)
    (folder / "experiments/profiles/big.yaml").write_text(BIG)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_HOME", str(folder / "hf"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return folder
