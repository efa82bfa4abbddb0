"""How far truth can be trusted: function spans beside Universal Ctags, functions beside a published set."""
