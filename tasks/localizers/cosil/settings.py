"""What a run of CoSIL can differ in."""

from __future__ import annotations

from pydantic import Field

from tasks.core.config import Section


class Settings(Section):
    """The values are those of its published runs."""

    top_files: int = Field(5, ge=1, description="files the search for functions begins with")
    max_calls: int = Field(10, ge=0, description="calls of the search at most")
    top_places: int = Field(5, ge=1, description="places the answer names at most")
    prune: bool = Field(True, description="ask of each result whether it has to do with the issue; leave it out if not")
    reflect: bool = Field(True, description="rank the files again with their imports shown")
