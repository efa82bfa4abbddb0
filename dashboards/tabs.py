"""The pages by name: their titles, their icons in the app, and their files in an export."""

TABS = (
    ("results", "Results", ":material/table_chart:"),
    ("experiments", "Experiments", ":material/science:"),
    ("training", "Training curves", ":material/show_chart:"),
    ("funnel", "Funnel", ":material/filter_alt:"),
    ("plane", "F1 and e", ":material/scatter_plot:"),
    ("trajectories", "Trajectories", ":material/route:"),
)
"""Name, title, icon; the script of a page is ``screens/<name>.py``."""

FILES = tuple((title, "index.html" if name == "results" else f"{name}.html") for name, title, _ in TABS)
"""Title and file."""
