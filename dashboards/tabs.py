"""The pages by name: their titles and their files in an export."""

TABS = (
    ("results", "Results"),
    ("experiments", "Experiments"),
    ("training", "Training curves"),
    ("funnel", "Funnel"),
    ("plane", "F1 and e"),
    ("trajectories", "Trajectories"),
)
"""Name and title; the script of a page is ``screens/<name>.py``. No icons: Streamlit fetches them from elsewhere."""

FILES = tuple((title, "index.html" if name == "results" else f"{name}.html") for name, title in TABS)
"""Title and file."""
