"""From issue and patch to instances with truth: sources, filters, splits."""
