"""What each page says, as blocks: no Streamlit here, so that the app and the static export say the same."""
