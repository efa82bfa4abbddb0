"""Blocks on a screen: in Streamlit (``shown.py``) and as HTML (``static.py``)."""
