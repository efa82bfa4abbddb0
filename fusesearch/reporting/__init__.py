"""Everything that people look at: tables, figures, pages."""
